//===- host_tile.h - Attention of many rows on the host -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keys of a tile are transposed into panels of 32 and values into panels of 32
// columns, so that the two products run in one 8 x 32 micro kernel that walks a
// panel. A panel stays in the L1 cache while all groups of 8 rows that see one
// of its keys meet it.
//
// Words of panels are f32, or pairs of bf16 where the CPU multiplies those and
// queries, keys and values are exact in bf16: pairs of neighbours along the
// head dim for scores, of neighbouring keys for values. Probabilities are then
// rounded to bf16, else they stay f32. A CPU's matrix unit takes 16 rows at a
// time, and whole steps of 32 keys.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_HOSTTILE_H
#define HK_KERNELS_ATTENTION_HOSTTILE_H

#include "kernels/attention/host_common.h"
#include "kernels/device/mma/host_tiles.h"

namespace hk {

/// What panels hold: a word is one or two elements.
template <AttentionSpec S> struct AttentionHostWord {
  static constexpr bool kPairs = kMultipliesPairs && S.type == DType::BF16;
  template <bool Pairs, class = void> struct Choice {
    using Word = float;
  };
  template <class Unused> struct Choice<true, Unused> {
    using Word = Bf16Pair;
  };
  using Word = typename Choice<kPairs>::Word;
};

/// c[r][0 .. 32) (+)= sum over k of a[r][k] * panel[k][0 .. 32) for 8 rows and
/// `count` words.
template <bool Accumulate, class Word>
HK_DEV void hostMicro(const Word *a, i64 lda, const Word (*panel)[32],
                      int count, float *c, i64 ldc) {
  using Words = Vec<Word, 16>;
  f32x16 acc[8][2];
  HK_UNROLL for (int r = 0; r < 8; ++r) HK_UNROLL for (int j = 0; j < 2; ++j)
      acc[r][j] =
          Accumulate ? *(const f32x16 *)&c[r * ldc + j * 16] : f32x16(0.f);
  auto add = [](Words x, Words y, f32x16 sum) __attribute__((always_inline)) {
    if constexpr (__is_same(Word, Bf16Pair))
      return multiplyPairs(x, y, sum);
    else
      return __builtin_elementwise_fma(x, y, sum);
  };
  _Pragma("nounroll") for (int k = 0; k < count; ++k) {
    Words b0 = *(const Words *)&panel[k][0];
    Words b1 = *(const Words *)&panel[k][16];
    HK_UNROLL for (int r = 0; r < 8; ++r) {
      Words x = Words(a[r * lda + k]);
      acc[r][0] = add(x, b0, acc[r][0]);
      acc[r][1] = add(x, b1, acc[r][1]);
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

template <AttentionTile T, int HeadWords, int KeyWords, int Columns, class Word>
struct alignas(64) AttentionHostTileShared {
  Word k[T.bk / 32][HeadWords][32];
  Word v[Columns / 32][KeyWords][32];
  Word q[T.bq][HeadWords];
  /// Scores; pairs of probabilities replace those of their row.
  float s[T.bq][T.bk];
  float o[T.bq][Columns];
  float maximum[T.bq], sum[T.bq];
};

template <AttentionSpec S, AttentionTile T, class R = NoRegions>
struct AttentionHostTile {
  using Args = AttentionArgs<S, R>;
  using Word = typename AttentionHostWord<S>::Word;
  static constexpr bool kPairs = AttentionHostWord<S>::kPairs;
  static constexpr int kElements = kPairs ? 2 : 1;
  static constexpr int kHead = S.headDim;
  static constexpr int kHeadWords = (kHead + kElements - 1) / kElements;
  static constexpr int kKeyWords = T.bk / kElements;
  static constexpr int kColumns = int(attentionValueColumns(S.valueDim));
  static constexpr int kGroups = T.bq / 8;
  static_assert(T.bq % 16 == 0 && T.bk % 32 == 0);
  static constexpr int kThreads = 1;

  using Shared =
      AttentionHostTileShared<T, kHeadWords, kKeyWords, kColumns, Word>;
  static_assert(sizeof(Shared) <= attentionLdsBytes(Arch::Host, T, S.type,
                                                    S.headDim, S.valueDim));

  /// Words [w, w + 16) of a row of queries or keys, of which `at` reads 16
  /// elements.
  template <class At> HK_DEV Vec<Word, 16> wordsOf(int w, At at) {
#if defined(__AVX512BF16__)
    if constexpr (kPairs) // what this takes for zero the products do, too
      return bitCast<Vec<Word, 16>>(
          __builtin_ia32_cvtne2ps2bf16_512(at(2 * w + 16), at(2 * w)));
#endif
    if constexpr (!kPairs)
      return at(w);
  }

  /// 16 keys into lanes [lane, lane + 16) of a key panel.
  HK_DEV void packKeys(const Args &a, Word (*panel)[32], int lane,
                       const Global<const Storage<S.kType>> *rows) {
    for (int w = 0; w < kHeadWords; w += 16) {
      f32x16 m[16];
      HK_UNROLL for (int e = 0; e < 16; ++e) m[e] =
          bitCast<f32x16>(wordsOf(w, [&](int c) __attribute__((always_inline)) {
            return loadKey16<S>(a, rows[e], c);
          }));
      transposeStage<1>(m);
      transposeStage<2>(m);
      transposeStage<4>(m);
      transposeStage<8>(m);
      HK_UNROLL for (int e = 0; e < 16; ++e) {
        if (kHeadWords % 16 == 0 || w + e < kHeadWords)
          *(f32x16 *)&panel[w + e][lane] = m[e];
      }
    }
  }

  /// Values of 16 keys, from key `first` of the tile on, into all panels.
  HK_DEV void packValues(const Args &a, Shared &sh, int first,
                         const Global<const Storage<S.vType>> *rows,
                         const bool *missing) {
    for (int e = 0; e < 16; e += kElements)
      for (int c = 0; c < kColumns; c += 16) {
        auto value = [&](int e) __attribute__((always_inline)) {
          return missing[e] ? f32x16(0.f) : loadValue16<S>(a, rows[e], c);
        };
        auto &to = sh.v[c / 32][(first + e) / kElements][c % 32];
        if constexpr (kPairs)
          *(Vec<Word, 16> *)&to = pairsOf<16>(value(e), value(e + 1));
        else
          *(f32x16 *)&to = value(e);
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
  /// The keys of a tile that one of 8 rows sees, in whole panels, and those
  /// that all of them see, in whole words.
  struct Seen {
    int from, to, begin, end;
  };

  HK_DEV void walk(const Args &a, const AttentionBlock &w, Shared &sh) {
    [[maybe_unused]] HostTiles<kTiles> tiles;
    int count = int(w.count), groups = (count + 7) / 8;
    KeyRange range[T.bq];
    KeyRange all = loadRows(a, w, sh, range);
    for (int r = count; r < groups * 8; ++r)
      range[r] = range[count - 1];
    for (i64 j = all.begin; j < all.end; j += T.bk) {
      int n = int(minOf(T.bk, all.end - j));
      pack(a, w, sh, j, n, all.end);
      Seen seen[kGroups];
      for (int g = 0; g < groups; ++g)
        seen[g] = seenBy(range + 8 * g, j, n);
      for (int e = 0; e < n; e += 32)
        score(sh, seen, groups, e);
      for (int g = 0; g < groups; ++g)
        if (seen[g].from < seen[g].to)
          weigh(a, w, sh, 8 * g, range + 8 * g, seen[g], j, all.end);
      addValues(sh, seen, groups);
      // The others row by row, as a value that is not finite must not reach a
      // row that does not see it.
      for (int r = 0; r < groups * 8; ++r) {
        int begin = int(maxOf(range[r].begin - j, 0));
        int end = int(minOf(range[r].end - j, n));
        addKeys(sh, r, begin, int(minOf(end, seen[r / 8].begin)));
        addKeys(sh, r, int(maxOf(begin, seen[r / 8].end)), end);
      }
    }
  }

  /// The rows of a tile of the matrix unit are two groups.
  static constexpr bool kTiles =
      kMultipliesTiles<Word> && kHeadWords % kHostTile == 0;
  static constexpr int kTileGroups = kHostTile / 8;

  /// Scores of keys [e, e + 32) of the groups that see one of them.
  HK_DEV void score(Shared &sh, const Seen *seen, int groups, int e) {
    auto sees = [&](int g) {
      return g < groups && seen[g].from <= e && e < seen[g].to;
    };
    if constexpr (kTiles) {
      // Rows beside those that see a key get scores that nobody reads.
      for (int g = 0, count; g < groups; g += count) {
        bool one = sees(g) || sees(g + 1), two = sees(g + 2) || sees(g + 3);
        count = one && two ? 2 * kTileGroups : kTileGroups;
        auto *q = sh.q[8 * g], *panel = sh.k[e / 32][0];
        float *s = &sh.s[8 * g][e];
        if (one && two)
          tileKernel<2, false>(q, kHeadWords, panel, kHeadWords, s, T.bk);
        else if (one)
          tileKernel<1, false>(q, kHeadWords, panel, kHeadWords, s, T.bk);
      }
    } else {
      for (int g = 0; g < groups; ++g)
        if (sees(g))
          hostMicro<false>(sh.q[8 * g], kHeadWords, sh.k[e / 32], kHeadWords,
                           &sh.s[8 * g][e], T.bk);
    }
  }

  /// Keys [begin, end) that all rows of a tile of the matrix unit see, in whole
  /// steps of it.
  struct Steps {
    int begin = 0, end = 0;
  };

  /// Adds what the keys weigh that all rows of a group see.
  HK_DEV void addValues(Shared &sh, const Seen *seen, int groups) {
    if constexpr (kTiles) {
      Steps steps[kGroups / kTileGroups];
      for (int g = 0; g < groups; g += kTileGroups)
        steps[g / kTileGroups] = sharedSteps(seen + g, groups - g);
      for (int c = 0; c < kColumns; c += 32)
        addSteps(sh, steps, (groups + 1) / kTileGroups, c);
      for (int g = 0; g < groups; ++g) {
        Steps of = steps[g / kTileGroups];
        if (of.begin >= of.end)
          of.begin = of.end = seen[g].begin;
        addWords(sh, g, seen[g].begin, of.begin);
        addWords(sh, g, of.end, seen[g].end);
      }
    } else {
      for (int g = 0; g < groups; ++g)
        addWords(sh, g, seen[g].begin, seen[g].end);
    }
  }

  HK_DEV Steps sharedSteps(const Seen *seen, int groups) {
    int last = minOf(groups, kTileGroups) - 1;
    constexpr int step = kHostTile * kElements;
    int begin = maxOf(seen[0].begin, seen[last].begin);
    int end = minOf(seen[0].end, seen[last].end);
    return {int(roundUpTo(begin, step)), end / step * step};
  }

  /// Columns [c, c + 32) of `tiles` tiles of rows.
  HK_DEV void addSteps(Shared &sh, const Steps *steps, int tiles, int c) {
    for (int t = 0; t < tiles; ++t) {
      Steps of = steps[t];
      if (of.begin >= of.end)
        continue;
      int row = t * kHostTile, word = of.begin / kElements;
      int words = (of.end - of.begin) / kElements;
      auto *p = weights(sh, row) + word, *v = sh.v[c / 32][word];
      float *o = &sh.o[row][c];
      if (t + 1 < tiles && steps[t + 1].begin == of.begin &&
          steps[t + 1].end == of.end) {
        tileKernel<2>(p, T.bk, v, words, o, kColumns);
        ++t;
      } else {
        tileKernel<1>(p, T.bk, v, words, o, kColumns);
      }
    }
  }

  /// Keys [begin, end) of a group, whole words that all of its rows see.
  HK_DEV void addWords(Shared &sh, int g, int begin, int end) {
    if (begin >= end)
      return;
    int word = begin / kElements;
    for (int c = 0; c < kColumns; c += 32)
      hostMicro<true>(weights(sh, 8 * g) + word, T.bk, sh.v[c / 32] + word,
                      (end - begin) / kElements, &sh.o[8 * g][c], kColumns);
  }

  /// loadQueries, as words; pairs are not scaled.
  HK_DEV KeyRange loadRows(const Args &a, const AttentionBlock &w, Shared &sh,
                           KeyRange *range) {
    int count = int(w.count);
    if constexpr (!kPairs)
      return loadQueries<S, kHead>(a, w, count, &sh.q[0][0], range);
    for (int r = 0; r < count; ++r) {
      auto from = a.q + queryOffset<S>(a, w, w.first + r);
      for (int c = 0; c < kHeadWords; c += 16) {
        auto words = wordsOf(c, [&](int at) __attribute__((always_inline)) {
          return load16<S.qType, S.headDim>(from, at);
        });
        int bytes = kHeadWords - c < 16 ? (kHeadWords - c) * 4 : 64;
        __builtin_memcpy(&sh.q[r][c], &words, bytes);
      }
    }
    return visibleRange<S>(w, count, range);
  }

  HK_DEV void pack(const Args &a, const AttentionBlock &w, Shared &sh, i64 j,
                   int n, i64 end) {
    for (int e0 = 0; e0 < n; e0 += 16) {
      Global<const Storage<S.kType>> keys[16];
      Global<const Storage<S.vType>> values[16];
      bool missing[16];
      HK_UNROLL for (int e = 0; e < 16; ++e) {
        // Behind the end: any readable key; masked below.
        i64 key = minOf(j + e0 + e, end - 1);
        KeyOffset at = keyOffset<S>(a, w, key);
        missing[e] = isMissing<S>(a, w, key);
        keys[e] = a.k + at.k;
        values[e] = a.v + at.v;
      }
      packValues(a, sh, e0, values, missing);
      packKeys(a, sh.k[e0 / 32], e0 % 32, keys);
    }
    // Whole panels, whatever it is: the scores are masked.
    if ((n + 15) / 16 % 2 != 0)
      for (int w = 0; w < kHeadWords; ++w)
        *(Vec<Word, 16> *)&sh.k[n / 32][w][16] = Vec<Word, 16>(0);
  }

  HK_DEV Seen seenBy(const KeyRange *range, i64 j, int n) {
    i64 first = j + n, last = j, begin = 0, end = n;
    for (int r = 0; r < 8; ++r) {
      begin = maxOf(begin, minOf(range[r].begin - j, n));
      end = minOf(end, maxOf(range[r].end - j, 0));
      if (range[r].begin >= range[r].end)
        continue;
      first = minOf(first, maxOf(range[r].begin, j));
      last = maxOf(last, minOf(range[r].end, j + n));
    }
    if (first >= last)
      return {0, 0, 0, 0};
    Seen seen = {int(first - j) / 32 * 32, (int(last - j) + 31) / 32 * 32,
                 int(roundUpTo(begin, kElements)),
                 int(end / kElements * kElements)};
    if (seen.begin >= seen.end)
      seen.end = seen.begin;
    return seen;
  }

  /// Scores of 8 rows from `first` on become probabilities. Step by step for
  /// all of them, as a row's maximum, factor and sum wait for each other.
  HK_DEV void weigh(const Args &a, const AttentionBlock &w, Shared &sh,
                    int first, const KeyRange *range, const Seen &seen, i64 j,
                    i64 end) {
    float top[8], *maximum = sh.maximum + first, *sum = sh.sum + first;
    for (int r = 0; r < 8; ++r) {
      i64 row = rowOf(w, first + r);
      float *s = sh.s[first + r];
      for (int e = seen.from; e < seen.to; e += 16) {
        f32x16 &x = *(f32x16 *)(s + e);
        if constexpr (kPairs && (S.qScale.exists() || S.kScale.exists()))
          x *= rowScale<S>(a, w, row);
        x = scores16<S>(a, w, j + e, x);
      }
      finishScores<S>(a, w, row, j, end, s, seen.from, seen.to);
      top[r] = maskRow<S>(s, seen.from, seen.to, range[r].begin - j,
                          range[r].end - j, maximum[r]);
    }
    if constexpr (S.normalizer != Normalizer::None) {
      f32x16 moved = f32x16(0.f);
      for (int r = 0; r < 8; ++r)
        moved[r] = maximum[r] - softmaxBase(top[r]);
      f32x16 factor = softmaxExp2<16>(moved);
      for (int r = 0; r < 8; ++r)
        if (top[r] != maximum[r]) {
          sum[r] *= factor[r];
          scaleRow(sh.o[first + r], kColumns, factor[r]);
          maximum[r] = top[r];
        }
      for (int r = 0; r < 8; ++r)
        sum[r] += exponentials(sh.s[first + r], seen.from, seen.to,
                               softmaxBase(top[r]));
    }
    for (int r = 0; r < 8; ++r) {
      float *s = sh.s[first + r];
      weighRow<S>(a, w, rowOf(w, first + r), j, s, seen.from, seen.to);
      if constexpr (kPairs)
        for (int e = seen.from; e < seen.to; e += 32) {
          auto at = [&](int c) __attribute__((always_inline)) {
            return *(const f32x16 *)(s + c);
          };
          *(Vec<Word, 16> *)(s + e / 2) = wordsOf(e / 2, at);
        }
    }
  }

  /// Rows behind the last one are copies of it.
  HK_MEM static i64 rowOf(const AttentionBlock &w, int r) {
    return w.first + minOf(r, w.count - 1);
  }

  HK_DEV Word *weights(Shared &sh, int row) {
    return reinterpret_cast<Word *>(sh.s[row]);
  }

  HK_DEV void addKeys(Shared &sh, int r, int from, int to) {
    for (int k = from; k < to; ++k)
      for (int c = 0; c < kColumns; c += 16) {
        int w = k / kElements;
        f32x16 &o = *(f32x16 *)&sh.o[r][c];
        auto p = Vec<Word, 16>(weights(sh, r)[w]),
             v = *(const Vec<Word, 16> *)&sh.v[c / 32][w][c % 32];
        if constexpr (!kPairs)
          o = __builtin_elementwise_fma(p, v, o);
        else if (k % 2)
          o = __builtin_elementwise_fma(oddOf<16>(p), oddOf<16>(v), o);
        else
          o = __builtin_elementwise_fma(evenOf<16>(p), evenOf<16>(v), o);
      }
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_HOSTTILE_H
