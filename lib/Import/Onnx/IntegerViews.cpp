//===- IntegerViews.cpp - Views of integers that shapes decide ----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters compute pads and shapes with arrays of integers of any rank, and
// turn them around. Such arrays stay integers: each element of the result is
// one of the input.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

static std::optional<SmallVector<int64_t>> knownShape(const Item &item) {
  SmallVector<int64_t> sizes;
  for (const Size &size : item.shape) {
    std::optional<int64_t> known = size.getConstant();
    if (!known || *known < 0)
      return std::nullopt;
    sizes.push_back(*known);
  }
  return sizes;
}

/// Elements of input 0, if shapes decide them and no tensor has been made.
static std::optional<SmallVector<Size>> viewedIntegers(Node &node) {
  const Item &item = node.input(0);
  return item.tensor ? std::nullopt : node.graph.integersOf(item);
}

/// The result of these sizes whose element at a place is the input's at
/// offset + the sum of place * stride.
static LogicalResult picked(Node &node, ArrayRef<Size> integers,
                            ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides,
                            int64_t offset) {
  Item made;
  made.dtype = node.input(0).dtype;
  made.shape.assign(sizes.begin(), sizes.end());
  made.integers.emplace();
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, at = offset;
    for (int64_t d = int64_t(sizes.size()) - 1; d >= 0; --d) {
      at += rest % sizes[d] * strides[d];
      rest /= sizes[d];
    }
    made.integers->push_back(integers[at]);
  }
  return node.result(0, std::move(made));
}

static SmallVector<int64_t> rowMajor(ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> strides(sizes.size(), 1);
  for (int64_t d = int64_t(sizes.size()) - 2; d >= 0; --d)
    strides[d] = strides[d + 1] * sizes[d + 1];
  return strides;
}

std::optional<LogicalResult>
mlir::hk::importer::transposedIntegers(Node &node,
                                       ArrayRef<int64_t> permutation) {
  auto integers = viewedIntegers(node);
  auto sizes = knownShape(node.input(0));
  if (!integers || !sizes || sizes->size() < 2)
    return std::nullopt;
  SmallVector<int64_t> strides = rowMajor(*sizes), turned, steps;
  for (int64_t d : permutation) {
    turned.push_back((*sizes)[d]);
    steps.push_back(strides[d]);
  }
  return picked(node, *integers, turned, steps, 0);
}

std::optional<LogicalResult>
mlir::hk::importer::slicedIntegers(Node &node, ArrayRef<StridedDim> dims) {
  auto integers = viewedIntegers(node);
  auto sizes = knownShape(node.input(0));
  if (!integers || !sizes)
    return std::nullopt;
  SmallVector<int64_t> strides = rowMajor(*sizes);
  int64_t offset = 0;
  for (const StridedDim &dim : dims) {
    offset += dim.begin * strides[dim.axis];
    strides[dim.axis] *= dim.step;
    (*sizes)[dim.axis] = dim.size;
  }
  return picked(node, *integers, *sizes, strides, offset);
}

std::optional<StridedDim>
mlir::hk::importer::stridedDim(int64_t axis, const Size &dim, const Size &begin,
                               const Size &end, int64_t step) {
  std::optional<int64_t> size = dim.getConstant(), from = begin.getConstant(),
                         to = end.getConstant();
  if (!size || !from || !to || step == 0 || step == INT64_MIN)
    return std::nullopt;
  // ONNX's clamping: backwards the first place may be the last element, the
  // end one in front of the first.
  int64_t least = step < 0 ? -1 : 0, most = step < 0 ? *size - 1 : *size;
  auto clamped = [&](int64_t at) {
    return std::clamp(at < 0 ? std::max(at, -*size - 1) + *size : at, least,
                      std::max(most, least));
  };
  int64_t first = clamped(*from), last = clamped(*to);
  int64_t length = step < 0 ? first - last : last - first;
  int64_t by = std::abs(step);
  int64_t count = length > 0 ? (length - 1) / by + 1 : 0;
  // No elements begin anywhere.
  return StridedDim{axis, count ? first : 0, count, step};
}
