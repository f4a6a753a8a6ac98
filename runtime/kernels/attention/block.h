//===- block.h - The rows of a block and what they see ----------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which rows of which sequence a block has, which keys each of them sees, and
// where their queries and results lie. Every visibility rule of the operator is
// an interval of keys per query.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_BLOCK_H
#define HK_KERNELS_ATTENTION_BLOCK_H

#include "kernels/attention/keys.h"
#include "kernels/device/launch.h"
#include "kernels/device/ragged.h"

namespace hk {

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

/// The keys of its sequence: those of slice `part` if they are split.
template <AttentionSpec S, AttentionTile T, class R>
HK_DEV void locateKeys(const AttentionArgs<S, R> &a, i64 part,
                       AttentionBlock &w) {
  locateSequence<S>(a, w);
  w.slice = {0, w.keys};
  if constexpr (T.splitKv > 1) {
    static_assert(kSliceUnit % T.bk == 0, "a tile of keys is in one slice");
    i64 base = firstSlicedKey(w.keys, w.queries, S.window.left);
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
  if constexpr (S.window.right >= 0)
    r.end = minOf(r.end, own + S.window.right + 1);
  if constexpr (S.window.left >= 0)
    r.begin = maxOf(r.begin, own - S.window.left);
  if constexpr (S.window.own == OwnKeys::Elsewhere)
    r.end = minOf(r.end, w.keys - w.queries);
  r.end = maxOf(r.end, w.slice.begin);
  r.begin = minOf(r.begin, r.end);
  return r;
}

/// Element offset of a row of the block, from `start`, in a tensor of queries
/// and heads with these strides.
template <AttentionSpec S>
HK_DEV i64 rowOffset(const AttentionBlock &w, i64 row, i64 start,
                     i64 queryStride, i64 headStride, i64 sequenceStride) {
  i64 i = row / S.group, h = w.head * S.group + row % S.group;
  i64 at = start + (w.queryStart + i) * queryStride + h * headStride;
  if constexpr (S.queries == SequenceLayout::Dense)
    at += w.sequence * sequenceStride;
  return at;
}
template <AttentionSpec S, class R>
HK_DEV i64 queryOffset(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                       i64 row) {
  return rowOffset<S>(w, row, 0, a.qRow, a.qHead, a.qSequence);
}
template <AttentionSpec S, class R>
HK_DEV i64 outOffset(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                     i64 row) {
  return rowOffset<S>(w, row, w.outStart, a.outRow, a.outHead, a.outSequence);
}
template <AttentionSpec S, class R>
HK_DEV i64 lseOffset(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                     i64 row) {
  return rowOffset<S>(w, row, w.lseStart, a.lseRow, 1, a.lseSequence);
}

} // namespace hk

#endif // HK_KERNELS_ATTENTION_BLOCK_H
