//===- Defined.cpp - Undefined bytes through the VALU ---------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The slow path of definedness, bit by bit: some source byte of an active lane
// is not defined, or the instruction moves bytes between lanes or within a
// lane. The rules are exact where compilers rely on it (masks, shifts, byte
// permutations, packed halves) and otherwise make the whole lane undefined.
//
//===----------------------------------------------------------------------===//

#include "Valu.h"

namespace hk::emu {
namespace {

/// Defined bits of one word of a source in one lane.
using Bits = uint32_t;
constexpr Bits kAll = ~0u, kLow = 0xffff, kHigh = 0xffff0000;

struct Source {
  const Operand *op;
  unsigned reg;
  bool dpp;
  Sel sel;
};

bool isHalf(Type type) { return type == Type::F16 || type == Type::B16; }

Bits sourceBits(Wave &w, const Inst &inst, const Source &s, unsigned lane,
                unsigned word) {
  const Operand &o = *s.op;
  Bits bits = kAll;
  if (o.isVgpr()) {
    unsigned from = lane;
    if (s.dpp) {
      from = inst.m.dpp->from[lane];
      if (!(inst.m.dpp->exists >> lane & 1) || !(w.exec >> from & 1))
        return kAll; // reads zero, or the lane is not written
    }
    bits = laneBits(w, s.reg + (word < o.width ? word : 0u), from);
  } else if (o.isSgpr()) {
    bits = w.sd[o.reg + (word < o.width ? word : 0u)];
  }
  if (s.sel == Sel::Dword)
    return bits;
  bool isWord = s.sel == Sel::Word0 || s.sel == Sel::Word1;
  unsigned width = isWord ? 16 : 8;
  bits >>= isWord ? (s.sel == Sel::Word1 ? 16 : 0) : 8 * unsigned(s.sel);
  Bits field = (1u << width) - 1;
  bool extension = !o.sext || (bits >> (width - 1) & 1);
  return (bits & field) | (extension ? ~field : 0);
}

uint32_t laneValue(Wave &w, const Inst &inst, unsigned k, unsigned lane) {
  LaneBuf buf;
  return fetchWord(w, inst, k, inst.op->types[k], false, buf)[lane];
}

/// The sources of one lane, as a rule sees them.
struct LaneSources {
  Wave &w;
  const Inst &inst;
  unsigned firstSrc, lane;
  unsigned words; ///< of the result
  unsigned n = 0;
  Bits b[4][2]; ///< defined bits of each source's words

