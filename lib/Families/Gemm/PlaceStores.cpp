//===- PlaceStores.cpp - Stores of slices of a product --------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every run of columns of a place, its begin and its steps are multiples of the
// vector, so that a vector is in a result as a whole or not at all.
//
//===----------------------------------------------------------------------===//

#include "PlaceStores.h"

using namespace mlir;
using namespace mlir::hk;

void PlaceStores::store(unsigned operand, Value value) {
  auto concat = value.getDefiningOp<ConcatOp>();
  if (!concat || places.find(value))
    return storePlaced(operand, value, 0);
  int64_t offset = 0;
  const ColumnPlace &heads = *places.find(placedPiece(concat, places));
  for (Value piece : concat.getInputs()) {
    if (places.find(piece))
      storePlaced(operand, piece, offset);
    else
      storeBeside(operand, piece, heads, value, offset);
    offset += tensorType(piece).getShape().back();
  }
}

Position PlaceStores::positionIn(Value value, const ColumnPlace &place,
                                 AffineExpr first, std::string &guard) {
  Position at(place.dims.size(), puller.constant(0));
  SmallVector<size_t> walks;
  for (auto [d, dim] : llvm::enumerate(place.dims)) {
    if (dim.leading >= 0)
      at[d] = row[dim.leading];
    if (dim.step > 0)
      walks.push_back(d);
  }
  // The longest steps first: what they leave are the columns of the next.
  llvm::sort(walks, [&](size_t a, size_t b) {
    return place.dims[a].step > place.dims[b].step;
  });
  AffineExpr rest = first;
  for (size_t d : walks) {
    AffineExpr step = puller.constant(place.dims[d].step);
    at[d] = puller.simplify(rest.floorDiv(step));
    rest = puller.simplify(rest % step);
    // Dynamic are all columns there are.
    if (tensorType(value).isDynamicDim(d))
      continue;
    guard += (guard.empty() ? "" : " && ") + puller.text(at[d]) + " < " +
             std::to_string(tensorType(value).getDimSize(d));
  }
  // A run of one column, whose dim of size 1 no longer says so.
  if (walks.empty() || place.dims[walks.back()].step > 1)
    guard += (guard.empty() ? "" : " && ") + puller.text(rest) + " < 1";
  return at;
}

void PlaceStores::storeAt(unsigned operand, Value value, const Position &at,
                          int64_t offset, StringRef guard) {
  puller.code().openIf(guard);
  Position target(at);
  target.back() = puller.simplify(target.back() + offset);
  puller.store(operand, target, vec, puller.pull(value, at, vec));
  puller.code().close();
}

void PlaceStores::storePlaced(unsigned operand, Value value, int64_t offset) {
  const ColumnPlace &place = *places.find(value);
  std::string guard;
  if (place.begin != 0)
    guard = puller.text(column) + " >= " + std::to_string(place.begin);
  Position at =
      positionIn(value, place, puller.simplify(column - place.begin), guard);
  storeAt(operand, value, at, offset, guard);
}

/// The columns of a head store as many elements beside their slice of it.
void PlaceStores::storeBeside(unsigned operand, Value piece,
                              const ColumnPlace &heads, Value result,
                              int64_t offset) {
  std::string inHeads;
  Position at = positionIn(result, heads, column, inHeads);
  int64_t width = headWidth(heads, columns);
  int64_t size = tensorType(piece).getShape().back();
  AffineExpr first = puller.simplify(column % width);
  for (int64_t begin = 0; begin < size; begin += width) {
    at.back() = puller.simplify(first + begin);
    storeAt(operand, piece, at, offset,
            puller.text(at.back()) + " < " + std::to_string(size));
  }
}
