//===- Defined.cpp - Undefined bytes through the VALU ---------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The slow path of definedness: some source byte of an active lane is
// undefined, or the instruction moves bytes between lanes or within a lane.
// The rules are exact where compilers rely on it (masks, shifts, byte
// permutations, packed halves) and otherwise make the whole lane undefined.
//
//===----------------------------------------------------------------------===//

#include "Valu.h"

namespace hk::emu {
namespace {

/// Defined bytes of one source in one lane.
using Bytes = uint8_t;

struct Source {
  const Operand *op;
  unsigned reg;
  bool dpp;
  Sel sel;
};

bool isHalf(Type type) { return type == Type::F16 || type == Type::B16; }

Bytes sourceBytes(Wave &w, const Inst &inst, const Source &s, unsigned lane,
                  unsigned word) {
  const Operand &o = *s.op;
  Bytes bytes = 0xf;
  if (o.isVgpr()) {
    unsigned from = lane;
    if (s.dpp) {
      from = inst.m.dpp->from[lane];
      if (!(inst.m.dpp->exists >> lane & 1) || !(w.exec >> from & 1))
        return 0xf; // reads zero, or the lane is not written
    }
    unsigned r = s.reg + (word < o.width ? word : 0u);
    bytes = 0;
    for (unsigned k = 0; k < 4; ++k)
      bytes |= Bytes((w.vd[r].byte[k] >> from & 1) << k);
  } else if (o.isSgpr()) {
    uint32_t bits = w.sd[o.reg + (word < o.width ? word : 0u)];
    bytes = 0;
    for (unsigned k = 0; k < 4; ++k)
      bytes |= Bytes(((bits >> (8 * k) & 0xff) == 0xff) << k);
  }
  switch (s.sel) {
  case Sel::Dword:
    return bytes;
  case Sel::Word0:
  case Sel::Word1: {
    Bytes two = s.sel == Sel::Word0 ? bytes & 3 : bytes >> 2;
    return two | (o.sext ? ((two & 2) ? 0xc : 0) : 0xc);
  }
  default: {
    Bytes one = bytes >> unsigned(s.sel) & 1;
    return one ? 0xf : o.sext ? 0 : 0xe;
  }
  }
}

uint32_t laneValue(Wave &w, const Inst &inst, unsigned k, unsigned lane) {
  LaneBuf buf;
  return fetchWord(w, inst, k, inst.op->types[k], false, buf)[lane];
}

Bytes zeroBytes(uint32_t value) {
  Bytes z = 0;
  for (unsigned k = 0; k < 4; ++k)
    z |= Bytes(((value >> (8 * k) & 0xff) == 0) << k);
  return z;
}

Bytes shiftBytes(Bytes data, uint32_t amount, bool left) {
  amount &= 31;
  // A shift by bits mixes two neighbours.
  unsigned whole = amount / 8, part = amount % 8;
  auto at = [&](int k) { return k < 0 || k > 3 ? 1 : data >> k & 1; };
  Bytes out = 0;
  for (int k = 0; k < 4; ++k) {
    int from = left ? k - int(whole) : k + int(whole);
    int ok = at(from) & (part ? at(left ? from - 1 : from + 1) : 1);
    out |= Bytes(ok << k);
  }
  return out;
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
  Defined result[2] = {};
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1))
      continue;
    Bytes b[4][2], out[2] = {0xf, 0xf};
    bool all[2] = {true, true};
    auto whole = [](const Bytes *bytes) { return bytes[0] == 0xf; };
    for (unsigned k = 0; k < n; ++k)
      for (unsigned word = 0; word < 2; ++word) {
        b[k][word] = sourceBytes(w, inst, sources[k], l, word);
        out[word] &= b[k][word];
        all[word] &= b[k][word] == 0xf;
      }
    switch (rule) {
    case DefRule::Bitwise:
      break;
    case DefRule::And:
    case DefRule::Or: {
      // A defined 0 (and) or 0xff (or) byte decides the result byte.
      Bytes decided = 0;
      for (unsigned k = 0; k < 2; ++k) {
        uint32_t v = laneValue(w, inst, firstSrc + k, l);
        decided |= b[k][0] & zeroBytes(rule == DefRule::And ? v : ~v);
      }
      out[0] |= decided;
      break;
    }
    case DefRule::AndOr: {
      Bytes both = b[0][0] & b[1][0];
      for (unsigned k = 0; k < 2; ++k)
        both |= b[k][0] & zeroBytes(laneValue(w, inst, firstSrc + k, l));
      out[0] = both & b[2][0];
      break;
    }
    case DefRule::LShlOr:
      out[0] =
          whole(b[1])
              ? shiftBytes(b[0][0], laneValue(w, inst, firstSrc + 1, l), true) &
                    b[2][0]
              : 0;
      break;
    case DefRule::Bfe: {
      uint32_t first = laneValue(w, inst, firstSrc + 1, l) & 31;
      uint32_t width = laneValue(w, inst, firstSrc + 2, l) & 31;
      uint64_t last = width ? first + width - 1 : first;
      out[0] = whole(b[1]) && whole(b[2]) ? 0xf : 0;
      for (unsigned k = first / 8; width && k <= last / 8 && k < 4; ++k)
        if (!(b[0][0] >> k & 1))
          out[0] = 0;
      break;
    }
    case DefRule::OneByte:
      out[0] = (b[0][0] >> inst.op->info & 1) ? 0xf : 0;
      break;
    case DefRule::LShiftRev:
    case DefRule::RShiftRev:
      if (b[0][0] != 0xf || words == 2)
        out[0] = out[1] = all[0] && all[1] ? 0xf : 0;
      else
        out[0] = shiftBytes(b[1][0], laneValue(w, inst, firstSrc, l),
                            rule == DefRule::LShiftRev);
      break;
    case DefRule::Perm: {
      uint32_t sel = laneValue(w, inst, firstSrc + 2, l);
      out[0] = 0;
      for (unsigned k = 0; k < 4 && b[2][0] == 0xf; ++k) {
        unsigned s = sel >> (8 * k) & 0xff;
        // Bytes 0-3 are of source 1, 4-7 of source 0.
        bool ok = s > 7 ? (s < 12 ? all[0] : true)
                        : (s < 4 ? b[1][0] >> s : b[0][0] >> (s - 4)) & 1;
        out[0] |= Bytes(ok << k);
      }
      break;
    }
    case DefRule::Halves: {
      out[0] = 0xf;
      for (unsigned h = 0; h < 2; ++h)
        for (unsigned k = 0; k < n; ++k) {
          bool high = (h ? inst.m.opSelHi : inst.m.opSel) >> k & 1;
          Bytes need = high ? 0xc : 3;
          if ((b[k][0] & need) != need && b[k][0] != 0xf)
            out[0] &= h ? 3 : 0xc;
        }
      break;
    }
    case DefRule::PackHalf:
      out[0] = (b[0][0] == 0xf ? 3 : 0) | (b[1][0] == 0xf ? 0xc : 0);
      break;
    default: {
      bool ok = all[0] && (words == 1 || all[1]);
      out[0] = all[0] ? 0xf : 0;
      out[1] = ok ? 0xf : 0;
    }
    }
    if (isHalf(inst.op->types[0]) && !inst.op->packed) {
      bool high = writesHighHalf(inst);
      if (high || inst.op->preserveHigh) {
        Bytes old = 0;
        for (unsigned k = 0; k < 4; ++k)
          old |= Bytes((w.vd[dst].byte[k] >> l & 1) << k);
        out[0] = high ? (out[0] & 0xc) | (old & 3) : (out[0] & 3) | (old & 0xc);
      }
    }
    if (inst.m.seen & kModSdwa && inst.m.dstSel != Sel::Dword) {
      bool word = inst.m.dstSel == Sel::Word0 || inst.m.dstSel == Sel::Word1;
      unsigned shift = word ? (inst.m.dstSel == Sel::Word1 ? 2 : 0)
                            : unsigned(inst.m.dstSel);
      Bytes field = Bytes((word ? 3 : 1) << shift);
      Bytes rest = 0xf;
      if (inst.m.dstUnused == Modifiers::Unused::Preserve) {
        rest = 0;
        for (unsigned k = 0; k < 4; ++k)
          rest |= Bytes((w.vd[dst].byte[k] >> l & 1) << k);
      }
      out[0] = Bytes(((out[0] << shift) & field) | (rest & ~field));
    }
    for (unsigned word = 0; word < words; ++word)
      for (unsigned k = 0; k < 4; ++k)
        result[word].byte[k] |= uint64_t(out[word] >> k & 1) << l;
  }
  for (unsigned word = 0; word < words; ++word)
    for (unsigned k = 0; k < 4; ++k) {
      uint64_t &bits = w.vd[dst + word].byte[k];
      bits = (bits & ~mask) | result[word].byte[k];
    }
}

} // namespace hk::emu
