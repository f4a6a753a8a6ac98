//===- ShardFactors.cpp - How operators are cut between ranks -------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What operators say that their operand maps do not: products, attentions,
// writes to caches, and those that put dims together or take them apart.
//
//===----------------------------------------------------------------------===//

#include "hk/Dialect/ShardFactors.h"
#include "OpUtils.h"
#include "hk/Contract/Scale.h"

using namespace mlir;
using namespace mlir::hk;

ShardFactor &ShardFactors::add(FactorKind kind, StringRef what, int64_t steps,
                               ArrayRef<FactorPlace> places) {
  ShardFactor factor{kind, what.str(), steps, {}};
  for (const FactorPlace &place : places)
    if (place.value)
      factor.places.push_back(place);
  factors.push_back(std::move(factor));
  return factors.back();
}

static int64_t sizeOf(Value value, int64_t dim) {
  return tensorType(value).getDimSize(dim);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Adds the place of a factor in scales, where they have one per step, or per
/// `block` steps. False: steps share scales in another way.
static bool addScalePlace(ShardFactor &factor, Value scale, int64_t dim,
                          int64_t size, int64_t block) {
  if (!scale || tensorType(scale).getRank() == 0)
    return true;
  dim += tensorType(scale).getRank();
  if (dim < 0 || sizeOf(scale, dim) == 1)
    return true;
  if (sizeOf(scale, dim) == size) {
    factor.places.push_back({scale, dim});
    return true;
  }
  if (ShapedType::isDynamic(size) || size % block != 0 ||
      sizeOf(scale, dim) != size / block)
    return false;
  for (FactorPlace &place : factor.places)
    place.unit *= block;
  factor.steps /= block;
  factor.places.push_back({scale, dim});
  return true;
}

static void stateColumns(ProductOpInterface op, Value bias,
                         ShardFactors &factors) {
  Value rhs = op.getRhs(), result = op.getResult();
  int64_t dim = op.getRhsDim(MatmulDim::N), size = sizeOf(rhs, dim);
  ShardFactor columns{FactorKind::Parallel,
                      "columns",
                      size,
                      {{rhs, dim}, {result, tensorType(result).getRank() - 1}}};
  if (bias)
    columns.places.push_back({bias, tensorType(bias).getRank() - 1});
  if (addScalePlace(columns, op.getRhsScale(), -2, size,
                    ::hk::kBlockScaleB.rows))
    factors.add(columns.kind, columns.what, columns.steps, columns.places);
}

static void stateInner(ProductOpInterface op, ShardFactors &factors) {
  Value lhs = op.getLhs(), rhs = op.getRhs();
  int64_t left = op.getLhsDim(MatmulDim::K), size = sizeOf(lhs, left);
  if (op.getNumSlices() != 1)
    return;
  // Scales along k: a step holds whole blocks of both operands.
  int64_t step = 1;
  SmallVector<FactorPlace> scales;
  for (Value scale : {op.getLhsScale(), op.getRhsScale()}) {
    int64_t dim = scale ? tensorType(scale).getRank() - 1 : -1;
    if (dim < 0 || sizeOf(scale, dim) == 1)
      continue;
    int64_t blocks = sizeOf(scale, dim);
    if (ShapedType::isDynamic(size) || size % blocks != 0)
      return;
    scales.push_back({scale, dim, 0, size / blocks});
    step = std::max(step, size / blocks);
  }
  for (FactorPlace &scale : scales) {
    if (step % scale.unit != 0)
      return;
    scale.unit = step / scale.unit;
  }
  ShardFactor &inner = factors.add(
      FactorKind::Sum, "k", ShapedType::isDynamic(size) ? size : size / step,
      {{lhs, left, 0, step}, {rhs, op.getRhsDim(MatmulDim::K), 0, step}});
  inner.places.append(scales.begin(), scales.end());
}

void MatmulOp::stateFactors(ShardFactors &factors) {
  Value lhs = getLhs(), rhs = getRhs(), result = getResult();
  int64_t slices = getNumSliceDims(), rank = tensorType(lhs).getRank();
  for (int64_t dim = 0; dim + 2 < rank; ++dim) {
    if (getLhsScale() || getRhsScale())
      break; // whose dims in front are those of one operand, or of none
    bool shared = tensorType(rhs).getRank() < rank;
    factors.add(
        FactorKind::Parallel, "matrices", sizeOf(lhs, dim),
        {{lhs, dim}, {shared ? Value() : rhs, dim}, {result, slices + dim}});
  }
  int64_t m = getLhsDim(MatmulDim::M);
  ShardFactor rows{FactorKind::Parallel,
                   "rows",
                   sizeOf(lhs, m),
                   {{lhs, m}, {result, tensorType(result).getRank() - 2}}};
  if (addScalePlace(rows, getLhsScale(), -2, rows.steps, 1))
    factors.add(rows.kind, rows.what, rows.steps, rows.places);
  stateColumns(*this, Value(), factors);
  stateInner(*this, factors);
}

void GroupedMatmulOp::stateFactors(ShardFactors &factors) {
  if (getAlongK())
    return;
  stateColumns(*this, getBias(), factors);
  // Every rank would add the bias to its partial sum.
  if (!getBias())
    stateInner(*this, factors);
  if (getForm() == GroupForm::lengths)
    return; // of which no part says where it begins
  Value scale = getRhsScale();
  bool ownScales = scale && tensorType(scale).getRank() == 3;
  ShardFactor &groups =
      factors.add(FactorKind::Groups, "groups", getNumGroups(),
                  {{getRhs(), 0},
                   {ownScales ? scale : Value(), 0},
                   {getBias(), 0},
                   {getGroupScale(), 0}});
  groups.numbers = getGroups();
  groups.numbersAreBounds = getForm() == GroupForm::bounds;
  groups.order = getOrder();
  bool sameRows = isBlocks() ? getOrder() && getTopK() == 1 : !getOrder();
  groups.groupedRows = sameRows ? getLhs() : Value();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Whether a region asks which head it computes for.
static bool asksForHead(Region &region, unsigned argument) {
  return !region.empty() && !region.getArgument(argument).use_empty();
}

void AttentionOp::stateFactors(ShardFactors &factors) {
  if (asksForHead(getScore(), 2) || asksForHead(getWeight(), 1))
    return;
  int64_t keyHeads = getNumKeyHeads(), heads = getNumHeads();
  if (ShapedType::isDynamic(keyHeads) || keyHeads < 1)
    return;
  int64_t each = heads / keyHeads;
  int64_t queryDim = tensorType(getQuery()).getRank() - 2;
  int64_t resultDim = tensorType(getResult()).getRank() - 2;
  ShardFactor &factor =
      factors.add(FactorKind::Parallel, "key heads", keyHeads,
                  {{getQuery(), queryDim, 0, each},
                   {getKey(), getKeyDims().head, 0, 1, /*mayCopy=*/true},
                   {getValue(), getValueDims().head, 0, 1, /*mayCopy=*/true},
                   {getSink(), 0, 0, each},
                   {getResult(), resultDim, 0, each},
                   {getLse(), resultDim, 0, each}});
  auto addScales = [&](Value scale, Value of, int64_t headDim, int64_t unit) {
    if (!scale || tensorType(scale).getRank() == 0)
      return;
    int64_t dim = tensorType(scale).getRank() == 2 ? 1 : headDim;
    if (dim < tensorType(scale).getRank() && sizeOf(scale, dim) != 1)
      factor.places.push_back({scale, dim, 0, unit, unit == 1 && of});
  };
  addScales(getQScale(), getQuery(), queryDim, each);
  addScales(getKScale(), getKey(), getKeyDims().head, 1);
  addScales(getVScale(), getValue(), getValueDims().head, 1);
}

void KVCacheWriteOp::stateFactors(ShardFactors &factors) {
  factors.add(FactorKind::Parallel, "heads", sizeOf(getValues(), 1),
              {{getValues(), 1},
               {getCache(), getHeadDim()},
               {getResult(), getHeadDim()}});
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

/// Dims of equal numbers but `except`.
static void stateOtherDims(Value from, Value to, int64_t except,
                           ShardFactors &factors) {
  for (int64_t dim = 0; dim < tensorType(from).getRank(); ++dim)
    if (dim != except)
      factors.add(FactorKind::Parallel, "rows", sizeOf(from, dim),
                  {{from, dim}, {to, dim}});
}

void GatedActivationOp::stateFactors(ShardFactors &factors) {
  int64_t last = tensorType(getInput()).getRank() - 1;
  int64_t size = sizeOf(getResult(), last);
  stateOtherDims(getInput(), getResult(), last, factors);
  if (getInterleaved())
    factors.add(FactorKind::Parallel, "gates", size,
                {{getInput(), last, 0, 2}, {getResult(), last}});
  else if (!ShapedType::isDynamic(size))
    factors.add(
        FactorKind::Parallel, "gates", size,
        {{getInput(), last}, {getInput(), last, size}, {getResult(), last}});
}

void ConcatOp::stateFactors(ShardFactors &factors) {
  int64_t axis = getDim(), offset = 0;
  for (int64_t dim = 0; dim < getType().getRank(); ++dim) {
    if (dim == axis)
      continue;
    SmallVector<FactorPlace> places{{getResult(), dim}};
    for (Value input : getInputs())
      places.push_back({input, dim});
    factors.add(FactorKind::Parallel, "rows", getType().getDimSize(dim),
                places);
  }
  for (Value input : getInputs()) {
    int64_t size = sizeOf(input, axis);
    if (ShapedType::isDynamic(size))
      return;
    factors.add(FactorKind::Parallel, "a part", size,
                {{input, axis}, {getResult(), axis, offset}});
    offset += size;
  }
}

void GatherRowsOp::stateFactors(ShardFactors &factors) {
  int64_t lead = tensorType(getIndices()).getRank();
  ShardFactor &rows = factors.add(FactorKind::Rows, "rows of the table",
                                  sizeOf(getTable(), 0), {{getTable(), 0}});
  rows.numbers = getIndices();
  for (int64_t dim = 1; dim < tensorType(getTable()).getRank(); ++dim)
    factors.add(FactorKind::Parallel, "columns", sizeOf(getTable(), dim),
                {{getTable(), dim}, {getResult(), lead + dim - 1}});
}
