//===- DsSpecial.cpp - Less common LDS operations -------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exchanges of two words, masked or, wrap, the append and consume counters, and
// accesses whose address is M0 and the lane's number.
//
//===----------------------------------------------------------------------===//

#include "LdsLanes.h"

namespace hk::emu {
namespace {

uint64_t value(Wave &w, const Operand &o, unsigned lane, unsigned bytes) {
  uint64_t v = w.v[o.reg][lane];
  return bytes == 8 ? v | uint64_t(w.v[o.reg + 1][lane]) << 32 : v;
}

/// D = MEM; MEM = f(MEM, DATA, DATA2).
using Combine = uint64_t (*)(uint64_t old, uint64_t a, uint64_t b);
struct Ternary {
  const char *name;
  unsigned bytes;
  bool returns;
  Combine f;
};
uint64_t maskedOr(uint64_t old, uint64_t mask, uint64_t bits) {
  return (old & ~mask) | bits;
}
const Ternary kTernaries[] = {
    {"ds_mskor_b32", 4, false, maskedOr},
    {"ds_mskor_rtn_b32", 4, true, maskedOr},
    {"ds_mskor_b64", 8, false, maskedOr},
    {"ds_mskor_rtn_b64", 8, true, maskedOr},
    {"ds_wrap_rtn_b32", 4, true,
     [](uint64_t old, uint64_t limit, uint64_t add) {
       return uint64_t(uint32_t(old >= limit ? old - limit : old + add));
     }},
};

void ternary(Wave &w, const Inst &inst) {
  const Ternary &t = kTernaries[inst.op->info];
  unsigned first = t.returns ? 1 : 0;
  const Operand &a = inst.o[first + 1], &b = inst.o[first + 2];
  LdsAddresses at = ldsAddresses(w, inst, first, inst.m.offset);
  updateLds(w, inst, at, t.bytes, definedLanes(w, a) & definedLanes(w, b),
            t.returns ? int(inst.o[0].reg) : -1, [&](uint64_t old, unsigned l) {
              return t.f(old, value(w, a, l, t.bytes), value(w, b, l, t.bytes));
            });
  issueLgkm(w, Pending::Lds, false, t.returns ? inst.o[0].reg : 0,
            t.returns ? t.bytes / 4 : 0,
            w.checks ? touchLds(w, at, t.bytes, Use::Atomic) : -1);
}

/// ds_wrxchg2: two exchanges at two offsets.
template <bool Far> void exchange2(Wave &w, const Inst &inst) {
  unsigned bytes = inst.op->info, unit = bytes * (Far ? 64 : 1);
  const int32_t offsets[2] = {int32_t(inst.m.offset0 * unit),
                              int32_t(inst.m.offset1 * unit)};
  LdsAddresses at[2]; // both before the results: they may share registers
  for (unsigned k = 0; k < 2; ++k)
    at[k] = ldsAddresses(w, inst, 1, offsets[k]);
  for (unsigned k = 0; k < 2; ++k) {
    const Operand &data = inst.o[2 + k];
    updateLds(w, inst, at[k], bytes, definedLanes(w, data),
              int(inst.o[0].reg + k * bytes / 4),
              [&](uint64_t, unsigned l) { return value(w, data, l, bytes); });
  }
  issueLgkm(w, Pending::Lds, false, inst.o[0].reg, bytes / 2,
            w.checks ? touchLds(w, at[0], bytes, Use::Atomic) : -1);
  if (w.checks)
    w.lgkm.attach(touchLds(w, at[1], bytes, Use::Atomic));
}

/// ds_condxchg32: each word is replaced if bit 31 of its data is set.
void conditionalExchange(Wave &w, const Inst &inst) {
  const Operand &data = inst.o[2];
  LdsAddresses at = ldsAddresses(w, inst, 1, inst.m.offset);
  updateLds(w, inst, at, 8, definedLanes(w, data), int(inst.o[0].reg),
            [&](uint64_t old, unsigned l) {
              uint64_t next = 0, v = value(w, data, l, 8);
              for (unsigned k = 0; k < 64; k += 32) {
                uint32_t word = uint32_t(v >> k);
                uint32_t keep = uint32_t(old >> k);
                next |= uint64_t(word >> 31 ? word & 0x7fffffffu : keep) << k;
              }
              return next;
            });
  issueLgkm(w, Pending::Lds, false, inst.o[0].reg, 2,
            w.checks ? touchLds(w, at, 8, Use::Atomic) : -1);
}

/// One word for the wave, at M0 plus the offset: the number of active lanes is
/// added (append) or subtracted (consume); every lane gets the old value.
template <bool Append> void counter(Wave &w, const Inst &inst) {
  if (w.checks && w.sd[kM0] != ~0u)
    w.reportUndefined(inst, -1, 0, "M0, the LDS address,");
  unsigned first = w.exec ? unsigned(__builtin_ctzll(w.exec)) : 0;
  LdsAddresses at;
  at.mask = w.exec ? 1ull << first : 0;
  for (uint32_t &a : at.a)
    a = (w.s[kM0] & 0xffff) + uint32_t(inst.m.offset);
  uint32_t count = uint32_t(__builtin_popcountll(w.exec));
  updateLds(w, inst, at, 4, ~0ull, int(inst.o[0].reg),
            [&](uint64_t old, unsigned) {
              return uint64_t(uint32_t(Append ? old + count : old - count));
            });
  LaneBuf out;
  broadcast(w.v[inst.o[0].reg][first], out);
  commitWord(w, inst.o[0].reg, out.lo);
  define(w, inst.o[0].reg, w.exec);
  issueLgkm(w, Pending::Lds, false, inst.o[0].reg, 1,
            w.checks ? touchLds(w, at, 4, Use::Atomic) : -1);
}

/// Address M0 + offset + 4 * lane.
LdsAddresses laneSlots(Wave &w, const Inst &inst) {
  if (w.checks && w.sd[kM0] != ~0u)
    w.reportUndefined(inst, -1, 0, "M0, the LDS address,");
  LdsAddresses at;
  at.mask = w.exec;
  for (unsigned l = 0; l < kLanes; ++l)
    at.a[l] = (w.s[kM0] & 0xffff) + uint32_t(inst.m.offset) + 4 * l;
  return at;
}
void readSlot(Wave &w, const Inst &inst) {
  LdsAddresses at = laneSlots(w, inst);
  checkLds(w, inst, at, 4, Use::Read);
  readLdsLanes(w, inst, at, w.exec, 4, inst.o[0].reg, 0);
  issueLgkm(w, Pending::Lds, false, inst.o[0].reg, 1,
            w.checks ? touchLds(w, at, 4, Use::Read) : -1);
}
void writeSlot(Wave &w, const Inst &inst) {
  LdsAddresses at = laneSlots(w, inst);
  StoredValue value = {inst.o[0].reg};
  checkLds(w, inst, at, 4, Use::Write, &value);
  writeLdsLanes(w, at, 4, inst.o[0].reg, 0);
  issueLgkm(w, Pending::Lds, false, 0, 0,
            w.checks ? touchLds(w, at, 4, Use::Write) : -1);
}

} // namespace

void addDsSpecial(OpTable &t) {
  auto add = [&](const char *name, Handler fn, unsigned info, unsigned numDst,
                 uint16_t mods = kModOffset) {
    addLds(t, name, fn, info, numDst, mods);
  };
  for (unsigned k = 0; k < sizeof kTernaries / sizeof *kTernaries; ++k)
    add(kTernaries[k].name, ternary, k, kTernaries[k].returns);
  add("ds_wrxchg2_rtn_b32", exchange2<false>, 4, 1, kModOffset01);
  add("ds_wrxchg2_rtn_b64", exchange2<false>, 8, 1, kModOffset01);
  add("ds_wrxchg2st64_rtn_b32", exchange2<true>, 4, 1, kModOffset01);
  add("ds_wrxchg2st64_rtn_b64", exchange2<true>, 8, 1, kModOffset01);
  add("ds_condxchg32_rtn_b64", conditionalExchange, 8, 1);
  add("ds_append", counter<true>, 4, 1);
  add("ds_consume", counter<false>, 4, 1);
  add("ds_read_addtid_b32", readSlot, 4, 1);
  add("ds_write_addtid_b32", writeSlot, 4, 0);
}

} // namespace hk::emu
