//===- host_tile.h - Attention of many rows on the host -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keys of a tile are transposed into panels of 32 and values into panels of 32
// columns, both f32, so that the two products run in one 8 x 32 micro kernel
// that walks a panel. Groups of 8 rows touch only the key panels that one of
// them sees. Probabilities stay f32.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_HOSTTILE_H
#define HK_KERNELS_ATTENTION_HOSTTILE_H

#include "kernels/attention/host_common.h"

namespace hk {

/// c[r][0 .. 32) (+)= sum over k of a[r][k] * panel[k][0 .. 32) for 8 rows.
template <bool Accumulate>
HK_DEV void hostMicro(const float *a, i64 lda, const float (*panel)[32],
                      int count, float *c, i64 ldc) {
  f32x16 acc[8][2];
  HK_UNROLL for (int r = 0; r < 8; ++r) HK_UNROLL for (int j = 0; j < 2; ++j)
      acc[r][j] =
          Accumulate ? *(const f32x16 *)&c[r * ldc + j * 16] : f32x16(0.f);
  _Pragma("nounroll") for (int k = 0; k < count; ++k) {
    f32x16 b0 = *(const f32x16 *)&panel[k][0];
    f32x16 b1 = *(const f32x16 *)&panel[k][16];
    HK_UNROLL for (int r = 0; r < 8; ++r) {
      f32x16 x = f32x16(a[r * lda + k]);
      acc[r][0] = __builtin_elementwise_fma(x, b0, acc[r][0]);
      acc[r][1] = __builtin_elementwise_fma(x, b1, acc[r][1]);
    }
  }
  HK_UNROLL for (int r = 0; r < 8; ++r) HK_UNROLL for (int j = 0; j < 2; ++j) *
      (f32x16 *)&c[r * ldc + j * 16] = acc[r][j];
}

/// One butterfly stage of a 16 x 16 transpose: swaps blocks of Step lanes
/// between rows Step apart.
template <int Step> HK_DEV void transposeStage(f32x16 (&m)[16]) {
  HK_UNROLL for (int i = 0; i < 16; ++i) {
    if (i & Step)
      continue;
    f32x16 a = m[i], b = m[i + Step];
    if constexpr (Step == 1) {
      m[i] = __builtin_shufflevector(a, b, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24,
                                     10, 26, 12, 28, 14, 30);
      m[i + 1] = __builtin_shufflevector(a, b, 1, 17, 3, 19, 5, 21, 7, 23, 9,
                                         25, 11, 27, 13, 29, 15, 31);
    } else if constexpr (Step == 2) {
      m[i] = __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24,
                                     25, 12, 13, 28, 29);
      m[i + 2] = __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10,
                                         11, 26, 27, 14, 15, 30, 31);
    } else if constexpr (Step == 4) {
      m[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10,
                                     11, 24, 25, 26, 27);
      m[i + 4] = __builtin_shufflevector(a, b, 4, 5, 6, 7, 20, 21, 22, 23, 12,
                                         13, 14, 15, 28, 29, 30, 31);
    } else {
      m[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18,
                                     19, 20, 21, 22, 23);
      m[i + 8] = __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24,
                                         25, 26, 27, 28, 29, 30, 31);
    }
  }
}

template <AttentionTile T, int HeadDim, int Columns>
struct alignas(64) AttentionHostTileShared {
  float k[T.bk / 32][HeadDim][32];
  float v[Columns / 32][T.bk][32];
  float q[T.bq][HeadDim];
  float s[T.bq][T.bk];
  float o[T.bq][Columns];
  float maximum[T.bq], sum[T.bq];
};

template <AttentionSpec S, AttentionTile T, class R = NoRegions>
struct AttentionHostTile {
  using Args = AttentionArgs<S, R>;
  static constexpr int kHead = S.headDim;
  static constexpr int kColumns = int(attentionValueColumns(S.valueDim));
  static_assert(T.bq % 16 == 0 && T.bk % 32 == 0);
  static constexpr int kThreads = 1;

  using Shared = AttentionHostTileShared<T, kHead, kColumns>;
  static_assert(sizeof(Shared) == attentionLdsBytes(Arch::Host, T, S.type,
                                                    S.headDim, S.valueDim));

  /// 16 keys into lanes [lane, lane + 16) of a key panel.
  HK_DEV void packKeys(const Args &a, float (*panel)[32], int lane,
                       const Global<const Storage<S.kType>> *rows) {
    for (int c = 0; c < kHead; c += 16) {
      f32x16 m[16];
      HK_UNROLL for (int e = 0; e < 16; ++e) m[e] = loadKey16<S>(a, rows[e], c);
      transposeStage<1>(m);
      transposeStage<2>(m);
      transposeStage<4>(m);
      transposeStage<8>(m);
      HK_UNROLL for (int e = 0; e < 16; ++e) {
        if (kHead % 16 == 0 || c + e < kHead)
          *(f32x16 *)&panel[c + e][lane] = m[e];
      }
    }
  }

