//===- CoverageTest.cpp - Every op has a meaning --------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks the ops that the dialect registers, so that a new base op without an
// interpreter function fails here.
//
//===----------------------------------------------------------------------===//

#include "hk/Reference/Interpreter.h"

#include "gtest/gtest.h"

#include <set>

using namespace mlir;

TEST(Coverage, EveryBaseOpHasAnEvaluator) {
  // Structure: evaluated through its regions, or no value at all.
  const std::set<std::string> structure = {
      "hk.fused",  "hk.yield",       "hk.kernel",  "hk.spec",
      "hk.launch", "hk.launch_dims", "hk.variant", "hk.guard",
      "hk.weight", "hk.weight_ref"};
  DialectRegistry registry;
  registry.insert<mlir::hk::HKDialect>();
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  int baseOps = 0;
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    std::string text = name.getStringRef().str();
    if (name.getDialectNamespace() != "hk" || structure.count(text))
      continue;
    ++baseOps;
    EXPECT_TRUE(mlir::hk::reference::hasEvaluator(text)) << text;
  }
  EXPECT_GE(baseOps, 40);
}
