//===- CompareTest.cpp - Comparison with the reference --------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What counts as a mismatch for hk-run: the interpreter's bounds, NaN,
// infinities, types.
//
//===----------------------------------------------------------------------===//

#include "Expected.h"
#include "hk/Reference/Interpreter.h"

#include "gtest/gtest.h"

using namespace mlir::hk::reference;
using ::hk::DType;
using ::hk::run::Comparison;

static constexpr double kInf = std::numeric_limits<double>::infinity();
static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

static Tensor make(DType dtype, std::vector<double> values,
                   std::vector<double> error = {}) {
  Tensor t(dtype, {static_cast<int64_t>(values.size())});
  t.values = std::move(values);
  t.error = std::move(error);
  return t;
}

static Comparison compare(const Tensor &reference, const Tensor &actual) {
  ::hk::run::Expected expected{"x",
                               reference.dtype,
                               {reference.sizes.begin(), reference.sizes.end()},
                               reference.values,
                               {}};
  for (int64_t i = 0; i < reference.numElements(); ++i)
    expected.bounds.push_back(reference.boundAt(i));
  return ::hk::run::compare(expected,
                            {actual.dtype,
                             {actual.sizes.begin(), actual.sizes.end()},
                             toBytes(actual)});
}

TEST(Compare, ExactElementsMustBeEqual) {
  Tensor reference = make(DType::F32, {1, 2, 3});
  EXPECT_TRUE(compare(reference, make(DType::F32, {1, 2, 3})).agrees());
  Comparison c = compare(reference, make(DType::F32, {1, 2 + 0x1p-22, 3}));
  EXPECT_EQ(c.numMismatches, 1);
  ASSERT_EQ(c.mismatches.size(), 1u);
  EXPECT_EQ(c.mismatches[0].index[0], 1);
  EXPECT_NE(c.text().find("at [1]: expected 2"), std::string::npos) << c.text();
}

TEST(Compare, BoundIsEightSigmaAndAnUlp) {
  Tensor reference = make(DType::F32, {1}, {0x1p-20});
  double bound = 8 * 0x1p-20 + 0x1p-23;
  EXPECT_EQ(reference.boundAt(0), bound);
  EXPECT_TRUE(compare(reference, make(DType::F32, {1 + bound})).agrees());
  EXPECT_FALSE(
      compare(reference, make(DType::F32, {1 + bound + 0x1p-23})).agrees());
}

TEST(Compare, TwoFlipsOfEarlierRoundingsAreWithinTheBound) {
  Tensor reference = make(DType::F32, {1}, {0x1p-30});
  reference.jump = {0x1p-8};
  EXPECT_NEAR(reference.boundAt(0), 0x1p-7, 0x1p-20);
  // The flip of the last rounding is the unit in the last place.
  reference.jump = {0x1p-23};
  EXPECT_EQ(reference.boundAt(0), 0x1p-27 + 0x1p-23);
}

TEST(Compare, NanAndInfinityMustMatch) {
  Tensor reference = make(DType::F32, {kNaN, kInf, 1}, {1, 1, 1});
  EXPECT_TRUE(compare(reference, make(DType::F32, {kNaN, kInf, 1})).agrees());
  EXPECT_FALSE(compare(reference, make(DType::F32, {0, kInf, 1})).agrees());
  EXPECT_FALSE(
      compare(reference, make(DType::F32, {kNaN, kInf, kNaN})).agrees());
  EXPECT_FALSE(compare(reference, make(DType::F32, {kNaN, -kInf, 1})).agrees());
  EXPECT_FALSE(
      compare(reference, make(DType::F32, {kNaN, kInf, kInf})).agrees());
}

TEST(Compare, OverflowWithinTheBound) {
  Tensor reference = make(DType::F16, {kInf, 65504}, {4, 4});
  EXPECT_TRUE(compare(reference, make(DType::F16, {65504, kInf})).agrees());
  EXPECT_FALSE(compare(reference, make(DType::F16, {60000, kInf})).agrees());
}

TEST(Compare, OtherTypesAndShapesAreAProblem) {
  Tensor reference = make(DType::F32, {1});
  EXPECT_FALSE(compare(reference, make(DType::F16, {1})).agrees());
  Comparison c = compare(reference, make(DType::F32, {1, 2}));
  EXPECT_EQ(c.problem, "expected a tensor of 1xf32, but got 2xf32");
}

TEST(Compare, UnspecifiedElementsMayBeAnything) {
  Tensor reference = make(DType::F32, {kInf, 1}, {kInf, 0});
  EXPECT_TRUE(compare(reference, make(DType::F32, {kNaN, 1})).agrees());
  EXPECT_TRUE(compare(reference, make(DType::F32, {-kInf, 1})).agrees());
  EXPECT_FALSE(compare(reference, make(DType::F32, {kNaN, 2})).agrees());
}
