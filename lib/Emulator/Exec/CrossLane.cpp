//===- CrossLane.cpp - Cross-lane vector operations -----------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lane reads and writes, lane counts, swaps and permutations outside LDS.
//
//===----------------------------------------------------------------------===//

#include "../Valu.h"
#include "Random.h"

namespace hk::emu {
namespace {

uint32_t laneDefinedBits(Wave &w, unsigned reg, unsigned lane) {
  return w.checks ? laneBits(w, reg, lane) : ~0u;
}

void readFirstLane(Wave &w, const Inst &inst) {
  const Operand &src = inst.o[1];
  unsigned lane = w.exec ? unsigned(__builtin_ctzll(w.exec)) : 0;
  if (!src.isVgpr()) {
    w.setS(inst.o[0].reg, src.isSgpr() ? w.s[src.reg] : uint32_t(src.imm),
           src.isSgpr() ? w.sd[src.reg] : ~0u);
    return;
  }
  unsigned reg = indexedVgpr(w, inst, 1);
  w.setS(inst.o[0].reg, w.v[reg][lane], laneDefinedBits(w, reg, lane));
}

uint32_t laneSelect(Wave &w, const Inst &inst, const Operand &o) {
  if (o.isConst())
    return uint32_t(o.imm) & 63;
  if (w.checks && w.sd[o.reg] != ~0u)
    w.reportUndefined(inst, -1, 0, "the lane number");
  return w.s[o.reg] & 63;
}

void readLane(Wave &w, const Inst &inst) {
  unsigned lane = laneSelect(w, inst, inst.o[2]);
  unsigned reg = indexedVgpr(w, inst, 1);
  w.setS(inst.o[0].reg, w.v[reg][lane], laneDefinedBits(w, reg, lane));
}

void writeLane(Wave &w, const Inst &inst) {
  const Operand &src = inst.o[1];
  unsigned lane = laneSelect(w, inst, inst.o[2]);
  unsigned reg = indexedVgpr(w, inst, 0);
  uint32_t value = src.isSgpr() ? w.s[src.reg] : uint32_t(src.imm);
  uint32_t defined = src.isSgpr() ? w.sd[src.reg] : ~0u;
  w.v[reg][lane] = value;
  setLaneBits(w, reg, lane, defined);
}

template <bool High> void maskCount(Wave &w, const Inst &inst) {
  Fetched<uint32_t> a(w, inst, 1), b(w, inst, 2);
  LaneBuf lo, hi;
  for (unsigned l = 0; l < kLanes; ++l) {
    uint64_t below = (1ull << l) - 1;
    uint32_t mask = High ? uint32_t(below >> 32) : uint32_t(below);
    lo.lo[l] = uint32_t(__builtin_popcount(a[l] & mask)) + b[l];
  }
  propagate(w, inst, 1, 2, 1);
  commitResult<uint32_t>(w, inst, lo, hi);
}

/// v_swap_b32: both registers in active lanes.
void swapRegs(Wave &w, const Inst &inst) {
  unsigned a = inst.o[0].reg, b = inst.o[1].reg;
  for (uint64_t m = w.exec; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctzll(m));
    std::swap(w.v[a][l], w.v[b][l]);
    uint32_t x = laneBits(w, a, l), y = laneBits(w, b, l);
    setLaneBits(w, a, l, y);
    setLaneBits(w, b, l, x);
  }
}

/// v_permlane16_swap / v_permlane32_swap: odd groups of N lanes of the first
/// register change places with even groups of the second. A lane whose partner
/// is inactive stays unless fi fetches it anyway or bound_ctrl reads zero.
template <unsigned N> void permlaneSwap(Wave &w, const Inst &inst) {
  unsigned a = inst.o[0].reg, b = inst.o[1].reg;
  const Modifiers &m = inst.m;
  auto move = [&](uint32_t value, unsigned bytes, unsigned from, unsigned reg,
                  unsigned to) {
    bool active = (w.exec >> from & 1) || m.fetchInactive;
    if (!(w.exec >> to & 1) || (!active && !m.boundCtrl))
      return;
    w.v[reg][to] = active ? value : 0;
    w.vd[reg].setLaneBytes(to, active ? bytes : 0xf);
  };
  for (unsigned even = 0; even < kLanes; ++even) {
    if (even / N % 2)
      continue;
    unsigned odd = even + N;
    uint32_t x = w.v[a][odd], y = w.v[b][even];
    unsigned dx = w.vd[a].laneBytes(odd), dy = w.vd[b].laneBytes(even);
    move(y, dy, even, a, odd);
    move(x, dx, odd, b, even);
  }
}

void prng(Wave &w, const Inst &inst) {
  Fetched<uint32_t> a(w, inst, 1);
  LaneBuf lo, hi;
  for (unsigned l = 0; l < kLanes; ++l)
    lo.lo[l] = nextRandom(a[l]);
  propagate(w, inst, 1, 1, 1);
  commitResult<uint32_t>(w, inst, lo, hi);
}

} // namespace

void addCrossLane(OpTable &t) {
  auto add = [&](const char *name, Handler fn, unsigned numDst) -> Op & {
    Op op;
    op.cls = InstClass::Valu;
    op.fn = fn;
    op.numDst = uint8_t(numDst);
    return t.add(name, op);
  };
  add("v_readfirstlane_b32", readFirstLane, 1);
  add("v_readlane_b32", readLane, 1);
  add("v_writelane_b32", writeLane, 1);
  add("v_mbcnt_lo_u32_b32", maskCount<false>, 1);
  add("v_mbcnt_hi_u32_b32", maskCount<true>, 1);
  add("v_swap_b32", swapRegs, 2);
  add("v_permlane16_swap_b32", permlaneSwap<16>, 2).mods = kModDpp;
  add("v_permlane32_swap_b32", permlaneSwap<32>, 2).mods = kModDpp;
  add("v_prng_b32", prng, 1).mods = kModDpp | kModSdwa;
}

} // namespace hk::emu
