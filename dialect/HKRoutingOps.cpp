//===- HKRoutingOps.cpp - Verifiers and shapes of routing -----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers of bins are static; lengths that depend on data are bounded by sizes.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"

using namespace mlir;
using namespace mlir::hk;

static LogicalResult verifyAtLeastOne(Operation *op, StringRef name,
                                      int64_t value) {
  if (value >= 1)
    return success();
  return op->emitOpError("expected ")
         << name << " to be at least 1, but got " << value;
}

static OpFoldResult multiplySize(OpBuilder &b, Location loc, OpFoldResult x,
                                 int64_t factor) {
  if (auto constant = getConstantIntValue(x))
    return b.getIndexAttr(*constant * factor);
  Value f = arith::ConstantIndexOp::create(b, loc, factor);
  return arith::MulIOp::create(b, loc, cast<Value>(x), f).getResult();
}

//===----------------------------------------------------------------------===//
// hk.histogram
//===----------------------------------------------------------------------===//

LogicalResult HistogramOp::verify() {
  return expectStatic(*this, {"result", getResult()}, 0);
}

LogicalResult HistogramOp::reifyResultShapes(OpBuilder &b,
                                             ReifiedRankedShapedTypeDims &r) {
  addShapeOf(b, getLoc(), getResult(), getResult(), r);
  return success();
}

//===----------------------------------------------------------------------===//
// hk.count_bits
//===----------------------------------------------------------------------===//

LogicalResult CountBitsOp::verify() {
  Named bits{"bits", getBits()}, result{"result", getResult()};
  if (failed(expectStatic(*this, bits, 0)) ||
      failed(expectStatic(*this, result, 0)))
    return failure();
  if (result.size(0) > 32 * bits.size(0))
    return emitOpError("expected size of dim 0 of result to be at most ")
           << 32 * bits.size(0) << ", the bits of " << bits.size(0)
           << " words, but got " << result.size(0);
  if (failed(verifyAtLeastOne(*this, "block", getBlock())))
    return failure();
  if (!getBefore())
    return success();
  auto block = static_cast<int64_t>(getBlock());
  int64_t rows = bits.size(1);
  int64_t blocks =
      ShapedType::isDynamic(rows) ? rows : (rows + block - 1) / block;
  return expectShape(*this, {"before", getBefore()}, {blocks, result.size(0)});
}

LogicalResult CountBitsOp::reifyResultShapes(OpBuilder &b,
                                             ReifiedRankedShapedTypeDims &r) {
  addShapeOf(b, getLoc(), getResult(), getResult(), r);
  if (!getBefore())
    return success();
  OpFoldResult rows = tensor::getMixedSize(b, getLoc(), getBits(), 1);
  addShape(b, getLoc(), getBefore(),
           {ceilDivideSize(b, getLoc(), rows, getBlock()),
            tensor::getMixedSize(b, getLoc(), getResult(), 0)},
           r);
  return success();
}

//===----------------------------------------------------------------------===//
// hk.sort_by_key
//===----------------------------------------------------------------------===//

LogicalResult SortByKeyOp::verify() {
  if (failed(verifyAtLeastOne(*this, "bins", getBins())) ||
      failed(verifyAtLeastOne(*this, "block", getBlock())))
    return failure();
  Named keys{"keys", getKeys()};
  return expectSize(*this, {"position", getPosition()}, 0, keys.size(0));
}

LogicalResult SortByKeyOp::reifyResultShapes(OpBuilder &b,
                                             ReifiedRankedShapedTypeDims &r) {
  Sizes keys = sizesOf(b, getLoc(), getKeys());
  auto padding = static_cast<int64_t>(getBins() * (getBlock() - 1));
  addShape(b, getLoc(), getOrder(),
           {addSizes(b, getLoc(), keys[0], b.getIndexAttr(padding))}, r);
  addShape(b, getLoc(), getPosition(), std::move(keys), r);
  return success();
}

//===----------------------------------------------------------------------===//
// hk.segments
//===----------------------------------------------------------------------===//

LogicalResult SegmentsOp::verify() {
  if (failed(verifyAtLeastOne(*this, "block", getBlock())))
    return failure();
  Named segments{"segments", getSegments()}, ids{"ids", getIds()};
  bool bounds = getForm() == SegmentForm::bounds;
  int64_t size = segments.size(0);
  if (bounds && size == 0)
    return emitOpError("expected size of dim 0 of segments to be at least 1 "
                       "for bounds, but got 0");
  if (failed(expectSize(*this, {"ranks", getRanks()}, 0, ids.size(0))))
    return failure();
  if (ShapedType::isDynamic(ids.size(0)) && !getItems())
    return emitOpError("expected items, which give a dynamic size of ids, or a "
                       "static size of dim 0 of ids, but got ?");
  if (getItems() && failed(expectMinRank(*this, {"items", getItems()}, 1)))
    return failure();
  return expectSize(*this, {"offsets", getOffsets()}, 0,
                    bounds || ShapedType::isDynamic(size) ? size : size + 1);
}

LogicalResult SegmentsOp::reifyResultShapes(OpBuilder &b,
                                            ReifiedRankedShapedTypeDims &r) {
  Location loc = getLoc();
  OpFoldResult size = tensor::getMixedSize(b, loc, getSegments(), 0);
  bool bounds = getForm() == SegmentForm::bounds;
  OpFoldResult places = b.getIndexAttr(0); // unused when static
  if (getItems()) {
    // Every segment may leave all but one place of a block empty.
    auto spare = static_cast<int64_t>(getBlock()) - 1;
    places = addSizes(b, loc, tensor::getMixedSize(b, loc, getItems(), 0),
                      multiplySize(b, loc, size, spare));
    if (bounds) // one element more than segments
      places = addSizes(b, loc, places, b.getIndexAttr(-spare));
    places = ceilDivideSize(b, loc, places, getBlock());
  }
  addShape(b, loc, getIds(), {places}, r);
  addShape(b, loc, getRanks(), {places}, r);
  addShape(b, loc, getOffsets(),
           {bounds ? size : addSizes(b, loc, size, b.getIndexAttr(1))}, r);
  return success();
}
