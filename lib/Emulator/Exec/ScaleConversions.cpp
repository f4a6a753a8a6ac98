//===- ScaleConversions.cpp - Scaled conversions (gfx950) -----------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// v_cvt_scalef32: between f32, f16 or bf16 and fp8, bf8, fp6, bf6 or fp4 with
// a power-of-two scale, the exponent of an f32 operand. Down-conversions divide
// by it, up-conversions multiply. Every result is exact before its one
// rounding. Overflow of fp8 and bf8 follows MODE.FP16_OVFL; the formats without
// infinity and NaN saturate.
//
//===----------------------------------------------------------------------===//

#include "../MiniFloat.h"
#include "../Valu.h"
#include "Random.h"
#include <cmath>
#include <limits>

namespace hk::emu {
namespace {

enum Wide : uint8_t { kF32, kF16, kBf16 };

/// A form by its name; `count` elements at once, 1 for the scalar ones.
struct Form {
  const MiniFloat *narrow;
  Wide wide;
  uint8_t count;
  bool up, stochastic, twoSources;
};

std::vector<Form> &forms() {
  static std::vector<Form> list;
  return list;
}

/// A double, as the smallest scales are denormal in f32, which MODE may flush.
double scaleFactor(uint32_t bits) {
  uint32_t e = bits >> 23 & 0xff;
  return e == 255 ? __builtin_nan("") : std::ldexp(1.0, int(e) - 127);
}

/// v / scale; a finite value stays finite, as only infinity is one.
float scaledDown(float v, double scale) {
  double x = v / scale, top = std::numeric_limits<float>::max();
  return float(std::isinf(v) ? x : x > top ? top : x < -top ? -top : x);
}

float readWide(Wave &w, Wide type, unsigned reg, unsigned e, unsigned lane) {
  if (type == kF32)
    return fromBits<float>(w.v[reg + e][lane]);
  uint32_t bits = w.v[reg + e / 2][lane] >> (e % 2 * 16);
  return type == kF16 ? float(fromBits<half>(bits))
                      : fromBits<float>(bits << 16);
}

uint32_t wideBits(Wide type, float v) {
  if (type == kF32)
    return toBits(v);
  if (type == kF16)
    return toBits(half(v));
  return bf16Bits(v);
}

/// A 32-bit source in one lane.
uint32_t laneWord(Wave &w, const Operand &o, unsigned lane) {
  uint32_t v = o.isVgpr()   ? w.v[o.reg][lane]
               : o.isSgpr() ? w.s[o.reg]
                            : uint32_t(o.imm);
  if (o.abs)
    v &= 0x7fffffff;
  return o.neg ? v ^ 0x80000000u : v;
}

float elementOf(Wave &w, const Form &f, const Inst &inst, unsigned e,
                unsigned lane) {
  // v_cvt_scalef32_pk_fp8_f32 takes its two f32 from two operands, and the
  // 2xpk16 forms 16 from each of two, in turns.
  if (f.twoSources && f.count == 2)
    return fromBits<float>(laneWord(w, inst.o[1 + e], lane));
  if (f.twoSources)
    return readWide(w, f.wide, inst.o[1 + e % 2].reg, e / 2, lane);
  if (f.count == 1)
    return f.wide == kF32 ? fromBits<float>(laneWord(w, inst.o[1], lane))
                          : readWide(w, f.wide, inst.o[1].reg, 0, lane);
  return readWide(w, f.wide, inst.o[1].reg, e, lane);
}

/// The bit of op_sel behind those of the sources names the result's half.
unsigned highResult(const Inst &inst) {
  return inst.m.opSel >> (inst.numOperands - 1) & 1;
}

/// Wide to narrow. Small counts replace a part of the destination that op_sel
/// picks: a byte for one fp8 or two fp4, a half for two fp8.
void down(Wave &w, const Inst &inst) {
  const Form &f = forms()[inst.op->info];
  unsigned bits = unsigned(f.narrow->bits()), total = bits * f.count;
  unsigned last = inst.numOperands - 1u;
  unsigned part = inst.m.opSel >> 2 & 3, dst = inst.o[0].reg;
  if (total == 16)
    part = highResult(inst) * 2;
  bool sat = saturatesOverflow(w);
  uint64_t defined = ~0ull;
  for (unsigned k = 1; k <= last; ++k)
    defined &= definedLanes(w, inst.o[k]);
  for (uint64_t m = w.exec; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctzll(m));
    double scale = scaleFactor(laneWord(w, inst.o[last], l));
    uint32_t random = f.stochastic ? laneWord(w, inst.o[last - 1], l) : 0;
    uint32_t packed[6] = {};
    for (unsigned e = 0; e < f.count; ++e) {
      float v = scaledDown(elementOf(w, f, inst, e, l), scale);
      if (v != v && !f.narrow->hasNan && w.launch->options.unspecified)
        w.report(inst, Check::Unspecified, int(l), 0,
                 "what a NaN becomes in a format without NaN");
      uint32_t code = f.stochastic ? f.narrow->encodeStochastic(v, sat, random)
                                   : f.narrow->encode(v, sat);
      random = nextRandom(random);
      unsigned at = e * bits;
      packed[at / 32] |= code << (at % 32);
      if (at % 32 + bits > 32)
        packed[at / 32 + 1] |= code >> (32 - at % 32);
    }
    if (total < 32) {
      uint32_t field = ((1u << total) - 1) << (8 * part);
      uint32_t &d = w.v[dst][l];
      d = (d & ~field) | (packed[0] << (8 * part) & field);
    } else {
      for (unsigned k = 0; k < total / 32; ++k)
        w.v[dst + k][l] = packed[k];
    }
  }
  if (!w.checks)
    return;
  if (total >= 32) {
    for (unsigned k = 0; k < total / 32; ++k)
      setDefinedLanes(w, dst + k, w.exec, defined);
    return;
  }
  for (unsigned k = part; k < part + total / 8; ++k) {
    uint64_t &d = w.vd[dst].byte[k & 3];
    d = (d & ~w.exec) | (defined & w.exec);
  }
}

/// Narrow to wide; op_sel picks the byte (half) of the source for small counts.
void up(Wave &w, const Inst &inst) {
  const Form &f = forms()[inst.op->info];
  unsigned bits = unsigned(f.narrow->bits()), total = bits * f.count;
  unsigned part = (inst.m.opSel & 1) * (total == 16 ? 2 : 1) +
                  (total == 16 ? 0 : (inst.m.opSel >> 1 & 1) * 2);
  const float *table = f.narrow->table();
  unsigned src = inst.o[1].reg, dst = inst.o[0].reg;
  unsigned perWord = f.wide == kF32 ? 1 : 2;
  unsigned words = (f.count + perWord - 1) / perWord;
  uint64_t defined = definedLanes(w, inst.o[2]);
  if (total >= 32 || !inst.o[1].isVgpr())
    defined &= definedLanes(w, inst.o[1]);
  else
    for (unsigned k = part; k < part + total / 8; ++k)
      defined &= w.vd[src].byte[k & 3];
  for (uint64_t m = w.exec; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctzll(m));
    double scale = scaleFactor(laneWord(w, inst.o[2], l));
    uint32_t in[6], out[32] = {};
    for (unsigned k = 0; k < (total + 31) / 32; ++k)
      in[k] = inst.o[1].isVgpr() ? w.v[src + k][l] : laneWord(w, inst.o[1], l);
    if (total < 32)
      in[0] >>= 8 * part;
    for (unsigned e = 0; e < f.count; ++e) {
      unsigned at = e * bits;
      uint32_t code = in[at / 32] >> (at % 32);
      if (at % 32 + bits > 32)
        code |= in[at / 32 + 1] << (32 - at % 32);
      float from = table[code & ((1u << bits) - 1)];
      uint32_t wide = wideBits(f.wide, float(from * scale));
      if (f.wide == kF16 && saturatesOverflow(w))
        wide = toBits(saturatedHalf(fromBits<half>(wide), false, from));
      out[e / perWord] |= wide << (perWord == 2 ? e % 2 * 16 : 0);
    }
    // A single f16 replaces the half that op_sel's last bit names.
    if (f.count == 1 && f.wide != kF32) {
      bool high = highResult(inst);
      uint32_t &d = w.v[dst][l];
      d = high ? (d & 0xffff) | out[0] << 16 : (d & 0xffff0000u) | out[0];
      continue;
    }
    for (unsigned k = 0; k < words; ++k)
      w.v[dst + k][l] = out[k];
  }
  if (!w.checks)
    return;
  if (f.count == 1 && f.wide != kF32) {
    unsigned first = highResult(inst) ? 2 : 0;
    for (unsigned k = first; k < first + 2; ++k) {
      uint64_t &d = w.vd[dst].byte[k];
      d = (d & ~w.exec) | (defined & w.exec);
    }
    return;
  }
  for (unsigned k = 0; k < words; ++k)
    setDefinedLanes(w, dst + k, w.exec, defined);
}

