//===- RowUses.cpp - Which operands have the rows of a result -------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operand maps say it all but for attributes that count dims.
//
//===----------------------------------------------------------------------===//

#include "Normalize/RowUses.h"

#include "hk/Analysis/LoopMaps.h"
#include "hk/Dialect/HK.h"

using namespace mlir;
using namespace mlir::hk;

static bool isLoop(AffineExpr index, int64_t dim) {
  auto loop = dyn_cast<AffineDimExpr>(index);
  return loop && int64_t(loop.getPosition()) == dim;
}

static bool readsRows(AffineExpr index, int64_t numRows) {
  return llvm::any_of(llvm::seq<int64_t>(0, numRows),
                      [&](int64_t row) { return index.isFunctionOfDim(row); });
}

static std::optional<RowUse> useOf(AffineMap map, int64_t numRows) {
  ArrayRef<AffineExpr> indices = map.getResults();
  auto isWhole = [&](ArrayRef<AffineExpr> part) {
    return llvm::none_of(
        part, [&](AffineExpr index) { return readsRows(index, numRows); });
  };
  auto size = static_cast<int64_t>(indices.size());
  auto pad = static_cast<int64_t>(map.getNumDims()) - size;
  for (int64_t first = 0; first + numRows <= size; ++first)
    if (llvm::all_of(
            llvm::seq<int64_t>(0, numRows),
            [&](int64_t row) { return isLoop(indices[first + row], row); }) &&
        isWhole(indices.take_front(first)) &&
        isWhole(indices.drop_front(first + numRows)))
      return RowUse{RowUse::Rows, first};
  // Dims of 1 that repeat have index 0; one that stands for rows must go with
  // them, so alignment tells it from a dim of a weight.
  bool aligned =
      pad >= 0 && pad < numRows && isWhole(indices.drop_front(numRows - pad));
  for (int64_t row = pad; aligned && row < numRows; ++row) {
    auto zero = dyn_cast<AffineConstantExpr>(indices[row - pad]);
    aligned = isLoop(indices[row - pad], row) || (zero && zero.getValue() == 0);
  }
  if (aligned)
    return RowUse{RowUse::Broadcast};
  if (isWhole(indices))
    return RowUse{RowUse::Whole};
  return std::nullopt;
}

std::optional<SmallVector<RowUse>> mlir::hk::rowUsesOf(Operation *op,
                                                       int64_t numRows) {
  auto rowwise = dyn_cast<RowwiseOpInterface>(op);
  bool isView = isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
                    tensor::CollapseShapeOp>(op);
  if (!isView && (!rowwise || isa<StateOpInterface>(op)))
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || op->getNumOperands() == 0 ||
      type.getRank() - (rowwise ? rowwise.getNumLocalDims() : 0) < numRows)
    return std::nullopt;
  SmallVector<RowUse> uses;
  for (AffineMap map : operandMapsOf(op)) {
    std::optional<RowUse> use =
        map ? useOf(map, numRows) : RowUse{RowUse::Whole};
    bool leads = use && use->kind == RowUse::Rows && use->first == 0;
    if (!use || (isView && map && !leads))
      return std::nullopt;
    uses.push_back(*use);
  }
  return uses;
}

/// Dim `dim` after the first `from` became `to`; nullopt where it is one of
/// those and not told apart from the others.
static std::optional<int64_t> movedDim(int64_t dim, int64_t from, int64_t to,
                                       ArrayRef<bool> isOne) {
  if (dim >= from)
    return dim + to - from;
  // One dim of the longer side counts; the others are 1.
  std::optional<int64_t> real;
  for (auto [i, one] : llvm::enumerate(isOne))
    if (!one) {
      if (real)
        return std::nullopt;
      real = i;
    }
  if (from == 1)
    return real.value_or(0);
  return !real || dim == *real ? std::optional<int64_t>(0) : std::nullopt;
}

bool mlir::hk::canMoveDims(Operation *op, int64_t from, int64_t to,
                           ArrayRef<bool> isOne) {
  auto rope = dyn_cast<RopeOp>(op);
  if (!rope)
    return true;
  // Heads are a dim of their own, and sequences are cut from one token dim.
  int64_t rank = rope.getInput().getType().getRank();
  if (rope.getBounds() || rank + to - from < 3)
    return false;
  return rope.getPositions() ||
         movedDim(rope.getPositionDim(), from, to, isOne);
}

void mlir::hk::moveDims(Operation *op, int64_t from, int64_t to,
                        ArrayRef<bool> isOne) {
  if (auto concat = dyn_cast<ConcatOp>(op)) {
    concat.setDim(int64_t(concat.getDim()) + to - from);
  } else if (auto rope = dyn_cast<RopeOp>(op); rope && !rope.getPositions()) {
    rope.setPositionDim(*movedDim(rope.getPositionDim(), from, to, isOne));
  } else if (auto transpose = dyn_cast<TransposeOp>(op)) {
    SmallVector<int64_t> permutation;
    for (int64_t dim = 0; dim < to; ++dim)
      permutation.push_back(dim);
    for (int64_t dim : transpose.getPermutation().drop_front(from))
      permutation.push_back(dim + to - from);
    transpose.setPermutation(permutation);
  }
}