  uint32_t value(unsigned k) const {
    return laneValue(w, inst, firstSrc + k, lane);
  }
  bool isWide(unsigned k) const {
    Type type = inst.op->types[firstSrc + k];
    return type == Type::B64 || type == Type::I64 || type == Type::F64;
  }
  /// The defined bits of source k as one number.
  uint64_t bits(unsigned k) const {
    return uint64_t(isWide(k) ? b[k][1] : kAll) << 32 | b[k][0];
  }
  /// Whether the low bits of source k, which are all that count, are defined.
  bool lowDefined(unsigned k, unsigned count) const {
    Bits low = (1u << count) - 1;
    return (b[k][0] & low) == low;
  }
  bool allDefined(unsigned word) const {
    Bits all = kAll;
    for (unsigned k = 0; k < n; ++k)
      all &= b[k][word];
    return all == kAll;
  }
};

/// The defined bits of the result.
using Rule = uint64_t (*)(const LaneSources &);

uint64_t shiftLeft(uint64_t data, uint32_t amount) {
  return data << amount | ((1ull << amount) - 1);
}

/// What shifts in at the top is a zero or a copy of the sign.
uint64_t shiftRight(uint64_t data, unsigned width, uint32_t amount,
                    bool arithmetic) {
  bool top = !arithmetic || (data >> (width - 1) & 1);
  uint64_t filled = amount ? ~0ull << (width - amount) : 0;
  return data >> amount | (top ? filled : 0);
}

/// A carry goes up from the lowest undefined bit.
uint64_t belowCarry(uint64_t defined) {
  uint64_t undefined = ~defined;
  return undefined ? (undefined & -undefined) - 1 : ~0ull;
}

uint64_t allOrNothing(bool defined) { return defined ? ~0ull : 0; }

uint64_t wholeRule(const LaneSources &s) {
  if (!s.allDefined(0))
    return 0;
  return s.words == 1 || s.allDefined(1) ? ~0ull : kAll;
}

uint64_t bitwiseRule(const LaneSources &s) {
  uint64_t out = ~0ull;
  for (unsigned k = 0; k < s.n; ++k)
    out &= uint64_t(s.b[k][1]) << 32 | s.b[k][0];
  return out;
}

/// Defined where no choice for the undefined bits changes the result.
uint64_t logicRule(const LaneSources &s) {
  const Op &op = *s.inst.op;
  unsigned table = op.mods & kModBitop3 ? s.inst.m.bitop3 : op.truthTable;
  Bits canBe[2] = {0, 0};
  for (unsigned k = 0; k < 8; ++k) {
    Bits term = kAll;
    for (unsigned i = 0; i < 3; ++i) {
      bool one = k << i & 4;
      if (i < s.n)
        term &= (one ? s.value(i) : ~s.value(i)) | ~s.b[i][0];
      else if (one) // an absent source is zero
        term = 0;
    }
    canBe[table >> k & 1] |= term;
  }
  return ~(canBe[0] & canBe[1]);
}

/// The shift amount is the first source.
template <bool Left, bool Arithmetic> uint64_t shiftRule(const LaneSources &s) {
  unsigned log = s.words == 2 ? 6 : 5, width = 1u << log;
  if (!s.lowDefined(0, log))
    return 0;
  uint32_t amount = s.value(0) & (width - 1);
  uint64_t data = s.words == 2 ? s.bits(1) : s.b[1][0];
  return Left ? shiftLeft(data, amount)
              : shiftRight(data, width, amount, Arithmetic);
}

uint64_t lshlOrRule(const LaneSources &s) {
  if (!s.lowDefined(1, 5))
    return 0;
  uint32_t amount = s.value(1) & 31;
  Bits a = Bits(shiftLeft(s.b[0][0], amount)), c = s.b[2][0];
  return (a & c) | (a & s.value(0) << amount) | (c & s.value(2));
}

template <bool Signed> uint64_t bfeRule(const LaneSources &s) {
  if (!s.lowDefined(1, 5) || !s.lowDefined(2, 5))
    return 0;
  uint32_t first = s.value(1) & 31, width = s.value(2) & 31;
  if (!width)
    return kAll;
  Bits field = (1u << width) - 1;
  Bits from = Bits(shiftRight(s.b[0][0], 32, first, true));
  bool extension = !Signed || (from >> (width - 1) & 1);
  return (from & field) | (extension ? ~field : 0);
}

/// The word from bit (last source * Unit) on of the first two together.
template <unsigned Unit> uint64_t alignRule(const LaneSources &s) {
  unsigned count = Unit == 8 ? 2 : 5;
  if (!s.lowDefined(2, count))
    return 0;
  uint32_t amount = (s.value(2) & ((1u << count) - 1)) * Unit;
  return Bits((uint64_t(s.b[0][0]) << 32 | s.b[1][0]) >> amount);
}

uint64_t reverseRule(const LaneSources &s) {
  return __builtin_bitreverse32(s.b[0][0]);
}

uint64_t sumRule(const LaneSources &s) {
  uint64_t all = ~0ull;
  for (unsigned k = 0; k < s.n; ++k)
    all &= s.bits(k);
  return s.inst.m.clamp ? allOrNothing(all == ~0ull) : belowCarry(all);
}

/// (a << b) + c. The 64-bit form shifts by at most 4.
uint64_t lshlAddRule(const LaneSources &s) {
  bool wide = s.words == 2;
  unsigned count = wide ? 3 : 5;
  if (!s.lowDefined(1, count))
    return 0;
  uint32_t amount = s.value(1) & ((1u << count) - 1);
  if (wide && amount > 4)
    amount = 0;
  return belowCarry(shiftLeft(s.bits(0), amount) & s.bits(2));
}

uint64_t addLshlRule(const LaneSources &s) {
  if (!s.lowDefined(2, 5))
    return 0;
  return shiftLeft(belowCarry(s.bits(0) & s.bits(1)), s.value(2) & 31);
}

/// Only 24 bits of the factors count.
template <bool High> uint64_t mul24Rule(const LaneSources &s) {
  uint64_t rest = ~0ull << 24;
  uint64_t all = (s.bits(0) | rest) & (s.bits(1) | rest);
  if (s.n == 3)
    all &= s.bits(2);
  return High || s.inst.m.clamp ? allOrNothing(all == ~0ull) : belowCarry(all);
}

uint64_t permRule(const LaneSources &s) {
  if (s.b[2][0] != kAll)
    return 0;
  uint32_t sel = s.value(2);
  bool all = s.b[0][0] == kAll && s.b[1][0] == kAll;
  Bits out = 0;
  for (unsigned k = 0; k < 4; ++k) {
    unsigned byte = sel >> (8 * k) & 0xff;
    // Bytes 0-3 are of source 1, 4-7 of source 0; then signs and constants.
    Bits from = byte > 11 || (byte > 7 && all) ? 0xff
                : byte > 7                     ? 0
                : byte < 4 ? s.b[1][0] >> (8 * byte) & 0xff
                           : s.b[0][0] >> (8 * (byte - 4)) & 0xff;
    out |= from << (8 * k);
  }
  return out;
}

uint64_t oneByteRule(const LaneSources &s) {
  return allOrNothing((s.b[0][0] >> (8 * s.inst.op->info) & 0xff) == 0xff);
}

uint64_t halvesRule(const LaneSources &s) {
  Bits out = kAll;
  for (unsigned h = 0; h < 2; ++h)
    for (unsigned k = 0; k < s.n; ++k) {
      bool high = (h ? s.inst.m.opSelHi : s.inst.m.opSel) >> k & 1;
      Bits need = high ? kHigh : kLow;
      if ((s.b[k][0] & need) != need)
        out &= h ? kLow : kHigh;
    }
  return out;
}

uint64_t packHalfRule(const LaneSources &s) {
  return (s.b[0][0] == kAll ? kLow : 0) | (s.b[1][0] == kAll ? kHigh : 0);
}

Rule ruleOf(DefRule rule) {
  static const Rule rules[] = {wholeRule,
                               bitwiseRule,
                               logicRule,
                               shiftRule<true, false>,
                               shiftRule<false, false>,
                               shiftRule<false, true>,
                               permRule,
                               lshlOrRule,
                               bfeRule<false>,
                               bfeRule<true>,
                               alignRule<1>,
                               alignRule<8>,
                               reverseRule,
                               sumRule,
                               lshlAddRule,
                               addLshlRule,
                               mul24Rule<false>,
                               mul24Rule<true>,
                               oneByteRule,
                               halvesRule,
                               packHalfRule,
                               wholeRule};
  static_assert(sizeof rules / sizeof *rules == size_t(DefRule::Custom) + 1);
  return rules[size_t(rule)];
}

/// A 16-bit result keeps or defines the other half.
Bits placeHalf(Wave &w, const Inst &inst, unsigned dst, unsigned lane,
               Bits bits) {
  Bits old = laneBits(w, dst, lane);
  if (writesHighHalf(inst))
    return ((bits & kLow) == kLow ? kHigh : 0) | (old & kLow);
  return (bits & kLow) | (inst.op->preserveHigh ? old & kHigh : kHigh);
}

/// An SDWA destination that is a part of the register.
Bits placePart(Wave &w, const Inst &inst, unsigned dst, unsigned lane,
               Bits bits) {
  Sel sel = inst.m.dstSel;
  bool word = sel == Sel::Word0 || sel == Sel::Word1;
  unsigned shift = word ? (sel == Sel::Word1 ? 16 : 0) : 8 * unsigned(sel);
  Bits field = (word ? kLow : 0xffu) << shift;
  Bits rest = inst.m.dstUnused == Modifiers::Unused::Preserve
                  ? laneBits(w, dst, lane)
                  : kAll;
  return ((bits << shift) & field) | (rest & ~field);
}

} // namespace

void propagateUnusual(Wave &w, const Inst &inst, unsigned firstSrc,
                      unsigned numSrc, unsigned words) {
  ByteMasks m = ~ByteMasks{};
  for (unsigned k = 0; k < numSrc; ++k)
    m &= definedBytes(w, inst.o[firstSrc + k]);
  if (inst.op->dstIsSource)
    m &= definedBytes(w, inst.o[0]);
  bool partial = inst.m.dstSel != Sel::Dword || inst.op->preserveHigh ||
                 (!inst.op->packed && inst.m.opSel);
  if (__builtin_reduce_and(m) == ~0ull && !w.gprIdxMode && !partial) {
    // Nothing undefined to move: whatever is written is defined.
    uint64_t written = writeMask(w, inst);
    for (unsigned r = 0; r < words; ++r)
      define(w, inst.o[0].reg + r, written);
    return;
  }
  unsigned dst = w.gprIdxMode ? indexedVgpr(w, inst, 0) : inst.o[0].reg;
  propagateSlow(w, inst, firstSrc, numSrc, dst, words);
}

void propagateSlow(Wave &w, const Inst &inst, unsigned firstSrc,
                   unsigned numSrc, unsigned dst, unsigned words) {
  uint64_t mask = writeMask(w, inst);
  Source sources[4];
  unsigned n = 0;
  for (unsigned k = 0; k < numSrc && n < 3; ++k, ++n) {
    Type type = inst.op->types[firstSrc + k];
    Sel sel = selectedPart(inst, firstSrc + k, type);
    if (sel == Sel::Dword && isHalf(type) && !inst.op->packed)
      sel = Sel::Word0;
    sources[n] = {&inst.o[firstSrc + k], indexedVgpr(w, inst, firstSrc + k),
                  k == 0 && inst.m.dpp != nullptr, sel};
  }
  if (inst.op->dstIsSource)
    sources[n++] = {&inst.o[0], dst, false, Sel::Dword};
  Rule rule = ruleOf(inst.op->rule);
  bool half = isHalf(inst.op->types[0]) && !inst.op->packed;
  bool part = (inst.m.seen & kModSdwa) && inst.m.dstSel != Sel::Dword;
  Bits result[2][kLanes];
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1))
      continue;
    LaneSources s = {w, inst, firstSrc, l, words, n, {}};
    for (unsigned k = 0; k < n; ++k)
      for (unsigned word = 0; word < 2; ++word)
        s.b[k][word] = sourceBits(w, inst, sources[k], l, word);
    uint64_t defined = rule(s);
    Bits low = Bits(defined);
    if (half)
      low = placeHalf(w, inst, dst, l, low);
    if (part)
      low = placePart(w, inst, dst, l, low);
    result[0][l] = low;
    result[1][l] = Bits(defined >> 32);
  }
  for (unsigned word = 0; word < words; ++word)
    for (uint64_t m = mask; m; m &= m - 1) {
      unsigned l = unsigned(__builtin_ctzll(m));
      setLaneBits(w, dst + word, l, result[word][l]);
    }
}

} // namespace hk::emu
