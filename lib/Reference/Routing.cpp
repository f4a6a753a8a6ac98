//===- Routing.cpp - Counting, sorting, segments --------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Integers, exact.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;

/// The size that the type of result `i` has, or `otherwise` where it has none.
static int64_t resultSize(Operation *op, unsigned i, int64_t otherwise) {
  int64_t size =
      cast<RankedTensorType>(op->getResult(i).getType()).getDimSize(0);
  return ShapedType::isDynamic(size) ? otherwise : size;
}

static Tensor filled(int64_t size, double value) {
  Tensor tensor(::hk::DType::I32, {size});
  llvm::fill(tensor.values, value);
  return tensor;
}

/// Stores where there is room.
static void storeAt(Tensor &tensor, int64_t i, int64_t value) {
  if (i < tensor.sizes[0])
    tensor.values[i] = static_cast<double>(value);
}

/// Anything is right: it hangs on what noise decides, as the ids of a top-k of
/// almost equal scores do.
static void leaveOpen(Tensor &tensor) {
  tensor.error.assign(tensor.values.size(), kInf);
}
static bool isOpen(const Tensor &tensor) {
  return llvm::any_of(tensor.error, [](double error) { return error > 0; });
}

static SmallVector<int64_t> countKeys(const Tensor &keys, int64_t bins) {
  SmallVector<int64_t> counts(bins, 0);
  for (double key : keys.values)
    if (key >= 0 && key < bins)
      ++counts[static_cast<int64_t>(key)];
  return counts;
}

static LogicalResult evaluateHistogram(Operation *op, const Operands &in,
                                       Results &out) {
  int64_t bins = resultSize(op, 0, 0);
  Tensor result = filled(bins, 0);
  for (auto [e, count] : llvm::enumerate(countKeys(in[0], bins)))
    storeAt(result, e, count);
  if (isOpen(in[0]))
    leaveOpen(result);
  out.push_back(std::move(result));
  return success();
}

static LogicalResult evaluateCountBits(Operation *op, const Operands &in,
                                       Results &out) {
  auto countBits = cast<CountBitsOp>(op);
  const Tensor &bits = in[0];
  int64_t rows = bits.sizes[1];
  auto block = static_cast<int64_t>(countBits.getBlock());
  Tensor result = filled(resultSize(op, 0, 0), 0);
  int64_t columns = result.sizes[0];
  Tensor before(::hk::DType::I32, {(rows + block - 1) / block, columns});
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t r = 0; r < rows; ++r) {
      if (r % block == 0)
        before.values[r / block * columns + c] = result.values[c];
      auto word = static_cast<uint32_t>(
          static_cast<int32_t>(bits.values[c / 32 * rows + r]));
      result.values[c] += (word >> c % 32) & 1;
    }
  if (isOpen(bits)) {
    leaveOpen(result);
    leaveOpen(before);
  }
  out.push_back(std::move(result));
  if (countBits.getBefore())
    out.push_back(std::move(before));
  return success();
}

static LogicalResult evaluateSortByKey(Operation *op, const Operands &in,
                                       Results &out) {
  auto sort = cast<SortByKeyOp>(op);
  const Tensor &keys = in[0];
  int64_t bins = sort.getBins(), block = sort.getBlock();
  int64_t n = keys.sizes[0];
  Tensor order = filled(resultSize(op, 0, n + bins * (block - 1)), double(n));
  Tensor position = filled(n, -1);
  SmallVector<int64_t> next;
  int64_t start = 0;
  for (int64_t count : countKeys(keys, bins)) {
    next.push_back(start);
    start += (count + block - 1) / block * block;
  }
  for (int64_t i = 0; i < n; ++i) {
    double key = keys.values[i];
    if (key < 0 || key >= bins)
      continue;
    int64_t place = next[static_cast<int64_t>(key)]++;
    storeAt(order, place, i);
    storeAt(position, i, place);
  }
  if (isOpen(keys)) {
    leaveOpen(order);
    // Where it lies is open for every item, what becomes of it only for those
    // whose own key is: these have a jump.
    order.jump.assign(order.values.size(), 0);
    for (auto [place, item] : llvm::enumerate(order.values))
      if (item < double(n))
        order.jump[place] = keys.errorAt(int64_t(item)) > 0;
    leaveOpen(position);
  }
  out.push_back(std::move(order));
  out.push_back(std::move(position));
  return success();
}

static LogicalResult evaluateSegments(Operation *op, const Operands &in,
                                      Results &out) {
  auto segments = cast<SegmentsOp>(op);
  const Tensor &given = in[0];
  bool bounds = segments.getForm() == SegmentForm::bounds;
  int64_t block = segments.getBlock();
  int64_t n = given.sizes[0] - bounds;
  if (n < 0)
    return op->emitOpError("expected size of dim 0 of segments to be at least "
                           "1 for bounds, but got 0 at run time");
  int64_t most = segments.getItems()
                     ? (in[1].sizes[0] + n * (block - 1) + block - 1) / block
                     : 0;
  Tensor ids = filled(resultSize(op, 0, most), -1);
  Tensor ranks = ids, offsets = filled(n + 1, 0);
  int64_t place = 0;
  for (int64_t s = 0; s < n; ++s) {
    auto length = static_cast<int64_t>(
        bounds ? given.values[s + 1] - given.values[s] : given.values[s]);
    int64_t places = (std::max<int64_t>(length, 0) + block - 1) / block;
    for (int64_t rank = 0; rank < places; ++rank, ++place) {
      storeAt(ids, place, s);
      storeAt(ranks, place, rank);
    }
    storeAt(offsets, s + 1, place);
  }
  if (isOpen(given))
    for (Tensor *tensor : {&ids, &ranks, &offsets})
      leaveOpen(*tensor);
  out.push_back(std::move(ids));
  out.push_back(std::move(ranks));
  out.push_back(std::move(offsets));
  return success();
}

void reference::addRouting(EvaluatorTable &table) {
  table.add<HistogramOp>(evaluateHistogram);
  table.add<CountBitsOp>(evaluateCountBits);
  table.add<SortByKeyOp>(evaluateSortByKey);
  table.add<SegmentsOp>(evaluateSegments);
}
