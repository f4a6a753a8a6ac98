//===- ExprTest.cpp - Expressions and their types -------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How expressions are printed, what type and scope they get, and that operands
// which do not fit stop the compiler there.
//
//===----------------------------------------------------------------------===//

#include "Emission/CodeWriter.h"

#include <gtest/gtest.h>

using namespace mlir::hk;

namespace {

const Expr x = {"x", {"float", 4}, 2}, y = {"y", {"float", 4}, 1};
const Expr pair = {"p", {"float", 2}}, r = {"r", {"float"}};
const Expr count = {"n", {"i64"}};

TEST(Expr, ParenthesesWhereTheyAreNeeded) {
  EXPECT_EQ((x * r * y).text, "x * r * y");
  EXPECT_EQ((x * (r + y)).text, "x * (r + y)");
  EXPECT_EQ(((x - r) * y + x).text, "(x - r) * y + x");
  // Sums of floats do not associate.
  EXPECT_EQ((x + (y + x)).text, "x + (y + x)");
  EXPECT_EQ((x - -y).text, "x - (-y)");
  EXPECT_EQ((choice({"c", {"bool"}}, x, y) * r).text, "(c ? x : y) * r");
}

TEST(Expr, TypesAndScopes) {
  Expr sum = r + x;
  EXPECT_EQ(sum.type.text(), "Vec<float, 4>");
  EXPECT_EQ((y + r).depth, 1);
  EXPECT_EQ(sum.depth, 2);
  EXPECT_EQ(reduced("Max", sum).text, "reduceVec<Max, 4>(r + x)");
  EXPECT_EQ(reduced("Max", sum).type.text(), "float");
  EXPECT_EQ(splat({"float", 2}, laneOf(x, "3")).text, "Vec<float, 2>(x[3])");
}

TEST(Expr, NamesAreNoTypes) {
  CodeWriter out;
  for (int i = 0; i < 70; ++i) {
    std::string name = out.freshName("i");
    EXPECT_TRUE(name != "i8" && name != "i16" && name != "i32" &&
                name != "i64");
  }
}

TEST(Expr, CallsTakeTheLanesOfTheirVectors) {
  EXPECT_EQ(call("abs", x).text, "abs<4>(x)");
  EXPECT_EQ(call("keepFirst", {x, count, r}).text, "keepFirst<4>(x, n, r)");
  EXPECT_EQ(call("meanOf", {r, count}).text, "meanOf(r, n)");
  Expr whole = call("convertTo<i32>", x, "i32");
  EXPECT_EQ(whole.text, "convertTo<i32, 4>(x)");
  EXPECT_EQ(whole.type.text(), "Vec<i32, 4>");
}

TEST(ExprDeath, OperandsThatDoNotFit) {
  EXPECT_DEATH((void)(x + pair), "lanes differ: 'x' of type Vec<float, 4> "
                                 "and 'p' of type Vec<float, 2>");
  EXPECT_DEATH((void)call("maxNan", {r, x, pair}), "lanes differ");
  EXPECT_DEATH((void)(x * count), "elements differ: 'x' of type "
                                  "Vec<float, 4> \\* 'n' of type i64");
  EXPECT_DEATH((void)choice({"c", {"bool"}}, x, r), "'r' of type float is no "
                                                    "Vec<float, 4>");
  EXPECT_DEATH((void)splat({"float", 4}, count), "'n' of type i64");
}

TEST(ExprDeath, AssignmentsThatDoNotFit) {
  CodeWriter out;
  Expr made = out.declare("v", {"float", 4});
  out.assign(made, x);
  EXPECT_EQ(out.str().str(), "Vec<float, 4> v0 = 0;\nv0 = x;\n");
  EXPECT_DEATH(out.assign(made, pair), "v0: 'p' of type Vec<float, 2>");
}

} // namespace
