//===- Blockwise.h - Weights of few bits ---------------------- -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the operators of com.microsoft with packed weights have in common.
//
//===----------------------------------------------------------------------===//

#ifndef HK_IMPORT_ONNX_BLOCKWISE_H
#define HK_IMPORT_ONNX_BLOCKWISE_H

#include "Node.h"

namespace mlir::hk::importer {

/// Rows [rows..., k] of unsigned codes, low bits of a byte first, and a scale
/// for each `block` elements of a row. `codes`, `scale` and `zero` are inputs;
/// no zero point means 2^(bits - 1).
struct PackedRows {
  size_t codes, scale, zero;
  SmallVector<int64_t> rows;
  int64_t k, bits, block;
  /// Rows of codes end with a whole block, and not with element k.
  bool wholeBlocks = false;
  /// Zero points of rows that are one block are packed across rows.
  bool zerosAcrossRows = false;

  int64_t numBlocks() const { return (k + block - 1) / block; }
  /// `rows` and then `size`.
  Shape shape(int64_t size) const;
};

/// hk's tensors of packed rows: (codes - zero) * scale.
struct StoredRows {
  Tensor codes, scale;        // ui4 or int8 [rows..., k]; [rows..., blocks]
  std::optional<Tensor> zero; // of one element, or as the scale
};

/// Reads and repacks; errors where inputs do not have the sizes that `packed`
/// says, or are computed.
FailureOr<StoredRows> storedRows(Node &node, const PackedRows &packed);

/// The values, of type `dtype`.
FailureOr<Tensor> decodedRows(Node &node, const StoredRows &rows, int64_t block,
                              int dtype);

} // namespace mlir::hk::importer

#endif // HK_IMPORT_ONNX_BLOCKWISE_H
