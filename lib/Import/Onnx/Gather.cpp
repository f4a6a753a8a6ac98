//===- Gather.cpp - Gathers and selections of ONNX ------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements by index. An index below zero counts from the end in ONNX and gives
// a zero in hk, so that it is moved up first.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

/// Whether no element can be negative: counts of elements, and what views and
/// choices make of them.
static bool isCount(Value value) {
  constexpr int kMostSteps = 256;
  SmallVector<Value> work{value};
  llvm::SmallDenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    Operation *op = next.getDefiningOp();
    if (!op || seen.size() > kMostSteps)
      return false;
    if (isa<IotaOp, TopkOp>(op))
      continue;
    if (auto sums = dyn_cast<CumsumOp>(op))
      next = sums.getInput();
    if (cast<RankedTensorType>(next.getType()).getElementType().isInteger(1))
      continue;
    if (isa<ConcatOp, MaxOp, AddOp, MulOp>(op))
      work.append(op->operand_begin(), op->operand_end());
    else if (isa<SelectOp>(op))
      work.append({op->getOperand(1), op->getOperand(2)});
    else if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::CastOp,
                 tensor::ExtractSliceOp, TransposeOp>(op))
      work.push_back(op->getOperand(0));
    else
      return false;
  }
  return true;
}

/// `indices` into a dim, counted from its begin.
static FailureOr<Tensor> fromBegin(Node &node, const Tensor &indices,
                                   const Size &dim) {
  if (isCount(indices.value))
    return indices;
  HK_TRY(zero, node.scalar(0, indices.dtype));
  HK_TRY(count, node.count(dim, indices.dtype));
  HK_TRY(moved, node.binary<AddOp>(indices, count));
  HK_TRY(below, node.compare(ComparePredicate::lt, indices, zero));
  return node.select(below, moved, indices);
}

static LogicalResult checkIndices(Node &node, size_t i) {
  int dtype = node.input(i).dtype;
  if (dtype == kInt32 || dtype == kInt64)
    return success();
  return node.error() << "expected indices of int32 or int64, but got "
                      << dtypeName(dtype);
}

FailureOr<Tensor> mlir::hk::importer::indicesInto(Node &node, size_t i,
                                                  const Size &dim) {
  if (failed(checkIndices(node, i)))
    return failure();
  const Item &item = node.input(i);
  // Numbers of the file are looked at here.
  if (item.data &&
      llvm::none_of(llvm::seq<int64_t>(0, item.data->getNumElements()),
                    [&](int64_t k) { return item.data->integer(k) < 0; }))
    return node.tensor(i);
  HK_TRY(indices, node.tensor(i));
  return fromBegin(node, indices, dim);
}

/// Gather of integers that shapes decide.
static std::optional<LogicalResult> gatherSizes(Node &node) {
  const Item &item = node.input(0);
  auto integers = node.graph.integersOf(item),
       indices = node.graph.integersOf(node.input(1));
  if (!integers || !indices || item.shape.size() != 1 || !item.integers)
    return std::nullopt;
  Item made;
  made.dtype = item.dtype;
  made.shape = node.input(1).shape;
  made.integers.emplace();
  for (const Size &at : *indices) {
    int64_t count = integers->size();
    HK_TRY(index, node.axis(at.getConstant().value_or(count), count));
    made.integers->push_back((*integers)[index]);
  }
  return node.result(0, std::move(made));
}

FailureOr<Tensor> mlir::hk::importer::gatherAlong(Node &node, const Tensor &x,
                                                  int64_t axis,
                                                  const Tensor &indices) {
  // hk gathers along the first dim.
  SmallVector<int64_t> toFront{axis}, back;
  for (int64_t d = 0; d < x.rank(); ++d)
    if (d != axis)
      toFront.push_back(d);
  HK_TRY(table, node.transpose(x, toFront));
  Shape rows = indices.shape;
  rows.append(table.shape.begin() + 1, table.shape.end());
  HK_TRY(made, node.type(x.dtype, rows));
  Tensor gathered{
      GatherRowsOp::create(node.b, node.loc, made, table.value, indices.value),
      x.dtype, rows};
  int64_t indexRank = indices.rank();
  for (int64_t d = 0; d < axis; ++d)
    back.push_back(indexRank + d);
  for (int64_t d = 0; d < indexRank; ++d)
    back.push_back(d);
  for (int64_t d = axis + indexRank; d < int64_t(rows.size()); ++d)
    back.push_back(d);
  return node.transpose(gathered, back);
}

