//===- Views.cpp - Operators of ONNX that move elements -------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reshapes, slices, transposes, concatenation, and the shapes they are given.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

static Size product(ArrayRef<Size> sizes) {
  Size all(1);
  for (const Size &size : sizes)
    all = all * size;
  return all;
}

/// A result of integers, one-dimensional or, with `scalar`, of rank 0.
static LogicalResult integersResult(Node &node, SmallVector<Size> integers,
                                    int dtype = kInt64, bool scalar = false) {
  Item made;
  made.dtype = dtype;
  if (!scalar)
    made.shape = {Size(int64_t(integers.size()))};
  made.integers = std::move(integers);
  return node.result(0, std::move(made));
}

/// The item in another shape, whatever its form.
static LogicalResult reshaped(Node &node, ArrayRef<Size> shape) {
  const Item &item = node.input(0);
  if (item.tensor) {
    HK_TRY(x, node.tensor(0));
    HK_TRY(made, node.reshape(x, shape));
    return node.result(0, made);
  }
  Item made = item;
  made.shape.assign(shape.begin(), shape.end());
  if (product(item.shape) != product(shape))
    return node.error() << "expected as many elements as "
                        << node.describe(item.shape) << " has, but got "
                        << node.describe(shape);
  if (made.data) {
    made.data->sizes.clear();
    for (const Size &size : shape) {
      std::optional<int64_t> known = size.getConstant();
      if (!known || *known < 0)
        return node.error() << "expected a constant in a known shape, but got "
                            << node.describe(shape);
      made.data->sizes.push_back(*known);
    }
  }
  return node.result(0, std::move(made));
}

static LogicalResult shapeOf(Node &node) {
  const Shape &shape = node.input(0).shape;
  int64_t rank = shape.size();
  auto bound = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  int64_t begin = bound(node.integer("start", 0)),
          end = bound(node.integer("end", rank));
  SmallVector<Size> sizes(
      ArrayRef<Size>(shape).slice(begin, std::max<int64_t>(end - begin, 0)));
  return integersResult(node, std::move(sizes));
}

static LogicalResult sizeOf(Node &node) {
  return integersResult(node, {product(node.input(0).shape)}, kInt64, true);
}

static LogicalResult reshape(Node &node) {
  HK_TRY(wanted, node.sizes(1, "the shape"));
  const Shape &from = node.input(0).shape;
  bool allowZero = node.integer("allowzero", 0) != 0;
  Shape shape;
  std::optional<size_t> inferred;
  for (auto [i, size] : llvm::enumerate(wanted)) {
    Size made = size;
    if (size.isConstant(0) && !allowZero) {
      if (i >= from.size())
        return node.error() << "expected a dim " << i << " to copy the size "
                            << "of, but the input has " << from.size();
      made = from[i];
    } else if (size.isConstant(-1)) {
      if (inferred)
        return node.error() << "expected one -1 in the shape, but got two";
      inferred = i;
      made = 1;
    }
    shape.push_back(made);
  }
  if (inferred) {
    Size known = product(shape);
    if (known.isConstant(0))
      return node.error() << "expected sizes other than 0 beside a -1";
    shape[*inferred] =
        node.graph.symbols.floorDiv(node.b, node.loc, product(from), known);
  }
  return reshaped(node, shape);
}

static LogicalResult flatten(Node &node) {
  ArrayRef<Size> from = node.input(0).shape;
  int64_t rank = from.size(), at = node.integer("axis", 1);
  if (at < -rank || at > rank)
    return node.error() << "expected an axis from " << -rank << " to " << rank
                        << ", but got " << at;
  at = at < 0 ? at + rank : at;
  return reshaped(node,
                  {product(from.take_front(at)), product(from.drop_front(at))});
}

/// The axes of input 1, counted from 0 in `rank` dims, without repetition.
static FailureOr<SmallVector<bool>> axesOf(Node &node, int64_t rank) {
  HK_TRY(axes, node.integers(1, "axes"));
  SmallVector<bool> chosen(rank);
  for (int64_t given : axes) {
    HK_TRY(axis, node.axis(given, rank));
    if (chosen[axis])
      return node.error() << "expected axes that differ, but got " << given
                          << " twice";
    chosen[axis] = true;
  }
  return chosen;
}