  template <class More = NoMoreSegments>
  HK_DEV void run(const Args &a, BlockId id, Shared &sh, More more = {}) {
    AttentionBlock w;
    if (!locate<S, T>(a, id, w))
      return;
    int count = int(w.count), padded = (count + 7) / 8 * 8;
    for (int r = 0; r < padded; ++r) {
      clearRow<kColumns>(sh.o[r]);
      sh.maximum[r] = kMinusInf;
      sh.sum[r] = 0.f;
    }
    for (int r = count; r < padded; ++r)
      __builtin_memset(sh.q[r], 0, sizeof sh.q[r]);
    walk(a, w, sh);
    for (int r = 0; r < count; ++r)
      scaleSegment<S>(a, w, sh.maximum[r], sh.o[r]);
    more(w, sh);
    for (int r = 0; r < count; ++r)
      storeRow<S>(a, w, r, sh.o[r], sh.maximum[r], sh.sum[r]);
  }

  /// The keys of another segment, whose rows another kernel began.
  HK_DEV void addSegment(const Args &a, AttentionBlock w, Shared &sh) {
    locateKeys<S, T>(a, 0, w);
    walk(a, w, sh);
  }

private:
  HK_DEV void walk(const Args &a, const AttentionBlock &w, Shared &sh) {
    int count = int(w.count), padded = (count + 7) / 8 * 8;
    KeyRange range[T.bq];
    KeyRange all = loadQueries<S, kHead>(a, w, count, &sh.q[0][0], range);
    for (int r = count; r < padded; ++r)
      range[r] = range[count - 1];
    for (i64 j = all.begin; j < all.end; j += T.bk) {
      int n = int(minOf(T.bk, all.end - j)), panels = (n + 31) / 32;
      for (int e0 = 0; e0 < panels * 32; e0 += 16) {
        Global<const Storage<S.kType>> keys[16];
        for (int e = 0; e < 16; ++e) {
          // Behind the end: any readable key; masked below.
          i64 key = minOf(j + e0 + e, all.end - 1);
          KeyOffset at = keyOffset<S>(a, w, key);
          bool missing = isMissing<S>(a, w, key);
          keys[e] = a.k + at.k;
          for (int c = 0; c < kColumns; c += 32)
            HK_UNROLL for (int x = 0; x < 32; x += 16) *
                (f32x16 *)&sh.v[c / 32][e0 + e][x] =
                missing ? f32x16(0.f) : loadValue16<S>(a, a.v + at.v, c + x);
        }
        packKeys(a, sh.k[e0 / 32], e0 % 32, keys);
      }
      for (int g = 0; g < padded; g += 8)
        rowGroup(a, w, sh, g, range, j, n, all.end);
    }
  }

  /// Rows [g, g + 8) against keys [j, j + n) of the tile.
  HK_DEV void rowGroup(const Args &a, const AttentionBlock &w, Shared &sh,
                       int g, const KeyRange *range, i64 j, int n, i64 end) {
    KeyRange seen = {j + n, j};
    for (int r = g; r < g + 8; ++r) {
      if (range[r].begin >= range[r].end)
        continue;
      seen.begin = minOf(seen.begin, maxOf(range[r].begin, j));
      seen.end = maxOf(seen.end, minOf(range[r].end, j + n));
    }
    if (seen.begin >= seen.end)
      return;
    int from = int(seen.begin - j) / 32 * 32;
    int to = (int(seen.end - j) + 31) / 32 * 32;
    for (int e = from; e < to; e += 32)
      hostMicro<false>(sh.q[g], kHead, sh.k[e / 32], kHead, &sh.s[g][e], T.bk);
    for (int r = g; r < g + 8; ++r) {
      for (int e = from; e < to; e += 16) {
        f32x16 &x = *(f32x16 *)&sh.s[r][e];
        x = scores16<S>(a, w, j + e, x);
      }
      i64 row = w.first + minOf(r, w.count - 1);
      finishScores<S>(a, w, row, j, end, sh.s[r], from, to);
      softmaxRow<S>(sh.s[r], from, to, range[r].begin - j, range[r].end - j,
                    sh.maximum[r], sh.sum[r], sh.o[r], kColumns);
      weighRow<S>(a, w, row, j, sh.s[r], from, to);
    }
    addValues(sh, g, range, j, n);
  }

  /// o += p * v for rows [g, g + 8): the keys that all of them see in one go,
  /// the others row by row, as a value that is not finite must not reach a row
  /// that does not see it.
  HK_DEV void addValues(Shared &sh, int g, const KeyRange *range, i64 j,
                        int n) {
    int common[2] = {0, n};
    for (int r = g; r < g + 8; ++r) {
      common[0] = int(maxOf(common[0], minOf(range[r].begin - j, n)));
      common[1] = int(minOf(common[1], maxOf(range[r].end - j, 0)));
    }
    if (common[0] < common[1])
      for (int c = 0; c < kColumns; c += 32)
        hostMicro<true>(&sh.s[g][common[0]], T.bk, &sh.v[c / 32][common[0]],
                        common[1] - common[0], &sh.o[g][c], kColumns);
    else
      common[1] = common[0];
    for (int r = g; r < g + 8; ++r) {
      int begin = int(maxOf(range[r].begin - j, 0));
      int end = int(minOf(range[r].end - j, n));
      addKeys(sh, r, begin, end < common[0] ? end : common[0]);
      addKeys(sh, r, begin > common[1] ? begin : common[1], end);
    }
  }

  HK_DEV void addKeys(Shared &sh, int r, int from, int to) {
    for (int k = from; k < to; ++k)
      for (int c = 0; c < kColumns; c += 16) {
        f32x16 &o = *(f32x16 *)&sh.o[r][c];
        o = __builtin_elementwise_fma(
            f32x16(sh.s[r][k]), *(const f32x16 *)&sh.v[c / 32][k][c % 32], o);
      }
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_HOSTTILE_H
