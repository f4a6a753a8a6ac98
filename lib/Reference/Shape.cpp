//===- Shape.cpp - Operators that move elements ---------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies: values and their noise move unchanged.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;

/// Elements after dim `d` (one step of it).
static int64_t innerSize(ArrayRef<int64_t> sizes, int64_t d) {
  int64_t count = 1;
  for (int64_t size : sizes.drop_front(d + 1))
    count *= size;
  return count;
}

static LogicalResult evaluateTranspose(Operation *op, const Operands &in,
                                       Results &out) {
  const Tensor &x = in[0];
  ArrayRef<int64_t> permutation = cast<TransposeOp>(op).getPermutation();
  int64_t rank = permutation.size();
  SmallVector<int64_t> sizes(rank), strides(rank), index(rank, 0);
  for (int64_t d = 0; d < rank; ++d) {
    sizes[d] = x.sizes[permutation[d]];
    strides[d] = innerSize(x.sizes, permutation[d]);
  }
  ResultBuilder result(x.dtype, sizes);
  int64_t position = 0;
  for (int64_t i = 0; i < x.numElements(); ++i) {
    result.setExact(i, at(x, position));
    for (int64_t d = rank - 1; d >= 0; --d) {
      position += strides[d];
      if (++index[d] < sizes[d])
        break;
      position -= strides[d] * sizes[d];
      index[d] = 0;
    }
  }
  out.push_back(result.take());
  return success();
}

static LogicalResult evaluateConcat(Operation *op, const Operands &in,
                                    Results &out) {
  int64_t dim = cast<ConcatOp>(op).getDim();
  SmallVector<int64_t> sizes(in[0].sizes);
  sizes[dim] = 0;
  for (size_t k = 0; k < in.size(); ++k)
    sizes[dim] += in[k].sizes[dim];
  ResultBuilder result(in[0].dtype, sizes);
  int64_t inner = innerSize(sizes, dim), rowLength = sizes[dim] * inner;
  int64_t start = 0;
  for (size_t k = 0; k < in.size(); ++k) {
    int64_t length = in[k].sizes[dim] * inner;
    for (int64_t i = 0; i < in[k].numElements(); ++i)
      result.setExact(i / length * rowLength + start + i % length,
                      at(in[k], i));
    start += length;
  }
  out.push_back(result.take());
  return success();
}

static LogicalResult evaluatePad(Operation *op, const Operands &in,
                                 Results &out) {
  const Tensor &x = in[0];
  SmallVector<int64_t> sizes(x.sizes);
  sizes.back() =
      cast<RankedTensorType>(op->getResult(0).getType()).getShape().back();
  ResultBuilder result(x.dtype, sizes);
  double fill = cast<PadOp>(op).getValue().convertToFloat();
  if (fill == 0 && x.dtype == ::hk::DType::F8E8M0FNU)
    fill = 0x1p-127;
  for (int64_t row = 0; row < numRows(x); ++row)
    for (int64_t j = 0; j < sizes.back(); ++j)
      result.setExact(row * sizes.back() + j, j < rowSize(x)
                                                  ? at(x, row * rowSize(x) + j)
                                                  : Noisy{fill, 0});
  out.push_back(result.take());
  return success();
}

static LogicalResult evaluateGatherRows(Operation *, const Operands &in,
                                        Results &out) {
  const Tensor &table = in[0], &indices = in[1];
  SmallVector<int64_t> sizes(indices.sizes);
  llvm::append_range(sizes, ArrayRef<int64_t>(table.sizes).drop_front());
  ResultBuilder result(table.dtype, sizes);
  int64_t row = innerSize(table.sizes, 0);
  for (int64_t i = 0; i < indices.numElements(); ++i) {
    auto index = static_cast<int64_t>(indices.values[i]);
    bool found = index >= 0 && index < table.sizes[0];
    for (int64_t j = 0; j < row; ++j) {
      Noisy value; // of a row of zeros
      if (found)
        value = at(table, index * row + j);
      result.setExact(i * row + j, chosenBy(indices, i, value));
    }
  }
  out.push_back(result.take());
  return success();
}