static LogicalResult squeeze(Node &node) {
  ArrayRef<Size> from = node.input(0).shape;
  SmallVector<bool> chosen(from.size());
  if (node.has(1)) {
    HK_TRY(given, axesOf(node, from.size()));
    chosen = given;
  } else {
    for (auto [d, size] : llvm::enumerate(from)) {
      if (!size.getConstant())
        return node.error()
               << "expected axes, since dim " << d << ", "
               << node.graph.symbols.describe(size) << ", may be 1 or not";
      chosen[d] = size.isConstant(1);
    }
  }
  Shape shape;
  for (auto [d, size] : llvm::enumerate(from)) {
    if (!chosen[d])
      shape.push_back(size);
    else if (!size.isConstant(1))
      return node.error() << "expected dim " << d << " to be 1, but got "
                          << node.graph.symbols.describe(size);
  }
  return reshaped(node, shape);
}

static LogicalResult unsqueeze(Node &node) {
  ArrayRef<Size> from = node.input(0).shape;
  HK_TRY(count, node.integers(1, "axes"));
  HK_TRY(chosen, axesOf(node, from.size() + count.size()));
  Shape shape;
  for (bool isNew : chosen) {
    shape.push_back(isNew ? Size(1) : from.front());
    from = isNew ? from : from.drop_front();
  }
  return reshaped(node, shape);
}

static LogicalResult transpose(Node &node) {
  int64_t rank = node.input(0).shape.size();
  SmallVector<int64_t> permutation;
  if (auto given = node.integerList("perm"))
    permutation = *given;
  else
    for (int64_t d = rank - 1; d >= 0; --d)
      permutation.push_back(d);
  SmallVector<int64_t> sorted = permutation;
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, rank)))
    return node.error() << "expected attribute 'perm' to be a permutation of "
                        << rank << " dims, but got [" << permutation << "]";
  if (auto done = transposedIntegers(node, permutation))
    return *done;
  HK_TRY(x, node.tensor(0));
  HK_TRY(made, node.transpose(x, permutation));
  return node.result(0, made);
}

