//===- FactorsOf.cpp - How an operator is cut between ranks ---------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop of a row-wise operator is a factor of its first result and of every
// operand that is read at the loop's index. A reshape keeps the outermost dim
// of a group as a factor, whose steps are all elements of the inner ones.
//
//===----------------------------------------------------------------------===//

#include "hk/Analysis/FactorsOf.h"
#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/DimSymbols.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::hk;

//===----------------------------------------------------------------------===//
// Row-wise operators
//===----------------------------------------------------------------------===//

/// Adds where `operand` is read at loop `loop`. False: it is read there in a
/// way that forbids cutting the loop.
static bool addOperandPlace(ShardFactor &factor, Value operand, AffineMap map,
                            unsigned loop) {
  if (!map)
    return true; // gathered: needed whole, which no place says
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    if (!expr.isFunctionOfDim(loop))
      continue;
    if (isa<AffineDimExpr>(expr)) {
      factor.places.push_back({operand, int64_t(dim), 0, 1});
      continue;
    }
    // One element per group of steps.
    auto group = dyn_cast<AffineBinaryOpExpr>(expr);
    auto size = group ? dyn_cast<AffineConstantExpr>(group.getRHS())
                      : AffineConstantExpr();
    if (!group || group.getKind() != AffineExprKind::FloorDiv || !size ||
        !isa<AffineDimExpr>(group.getLHS()))
      return false;
    factor.places.push_back({operand, int64_t(dim), 0, -size.getValue()});
  }
  return true;
}

/// Where places count groups of steps (a negative unit), a step becomes a
/// group.
static bool alignGroups(ShardFactor &factor) {
  int64_t group = 1;
  for (const FactorPlace &place : factor.places)
    if (place.unit < 0) {
      if (group != 1 && group != -place.unit)
        return false;
      group = -place.unit;
    }
  if (group == 1)
    return true;
  if (ShapedType::isDynamic(factor.steps) || factor.steps % group != 0)
    return false;
  factor.steps /= group;
  for (FactorPlace &place : factor.places)
    place.unit = place.unit < 0 ? 1 : group;
  return true;
}

static void addLoops(RowwiseOpInterface op, ShardFactors &factors) {
  if (op->getNumResults() == 0)
    return;
  RankedTensorType first = tensorType(op->getResult(0));
  int64_t rowDims = first.getRank() - op.getNumLocalDims();
  SmallVector<AffineMap> maps = op.getOperandMaps();
  if (maps.size() != op->getNumOperands())
    return; // a constant
  for (int64_t loop = 0; loop < first.getRank(); ++loop) {
    ShardFactor factor{
        FactorKind::Parallel, "rows", first.getDimSize(loop), {}};
    // Further results have the leading dims, and no others that are known.
    bool fits = loop < rowDims || op->getNumResults() == 1;
    for (Value result : op->getResults())
      factor.places.push_back({result, loop});
    bool readsFirst = false, readsAny = false;
    for (auto [i, map] : llvm::enumerate(maps)) {
      size_t before = factor.places.size();
      fits &= addOperandPlace(factor, op->getOperand(i), map, loop);
      readsAny |= factor.places.size() > before;
      readsFirst |= i == 0 && factor.places.size() > before;
    }
    // A dim of the row can be cut only if a part of the result needs no more
    // than that part of what the row is made of.
    if (fits && (loop < rowDims ? readsAny : readsFirst) && alignGroups(factor))
      factors.add(factor.kind, factor.what, factor.steps, factor.places);
  }
}

