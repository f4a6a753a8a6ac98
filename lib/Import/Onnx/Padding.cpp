//===- Padding.cpp - Pad and triangles of ONNX ---------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is added around a tensor is a repeated number, or slices of the tensor
// itself. A triangle is a choice by row and column, as are ones on a diagonal.
//
//===----------------------------------------------------------------------===//

#include "Windows.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

/// Elements added in front of and behind those of a dim.
struct Edges {
  int64_t before = 0, after = 0;
};

/// The pads of all dims; those of dims that 'axes' does not name are 0.
static FailureOr<SmallVector<Edges>> edgesOf(Node &node, int64_t rank) {
  HK_TRY(pads, node.integers(1, "pads"));
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (node.has(3)) {
    HK_TRY(given, node.integers(3, "axes"));
    axes.clear();
    for (int64_t each : given) {
      HK_TRY(axis, node.axis(each, rank));
      if (llvm::is_contained(axes, axis))
        return node.error()
               << "expected each axis once, but got " << axis << " twice";
      axes.push_back(axis);
    }
  }
  if (pads.size() != 2 * axes.size())
    return node.error() << "expected " << 2 * axes.size() << " pads, but got "
                        << pads.size();
  constexpr int64_t kMostPadded = int64_t(1) << 24;
  SmallVector<Edges> edges(rank);
  for (auto [i, axis] : llvm::enumerate(axes)) {
    edges[axis] = {pads[i], pads[axes.size() + i]};
    for (int64_t pad : {edges[axis].before, edges[axis].after})
      if (pad < -kMostPadded || pad > kMostPadded)
        return node.error() << "expected pads of at most " << kMostPadded
                            << " elements, but got " << pad;
  }
  return edges;
}

/// One dim without what pads below 0 cut off, which become 0.
static FailureOr<Tensor> cut(Node &node, const Tensor &x, int64_t dim,
                             Edges &edges) {
  int64_t front = std::max<int64_t>(-edges.before, 0),
          behind = std::max<int64_t>(-edges.after, 0);
  edges = {std::max<int64_t>(edges.before, 0),
           std::max<int64_t>(edges.after, 0)};
  if (x.shape[dim].getConstant().value_or(front + behind) < front + behind)
    return node.error() << "expected at least " << front + behind
                        << " elements to cut off, but got "
                        << node.graph.symbols.describe(x.shape[dim]);
  return node.slice(x, dim, front, x.shape[dim] - (front + behind));
}

/// 0, 1, ... as long as dim `dim` of x, followed by `back` dims of size 1.
static FailureOr<Tensor> placesOf(Node &node, const Tensor &x, int64_t dim,
                                  int64_t back) {
  HK_TRY(numbers, node.places(x, dim, kInt64));
  Shape shape(1 + back, Size(1));
  shape[0] = x.shape[dim];
  return node.reshape(numbers, shape);
}

/// As many copies of the number `value` as x has elements but that its dim
/// `dim` has `count`.
static FailureOr<Tensor> filledLike(Node &node, const Tensor &x, int64_t dim,
                                    int64_t count, const Tensor &value) {
  Shape shape(x.rank(), Size(1));
  shape[dim] = count;
  HK_TRY(made, node.expand(value, shape));
  HK_TRY(number, node.asNumber(made));
  HK_TRY(zero, node.scalar(0, kInt64));
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (d == dim || x.shape[d].isConstant(1))
      continue;
    HK_TRY(places, placesOf(node, x, d, x.rank() - 1 - d));
    HK_TRY(always, node.compare(ComparePredicate::ge, places, zero));
    HK_TRY(wider, node.select(always, number, number));
    number = wider;
  }
  return node.cast(number, x.dtype);
}

FailureOr<Tensor> mlir::hk::importer::padded(Node &node, const Tensor &x,
                                             int64_t dim, int64_t before,
                                             int64_t after,
                                             const Tensor &value) {
  SmallVector<Tensor> parts;
  if (before) {
    HK_TRY(front, filledLike(node, x, dim, before, value));
    parts.push_back(front);
  }
  parts.push_back(x);
  if (after) {
    HK_TRY(behind, filledLike(node, x, dim, after, value));
    parts.push_back(behind);
  }
  return node.concat(dim, parts);
}

/// The `count` elements in front of or behind those of a dim that mode 'edge',
/// 'reflect' or 'wrap' adds, each of which is one of x.
static FailureOr<SmallVector<Tensor>> repeated(Node &node, const Tensor &x,
                                               int64_t dim, int64_t count,
                                               bool inFront, StringRef mode) {
  constexpr int64_t kMostRepeated = 256;
  const Size &size = x.shape[dim];
  if (count > kMostRepeated ||
      (count > 0 &&
       size.getConstant().value_or(count + 1) < count + (mode == "reflect")))
    return node.error() << "expected pads of mode '" << mode << "' of at most "
                        << kMostRepeated
                        << " elements, and fewer than the dim has, but got "
                        << count;
  SmallVector<Tensor> parts;
  if (mode == "wrap" && count > 0) {
    HK_TRY(part, node.slice(x, dim, inFront ? size - count : Size(0), count));
    return SmallVector<Tensor>{part};
  }
  for (int64_t i = 0; i < count; ++i) {
    // Elements in front go down to the first, those behind go away from the
    // last one.
    int64_t away = inFront ? count - i : i + 1;
    if (mode == "edge")
      away = 0;
    HK_TRY(part, node.slice(x, dim, inFront ? Size(away) : size - 1 - away, 1));
    parts.push_back(part);
  }
  return parts;
}