static LogicalResult concat(Node &node) {
  int64_t rank = node.input(0).shape.size();
  HK_TRY(axis, node.axis(node.integer("axis", 0), rank));
  // Of integers that shapes decide: they stay such.
  SmallVector<Size> integers;
  bool known = rank == 1, computed = false;
  for (size_t i = 0; known && i < node.numInputs(); ++i) {
    auto part = node.graph.integersOf(node.input(i));
    known = part.has_value();
    computed |= node.input(i).integers.has_value();
    if (part)
      integers.append(*part);
  }
  if (known && (computed || node.input(0).dtype == kInt64))
    return integersResult(node, std::move(integers), node.input(0).dtype);
  SmallVector<Tensor> parts;
  for (size_t i = 0; i < node.numInputs(); ++i) {
    HK_TRY(part, node.tensor(i));
    parts.push_back(part);
  }
  HK_TRY(made, node.concat(axis, parts));
  return node.result(0, made);
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// [begin, begin + size) every `step` elements, of a dim; ONNX's clamping.
static LogicalResult resolve(Node &node, const Size &dim, Size &begin,
                             Size &end, int64_t step, Size &size) {
  auto bound = [&](Size at) -> std::optional<Size> {
    std::optional<int64_t> known = at.getConstant();
    if (known && *known < 0)
      at = *known < -(int64_t(1) << 40) ? Size(0) : at + dim;
    if (known && *known > int64_t(1) << 40)
      at = dim;
    if (std::optional<int64_t> over = (at - dim).getConstant())
      return *over > 0 ? dim
                       : (at.getConstant().value_or(0) < 0 ? Size(0) : at);
    // Sizes of unlike names are taken to fit, which each call checks.
    return at.getConstant().value_or(0) < 0 ? Size(0) : at;
  };
  begin = *bound(begin);
  end = *bound(end);
  Size length = end - begin;
  if (length.getConstant().value_or(0) < 0)
    length = 0;
  if (!length.isValid())
    return node.error() << "expected bounds of a slice, but they are out of "
                           "range";
  size = step == 1 ? length
                   : node.graph.symbols.floorDiv(node.b, node.loc,
                                                 length + (step - 1), step);
  return success();
}

/// A slice with a step below zero: its elements are gathered, since hk has no
/// views backwards.
static FailureOr<Tensor> backwards(Node &node, const Tensor &x, int64_t axis,
                                   const Size &begin, const Size &end,
                                   int64_t step) {
  auto dim = stridedDim(axis, x.shape[axis], begin, end, step);
  if (!dim || dim->size > node.graph.options.maxEvaluated)
    return node.error() << "expected a dim of at most "
                        << node.graph.options.maxEvaluated
                        << " elements and known bounds for a step below 0, but "
                           "got "
                        << node.graph.symbols.describe(x.shape[axis])
                        << " elements";
  SmallVector<double> places;
  for (int64_t i = 0; i < dim->size; ++i)
    places.push_back(double(dim->begin + i * step));
  HK_TRY(indices,
         node.constant(node.graph.store.make(kInt64, dim->size, places), ""));
  return gatherAlong(node, x, axis, indices);
}

namespace {
/// What a Slice cuts out of its input: of each of some axes, which are not
/// negative, every steps[i]-th element from begins[i] up to ends[i].
struct Cuts {
  SmallVector<Size> begins, ends;
  SmallVector<int64_t> axes, steps;
};
} // namespace

static FailureOr<Cuts> cutsOf(Node &node) {
  int64_t rank = node.input(0).shape.size();
  HK_TRY(begins, node.sizes(1, "starts"));
  HK_TRY(ends, node.sizes(2, "ends"));
  Cuts cuts{SmallVector<Size>(begins), SmallVector<Size>(ends),
            llvm::to_vector(
                llvm::seq<int64_t>(0, std::min<int64_t>(rank, begins.size()))),
            SmallVector<int64_t>(begins.size(), 1)};
  if (node.has(3)) {
    HK_TRY(given, node.integers(3, "axes"));
    cuts.axes = given;
  }
  if (node.has(4)) {
    HK_TRY(given, node.integers(4, "steps"));
    cuts.steps = given;
  }
  if (ends.size() != begins.size() || cuts.axes.size() != begins.size() ||
      cuts.steps.size() != begins.size())
    return node.error() << "expected as many ends, axes and steps as starts, "
                        << begins.size() << ", but got " << ends.size() << ", "
                        << cuts.axes.size() << " and " << cuts.steps.size();
  for (int64_t &given : cuts.axes) {
    HK_TRY(axis, node.axis(given, rank));
    given = axis;
  }
  return cuts;
}

static LogicalResult slice(Node &node) {
  HK_TRY(cuts, cutsOf(node));
  auto &[begins, ends, axes, steps] = cuts;
  const Item &item = node.input(0);
  SmallVector<StridedDim> known;
  for (auto [i, axis] : llvm::enumerate(axes))
    if (auto dim =
            stridedDim(axis, item.shape[axis], begins[i], ends[i], steps[i]))
      known.push_back(*dim);
  if (known.size() == axes.size())
    if (auto done = slicedIntegers(node, known))
      return *done;
  auto integers = node.graph.integersOf(item);
  bool ofSizes =
      integers && !item.tensor && item.shape.size() == 1 && item.integers;
  Tensor made;
  if (!ofSizes) {
    HK_TRY(x, node.tensor(0));
    made = x;
  }
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (!ofSizes && steps[i] < 0) {
      HK_TRY(turned, backwards(node, made, axis, begins[i], ends[i], steps[i]));
      made = turned;
      continue;
    }
    if (steps[i] < 1)
      return node.error() << "expected steps of at least 1, but got "
                          << steps[i];
    Size size,
        dim = ofSizes ? Size(int64_t(integers->size())) : made.shape[axis];
    if (failed(resolve(node, dim, begins[i], ends[i], steps[i], size)))
      return failure();
    if (!ofSizes) {
      HK_TRY(cut, node.slice(made, axis, begins[i], size, steps[i]));
      made = cut;
      continue;
    }
    std::optional<int64_t> from = begins[i].getConstant(),
                           count = size.getConstant();
    if (!from || !count)
      return node.error() << "expected known bounds of a slice of a shape";
    SmallVector<Size> kept;
    for (int64_t k = 0; k < *count; ++k)
      kept.push_back((*integers)[*from + k * steps[i]]);
    integers = kept;
  }
  return ofSizes ? integersResult(node, *integers, item.dtype)
                 : node.result(0, made);
}

