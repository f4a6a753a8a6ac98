//===- WeightFileTest.cpp - Which tensors hold a weight -------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The views of packed weights that compiler and runtime accept.
//
//===----------------------------------------------------------------------===//

#include "hk/Contract/WeightFile.h"

#include <gtest/gtest.h>

#include <vector>

using hk::DType;
using Sizes = std::vector<int64_t>;

static bool holds(DType dtype, Sizes sizes, const char *name, Sizes file) {
  return hk::holdsWeight(dtype, sizes, name, file);
}

TEST(WeightFile, OtherTypesAreAsTheyAre) {
  EXPECT_TRUE(holds(DType::F16, {4, 8}, "F16", {4, 8}));
  EXPECT_FALSE(holds(DType::F16, {4, 8}, "F16", {8, 4}));
  EXPECT_FALSE(holds(DType::I8, {4, 8}, "U8", {4, 8}));
  EXPECT_TRUE(holds(DType::F4E2M1FN, {4, 8}, "F4", {4, 8}));
  EXPECT_FALSE(holds(DType::F4E2M1FN, {4, 8}, "F4", {4, 4}));
}

TEST(WeightFile, FourBitsAreViewsOfIntegers) {
  EXPECT_TRUE(holds(DType::UI4, {4, 64}, "U8", {4, 32}));
  EXPECT_TRUE(holds(DType::I4, {4, 64}, "I8", {4, 2, 16}));
  EXPECT_TRUE(holds(DType::F4E2M1FN, {4, 64}, "U8", {4, 2, 16}));
  // GPTQ, AWQ, zero points as a vector.
  EXPECT_TRUE(holds(DType::UI4, {16, 40, 8}, "I32", {16, 40}));
  EXPECT_TRUE(holds(DType::UI4, {128, 5, 2, 4}, "I32", {128, 5}));
  EXPECT_TRUE(holds(DType::UI4, {40, 4}, "U8", {80}));
  EXPECT_FALSE(holds(DType::UI4, {40, 16, 8}, "I32", {16, 40}));
  EXPECT_FALSE(holds(DType::UI4, {4, 64}, "U8", {4, 64}));
  EXPECT_FALSE(holds(DType::UI4, {4, 64}, "I16", {4, 16}));
  EXPECT_FALSE(holds(DType::UI4, {4, 64}, "U8", {4, INT64_MAX}));
}
