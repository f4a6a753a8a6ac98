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

/// Bits of a | b, where a defined one decides.
Bits orBits(Bits a, uint32_t aValue, Bits b, uint32_t bValue) {
  return (a & b) | (a & aValue) | (b & bValue);
}

Bits shiftLeft(Bits data, uint32_t amount) {
  amount &= 31;
  return data << amount | ((1u << amount) - 1);
}

/// What shifts in at the top is a zero or a copy of the sign.
uint64_t shiftRight(uint64_t data, unsigned width, uint32_t amount,
                    bool arithmetic) {
  amount &= width - 1;
  bool top = !arithmetic || (data >> (width - 1) & 1);
  uint64_t filled = amount ? ~0ull << (width - amount) : 0;
  return data >> amount | (top ? filled : 0);
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
  DefRule rule = inst.op->rule;
  Bits result[2][kLanes];
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1))
      continue;
    Bits b[4][2], out[2] = {kAll, kAll};
    for (unsigned k = 0; k < n; ++k)
      for (unsigned word = 0; word < 2; ++word) {
        b[k][word] = sourceBits(w, inst, sources[k], l, word);
        out[word] &= b[k][word];
      }
    const bool all[2] = {out[0] == kAll, out[1] == kAll};
    auto value = [&](unsigned k) {
      return laneValue(w, inst, firstSrc + k, l);
    };
    switch (rule) {
    case DefRule::Bitwise:
      break;
    case DefRule::And: // a defined zero decides
      out[0] |= (b[0][0] & ~value(0)) | (b[1][0] & ~value(1));
      break;
    case DefRule::Or:
      out[0] = orBits(b[0][0], value(0), b[1][0], value(1));
      break;
    case DefRule::AndOr: {
      Bits both =
          (b[0][0] & b[1][0]) | (b[0][0] & ~value(0)) | (b[1][0] & ~value(1));
      out[0] = orBits(both, value(0) & value(1), b[2][0], value(2));
      break;
    }
    case DefRule::Bitop3: {
      // Defined where no choice for the undefined bits changes the result.
      Bits canBe[2] = {0, 0};
      for (unsigned k = 0; k < 8; ++k) {
        Bits term = kAll;
        for (unsigned s = 0; s < 3; ++s)
          term &= ((k << s & 4) ? value(s) : ~value(s)) | ~b[s][0];
        canBe[inst.m.bitop3 >> k & 1] |= term;
      }
      out[0] = ~(canBe[0] & canBe[1]);
      break;
    }
    case DefRule::LShlOr:
      out[0] = b[1][0] == kAll
                   ? orBits(shiftLeft(b[0][0], value(1)),
                            value(0) << (value(1) & 31), b[2][0], value(2))
                   : 0;
      break;
    case DefRule::Bfe: {
      uint32_t first = value(1) & 31, width = value(2) & 31;
      Bits field = (1u << width) - 1;
      Bits from = Bits(shiftRight(b[0][0], 32, first, true));
      bool extension =
          inst.op->name == "v_bfe_u32" || (width && from >> (width - 1) & 1);
      if (b[1][0] != kAll || b[2][0] != kAll)
        out[0] = 0;
      else
        out[0] = width ? (from & field) | (extension ? ~field : 0) : kAll;
      break;
    }
    case DefRule::OneByte:
      out[0] = (b[0][0] >> (8 * inst.op->info) & 0xff) == 0xff ? kAll : 0;
      break;
    case DefRule::LShiftRev:
    case DefRule::RShiftRev: {
      bool left = rule == DefRule::LShiftRev;
      bool arithmetic = inst.op->name.find("ashr") != std::string::npos;
      if (b[0][0] != kAll) {
        out[0] = out[1] = 0;
      } else if (words == 2) {
        uint64_t data = uint64_t(b[1][1]) << 32 | b[1][0];
        uint32_t amount = value(0) & 63;
        data = left ? data << amount | ((1ull << amount) - 1)
                    : shiftRight(data, 64, amount, arithmetic);
        out[0] = Bits(data);
        out[1] = Bits(data >> 32);
      } else {
        out[0] = left ? shiftLeft(b[1][0], value(0))
                      : Bits(shiftRight(b[1][0], 32, value(0), arithmetic));
      }
      break;
    }
    case DefRule::Perm: {
      uint32_t sel = value(2);
      out[0] = 0;
      for (unsigned k = 0; k < 4 && b[2][0] == kAll; ++k) {
        unsigned s = sel >> (8 * k) & 0xff;
        // Bytes 0-3 are of source 1, 4-7 of source 0.
        Bits from = s > 11 || (s > 7 && all[0]) ? 0xff
                    : s > 7                     ? 0
                    : s < 4 ? b[1][0] >> (8 * s) & 0xff
                            : b[0][0] >> (8 * (s - 4)) & 0xff;
        out[0] |= from << (8 * k);
      }
      break;
    }
    case DefRule::Halves: {
      out[0] = kAll;
      for (unsigned h = 0; h < 2; ++h)
        for (unsigned k = 0; k < n; ++k) {
          bool high = (h ? inst.m.opSelHi : inst.m.opSel) >> k & 1;
          Bits need = high ? kHigh : kLow;
          if ((b[k][0] & need) != need)
            out[0] &= h ? kLow : kHigh;
        }
      break;
    }
    case DefRule::PackHalf:
      out[0] = (b[0][0] == kAll ? kLow : 0) | (b[1][0] == kAll ? kHigh : 0);
      break;
    default: {
      bool ok = all[0] && (words == 1 || all[1]);
      out[0] = all[0] ? kAll : 0;
      out[1] = ok ? kAll : 0;
    }
    }
    if (isHalf(inst.op->types[0]) && !inst.op->packed) {
      bool high = writesHighHalf(inst);
      Bits old = laneBits(w, dst, l);
      if (high)
        out[0] = ((out[0] & kLow) == kLow ? kHigh : 0) | (old & kLow);
      else
        out[0] =
            (out[0] & kLow) | (inst.op->preserveHigh ? old & kHigh : kHigh);
    }
    if (inst.m.seen & kModSdwa && inst.m.dstSel != Sel::Dword) {
      bool word = inst.m.dstSel == Sel::Word0 || inst.m.dstSel == Sel::Word1;
      unsigned shift = word ? (inst.m.dstSel == Sel::Word1 ? 16 : 0)
                            : 8 * unsigned(inst.m.dstSel);
      Bits field = (word ? kLow : 0xffu) << shift;
      Bits rest = inst.m.dstUnused == Modifiers::Unused::Preserve
                      ? laneBits(w, dst, l)
                      : kAll;
      out[0] = ((out[0] << shift) & field) | (rest & ~field);
    }
    for (unsigned word = 0; word < words; ++word)
      result[word][l] = out[word];
  }
  for (unsigned word = 0; word < words; ++word)
    for (uint64_t m = mask; m; m &= m - 1) {
      unsigned l = unsigned(__builtin_ctzll(m));
      setLaneBits(w, dst + word, l, result[word][l]);
    }
}

} // namespace hk::emu
