//===- Transcendental.cpp - Transcendental functions ----------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluated in double and rounded once to f32, so within half a unit in the
// last place (the hardware promises one). As on the hardware, denormal inputs
// and results are zero. Branch free, so that the lane loops vectorise.
//
//===----------------------------------------------------------------------===//

#include "../Float.h"
#include "../Valu.h"
#include <cmath>
#include <utility>

namespace hk::emu {
namespace {

double fromBits64(uint64_t bits) {
  double v;
  std::memcpy(&v, &bits, 8);
  return v;
}
uint64_t toBits64(double v) {
  uint64_t bits;
  std::memcpy(&bits, &v, 8);
  return bits;
}

float flushDenormal(float v) {
  uint32_t bits = floatBits(v);
  return (bits & 0x7f800000u) ? v : bitsFloat(bits & 0x80000000u);
}

float exp2Hw(float x) {
  double d = x;
  d = d < -200 ? -200 : d;
  d = d > 200 ? 200 : d;
  double n = __builtin_rint(d), f = d - n;
  // The sum of (f ln 2)^k / k!; what is left out is below 2^-37.
  constexpr double c[] = {1.0,
                          0.6931471805599453,
                          0.24022650695910072,
                          0.05550410866482158,
                          0.009618129107628477,
                          0.0013333558146428441,
                          0.00015403530393381606,
                          1.5252733804059838e-05,
                          1.3215486790144305e-06,
                          1.0178086009239699e-07};
  double p = c[9];
  for (int k = 8; k >= 0; --k)
    p = __builtin_fma(p, f, c[k]);
  // n as an integer without a conversion instruction: add 1.5 * 2^52.
  double shifted = n + 6755399441055744.0;
  uint64_t e = toBits64(shifted) << 52;
  double r = fromBits64(toBits64(p) + e);
  float result = flushDenormal(float(r));
  return x != x ? x : result;
}

float log2Hw(float x) {
  uint32_t bits = floatBits(x);
  uint64_t wide = toBits64(double(x));
  // m in [sqrt(1/2), sqrt(2)), x = m 2^e
  uint64_t biased = wide - 0x3fe6a09e00000000ull;
  int32_t e = int32_t(int64_t(biased) >> 52);
  double m = fromBits64(wide - (uint64_t(int64_t(e)) << 52));
  double s = (m - 1) / (m + 1), s2 = s * s;
  double p = 1.0 / 23;
  for (int k = 21; k >= 1; k -= 2)
    p = p * s2 + 1.0 / k;
  float result = float(double(e) + p * s * 2.8853900817779268);
  float nan = bitsFloat(0x7fc00000u);
  bool zero = (bits & 0x7f800000u) == 0;
  bool negative = bits >> 31;
  result = (bits & 0x7f800000u) == 0x7f800000u ? x : result;
  result = negative ? nan : result;
  result = zero ? -std::numeric_limits<float>::infinity() : result;
  return x != x ? x : result;
}

/// sin(2 pi (x + quarter / 4)); outside [-256, 256] the result is that of 0.
float sinTurns(float x, unsigned quarter) {
  double d = x;
  bool outside = !(d >= -256 && d <= 256);
  d = outside ? 0 : d;
  double q = __builtin_rint(d * 4), f = (d - q * 0.25) * 6.283185307179586;
  double shifted = q + 6755399441055744.0;
  uint32_t k = uint32_t(toBits64(shifted)) + quarter;
  double f2 = f * f;
  double s = -1.0 / 1307674368000.0, c = 1.0 / 20922789888000.0;
  constexpr double sc[] = {1.0 / 6227020800.0,
                           -1.0 / 39916800.0,
                           1.0 / 362880.0,
                           -1.0 / 5040.0,
                           1.0 / 120.0,
                           -1.0 / 6.0,
                           1.0};
  constexpr double cc[] = {
      -1.0 / 87178291200.0, 1.0 / 479001600.0, -1.0 / 3628800.0, 1.0 / 40320.0,
      -1.0 / 720.0,         1.0 / 24.0,        -1.0 / 2.0,       1.0};
  for (double v : sc)
    s = s * f2 + v;
  for (double v : cc)
    c = c * f2 + v;
  double r = (k & 1) ? c : s * f;
  r = (k & 2) ? -r : r;
  float nan = bitsFloat(0x7fc00000u);
  return std::isfinite(x) ? float(r) : nan;
}

float rcpHw(float x) {
  float r = 1.0f / flushDenormal(x);
  return flushDenormal(r);
}
float rsqHw(float x) {
  return float(1.0 / __builtin_sqrt(double(flushDenormal(x))));
}

float toFloat(half h) { return float(h); }

Op transcendental(Op op) {
  op.cls = InstClass::Transcendental;
  op.clocks = 16;
  return op;
}

} // namespace

void addTranscendental(OpTable &t) {
  auto add = [&](const char *name, Op op) {
    t.add(name, transcendental(std::move(op)));
  };
  add("v_exp_f32", laneOp([](float a) { return exp2Hw(a); }));
  add("v_log_f32", laneOp([](float a) { return log2Hw(a); }));
  add("v_exp_legacy_f32", laneOp([](float a) { return exp2Hw(a); }));
  add("v_log_legacy_f32", laneOp([](float a) { return log2Hw(a); }));
  add("v_rcp_f32", laneOp([](float a) { return rcpHw(a); }));
  add("v_rcp_iflag_f32", laneOp([](float a) { return rcpHw(a); }));
  add("v_rsq_f32", laneOp([](float a) { return rsqHw(a); }));
  add("v_sqrt_f32",
      laneOp([](float a) { return __builtin_sqrtf(flushDenormal(a)); }));
  add("v_sin_f32", laneOp([](float a) { return sinTurns(a, 0); }));
  add("v_cos_f32", laneOp([](float a) { return sinTurns(a, 1); }));
  // The 16-bit forms keep denormals.
  add("v_exp_f16", laneOp([](half a) { return half(exp2Hw(toFloat(a))); }));
  auto addWithPole = [&](const char *name, Op op) {
    op.poleAtZero = true;
    add(name, op);
  };
  addWithPole("v_log_f16",
              laneOp([](half a) { return half(log2Hw(toFloat(a))); }));
  addWithPole("v_rcp_f16",
              laneOp([](half a) { return half(1.0f / toFloat(a)); }));
  addWithPole("v_rsq_f16", laneOp([](half a) {
                return half(float(1.0 / __builtin_sqrt(double(toFloat(a)))));
              }));
  add("v_sqrt_f16",
      laneOp([](half a) { return half(__builtin_sqrtf(toFloat(a))); }));
  add("v_sin_f16",
      laneOp([](half a) { return half(sinTurns(toFloat(a), 0)); }));
  add("v_cos_f16",
      laneOp([](half a) { return half(sinTurns(toFloat(a), 1)); }));
}

} // namespace hk::emu
