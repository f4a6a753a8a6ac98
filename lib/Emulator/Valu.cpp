//===- Valu.cpp - Unusual sources and results of the VALU -----------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// DPP, SDWA, source and result modifiers and indexed registers.
//
//===----------------------------------------------------------------------===//

#include "Valu.h"

namespace hk::emu {

uint64_t specialValue(Wave &w, unsigned special) {
  switch (special) {
  case kSpecialScc:
    return w.scc;
  case kSpecialVccz:
    return w.s64(kVccLo) == 0;
  case kSpecialExecz:
    return w.exec == 0;
  case kSpecialSharedBase:
    return uint64_t(kSharedAperture) << 32;
  case kSpecialSharedLimit:
    return uint64_t(kSharedAperture) << 32 | 0xffffffffu;
  case kSpecialPrivateBase:
    return uint64_t(kPrivateAperture) << 32;
  case kSpecialPrivateLimit:
    return uint64_t(kPrivateAperture) << 32 | 0xffffffffu;
  default:
    return 0;
  }
}

const uint32_t *fetchScalar(Wave &w, const Operand &o, bool high,
                            LaneBuf &buf) {
  return broadcast(o.isSgpr() ? w.s[o.reg + high]
                              : uint32_t(specialValue(w, o.reg) >> (32 * high)),
                   buf);
}

unsigned indexedVgpr(Wave &w, const Inst &inst, unsigned k) {
  const Operand &o = inst.o[k];
  unsigned bit = k < inst.op->numDst ? 8 : 1u << (k - inst.op->numDst);
  unsigned reg = o.reg;
  if ((w.gprIdxMode & bit) && o.reg < 256)
    reg += w.s[kM0] & 0xff;
  if (reg >= 512)
    reg = o.reg;
  return reg;
}

static uint32_t select(uint32_t value, Sel sel, bool sext) {
  switch (sel) {
  case Sel::Dword:
    return value;
  case Sel::Word0:
  case Sel::Word1:
    value = sel == Sel::Word0 ? value & 0xffff : value >> 16;
    return sext ? uint32_t(int32_t(int16_t(value))) : value;
  default:
    value = (value >> (8 * unsigned(sel))) & 0xff;
    return sext ? uint32_t(int32_t(int8_t(value))) : value;
  }
}

Sel selectedPart(const Inst &inst, unsigned k, Type type) {
  bool isHalf = type == Type::F16 || type == Type::B16;
  if (isHalf && !inst.op->packed && k >= inst.op->numDst &&
      (inst.m.opSel >> (k - inst.op->numDst) & 1))
    return Sel::Word1;
  return inst.o[k].sel;
}

bool writesHighHalf(const Inst &inst) {
  return !inst.op->packed &&
         (inst.m.opSel >> (inst.numOperands - inst.op->numDst) & 1);
}

static uint32_t signBit(Type type, bool high, bool pair) {
  if (type == Type::F16 || type == Type::B16)
    return 0x8000;
  return pair && !high ? 0 : 0x80000000u;
}

/// Lanes whose DPP source exists and is active.
static uint64_t dppValid(const Wave &w, const LaneMap &map) {
  if (w.exec == ~0ull)
    return map.exists;
  uint64_t active = 0;
  for (unsigned l = 0; l < kLanes; ++l)
    active |= (w.exec >> map.from[l] & 1) << l;
  return active & map.exists;
}

const uint32_t *fetchComplex(Wave &w, const Inst &inst, unsigned k, Type type,
                             bool high, LaneBuf &buf) {
  const Operand &o = inst.o[k];
  bool pair = type == Type::F64 || type == Type::B64 || type == Type::I64;
  const uint32_t *p;
  switch (o.file) {
  case RegFile::Vgpr:
    p = w.v[indexedVgpr(w, inst, k) + high];
    break;
  case RegFile::Const:
    p = o.lanes + (high ? kLanes : 0);
    break;
  case RegFile::Sgpr:
    p = broadcast(w.s[o.reg + high], buf);
    break;
  default:
    p = broadcast(uint32_t(specialValue(w, o.reg) >> (32 * high)), buf);
  }
  bool isSrc0 = k == inst.op->numDst;
  if (isSrc0 && inst.m.dpp) {
    LaneBuf moved, valid;
    Wave::expandMask(dppValid(w, *inst.m.dpp), valid.lo);
    for (unsigned l = 0; l < kLanes; ++l)
      moved.lo[l] = p[inst.m.dpp->from[l]];
    for (unsigned l = 0; l < kLanes; ++l)
      buf.lo[l] = moved.lo[l] & valid.lo[l];
    p = buf.lo;
  }
  uint32_t sign = signBit(type, high, pair);
  // op_sel of a 16-bit operation that is not packed picks a half.
  Sel sel = selectedPart(inst, k, type);
  bool changes = sel != Sel::Dword || o.neg || o.abs || o.sext;
  if (!changes)
    return p;
  for (unsigned l = 0; l < kLanes; ++l) {
    uint32_t value = select(p[l], sel, o.sext);
    if (o.abs)
      value &= ~sign;
    if (o.neg)
      value ^= sign;
    buf.lo[l] = value;
  }
  return buf.lo;
}

uint64_t writeMask(Wave &w, const Inst &inst) {
  if (!inst.m.dpp)
    return w.exec;
  // A lane is written if its row and bank are enabled and its source lane is
  // valid, or bound_ctrl makes an invalid source read zero.
  uint64_t rows = 0, banks = 0;
  for (unsigned k = 0; k < 4; ++k) {
    if (inst.m.bankMask >> k & 1)
      banks |= 0x000f000f000f000full << (4 * k);
    if (inst.m.rowMask >> k & 1)
      rows |= 0xffffull << (16 * k);
  }
  uint64_t valid = inst.m.boundCtrl ? ~0ull : dppValid(w, *inst.m.dpp);
  return rows & banks & valid & w.exec;
}

template <class T> static T modifyResult(T value, const Modifiers &m) {
  if (m.omod)
    value = m.omod == 1   ? value * T(2)
            : m.omod == 2 ? value * T(4)
                          : value * T(0.5);
  if (m.clamp) // NaN becomes 0 (DX10_CLAMP)
    value = value > T(0) ? (value < T(1) ? value : T(1)) : T(0);
  return value;
}

void commitComplex(Wave &w, const Inst &inst, Type type, LaneBuf &lo,
                   LaneBuf &hi) {
  const Modifiers &m = inst.m;
  bool pair = type == Type::F64 || type == Type::B64 || type == Type::I64;
  if (m.seen & kModOut)
    for (unsigned l = 0; l < kLanes; ++l) {
      if (type == Type::F32) {
        lo.lo[l] = toBits(modifyResult(fromBits<float>(lo.lo[l]), m));
      } else if (type == Type::F16) {
        half r = fromBits<half>(lo.lo[l]);
        half modified = half(modifyResult(float(r), m));
        lo.lo[l] =
            toBits(saturatesOverflow(w) ? saturatedHalf(modified, false, r)
                                        : modified);
      } else if (type == Type::F64) {
        double value = getLane<double>({lo.lo, hi.lo}, l);
        storeLane<double>(lo.lo, hi.lo, l, modifyResult(value, m));
      }
    }
  unsigned reg = indexedVgpr(w, inst, 0);
  uint64_t mask = writeMask(w, inst);
  uint32_t *d = w.v[reg];
  if (type == Type::F16 || type == Type::B16) {
    bool high = writesHighHalf(inst);
    if (high || inst.op->preserveHigh)
      for (unsigned l = 0; l < kLanes; ++l)
        lo.lo[l] = high ? (lo.lo[l] << 16) | (d[l] & 0xffff)
                        : (lo.lo[l] & 0xffff) | (d[l] & 0xffff0000);
  }
  if (m.dstSel != Sel::Dword) {
    bool word = m.dstSel == Sel::Word0 || m.dstSel == Sel::Word1;
    unsigned shift =
        word ? (m.dstSel == Sel::Word1 ? 16 : 0) : 8 * unsigned(m.dstSel);
    uint32_t field = (word ? 0xffffu : 0xffu) << shift;
    for (unsigned l = 0; l < kLanes; ++l) {
      uint32_t value = (lo.lo[l] << shift) & field;
      if (m.dstUnused == Modifiers::Unused::Preserve)
        value |= d[l] & ~field;
      else if (m.dstUnused == Modifiers::Unused::Sext) {
        uint32_t sign = word ? 0x8000u : 0x80u;
        if (lo.lo[l] & sign)
          value |= ~(field | ((1u << shift) - 1));
      }
      lo.lo[l] = value;
    }
  }
  LaneBuf written;
  Wave::expandMask(mask, written.lo);
  auto merge = [&](uint32_t *to, const LaneBuf &from) {
    for (unsigned l = 0; l < kLanes; ++l)
      to[l] = (from.lo[l] & written.lo[l]) | (to[l] & ~written.lo[l]);
  };
  merge(d, lo);
  if (pair)
    merge(w.v[reg + 1], hi);
}

} // namespace hk::emu
