//===- spec.h - What an attention kernel is instantiated with -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compile-time facts and the run-time arguments of every attention kernel,
// and the rows of a block.
//
// A row is a (query, head) pair of one key head: row r of a sequence is query
// r / group and head r % group, so that all heads that share keys sit in one
// tile, and a decode step is one tile per key head.
//
// Keys may come in segments, a cached prefix and the new tokens: each has a
// spec and arguments of its own, which agree in everything that is about
// queries and results.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_SPEC_H
#define HK_KERNELS_ATTENTION_SPEC_H

#include "hk/Contract/LdsAttention.h"
#include "hk/Contract/Slices.h"
#include "kernels/attention/policies.h"
#include "kernels/device/convert.h"
#include "kernels/device/io.h"

namespace hk {

/// The regions of an operator without any. Others have, where the flag is set,
///   static float score(const u64 *words, float s, i32 sequence, i32 head,
///                      i32 query, i32 key, i32 queries, i32 keys)
///   static float weight(words, sequence, head, query, key, queries, keys)
/// of any position, also behind the ends: what is not seen is masked later.
struct NoRegions {
  static constexpr bool kScore = false, kWeight = false;
};
/// What a kernel has of operators around its walk: regions, and an epilogue
/// that stores the results (see epilogue.h) instead of the kernel.
template <class RegionsT, class EpilogueT> struct WithEpilogue : RegionsT {
  using Epilogue = EpilogueT;
};

struct AttentionSpec {
  DType type = DType::BF16; // of what is multiplied
  DType outType;            // of the result
  int headDim, valueDim;
  int group; // query heads per key head
  SequenceLayout queries;
  AttentionKeys keys = AttentionKeys::dense();
  KeyWindow window = {};
  ScoreCap cap = ScoreCap::None;
  Normalizer normalizer = Normalizer::Softmax;
  RowLse rowLse = RowLse::Dropped;
  /// Bytes every row of queries, keys, values and result is aligned to.
  int align;
  /// Elements of a key that lie side by side, if not all; rows of a block whose
  /// values of one column do, if the columns of a value do not.
  int keyChunk = 0, valueChunk = 0;
  /// Element types in memory.
  DType qType = type, kType = type, vType = type;
  QueryScale qScale = QueryScale::none();
  KeyScale kScale = KeyScale::none();
  ValueScale vScale = ValueScale::None;
  ValuePlace values = ValuePlace::Apart;
  ValueScaling valueScaling = ValueScaling::Result;

  constexpr bool sharesValues() const {
    return values == ValuePlace::ColumnsOfKeys;
  }
  constexpr bool storesLse() const { return rowLse == RowLse::Stored; }
};

/// Strides count elements; those of dims that a layout lacks are unused.
template <AttentionSpec S, class R = NoRegions> struct AttentionArgs {
  using Regions = R;
  Global<const Storage<S.qType>> q;
  Global<const Storage<S.kType>> k;
  Global<const Storage<S.vType>> v;
  Global<Storage<S.outType>> out;
  Global<float> lse;
  Global<const i32> qOffsets, kvOffsets, kvLens, blockTable, tableOffsets;
  Global<const float> sink;
  /// Sequences; queries of one sequence (ragged: of all of them); most keys of
  /// one sequence; rows of a cache block.
  i64 batch, queries, keys, blockRows;
  /// Query heads.
  i64 heads;
  i64 qSequence, qRow, qHead;
  i64 kSequence, kRow, kHead; // paged: of a block, of a row in it
  i64 vSequence, vRow, vHead;
  i64 outSequence, outRow, outHead;
  i64 lseSequence, lseRow; // heads are adjacent
  i64 tableRow;
  float scale, softcap;
  /// Split keys: from the results of one slice to those of the next.
  i64 outSlice, lseSlice;
  /// Chunked keys: from one chunk of a key to the next. Chunked values: from
  /// one column to the next; vRow is then from one chunk of rows to the next.
  i64 kChunk, vColumn;
  /// The cache has no blocks, so that no entry of a table counts.
  bool emptyCache;
  /// A scale that several share has strides of 0. Sequence: of keys that have
  /// their own, the block of the cache.
  Global<const float> qScale, kScale, vScale;
  i64 qScaleSequence, qScaleRow, qScaleHead;
  i64 kScaleSequence, kScaleRow, kScaleHead;
  i64 vScaleSequence, vScaleRow, vScaleHead;
  /// The words of the launch, which regions and epilogues read.
  const u64 *words;
};
/// Loops that know of no regions take these as they are.
template <AttentionSpec S, class R, class E>
struct AttentionArgs<S, WithEpilogue<R, E>> : AttentionArgs<S, R> {
  using Regions = WithEpilogue<R, E>;
};

/// Keys [begin, end) of a sequence.
struct KeyRange {
  i64 begin, end;
};

/// The rows of one block: rows [first, first + count) of key head `head` of one
/// sequence.
struct AttentionBlock {
  i64 sequence, head;
  i64 first, count;
  bool padding;             // queries of no sequence, which see no key
  i64 queries, keys;        // of the sequence
  i64 queryStart, keyStart; // first row in ragged tensors
  i64 tableStart;           // first element in the block table
  /// Where the block's results begin, and the keys it is about.
  i64 outStart, lseStart;
  KeyRange slice;
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_SPEC_H
