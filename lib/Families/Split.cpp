//===- Split.cpp - Who reads the result of a split operator ---------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The combination of parts is a row-wise operator: it costs a launch only where
// no row-wise kernel would read its result anyway.
//
//===----------------------------------------------------------------------===//

#include "hk/Families/Split.h"

#include "hk/Analysis/Alignment.h"

using namespace mlir;
using namespace mlir::hk;

/// Operators followed from a value to its readers: more are no epilogue.
static constexpr int kMaxFollowed = 8;

static bool feeds(Value value, int budget) {
  if (budget == 0)
    return false;
  for (Operation *user : value.getUsers()) {
    bool follow = isView(user);
    if (auto rowwise = dyn_cast<RowwiseOpInterface>(user)) {
      bool epilogue =
          rowwise.getNumLocalDims() == 0 || user->hasTrait<PairsColumns>();
      if (!epilogue)
        return true;
      follow = true;
    }
    if (follow && feeds(user->getResult(0), budget - 1))
      return true;
  }
  return false;
}

bool mlir::hk::feedsRowKernel(Value value) {
  return feeds(value, kMaxFollowed);
}
