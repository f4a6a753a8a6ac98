//===- OpUtils.cpp - Shape checks and shape building of ops ---------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implementation of the helpers that the op families share.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"

using namespace mlir;
using namespace mlir::hk;

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

std::string mlir::hk::sizeText(int64_t size) {
  return ShapedType::isDynamic(size) ? "?" : std::to_string(size);
}

LogicalResult mlir::hk::expectRank(Operation *op, Named v, int64_t rank) {
  if (v.rank() == rank)
    return success();
  return op->emitOpError("expected rank of ")
         << v.name << " to be " << rank << ", but got " << v.rank();
}

LogicalResult mlir::hk::expectSize(Operation *op, Named v, int64_t dim,
                                   int64_t size) {
  if (compatibleSizes(v.size(dim), size))
    return success();
  return op->emitOpError("expected size of dim ")
         << dim << " of " << v.name << " to be " << sizeText(size)
         << ", but got " << sizeText(v.size(dim));
}

LogicalResult mlir::hk::expectElement(Operation *op, Named v, Type element) {
  if (v.element() == element)
    return success();
  return op->emitOpError("expected element type of ")
         << v.name << " to be " << element << ", but got " << v.element();
}

LogicalResult mlir::hk::expectPacked(Operation *op, StringRef name,
                                     RankedTensorType type) {
  Type element = type.getElementType();
  if (!isPacked(element))
    return success();
  if (type.getRank() == 0)
    return op->emitOpError("expected rank of ")
           << name << " to be at least 1 for " << element << ", but got 0";
  int64_t last = type.getRank() - 1;
  if (type.isDynamicDim(last))
    return op->emitOpError("expected size of dim ")
           << last << " of " << name << " to be static for " << element
           << ", but got ?";
  if (type.getDimSize(last) % 2 == 0)
    return success();
  return op->emitOpError("expected size of dim ")
         << last << " of " << name << " to be even for " << element
         << ", but got " << type.getDimSize(last);
}

LogicalResult mlir::hk::expectStatic(Operation *op, Named v, int64_t dim) {
  if (!ShapedType::isDynamic(v.size(dim)))
    return success();
  return op->emitOpError("expected size of dim ")
         << dim << " of " << v.name << " to be static, but got ?";
}

LogicalResult mlir::hk::expectNumber(Operation *op, StringRef name,
                                     const llvm::APFloat &number,
                                     Type element) {
  llvm::APFloat value = number;
  bool inexact = false;
  if (auto type = dyn_cast<FloatType>(element))
    value.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                  &inexact);
  else
    inexact = !value.isInteger();
  if (inexact && !number.isZero())
    return op->emitOpError("expected ")
           << name << " to be a number of " << element << ", but got "
           << number.convertToFloat();
  return success();
}

//===----------------------------------------------------------------------===//
// Result shapes
//===----------------------------------------------------------------------===//

Sizes mlir::hk::sizesOf(OpBuilder &b, Location loc, Value value) {
  return tensor::getMixedSizes(b, loc, value);
}

void mlir::hk::addShape(OpBuilder &b, Location loc, Value result, Sizes sizes,
                        ReifiedRankedShapedTypeDims &shapes) {
  for (auto [size, known] :
       llvm::zip_equal(sizes, tensorType(result).getShape())) {
    if (!ShapedType::isDynamic(known))
      size = b.getIndexAttr(known);
    else // Callers may rely on a value for every `?`.
      size = getValueOrCreateConstantIndexOp(b, loc, size);
  }
  shapes.push_back(std::move(sizes));
}

void mlir::hk::addShapeOf(OpBuilder &b, Location loc, Value result,
                          Value source, ReifiedRankedShapedTypeDims &shapes) {
  addShape(b, loc, result, sizesOf(b, loc, source), shapes);
}

Sizes mlir::hk::broadcastSizes(OpBuilder &b, Location loc, ValueRange operands,
                               Value result) {
  int64_t rank = tensorType(result).getRank();
  Sizes sizes(rank, b.getIndexAttr(1));
  for (int64_t i = 0; i < rank; ++i) {
    // The operand that decides: one of a static size other than 1, else the
    // first of unknown size.
    Value chosen;
    int64_t chosenDim = 0;
    for (Value v : operands) {
      RankedTensorType type = tensorType(v);
      int64_t dim = i - (rank - type.getRank());
      if (dim < 0 || type.getDimSize(dim) == 1)
        continue;
      if (!chosen || !type.isDynamicDim(dim)) {
        chosen = v;
        chosenDim = dim;
      }
    }
    if (chosen)
      sizes[i] = tensor::getMixedSize(b, loc, chosen, chosenDim);
  }
  return sizes;
}

OpFoldResult mlir::hk::addSizes(OpBuilder &b, Location loc, OpFoldResult x,
                                OpFoldResult y) {
  auto cx = getConstantIntValue(x), cy = getConstantIntValue(y);
  if (cx && cy)
    return b.getIndexAttr(*cx + *cy);
  return arith::AddIOp::create(b, loc,
                               getValueOrCreateConstantIndexOp(b, loc, x),
                               getValueOrCreateConstantIndexOp(b, loc, y))
      .getResult();
}

OpFoldResult mlir::hk::multiplySizes(OpBuilder &b, Location loc, OpFoldResult x,
                                     OpFoldResult y) {
  auto cx = getConstantIntValue(x), cy = getConstantIntValue(y);
  if (cx && cy)
    return b.getIndexAttr(*cx * *cy);
  return arith::MulIOp::create(b, loc,
                               getValueOrCreateConstantIndexOp(b, loc, x),
                               getValueOrCreateConstantIndexOp(b, loc, y))
      .getResult();
}

OpFoldResult mlir::hk::divideSize(OpBuilder &b, Location loc, OpFoldResult x,
                                  int64_t divisor) {
  if (auto cx = getConstantIntValue(x))
    return b.getIndexAttr(*cx / divisor);
  Value d = arith::ConstantIndexOp::create(b, loc, divisor);
  return arith::DivUIOp::create(b, loc, cast<Value>(x), d).getResult();
}

OpFoldResult mlir::hk::ceilDivideSize(OpBuilder &b, Location loc,
                                      OpFoldResult x, int64_t divisor) {
  if (auto cx = getConstantIntValue(x))
    return b.getIndexAttr((*cx + divisor - 1) / divisor);
  Value d = arith::ConstantIndexOp::create(b, loc, divisor);
  return arith::CeilDivUIOp::create(b, loc, cast<Value>(x), d).getResult();
}
