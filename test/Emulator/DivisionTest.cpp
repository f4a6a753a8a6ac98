//===- DivisionTest.cpp - Divisions at the ends of the range --------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's expansion of a division scales by v_div_scale, corrects by v_div_fmas
// and mends by v_div_fixup; the quotient has to be the host's bit for bit, over
// every pair of exponents.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"
#include <cmath>
#include <random>

using namespace hk::emu;
using namespace hk::emu::test;

namespace {

const char *const kSource = R"(
#define GLOBAL extern "C" __attribute__((global))
GLOBAL void divideFloat(float *q, const float *a, const float *b) {
  unsigned i = __builtin_amdgcn_workgroup_id_x() * 64 +
               __builtin_amdgcn_workitem_id_x();
  q[i] = a[i] / b[i];
}
GLOBAL void divideDouble(double *q, const double *a, const double *b) {
  unsigned i = __builtin_amdgcn_workgroup_id_x() * 64 +
               __builtin_amdgcn_workitem_id_x();
  q[i] = a[i] / b[i];
}
)";

template <class T, class Bits>
void compare(const std::string &chip, const char *kernel, Bits exponents,
             unsigned mantissa) {
  TestDevice device(chip);
  ASSERT_TRUE(device.load(compileHip(kSource, chip, "-O2")))
      << device.loadError;
  std::mt19937_64 random(11);
  std::vector<T> a, b;
  auto value = [&](Bits e) {
    Bits m = Bits(random()) & ((Bits(1) << mantissa) - 1);
    if (random() % 4 == 0) // powers of two and their neighbours
      m = random() % 2 ? 0 : (Bits(1) << mantissa) - 1;
    Bits bits = Bits(random() % 2) << (8 * sizeof(T) - 1) | e << mantissa | m;
    T v;
    std::memcpy(&v, &bits, sizeof v);
    return v;
  };
  // All pairs of exponents are few for f32; f64 takes every 16th and the ends.
  Bits stride = exponents > 255 ? 16 : 1;
  for (Bits n = 0; n <= exponents; n += n + 8 > exponents || n < 8 ? 1 : stride)
    for (Bits d = 0; d <= exponents;
         d += d + 8 > exponents || d < 8 ? 1 : stride) {
      a.push_back(value(n));
      b.push_back(value(d));
    }
  while (a.size() % 64) {
    a.push_back(1);
    b.push_back(3);
  }
  uint64_t q = device.alloc(a.size() * sizeof(T));
  LaunchResult result = device.run(kernel, uint32_t(a.size() / 64), 64, q,
                                   device.upload(a), device.upload(b));
  ASSERT_TRUE(result.ok()) << describe(result);
  std::vector<T> out = device.download<T>(q, a.size());
  unsigned wrong = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    T want = a[i] / b[i];
    bool same = std::isnan(want) ? std::isnan(out[i])
                                 : want == out[i] && std::signbit(want) ==
                                                         std::signbit(out[i]);
    if (!same && ++wrong < 4)
      ADD_FAILURE() << std::hexfloat << a[i] << " / " << b[i] << ": got "
                    << out[i] << ", want " << want;
  }
  EXPECT_EQ(wrong, 0u);
}

class DivisionTest : public testing::TestWithParam<const char *> {};

TEST_P(DivisionTest, FloatQuotientsAreTheHosts) {
  compare<float, uint32_t>(GetParam(), "divideFloat", 255, 23);
}

TEST_P(DivisionTest, DoubleQuotientsAreTheHosts) {
  compare<double, uint64_t>(GetParam(), "divideDouble", 2047, 52);
}

INSTANTIATE_TEST_SUITE_P(Chips, DivisionTest, testing::ValuesIn(kChips));

} // namespace
