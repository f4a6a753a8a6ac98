//===- ColumnPlaces.cpp - Slices of a product and where they go -----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dims of columns have static sizes, and the columns of one index of a dim lie
// together: that makes the way back from a column to an index a division.
//
// A rotary embedding of neighbours is computed where vectors hold whole pairs.
//
//===----------------------------------------------------------------------===//

#include "ColumnPlaces.h"

#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/LoopMaps.h"

#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace mlir::hk;

ColumnPlaces::ColumnPlaces(ProductOpInterface product, const DimSymbols &dims)
    : product(product), dims(dims) {
  ColumnPlace all;
  RankedTensorType type = tensorType(product.getResult());
  for (int64_t d = 0; d + 1 < type.getRank(); ++d)
    all.dims.push_back({type.getDimSize(d) == 1 ? -1 : d, 0});
  all.dims.push_back({-1, 1});
  places[product.getResult()] = all;
}

const ColumnPlace *ColumnPlaces::find(Value value) const {
  auto it = places.find(value);
  return it == places.end() ? nullptr : &it->second;
}

bool ColumnPlaces::isWhole(Value value) const {
  ProductOpInterface op = product;
  if (const ColumnPlace *own = find(value))
    return *own == *find(op.getResult());
  // A concatenation of slices may have the product's shape.
  return !value.getDefiningOp<ConcatOp>();
}

int64_t ColumnPlaces::divisor() const { return runs; }

Verdict ColumnPlaces::place(Value value, ColumnPlace place) {
  bool whole = place == *find(product.getResult());
  runs = std::gcd(runs, place.begin);
  RankedTensorType type = tensorType(value);
  // A vector lies along the last dim.
  if (place.dims.empty() || place.dims.back().step != 1)
    runs = 1;
  for (auto [d, dim] : llvm::enumerate(place.dims))
    if (dim.step > 1)
      runs = std::gcd(runs, dim.step);
    else if (dim.step == 1 && !whole && !type.isDynamicDim(d))
      runs = std::gcd(runs, type.getDimSize(d));
  places[value] = std::move(place);
  return Verdict::accept();
}

Verdict ColumnPlaces::add(Operation *op) {
  bool placed = llvm::any_of(op->getOperands(), [&](Value operand) {
    return find(operand) != nullptr;
  });
  if (!placed)
    return Verdict::accept();
  Verdict verdict = addPlaced(op);
  if (verdict.accepted() && vectors && runs % 2 != 0)
    return Verdict::refuse(op, Reason::UnsupportedShape,
                           "cuts pairs of columns that a rope beside it turns");
  return verdict;
}

Verdict ColumnPlaces::addPlaced(Operation *op) {
  return llvm::TypeSwitch<Operation *, Verdict>(op)
      .Case([&](tensor::ExtractSliceOp slice) { return addSlice(slice); })
      .Case([&](tensor::ExpandShapeOp view) {
        return addReshape(view, view.getSrc(), view.getResult(), true,
                          view.getReassociationIndices());
      })
      .Case([&](tensor::CollapseShapeOp view) {
        return addReshape(view, view.getSrc(), view.getResult(), false,
                          view.getReassociationIndices());
      })
      .Case([&](tensor::CastOp cast) {
        return place(cast.getResult(), *find(cast.getSource()));
      })
      // What is chosen is of no column.
      .Case([](TopkOp) { return Verdict::accept(); })
      .Case([&](TransposeOp transpose) { return addTranspose(transpose); })
      .Case([&](ConcatOp concat) { return addConcat(concat); })
      .Case([&](RopeOp rope) { return addRope(rope); })
      .Default([&](Operation *other) { return addPointwise(other); });
}

Verdict ColumnPlaces::addSlice(tensor::ExtractSliceOp op) {
  Value source = op.getSource(), result = op.getResult();
  if (op.getDroppedDims().any())
    return Verdict::refuse(op, Reason::UnsupportedShape, "drops a dim");
  ColumnPlace at = *find(source);
  for (int64_t d = 0; d < int64_t(at.dims.size()); ++d) {
    if (dims.equal(result, d, source, d))
      continue;
    int64_t offset = op.getStaticOffsets()[d];
    if (at.dims[d].step == 0 || op.getStaticStrides()[d] != 1 ||
        ShapedType::isDynamic(offset) || tensorType(result).isDynamicDim(d))
      return Verdict::refuse(op, Reason::UnsupportedShape,
                             "takes something else than a run of columns");
    at.begin += offset * at.dims[d].step;
  }
  return place(result, std::move(at));
}

