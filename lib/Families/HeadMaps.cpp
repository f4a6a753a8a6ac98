//===- HeadMaps.cpp - Tensors of heads for the copy engine ----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The columns of a box fill 128 bytes, which the engine swizzles.
//
//===----------------------------------------------------------------------===//

#include "HeadMaps.h"

#include "Emission/ArgumentWords.h"

using namespace mlir;
using namespace mlir::hk;

static constexpr uint32_t kBoxColumns = 64;

hk_tensor_map_abi
mlir::hk::mapOfHeads(KernelOp kernel, int64_t operand, ::hk::DType type,
                     bool sequences, int64_t boxRows,
                     function_ref<int64_t(int64_t)> memoryDim) {
  ArgumentWords words(kernel);
  auto number = unsigned(operand);
  int64_t first = sequences ? 1 : 0;
  auto size = [&](int64_t dim) {
    return words.dimNumber(number, memoryDim(dim));
  };
  auto stride = [&](int64_t dim) {
    return words.strideNumber(number, memoryDim(dim));
  };
  hk_tensor_map_abi map = {};
  map.pointer = words.pointer(number);
  map.dtype = uint8_t(type);
  map.rows = size(first);
  map.row_stride = stride(first);
  map.matrices = size(first + 1);
  map.matrix_stride = stride(first + 1);
  map.columns = size(first + 2);
  map.batches = {1, HK_NO_WORD};
  map.batch_stride = map.row_stride;
  if (sequences) {
    map.batches = size(0);
    map.batch_stride = stride(0);
  }
  map.box_columns = kBoxColumns;
  map.box_rows = uint32_t(boxRows);
  return map;
}

Verdict mlir::hk::checkHeadRows(int64_t align, int64_t headDim,
                                int64_t valueDim, int64_t most) {
  if (align < 16 || headDim % 8 != 0 || valueDim % 8 != 0)
    return Verdict::refuse(Reason::Unaligned, "rows begin at multiples of " +
                                                  Twine(align) +
                                                  " bytes, not of 16");
  int64_t largest = std::max(headDim, valueDim);
  if (largest > most)
    return Verdict::refuse(Reason::UnsupportedShape,
                           "a head size of " + Twine(largest) + ", at most " +
                               Twine(most));
  return Verdict::accept();
}