static LogicalResult split(Node &node) {
  HK_TRY(x, node.tensor(0));
  HK_TRY(axis, node.axis(node.integer("axis", 0), x.rank()));
  int64_t outputs = node.integer("num_outputs", node.numOutputs());
  SmallVector<Size> sizes;
  if (node.has(1)) {
    HK_TRY(given, node.sizes(1, "split"));
    sizes = given;
  } else {
    if (outputs < 1 || outputs != int64_t(node.numOutputs()))
      return node.error() << "expected attribute 'num_outputs' to be the "
                             "number of outputs, "
                          << node.numOutputs() << ", but got " << outputs;
    // Parts of equal size; the last is smaller where it does not come out even.
    Size part = node.graph.symbols.floorDiv(
        node.b, node.loc, x.shape[axis] + (outputs - 1), outputs);
    if (std::optional<Size> even = x.shape[axis].exactDiv(outputs))
      part = *even;
    sizes.assign(outputs, part);
    sizes.back() = x.shape[axis] - part * (outputs - 1);
  }
  if (sizes.size() != node.numOutputs())
    return node.error() << "expected as many sizes as outputs, "
                        << node.numOutputs() << ", but got " << sizes.size();
  Size offset(0);
  for (auto [i, size] : llvm::enumerate(sizes)) {
    if (size.getConstant().value_or(0) < 0)
      return node.error() << "expected sizes that are not negative, but got "
                          << node.graph.symbols.describe(size);
    if (node.wants(i)) {
      HK_TRY(made, node.slice(x, axis, offset, size));
      if (failed(node.result(i, made)))
        return failure();
    }
    offset = offset + size;
  }
  Size rest = x.shape[axis] - offset;
  if (rest.getConstant().value_or(0) != 0)
    return node.error() << "expected sizes that add up to "
                        << node.graph.symbols.describe(x.shape[axis])
                        << ", but got " << node.graph.symbols.describe(offset);
  return success();
}

//===----------------------------------------------------------------------===//
// Repetition
//===----------------------------------------------------------------------===//

static LogicalResult expand(Node &node) {
  HK_TRY(wanted, node.sizes(1, "the shape"));
  HK_TRY(x, node.tensor(0));
  HK_TRY(shape, node.broadcast(x.shape, wanted));
  HK_TRY(made, node.expand(x, shape));
  return node.result(0, made);
}

/// A dim as often as a call says: copies are a dim in front of it.
static FailureOr<Tensor> repeated(Node &node, const Tensor &x, int64_t dim,
                                  const Size &count) {
  Shape apart = x.shape;
  apart.insert(apart.begin() + dim, Size(1));
  HK_TRY(split, node.reshape(x, apart));
  apart[dim] = count;
  HK_TRY(wide, node.expand(split, apart));
  Shape joined = x.shape;
  joined[dim] = count * x.shape[dim];
  return node.reshape(wide, joined);
}

static LogicalResult tile(Node &node) {
  constexpr int64_t kMostCopies = 256;
  HK_TRY(x, node.tensor(0));
  HK_TRY(repeats, node.sizes(1, "repeats"));
  if (int64_t(repeats.size()) != x.rank())
    return node.error() << "expected " << x.rank() << " repeats, but got "
                        << repeats.size();
  // A dim of one element may repeat as often as a call says.
  Shape grown = x.shape;
  for (auto [d, count] : llvm::enumerate(repeats))
    if (!count.getConstant() && x.shape[d].isConstant(1)) {
      grown[d] = count;
      count = 1;
    }
  HK_TRY(made, node.expand(x, grown));
  for (auto [d, size] : llvm::enumerate(repeats)) {
    if (!size.getConstant()) {
      HK_TRY(next, repeated(node, made, d, size));
      made = next;
      continue;
    }
    int64_t count = *size.getConstant();
    if (count < 1 || count > kMostCopies)
      return node.error() << "expected repeats from 1 to " << kMostCopies
                          << ", but got " << count;
    HK_TRY(next, node.concat(d, SmallVector<Tensor>(count, made)));
    made = next;
  }
  return node.result(0, made);
}

ArrayRef<Operator> mlir::hk::importer::viewOperators() {
  static const Operator table[] = {
      {"", "Shape", 1, 1, 1, shapeOf, ""},
      {"", "Size", 1, 1, 1, sizeOf, ""},
      {"", "Reshape", 5, 2, 2, reshape, "to shapes known from shapes", true},
      {"", "Flatten", 1, 1, 1, flatten, "", true},
      {"", "Squeeze", 13, 1, 2, squeeze, "", true},
      {"", "Unsqueeze", 13, 2, 2, unsqueeze, "", true},
      {"", "Transpose", 1, 1, 1, transpose, "", true},
      {"", "Concat", 4, 1, kAny, concat, "", true},
      {"", "Slice", 10, 3, 5, slice, "steps below 0 over dims of known size",
       true},
      {"", "Split", 13, 1, 2, split, "", true},
      {"", "Expand", 8, 2, 2, expand,
       "repeats of at most 256, or to the size of a dim of an input", true},
      {"", "Tile", 6, 2, 2, tile,
       "repeats of at most 256, or as often as a dim of an input is long",
       true},
  };
  return table;
}
