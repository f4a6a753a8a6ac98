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

void GatedActivationOp::stateShapes(ShapeRelations &shapes) {
  shapes.minRank({"input", getInput()}, 1);
  SmallVector<SizeTerm> sizes = dimsOf(getInput(), 0, -1);
  sizes.push_back(exactDiv(dimOf(getInput(), -1), 2));
  shapes.shape({"result", getResult()}, sizes);
}

LogicalResult GatedActivationOp::verify() {
  Named input{"input", getInput()};
  int64_t last = input.rank() - 1, size = input.size(last);
  if (!ShapedType::isDynamic(size) && size % 2 != 0)
    return emitOpError("expected size of dim ")
           << last << " of input to be even, but got " << size;
  if (getLimit() && !(getLimit()->convertToFloat() > 0))
    return emitOpError("expected limit to be above 0, but got ")
           << getLimit()->convertToFloat();
  if (getRoundBeforeUp() && getKind() == GateKind::swiglu_oai)
    return emitOpError("expected no round_before_up with swiglu_oai, whose "
                       "activation is no factor of its own");
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

void RopeOp::stateShapes(ShapeRelations &shapes) {
  Named input{"input", getInput()}, cos{"cos", getCos()};
  shapes.minRank(input, 3);
  shapes.same({"result", getResult()}, getInput());
  shapes.rank(cos, 2);
  shapes.same({"sin", getSin()}, getCos());
  shapes.isStatic(input, -1);
  shapes.isStatic(cos, 1);
  SmallVector<SizeTerm> tokens = dimsOf(getInput(), 0, -2);
  shapes.shape({"positions", getPositions()}, tokens);
  shapes.shape({"offsets", getOffsets()}, tokens);
  shapes.rank({"bounds", getBounds()}, 1);
}

LogicalResult RopeOp::verify() {
  Named input{"input", getInput()}, cos{"cos", getCos()}, sin{"sin", getSin()};
  if (failed(expectElement(*this, sin, cos.element())))
    return failure();

  int64_t headSize = getHeadSize(), rotary = getRotarySize();
  if (rotary < 2 || rotary % 2 != 0 || rotary > headSize)
    return emitOpError("expected number of rotated elements, ")
           << (getAnglePerElement() ? "the size" : "twice the size")
           << " of dim 1 of cos, to be even and in [2, " << headSize
           << "], but got " << rotary;

  ArrayRef<int64_t> tokens = input.type().getShape().drop_back(2);
  if (getOffsets() && !getPositions())
    return emitOpError("expected positions, which offsets are added to");
  if (getBounds()) {
    if (getPositions() || tokens.size() != 1)
      return emitOpError("expected no positions and one token dim with bounds, "
                         "but got ")
             << (getPositions() ? "positions" : "an input of rank ")
             << (getPositions() ? "" : std::to_string(input.rank()));
  }
  int64_t dim = getPositionDim(), numTokenDims = tokens.size();
  if (dim < 0 || dim >= numTokenDims)
    return emitOpError("expected position_dim to be in [0, ")
           << numTokenDims << "), the token dims of input, but got " << dim;
  if (dim != 0 && getPositions())
    return emitOpError("expected no positions with position_dim ") << dim;
  return success();
}