static LogicalResult evaluateHasRow(Operation *op, const Operands &in,
                                    Results &out) {
  const Tensor &table = in[0], &indices = in[1];
  ResultBuilder result(resultDType(op), indices.sizes);
  for (int64_t i = 0; i < indices.numElements(); ++i) {
    auto index = static_cast<int64_t>(indices.values[i]);
    bool found = index >= 0 && index < table.sizes[0];
    result.setExact(i, chosenBy(indices, i, Noisy{found ? 1.0 : 0.0}));
  }
  out.push_back(result.take());
  return success();
}

static LogicalResult evaluateGatherElements(Operation *, const Operands &in,
                                            Results &out) {
  const Tensor &table = in[0];
  SmallVector<const Tensor *> indices;
  for (size_t k = 1; k < in.size(); ++k)
    indices.push_back(&in[unsigned(k)]);
  Broadcast shape(indices);
  ResultBuilder result(table.dtype, shape.sizes());
  shape.forEach([&](int64_t i, ArrayRef<int64_t> positions) {
    int64_t element = 0;
    bool found = true;
    for (auto [d, index] : llvm::enumerate(indices)) {
      auto x = static_cast<int64_t>(index->values[positions[d]]);
      found = found && x >= 0 && x < table.sizes[d];
      element = element * table.sizes[d] + x;
    }
    Noisy value; // of an index outside
    if (found)
      value = at(table, element);
    for (auto [d, index] : llvm::enumerate(indices))
      value = chosenBy(*index, positions[d], value);
    result.setExact(i, value);
  });
  out.push_back(result.take());
  return success();
}

static LogicalResult evaluateCopy(Operation *, const Operands &in,
                                  Results &out) {
  out.push_back(in[0]);
  return success();
}

static LogicalResult evaluateKVCacheWrite(Operation *op, const Operands &in,
                                          Results &out) {
  auto write = cast<KVCacheWriteOp>(op);
  const Tensor &values = in[0], &slots = in[1], &cache = in[2];
  ArrayRef<unsigned> rowDims = write.getRowDims();
  ArrayRef<unsigned> elementDims = write.getElementDims();
  auto sizeOf = [&](ArrayRef<unsigned> dims) {
    int64_t size = 1;
    for (unsigned dim : dims)
      size *= cache.sizes[dim];
    return size;
  };
  int64_t heads = cache.sizes[write.getHeadDim()];
  int64_t elements = sizeOf(elementDims), rows = sizeOf(rowDims);
  Tensor result = cache;
  if (!values.error.empty() && result.error.empty())
    result.error.assign(result.values.size(), 0);
  if (!values.jump.empty() && result.jump.empty())
    result.jump.assign(result.values.size(), 0);
  // Where index i counted over `dims` lies.
  auto placeOf = [&](ArrayRef<unsigned> dims, int64_t i) {
    int64_t place = 0;
    for (unsigned dim : llvm::reverse(dims)) {
      place += i % cache.sizes[dim] * innerSize(cache.sizes, dim);
      i /= cache.sizes[dim];
    }
    return place;
  };
  for (int64_t t = 0; t < slots.sizes[0]; ++t) {
    auto slot = static_cast<int64_t>(slots.values[t]);
    if (slot < 0 || slot >= cache.sizes[0] * rows)
      continue;
    int64_t row =
        slot / rows * innerSize(cache.sizes, 0) + placeOf(rowDims, slot % rows);
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t e = 0; e < elements; ++e) {
        int64_t from = (t * heads + h) * elements + e;
        int64_t to =
            row + placeOf(write.getHeadDim(), h) + placeOf(elementDims, e);
        result.values[to] = values.values[from];
        if (!result.error.empty())
          result.error[to] = values.errorAt(from);
        if (!result.jump.empty())
          result.jump[to] = values.jumpAt(from);
      }
  }
  out.push_back(std::move(result));
  return success();
}

void reference::addMovement(EvaluatorTable &table) {
  table.add<TransposeOp>(evaluateTranspose);
  table.add<ConcatOp>(evaluateConcat);
  table.add<PadOp>(evaluatePad);
  table.add<GatherRowsOp>(evaluateGatherRows);
  table.add<HasRowOp>(evaluateHasRow);
  table.add<GatherElementsOp>(evaluateGatherElements);
  table.add<CopyOp>(evaluateCopy);
  table.add<KVCacheWriteOp>(evaluateKVCacheWrite);
}
