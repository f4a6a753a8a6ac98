//===- spec.h - What a gradient kernel is instantiated with -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compile-time facts and run-time arguments of the kernels of attention's
// gradients, and how a launch is dealt out to blocks.
//
// A row is a (query, head) pair of one key head, as in
// kernels/attention/block.h. A block owns keys and walks the rows that see one
// of them (dk, dv), or owns rows and walks the keys that one of them sees (dq).
// Both are intervals whose ends grow with what is owned, so one loop serves
// both, over an `Own` that says what is owned. Nothing is shared between
// blocks: no atomics.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_BACKWARD_SPEC_H
#define HK_KERNELS_ATTENTION_BACKWARD_SPEC_H

#include "hk/Contract/LdsAttentionBackward.h"
#include "kernels/attention/block.h"

namespace hk {

struct AttentionBackwardSpec {
  DType type;    // of queries, keys, values and the gradient
  DType outType; // of dq, dk and dv
  int headDim, valueDim;
  int group;               // query heads per key head
  SequenceLayout sequence; // of queries and keys
  bool causal, softcap;
  /// The results that are wanted.
  bool dq, dk, dv, dsink;
  /// Keys a query sees to the left and right of its own; < 0: no limit.
  i64 windowLeft, windowRight;
  /// Bytes every row of operands and gradients is aligned to.
  int align;
  /// Whether the gradient of a bias is wanted, its type, and whether it is one
  /// for all sequences.
  bool dbias = false;
  DType biasType = DType::F32;
  bool sumsDbias = false;
  /// Queries and keys that dbias has of every ragged sequence; < 0: as many as
  /// all sequences have.
  i64 biasQueries = -1, biasKeys = -1;
  /// What makes p of scores; a sink is no matter of the pairs.
  Normalizer normalizer = Normalizer::Softmax;
};

/// Strides in elements; `sequence` is unused but for dense operands.
struct BackwardStrides {
  i64 sequence, row, head;
};

template <AttentionBackwardSpec S> struct AttentionBackwardArgs {
  Global<const Storage<S.type>> q, k, v, gradient;
  Global<const float> lse, delta, sink;
  Global<const i32> qOffsets, kvOffsets;
  Global<Storage<S.outType>> dq, dk, dv;
  Global<Storage<S.biasType>> dbias;
  Global<float> dsink;
  /// Where dq is summed in memory: parts of it, and how many blocks have added
  /// to each (sm90/ordered.h).
  Global<float> sums;
  Global<u32> turns;
  /// Sequences; queries and keys of one sequence (ragged: of all of them).
  i64 batch, queries, keys;
  BackwardStrides qStride, kStride, vStride, gradientStride, lseStride,
      deltaStride, dqStride, dkStride, dvStride, dbiasStride;
  float scale, softcap;
  /// The words of the launch, which regions read.
  const u64 *words;
};

/// What a block owns.
enum class Own : int { Keys, Rows };

/// Keys, or rows, [first, first + count) of key head `head` of one sequence. A
/// sequence has fewer than 2^31 rows.
struct BackwardBlock {
  i32 sequence, head;
  i32 first, count;
  i32 queries, keys;        // of the sequence
  i32 queryStart, keyStart; // first row in ragged tensors
};

/// [begin, end) of keys or rows of a sequence.
struct BackwardRange {
  i64 begin, end;
};

/// Rows per query of a tile of keys or rows.
template <AttentionBackwardSpec S, Own O>
inline constexpr i64 kRowsEach = O == Own::Keys ? 1 : S.group;

/// Tiles of `size` keys or rows that the grid has for all sequences. EACH: rows
/// of a query; 1: a tile's are of one head.
template <AttentionBackwardSpec S, Own O, i64 EACH = kRowsEach<S, O>>
HK_DEV i64 backwardTiles(const AttentionBackwardArgs<S> &a, i64 size) {
  i64 owned = (O == Own::Keys ? a.keys : a.queries) * EACH;
  if constexpr (S.sequence == SequenceLayout::Ragged)
    return owned / size + maxOf(a.batch + 1, 1);
  return (owned + size - 1) / size *
         (S.sequence == SequenceLayout::Dense ? a.batch : 1);
}

/// False when the tile has nothing. Tiles of rows go from the last to the
/// first: under a causal mask those walk most keys, as the first keys are seen
/// by most rows.
template <AttentionBackwardSpec S, Own O, i64 EACH = kRowsEach<S, O>>
HK_DEV bool locateBackward(const AttentionBackwardArgs<S> &a, i64 tile,
                           i64 head, i64 size, BackwardBlock &w) {
  constexpr i64 units = EACH;
  constexpr bool keys = O == Own::Keys;
  w.head = i32(head);
  w.queryStart = w.keyStart = w.sequence = 0;
  w.queries = i32(a.queries);
  w.keys = i32(a.keys);
  if constexpr (S.sequence == SequenceLayout::Ragged) {
    if (a.batch < 0)
      return false;
    i64 b = raggedSequence(keys ? a.kvOffsets : a.qOffsets, a.batch, units,
                           size, tile);
    w.sequence = i32(b);
    w.queryStart = a.qOffsets[b];
    w.keyStart = a.kvOffsets[b];
    if (b < a.batch) {
      w.queries = a.qOffsets[b + 1] - w.queryStart;
      w.keys = a.kvOffsets[b + 1] - w.keyStart;
    } else { // behind the last offset: of no sequence, nothing to walk
      w.queries = keys ? 0 : w.queries - w.queryStart;
      w.keys = keys ? w.keys - w.keyStart : 0;
    }
    tile -= raggedTile(i64(keys ? w.keyStart : w.queryStart) * units, size, b);
  }
  i64 owned = (keys ? w.keys : w.queries) * units;
  i64 tiles = (owned + size - 1) / size;
  if constexpr (S.sequence == SequenceLayout::Ragged) {
    if (tile >= tiles)
      return false;
  } else if constexpr (S.sequence == SequenceLayout::Dense) {
    w.sequence = i32(u32(tile) / u32(tiles));
    tile -= w.sequence * tiles;
  }
  if (!keys)
    tile = tiles - 1 - tile;
  w.first = i32(tile * size);
  w.count = i32(minOf(size, owned - w.first));
  return true;
}

/// Rows x keys of one tile of dbias, and the sequences [first, end) that share
/// them.
struct BackwardBias {
  i64 rows, keys, first, end;
};
template <AttentionBackwardSpec S>
HK_DEV i64 biasQueries(const AttentionBackwardArgs<S> &a) {
  return S.biasQueries < 0 ? a.queries : S.biasQueries;
}
template <AttentionBackwardSpec S>
HK_DEV i64 biasKeys(const AttentionBackwardArgs<S> &a) {
  return S.biasKeys < 0 ? a.keys : S.biasKeys;
}
/// Tile `tile` of those, of T.rows rows and T.walked keys: those of a row
/// follow each other.
template <AttentionBackwardSpec S>
HK_DEV BackwardBias locateBias(const AttentionBackwardArgs<S> &a, i64 tile,
                               const AttentionBackwardTile &t) {
  i64 across = (biasKeys<S>(a) + t.walked - 1) / t.walked;
  i64 down = (biasQueries<S>(a) * S.group + t.rows - 1) / t.rows;
  i64 sequence = S.sumsDbias ? 0 : tile / (across * down);
  return {tile / across % down * t.rows, tile % across * t.walked, sequence,
          S.sumsDbias ? a.batch : sequence + 1};
}
/// The rows of it in dbias, which has them all.
template <AttentionBackwardSpec S>
HK_DEV BackwardBlock blockOfBias(const AttentionBackwardArgs<S> &a,
                                 const BackwardBias &bias, i64 head, i64 size) {
  i64 rows = biasQueries<S>(a) * S.group - bias.rows;
  return {i32(bias.first),
          i32(head),
          i32(bias.rows),
          i32(minOf(size, rows)),
          i32(biasQueries<S>(a)),
          i32(biasKeys<S>(a)),
          0,
          0};
}
/// Those that sequence `b` has; false: it has none, or none of the keys.
template <AttentionBackwardSpec S>
HK_DEV bool findBiasRows(const AttentionBackwardArgs<S> &a,
                         const BackwardBias &bias, i64 b, i64 head, i64 size,
                         BackwardBlock &w) {
  w = blockOfBias<S>(a, bias, head, size);
  w.sequence = i32(b);
  w.queries = i32(a.queries);
  w.keys = i32(a.keys);
  if constexpr (S.sequence == SequenceLayout::Ragged) {
    w.queryStart = a.qOffsets[b];
    w.keyStart = a.kvOffsets[b];
    w.queries = a.qOffsets[b + 1] - w.queryStart;
    w.keys = a.kvOffsets[b + 1] - w.keyStart;
  }
  if constexpr (S.biasQueries < 0)
    return true;
  w.count = i32(minOf(w.count, i64(w.queries) * S.group - bias.rows));
  return w.count > 0 && bias.keys < w.keys;
}

/// Keys that query `i` sees.
template <AttentionBackwardSpec S>
HK_DEV BackwardRange keysOf(const BackwardBlock &w, i64 i) {
  BackwardRange r = {0, w.keys};
  i64 own = i + i64(w.keys) - w.queries;
  if constexpr (S.causal)
    r.end = minOf(r.end, own + 1);
  if constexpr (S.windowRight >= 0)
    r.end = minOf(r.end, own + S.windowRight + 1);
  if constexpr (S.windowLeft >= 0)
    r.begin = maxOf(r.begin, own - S.windowLeft);
  r.end = maxOf(r.end, 0);
  r.begin = minOf(r.begin, r.end);
  return r;
}
/// Queries that see key `j`.
template <AttentionBackwardSpec S>
HK_DEV BackwardRange queriesOf(const BackwardBlock &w, i64 j) {
  BackwardRange r = {0, w.queries};
  i64 own = j + i64(w.queries) - w.keys;
  if constexpr (S.causal)
    r.begin = maxOf(r.begin, own);
  if constexpr (S.windowRight >= 0)
    r.begin = maxOf(r.begin, own - S.windowRight);
  if constexpr (S.windowLeft >= 0)
    r.end = minOf(r.end, own + S.windowLeft + 1);
  r.end = maxOf(r.end, 0);
  r.begin = minOf(r.begin, r.end);
  return r;
}
/// What key or row `own` walks: rows or keys.
template <AttentionBackwardSpec S, Own O>
HK_DEV BackwardRange walkOf(const BackwardBlock &w, i64 own) {
  if constexpr (O == Own::Rows)
    return keysOf<S>(w, u32(own) / S.group);
  BackwardRange r = queriesOf<S>(w, own);
  return {r.begin * S.group, r.end * S.group};
}
/// The union over all that the block owns, empty if begin == end.
template <AttentionBackwardSpec S, Own O>
HK_DEV BackwardRange walkOf(const BackwardBlock &w) {
  i64 begin = walkOf<S, O>(w, w.first).begin;
  i64 end = walkOf<S, O>(w, i64(w.first) + w.count - 1).end;
  return {minOf(begin, end), end};
}

/// Elements of the keys (Group 1) or rows of a block's sequence and key head,
/// of which there are fewer than 2^31.
template <class T, int Group> struct BackwardView {
  Global<T> base;
  i64 row, head;
  HK_MEM Global<T> at(i64 i) const {
    u32 at = u32(i);
    Global<T> p = base + i64(at / Group) * row;
    return Group == 1 ? p : p + i64(at % Group) * head;
  }
};
template <AttentionBackwardSpec S, Own O, class T>
using ViewOf = BackwardView<T, int(kRowsEach<S, O>)>;

template <AttentionBackwardSpec S, Own O, class T>
HK_DEV ViewOf<S, O, T> viewOf(Global<T> p, const BackwardStrides &s,
                              const BackwardBlock &w) {
  i64 start = O == Own::Keys ? w.keyStart : w.queryStart;
  p += start * s.row + w.head * kRowsEach<S, O> * s.head;
  if constexpr (S.sequence == SequenceLayout::Dense)
    p += w.sequence * s.sequence;
  return {p, s.row, s.head};
}

/// The operands of keys or rows: `head` the key or query, `value` the value or
/// gradient.
template <AttentionBackwardSpec S, Own O> struct BackwardSide {
  ViewOf<S, O, const Storage<S.type>> head, value;
};
template <AttentionBackwardSpec S, Own O>
HK_DEV BackwardSide<S, O> sideOf(const AttentionBackwardArgs<S> &a,
                                 const BackwardBlock &w) {
  if constexpr (O == Own::Keys)
    return {viewOf<S, O>(a.k, a.kStride, w), viewOf<S, O>(a.v, a.vStride, w)};
  else
    return {viewOf<S, O>(a.q, a.qStride, w),
            viewOf<S, O>(a.gradient, a.gradientStride, w)};
}

/// The gradients of keys (`value` that of the values) or rows.
template <AttentionBackwardSpec S, Own O> struct BackwardResults {
  ViewOf<S, O, Storage<S.outType>> head, value;
};
template <AttentionBackwardSpec S, Own O>
HK_DEV BackwardResults<S, O> resultsOf(const AttentionBackwardArgs<S> &a,
                                       const BackwardBlock &w) {
  if constexpr (O == Own::Keys)
    return {viewOf<S, O>(a.dk, a.dkStride, w),
            viewOf<S, O>(a.dv, a.dvStride, w)};
  else
    return {viewOf<S, O>(a.dq, a.dqStride, w), {}};
}

/// Rows of dbias of a block's key head, those of its sequence.
template <AttentionBackwardSpec S>
HK_DEV ViewOf<S, Own::Rows, Storage<S.biasType>>
biasOf(const AttentionBackwardArgs<S> &a, const BackwardBlock &w) {
  return viewOf<S, Own::Rows>(a.dbias, a.dbiasStride, w);
}

/// The numbers that rows have with a softmax.
template <AttentionBackwardSpec S> struct BackwardNumbers {
  ViewOf<S, Own::Rows, const float> lse, delta;
};
template <AttentionBackwardSpec S>
HK_DEV BackwardNumbers<S> numbersOf(const AttentionBackwardArgs<S> &a,
                                    const BackwardBlock &w) {
  if constexpr (S.normalizer == Normalizer::None)
    return {};
  return {viewOf<S, Own::Rows>(a.lse, a.lseStride, w),
          viewOf<S, Own::Rows>(a.delta, a.deltaStride, w)};
}

inline constexpr Own otherOwn(Own own) {
  return own == Own::Keys ? Own::Rows : Own::Keys;
}

} // namespace hk

#endif // HK_KERNELS_ATTENTION_BACKWARD_SPEC_H
