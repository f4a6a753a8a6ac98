//===- AttentionProblem.h - The operands of an attention --------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What one hk.attention reads, in one form: keys and values as rows of (token,
// head), sequences with their rows, scales by row, regions by position. Private
// to the interpreter.
//
//===----------------------------------------------------------------------===//

#ifndef HK_REFERENCE_ATTENTIONPROBLEM_H
#define HK_REFERENCE_ATTENTIONPROBLEM_H

#include "Evaluators.h"

namespace mlir::hk::reference {

/// One sequence: its queries and keys.
struct Sequence {
  int64_t queryStart, numQueries; // rows of the query tensor
  int64_t keyStart, numKeys;      // rows of the key tensor, unless paged
  int64_t index;
  int64_t tableStart = 0; // first element of the block table
};

/// Keys [begin, end) of a sequence.
struct KeyRange {
  int64_t begin, end;
};

/// A tensor as [outer, rows, heads, elements]; of its own where the layout is
/// another one.
class RowTensor {
public:
  RowTensor(const Tensor &from, const CacheDims &dims);
  const Tensor &get() const { return own ? *own : *tensor; }
  int64_t size(unsigned dim) const { return sizes[dim]; }
  /// Rows of (outer, row).
  int64_t numRows() const { return sizes[0] * sizes[1]; }

private:
  const Tensor *tensor;
  std::optional<Tensor> own;
  std::array<int64_t, 4> sizes;
};

/// An optional scale of queries, keys or values.
class RowScale {
public:
  RowScale(const Tensor *scale, const CacheDims &dims, const RowTensor &of,
           std::optional<uint64_t> block);
  bool exists() const { return tensor || rows; }
  /// Of row `row` (of all outer ones), which is in `sequence`.
  Noisy at(int64_t sequence, int64_t row, int64_t head,
           int64_t element = 0) const;

private:
  const Tensor *tensor = nullptr; // one element, or [sequence, head]
  std::optional<RowTensor> rows;
  int64_t rowsOfOuter = 1, block = 1;
};

/// Keys of one sequence that a query of a head sees.
struct SeenRow {
  const Sequence &sequence;
  int64_t head, query;
  ArrayRef<int64_t> keys; // in the sequence
};

/// One of an op's regions, evaluated for many keys of one query at once.
class PositionRegion {
public:
  explicit PositionRegion(Region &region);
  bool exists() const { return block != nullptr; }
  /// What it yields for each key, of its score if it takes `scores`.
  FailureOr<std::vector<Noisy>> evaluate(const SeenRow &row,
                                         const std::vector<Noisy> *scores,
                                         ArrayRef<const Tensor *> reads) const;

private:
  /// Of arguments whose sizes broadcast.
  FailureOr<Tensor> yieldOf(ArrayRef<const Tensor *> arguments) const;

  Block *block = nullptr;
  SmallVector<std::pair<Operation *, Evaluator>> ops;
};

struct AttentionProblem {
  AttentionProblem(AttentionOp op, const Operands &in);

  /// Row of key `j` among those of keys and values; nullopt: in a block with a
  /// negative number, which no query sees.
  std::optional<int64_t> keyRow(const Sequence &s, int64_t j) const;
  /// Whether the block of key `j` is one of the cache, or none.
  bool isInCache(const Sequence &s, int64_t j) const;
  /// Keys that query `i` of `s` sees, of slice `slice` if there are slices.
  KeyRange visibleKeys(const Sequence &s, int64_t slice, int64_t i) const;

  mutable AttentionOp op; // accessors of ops are not const
  const Tensor &query;
  RowTensor key, value;
  const Tensor *blockTable, *sink;
  RowScale queryScale, keyScale, valueScale;
  PositionRegion score, weight;
  SmallVector<const Tensor *> reads;
  int64_t heads, group, headSize, valueSize;
  double scale;
  std::optional<double> softcap;
  ::hk::DType probabilityType;
  /// Queries, keys and values are exact in bf16: the target may take products
  /// and their operands below 2^-126 for zero.
  bool mayFlush;
  /// Some value is infinite or NaN.
  bool specialValues;

private:
  int64_t blockOf(const Sequence &s, int64_t j) const;
};

/// The sequences of the op, checked against the tensors.
FailureOr<SmallVector<Sequence>> sequencesOf(const AttentionProblem &problem,
                                             const Operands &in);

} // namespace mlir::hk::reference

#endif // HK_REFERENCE_ATTENTIONPROBLEM_H
