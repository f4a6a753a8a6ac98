//===- HKScanOps.cpp - Verifiers and shapes of prefix sums ----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The result has the input's shape; `offsets` is one longer along the dim.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"

using namespace mlir;
using namespace mlir::hk;

void CumsumOp::stateShapes(ShapeRelations &shapes) {
  SmallVector<SizeTerm> sizes = dimsOf(getInput());
  if (getKind() == ScanKind::offsets && getDim() < sizes.size())
    sizes[getDim()] = sizes[getDim()] + 1;
  shapes.shape({"result", getResult()}, sizes);
  shapes.rank({"bounds", getBounds()}, 1);
}

LogicalResult CumsumOp::verify() {
  Named input{"input", getInput()}, result{"result", getResult()};
  auto dim = static_cast<int64_t>(getDim());
  if (dim < 0 || dim >= input.rank())
    return emitOpError("expected dim to be in [0, ")
           << input.rank() << "), but got " << dim;
  bool offsets = getKind() == ScanKind::offsets;
  if (offsets && (getChunk() || getBounds() || getReverse()))
    return emitOpError("expected kind to be inclusive or exclusive with "
                       "chunk, bounds or reverse, but got offsets");
  if (getChunk() && static_cast<int64_t>(*getChunk()) < 1)
    return emitOpError("expected chunk to be at least 1, but got ")
           << static_cast<int64_t>(*getChunk());
  if (getBounds() && Named{"bounds", getBounds()}.size(0) == 0)
    return emitOpError("expected size of dim 0 of bounds to be at least 1, but "
                       "got 0");
  if (isa<FloatType>(input.element()) != isa<FloatType>(result.element()))
    return emitOpError("expected element type of result to be ")
           << (isa<FloatType>(input.element()) ? "f32, bf16 or f16"
                                               : "i32 or i64")
           << " for input of " << input.element() << ", but got "
           << result.element();
  return success();
}
