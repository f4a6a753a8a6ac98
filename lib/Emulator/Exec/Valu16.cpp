//===- Valu16.cpp - 16-bit vector ALU -------------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f16 and 16-bit integer operations on one half of a register. Three-operand
// forms keep the other half, the rest and the legacy forms zero it.
//
//===----------------------------------------------------------------------===//

#include "HalfOps.h"
#include <cmath>

namespace hk::emu {
namespace {

using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;
using i32 = int32_t;

half divFixupHalf(half a, half b, half c) {
  bool negative = std::signbit(float(b)) != std::signbit(float(c));
  float n = float(c), d = float(b), q = __builtin_fabsf(float(a));
  float nan = __builtin_nanf("");
  if (n != n || d != d)
    return half(n != n ? n : d);
  if ((d == 0 && n == 0) || (std::isinf(d) && std::isinf(n)))
    return half(-nan);
  if (d == 0 || std::isinf(n))
    q = __builtin_inff();
  else if (std::isinf(d) || n == 0)
    q = 0;
  return half(negative ? -q : q);
}

template <class F> Op halfOp(F f) {
  Op op = laneOp(f);
  op.mods |= kModOpSel;
  op.preserveHigh = Signature<F>::count == 3;
  return op;
}
template <class F, class G> Op halfOp(F plain, G clamped) {
  Op op = halfOp(plain);
  op.clampFn = laneHandler(clamped);
  op.mods |= kModOut;
  return op;
}
Op zeroingHigh(Op op) {
  op.preserveHigh = false;
  return op;
}

void addHalf(OpTable &t) {
  auto add = [&](const char *name, auto f) { t.add(name, halfOp(f)); };
  add("v_sub_f16", [](half a, half b) { return half(float(a) - float(b)); });
  add("v_subrev_f16", [](half a, half b) { return half(float(b) - float(a)); });
  auto addIeee = [&](const std::string &name, auto ieee, auto plain) {
    Op op = halfOp(plain);
    op.fn = modeHandler<kModeIeee>(ieee, plain, laneHandler(ieee), op.fn);
    t.add("v_" + name + "_f16", op);
  };
  forMinMax<half>(addIeee);
  forMinMax3<half>(addIeee);
  add("v_trunc_f16", [](half a) { return half(__builtin_truncf(float(a))); });
  add("v_ceil_f16", [](half a) { return half(__builtin_ceilf(float(a))); });
  add("v_floor_f16", [](half a) { return half(__builtin_floorf(float(a))); });
  add("v_rndne_f16",
      [](half a) { return half(__builtin_roundevenf(float(a))); });
  add("v_fract_f16", [](half a) {
    float f = float(a) - __builtin_floorf(float(a));
    return half(f < 0.99951172f ? f : 0.99951172f);
  });
  add("v_ldexp_f16",
      [](half a, i16 b) { return half(std::ldexp(float(a), b)); });
  add("v_frexp_exp_i16_f16", [](half a) {
    int e = 0;
    float v = float(a);
    if (std::isfinite(v) && v != 0)
      std::frexp(v, &e);
    return i16(e);
  });
  add("v_frexp_mant_f16", [](half a) {
    int e = 0;
    float v = float(a);
    return std::isfinite(v) ? half(std::frexp(v, &e)) : a;
  });
  Op fma = zeroingHigh(
      halfOp([](half a, half b, half c) { return fmaHalf(a, b, c); }));
  t.add("v_fma_legacy_f16", fma);
  Op fixup =
      halfOp([](half a, half b, half c) { return divFixupHalf(a, b, c); });
  fixup.poleAtZero = true;
  t.add("v_div_fixup_f16", fixup);
  t.add("v_div_fixup_legacy_f16", zeroingHigh(fixup));
}

void addInt16(OpTable &t) {
  t.add("v_subrev_u16", halfOp([](u16 a, u16 b) { return u16(b - a); },
                               [](u16 a, u16 b) { return clampU16(b - a); }));
  for (const char *type : {"u16", "i16"})
    t.add(std::string("v_mad_legacy_") + type,
          zeroingHigh(*t.find(std::string("v_mad_") + type)));
  auto add = [&](const char *name, auto f) { t.add(name, halfOp(f)); };
  add("v_min3_u16", [](u16 a, u16 b, u16 c) { return std::min({a, b, c}); });
  add("v_max3_u16", [](u16 a, u16 b, u16 c) { return std::max({a, b, c}); });
  add("v_med3_u16", [](u16 a, u16 b, u16 c) { return median(a, b, c); });
  add("v_min3_i16",
      [](i16 a, i16 b, i16 c) { return u16(std::min({a, b, c})); });
  add("v_max3_i16",
      [](i16 a, i16 b, i16 c) { return u16(std::max({a, b, c})); });
  add("v_med3_i16", [](i16 a, i16 b, i16 c) { return median(a, b, c); });
  t.add("v_mad_u32_u16",
        laneOp([](u16 a, u16 b, u32 c) { return u32(a) * b + c; }))
      .mods |= kModOpSel;
  t.add("v_mad_i32_i16",
        laneOp([](i16 a, i16 b, u32 c) { return u32(i32(a) * b) + c; }))
      .mods |= kModOpSel;
}

} // namespace

void addValu16(OpTable &t) {
  forHalfOps([&](const char *name, auto... f) {
    t.add(std::string("v_") + name, halfOp(f...));
  });
  addHalf(t);
  addInt16(t);
}

} // namespace hk::emu