/// Gather of elements of a matrix whose rows were joined, by row * columns +
/// column, as exporters write an index into a mask: by row and column.
static std::optional<LogicalResult>
gatherJoined(Node &node, const Tensor &x, int64_t axis, const Shape &shape) {
  const Meanings &meanings = node.graph.meanings;
  auto found = meanings.joined.find(x.value);
  const Item &index = node.input(1);
  if (axis != 0 || found == meanings.joined.end() || !index.tensor)
    return std::nullopt;
  const auto &[matrix, sizes] = found->second;
  auto places = meanings.splitIndex(index.tensor, sizes[0], sizes[1]);
  if (!places)
    return std::nullopt;
  HK_TRY(type, node.type(x.dtype, index.shape));
  Tensor made{
      GatherElementsOp::create(node.b, node.loc, type, matrix,
                               ValueRange{places->first, places->second}),
      x.dtype, index.shape};
  HK_TRY(result, node.reshape(made, shape));
  return node.result(0, result);
}

static LogicalResult gather(Node &node) {
  HK_TRY(axis, node.axis(node.integer("axis", 0), node.input(0).shape.size()));
  if (auto done = gatherSizes(node))
    return *done;
  HK_TRY(x, node.tensor(0));
  Shape shape(ArrayRef<Size>(x.shape).take_front(axis));
  shape.append(node.input(1).shape);
  shape.append(x.shape.begin() + axis + 1, x.shape.end());
  // One known index is a slice.
  auto known = node.graph.integersOf(node.input(1));
  if (known && known->size() == 1 && known->front().getConstant()) {
    int64_t at = *known->front().getConstant();
    Size offset = at < 0 ? x.shape[axis] + at : Size(at);
    if (Size over = offset - x.shape[axis] + 1;
        over.getConstant().value_or(0) > 0 ||
        offset.getConstant().value_or(0) < 0)
      return node.error() << "expected an index into "
                          << node.graph.symbols.describe(x.shape[axis])
                          << " elements, but got " << at;
    HK_TRY(cut, node.slice(x, axis, offset, 1));
    HK_TRY(made, node.reshape(cut, shape));
    return node.result(0, made);
  }
  if (auto done = gatherJoined(node, x, axis, shape))
    return *done;
  HK_TRY(indices, indicesInto(node, 1, x.shape[axis]));
  HK_TRY(result, gatherAlong(node, x, axis, indices));
  return node.result(0, result);
}

static LogicalResult gatherElements(Node &node) {
  HK_TRY(x, node.tensor(0));
  HK_TRY(axis, node.axis(node.integer("axis", 0), x.rank()));
  HK_TRY(indices, indicesInto(node, 1, x.shape[axis]));
  if (indices.rank() != x.rank())
    return node.error() << "expected indices of rank " << x.rank()
                        << ", but got " << indices.rank();
  // hk gathers along the last dim, of as many rows.
  SmallVector<int64_t> swap = llvm::to_vector(llvm::seq<int64_t>(0, x.rank()));
  std::swap(swap[axis], swap.back());
  for (int64_t d = 0; d < x.rank(); ++d)
    if (d != axis && x.shape[d] != indices.shape[d])
      return node.error() << "expected indices of " << node.describe(x.shape)
                          << " but for dim " << axis << ", but got "
                          << node.describe(indices.shape);
  HK_TRY(table, node.transpose(x, swap));
  HK_TRY(places, node.transpose(indices, swap));
  HK_TRY(made, node.type(x.dtype, places.shape));
  Tensor gathered{
      GatherLastOp::create(node.b, node.loc, made, table.value, places.value),
      x.dtype, places.shape};
  HK_TRY(result, node.transpose(gathered, swap));
  return node.result(0, result);
}

/// Index `d` of each row of `indices`, of the given shape, along a dim of
/// `size`.
static FailureOr<Tensor> indexOf(Node &node, const Tensor &indices, int64_t d,
                                 const Shape &shape, const Size &size) {
  HK_TRY(one, node.slice(indices, indices.rank() - 1, d, 1));
  HK_TRY(flat, node.reshape(one, shape));
  return fromBegin(node, flat, size);
}

/// GatherND with an index for each of the dims in front: they become one, and
/// the indices a place along it.
static LogicalResult gatherFront(Node &node, const Tensor &x,
                                 const Tensor &indices, int64_t count) {
  Shape places(ArrayRef<Size>(indices.shape).drop_back());
  Size rows(1);
  std::optional<Tensor> at;
  for (int64_t d = 0; d < count; ++d) {
    HK_TRY(place, indexOf(node, indices, d, places, x.shape[d]));
    rows = rows * x.shape[d];
    if (!at) {
      at = place;
      continue;
    }
    HK_TRY(size, node.count(x.shape[d], indices.dtype));
    HK_TRY(before, node.binary<MulOp>(*at, size));
    HK_TRY(sum, node.binary<AddOp>(before, place));
    at = sum;
  }
  Shape table{rows}, shape = places;
  table.append(x.shape.begin() + count, x.shape.end());
  shape.append(x.shape.begin() + count, x.shape.end());
  HK_TRY(joined, node.reshape(x, table));
  HK_TRY(made, node.type(x.dtype, shape));
  return node.result(0, Tensor{GatherRowsOp::create(node.b, node.loc, made,
                                                    joined.value, at->value),
                               x.dtype, shape});
}

