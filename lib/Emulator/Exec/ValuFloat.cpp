//===- ValuFloat.cpp - Float vector ALU -----------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f32 and f64 arithmetic and the packed f32 forms' scalar relatives.
//
//===----------------------------------------------------------------------===//

#include "../Float.h"
#include "../Valu.h"
#include <cmath>

namespace hk::emu {
namespace {

using u32 = uint32_t;
using i32 = int32_t;

template <class T> T legacyMul(T a, T b) {
  return a == 0 || b == 0 ? T(0) : a * b;
}

template <class T> T ldexpClamped(T v, i32 e) {
  e = e > 4000 ? 4000 : e < -4000 ? -4000 : e;
  return std::ldexp(v, e);
}

template <class T> i32 frexpExp(T v) {
  if (v == 0 || !std::isfinite(v))
    return 0;
  int e;
  std::frexp(v, &e);
  return e;
}
template <class T> T frexpMant(T v) {
  if (!std::isfinite(v))
    return v;
  int e;
  return std::frexp(v, &e);
}
template <class T> T fract(T v) {
  T below = sizeof(T) == 4 ? T(0.99999994f) : T(0x1.fffffffffffffp-1);
  T f = v - std::floor(v);
  return !std::isfinite(v) ? std::numeric_limits<T>::quiet_NaN()
         : f < below       ? f
                           : below;
}

void addF32(OpTable &t) {
  t.add("v_add_f32", laneOp([](float a, float b) { return a + b; }));
  t.add("v_sub_f32", laneOp([](float a, float b) { return a - b; }));
  t.add("v_subrev_f32", laneOp([](float a, float b) { return b - a; }));
  t.add("v_mul_f32", laneOp([](float a, float b) { return a * b; }));
  t.add("v_mul_legacy_f32",
        laneOp([](float a, float b) { return legacyMul(a, b); }));
  t.add("v_fma_f32", laneOp([](float a, float b, float c) {
          return __builtin_fmaf(a, b, c);
        }));
  Op fmac =
      laneOp([](float a, float b, float c) { return __builtin_fmaf(a, b, c); });
  fmac.dstIsSource = true;
  t.add("v_fmac_f32", fmac);
  // The literal is where it stands in the text: D = a * K + b, D = a * b + K.
  t.add("v_fmamk_f32", laneOp([](float a, float k, float b) {
          return __builtin_fmaf(a, k, b);
        }));
  t.add("v_fmaak_f32", laneOp([](float a, float b, float k) {
          return __builtin_fmaf(a, b, k);
        }));
  auto addIeee = [&](const std::string &name, auto ieee, auto plain) {
    t.add("v_" + name + "_f32", modeLaneOp<kModeIeee>(ieee, plain));
  };
  forMinMax<float>(addIeee);
  forMinMax3<float>(addIeee);
  t.add("v_minimum3_f32", laneOp([](float a, float b, float c) {
          return minimum(minimum(a, b), c);
        }));
  t.add("v_maximum3_f32", laneOp([](float a, float b, float c) {
          return maximum(maximum(a, b), c);
        }));
  t.add("v_trunc_f32", laneOp([](float a) { return __builtin_truncf(a); }));
  t.add("v_ceil_f32", laneOp([](float a) { return __builtin_ceilf(a); }));
  t.add("v_floor_f32", laneOp([](float a) { return __builtin_floorf(a); }));
  t.add("v_rndne_f32", laneOp([](float a) { return __builtin_roundevenf(a); }));
  t.add("v_fract_f32", laneOp([](float a) { return fract(a); }));
  t.add("v_ldexp_f32",
        laneOp([](float a, i32 b) { return ldexpClamped(a, b); }));
  t.add("v_frexp_exp_i32_f32", laneOp([](float a) { return frexpExp(a); }));
  t.add("v_frexp_mant_f32", laneOp([](float a) { return frexpMant(a); }));
}

void addF64(OpTable &t) {
  t.add("v_add_f64", laneOp([](double a, double b) { return a + b; }));
  t.add("v_mul_f64", laneOp([](double a, double b) { return a * b; }));
  t.add("v_fma_f64", laneOp([](double a, double b, double c) {
          return __builtin_fma(a, b, c);
        }));
  Op fmac = laneOp(
      [](double a, double b, double c) { return __builtin_fma(a, b, c); });
  fmac.dstIsSource = true;
  t.add("v_fmac_f64", fmac);
  forMinMax<double>([&](const std::string &name, auto ieee, auto plain) {
    t.add("v_" + name + "_f64", modeLaneOp<kModeIeee>(ieee, plain));
  });
  t.add("v_trunc_f64", laneOp([](double a) { return __builtin_trunc(a); }));
  t.add("v_ceil_f64", laneOp([](double a) { return __builtin_ceil(a); }));
  t.add("v_floor_f64", laneOp([](double a) { return __builtin_floor(a); }));
  t.add("v_rndne_f64", laneOp([](double a) { return __builtin_roundeven(a); }));
  t.add("v_fract_f64", laneOp([](double a) { return fract(a); }));
  t.add("v_ldexp_f64",
        laneOp([](double a, i32 b) { return ldexpClamped(a, b); }));
  t.add("v_frexp_exp_i32_f64", laneOp([](double a) { return frexpExp(a); }));
  t.add("v_frexp_mant_f64", laneOp([](double a) { return frexpMant(a); }));
  t.add("v_rcp_f64", laneOp([](double a) { return 1.0 / a; }));
  t.add("v_sqrt_f64", laneOp([](double a) { return __builtin_sqrt(a); }));
  t.add("v_rsq_f64", laneOp([](double a) { return 1.0 / __builtin_sqrt(a); }));
}

} // namespace

void addValuFloat(OpTable &t) {
  addF32(t);
  addF64(t);
}

} // namespace hk::emu
