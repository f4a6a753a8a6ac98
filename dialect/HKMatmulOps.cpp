//===- HKMatmulOps.cpp - Verifier and shape of the matrix product ---------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Orientation, batch dims, accumulation type, the forms of scales; an operand's
// transpose becomes orientation.
//
//===----------------------------------------------------------------------===//

#include "ProductChecks.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::hk;
using ::hk::ScaleSpec;

int64_t MatmulOp::getNumSliceDims() { return getKSlices() ? 1 : 0; }
int64_t MatmulOp::getNumSlices() { return getKSlices().value_or(1); }

int64_t MatmulOp::getLhsDim(MatmulDim dim) {
  int64_t rank = tensorType(getLhs()).getRank();
  return (dim == MatmulDim::M) != getTransposeA() ? rank - 2 : rank - 1;
}

int64_t MatmulOp::getRhsDim(MatmulDim dim) {
  int64_t rank = tensorType(getRhs()).getRank();
  return (dim == MatmulDim::K) != getTransposeB() ? rank - 2 : rank - 1;
}

/// The sizes that `spec` gives the scales of [rows, k] elements, in the last
/// two dims of `scale`.
static LogicalResult expectScales(Operation *op, Named scale, ScaleSpec spec,
                                  int64_t rows, int64_t k) {
  auto blocks = [](int64_t n, int32_t block) -> int64_t {
    return block == 0 ? 1 : ceilDiv(n, block);
  };
  int64_t last = scale.rank() - 1;
  if (failed(expectSize(op, scale, last - 1, blocks(rows, spec.rows))))
    return failure();
  return expectSize(op, scale, last, blocks(k, spec.depth));
}

LogicalResult mlir::hk::verifyProductScale(Operation *op, Named scale,
                                           Named operand, ScaleSpec blocks,
                                           int64_t rows, int64_t k) {
  bool mx = isa<Float8E8M0FNUType>(scale.element());
  if (mx && !isa<Float4E2M1FNType, Float8E4M3FNType, Float8E5M2Type>(
                operand.element()))
    return op->emitOpError("expected element type of ")
           << operand.name
           << " with f8E8M0FNU scales to be f4E2M1FN, f8E4M3FN or f8E5M2, but "
              "got "
           << operand.element();
  if (!mx && scale.type().hasStaticShape() &&
      scale.type().getNumElements() == 1)
    return success();
  int64_t batch = scale.rank() == operand.rank() ? operand.rank() - 2 : 0;
  if (failed(expectRank(op, scale, batch + 2)))
    return failure();
  for (int64_t d = 0; d < batch; ++d)
    if (failed(expectSize(op, scale, d, operand.size(d))))
      return failure();
  if (mx)
    return expectScales(op, scale, ::hk::kMxScale, rows, k);
  bool perRow =
      scale.size(batch + 1) == 1 && (ceilDiv(k, blocks.depth) != 1 ||
                                     compatibleSizes(scale.size(batch), rows));
  return expectScales(op, scale, perRow ? ::hk::kRowScale : blocks, rows, k);
}

LogicalResult mlir::hk::verifyProductElements(Operation *op, Named lhs,
                                              Named rhs, Named result,
                                              bool onlySums) {
  auto multiplies = [](Type t) {
    return t.isInteger(8) || (isa<FloatType>(t) && !isa<Float8E8M0FNUType>(t));
  };
  for (Named v : {lhs, rhs})
    if (!multiplies(v.element()))
      return op->emitOpError("expected element type of ")
             << v.name << " to be i8 or a float, but got " << v.element();
  bool integer = lhs.element().isInteger(8);
  if (integer != rhs.element().isInteger(8))
    return expectElement(op, rhs, lhs.element());
  if (result.element().isInteger(32) && (!integer || !onlySums))
    return op->emitOpError("expected element type of result to be real, but "
                           "got i32, which only an int8 product without "
                           "scales has");
  return success();
}

