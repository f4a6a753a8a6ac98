//===- stream.h - Few rows walk over keys in registers -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The walk of waves that have all of at most 16 rows and keys of their own: a
// step of keys and its values come from memory into the registers that are
// multiplied. Keys of the next step are asked for where this one's have become
// scores, values where they have been added; what a wave waits for is always
// older than what it goes on to ask for, so it never waits for everything.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_STREAM_H
#define HK_KERNELS_ATTENTION_STREAM_H

#include "kernels/attention/matrix_tile.h"

namespace hk {

template <AttentionSpec S, AttentionTile T, class R>
struct AttentionStream : AttentionMatrixConfig<S, T, R> {
  using Config = AttentionMatrixConfig<S, T, R>;
  using Tile = AttentionMatrixTile<S, T, R>;
  using Config::kGaps, Config::kFindsAhead;
  using typename Config::Args, typename Config::Fragments,
      typename Config::TileBlocks, typename Config::Rows, typename Config::Walk;
  static_assert(!kGaps || (kFindsAhead &&
                           S.keys.pageRows % Fragments::kGroupKeys == 0),
                "a group of keys lies in one page");

  template <int STEP>
  HK_DEV void walk(const Args &a, const AttentionBlock &w, Fragments &f,
                   Rows &rows, const Walk &x) {
    const i32 begin = fromLane(x.begin, 0), end = fromLane(x.end, 0);
    if (begin >= end)
      return;
    AttentionBlock block = w;
    block.tableStart = scalar(w.tableStart);
    const Place k = place(w, a.k, {a.kSequence, a.kRow, a.kHead}, S.headDim);
    const Place v = place(w, a.v, {a.vSequence, a.vRow, a.vHead}, S.valueDim);
    TileBlocks now, next, after;
    now.find(a, block, begin, end);
    next.find(a, block, begin + STEP, end);
    HK_UNROLL for (int g = 0; g < Fragments::kGroups; ++g)
        f.loadKeys(g, view(now, g, k));
    keepOrder();
    HK_UNROLL for (int g = 0; g < Fragments::kGroups; ++g)
        f.loadValues(g, view(now, g, v));
    keepOrder();
    for (i32 j = begin; j < end; j += STEP) {
      after.find(a, block, j + 2 * STEP, end);
      f.scores();
      keepOrder();
      // Behind the last step rows that do not exist, which nobody reads.
      HK_UNROLL for (int g = 0; g < Fragments::kGroups; ++g)
          f.loadKeys(g, view(next, g, k));
      keepOrder();
      Tile::weigh(a, w, f, rows, j, x, now);
      f.values();
      keepOrder();
      HK_UNROLL for (int g = 0; g < Fragments::kGroups; ++g)
          f.loadValues(g, view(next, g, v));
      keepOrder();
      now = next;
      next = after;
    }
  }

private:
  /// What is the same in all lanes, in scalar registers.
  HK_MEM static i64 scalar(i64 x) {
    return i64(u64(u32(fromLane(i32(x >> 32), 0))) << 32 |
               u32(fromLane(i32(x), 0)));
  }

  /// Where the keys or values of a head lie: from the first row of the
  /// sequence, or of page 0, on. Bytes.
  struct Place {
    i64 base, page;
    u32 row, used;
  };
  template <class P>
  HK_MEM static Place place(const AttentionBlock &w, P p, KeyStrides by,
                            int dim) {
    constexpr i64 size = sizeof(*p);
    i64 from = w.head * by.head;
    if constexpr (!kGaps)
      from += w.keyStart * by.row;
    if constexpr (S.keys.layout == KeyLayout::Dense)
      from += w.sequence * by.sequence;
    return {scalar(i64(u64(p)) + from * size), by.sequence * size,
            u32(by.row) * u32(size), u32(dim) * u32(size)};
  }

  /// Group g of the keys of a step. Behind the last visible key, and in a page
  /// that is missing, are no rows.
  HK_MEM static TileView view(const TileBlocks &at, int g, const Place &place) {
    constexpr int keys = Fragments::kGroupKeys;
    i32 key = at.first + g * keys, left = at.last + 1 - key;
    i32 rows = left < 0 ? 0 : left < keys ? left : keys;
    i32 first = key < at.last ? key : at.last;
    i64 from = place.base;
    if constexpr (kGaps) {
      i32 entry = firstLane(at.of(first));
      rows = entry < 0 ? 0 : rows;
      from += i64(entry < 0 ? 0 : entry) * place.page;
      first %= S.keys.pageRows;
    }
    from += i64(first) * i64(place.row);
    return TileView::ofWholeRows((Global<const u8>)(from), place.row, u32(rows),
                                 place.used);
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_STREAM_H
