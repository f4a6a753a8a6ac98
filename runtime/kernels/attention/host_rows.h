//===- host_rows.h - Attention of few rows on the host -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A decode step reads every key and value once and does little with them, so
// nothing is repacked: dot products run along the head dim, 16 keys at a time,
// and are summed across lanes by one tree for all 16. Probabilities stay f32.
//
// Rows of one head lie apart and may be anywhere (pages), which the CPU's
// prefetchers do not follow: while scores are computed the values of the tile
// are asked for, and the keys of the next one while values are added.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_HOSTROWS_H
#define HK_KERNELS_ATTENTION_HOSTROWS_H

#include "kernels/attention/host_common.h"

namespace hk {

/// One level of the tree that sums 16 vectors: adds neighbouring lanes (or
/// groups of them) of a and b and puts the sums side by side. After four levels
/// lane e holds the sum over the lanes of vector e.
template <int Level> HK_DEV f32x16 mergeSums(f32x16 a, f32x16 b) {
  if constexpr (Level == 0)
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9,
                                   25, 12, 28, 13, 29) +
           __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11,
                                   27, 14, 30, 15, 31);
  else if constexpr (Level == 1)
    return __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24,
                                   25, 12, 13, 28, 29) +
           __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26,
                                   27, 14, 15, 30, 31);
  else if constexpr (Level == 2)
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19,
                                   20, 21, 22, 23) +
           __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25,
                                   26, 27, 28, 29, 30, 31);
  else
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18,
                                   19, 24, 25, 26, 27) +
           __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22,
                                   23, 28, 29, 30, 31);
}

template <AttentionTile T, int Head, int Columns>
struct alignas(64) AttentionHostRowsShared {
  float q[T.bq][Head];
  float s[T.bq][T.bk];
  float o[T.bq][Columns];
  float maximum[roundUpTo(T.bq, 16)], sum[roundUpTo(T.bq, 16)];
};

template <AttentionSpec S, AttentionTile T, class Regions = NoRegions>
struct AttentionHostRows {
  using Args = AttentionArgs<S, Regions>;
  static constexpr int kHead = int(roundUpTo(S.headDim, 16));
  static constexpr int kColumns = int(attentionValueColumns(S.valueDim));
  static_assert(T.bk % 16 == 0 && T.bq <= kHostFewRows);
  static constexpr int kThreads = 1;

  using Shared = AttentionHostRowsShared<T, kHead, kColumns>;
  static_assert(sizeof(Shared) == attentionLdsBytes(Arch::Host, T, S.type,
                                                    S.headDim, S.valueDim));

  template <int R> struct Sums {
    f32x16 v[R];
  };

  /// Scores of R rows against Count keys from `first` on, one level of the tree
  /// per power of two.
  template <int R, int Count>
  HK_DEV Sums<R> dots(const Args &a, const float (*q)[kHead],
                      const Global<const Storage<S.kType>> *rows) {
    Sums<R> sums;
    if constexpr (Count == 1) {
      HK_UNROLL for (int r = 0; r < R; ++r) sums.v[r] = f32x16(0.f);
      HK_UNROLL for (int c = 0; c < kHead; c += 16) {
        f32x16 key = loadKey16<S>(a, rows[0], c);
        HK_UNROLL for (int r = 0; r < R; ++r) sums.v[r] =
            __builtin_elementwise_fma(key, *(const f32x16 *)&q[r][c],
                                      sums.v[r]);
      }
    } else {
      constexpr int level = Count == 2 ? 0 : 1;
      Sums<R> x = dots<R, Count / 2>(a, q, rows);
      Sums<R> y = dots<R, Count / 2>(a, q, rows + Count / 2);
      HK_UNROLL for (int r = 0; r < R; ++r) sums.v[r] =
          mergeSums<level>(x.v[r], y.v[r]);
    }
    return sums;
  }

