//===- HKMatmulOps.cpp - Verifier and shape of the matrix product ---------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Orientation, batch dims, accumulation type, the forms of scales; an operand's
// transpose becomes orientation, and casts that widen both operands go.
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

static bool isOneElement(Named v) {
  return v.type().hasStaticShape() && v.type().getNumElements() == 1;
}

void mlir::hk::stateProductScale(ShapeRelations &shapes, Named scale,
                                 Named operand, ScaleSpec blocks,
                                 const SizeTerm &rows, const SizeTerm &k) {
  if (!scale.value)
    return;
  bool mx = isa<Float8E8M0FNUType>(scale.element());
  if (!mx && isOneElement(scale))
    return;
  int64_t batch = scale.rank() == operand.rank() ? operand.rank() - 2 : 0;
  shapes.rank(scale, batch + 2);
  for (int64_t dim = 0; dim < batch; ++dim)
    shapes.size(scale, dim, dimOf(operand.value, dim));
  std::optional<int64_t> scaleRows = staticSizeOf(scale.value, batch);
  std::optional<int64_t> numRows = rows.evaluate(staticSizeOf);
  bool perRow = staticSizeOf(scale.value, batch + 1) == 1 &&
                (ceilDiv(k, blocks.depth).evaluate(staticSizeOf) != 1 ||
                 !scaleRows || !numRows || scaleRows == numRows);
  ScaleSpec spec = mx ? ::hk::kMxScale : perRow ? ::hk::kRowScale : blocks;
  auto scales = [](const SizeTerm &n, int32_t block) {
    return block == 0 ? SizeTerm(1) : ceilDiv(n, block);
  };
  shapes.size(scale, batch, scales(rows, spec.rows));
  shapes.size(scale, batch + 1, scales(k, spec.depth));
}

void MatmulOp::stateShapes(ShapeRelations &shapes) {
  Named lhs{"lhs", getLhs()}, rhs{"rhs", getRhs()};
  shapes.minRank(lhs, 2);
  shapes.minRank(rhs, 2);
  SizeTerm m = dimOf(getLhs(), getLhsDim(MatmulDim::M));
  SizeTerm k = dimOf(getLhs(), getLhsDim(MatmulDim::K));
  SizeTerm n = dimOf(getRhs(), getRhsDim(MatmulDim::N));
  shapes.size(rhs, getRhsDim(MatmulDim::K), k);
  if (rhs.rank() == lhs.rank())
    for (int64_t dim = 0; dim + 2 < lhs.rank(); ++dim)
      shapes.size(rhs, dim, dimOf(getLhs(), dim));
  SmallVector<SizeTerm> sizes;
  if (getKSlices())
    sizes.push_back(getNumSlices());
  llvm::append_range(sizes, dimsOf(getLhs(), 0, -2));
  sizes.append({m, n});
  shapes.shape({"result", getResult()}, sizes);
  stateProductScale(shapes, {"lhs_scale", getLhsScale()}, lhs,
                    ::hk::kBlockScaleA, m, k);
  stateProductScale(shapes, {"rhs_scale", getRhsScale()}, rhs,
                    ::hk::kBlockScaleB, n, k);
}

LogicalResult mlir::hk::verifyProductScales(ProductOpInterface op) {
  for (auto [scale, operand] :
       {std::pair(op.getLhsScale(), Named{"lhs", op.getLhs()}),
        std::pair(op.getRhsScale(), Named{"rhs", op.getRhs()})})
    if (scale && isa<Float8E8M0FNUType>(tensorType(scale).getElementType()) &&
        !isa<Float4E2M1FNType, Float8E4M3FNType, Float8E5M2Type>(
            operand.element()))
      return op->emitOpError("expected element type of ")
             << operand.name
             << " with f8E8M0FNU scales to be f4E2M1FN, f8E4M3FN or f8E5M2, "
                "but "
                "got "
             << operand.element();
  return success();
}

LogicalResult mlir::hk::verifyAccumulation(ProductOpInterface op) {
  if (op.getAccumulation() == Accumulation::strict)
    return success();
  for (Named v : {Named{"lhs", op.getLhs()}, Named{"rhs", op.getRhs()}})
    if (!isa<Float8E4M3FNType, Float8E4M3FNUZType, Float8E5M2Type,
             Float8E5M2FNUZType>(v.element()))
      return op->emitOpError("expected element type of ")
             << v.name << " to be fp8 with accumulation tensor_core, but got "
             << v.element();
  return success();
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
  if (rhs.rank() != 2 && rhs.rank() != lhs.rank())
    return emitOpError("expected rank of rhs to be 2 or ")
           << lhs.rank() << ", but got " << rhs.rank();

  bool integer = lhs.element().isInteger(8);
  bool scaled = getLhsScale() || getRhsScale();
  if (failed(verifyProductElements(*this, lhs, rhs, result, !scaled)))
    return failure();
  if (failed(verifyAccumulation(*this)))
    return failure();
  if (getKSlices()) {
    Type partial = integer && !scaled ? Type(IntegerType::get(getContext(), 32))
                                      : Type(Float32Type::get(getContext()));
    if (failed(expectElement(*this, result, partial)))
      return failure();
  }
  return verifyProductScales(*this);
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

/// The elements of 16 bits that a cast made f32, or null.
static Value widenedFrom(Value operand) {
  auto cast = operand.getDefiningOp<CastOp>();
  if (!cast || !getElementTypeOrSelf(operand).isF32())
    return nullptr;
  Type from = getElementTypeOrSelf(cast.getInput());
  return from.isBF16() || from.isF16() ? cast.getInput() : Value();
}

/// Products of elements are exact and their sums f32 whatever the type of the
/// operands: casts that widen both are needless, and one of a weight would be
/// computed in every call.
static LogicalResult dropWidening(MatmulOp op, PatternRewriter &rewriter) {
  Value lhs = widenedFrom(op.getLhs()), rhs = widenedFrom(op.getRhs());
  if (!lhs || !rhs || op.getLhsScale() || op.getRhsScale() ||
      getElementTypeOrSelf(lhs) != getElementTypeOrSelf(rhs))
    return failure();
  rewriter.modifyOpInPlace(op, [&] {
    op.getLhsMutable().assign(lhs);
    op.getRhsMutable().assign(rhs);
  });
  return success();
}

/// A product reads either orientation, so transposing an operand is free.
LogicalResult MatmulOp::canonicalize(MatmulOp op, PatternRewriter &rewriter) {
  Value lhs = transposedFrom(op.getLhs()), rhs = transposedFrom(op.getRhs());
  if (!lhs && !rhs)
    return dropWidening(op, rewriter);
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

//===----------------------------------------------------------------------===//
// hk.sum_slices
//===----------------------------------------------------------------------===//

LogicalResult SumSlicesOp::verify() {
  Named input{"input", getInput()}, result{"result", getResult()};
  if (result.element().isInteger(32) && !input.element().isInteger(32))
    return expectElement(*this, input, result.element());
  return success();
}
