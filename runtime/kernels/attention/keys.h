//===- keys.h - Where the keys of a sequence lie ----------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One policy for rows of tensors and one for pages of a cache: where the keys
// of a block's sequence begin and how many they are, where one of them lies,
// and whether it is there at all.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_KEYS_H
#define HK_KERNELS_ATTENTION_KEYS_H

#include "kernels/attention/spec.h"

namespace hk {

HK_DEV i64 minOf(i64 a, i64 b) { return a < b ? a : b; }
HK_DEV i64 maxOf(i64 a, i64 b) { return a > b ? a : b; }

/// The sequence or page that a key lies in, and its row there.
struct KeyPlace {
  i64 outer, row;
};

/// Keys that are rows of a tensor, of one sequence after the other or of a dim
/// for each.
template <AttentionSpec S> struct KeysInRows {
  /// Whether sequences, or pages, have a dim of their own.
  static constexpr bool kOuter = S.keys.layout == KeyLayout::Dense;

  template <class R>
  HK_MEM static void locate(const AttentionArgs<S, R> &a, AttentionBlock &w) {
    if constexpr (S.keys.layout == KeyLayout::Ragged)
      if (!w.padding) {
        w.keyStart = a.kvOffsets[w.sequence];
        w.keys = a.kvOffsets[w.sequence + 1] - w.keyStart;
      }
  }
  template <class R>
  HK_MEM static bool isMissing(const AttentionArgs<S, R> &,
                               const AttentionBlock &, i64) {
    return false;
  }
  template <class R>
  HK_MEM static KeyPlace place(const AttentionArgs<S, R> &,
                               const AttentionBlock &w, i64 key) {
    return {w.sequence, w.keyStart + key};
  }
};

/// Keys in pages of a cache, which a block table names.
template <AttentionSpec S> struct KeysInPages {
  static constexpr bool kOuter = true;

  template <class R> HK_MEM static i64 rowsOf(const AttentionArgs<S, R> &a) {
    return S.keys.pageRows > 0 ? S.keys.pageRows : a.blockRows;
  }
  template <class R>
  HK_MEM static void locate(const AttentionArgs<S, R> &a, AttentionBlock &w) {
    w.tableStart = w.sequence * a.tableRow;
    if constexpr (S.keys.layout == KeyLayout::PagedByOffsets)
      if (!w.padding) {
        w.tableStart = a.tableOffsets[w.sequence];
        w.keys = (a.tableOffsets[w.sequence + 1] - w.tableStart) * rowsOf(a);
      }
    if (a.emptyCache)
      w.keys = 0;
  }
  /// The entry of the block table for a key; below 0: no query sees it.
  template <class R>
  HK_MEM static i64 entry(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                          i64 key) {
    return a.blockTable[w.tableStart + key / rowsOf(a)];
  }
  template <class R>
  HK_MEM static bool isMissing(const AttentionArgs<S, R> &a,
                               const AttentionBlock &w, i64 key) {
    return entry(a, w, key) < 0;
  }
  template <class R>
  HK_MEM static KeyPlace place(const AttentionArgs<S, R> &a,
                               const AttentionBlock &w, i64 key) {
    return {maxOf(entry(a, w, key), 0), key % rowsOf(a)};
  }
};

template <AttentionSpec S, bool PAGED> struct PickKeys {
  using Type = KeysInRows<S>;
};
template <AttentionSpec S> struct PickKeys<S, true> {
  using Type = KeysInPages<S>;
};
/// The policy of the keys of a spec.
template <AttentionSpec S>
using KeysOf = typename PickKeys<S, S.keys.isPaged()>::Type;

/// Where the keys of its sequence lie, and how many they are.
template <AttentionSpec S, class R>
HK_DEV void locateSequence(const AttentionArgs<S, R> &a, AttentionBlock &w) {
  w.keyStart = w.tableStart = 0;
  w.keys = w.padding ? 0 : a.keys;
  KeysOf<S>::locate(a, w);
  if constexpr (S.keys.hasCount())
    if (!w.padding) {
      i64 length = maxOf(a.kvLens[w.sequence], 0);
      w.keys = minOf(length, w.keys);
    }
}

/// Whether the page of a key is missing.
template <AttentionSpec S, class R>
HK_DEV bool isMissing(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                      i64 key) {
  return KeysOf<S>::isMissing(a, w, key);
}
/// Of a missing key: some key that can be read.
template <AttentionSpec S, class R>
HK_DEV KeyPlace keyPlace(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                         i64 key) {
  return KeysOf<S>::place(a, w, key);
}

/// Whether KEYS keys, from a multiple of them on, lie at equal distances: not
/// in several blocks of a cache, nor in chunks of rows.
template <AttentionSpec S, int KEYS>
inline constexpr bool kOneBlock =
    S.keyChunk == 0 && S.valueChunk == 0 &&
    (!S.keys.isPaged() || (S.keys.pageRows > 0 && S.keys.pageRows % KEYS == 0));

/// Element offsets of a key and of its value.
struct KeyOffset {
  i64 k, v;
};
template <AttentionSpec S, class R>
HK_DEV KeyOffset keyOffset(const AttentionArgs<S, R> &a,
                           const AttentionBlock &w, i64 key) {
  auto [outer, row] = keyPlace<S>(a, w, key);
  KeyOffset o = {row * a.kRow + w.head * a.kHead,
                 row * a.vRow + w.head * a.vHead};
  if constexpr (S.valueChunk > 0)
    o.v = row / S.valueChunk * a.vRow + row % S.valueChunk + w.head * a.vHead;
  if constexpr (KeysOf<S>::kOuter) {
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

#endif // HK_KERNELS_ATTENTION_KEYS_H