  /// Where the keys and values of a tile are.
  struct Rows {
    Global<const Storage<S.kType>> keys[T.bk];
    Global<const Storage<S.vType>> values[T.bk];
    int count = 0;
  };

  /// Asks for elements [from, to) of a row, all lines that they begin in.
  template <DType D, int Chunk>
  HK_DEV void prefetch(Global<const Storage<D>> row, int from, int to) {
    if constexpr (Chunk == 0)
      for (int c = from; c < to; c += int(64 / sizeof(Storage<D>)))
        __builtin_prefetch((const void *)(row + c), 0, 2);
  }

  template <int R>
  HK_DEV void scoreRows(const Args &a, const AttentionBlock &w, i64 key,
                        Shared &sh, int row, int at, const Rows &rows) {
    // Four keys at a time: less code than all 16 unrolled, and as fast.
    Sums<R> part[4];
    _Pragma("nounroll") for (int e = 0; e < 4; ++e) {
      if (row == 0)
        HK_UNROLL for (int i = 0; i < 4; ++i) prefetch<S.vType, S.valueChunk>(
            rows.values[at + 4 * e + i], 0, S.valueDim);
      part[e] = dots<R, 4>(a, &sh.q[row], rows.keys + at + 4 * e);
    }
    HK_UNROLL for (int r = 0; r < R; ++r) {
      f32x16 lo = mergeSums<2>(part[0].v[r], part[1].v[r]);
      f32x16 hi = mergeSums<2>(part[2].v[r], part[3].v[r]);
      *(f32x16 *)&sh.s[row + r][at] =
          scores16<S>(a, w, key, mergeSums<3>(lo, hi));
    }
  }

  /// o[row .. row + R) += p * v over keys [from, to) of the tile, 64 columns at
  /// a time.
  template <int R>
  HK_DEV void valueRows(const Args &a, Shared &sh, int row, int from, int to,
                        const Rows &rows, const Rows &next) {
    constexpr int width = kColumns % 64 == 0 ? 64 : 32, C = width / 16;
    for (int c0 = 0; c0 < kColumns; c0 += width) {
      f32x16 acc[R][C];
      HK_UNROLL for (int r = 0; r < R; ++r)
          HK_UNROLL for (int c = 0; c < C; ++c) acc[r][c] =
              *(const f32x16 *)&sh.o[row + r][c0 + c * 16];
      int last = c0 + width < kColumns ? c0 + width : kHead;
      for (int j = from; j < to; ++j) {
        if (row == 0 && j < next.count)
          prefetch<S.kType, S.keyChunk>(next.keys[j], c0, last);
        HK_UNROLL for (int c = 0; c < C; ++c) {
          f32x16 v = loadValue16<S>(a, rows.values[j], c0 + c * 16);
          HK_UNROLL for (int r = 0; r < R; ++r) acc[r][c] =
              __builtin_elementwise_fma(f32x16(sh.s[row + r][j]), v, acc[r][c]);
        }
      }
      HK_UNROLL for (int r = 0; r < R; ++r)
              HK_UNROLL for (int c = 0; c < C; ++c) *
          (f32x16 *)&sh.o[row + r][c0 + c * 16] = acc[r][c];
    }
  }

  template <class More = NoMoreSegments>
  HK_DEV void run(const Args &a, BlockId id, Shared &sh, More more = {}) {
    AttentionBlock w;
    if (!locate<S, T>(a, id, w))
      return;
    for (int r = 0; r < int(w.count); ++r) {
      clearRow<kColumns>(sh.o[r]);
      sh.maximum[r] = kMinusInf;
      sh.sum[r] = 0.f;
    }
    walk(a, w, sh);
    for (int r = 0; r < int(w.count); ++r)
      scaleSegment<S>(a, w, sh.maximum[r], sh.o[r]);
    more(w, sh);
    for (int r = 0; r < int(w.count); ++r)
      storeRow<S>(a, w, r, sh.o[r], sh.maximum[r], sh.sum[r]);
  }