LogicalResult MatmulOp::verify() {
  Named lhs{"lhs", getLhs()}, rhs{"rhs", getRhs()},
      result{"result", getResult()};
  if (failed(expectMinRank(*this, lhs, 2)) ||
      failed(expectMinRank(*this, rhs, 2)))
    return failure();
  if (rhs.rank() != 2 && rhs.rank() != lhs.rank())
    return emitOpError("expected rank of rhs to be 2 or ")
           << lhs.rank() << ", but got " << rhs.rank();

  int64_t m = lhs.size(getLhsDim(MatmulDim::M));
  int64_t k = lhs.size(getLhsDim(MatmulDim::K));
  int64_t n = rhs.size(getRhsDim(MatmulDim::N));
  if (failed(expectSize(*this, rhs, getRhsDim(MatmulDim::K), k)))
    return failure();
  if (rhs.rank() > 2)
    for (int64_t d = 0; d < lhs.rank() - 2; ++d)
      if (failed(expectSize(*this, rhs, d, lhs.size(d))))
        return failure();
  SmallVector<int64_t> shape(lhs.type().getShape().drop_back(2));
  shape.append({m, n});
  if (getKSlices())
    shape.insert(shape.begin(), getNumSlices());
  if (failed(expectShape(*this, result, shape)))
    return failure();

  bool integer = lhs.element().isInteger(8);
  bool scaled = getLhsScale() || getRhsScale();
  if (failed(verifyProductElements(*this, lhs, rhs, result, !scaled)))
    return failure();
  if (getKSlices()) {
    Type partial = integer && !scaled ? Type(IntegerType::get(getContext(), 32))
                                      : Type(Float32Type::get(getContext()));
    if (failed(expectElement(*this, result, partial)))
      return failure();
  }
  if (!scaled)
    return success();
  if (getLhsScale() &&
      failed(verifyProductScale(*this, {"lhs_scale", getLhsScale()}, lhs,
                                ::hk::kBlockScaleA, m, k)))
    return failure();
  if (!getRhsScale())
    return success();
  return verifyProductScale(*this, {"rhs_scale", getRhsScale()}, rhs,
                            ::hk::kBlockScaleB, n, k);
}

/// What `operand` is the transpose of, its last two dims exchanged, or null.
static Value transposedFrom(Value operand) {
  auto transpose = operand.getDefiningOp<TransposeOp>();
  if (!transpose)
    return nullptr;
  SmallVector<int64_t> swapped(transpose.getPermutation());
  std::swap(swapped[swapped.size() - 2], swapped.back());
  return transposedLocalDims(swapped) == 0 ? transpose.getInput() : nullptr;
}

/// A product reads either orientation, so transposing an operand is free.
LogicalResult MatmulOp::canonicalize(MatmulOp op, PatternRewriter &rewriter) {
  Value lhs = transposedFrom(op.getLhs()), rhs = transposedFrom(op.getRhs());
  if (!lhs && !rhs)
    return failure();
  rewriter.modifyOpInPlace(op, [&] {
    if (lhs) {
      op.getLhsMutable().assign(lhs);
      op.setTransposeA(!op.getTransposeA());
    }
    if (rhs) {
      op.getRhsMutable().assign(rhs);
      op.setTransposeB(!op.getTransposeB());
    }
  });
  return success();
}

LogicalResult MatmulOp::reifyResultShapes(OpBuilder &b,
                                          ReifiedRankedShapedTypeDims &r) {
  Sizes sizes = sizesOf(b, getLoc(), getLhs());
  OpFoldResult m = sizes[getLhsDim(MatmulDim::M)];
  sizes.truncate(sizes.size() - 2);
  if (getKSlices())
    sizes.insert(sizes.begin(), b.getIndexAttr(getNumSlices()));
  sizes.push_back(m);
  sizes.push_back(
      tensor::getMixedSize(b, getLoc(), getRhs(), getRhsDim(MatmulDim::N)));
  addShape(b, getLoc(), getResult(), std::move(sizes), r);
  return success();
}

//===----------------------------------------------------------------------===//
// hk.sum_slices
//===----------------------------------------------------------------------===//

LogicalResult SumSlicesOp::verify() {
  Named input{"input", getInput()}, result{"result", getResult()};
  if (failed(expectMinRank(*this, input, 1)) ||
      failed(expectStatic(*this, input, 0)) ||
      failed(expectShape(*this, result, input.type().getShape().drop_front())))
    return failure();
  if (result.element().isInteger(32) && !input.element().isInteger(32))
    return expectElement(*this, input, result.element());
  return success();
}

LogicalResult SumSlicesOp::reifyResultShapes(OpBuilder &b,
                                             ReifiedRankedShapedTypeDims &r) {
  Sizes sizes = sizesOf(b, getLoc(), getInput());
  sizes.erase(sizes.begin());
  addShape(b, getLoc(), getResult(), std::move(sizes), r);
  return success();
}
