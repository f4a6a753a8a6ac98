//===- PullTable.cpp - How each operator is pulled ------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one table, filled by the files of functions.
//
//===----------------------------------------------------------------------===//

#include "PullTable.h"

using namespace mlir;
using namespace mlir::hk;

const PullFunction &PullTable::lookup(Operation *op) const {
  if (isa<UnaryOpInterface>(op))
    return unary;
  auto it = functions.find(op->getName().getStringRef());
  assert(it != functions.end() &&
         "matching lets only operators in that can be pulled");
  return it->second;
}

const PullFunction &mlir::hk::pullFunctionOf(Operation *op) {
  static const PullTable table = [] {
    PullTable made;
    addPointwisePulls(made);
    addQuantPulls(made);
    addRopePulls(made);
    addRowPulls(made);
    addSelectPulls(made);
    addSlicePulls(made);
    addViewPulls(made);
    return made;
  }();
  return table.lookup(op);
}
