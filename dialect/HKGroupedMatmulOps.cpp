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

void GroupedMatmulOp::stateShapes(ShapeRelations &shapes) {
  Named lhs{"lhs", getLhs()}, rhs{"rhs", getRhs()},
      result{"result", getResult()};
  shapes.rank(lhs, 2);
  shapes.rank(rhs, getAlongK() ? 2 : 3);
  shapes.rank(result, getAlongK() ? 3 : 2);
  SizeTerm m = dimOf(getLhs(), getLhsDim(MatmulDim::M));
  SizeTerm k = dimOf(getLhs(), getLhsDim(MatmulDim::K));
  SizeTerm n = dimOf(getRhs(), getRhsDim(MatmulDim::N));
  shapes.size(rhs, getRhsDim(MatmulDim::K), k);
  SizeTerm groups = dimOf(getRhs(), 0);
  if (getAlongK()) {
    // The type alone says how many groups there are.
    shapes.isStatic(result, 0);
    if (result.rank() == 3)
      groups = getNumGroups();
    shapes.shape(result, {groups, m, n});
  } else if (isBlocks()) {
    SizeTerm slots{static_cast<int64_t>(getTopK())};
    shapes.shape(result, {getTopK() == 1 ? m : m * slots, n});
  } else {
    shapes.shape(result, {dimOf(getPlaces(), 0), n});
  }
  if (!isBlocks())
    shapes.size({"groups", getGroups()}, 0,
                getForm() == GroupForm::bounds ? groups + SizeTerm(1) : groups);
  shapes.shape({"bias", getBias()}, {groups, n});
  shapes.shape({"group_scale", getGroupScale()}, {groups});
  stateProductScale(shapes, {"lhs_scale", getLhsScale()}, lhs,
                    ::hk::kBlockScaleA, m, k);
  stateProductScale(shapes, {"rhs_scale", getRhsScale()}, rhs,
                    ::hk::kBlockScaleB, n, k);
}

LogicalResult GroupedMatmulOp::verify() {
  Named lhs{"lhs", getLhs()}, rhs{"rhs", getRhs()},
      result{"result", getResult()};
  if (failed(verifyForm(*this)))
    return failure();
  bool onlySums =
      !getLhsScale() && !getRhsScale() && !getGroupScale() && !getBias();
  if (failed(verifyProductElements(*this, lhs, rhs, result, onlySums)) ||
      failed(verifyAccumulation(*this)))
    return failure();
  if (getAlongK())
    for (Named v : {lhs, rhs})
      if (!v.element().isBF16() && !v.element().isF16() && !v.element().isF32())
        return emitOpError("expected element type of ")
               << v.name << " to be f32, bf16 or f16 with along_k, but got "
               << v.element();
  return verifyProductScales(*this);
}