  /// The keys of another segment, whose rows another kernel began.
  HK_DEV void addSegment(const Args &a, AttentionBlock w, Shared &sh) {
    locateKeys<S, T>(a, 0, w);
    walk(a, w, sh);
  }

private:
  HK_DEV void walk(const Args &a, const AttentionBlock &w, Shared &sh) {
    int count = int(w.count);
    KeyRange range[T.bq];
    KeyRange all = loadQueries<S, kHead>(a, w, count, &sh.q[0][0], range);
    Rows tiles[2];
    find(a, w, all.begin, all.end, tiles[0]);
    for (i64 j = all.begin, tile = 0; j < all.end; j += T.bk, tile ^= 1) {
      const Rows &rows = tiles[tile];
      Rows &next = tiles[tile ^ 1];
      find(a, w, j + T.bk, all.end, next);
      int n = int(minOf(T.bk, all.end - j)), padded = rows.count;
      for (int e = 0; e < padded; e += 16)
        forRows(count, [&](auto R, int row) __attribute__((always_inline)) {
          scoreRows<R.value>(a, w, j + e, sh, row, e, rows);
        });
      bool gaps = false;
      for (int r = 0; r < count; ++r) {
        gaps |=
            finishScores<S>(a, w, w.first + r, j, all.end, sh.s[r], 0, padded);
        softmaxRow<S>(sh.s[r], 0, padded, range[r].begin - j, range[r].end - j,
                      sh.maximum[r], sh.sum[r], sh.o[r], kColumns);
        weighRow<S>(a, w, w.first + r, j, sh.s[r], 0, padded);
      }
      // Where rows see different keys, each takes only its own: a value that is
      // not finite must not reach a row that does not see it.
      if (gaps)
        addSeen(a, w, sh, range, j, n, rows);
      else if (range[0].begin <= j && range[count - 1].begin <= j &&
               range[0].end >= j + n && range[count - 1].end >= j + n)
        forRows(count, [&](auto R, int row) __attribute__((always_inline)) {
          valueRows<R.value>(a, sh, row, 0, n, rows, next);
        });
      else
        for (int r = 0; r < count; ++r)
          valueRows<1>(a, sh, r, int(maxOf(range[r].begin - j, 0)),
                       int(minOf(range[r].end - j, n)), rows, next);
    }
  }

  /// The rows of the tile from key j on, if it exists, in whole groups of 16.
  /// Behind the end: any readable key, whose scores are masked.
  HK_DEV void find(const Args &a, const AttentionBlock &w, i64 j, i64 end,
                   Rows &rows) {
    rows.count = int(roundUpTo(maxOf(minOf(T.bk, end - j), 0), 16));
    for (int e = 0; e < rows.count; ++e) {
      KeyOffset at = keyOffset<S>(a, w, minOf(j + e, end - 1));
      rows.keys[e] = a.k + at.k;
      rows.values[e] = a.v + at.v;
    }
  }

  /// The values of keys that are not missing, row by row.
  HK_DEV void addSeen(const Args &a, const AttentionBlock &w, Shared &sh,
                      const KeyRange *range, i64 j, int n, const Rows &rows) {
    for (int e = 0; e < n; ++e) {
      if (isMissing<S>(a, w, j + e))
        continue;
      for (int r = 0; r < int(w.count); ++r)
        if (range[r].begin <= j + e && j + e < range[r].end)
          valueRows<1>(a, sh, r, e, e + 1, rows, rows);
    }
  }

  template <int R> struct Number {
    static constexpr int value = R;
  };
  /// f(number of rows, first row) over groups of 4, 2 and 1 rows.
  template <class F> HK_DEV void forRows(int count, F f) {
    int row = 0;
    for (; row + 4 <= count; row += 4)
      f(Number<4>(), row);
    if (row + 2 <= count) {
      f(Number<2>(), row);
      row += 2;
    }
    if (row < count)
      f(Number<1>(), row);
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_HOSTROWS_H
