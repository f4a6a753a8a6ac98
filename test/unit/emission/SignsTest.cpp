//===- SignsTest.cpp - Which positions are provably not negative ----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums in which quotients are taken off what they are quotients of.
//
//===----------------------------------------------------------------------===//

#include "Emission/Signs.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::hk;

namespace {

TEST(Signs, WhatIsTakenOffIsThere) {
  MLIRContext context;
  AffineExpr c = getAffineSymbolExpr(0, &context),
             r = getAffineSymbolExpr(1, &context);
  AffineExpr tens = c.floorDiv(10);
  EXPECT_TRUE(isNonNegative(c));
  EXPECT_TRUE(isNonNegative(c + tens * -10));
  EXPECT_FALSE(isNonNegative(c + tens * -11));
  EXPECT_TRUE(isNonNegative(c * 2 + tens * -20 + r));
  // Two quotients cannot take the same c.
  EXPECT_FALSE(isNonNegative(c + tens * -10 + c.floorDiv(3) * -1));
  EXPECT_FALSE(isNonNegative(r + tens * -1));
  EXPECT_FALSE(isNonNegative(tens * -767));
  EXPECT_TRUE(isNonNegative((tens * -767) % 64));
  EXPECT_FALSE(isNonNegative((tens * -767).floorDiv(64)));
  EXPECT_FALSE(isNonNegative(c - 10));
  EXPECT_TRUE(isNonNegative(c * r + 10));
}

TEST(Signs, QuotientsOfQuotients) {
  MLIRContext context;
  AffineExpr c = getAffineSymbolExpr(0, &context);
  AffineExpr q = c.floorDiv(4), qq = q.floorDiv(4);
  // c >= 16 qq and 12 q >= 48 qq.
  EXPECT_TRUE(isNonNegative(c + q * 12 + qq * -60));
  EXPECT_TRUE(isNonNegative(c + q * 12 + qq * -64));
  EXPECT_FALSE(isNonNegative(c + q * 12 + qq * -65));
}

} // namespace
