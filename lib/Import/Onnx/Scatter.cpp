//===- Scatter.cpp - ScatterND of ONNX ------------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// To write rows at indices is to gather: behind the rows of the data stand
// those of the updates, and each place takes the last row that is written to
// it, or its own. Which that is, is known at import where the indices are;
// otherwise each call sorts them by their place.
//
//===----------------------------------------------------------------------===//

#include "Scatter.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

static FailureOr<Scattered> scatteredOf(Node &node) {
  HK_TRY(operands, node.pair(0, 2));
  auto [data, updates] = operands;
  const Shape &indices = node.input(1).shape;
  std::optional<int64_t> depth =
      indices.empty() ? std::nullopt : indices.back().getConstant();
  if (!depth || *depth < 1 || *depth > data.rank())
    return node.error() << "expected indices of 1 to " << data.rank()
                        << " dims in the last dim, but got "
                        << node.describe(indices);
  Shape shape(ArrayRef<Size>(indices).drop_back());
  Scattered made{data, updates, *depth, 1, Size(1)};
  for (const Size &size : shape)
    made.count = made.count * size;
  shape.append(data.shape.begin() + *depth, data.shape.end());
  if (updates.shape != shape)
    return node.error() << "expected updates " << node.describe(shape)
                        << ", but got " << node.describe(updates.shape);
  constexpr int64_t kMostPlaces = int64_t(1) << 24;
  for (const Size &size : ArrayRef<Size>(data.shape).take_front(*depth)) {
    std::optional<int64_t> known = size.getConstant();
    if (!known || *known < 1 || *known > kMostPlaces / made.places)
      return node.error() << "expected dims that are indexed to have known "
                             "sizes and at most "
                          << kMostPlaces << " places in all, but got "
                          << node.describe(data.shape)
                          << "; fix a size with --dim";
    made.places *= *known;
  }
  Shape rows{Size(made.places)}, written{made.count};
  rows.append(data.shape.begin() + *depth, data.shape.end());
  written.append(data.shape.begin() + *depth, data.shape.end());
  HK_TRY(table, node.reshape(data, rows));
  HK_TRY(flat, node.reshape(updates, written));
  made.data = table;
  made.updates = flat;
  return made;
}

FailureOr<SmallVector<int64_t>>
mlir::hk::importer::knownPlaces(Node &node, const Data &data, int64_t depth) {
  const Shape &shape = node.input(0).shape;
  SmallVector<int64_t> places;
  for (int64_t i = 0, e = data.getNumElements(); i < e; i += depth) {
    int64_t place = 0;
    for (int64_t d = 0; d < depth; ++d) {
      int64_t size = *shape[d].getConstant();
      HK_TRY(at, node.axis(data.integer(i + d), size));
      place = place * size + at;
    }
    places.push_back(place);
  }
  return places;
}

/// The place of each update, i32 [count]; -1 for one outside of the data.
static FailureOr<Tensor> computedPlaces(Node &node, const Scattered &s) {
  HK_TRY(given, node.tensor(1));
  HK_TRY(rows, node.reshape(given, {s.count, Size(s.indexed)}));
  HK_TRY(indices, node.cast(rows, kInt32));
  HK_TRY(zero, node.scalar(0, kInt32));
  HK_TRY(nowhere, node.scalar(-1, kInt32));
  std::optional<Tensor> place;
  for (int64_t d = 0; d < s.indexed; ++d) {
    HK_TRY(size,
           node.scalar(double(*node.input(0).shape[d].getConstant()), kInt32));
    HK_TRY(column, node.slice(indices, 1, d, 1));
    HK_TRY(at, node.reshape(column, {s.count}));
    HK_TRY(behind, node.binary<AddOp>(at, size));
    HK_TRY(isBelow, node.compare(ComparePredicate::lt, at, zero));
    HK_TRY(index, node.select(isBelow, behind, at));
    Tensor next = index;
    if (place) {
      HK_TRY(before, node.binary<MulOp>(*place, size));
      HK_TRY(sum, node.binary<AddOp>(before, index));
      next = sum;
    }
    // Once outside, always outside.
    HK_TRY(isLow, node.compare(ComparePredicate::lt, index, zero));
    HK_TRY(isHigh, node.compare(ComparePredicate::ge, index, size));
    HK_TRY(low, node.select(isLow, nowhere, next));
    HK_TRY(inside, node.select(isHigh, nowhere, low));
    if (place) {
      HK_TRY(wasOut, node.compare(ComparePredicate::lt, *place, zero));
      HK_TRY(both, node.select(wasOut, nowhere, inside));
      inside = both;
    }
    place = inside;
  }
  return *place;
}

