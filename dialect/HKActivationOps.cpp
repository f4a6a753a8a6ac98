//===- HKActivationOps.cpp - Verifiers and shapes of gated units and rotary
// embedding -===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A gated unit halves the last dim; rotary embedding keeps the shape and reads
// a table of angles.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"

using namespace mlir;
using namespace mlir::hk;

//===----------------------------------------------------------------------===//
// hk.gated_activation
//===----------------------------------------------------------------------===//

LogicalResult GatedActivationOp::verify() {
  Named input{"input", getInput()}, result{"result", getResult()};
  if (failed(expectMinRank(*this, input, 1)))
    return failure();
  int64_t last = input.rank() - 1, size = input.size(last);
  if (!ShapedType::isDynamic(size) && size % 2 != 0)
    return emitOpError("expected size of dim ")
           << last << " of input to be even, but got " << size;
  SmallVector<int64_t> shape(input.type().getShape());
  if (!ShapedType::isDynamic(size))
    shape[last] = size / 2;
  if (failed(expectShape(*this, result, shape)))
    return failure();
  if (getLimit() && !(getLimit()->convertToFloat() > 0))
    return emitOpError("expected limit to be above 0, but got ")
           << getLimit()->convertToFloat();
  if (getRoundBeforeUp() && getKind() == GateKind::swiglu_oai)
    return emitOpError("expected no round_before_up with swiglu_oai, whose "
                       "activation is no factor of its own");
  return success();
}

LogicalResult
GatedActivationOp::reifyResultShapes(OpBuilder &b,
                                     ReifiedRankedShapedTypeDims &r) {
  Sizes sizes = sizesOf(b, getLoc(), getInput());
  sizes.back() = divideSize(b, getLoc(), sizes.back(), 2);
  addShape(b, getLoc(), getResult(), std::move(sizes), r);
  return success();
}

//===----------------------------------------------------------------------===//
// hk.rope
//===----------------------------------------------------------------------===//

int64_t RopeOp::getHeadSize() {
  return tensorType(getInput()).getShape().back();
}

int64_t RopeOp::getRotarySize() {
  return tensorType(getCos()).getDimSize(1) * (getAnglePerElement() ? 1 : 2);
}

SmallVector<int64_t> RopeOp::getCuts() {
  int64_t half = getRotarySize() / 2;
  SmallVector<int64_t> cuts = {getStyle() == RopeStyle::neox ? half : 2 * half};
  if (getNopeFirst())
    cuts.push_back(getHeadSize() - 2 * half);
  return cuts;
}

LogicalResult RopeOp::verify() {
  Named input{"input", getInput()}, cos{"cos", getCos()}, sin{"sin", getSin()};
  if (failed(expectMinRank(*this, input, 3)) ||
      failed(expectShape(*this, {"result", getResult()},
                         input.type().getShape())) ||
      failed(expectRank(*this, cos, 2)) ||
      failed(expectShape(*this, sin, cos.type().getShape())) ||
      failed(expectElement(*this, sin, cos.element())) ||
      failed(expectStatic(*this, input, input.rank() - 1)) ||
      failed(expectStatic(*this, cos, 1)))
    return failure();

  int64_t headSize = getHeadSize(), rotary = getRotarySize();
  if (rotary < 2 || rotary % 2 != 0 || rotary > headSize)
    return emitOpError("expected number of rotated elements, ")
           << (getAnglePerElement() ? "the size" : "twice the size")
           << " of dim 1 of cos, to be even and in [2, " << headSize
           << "], but got " << rotary;

  ArrayRef<int64_t> tokens = input.type().getShape().drop_back(2);
  if (getPositions() &&
      failed(expectShape(*this, {"positions", getPositions()}, tokens)))
    return failure();
  if (getOffsets()) {
    if (!getPositions())
      return emitOpError("expected positions, which offsets are added to");
    if (failed(expectShape(*this, {"offsets", getOffsets()}, tokens)))
      return failure();
  }
  if (getBounds()) {
    if (getPositions() || tokens.size() != 1)
      return emitOpError("expected no positions and one token dim with bounds, "
                         "but got ")
             << (getPositions() ? "positions" : "an input of rank ")
             << (getPositions() ? "" : std::to_string(input.rank()));
    if (failed(expectRank(*this, {"bounds", getBounds()}, 1)))
      return failure();
  }
  int64_t dim = getPositionDim(), numTokenDims = tokens.size();
  if (dim < 0 || dim >= numTokenDims)
    return emitOpError("expected position_dim to be in [0, ")
           << numTokenDims << "), the token dims of input, but got " << dim;
  if (dim != 0 && getPositions())
    return emitOpError("expected no positions with position_dim ") << dim;
  return success();
}

LogicalResult RopeOp::reifyResultShapes(OpBuilder &b,
                                        ReifiedRankedShapedTypeDims &r) {
  addShapeOf(b, getLoc(), getResult(), getInput(), r);
  return success();
}
