//===- JoinRows.cpp - Batches that share a matrix are rows ----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product [B, S, K] x [K, N] multiplies each of B * S rows with one matrix,
// so it is the product [B * S, K] x [K, N]: its tiles need not end with a
// sequence, and its tile is chosen for all rows there are. hk-normalize then
// joins the rows of what stands around it.
//
// The product keeps its batches where joining them would cost a copy: where
// they do not follow each other in the memory of the left operand, and where
// a transpose that the product's kernel stores for itself parts them again.
//
//===----------------------------------------------------------------------===//

#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/DimSymbols.h"
#include "hk/Dialect/HK.h"
#include "hk/Passes/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKJOINROWS
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

namespace {
struct HKJoinRows : ::mlir::hk::impl::HKJoinRowsBase<HKJoinRows> {
  void runOnOperation() override;
};
} // namespace

/// Whether the rows of `value`, all its dims but the last, follow each other
/// with one distance.
static bool hasEvenRows(Value value, const DimSymbols &dims) {
  for (; isView(value.getDefiningOp());
       value = viewSource(value.getDefiningOp())) {
    auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
    if (!slice)
      continue;
    ArrayRef<DimName> whole = dims.shape(slice.getSource()),
                      part = dims.shape(slice.getResult());
    // Columns and sequences may be cut, rows of a sequence may not.
    if (!slice.hasUnitStride() || whole.size() != part.size() ||
        whole.drop_front().drop_back() != part.drop_front().drop_back())
      return false;
  }
  return !value.getDefiningOp<TransposeOp>();
}

/// Whether a transpose reads `value`, through views.
static bool isTransposed(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<TransposeOp>(user) ||
           (isView(user) && isTransposed(user->getResult(0)));
  });
}

/// Whether scales of A have its batch dims or are one for all.
static bool canJoinScales(Value scale, int64_t rank) {
  return !scale || tensorType(scale).getRank() == rank ||
         (tensorType(scale).hasStaticShape() &&
          tensorType(scale).getNumElements() == 1);
}

static bool canJoin(MatmulOp product, const DimSymbols &dims) {
  int64_t rank = tensorType(product.getLhs()).getRank();
  return rank > 2 && tensorType(product.getRhs()).getRank() == 2 &&
         !product.getTransposeA() && !product.getKSlices() &&
         canJoinScales(product.getLhsScale(), rank) &&
         hasEvenRows(product.getLhs(), dims) &&
         !isTransposed(product.getResult());
}

/// All dims but the last as one.
static SmallVector<ReassociationIndices> joinedRows(int64_t rank) {
  SmallVector<ReassociationIndices> groups(2);
  for (int64_t dim = 0; dim + 1 < rank; ++dim)
    groups[0].push_back(dim);
  groups[1].push_back(rank - 1);
  return groups;
}

static void join(MatmulOp product) {
  OpBuilder builder(product);
  Location loc = product.getLoc();
  RankedTensorType type = product.getResult().getType();
  int64_t rank = type.getRank();
  SmallVector<ReassociationIndices> groups = joinedRows(rank);
  auto collapse = [&](Value value) -> Value {
    if (!value || tensorType(value).getRank() != rank)
      return value;
    return tensor::CollapseShapeOp::create(builder, loc, value, groups);
  };
  Value lhs = collapse(product.getLhs()),
        scale = collapse(product.getLhsScale());
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, loc, product.getLhs());
  sizes.back() = tensor::getMixedSize(builder, loc, product.getRhs(),
                                      product.getRhsDim(MatmulDim::N));
  Operation *joined = builder.clone(*product);
  auto made = cast<MatmulOp>(joined);
  made.getLhsMutable().assign(lhs);
  if (scale)
    made.getLhsScaleMutable().assign(scale);
  made.getResult().setType(RankedTensorType::get(
      {tensorType(lhs).getDimSize(0), type.getShape().back()},
      type.getElementType()));
  Value parted = tensor::ExpandShapeOp::create(builder, loc, type,
                                               made.getResult(), groups, sizes);
  product.getResult().replaceAllUsesWith(parted);
  product.erase();
}

void HKJoinRows::runOnOperation() {
  for (func::FuncOp function : getOperation().getOps<func::FuncOp>()) {
    if (function.isExternal() || !function.getBody().hasOneBlock())
      continue;
    Block &block = function.getBody().front();
    SmallVector<MatmulOp> products;
    {
      const DimSymbols dims(block);
      for (auto product : block.getOps<MatmulOp>())
        if (canJoin(product, dims))
          products.push_back(product);
    }
    llvm::for_each(products, join);
    numJoined += static_cast<int64_t>(products.size());
  }
}
