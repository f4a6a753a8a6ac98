//===- HKNormOps.cpp - Verifiers and shapes of normalisations -------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Normalisations keep the shape of their input; weights run along its last dim.
// A reduction leaves a last dim of 1.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"

using namespace mlir;
using namespace mlir::hk;

/// Input and result: one shape, a last dim.
static LogicalResult verifyNorm(Operation *op, Value input, Value result) {
  Named in{"input", input};
  if (failed(expectMinRank(op, in, 1)))
    return failure();
  return expectShape(op, {"result", result}, in.type().getShape());
}

static LogicalResult verifyEpsilon(Operation *op, const APFloat &epsilon) {
  if (epsilon.isFinite() && !epsilon.isNegative())
    return success();
  return op->emitOpError("expected epsilon to be finite and at least 0, but "
                         "got ")
         << epsilon.convertToFloat();
}

LogicalResult RmsNormOp::verify() {
  if (failed(verifyNorm(*this, getInput(), getResult())) ||
      failed(verifyEpsilon(*this, getEpsilon())))
    return failure();
  if (getWeight())
    return expectVectorLike(*this, {"weight", getWeight()},
                            {"input", getInput()});
  if (!getWeightOffset().isZero())
    return emitOpError("expected weight_offset to be 0 without a weight, but "
                       "got ")
           << getWeightOffset().convertToFloat();
  return success();
}

LogicalResult LayerNormOp::verify() {
  Named input{"input", getInput()};
  if (failed(verifyNorm(*this, getInput(), getResult())) ||
      failed(verifyEpsilon(*this, getEpsilon())) ||
      failed(expectVectorLike(*this, {"weight", getWeight()}, input)))
    return failure();
  return expectVectorLike(*this, {"bias", getBias()}, input);
}

LogicalResult L2NormOp::verify() {
  if (failed(verifyNorm(*this, getInput(), getResult())))
    return failure();
  return verifyEpsilon(*this, getEpsilon());
}

LogicalResult SoftmaxOp::verify() {
  return verifyNorm(*this, getInput(), getResult());
}

LogicalResult RmsNormOp::reifyResultShapes(OpBuilder &b,
                                           ReifiedRankedShapedTypeDims &r) {
  addShapeOf(b, getLoc(), getResult(), getInput(), r);
  return success();
}

LogicalResult LayerNormOp::reifyResultShapes(OpBuilder &b,
                                             ReifiedRankedShapedTypeDims &r) {
  addShapeOf(b, getLoc(), getResult(), getInput(), r);
  return success();
}

LogicalResult L2NormOp::reifyResultShapes(OpBuilder &b,
                                          ReifiedRankedShapedTypeDims &r) {
  addShapeOf(b, getLoc(), getResult(), getInput(), r);
  return success();
}

LogicalResult SoftmaxOp::reifyResultShapes(OpBuilder &b,
                                           ReifiedRankedShapedTypeDims &r) {
  addShapeOf(b, getLoc(), getResult(), getInput(), r);
  return success();
}
