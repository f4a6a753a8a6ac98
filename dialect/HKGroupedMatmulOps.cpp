//===- HKGroupedMatmulOps.cpp - Verifier and shape of grouped products ----===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How groups are given decides the rows of the result; what multiplies is that
// of hk.matmul.
//
//===----------------------------------------------------------------------===//

#include "ProductChecks.h"

#include "hk/Contract/Grid.h"

using namespace mlir;
using namespace mlir::hk;

int64_t GroupedMatmulOp::getNumSliceDims() { return getAlongK() ? 1 : 0; }
int64_t GroupedMatmulOp::getNumSlices() { return 1; }

/// Groups of k lie along the rows of A as it is stored, [K, M].
int64_t GroupedMatmulOp::getLhsDim(MatmulDim dim) {
  bool kFirst = getAlongK() != getTransposeA();
  return (dim == MatmulDim::K) == kFirst ? 0 : 1;
}

int64_t GroupedMatmulOp::getRhsDim(MatmulDim dim) {
  int64_t first = tensorType(getRhs()).getRank() - 2;
  return (dim == MatmulDim::K) != getTransposeB() ? first : first + 1;
}

int64_t GroupedMatmulOp::getNumGroups() {
  return tensorType(getAlongK() ? Value(getResult()) : Value(getRhs()))
      .getDimSize(0);
}

/// What does not go together.
static LogicalResult verifyForm(GroupedMatmulOp op) {
  auto refuse = [&](StringRef what, StringRef with) {
    return op.emitOpError("expected no ") << what << " with " << with;
  };
  if (op.isBlocks()) {
    if (!op.getBlock() || !op.getOrder())
      return op.emitOpError("expected `block` and `order` with blocks");
  } else if (op.getBlock()) {
    return refuse("`block`", "bounds or lengths");
  }
  if (!op.getOrder() && op.getTopK() != 1)
    return op.emitOpError("expected `order` with top_k ") << op.getTopK();
  if (!op.getAlongK())
    return op.getTransposeA() ? refuse("transpose_a", "groups of rows")
                              : success();
  if (op.getOrder())
    return refuse("`order`", "along_k");
  if (op.getLhsScale() || op.getRhsScale() || op.getGroupScale())
    return refuse("scales", "along_k");
  if (op.getBias())
    return refuse("bias", "along_k");
  // Matrices of the result are a grid's z.
  if (op.getNumGroups() > ::hk::kMostGridZ)
    return op.emitOpError("expected at most ")
           << ::hk::kMostGridZ << " groups with along_k, but got "
           << op.getNumGroups();
  return success();
}

/// The operands that have an element or a row for each group.
static LogicalResult verifyPerGroup(GroupedMatmulOp op, int64_t groups,
                                    int64_t n) {
  if (!op.isBlocks()) {
    bool bounds = op.getForm() == GroupForm::bounds;
    int64_t size =
        bounds && !ShapedType::isDynamic(groups) ? groups + 1 : groups;
    if (failed(expectSize(op, {"groups", op.getGroups()}, 0, size)))
      return failure();
  }
  if (op.getBias() &&
      failed(expectShape(op, {"bias", op.getBias()}, {groups, n})))
    return failure();
  return op.getGroupScale()
             ? expectShape(op, {"group_scale", op.getGroupScale()}, {groups})
             : success();
}

/// Rows of the result where they are not those of a group of k.
static int64_t resultRows(GroupedMatmulOp op) {
  int64_t rows = tensorType(op.getPlaces()).getDimSize(0);
  if (!op.isBlocks())
    return rows;
  rows = tensorType(op.getLhs()).getDimSize(0);
  return ShapedType::isDynamic(rows) ? rows : rows * int64_t(op.getTopK());
}

LogicalResult GroupedMatmulOp::verify() {
  Named lhs{"lhs", getLhs()}, rhs{"rhs", getRhs()},
      result{"result", getResult()};
  if (failed(expectRank(*this, lhs, 2)) ||
      failed(expectRank(*this, rhs, getAlongK() ? 2 : 3)) ||
      failed(expectRank(*this, result, getAlongK() ? 3 : 2)) ||
      (getAlongK() && failed(expectStatic(*this, result, 0))) ||
      failed(verifyForm(*this)))
    return failure();
  int64_t m = lhs.size(getLhsDim(MatmulDim::M));
  int64_t k = lhs.size(getLhsDim(MatmulDim::K));
  int64_t n = rhs.size(getRhsDim(MatmulDim::N)), groups = getNumGroups();
  if (failed(expectSize(*this, rhs, getRhsDim(MatmulDim::K), k)) ||
      failed(expectShape(*this, result,
                         getAlongK()
                             ? SmallVector<int64_t>{groups, m, n}
                             : SmallVector<int64_t>{resultRows(*this), n})) ||
      failed(verifyPerGroup(*this, groups, n)))
    return failure();
  bool onlySums =
      !getLhsScale() && !getRhsScale() && !getGroupScale() && !getBias();
  if (failed(verifyProductElements(*this, lhs, rhs, result, onlySums)))
    return failure();
  if (getAlongK())
    for (Named v : {lhs, rhs})
      if (!v.element().isBF16() && !v.element().isF16() && !v.element().isF32())
        return emitOpError("expected element type of ")
               << v.name << " to be f32, bf16 or f16 with along_k, but got "
               << v.element();
  if (getLhsScale() &&
      failed(verifyProductScale(*this, {"lhs_scale", getLhsScale()}, lhs,
                                ::hk::kBlockScaleA, m, k)))
    return failure();
  if (!getRhsScale())
    return success();
  return verifyProductScale(*this, {"rhs_scale", getRhsScale()}, rhs,
                            ::hk::kBlockScaleB, n, k);
}

LogicalResult
GroupedMatmulOp::reifyResultShapes(OpBuilder &b,
                                   ReifiedRankedShapedTypeDims &r) {
  Location loc = getLoc();
  auto size = [&](Value value, int64_t dim) {
    return tensor::getMixedSize(b, loc, value, dim);
  };
  OpFoldResult n = size(getRhs(), getRhsDim(MatmulDim::N));
  if (getAlongK()) {
    addShape(b, loc, getResult(),
             {b.getIndexAttr(getNumGroups()),
              size(getLhs(), getLhsDim(MatmulDim::M)), n},
             r);
    return success();
  }
  OpFoldResult rows = size(isBlocks() ? Value(getLhs()) : getPlaces(), 0);
  if (std::optional<int64_t> known = getConstantIntValue(rows);
      isBlocks() && known)
    rows = b.getIndexAttr(*known * int64_t(getTopK()));
  else if (isBlocks() && getTopK() != 1)
    rows = arith::MulIOp::create(
               b, loc, cast<Value>(rows),
               arith::ConstantIndexOp::create(b, loc, int64_t(getTopK())))
               .getResult();
  addShape(b, loc, getResult(), {rows, n}, r);
  return success();
}