Verdict ColumnPlaces::addReshape(Operation *op, Value source, Value result,
                                 bool expands,
                                 ArrayRef<ReassociationIndices> groups) {
  const ColumnPlace &from = *find(source);
  RankedTensorType longer = tensorType(expands ? result : source);
  ColumnPlace to;
  to.begin = from.begin;
  to.dims.resize(tensorType(result).getRank());
  for (auto [g, group] : llvm::enumerate(groups)) {
    // The dims of the group that are not 1, the innermost first.
    int64_t step = 0;
    std::optional<int64_t> leading;
    for (int64_t d : llvm::reverse(group)) {
      if (longer.getDimSize(d) == 1)
        continue;
      PlaceDim own = from.dims[expands ? int64_t(g) : d];
      bool first = step == 0 && !leading;
      if (own.step == 0 ? !first : leading || longer.isDynamicDim(d))
        return Verdict::refuse(op, Reason::UnsupportedShape,
                               "mixes rows and columns");
      if (own.step == 0) {
        leading = own.leading;
        (expands ? to.dims[d] : to.dims[g]) = own;
        continue;
      }
      if (first)
        step = own.step;
      else if (!expands && own.step != step)
        return Verdict::refuse(op, Reason::UnsupportedShape,
                               "joins columns that do not lie together");
      if (expands)
        to.dims[d] = {-1, step};
      else if (first)
        to.dims[g] = {-1, step};
      step *= longer.getDimSize(d);
    }
  }
  return place(result, std::move(to));
}

Verdict ColumnPlaces::addTranspose(TransposeOp op) {
  const ColumnPlace &from = *find(op.getInput());
  if (op.movesColumns())
    return Verdict::refuse(op, Reason::NotAnEpilogue, "moves the columns");
  ColumnPlace to;
  to.begin = from.begin;
  for (int64_t source : op.getPermutation())
    to.dims.push_back(from.dims[source]);
  return place(op.getResult(), std::move(to));
}

/// The others are stored by whoever has the columns of the same heads, from the
/// first one on.
Verdict ColumnPlaces::addConcat(ConcatOp op) {
  int64_t last = tensorType(op.getResult()).getRank() - 1;
  if (int64_t(op.getDim()) != last)
    return Verdict::refuse(op, Reason::NotAnEpilogue, "joins rows or heads");
  for (Value input : op.getInputs()) {
    int64_t size = tensorType(input).getDimSize(last);
    if (ShapedType::isDynamic(size))
      return Verdict::refuse(op, Reason::SizeUnknown, "joins a dynamic size");
    runs = std::gcd(runs, size);
    if (const ColumnPlace *own = find(input); own && own->dims[last].step != 1)
      return Verdict::refuse(op, Reason::NotAnEpilogue, "joins heads");
  }
  const ColumnPlace &own = *find(placedPiece(op, *this));
  int64_t heads = 1;
  for (auto [d, dim] : llvm::enumerate(own.dims))
    if (dim.step > 1)
      heads *= tensorType(op.getResult()).getDimSize(d);
  int64_t columns = tensorType(product.getResult()).getShape().back();
  int64_t width = headWidth(own, columns);
  if (ShapedType::isDynamic(columns) || heads * width != columns)
    return Verdict::refuse(op, Reason::UnsupportedShape,
                           "joins other tensors to some of the heads");
  return Verdict::accept();
}

Verdict ColumnPlaces::addPointwise(Operation *op) {
  Value result = op->getResult(0);
  if (isView(op) || !isElementwise(op))
    return Verdict::refuse(op, Reason::NotAnEpilogue,
                           "is not computed behind a slice of a product");
  std::optional<ColumnPlace> common;
  for (Value operand : op->getOperands()) {
    const ColumnPlace *own = find(operand);
    if (!own)
      continue;
    if (dims.shape(operand) != dims.shape(result))
      return Verdict::refuse(op, Reason::RowDimsDiffer,
                             "has another shape than its operand");
    if (common && !(*common == *own))
      return Verdict::refuse(op, Reason::NotAnEpilogue,
                             "combines different columns");
    common = *own;
  }
  return place(result, *common);
}

Verdict ColumnPlaces::addRope(RopeOp op) {
  if (op.getStyle() != RopeStyle::gptj)
    return Verdict::refuse(
        op, Reason::NotAnEpilogue,
        "pairs columns that are not neighbours behind a slice of a "
        "product");
  const ColumnPlace *own = find(op.getInput());
  for (Value operand : op->getOperands().drop_front())
    if (find(operand) || !own)
      return Verdict::refuse(op, Reason::NotAnEpilogue,
                             "takes more than its input from the product");
  int64_t columns = tensorType(product.getResult()).getShape().back();
  bool together = own->dims.back().step == 1;
  Verdict placed = place(op.getResult(), *own);
  for (int64_t cut : op.getCuts())
    runs = std::gcd(runs, cut);
  if (!together || ShapedType::isDynamic(columns) || columns % 2 != 0 ||
      runs % 2 != 0)
    return Verdict::refuse(
        op, Reason::UnsupportedShape,
        "has pairs that a vector of the product's columns would cut");
  vectors = true;
  return placed;
}

int64_t mlir::hk::headWidth(const ColumnPlace &place, int64_t columns) {
  int64_t width = columns;
  for (const PlaceDim &dim : place.dims)
    if (dim.step > 1)
      width = std::min(width, dim.step);
  return width;
}

Value mlir::hk::placedPiece(ConcatOp op, const ColumnPlaces &places) {
  for (Value input : op.getInputs())
    if (places.find(input))
      return input;
  return Value();
}
