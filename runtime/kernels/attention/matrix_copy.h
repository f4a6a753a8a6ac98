//===- matrix_copy.h - Tiles of keys on their way to LDS -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Asks for the rows of one tile of keys and values: as a view of the memory, of
// blocks that are known already, of pieces at equal distances, or row by row.
// Behind the last visible key that key is read again, or zeros; a block that is
// missing is read as zeros.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_MATRIX_COPY_H
#define HK_KERNELS_ATTENTION_MATRIX_COPY_H

#include "kernels/attention/matrix_config.h"

namespace hk {

/// Moves one tile of keys and values.
template <AttentionSpec S, AttentionTile T, class R>
struct AttentionMatrixCopy : AttentionMatrixConfig<S, T, R> {
  using Config = AttentionMatrixConfig<S, T, R>;
  using Config::kElement, Config::kParts, Config::kBk, Config::kKeyTile,
      Config::kGaps, Config::kFindsAhead, Config::kFromPieces, Config::kViews;
  using typename Config::Args, typename Config::KeyCopy,
      typename Config::ValueCopy, typename Config::TileBlocks;

  KeyCopy k;
  ValueCopy v;
  HK_MEM static int thread() { return kParts > 1 ? laneId() : threadId(); }
  /// The tile whose blocks are `at`.
  HK_MEM void issue(const Args &a, const AttentionBlock &w,
                    const TileBlocks &at, u8 *lds) {
    if constexpr (kViews) {
      issueViews(a, w, at, lds);
    } else if constexpr (kFindsAhead) {
      auto rows = [&](auto p, i64 block, i64 stride, i64 head) {
        return [=, &at](int row) __attribute__((always_inline)) {
          i32 key = minOf(at.first + row, at.last), entry = at.of(key);
          auto from = (Global<const u8>)(p + entry * block + head +
                                         key % S.keys.pageRows * stride);
          return entry < 0 ? nullptr : from;
        };
      };
      k.template issue<true>(
          thread(), rows(a.k, a.kSequence, a.kRow, w.head * a.kHead), lds);
      if constexpr (!S.sharesValues())
        v.template issue<true>(thread(),
                               rows(a.v, a.vSequence, a.vRow, w.head * a.vHead),
                               lds + kKeyTile);
    } else {
      issue(a, w, at.first, at.last + 1, lds);
    }
  }
  /// Keys from j on, which lie in `at`.
  HK_MEM void issue(const Args &a, const AttentionBlock &w,
                    const TileBlocks &at, i32 j, i32 end, u8 *lds) {
    if constexpr (kFromPieces) {
      at.issue(a.k, {a.kSequence, a.kRow, a.kHead}, w, j, end, thread(), k,
               lds);
      at.issue(a.v, {a.vSequence, a.vRow, a.vHead}, w, j, end, thread(), v,
               lds + kKeyTile);
    } else
      issue(a, w, j, end, lds);
  }
  /// Behind the end of the keys, and in a block that is missing, lie zeros.
  HK_MEM void issueViews(const Args &a, const AttentionBlock &w,
                         const TileBlocks &at, u8 *lds) {
    i32 left = at.last + 1 - at.first;
    i32 rows = left < 0 ? 0 : left < kBk ? left : kBk;
    i64 first = at.first < at.last ? at.first : at.last, outer = w.sequence;
    if constexpr (kGaps) {
      rows = at.entry[0] < 0 ? 0 : rows;
      outer = at.entry[0] < 0 ? 0 : at.entry[0];
      first %= S.keys.pageRows;
    } else
      first += w.keyStart;
    constexpr bool outside =
        kGaps || S.keys.layout == KeyLayout::Dense; // rows of several
    auto view = [&](auto p, i64 sequence, i64 stride, i64 head, int dim) {
      i64 from = (outside ? outer * sequence : 0) + first * stride;
      return TileView::ofWholeRows((Global<const u8>)(p + from + w.head * head),
                                   u32(stride) * u32(kElement), u32(rows),
                                   u32(dim * kElement));
    };
    k.issueTile(thread(), view(a.k, a.kSequence, a.kRow, a.kHead, S.headDim),
                lds);
    v.issueTile(thread(), view(a.v, a.vSequence, a.vRow, a.vHead, S.valueDim),
                lds + kKeyTile);
  }
  /// Keys [j, j + bk). Behind the last visible one, `end` - 1: that key
  /// again, masked later. Its value is finite whenever the visible ones are.
  HK_MEM void issue(const Args &a, const AttentionBlock &w, i32 j, i32 end,
                    u8 *lds) {
    if constexpr (kOneBlock<S, kBk>) {
      // Rows at equal distances.
      i32 first = j < end ? j : end - 1, rest = end - 1 - first;
      KeyOffset from = keyOffset<S>(a, w, first);
      bool missing = isMissing<S>(a, w, first);
      auto row = [&](auto p, i64 at, i64 stride) {
        return [=](int row) __attribute__((always_inline)) {
          auto q =
              (Global<const u8>)(p + at + (row < rest ? row : rest) * stride);
          return kGaps && missing ? nullptr : q;
        };
      };
      k.template issue<kGaps>(thread(), row(a.k, from.k, a.kRow), lds);
      if constexpr (!S.sharesValues())
        v.template issue<kGaps>(thread(), row(a.v, from.v, a.vRow),
                                lds + kKeyTile);
      return;
    }
    auto at = [&](int row) __attribute__((always_inline)) {
      return j + row < end ? j + row : end - 1;
    };
    k.template issue<kGaps>(
        thread(),
        [&](int row) __attribute__((always_inline)) {
          i32 key = at(row);
          auto from = (Global<const u8>)(a.k + keyOffset<S>(a, w, key).k);
          return isMissing<S>(a, w, key) ? nullptr : from;
        },
        lds);
    if constexpr (!S.sharesValues())
      v.template issue<kGaps>(
          thread(),
          [&](int row) __attribute__((always_inline)) {
            i32 key = at(row);
            auto from = (Global<const u8>)(a.v + keyOffset<S>(a, w, key).v);
            return isMissing<S>(a, w, key) ? nullptr : from;
          },
          lds + kKeyTile);
  }
  HK_MEM void land(u8 *lds) {
    k.land(thread(), lds);
    if constexpr (!S.sharesValues())
      v.land(thread(), lds + kKeyTile);
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_MATRIX_COPY_H
