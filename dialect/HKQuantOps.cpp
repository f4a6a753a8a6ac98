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

/// The shape of one scale per `group` elements of the last dim of `like`.
static SmallVector<int64_t> groupedShape(Named like, int64_t group) {
  SmallVector<int64_t> shape(like.type().getShape());
  shape.back() = ceilDiv(shape.back(), group);
  return shape;
}

static bool isOneElement(Named v) {
  return v.type().hasStaticShape() && v.type().getNumElements() == 1;
}

/// Last dims of packed types are even, so that rows start at a byte.
static LogicalResult verifyPacked(Operation *op, Named v) {
  int64_t last = v.rank() - 1;
  if (!isa<Float4E2M1FNType>(v.element()))
    return success();
  if (failed(expectStatic(op, v, last)))
    return failure();
  if (v.size(last) % 2 == 0)
    return success();
  return op->emitOpError("expected size of dim ")
         << last << " of " << v.name << " to be even for " << v.element()
         << ", but got " << v.size(last);
}

//===----------------------------------------------------------------------===//
// hk.quantize
//===----------------------------------------------------------------------===//

LogicalResult QuantizeOp::verify() {
  Named input{"input", getInput()}, quantized{"quantized", getQuantized()};
  if (failed(expectMinRank(*this, input, 1)) ||
      failed(verifyGroupSize(*this, getGroupSize())) ||
      failed(verifyLimit(*this, getLimit(), quantized.element())) ||
      failed(expectShape(*this, quantized, input.type().getShape())))
    return failure();
  if (!getAmaxFloor().isFinite() || getAmaxFloor().isNegative())
    return emitOpError("expected amax_floor to be finite and at least 0, but "
                       "got ")
           << getAmaxFloor().convertToFloat();
  SmallVector<int64_t> shape = groupedShape(input, getGroupSize());
  if (getGranularity() == Granularity::per_token)
    shape.back() = 1;
  return expectShape(*this, {"scale", getScale()}, shape);
}

LogicalResult QuantizeOp::reifyResultShapes(OpBuilder &b,
                                            ReifiedRankedShapedTypeDims &r) {
  Sizes sizes = sizesOf(b, getLoc(), getInput());
  addShape(b, getLoc(), getQuantized(), sizes, r);
  sizes.back() =
      getGranularity() == Granularity::per_token
          ? OpFoldResult(b.getIndexAttr(1))
          : ceilDivideSize(b, getLoc(), sizes.back(), getGroupSize());
  addShape(b, getLoc(), getScale(), std::move(sizes), r);
  return success();
}

//===----------------------------------------------------------------------===//
// hk.quantize_static
//===----------------------------------------------------------------------===//

/// `scale` has one element, [..., 1] or one per group of `values`.
static LogicalResult verifyRowScale(Operation *op, Named values, Named scale,
                                    int64_t group) {
  if (isOneElement(scale))
    return success();
  SmallVector<int64_t> shape = groupedShape(values, group);
  if (scale.rank() == values.rank() && scale.size(scale.rank() - 1) == 1)
    shape.back() = 1;
  return expectShape(op, scale, shape);
}

LogicalResult QuantizeStaticOp::verify() {
  Named input{"input", getInput()}, quantized{"quantized", getQuantized()};
  if (failed(expectMinRank(*this, input, 1)) ||
      failed(verifyGroupSize(*this, getGroupSize())) ||
      failed(verifyLimit(*this, getLimit(), quantized.element())) ||
      failed(expectShape(*this, quantized, input.type().getShape())))
    return failure();
  return verifyRowScale(*this, input, {"scale", getScale()}, getGroupSize());
}

LogicalResult
QuantizeStaticOp::reifyResultShapes(OpBuilder &b,
                                    ReifiedRankedShapedTypeDims &r) {
  addShapeOf(b, getLoc(), getQuantized(), getInput(), r);
  return success();
}

//===----------------------------------------------------------------------===//
// hk.quantize_mx
//===----------------------------------------------------------------------===//

LogicalResult QuantizeMxOp::verify() {
  Named input{"input", getInput()}, quantized{"quantized", getQuantized()};
  if (failed(expectMinRank(*this, input, 1)) ||
      failed(expectShape(*this, quantized, input.type().getShape())) ||
      failed(verifyPacked(*this, quantized)))
    return failure();
  return expectShape(*this, {"scale", getScale()},
                     groupedShape(input, kMxBlock));
}

LogicalResult QuantizeMxOp::reifyResultShapes(OpBuilder &b,
                                              ReifiedRankedShapedTypeDims &r) {
  Sizes sizes = sizesOf(b, getLoc(), getInput());
  addShape(b, getLoc(), getQuantized(), sizes, r);
  sizes.back() = ceilDivideSize(b, getLoc(), sizes.back(), kMxBlock);
  addShape(b, getLoc(), getScale(), std::move(sizes), r);
  return success();
}

//===----------------------------------------------------------------------===//
// hk.dequantize
//===----------------------------------------------------------------------===//

int64_t DequantizeOp::getScaleGroup() {
  bool mx = isa<Float8E8M0FNUType>(tensorType(getScale()).getElementType());
  return mx ? kMxBlock : int64_t(getGroupSize());
}

LogicalResult DequantizeOp::verify() {
  Named input{"input", getInput()}, scale{"scale", getScale()};
  bool mx = isa<Float8E8M0FNUType>(scale.element());
  if (!mx && !scale.element().isF32())
    return emitOpError("expected element type of scale to be f32 or "
                       "f8E8M0FNU, but got ")
           << scale.element();
  if (isa<Float8E8M0FNUType>(input.element()) ||
      !(isa<FloatType>(input.element()) || input.element().isInteger(8)))
    return emitOpError("expected element type of input to be i8 or a float, "
                       "but got ")
           << input.element();
  if (failed(expectMinRank(*this, input, 1)) ||
      failed(verifyGroupSize(*this, getGroupSize())) ||
      failed(verifyPacked(*this, input)) ||
      failed(
          expectShape(*this, {"result", getResult()}, input.type().getShape())))
    return failure();
  if (isOneElement(scale))
    return success();
  if (failed(expectRank(*this, scale, input.rank())))
    return failure();
  int64_t last = input.rank() - 1;
  for (int64_t d = 0; d <= last; ++d) {
    int64_t block = d < last ? 1 : getScaleGroup();
    if (scale.size(d) != 1 &&
        failed(expectSize(*this, scale, d, ceilDiv(input.size(d), block))))
      return failure();
  }
  return success();
}

LogicalResult DequantizeOp::reifyResultShapes(OpBuilder &b,
                                              ReifiedRankedShapedTypeDims &r) {
  addShapeOf(b, getLoc(), getResult(), getInput(), r);
  return success();
}

//===----------------------------------------------------------------------===//
// hk.reencode
//===----------------------------------------------------------------------===//

LogicalResult ReencodeOp::verify() {
  Named input{"input", getInput()}, result{"result", getResult()};
  if (failed(expectShape(*this, result, input.type().getShape())))
    return failure();
  if (input.element() != result.element())
    return success();
  return emitOpError("expected element type of result to be the other e4m3 "
                     "flavour, but got ")
         << result.element() << ", that of input";
}

LogicalResult ReencodeOp::reifyResultShapes(OpBuilder &b,
                                            ReifiedRankedShapedTypeDims &r) {
  addShapeOf(b, getLoc(), getResult(), getInput(), r);
  return success();
}
