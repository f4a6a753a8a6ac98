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

/// The E8M0 scale of each lane for operand k.
struct Scales {
  uint8_t exponent[kLanes];
  Scales(Wave &w, const Inst &inst, unsigned k) {
    const Operand &o = inst.o[4 + k];
    unsigned byte = (inst.m.opSel >> k & 1) + 2 * (inst.m.opSelHi >> k & 1);
    LaneBuf buf;
    const uint32_t *words = o.isVgpr()   ? w.v[o.reg]
                            : o.isSgpr() ? broadcast(w.s[o.reg], buf)
                                         : o.lanes;
    for (unsigned l = 0; l < kLanes; ++l)
      exponent[l] = uint8_t(words[l] >> (8 * byte));
  }
  double operator[](unsigned l) const {
    return exponent[l] == 255 ? __builtin_nan("")
                              : std::ldexp(1.0, exponent[l] - 127);
  }
  /// The largest element (bf8) with such a scale is beyond f32.
  bool exceedsFloat() const {
    constexpr unsigned limit = 127 + 112;
    return std::any_of(exponent, exponent + kLanes,
                       [](uint8_t e) { return e >= limit && e != 255; });
  }
};

/// Unpacks one operand to out[k][row].
template <unsigned M, class T>
void unpackFormat(Wave &w, const Operand &o, unsigned code, T (*out)[M]) {
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

template <unsigned M, class T>
void applyScale(const Scales &scales, T (*out)[M]) {
  for (unsigned l = 0; l < kLanes; ++l) {
    T scale = T(scales[l]);
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

/// The product with elements of type T, scaled if there are scales.
template <unsigned M, class T>
void multiplyFormats(Wave &w, const Inst &inst, const Scales *scales) {
  constexpr unsigned depth = kPerLane * kLanes / M;
  alignas(64) static thread_local T a[depth][M], b[depth][M];
  unpackFormat<M>(w, inst.o[1], inst.m.cbsz, a);
  unpackFormat<M>(w, inst.o[2], inst.m.blgp, b);
  if (scales) {
    applyScale<M>(scales[0], a);
    applyScale<M>(scales[1], b);
  }
  mfmaMultiply<M, T>(w, inst, a, b, definedLanes(w, inst.o[2]), depth, false);
}

template <unsigned M> void plainMfma(Wave &w, const Inst &inst) {
  multiplyFormats<M, float>(w, inst, nullptr);
}

template <unsigned M> void scaledMfma(Wave &w, const Inst &inst) {
  const Scales scales[] = {{w, inst, 0}, {w, inst, 1}};
  if (w.checks && (~definedLanes(w, inst.o[4]) || ~definedLanes(w, inst.o[5])))
    checkScales(w, inst);
  if (scales[0].exceedsFloat() || scales[1].exceedsFloat())
    multiplyFormats<M, double>(w, inst, scales);
  else
    multiplyFormats<M, float>(w, inst, scales);
}

/// An operand of 8 bits makes it as long as two products of half the depth;
/// CBSZ and BLGP are the formats, of which 0 and 1 have 8 bits (measured on
/// gfx950, and what clang 22 waits for).
template <unsigned Clocks> uint16_t clocksOf(const Inst &inst) {
  bool bytes = inst.m.cbsz < 2 || inst.m.blgp < 2;
  return bytes ? Clocks : Clocks / 2;
}

template <bool Scaled> void add(OpTable &t) {
  auto one = [&](const char *shape, Handler fn,
                 uint16_t (*clocks)(const Inst &)) {
    Op op;
    op.cls = InstClass::Mfma;
    op.fn = fn;
    op.check = checkFormats;
    op.packed = true;
    op.mods = kModCbsz | kModBlgp | (Scaled ? kModOpSel : 0);
    op.types[3] = Type::F32;
    op.rule = DefRule::Custom;
    op.clocksOf = clocks;
    t.add(std::string(Scaled ? "v_mfma_scale_f32_" : "v_mfma_f32_") + shape,
          op);
  };
  constexpr Handler of16 = Scaled ? scaledMfma<16> : plainMfma<16>;
  constexpr Handler of32 = Scaled ? scaledMfma<32> : plainMfma<32>;
  one("16x16x128_f8f6f4", inMatrixMode<of16>, clocksOf<32>);
  one("32x32x64_f8f6f4", inMatrixMode<of32>, clocksOf<64>);
}

} // namespace

void addMfmaScaled(OpTable &t) {
  add<false>(t);
  add<true>(t);
}

} // namespace hk::emu
