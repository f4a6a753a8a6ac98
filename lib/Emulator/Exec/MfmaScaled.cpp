//===- MfmaScaled.cpp - f8f6f4 and scaled matrix instructions -------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 16x16x128 and 32x32x64 with fp8, bf8, fp6, bf6 or fp4 on either side (cbsz
// and blgp name the formats), with or without a power-of-two scale for every
// 32 elements of K.
//
// A lane's 32 elements are contiguous in K for 4 and 6 bit formats. 8-bit
// formats come in two chunks of 16: chunk c of lane group g is K = 16 * (g +
// groups * c). The scale of K block n is in lane group n whatever the format;
// op_sel and op_sel_hi give the low and high bit of its byte.
//
//===----------------------------------------------------------------------===//

#include "Mfma.h"
#include <cmath>

namespace hk::emu {
namespace {

constexpr unsigned kPerLane = 32;

const MiniFloat *const kFormatCodes[] = {&kE4M3Fn, &kE5M2, &kE2M3, &kE3M2,
                                         &kE2M1};

std::string checkFormats(const Inst &inst) {
  constexpr unsigned codes = sizeof kFormatCodes / sizeof *kFormatCodes;
  return inst.m.cbsz < codes && inst.m.blgp < codes ? ""
                                                    : "no such element format";
}

float scaleOf(uint32_t word, unsigned byte) {
  uint32_t e = word >> (8 * byte) & 0xff;
  return e == 255 ? __builtin_nanf("") : std::ldexp(1.0f, int(e) - 127);
}

/// Unpacks one operand to out[k][row].
template <unsigned M>
void unpackFormat(Wave &w, const Operand &o, unsigned code, float (*out)[M]) {
  constexpr unsigned groups = kLanes / M;
  const MiniFloat &format = *kFormatCodes[code];
  const float *table = format.table();
  unsigned bits = unsigned(format.bits());
  uint32_t mask = (1u << bits) - 1;
  for (unsigned e = 0; e < kPerLane; ++e) {
    unsigned bit = e * bits, shift = bit % 32;
    const uint32_t *lo = w.v[o.reg + bit / 32];
    bool straddles = shift + bits > 32;
    const uint32_t *hi = straddles ? w.v[o.reg + bit / 32 + 1] : lo;
    for (unsigned l = 0; l < kLanes; ++l) {
      uint32_t v = lo[l] >> shift;
      if (straddles)
        v |= hi[l] << (32 - shift);
      unsigned g = l / M;
      unsigned k =
          bits == 8 ? 16 * (g + groups * (e / 16)) + e % 16 : kPerLane * g + e;
      out[k][l % M] = table[v & mask];
    }
  }
}

template <unsigned M>
void applyScale(Wave &w, const Inst &inst, const Operand &o, unsigned k,
                float (*out)[M]) {
  unsigned byte = (inst.m.opSel >> k & 1) + 2 * (inst.m.opSelHi >> k & 1);
  LaneBuf buf;
  const uint32_t *words = o.isVgpr()   ? w.v[o.reg]
                          : o.isSgpr() ? broadcast(w.s[o.reg], buf)
                                       : o.lanes;
  for (unsigned l = 0; l < kLanes; ++l) {
    float scale = scaleOf(words[l], byte);
    for (unsigned e = 0; e < kPerLane; ++e)
      out[kPerLane * (l / M) + e][l % M] *= scale;
  }
}

/// Only the selected byte of a scale register has to be defined.
void checkScales(Wave &w, const Inst &inst) {
  for (unsigned k = 0; k < 2; ++k) {
    const Operand &o = inst.o[4 + k];
    unsigned byte = (inst.m.opSel >> k & 1) + 2 * (inst.m.opSelHi >> k & 1);
    uint64_t ok = o.isVgpr() ? w.vd[o.reg].byte[byte] : definedLanes(w, o);
    if (~ok)
      w.reportUndefined(inst, __builtin_ctzll(~ok), 0, "a scale");
  }
}

template <unsigned M, bool Scaled> void formatMfma(Wave &w, const Inst &inst) {
  constexpr unsigned depth = kPerLane * kLanes / M;
  alignas(64) static thread_local float a[depth][M], b[depth][M];
  unpackFormat<M>(w, inst.o[1], inst.m.cbsz, a);
  unpackFormat<M>(w, inst.o[2], inst.m.blgp, b);
  if (Scaled) {
    applyScale<M>(w, inst, inst.o[4], 0, a);
    applyScale<M>(w, inst, inst.o[5], 1, b);
    if (w.checks &&
        (~definedLanes(w, inst.o[4]) || ~definedLanes(w, inst.o[5])))
      checkScales(w, inst);
  }
  mfmaMultiply<M>(w, inst, a, b, definedLanes(w, inst.o[2]), depth, false);
}

template <bool Scaled> void add(OpTable &t) {
  auto one = [&](const char *shape, Handler fn) {
    Op op;
    op.cls = InstClass::Mfma;
    op.fn = fn;
    op.check = checkFormats;
    op.packed = true;
    op.mods = kModCbsz | kModBlgp | (Scaled ? kModOpSel : 0);
    op.types[3] = Type::F32;
    op.rule = DefRule::Custom;
    op.clocks = op.clocks950 = 32;
    t.add(std::string(Scaled ? "v_mfma_scale_f32_" : "v_mfma_f32_") + shape,
          op);
  };
  one("16x16x128_f8f6f4", inMatrixMode<formatMfma<16, Scaled>>);
  one("32x32x64_f8f6f4", inMatrixMode<formatMfma<32, Scaled>>);
}

} // namespace

void addMfmaScaled(OpTable &t) {
  add<false>(t);
  add<true>(t);
}

} // namespace hk::emu
