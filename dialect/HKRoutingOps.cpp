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

//===----------------------------------------------------------------------===//
// hk.count_bits
//===----------------------------------------------------------------------===//

void CountBitsOp::stateShapes(ShapeRelations &shapes) {
  Named bits{"bits", getBits()}, result{"result", getResult()};
  shapes.isStatic(bits, 0);
  shapes.isStatic(result, 0);
  shapes.shape(
      {"before", getBefore()},
      {ceilDiv(dimOf(getBits(), 1), getBlock()), dimOf(getResult(), 0)});
}

LogicalResult CountBitsOp::verify() {
  Named bits{"bits", getBits()}, result{"result", getResult()};
  if (result.size(0) > 32 * bits.size(0))
    return emitOpError("expected size of dim 0 of result to be at most ")
           << 32 * bits.size(0) << ", the bits of " << bits.size(0)
           << " words, but got " << result.size(0);
  return verifyAtLeastOne(*this, "block", getBlock());
}

//===----------------------------------------------------------------------===//
// hk.sort_by_key
//===----------------------------------------------------------------------===//

void SortByKeyOp::stateShapes(ShapeRelations &shapes) {
  SizeTerm keys = dimOf(getKeys(), 0);
  // A static order has what its type says.
  if (tensorType(getOrder()).isDynamicDim(0))
    shapes.size({"order", getOrder()}, 0,
                keys + SizeTerm(getBins() * (getBlock() - 1)));
  shapes.size({"position", getPosition()}, 0, keys);
}

LogicalResult SortByKeyOp::verify() {
  if (failed(verifyAtLeastOne(*this, "bins", getBins())))
    return failure();
  return verifyAtLeastOne(*this, "block", getBlock());
}

//===----------------------------------------------------------------------===//
// hk.segments
//===----------------------------------------------------------------------===//

void SegmentsOp::stateShapes(ShapeRelations &shapes) {
  bool bounds = getForm() == SegmentForm::bounds;
  SizeTerm size = dimOf(getSegments(), 0), ids = dimOf(getIds(), 0);
  shapes.minRank({"items", getItems()}, 1);
  // Static ids have what their type says.
  if (getItems() && tensorType(getIds()).isDynamicDim(0)) {
    // Every segment may leave all but one place of a block empty; bounds are
    // one element more than segments.
    int64_t spare = static_cast<int64_t>(getBlock()) - 1;
    SizeTerm places = dimOf(getItems(), 0) + size * spare;
    shapes.size({"ids", getIds()}, 0,
                ceilDiv(places - (bounds ? spare : 0), getBlock()));
  }
  shapes.size({"ranks", getRanks()}, 0, ids);
  shapes.size({"offsets", getOffsets()}, 0, bounds ? size : size + 1);
}

LogicalResult SegmentsOp::verify() {
  if (failed(verifyAtLeastOne(*this, "block", getBlock())))
    return failure();
  if (getForm() == SegmentForm::bounds &&
      tensorType(getSegments()).getDimSize(0) == 0)
    return emitOpError("expected size of dim 0 of segments to be at least 1 "
                       "for bounds, but got 0");
  if (tensorType(getIds()).isDynamicDim(0) && !getItems())
    return emitOpError("expected items, which give a dynamic size of ids, or a "
                       "static size of dim 0 of ids, but got ?");
  return success();
}
