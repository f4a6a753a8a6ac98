//===- policies.h - What an attention kernel is chosen by -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The choices that a kernel of attention is instantiated with: where queries,
// keys and values lie, which keys are seen, what becomes of scores, and which
// scales there are. A choice that only some of the others allow has no place
// beside the rest: a cache without blocks has no rows of a block, an operand
// without a scale no keys that share one.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_POLICIES_H
#define HK_KERNELS_ATTENTION_POLICIES_H

#include "kernels/device/types.h"

namespace hk {

/// How queries, or queries and keys, are cut into sequences.
enum class SequenceLayout : int { Single, Dense, Ragged };

/// How keys are cut into sequences. Pages are blocks of a cache: a sequence has
/// a row of the block table, or a part of it between two offsets.
enum class KeyLayout : int { Single, Dense, Ragged, Paged, PagedByOffsets };

/// How many of the keys that a sequence has room for exist: all, or as many as
/// a tensor says.
enum class KeyCount : int { All, Given };

/// Where keys and values lie; made by the functions, one for each layout.
struct AttentionKeys {
  KeyLayout layout;
  KeyCount count;
  /// Rows of a page, where they are known; else, and without pages, 0.
  int pageRows;

  static constexpr AttentionKeys single(KeyCount count = KeyCount::All) {
    return {KeyLayout::Single, count, 0};
  }
  static constexpr AttentionKeys dense(KeyCount count = KeyCount::All) {
    return {KeyLayout::Dense, count, 0};
  }
  static constexpr AttentionKeys ragged(KeyCount count = KeyCount::All) {
    return {KeyLayout::Ragged, count, 0};
  }
  static constexpr AttentionKeys paged(int rows, KeyCount count) {
    return {KeyLayout::Paged, count, rows};
  }
  static constexpr AttentionKeys pagedByOffsets(int rows, KeyCount count) {
    return {KeyLayout::PagedByOffsets, count, rows};
  }

  constexpr bool isPaged() const {
    return layout == KeyLayout::Paged || layout == KeyLayout::PagedByOffsets;
  }
  constexpr bool hasCount() const { return count == KeyCount::Given; }

private:
  constexpr AttentionKeys(KeyLayout layout, KeyCount count, int pageRows)
      : layout(layout), count(count), pageRows(pageRows) {}
};

/// Values have memory of their own, or are the first columns of keys.
enum class ValuePlace : int { Apart, ColumnsOfKeys };

/// Keys of the queries' own tokens, the last ones, are seen as all others, or
/// not at all (another segment has them).
enum class OwnKeys : int { Seen, Elsewhere };

/// The keys that a query sees: so many to the left and right of its own; < 0:
/// no limit. A causal mask is a right end of 0.
struct KeyWindow {
  i64 left = -1, right = -1;
  OwnKeys own = OwnKeys::Seen;
};

/// What becomes of scores before they are masked.
enum class ScoreCap : int { None, Soft };

/// What makes weights of the scores of a row; a sink is one score more, without
/// a value.
enum class Normalizer : int { Softmax, SoftmaxWithSink, None };

/// Whether the log-sum-exp of a row is a result.
enum class RowLse : int { Dropped, Stored };

/// What the scales multiply that keys share for their values: the result; where
/// values of other segments have others, what a first segment summed, or the
/// probabilities of a later one.
enum class ValueScaling : int { Result, FirstSegment, Probabilities };

/// Scales of queries.
struct QueryScale {
  /// Queries that share one; 0: there is none.
  int queries;

  static constexpr QueryScale none() { return {0}; }
  static constexpr QueryScale perQueries(int queries) { return {queries}; }
  constexpr bool exists() const { return queries > 0; }

private:
  constexpr QueryScale(int queries) : queries(queries) {}
};

/// Scales of keys: one for all of a head, or of all heads, or one for every
/// group of keys.
struct KeyScale {
  enum class Of : int { None, Head, Keys } of;
  /// Keys that share one, where they are counted; else 0.
  int keys;

  static constexpr KeyScale none() { return {Of::None, 0}; }
  static constexpr KeyScale shared() { return {Of::Head, 0}; }
  static constexpr KeyScale perKeys(int keys) { return {Of::Keys, keys}; }
  constexpr bool exists() const { return of != Of::None; }
  constexpr bool isShared() const { return of == Of::Head; }
  constexpr bool isPerKey() const { return of == Of::Keys; }

private:
  constexpr KeyScale(Of of, int keys) : of(of), keys(keys) {}
};

/// Scales of values: one for all of a head, or of all heads, one for every key,
/// or one for every column.
enum class ValueScale : int { None, Shared, PerKey, PerColumn };

} // namespace hk

#endif // HK_KERNELS_ATTENTION_POLICIES_H
