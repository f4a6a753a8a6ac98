//===- spec.h - What a kernel of an indexer's logits is made of -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compile-time facts and the run-time arguments of hk.mqa_logits, the
// queries and keys of a block, and which keys a query sees. The grid is (groups
// of bq queries of every sequence, tiles of bk keys).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_MQALOGITS_SPEC_H
#define HK_KERNELS_MQALOGITS_SPEC_H

#include "hk/Contract/MqaLogits.h"
#include "kernels/device/convert.h"
#include "kernels/device/io.h"
#include "kernels/device/launch.h"
#include "kernels/device/math.h"

namespace hk {

struct MqaLogitsSpec {
  DType type; // of queries and keys
  int headDim, heads;
  bool paged, scales, starts, ends;
  /// Bytes every row of queries and keys is aligned to.
  int align;

  constexpr MqaLogitsShape shape() const { return {type, headDim, heads}; }
};

/// Strides count elements.
template <MqaLogitsSpec S> struct MqaLogitsArgs {
  Global<const Storage<S.type>> q, k;
  Global<const float> weights, scales;
  Global<const i32> starts, ends, kvLens, blockTable;
  Global<float> out;
  /// Sequences; queries of one; keys that a row of the result has; paged:
  /// blocks of the cache and rows of a block.
  i64 sequences, queries, keys, blocks, blockSize;
  i64 qSequence, qRow, qHead;
  i64 kBlock, kRow;
  i64 weightSequence, weightRow;
  i64 scaleBlock, scaleRow;
  i64 tableRow;
  i64 outSequence, outRow;
};

/// Queries [first, first + count) of a sequence and keys from firstKey on.
struct MqaLogitsBlock {
  i64 sequence, first, count, firstKey;
};

/// Keys [begin, end).
struct LogitRange {
  i64 begin, end;
};

template <MqaLogitsSpec S, AttentionTile T>
HK_DEV MqaLogitsBlock locate(const MqaLogitsArgs<S> &a, BlockId id) {
  i64 groups = (a.queries + T.bq - 1) / T.bq;
  MqaLogitsBlock w;
  w.sequence = S.paged ? id.x / groups : 0;
  w.first = (id.x - w.sequence * groups) * T.bq;
  w.count = a.queries - w.first < T.bq ? a.queries - w.first : T.bq;
  w.firstKey = i64(id.y) * T.bk;
  return w;
}

/// The keys that query `i` of the sequence sees, perhaps none.
template <MqaLogitsSpec S>
HK_DEV LogitRange seenKeys(const MqaLogitsArgs<S> &a, i64 sequence, i64 i) {
  LogitRange r = {0, a.keys};
  if constexpr (S.paged)
    r.end = a.kvLens[sequence] - a.queries + i + 1;
  if constexpr (S.starts)
    r.begin = a.starts[i] > 0 ? a.starts[i] : 0;
  if constexpr (S.ends)
    r.end = a.ends[i];
  r.end = r.end < a.keys ? r.end : a.keys;
  return r;
}

/// From the first to the last key that some query of the block sees.
template <MqaLogitsSpec S>
HK_DEV LogitRange seenByBlock(const MqaLogitsArgs<S> &a,
                              const MqaLogitsBlock &w) {
  LogitRange all = {a.keys, 0};
  for (i64 i = w.first; i < w.first + w.count; ++i) {
    LogitRange r = seenKeys(a, w.sequence, i);
    all.begin = r.begin < all.begin ? r.begin : all.begin;
    all.end = r.end > all.end ? r.end : all.end;
  }
  return all;
}

/// Element offsets of a key and of its scale; `exists` is false where no block
/// of the cache has it.
struct LogitKey {
  bool exists;
  i64 key, scale;
};
template <MqaLogitsSpec S>
HK_DEV LogitKey keyAt(const MqaLogitsArgs<S> &a, i64 sequence, i64 j) {
  if constexpr (!S.paged)
    return {true, j * a.kRow, j * a.scaleRow};
  i64 entry = j / a.blockSize, row = j - entry * a.blockSize;
  i64 block = a.blockTable[sequence * a.tableRow + entry];
  return {u64(block) < u64(a.blocks), block * a.kBlock + row * a.kRow,
          block * a.scaleBlock + row * a.scaleRow};
}

template <MqaLogitsSpec S>
HK_DEV i64 queryOffset(const MqaLogitsArgs<S> &a, i64 sequence, i64 i) {
  return sequence * a.qSequence + i * a.qRow;
}
template <MqaLogitsSpec S>
HK_DEV i64 weightOffset(const MqaLogitsArgs<S> &a, i64 sequence, i64 i) {
  return sequence * a.weightSequence + i * a.weightRow;
}
template <MqaLogitsSpec S>
HK_DEV i64 outOffset(const MqaLogitsArgs<S> &a, i64 sequence, i64 i) {
  return sequence * a.outSequence + i * a.outRow;
}

} // namespace hk

#endif // HK_KERNELS_MQALOGITS_SPEC_H
