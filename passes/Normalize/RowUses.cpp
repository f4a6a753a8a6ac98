//===- RowUses.cpp - Which operands have the rows of a result -------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator that is not listed and not elementwise keeps its shape.
//
//===----------------------------------------------------------------------===//

#include "Normalize/RowUses.h"

#include "hk/Analysis/Parameters.h"
#include "hk/Dialect/HK.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::hk;

static int64_t rankOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

/// All operands have the rows, but for `whole`.
static RowUses sameRows(Operation *op, int64_t numRowDims,
                        ArrayRef<Value> whole = {}) {
  RowUses uses;
  uses.numRowDims = numRowDims;
  for (Value operand : op->getOperands())
    uses.operands.push_back(
        {llvm::is_contained(whole, operand) ? RowUse::Whole : RowUse::Rows});
  return uses;
}

static RowUses broadcastRows(Operation *op) {
  RowUses uses;
  uses.numRowDims = rankOf(op->getResult(0));
  uses.operands.assign(op->getNumOperands(), {RowUse::Broadcast});
  return uses;
}

static int64_t leadingFixedDims(ArrayRef<int64_t> permutation) {
  int64_t count = 0;
  while (count < int64_t(permutation.size()) && permutation[count] == count)
    ++count;
  return count;
}

static RowUses usesOfRope(RopeOp rope) {
  RowUses uses = sameRows(rope, rankOf(rope.getInput()) - 2,
                          {rope.getCos(), rope.getSin()});
  // Sequences are cut from the one token dim.
  if (rope.getBounds())
    uses.numRowDims = 0;
  return uses;
}

static RowUses partialRows(Operation *op, int64_t numRowDims) {
  RowUses uses = sameRows(op, numRowDims);
  for (RowUse &use : uses.operands)
    use.first = 1;
  return uses;
}

std::optional<RowUses> mlir::hk::rowUsesOf(Operation *op) {
  using Result = std::optional<RowUses>;
  auto withoutLast = [](Operation *o, ArrayRef<Value> whole = {}) {
    return sameRows(o, rankOf(o->getResult(0)) - 1, whole);
  };
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](RmsNormOp o) {
        return withoutLast(o, o.getWeight() ? ArrayRef<Value>(o.getWeight())
                                            : ArrayRef<Value>());
      })
      .Case([&](LayerNormOp o) {
        return withoutLast(o, {o.getWeight(), o.getBias()});
      })
      .Case([](RopeOp o) { return usesOfRope(o); })
      .Case([](GatherRowsOp o) {
        return sameRows(o, rankOf(o.getIndices()), {o.getTable()});
      })
      .Case([](ReduceOp o) {
        return sameRows(o, rankOf(o.getInput()) - int64_t(o.getDims()));
      })
      .Case([](ConcatOp o) { return sameRows(o, o.getDim()); })
      .Case([](TransposeOp o) {
        return sameRows(o, leadingFixedDims(o.getPermutation()));
      })
      .Case([](CopyOp o) { return sameRows(o, rankOf(o.getResult())); })
      .Case([](SumSlicesOp o) { return partialRows(o, rankOf(o.getResult())); })
      .Case([](AttentionCombineOp o) {
        RowUses uses = partialRows(o, rankOf(o.getResult()) - 2);
        if (o.getSink())
          uses.operands.back() = {RowUse::Whole};
        return uses;
      })
      .Case([&](QuantizeStaticOp o) {
        RowUses uses = withoutLast(o);
        uses.operands[1] = {RowUse::Broadcast};
        return uses;
      })
      .Case<L2NormOp, SoftmaxOp, GatedActivationOp, QuantizeOp, QuantizeMxOp,
            TopkOp, GatherLastOp, GroupLimitOp, BitmatrixOp, PadOp>(
          [&](auto o) { return withoutLast(o); })
      .Case([](tensor::ExtractSliceOp o) -> Result {
        // Rows stay whole: what is cut lies behind them.
        RowUses uses;
        uses.operands.assign(o->getNumOperands(), {RowUse::Whole});
        uses.operands[0] = {RowUse::Rows};
        llvm::SmallBitVector dropped = o.getDroppedDims();
        while (uses.numRowDims < o.getType().getRank() &&
               !dropped.test(uses.numRowDims) &&
               o.getStaticOffset(uses.numRowDims) == 0 &&
               o.getStaticStride(uses.numRowDims) == 1)
          ++uses.numRowDims;
        return uses;
      })
      .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
          [](auto o) -> Result {
            RowUses uses;
            uses.operands.assign(o->getNumOperands(), {RowUse::Whole});
            uses.operands[0] = {RowUse::Rows};
            for (const ReassociationIndices &group :
                 o.getReassociationIndices()) {
              if (group.size() != 1)
                break;
              ++uses.numRowDims;
            }
            return uses;
          })
      .Default([](Operation *o) -> Result {
        if (!isElementwise(o) || isa<ConstantOp>(o))
          return std::nullopt;
        return broadcastRows(o);
      });
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
  return !rope || rope.getPositions() ||
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
