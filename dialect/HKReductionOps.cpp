//===- HKReductionOps.cpp - Reductions ------------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifier and result shape of reductions.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"

using namespace mlir;
using namespace mlir::hk;

void ReduceOp::stateShapes(ShapeRelations &shapes) {
  int64_t kept = tensorType(getInput()).getRank() - getDims();
  if (kept < 0)
    return; // the verifier says so
  SmallVector<SizeTerm> sizes = dimsOf(getInput(), 0, kept);
  sizes.append(getDims(), 1);
  shapes.shape({"result", getResult()}, sizes);
}

LogicalResult ReduceOp::verify() {
  Named input{"input", getInput()}, result{"result", getResult()};
  int64_t dims = getDims();
  if (dims > input.rank())
    return emitOpError("expected dims to be at most ")
           << input.rank() << ", the rank of input, but got " << dims;
  for (int64_t d = input.rank() - dims; d < input.rank(); ++d)
    if (failed(expectStatic(*this, result, d)))
      return failure();
  return success();
}
