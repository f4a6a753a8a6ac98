//===- MiniFloatTest.cpp - Small float formats ----------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Encoding against a search over all codes for the nearest value.
//
//===----------------------------------------------------------------------===//

#include "MiniFloat.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace hk::emu;

namespace {

const MiniFloat *const kFormats[] = {&kE4M3Fn, &kE5M2, &kE4M3Fnuz, &kE5M2Fnuz,
                                     &kE2M3,   &kE3M2, &kE2M1};

/// The nearest finite code; ties go to the even one.
uint32_t nearest(const MiniFloat &f, float v) {
  uint32_t best = 0;
  double distance = HUGE_VAL;
  for (uint32_t code = 0; code <= f.maxCode(); ++code) {
    double d = std::fabs(double(f.decode(code)) - std::fabs(double(v)));
    if (d < distance || (d == distance && code % 2 == 0)) {
      distance = d;
      best = code;
    }
  }
  if (std::signbit(v) && !(f.fnuz && best == 0))
    best |= f.signMask();
  return best;
}

TEST(MiniFloatTest, EveryCodeRoundTrips) {
  for (const MiniFloat *f : kFormats)
    for (uint32_t code = 0; code < 2 * f->signMask(); ++code) {
      float v = f->decode(code);
      if (v == v && !std::isinf(v)) {
        EXPECT_EQ(f->encode(v, true), code);
      }
    }
}

TEST(MiniFloatTest, EncodingIsTheNearestCode) {
  std::mt19937 random(5);
  for (const MiniFloat *f : kFormats) {
    float top = f->decode(f->maxCode());
    for (int i = 0; i < 20000; ++i) {
      // From below the smallest denormal to just below overflow.
      float v =
          std::ldexp(float(random() % 65536) / 65536, int(random() % 24) - 16);
      v = i % 2 ? v * top : -std::fmod(v * 512, top);
      if (std::fabs(v) > top)
        continue;
      EXPECT_EQ(f->encode(v, true), nearest(*f, v)) << v;
    }
  }
}

TEST(MiniFloatTest, OverflowAndSpecials) {
  EXPECT_EQ(kE4M3Fn.encode(464.0f, false), 0x7eu); // tie to even: 448
  EXPECT_EQ(kE4M3Fn.encode(465.0f, false), 0x7fu);
  EXPECT_EQ(kE4M3Fn.encode(1e30f, true), 0x7eu);
  EXPECT_EQ(kE4M3Fnuz.encode(1000.0f, false), 0x80u);
  EXPECT_EQ(kE4M3Fnuz.encode(-0.0f, false), 0u);
  EXPECT_EQ(kE5M2.encode(1e30f, false), 0x7cu);
  EXPECT_EQ(kE5M2.encode(INFINITY, false), 0x7cu);
  EXPECT_EQ(kE5M2.encode(-INFINITY, true), 0xfbu);
  EXPECT_EQ(kE4M3Fn.encode(INFINITY, false), 0x7fu);
  EXPECT_EQ(kE4M3Fn.encode(INFINITY, true), 0x7eu);
  EXPECT_EQ(kE4M3Fnuz.encode(INFINITY, false), 0x80u);
  EXPECT_EQ(kE2M3.encode(-INFINITY, false), 0x3fu);
  EXPECT_EQ(kE5M2.encode(NAN, true), 0x7fu);
  EXPECT_EQ(kE2M1.encode(100.0f, false), 7u);
  EXPECT_EQ(kE4M3Fn.encode(1e-40f, true), 0u);
}

TEST(MiniFloatTest, StochasticRoundingIsUnbiasedAtTheEnds) {
  float between = 1.0f + 0.0625f; // half way between 1 and 1.125 in e4m3
  EXPECT_EQ(kE4M3Fn.encodeStochastic(between, true, 0), 0x38u);
  EXPECT_EQ(kE4M3Fn.encodeStochastic(between, true, 0x7fffffffu), 0x38u);
  EXPECT_EQ(kE4M3Fn.encodeStochastic(between, true, 0x80000000u), 0x39u);
  EXPECT_EQ(kE4M3Fn.encodeStochastic(1.0f, true, 0xffffffffu), 0x38u);
}

} // namespace
