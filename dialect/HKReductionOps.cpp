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

LogicalResult ReduceOp::verify() {
  Named input{"input", getInput()}, result{"result", getResult()};
  int64_t dims = getDims();
  if (dims > input.rank())
    return emitOpError("expected dims to be at most ")
           << input.rank() << ", the rank of input, but got " << dims;
  SmallVector<int64_t> shape(input.type().getShape().drop_back(dims));
  shape.append(dims, 1);
  if (failed(expectShape(*this, result, shape)))
    return failure();
  for (int64_t d = input.rank() - dims; d < input.rank(); ++d)
    if (failed(expectStatic(*this, result, d)))
      return failure();
  return success();
}

LogicalResult ReduceOp::reifyResultShapes(OpBuilder &b,
                                          ReifiedRankedShapedTypeDims &r) {
  Sizes sizes = sizesOf(b, getLoc(), getInput());
  std::fill(sizes.end() - getDims(), sizes.end(), b.getIndexAttr(1));
  addShape(b, getLoc(), getResult(), std::move(sizes), r);
  return success();
}