struct NarrowName {
  const char *name;
  const MiniFloat *format;
};
const NarrowName kNarrow[] = {{"fp8", &kE4M3Fn},
                              {"bf8", &kE5M2},
                              {"fp6", &kE2M3},
                              {"bf6", &kE3M2},
                              {"fp4", &kE2M1}};
struct WideName {
  const char *name;
  Wide type;
};
const WideName kWide[] = {{"f32", kF32}, {"f16", kF16}, {"bf16", kBf16}};

void add(OpTable &t, const std::string &name, const Form &form) {
  Op op;
  op.cls = InstClass::Valu;
  op.fn = form.up ? up : down;
  op.info = uint16_t(forms().size());
  op.rule = DefRule::Custom;
  op.packed = true;
  op.mods = kModOpSel;
  for (Type &type : op.types)
    type = Type::F32;
  forms().push_back(form);
  t.add("v_cvt_scalef32_" + name, op);
}

} // namespace

void addScaleConversions(OpTable &t) {
  forms().clear();
  for (const NarrowName &n : kNarrow)
    for (const WideName &x : kWide) {
      std::string narrow = n.name, wide = x.name;
      bool six = n.format->bits() == 6, four = n.format->bits() == 4;
      if (six) {
        add(t, "pk32_" + wide + "_" + narrow,
            {n.format, x.type, 32, true, false, false});
        add(t, "sr_pk32_" + narrow + "_" + wide,
            {n.format, x.type, 32, false, true, false});
        if (x.type == kF32)
          add(t, "2xpk16_" + narrow + "_f32",
              {n.format, kF32, 32, false, false, true});
        else
          add(t, "pk32_" + narrow + "_" + wide,
              {n.format, x.type, 32, false, false, false});
        continue;
      }
      add(t, "pk_" + wide + "_" + narrow,
          {n.format, x.type, 2, true, false, false});
      add(t, "pk_" + narrow + "_" + wide,
          {n.format, x.type, 2, false, false, x.type == kF32});
      if (four) {
        add(t, "sr_pk_" + narrow + "_" + wide,
            {n.format, x.type, 2, false, true, false});
        continue;
      }
      add(t, "sr_" + narrow + "_" + wide,
          {n.format, x.type, 1, false, true, false});
      if (x.type != kBf16)
        add(t, wide + "_" + narrow, {n.format, x.type, 1, true, false, false});
    }
}

} // namespace hk::emu
