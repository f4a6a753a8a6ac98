//===- HKQuantOps.cpp - Verifiers and shapes of quantisation --------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shapes of scales: one element, one per row, or one per group of the last dim.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"

using namespace mlir;
using namespace mlir::hk;

static LogicalResult verifyGroupSize(Operation *op, int64_t groupSize) {
  if (groupSize >= 1)
    return success();
  return op->emitOpError("expected group_size to be at least 1, but got ")
         << groupSize;
}

static LogicalResult verifyLimit(Operation *op, std::optional<APFloat> limit,
                                 Type element) {
  if (!limit)
    return success();
  std::optional<::hk::DType> dtype = dtypeOf(element);
  double largest = element.isInteger(8) ? 127 : ::hk::info(*dtype).maxFinite;
  double value = limit->convertToFloat();
  if (value > 0 && value <= largest)
    return success();
  return op->emitOpError("expected limit to be in (0, ")
         << largest << "], the range of " << element << ", but got " << value;
}

/// One scale per `group` elements of the last dim of `values`.
static SmallVector<SizeTerm> groupedSizes(Value values, int64_t group) {
  SmallVector<SizeTerm> sizes = dimsOf(values, 0, -1);
  sizes.push_back(ceilDiv(dimOf(values, -1), group));
  return sizes;
}

static bool isOneElement(Named v) {
  return v.type().hasStaticShape() && v.type().getNumElements() == 1;
}

//===----------------------------------------------------------------------===//
// hk.quantize
//===----------------------------------------------------------------------===//

void QuantizeOp::stateShapes(ShapeRelations &shapes) {
  shapes.minRank({"input", getInput()}, 1);
  shapes.same({"quantized", getQuantized()}, getInput());
  SmallVector<SizeTerm> sizes = groupedSizes(getInput(), getGroupSize());
  if (getGranularity() == Granularity::per_token)
    sizes.back() = 1;
  shapes.shape({"scale", getScale()}, sizes);
}

LogicalResult QuantizeOp::verify() {
  Named quantized{"quantized", getQuantized()};
  if (failed(verifyGroupSize(*this, getGroupSize())) ||
      failed(verifyLimit(*this, getLimit(), quantized.element())))
    return failure();
  if (!getAmaxFloor().isFinite() || getAmaxFloor().isNegative())
    return emitOpError("expected amax_floor to be finite and at least 0, but "
                       "got ")
           << getAmaxFloor().convertToFloat();
  return success();
}

//===----------------------------------------------------------------------===//
// hk.quantize_static
//===----------------------------------------------------------------------===//

void QuantizeStaticOp::stateShapes(ShapeRelations &shapes) {
  Named input{"input", getInput()}, scale{"scale", getScale()};
  shapes.minRank(input, 1);
  shapes.same({"quantized", getQuantized()}, getInput());
  if (isOneElement(scale))
    return;
  SmallVector<SizeTerm> sizes = groupedSizes(getInput(), getGroupSize());
  if (scale.rank() == input.rank() && scale.type().getShape().back() == 1)
    sizes.back() = 1;
  shapes.shape(scale, sizes);
}

LogicalResult QuantizeStaticOp::verify() {
  if (failed(verifyGroupSize(*this, getGroupSize())))
    return failure();
  return verifyLimit(*this, getLimit(),
                     tensorType(getQuantized()).getElementType());
}

//===----------------------------------------------------------------------===//
// hk.quantize_mx
//===----------------------------------------------------------------------===//

void QuantizeMxOp::stateShapes(ShapeRelations &shapes) {
  shapes.minRank({"input", getInput()}, 1);
  shapes.same({"quantized", getQuantized()}, getInput());
  shapes.shape({"scale", getScale()}, groupedSizes(getInput(), kMxBlock));
}

LogicalResult QuantizeMxOp::verify() {
  return expectPacked(*this, "quantized", tensorType(getQuantized()));
}

//===----------------------------------------------------------------------===//
// hk.dequantize
//===----------------------------------------------------------------------===//

int64_t DequantizeOp::getScaleGroup() {
  bool mx = isa<Float8E8M0FNUType>(tensorType(getScale()).getElementType());
  return mx ? kMxBlock : int64_t(getGroupSize());
}

void DequantizeOp::stateShapes(ShapeRelations &shapes) {
  Named input{"input", getInput()}, scale{"scale", getScale()};
  shapes.minRank(input, 1);
  shapes.same({"result", getResult()}, getInput());
  if (getZeroPoint() && !isOneElement({"zero_point", getZeroPoint()}))
    shapes.same({"zero_point", getZeroPoint()}, getScale());
  if (isOneElement(scale))
    return;
  shapes.rank(scale, input.rank());
  // A size of 1 repeats; a dynamic one does not.
  int64_t last = input.rank() - 1;
  for (int64_t dim = 0; dim < scale.rank(); ++dim)
    if (scale.size(dim) != 1)
      shapes.size(
          scale, dim,
          ceilDiv(dimOf(getInput(), dim), dim < last ? 1 : getScaleGroup()));
}

/// Integers that scales and zero points give a meaning.
static bool isCode(Type element) {
  return element.isInteger(8) || isInt4(element);
}

static bool isReal(Type element) {
  return element.isF32() || element.isBF16() || element.isF16();
}

/// What zero points may be, and whose.
static LogicalResult verifyZeroPoint(DequantizeOp op, Named input,
                                     Named scale) {
  if (!op.getZeroPoint()) {
    if (op.getOffset())
      return op.emitOpError("expected a zero_point, which `offset` adds, but "
                            "got none; name it behind the scale");
    return success();
  }
  Named zero{"zero_point", op.getZeroPoint()};
  if (op.getOffset() && !isReal(zero.element()))
    return op.emitOpError("expected element type of zero_point to be f32, bf16 "
                          "or f16 with `offset`, but got ")
           << zero.element();
  if (!isCode(zero.element()) && !isReal(zero.element()))
    return op.emitOpError("expected element type of zero_point to be i8, i4, "
                          "ui4, f32, bf16 or f16, but got ")
           << zero.element();
  if (!isCode(input.element()))
    return op.emitOpError("expected element type of input to be i8, i4 or ui4 "
                          "with a zero_point, but got ")
           << input.element();
  if (!isReal(scale.element()))
    return op.emitOpError("expected element type of scale to be f32, bf16 or "
                          "f16 with a zero_point, but got ")
           << scale.element();
  return expectPacked(op, zero.name, zero.type());
}

LogicalResult DequantizeOp::verify() {
  Named input{"input", getInput()}, scale{"scale", getScale()};
  if (!isReal(scale.element()) && !isa<Float8E8M0FNUType>(scale.element()))
    return emitOpError("expected element type of scale to be f32, bf16, f16 or "
                       "f8E8M0FNU, but got ")
           << scale.element();
  if (isa<Float8E8M0FNUType>(input.element()) ||
      !(isa<FloatType>(input.element()) || isCode(input.element())))
    return emitOpError("expected element type of input to be i8, i4, ui4 or a "
                       "float, but got ")
           << input.element();
  if (failed(verifyGroupSize(*this, getGroupSize())) ||
      failed(expectPacked(*this, input.name, input.type())))
    return failure();
  return verifyZeroPoint(*this, input, scale);
}

//===----------------------------------------------------------------------===//
// hk.reencode
//===----------------------------------------------------------------------===//

LogicalResult ReencodeOp::verify() {
  Named input{"input", getInput()}, result{"result", getResult()};
  if (input.element() != result.element())
    return success();
  return emitOpError("expected element type of result to be the other e4m3 "
                     "flavour, but got ")
         << result.element() << ", that of input";
}