/// GatherND of rows, by one index or more, or of single elements, by one for
/// each dim.
static LogicalResult gatherND(Node &node) {
  if (failed(node.only("batch_dims", 0, "all dims are indexed")) ||
      failed(checkIndices(node, 1)))
    return failure();
  HK_TRY(x, node.tensor(0));
  HK_TRY(indices, node.tensor(1));
  std::optional<int64_t> count =
      indices.rank() > 0 ? indices.shape.back().getConstant() : std::nullopt;
  if (count && *count > 0 && *count < x.rank())
    return gatherFront(node, x, indices, *count);
  if (x.rank() < 1 || count != x.rank())
    return node.error() << "expected indices of 1 to " << x.rank()
                        << " dims in the last dim, but got "
                        << node.describe(indices.shape);
  Shape shape(ArrayRef<Size>(indices.shape).drop_back());
  SmallVector<Value> places;
  for (int64_t d = 0; d < x.rank(); ++d) {
    HK_TRY(place, indexOf(node, indices, d, shape, x.shape[d]));
    places.push_back(place.value);
  }
  HK_TRY(made, node.type(x.dtype, shape));
  return node.result(0, Tensor{GatherElementsOp::create(node.b, node.loc, made,
                                                        x.value, places),
                               x.dtype, shape});
}

static LogicalResult topk(Node &node) {
  HK_TRY(given, node.tensor(0));
  if (given.dtype == kBool || given.dtype == kUInt8)
    return node.error() << "expected numbers, but got "
                        << dtypeName(given.dtype) << "; cast them to int32";
  // hk.topk takes reals: integers are exact in f32 below 2^24.
  HK_TRY(x, dtypeInfo(given.dtype)->isFloat ? FailureOr<Tensor>(given)
                                            : node.cast(given, kFloat));
  HK_TRY(count, node.integers(1, "k"));
  if (count.size() != 1 || count[0] < 1)
    return node.error() << "expected one k of at least 1";
  HK_TRY(axis, node.axis(node.integer("axis", -1), x.rank()));
  bool largest = node.integer("largest", 1) != 0;
  if (!node.integer("sorted", 1))
    return node.error() << "expected attribute 'sorted' to be 1: hk fixes the "
                           "order of the results";
  if (x.shape[axis].getConstant().value_or(count[0]) < count[0])
    return node.error() << "expected k to be at most "
                        << node.graph.symbols.describe(x.shape[axis])
                        << ", but got " << count[0];
  SmallVector<int64_t> swap = llvm::to_vector(llvm::seq<int64_t>(0, x.rank()));
  std::swap(swap[axis], swap.back());
  HK_TRY(rows, node.transpose(x, swap));
  // The smallest are the largest of the negated.
  Tensor ordered = rows;
  if (!largest) {
    HK_TRY(negated, node.unary<NegOp>(rows));
    ordered = negated;
  }
  Shape shape = rows.shape;
  shape.back() = count[0];
  HK_TRY(valueType, node.type(x.dtype, shape));
  HK_TRY(indexType, node.type(kInt64, shape));
  auto op =
      TopkOp::create(node.b, node.loc, TypeRange{valueType, indexType},
                     ordered.value, TieRule::lowest_index, TopkOrder::by_value);
  Tensor values{op.getValues(), x.dtype, shape};
  if (!largest) {
    HK_TRY(negated, node.unary<NegOp>(values));
    values = negated;
  }
  Tensor indices{op.getIndices(), kInt64, shape};
  HK_TRY(numbers, node.cast(values, given.dtype));
  HK_TRY(first, node.transpose(numbers, swap));
  HK_TRY(second, node.transpose(indices, swap));
  return failure(failed(node.result(0, first)) ||
                 failed(node.result(1, second)));
}

ArrayRef<Operator> mlir::hk::importer::gatherOperators() {
  static const Operator table[] = {
      {"", "Gather", 1, 2, 2, gather, "", true},
      {"", "GatherElements", 11, 2, 2, gatherElements,
       "indices of the input's sizes in the other dims"},
      {"", "GatherND", 12, 2, 2, gatherND, "of no batch_dims"},
      {"", "TopK", 10, 2, 2, topk, "sorted; integers below 2^24"},
  };
  return table;
}
