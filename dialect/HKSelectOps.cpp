//===- HKSelectOps.cpp - Verifiers and shapes of selections ---------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Results have the rows of the operand and a last dim of their own, whose size
// is what the op is asked for: it must be static.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"

using namespace mlir;
using namespace mlir::hk;

/// A kept group is a bit of 64.
static constexpr int64_t kMaxGroups = 64;

/// `result` has the leading dims of `like` and a static last dim.
static LogicalResult expectRowsLike(Operation *op, Named result, Named like) {
  if (failed(expectMinRank(op, like, 1)) ||
      failed(expectRank(op, result, like.rank())))
    return failure();
  for (int64_t d = 0; d + 1 < like.rank(); ++d)
    if (failed(expectSize(op, result, d, like.size(d))))
      return failure();
  return expectStatic(op, result, result.rank() - 1);
}

static void addRowsLike(OpBuilder &b, Location loc, Value result, Value like,
                        ReifiedRankedShapedTypeDims &r) {
  // The last size is static and taken from the type.
  addShapeOf(b, loc, result, like, r);
}

//===----------------------------------------------------------------------===//
// hk.topk
//===----------------------------------------------------------------------===//

LogicalResult TopkOp::verify() {
  Named input{"input", getInput()}, values{"values", getValues()};
  Named indices{"indices", getIndices()};
  if (failed(expectRowsLike(*this, values, input)) ||
      failed(expectElement(*this, values, input.element())) ||
      failed(expectShape(*this, indices, values.type().getShape())))
    return failure();
  if (failed(expectStatic(*this, indices, indices.rank() - 1)))
    return failure();
  int64_t k = getK(), n = input.size(input.rank() - 1);
  if (k < 1)
    return emitOpError("expected size of the last dim of values, which is k, "
                       "to be at least 1, but got ")
           << k;
  if (!ShapedType::isDynamic(n) && k > n)
    return emitOpError("expected size of the last dim of values, which is k, "
                       "to be at most ")
           << n << ", the size of the last dim of input, but got " << k;
  return success();
}

LogicalResult TopkOp::reifyResultShapes(OpBuilder &b,
                                        ReifiedRankedShapedTypeDims &r) {
  addRowsLike(b, getLoc(), getValues(), getInput(), r);
  addRowsLike(b, getLoc(), getIndices(), getInput(), r);
  return success();
}

//===----------------------------------------------------------------------===//
// hk.gather_last
//===----------------------------------------------------------------------===//

LogicalResult GatherLastOp::verify() {
  Named input{"input", getInput()}, indices{"indices", getIndices()};
  Named result{"result", getResult()};
  if (failed(expectMinRank(*this, input, 1)) ||
      failed(expectRank(*this, indices, input.rank())))
    return failure();
  for (int64_t d = 0; d + 1 < input.rank(); ++d)
    if (failed(expectSize(*this, indices, d, input.size(d))))
      return failure();
  if (failed(expectElement(*this, result, input.element())))
    return failure();
  return expectShape(*this, result, indices.type().getShape());
}

LogicalResult GatherLastOp::reifyResultShapes(OpBuilder &b,
                                              ReifiedRankedShapedTypeDims &r) {
  addShapeOf(b, getLoc(), getResult(), getIndices(), r);
  return success();
}

//===----------------------------------------------------------------------===//
// hk.group_limit
//===----------------------------------------------------------------------===//

LogicalResult GroupLimitOp::verify() {
  Named input{"input", getInput()}, result{"result", getResult()};
  if (failed(expectMinRank(*this, input, 1)) ||
      failed(expectElement(*this, result, input.element())) ||
      failed(expectShape(*this, result, input.type().getShape())) ||
      failed(expectStatic(*this, input, input.rank() - 1)))
    return failure();
  int64_t groups = getGroups(), top = getTopGroups();
  int64_t n = input.size(input.rank() - 1);
  if (groups < 1 || groups > kMaxGroups)
    return emitOpError("expected groups to be 1 to ")
           << kMaxGroups << ", but got " << groups;
  if (top < 1 || top > groups)
    return emitOpError("expected top_groups to be 1 to ")
           << groups << ", the number of groups, but got " << top;
  int64_t least = getScore() == GroupScore::top2_sum ? 2 : 1;
  if (n % groups != 0 || n / groups < least)
    return emitOpError("expected size of the last dim of input to be ")
           << groups << " groups of at least " << least << ", but got " << n;
  return success();
}

LogicalResult GroupLimitOp::reifyResultShapes(OpBuilder &b,
                                              ReifiedRankedShapedTypeDims &r) {
  addShapeOf(b, getLoc(), getResult(), getInput(), r);
  return success();
}

//===----------------------------------------------------------------------===//
// hk.bitmatrix
//===----------------------------------------------------------------------===//

LogicalResult BitmatrixOp::verify() {
  Named indices{"indices", getIndices()}, result{"result", getResult()};
  if (failed(expectRowsLike(*this, result, indices)))
    return failure();
  // Every word is made of all indices of its row.
  return expectStatic(*this, indices, indices.rank() - 1);
}

LogicalResult BitmatrixOp::reifyResultShapes(OpBuilder &b,
                                             ReifiedRankedShapedTypeDims &r) {
  addRowsLike(b, getLoc(), getResult(), getIndices(), r);
  return success();
}
