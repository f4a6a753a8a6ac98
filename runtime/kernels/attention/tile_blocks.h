//===- tile_blocks.h - Where the keys of a tile lie -------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a walk over keys knows of a tile before it asks for its rows, so that
// no row waits for the block table: the entries for its blocks. On sm_90a a
// tile is pieces of rows at equal distances, each within a block, whose
// addresses are a sum for each copy.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_TILEBLOCKS_H
#define HK_KERNELS_ATTENTION_TILEBLOCKS_H

#include "kernels/attention/keys.h"

namespace hk {

/// Entries of the block table: of every Step-th key from j on; behind key
/// `last`, that of its block.
template <AttentionSpec S, int Step, int Count, class R>
HK_DEV void findEntries(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                        i32 j, i32 last, i32 (&entry)[Count]) {
  HK_UNROLL for (int b = 0; b < Count; ++b) entry[b] =
      i32(KeysOf<S>::entry(a, w, minOf(j + b * Step, last)));
}
/// Whether a block of these entries is missing: no query sees it.
template <int Count> HK_DEV bool missesAny(const i32 (&entry)[Count]) {
  bool any = false;
  HK_UNROLL for (i32 e : entry) any |= e < 0;
  return any;
}

/// Entries of the block table: of the blocks that a tile of Keys from key
/// `first` on lies in. Behind key `last`, that of its block.
template <AttentionSpec S, bool Known, int Keys> struct TableEntries {
  static constexpr int kCount =
      Known && S.keys.pageRows < Keys ? Keys / S.keys.pageRows : 1;
  i32 first, last, entry[kCount];

  template <class R>
  HK_MEM void find(const AttentionArgs<S, R> &a, const AttentionBlock &w, i32 j,
                   i32 end) {
    first = j;
    last = end - 1;
    if constexpr (Known)
      findEntries<S, S.keys.pageRows>(a, w, j, last, entry);
  }
  /// The entry for a key of the tile.
  HK_MEM i32 of(i32 key) const {
    i32 found = entry[0];
    HK_UNROLL for (int b = 1; b < kCount; ++b) found =
        key >= first + b * S.keys.pageRows ? entry[b] : found;
    return found;
  }
  HK_MEM bool anyMissing() const { return missesAny(entry); }
};

/// Strides of keys or of values, in elements.
struct KeyStrides {
  i64 sequence, row, head;
};

/// Pieces of a tile of Keys that begins at a multiple of them: kRows rows each
/// at equal distances.
template <AttentionSpec S, int Keys> struct TilePieces {
  static constexpr bool kPaged = S.keys.isPaged();
  static constexpr int kRows = [] {
    int a = Keys, b = kPaged ? int(S.keys.pageRows) : 0;
    while (b != 0) {
      int rest = a % b;
      a = b;
      b = rest;
    }
    return a;
  }();
  static constexpr int kCount = Keys / kRows;
  /// Swizzles of rows in LDS repeat after 8.
  static constexpr bool kExists = S.keyChunk == 0 && S.valueChunk == 0 &&
                                  (!kPaged || S.keys.pageRows > 0) &&
                                  kRows % 8 == 0;
  /// Entries of the block table; below 0: no query sees the piece.
  i32 entry[kCount];

  template <class R>
  HK_MEM void find(const AttentionArgs<S, R> &a, const AttentionBlock &w, i32 j,
                   i32 end) {
    if constexpr (kPaged)
      findEntries<S, kRows>(a, w, j, end - 1, entry);
  }
  /// Of key `key` of the tile.
  HK_MEM bool isMissing(int key) const { return entry[key / kRows] < 0; }
  HK_MEM bool anyMissing() const { return missesAny(entry); }

  /// Asks `copy` for keys [j, j + Keys) of what lies at p. Behind `end`, and in
  /// a block that is missing, lie zeros.
  template <class P, class Copy>
  HK_MEM void issue(P p, KeyStrides by, const AttentionBlock &w, i32 j, i32 end,
                    int thread, Copy &copy, u8 *lds) const {
    HK_UNROLL for (int b = 0; b < kCount; ++b) {
      i32 first = j + b * kRows, rows = end - first;
      i64 at = w.head * by.head;
      if constexpr (kPaged) {
        rows = entry[b] < 0 ? 0 : rows;
        at += i64(entry[b] < 0 ? 0 : entry[b]) * by.sequence +
              first % S.keys.pageRows * by.row;
      } else {
        at += (w.keyStart + first) * by.row;
        if constexpr (S.keys.layout == KeyLayout::Dense)
          at += w.sequence * by.sequence;
      }
      copy.template issueRows<kRows>(thread, (Global<const u8>)(p + at),
                                     by.row * i64(sizeof(*p)), rows,
                                     lds + b * kRows * Copy::kRowBytes);
    }
  }
};

template <AttentionSpec S, bool Pieces, bool Known, int Keys>
struct PickTileBlocks {
  using Type = TableEntries<S, Known, Keys>;
};
template <AttentionSpec S, bool Known, int Keys>
struct PickTileBlocks<S, true, Known, Keys> {
  using Type = TilePieces<S, Keys>;
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_TILEBLOCKS_H
