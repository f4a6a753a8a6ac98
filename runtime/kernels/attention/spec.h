//===- spec.h - What an attention kernel is instantiated with -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compile-time facts and the run-time arguments of every attention kernel,
// and what they share: which rows a block has and which keys a query sees.
//
// A row is a (query, head) pair of one key head: row r of a sequence is query
// r / group and head r % group, so that all heads that share keys sit in one
// tile, and a decode step is one tile per key head. Every visibility rule of
// the operator is an interval of keys per query.
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
#include "kernels/device/convert.h"
#include "kernels/device/io.h"
#include "kernels/device/launch.h"
#include "kernels/device/ragged.h"

namespace hk {

/// How queries, or keys and values, are cut into sequences.
enum class SequenceLayout : int { Single, Dense, Ragged, Paged };

/// What makes weights of the scores of a row.
enum class Normalizer : int { Softmax, None };

/// What the scales multiply that keys share for their values: the result; where
/// values of other segments have others, what a first segment summed, or the
/// probabilities of a later one.
enum class ValueScaling : int { Result, FirstSegment, Probabilities };

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
  SequenceLayout queries, keys;
  bool kvLens, causal, softcap, sink, lse;
  /// Keys a query sees to the left and right of its own; < 0: no limit.
  i64 windowLeft, windowRight;
  /// Bytes every row of queries, keys, values and result is aligned to.
  int align;
  Normalizer normalizer = Normalizer::Softmax;
  /// The block table has one dim, cut by tableOffsets.
  bool raggedTable = false;
  /// Elements of a key that lie side by side, if not all; rows of a block whose
  /// values of one column do, if the columns of a value do not.
  int keyChunk = 0, valueChunk = 0;
  /// Element types in memory.
  DType qType = type, kType = type, vType = type;
  /// Which scales there are; whether every key, or group of kBlock, has its
  /// own, and every column of a value. qBlock queries share one.
  bool qScale = false, kScale = false, vScale = false;
  bool kScalePerKey = false, vScalePerKey = false, vScalePerColumn = false;
  int qBlock = 1, kBlock = 1;
  /// Values are the first columns of keys.
  bool sharedValues = false;
  /// Keys of the queries' own tokens, the last ones, are not seen.
  bool past = false;
  /// Rows of a block of the cache, where they are known; else 0.
  int blockRows = 0;
  ValueScaling valueScaling = ValueScaling::Result;
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

HK_DEV i64 minOf(i64 a, i64 b) { return a < b ? a : b; }
HK_DEV i64 maxOf(i64 a, i64 b) { return a > b ? a : b; }

/// The rows of a block. False when it has none. Tiles go from the last to the
/// first: under a causal mask the last ones have most keys.
template <AttentionSpec S, AttentionTile T, class R>
HK_DEV bool locateRows(const AttentionArgs<S, R> &a, BlockId id,
                       AttentionBlock &w) {
  constexpr int bq = T.bq;
  i64 tile;
  w.queryStart = w.outStart = w.lseStart = 0;
  w.head = id.y;
  w.padding = false;
  if constexpr (S.queries == SequenceLayout::Ragged) {
    if (a.batch < 0)
      return false;
    w.sequence = raggedSequence(a.qOffsets, a.batch, S.group, bq, id.x);
    w.padding = w.sequence == a.batch;
    w.queryStart = a.qOffsets[w.sequence];
    i64 end = w.padding ? a.queries : i64(a.qOffsets[w.sequence + 1]);
    w.queries = end - w.queryStart;
    tile = i64(id.x) - raggedTile(w.queryStart * S.group, bq, w.sequence);
    i64 tiles = (w.queries * S.group + bq - 1) / bq;
    if (tile >= tiles)
      return false;
    tile = tiles - 1 - tile;
  } else {
    w.queries = a.queries;
    i64 tiles = (w.queries * S.group + bq - 1) / bq;
    w.sequence = S.queries == SequenceLayout::Single ? 0 : i64(id.x) / tiles;
    tile = tiles - 1 - (i64(id.x) - w.sequence * tiles);
  }
  w.first = tile * bq;
  w.count = minOf(bq, w.queries * S.group - w.first);
  return true;
}

/// Rows of a block of a paged cache.
template <AttentionSpec S, class R>
HK_DEV i64 blockRowsOf(const AttentionArgs<S, R> &a) {
  return S.blockRows > 0 ? S.blockRows : a.blockRows;
}

/// Where the keys of its sequence lie, and how many they are.
template <AttentionSpec S, class R>
HK_DEV void locateSequence(const AttentionArgs<S, R> &a, AttentionBlock &w) {
  w.keyStart = w.tableStart = 0;
  w.keys = w.padding ? 0 : a.keys;
  if constexpr (S.keys == SequenceLayout::Ragged)
    if (!w.padding) {
      w.keyStart = a.kvOffsets[w.sequence];
      w.keys = a.kvOffsets[w.sequence + 1] - w.keyStart;
    }
  if constexpr (S.keys == SequenceLayout::Paged) {
    w.tableStart = w.sequence * a.tableRow;
    if constexpr (S.raggedTable)
      if (!w.padding) {
        w.tableStart = a.tableOffsets[w.sequence];
        w.keys =
            (a.tableOffsets[w.sequence + 1] - w.tableStart) * blockRowsOf<S>(a);
      }
    if (a.emptyCache)
      w.keys = 0;
  }
  if constexpr (S.kvLens)
    if (!w.padding) {
      i64 length = maxOf(a.kvLens[w.sequence], 0);
      w.keys = minOf(length, w.keys);
    }
}

/// The keys of its sequence: those of slice `part` if they are split.
template <AttentionSpec S, AttentionTile T, class R>
HK_DEV void locateKeys(const AttentionArgs<S, R> &a, i64 part,
                       AttentionBlock &w) {
  locateSequence<S>(a, w);
  w.slice = {0, w.keys};
  if constexpr (T.splitKv > 1) {
    static_assert(kSliceUnit % T.bk == 0, "a tile of keys is in one slice");
    i64 base = firstSlicedKey(w.keys, w.queries, S.windowLeft);
    i64 each = sliceLength(w.keys - base, T.splitKv);
    w.slice.begin = minOf(base + part * each, w.keys);
    w.slice.end = minOf(w.slice.begin + each, w.keys);
    w.outStart = part * a.outSlice;
    w.lseStart = part * a.lseSlice;
  }
}

template <AttentionSpec S, AttentionTile T, class R>
HK_DEV bool locate(const AttentionArgs<S, R> &a, BlockId id,
                   AttentionBlock &w) {
  if (!locateRows<S, T>(a, id, w))
    return false;
  locateKeys<S, T>(a, id.z, w);
  return true;
}

/// Adds no more keys to what a block has seen: see AttentionSegments.
struct NoMoreSegments {
  static constexpr bool kAny = false;
  template <class... State>
  HK_MEM void operator()(const AttentionBlock &, State &...) const {}
};

/// The keys of the block's slice that query `i` of the sequence sees.
template <AttentionSpec S>
HK_DEV KeyRange visibleKeys(const AttentionBlock &w, i64 i) {
  KeyRange r = w.slice;
  i64 own = i + w.keys - w.queries;
  if constexpr (S.causal)
    r.end = minOf(r.end, own + 1);
  if constexpr (S.windowRight >= 0)
    r.end = minOf(r.end, own + S.windowRight + 1);
  if constexpr (S.windowLeft >= 0)
    r.begin = maxOf(r.begin, own - S.windowLeft);
  if constexpr (S.past)
    r.end = minOf(r.end, w.keys - w.queries);
  r.end = maxOf(r.end, w.slice.begin);
  r.begin = minOf(r.begin, r.end);
  return r;
}

/// Element offset of query `i`, head `h` of the launch.
template <AttentionSpec S, class R>
HK_DEV i64 queryOffset(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                       i64 row) {
  i64 i = row / S.group, h = w.head * S.group + row % S.group;
  i64 at = (w.queryStart + i) * a.qRow + h * a.qHead;
  if constexpr (S.queries == SequenceLayout::Dense)
    at += w.sequence * a.qSequence;
  return at;
}
template <AttentionSpec S, class R>
HK_DEV i64 outOffset(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                     i64 row) {
  i64 i = row / S.group, h = w.head * S.group + row % S.group;
  i64 at = w.outStart + (w.queryStart + i) * a.outRow + h * a.outHead;
  if constexpr (S.queries == SequenceLayout::Dense)
    at += w.sequence * a.outSequence;
  return at;
}
template <AttentionSpec S, class R>
HK_DEV i64 lseOffset(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                     i64 row) {
  i64 i = row / S.group, h = w.head * S.group + row % S.group;
  i64 at = w.lseStart + (w.queryStart + i) * a.lseRow + h;
  if constexpr (S.queries == SequenceLayout::Dense)
    at += w.sequence * a.lseSequence;
  return at;
}

/// Whether KEYS keys, from a multiple of them on, lie at equal distances: not
/// in several blocks of a cache, nor in chunks of rows.
template <AttentionSpec S, int KEYS>
inline constexpr bool kOneBlock =
    S.keyChunk == 0 && S.valueChunk == 0 &&
    (S.keys != SequenceLayout::Paged ||
     (S.blockRows > 0 && S.blockRows % KEYS == 0));

/// Element offsets of a key and of its value.
struct KeyOffset {
  i64 k, v;
};
/// The entry of the block table for a key; below 0: no query sees it.
template <AttentionSpec S, class R>
HK_DEV i64 blockOf(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                   i64 key) {
  return a.blockTable[w.tableStart + key / blockRowsOf<S>(a)];
}
/// Whether the block of a key is missing.
template <AttentionSpec S, class R>
HK_DEV bool isMissing(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                      i64 key) {
  if constexpr (S.keys == SequenceLayout::Paged)
    return blockOf<S>(a, w, key) < 0;
  return false;
}

/// The sequence or block that a key lies in, and its row there.
struct KeyPlace {
  i64 outer, row;
};
/// Of a missing key: some key that can be read.
template <AttentionSpec S, class R>
HK_DEV KeyPlace keyPlace(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                         i64 key) {
  if constexpr (S.keys == SequenceLayout::Paged)
    return {maxOf(blockOf<S>(a, w, key), 0), key % blockRowsOf<S>(a)};
  return {w.sequence, w.keyStart + key};
}

template <AttentionSpec S, class R>
HK_DEV KeyOffset keyOffset(const AttentionArgs<S, R> &a,
                           const AttentionBlock &w, i64 key) {
  auto [outer, row] = keyPlace<S>(a, w, key);
  KeyOffset o = {row * a.kRow + w.head * a.kHead,
                 row * a.vRow + w.head * a.vHead};
  if constexpr (S.valueChunk > 0)
    o.v = row / S.valueChunk * a.vRow + row % S.valueChunk + w.head * a.vHead;
  if constexpr (S.keys == SequenceLayout::Dense ||
                S.keys == SequenceLayout::Paged) {
    o.k += outer * a.kSequence;
    o.v += outer * a.vSequence;
  }
  return o;
}

/// Element offset of element `d` of a key, and of a column of a value.
template <AttentionSpec S, class R>
HK_DEV i64 keyElement(const AttentionArgs<S, R> &a, i64 d) {
  if constexpr (S.keyChunk > 0)
    return d / S.keyChunk * a.kChunk + d % S.keyChunk;
  return d;
}
template <AttentionSpec S, class R>
HK_DEV i64 valueElement(const AttentionArgs<S, R> &a, i64 column) {
  if constexpr (S.valueChunk > 0)
    return column * a.vColumn;
  return column;
}

} // namespace hk

#endif // HK_KERNELS_ATTENTION_SPEC_H