FailureOr<ByPlace> mlir::hk::importer::orderByCall(Node &node,
                                                   const Scattered &s) {
  HK_TRY(places, computedPlaces(node, s));
  HK_TRY(itemType, node.type(kInt32, {s.count}));
  HK_TRY(countType, node.type(kInt32, {Size(s.places)}));
  Tensor counts{HistogramOp::create(node.b, node.loc, countType, places.value),
                kInt32,
                {Size(s.places)}};
  auto sorted = SortByKeyOp::create(node.b, node.loc, itemType, itemType,
                                    places.value, uint64_t(s.places));
  Tensor order{sorted.getOrder(), kInt32, {s.count}};
  HK_TRY(bounds, node.offsets(counts, 0, kInt32));
  return ByPlace{counts, order, bounds};
}

/// The row, of data and updates behind each other, that each place takes:
/// [places].
static FailureOr<Tensor> rowsByCall(Node &node, const Scattered &s) {
  HK_TRY(found, orderByCall(node, s));
  const auto &[counts, order, bounds] = found;
  // The last of a place is in front of where the next one begins.
  HK_TRY(ends, node.slice(bounds, 0, 1, s.places));
  HK_TRY(one, node.scalar(1, kInt32));
  HK_TRY(zero, node.scalar(0, kInt32));
  HK_TRY(before, node.binary<SubOp>(ends, one));
  HK_TRY(last, node.binary<MaxOp>(before, zero));
  HK_TRY(update, gatherAlong(node, order, 0, last));
  HK_TRY(own, node.places(s.data, 0, kInt32));
  HK_TRY(first, node.scalar(double(s.places), kInt32));
  HK_TRY(row, node.binary<AddOp>(update, first));
  HK_TRY(isWritten, node.compare(ComparePredicate::gt, counts, zero));
  return node.select(isWritten, row, own);
}

static LogicalResult scatterND(Node &node) {
  HK_TRY(join, joinOf(node));
  HK_TRY(s, scatteredOf(node));
  const Item &given = node.input(1);
  if (given.dtype != kInt64)
    return node.error() << "expected indices of int64, but got "
                        << dtypeName(given.dtype);
  if (join) {
    HK_TRY(all, joined(node, s, *join));
    HK_TRY(made, node.reshape(all, node.input(0).shape));
    return node.result(0, made);
  }
  std::optional<Tensor> rows;
  if (given.data && s.places <= node.graph.options.maxEvaluated) {
    HK_TRY(places, knownPlaces(node, *given.data, s.indexed));
    SmallVector<int64_t> numbers =
        llvm::to_vector(llvm::seq<int64_t>(0, s.places));
    for (auto [i, place] : llvm::enumerate(places))
      numbers[place] = s.places + int64_t(i);
    HK_TRY(constant, node.constant(node.graph.store.makeIntegers(
                                       kInt32, s.places, numbers),
                                   node.outputName(0).str() + ".rows"));
    rows = constant;
  } else {
    HK_TRY(made, rowsByCall(node, s));
    rows = made;
  }
  HK_TRY(both, node.concat(0, {s.data, s.updates}));
  HK_TRY(taken, gatherAlong(node, both, 0, *rows));
  HK_TRY(made, node.reshape(taken, node.input(0).shape));
  return node.result(0, made);
}

ArrayRef<Operator> mlir::hk::importer::scatterOperators() {
  static const Operator table[] = {
      {"", "ScatterND", 11, 3, 3, scatterND,
       "known sizes of dims that are indexed; of a reduction at most 64 "
       "updates "
       "of a place"},
      {"", "ScatterElements", 11, 3, 3, scatterElements,
       "at most 64 updates along the axis, the data's sizes in the other "
       "dims"},
  };
  return table;
}