/// A part of what is summed gives a term of the sum.
static void addSummed(ReduceOp op, ShardFactors &factors) {
  RankedTensorType type = op.getInput().getType();
  if (op.getKind() != ReduceKind::sum)
    return;
  for (int64_t dim = type.getRank() - int64_t(op.getDims());
       dim < type.getRank(); ++dim)
    factors.add(FactorKind::Sum, "summands", type.getDimSize(dim),
                {{op.getInput(), dim}});
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// Dims of `parts` that are dim `dim` of `whole`, the outermost first.
static void addReshape(Value whole, int64_t dim, Value parts,
                       ArrayRef<int64_t> group, ShardFactors &factors) {
  RankedTensorType type = tensorType(parts);
  const int64_t *outermost =
      llvm::find_if(group, [&](int64_t d) { return type.getDimSize(d) != 1; });
  if (outermost == group.end())
    return;
  int64_t unit = 1;
  for (int64_t d : llvm::make_range(outermost + 1, group.end())) {
    if (type.isDynamicDim(d))
      return;
    unit *= type.getDimSize(d);
  }
  factors.add(FactorKind::Parallel, "parts of a reshape",
              type.getDimSize(*outermost),
              {{whole, dim, 0, unit}, {parts, *outermost}});
}

/// Whether a slice begins at row 0 of a dim and takes one after the other as
/// many as a number says that only a call knows.
static bool beginsWithDynamic(tensor::ExtractSliceOp slice, int64_t dim) {
  return slice.isDynamicSize(dim) && slice.getStaticOffsets()[dim] == 0 &&
         slice.getStaticStrides()[dim] == 1;
}

static bool isSizeOf(Value size, Value tensor, int64_t dim) {
  auto op = size.getDefiningOp<tensor::DimOp>();
  return op && op.getSource() == tensor && op.getConstantIndex() == dim;
}

bool mlir::hk::isSizeOfSource(Operation *op, Value size) {
  auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
  if (!slice || llvm::is_contained(slice.getOffsets(), size) ||
      llvm::is_contained(slice.getStrides(), size))
    return false;
  for (int64_t dim = 0; dim < slice.getSourceType().getRank(); ++dim)
    if (slice.isDynamicSize(dim) && slice.getDynamicSize(dim) == size &&
        !(beginsWithDynamic(slice, dim) &&
          isSizeOf(size, slice.getSource(), dim)))
      return false;
  return llvm::is_contained(slice.getSizes(), size);
}

void mlir::hk::useSizesOfSources(Block &block) {
  DimSymbols dims(block);
  for (auto slice :
       llvm::make_early_inc_range(block.getOps<tensor::ExtractSliceOp>()))
    for (int64_t dim = 0; dim < slice.getSourceType().getRank(); ++dim) {
      Value source = slice.getSource();
      if (!beginsWithDynamic(slice, dim) ||
          isSizeOf(slice.getDynamicSize(dim), source, dim) ||
          dims.name(slice.getDynamicSize(dim)) != dims.dim(source, dim))
        continue;
      OpBuilder b(slice);
      slice->setOperand(slice.getIndexOfDynamicSize(dim),
                        tensor::DimOp::create(b, slice.getLoc(), source, dim));
    }
}

static void addSlice(tensor::ExtractSliceOp slice, ShardFactors &factors) {
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  int64_t next = 0;
  for (auto [dim, size] : llvm::enumerate(slice.getStaticSizes())) {
    if (dropped.test(dim))
      continue;
    int64_t to = next++, offset = slice.getStaticOffsets()[dim];
    if (ShapedType::isDynamic(size)
            ? !isSizeOfSource(slice, slice.getDynamicSize(dim))
            : ShapedType::isDynamic(offset) ||
                  slice.getStaticStrides()[dim] != 1)
      continue;
    factors.add(
        FactorKind::Parallel, "a slice", size,
        {{slice.getSource(), int64_t(dim), offset}, {slice.getResult(), to}});
  }
}

static void addView(Operation *op, ShardFactors &factors) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](tensor::ExtractSliceOp slice) { addSlice(slice, factors); })
      .Case([&](tensor::ExpandShapeOp expand) {
        for (auto [dim, group] :
             llvm::enumerate(expand.getReassociationIndices()))
          addReshape(expand.getSrc(), dim, expand.getResult(), group, factors);
      })
      .Case([&](tensor::CollapseShapeOp collapse) {
        for (auto [dim, group] :
             llvm::enumerate(collapse.getReassociationIndices()))
          addReshape(collapse.getResult(), dim, collapse.getSrc(), group,
                     factors);
      })
      .Case([&](tensor::CastOp cast) {
        Value source = cast.getSource();
        for (int64_t dim = 0; dim < tensorType(source).getRank(); ++dim)
          factors.add(FactorKind::Parallel, "rows",
                      tensorType(source).getDimSize(dim),
                      {{source, dim}, {cast.getResult(), dim}});
      });
}

//===----------------------------------------------------------------------===//
// Both
//===----------------------------------------------------------------------===//

ShardFactors mlir::hk::factorsOf(Operation *op) {
  ShardFactors factors;
  if (auto states = dyn_cast<ShardOpInterface>(op))
    states.stateFactors(factors);
  else if (auto rowwise = dyn_cast<RowwiseOpInterface>(op))
    addLoops(rowwise, factors);
  else if (isView(op))
    addView(op, factors);
  if (auto reduce = dyn_cast<ReduceOp>(op))
    addSummed(reduce, factors);
  return factors;
}

Linearity mlir::hk::linearityOf(Operation *op) {
  if (auto rowwise = dyn_cast<RowwiseOpInterface>(op))
    return rowwise.getLinearity();
  return isView(op) ? Linearity::each : Linearity::none;
}