static FailureOr<Tensor> padDim(Node &node, const Tensor &x, int64_t dim,
                                Edges edges, StringRef mode,
                                const std::optional<Tensor> &value,
                                std::optional<double> number) {
  HK_TRY(made, cut(node, x, dim, edges));
  if (mode == "constant") {
    auto isKnown = [](const Size &size) { return size.getConstant(); };
    if (number &&
        llvm::all_of(ArrayRef<Size>(made.shape).drop_front(dim), isKnown))
      return padded(node, made, dim, edges.before, edges.after, *number);
    return padded(node, made, dim, edges.before, edges.after, *value);
  }
  HK_TRY(front, repeated(node, made, dim, edges.before, true, mode));
  HK_TRY(behind, repeated(node, made, dim, edges.after, false, mode));
  SmallVector<Tensor> parts = front;
  parts.push_back(made);
  parts.append(behind);
  return node.concat(dim, parts);
}

static LogicalResult pad(Node &node) {
  StringRef mode = node.text("mode", "constant");
  if (!llvm::is_contained({"constant", "edge", "reflect", "wrap"}, mode))
    return node.error() << "expected attribute 'mode' to be 'constant', "
                           "'edge', 'reflect' or 'wrap', but got '"
                        << mode << "'";
  HK_TRY(x, node.tensor(0));
  HK_TRY(edges, edgesOf(node, x.rank()));
  std::optional<Tensor> value;
  std::optional<double> known;
  if (mode == "constant") {
    FailureOr<Tensor> given =
        node.has(2) ? node.tensor(2) : node.scalar(0, x.dtype);
    if (failed(given))
      return failure();
    HK_TRY(number, node.reshape(*given, {}));
    if (number.dtype != x.dtype)
      return node.error() << "expected a value of " << dtypeName(x.dtype)
                          << ", but got " << dtypeName(number.dtype);
    value = number;
    // hk.pad takes a number of a real type.
    if (dtypeInfo(x.dtype)->isFloat && !node.has(2))
      known = 0;
    else if (dtypeInfo(x.dtype)->isFloat && node.input(2).data)
      known = node.input(2).data->number(0);
  }
  Tensor made = x;
  for (auto [dim, edge] : llvm::enumerate(edges)) {
    if (!edge.before && !edge.after)
      continue;
    HK_TRY(next, padDim(node, made, dim, edge, mode, value, known));
    made = next;
  }
  return node.result(0, made);
}

/// Elements on one side of a diagonal; the others are 0.
static LogicalResult trilu(Node &node) {
  HK_TRY(x, node.tensor(0));
  if (x.rank() < 2)
    return node.error() << "expected at least two dims, but got " << x.rank();
  int64_t diagonal = 0;
  if (node.has(1)) {
    HK_TRY(given, node.integers(1, "k"));
    if (given.size() != 1)
      return node.error() << "expected one diagonal, but got " << given.size();
    diagonal = given.front();
  }
  bool upper = node.integer("upper", 1) != 0;
  HK_TRY(column, placesOf(node, x, x.rank() - 1, 0));
  HK_TRY(row, placesOf(node, x, x.rank() - 2, 1));
  HK_TRY(shift, node.scalar(double(diagonal), kInt64));
  HK_TRY(begin, node.binary<AddOp>(row, shift));
  HK_TRY(stays,
         node.compare(upper ? ComparePredicate::ge : ComparePredicate::le,
                      column, begin));
  if (x.dtype == kBool) {
    HK_TRY(number, node.asNumber(x));
    HK_TRY(zero, node.scalar(0, number.dtype));
    HK_TRY(chosen, node.select(stays, number, zero));
    HK_TRY(made, node.cast(chosen, kBool));
    return node.result(0, made);
  }
  HK_TRY(zero, node.scalar(0, x.dtype));
  HK_TRY(made, node.select(stays, x, zero));
  return node.result(0, made);
}

/// Ones on a diagonal of a matrix of input 0's sizes, zeros beside it.
static LogicalResult eyeLike(Node &node) {
  const Item &like = node.input(0);
  int64_t diagonal = node.integer("k", 0), wanted = node.integer("dtype", 0);
  int dtype = wanted == 0 ? like.dtype : int(wanted);
  if (like.shape.size() != 2)
    return node.error() << "expected a matrix, but got "
                        << node.describe(like.shape);
  HK_TRY(x, node.tensor(0));
  HK_TRY(column, placesOf(node, x, 1, 0));
  HK_TRY(row, placesOf(node, x, 0, 1));
  HK_TRY(shift, node.scalar(double(diagonal), kInt64));
  HK_TRY(place, node.binary<AddOp>(row, shift));
  HK_TRY(isOne, node.compare(ComparePredicate::eq, column, place));
  HK_TRY(made, node.cast(isOne, dtype));
  return node.result(0, made);
}

ArrayRef<Operator> mlir::hk::importer::paddingOperators() {
  static const Operator table[] = {
      {"", "Pad", 11, 2, 4, pad, "pads known at import"},
      {"", "EyeLike", 9, 1, 1, eyeLike, ""},
      {"", "Trilu", 14, 1, 2, trilu, "a diagonal known at import"},
  };
  return table;
}
