//===- matrix.h - Gradients of attention on matrix fragments -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block owns T.rows keys or rows; a wave keeps both operands of its part and
// the f32 sums of its gradients in registers and walks T.walked of the other
// kind at a time, both operands of which lie in LDS:
//
//   owned keys: s = K Q^T, dp = V dO^T, dV += p dO, dK += ds Q
//   owned rows: s = Q K^T, dp = dO V^T,             dQ += ds K
//
// p and ds never leave registers: rounded to the operands' type they are the
// left operands of the second products. The tile that is the right operand of
// a first product is, as it lies, that of the second one. Only tiles at the
// edge of what some owned row walks are masked; there p is selected, so that
// whatever e^(s - lse) is of a pair that does not count never matters. ds is
// selected there, and everywhere behind a region, which may hide any key.
//
// A tile of dbias is made the same way from owned rows and one tile of keys, of
// one sequence after the other where they share it.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_BACKWARD_MATRIX_H
#define HK_KERNELS_ATTENTION_BACKWARD_MATRIX_H

#include "kernels/attention/backward/pairs.h"
#include "kernels/device/attention/fragments.h"

namespace hk {

/// The LDS of a block, and what depends on neither kind of it.
template <AttentionBackwardSpec S, AttentionBackwardTile T>
struct BackwardMatrixLayout {
  static constexpr int kElement = info(S.type).bits / 8;
  static constexpr int kHeadColumns = int(attentionBackwardColumns(S.headDim));
  static constexpr int kValueColumns =
      int(attentionBackwardColumns(S.valueDim));
  static constexpr int kHeadBytes = kHeadColumns * kElement;
  static constexpr int kValueBytes = kValueColumns * kElement;
  static constexpr int kHeadTile = T.walked * kHeadBytes;
  static constexpr int kTiles = kHeadTile + T.walked * kValueBytes;
  static constexpr int kStage = kTiles + T.walked * 8;
  static constexpr int kThreads = T.waves * kWave;
  static_assert(S.align >= 16 && S.headDim * kElement % 16 == 0 &&
                    S.valueDim * kElement % 16 == 0,
                "rows of 16-byte chunks; other shapes take the vector kernel");

  struct alignas(128) Shared {
    u8 bytes[T.stages * kStage];
  };
  static_assert(sizeof(Shared) == attentionBackwardLdsBytes(kArch, T, S.type,
                                                            S.headDim,
                                                            S.valueDim));
};

template <AttentionBackwardSpec S, AttentionBackwardTile T, Own O,
          class Regions = NoRegions>
struct AttentionBackwardMatrix : BackwardMatrixLayout<S, T> {
  using Layout = BackwardMatrixLayout<S, T>;
  using Args = AttentionBackwardArgs<S>;
  using Shared = typename Layout::Shared;
  static constexpr bool kKeys = O == Own::Keys;
  static constexpr Own kWalked = otherOwn(O);
  using Pairs = BackwardPairs<S, O, Regions>;
  /// The rows that are walked over have numbers.
  static constexpr bool kNumbers = kKeys && Pairs::kNumbers;
  /// Scores, and dK or dQ.
  using Head = AttentionFragments<S.type, T.rows, T.walked, Layout::kHeadBytes,
                                  Layout::kHeadColumns, T.waves>;
  /// dp, and dV.
  using ValueF =
      AttentionFragments<S.type, T.rows, T.walked, Layout::kValueBytes,
                         Layout::kValueColumns, T.waves>;
  static constexpr int R = Head::kRows;
  static constexpr int kWaveRows = T.rows / T.waves;
  using HeadCopy = RowCopy<T.walked, Layout::kHeadBytes,
                           S.headDim * Layout::kElement, Layout::kThreads>;
  using ValueCopy = RowCopy<T.walked, Layout::kValueBytes,
                            S.valueDim * Layout::kElement, Layout::kThreads>;
  static_assert(!HeadCopy::kDirect || T.stages == 2,
                "direct copies would overwrite the tile being read");

  /// Beside slopes no registers are left on sm_90a that hold a lane's places in
  /// LDS through the walk: each step finds them again.
  static constexpr bool kPlacesPerStep =
      kArch == Arch::Sm90a && Pairs::kFactors;
  /// A lane or thread, as a number that nothing was derived from before.
  HK_DEV int hidden(int number) {
    return kPlacesPerStep ? int(opaqueWord(u32(number))) : number;
  }
  template <class F> HK_DEV void scores(F &f, const u8 *lds) {
    if constexpr (kPlacesPerStep)
      f.scores(lds, hidden(laneId()));
    else
      f.scores(lds);
  }
  template <class F> HK_DEV void values(F &f, const u8 *lds) {
    if constexpr (kPlacesPerStep)
      f.values(lds, 0, hidden(laneId()));
    else
      f.values(lds);
  }

  /// 16-byte chunks of one operand of the owned rows; zero outside.
  template <int Bytes> struct OwnedRows {
    Global<const u8> row[R];
    bool exists[R];
    template <class V> HK_MEM V load(int slot, int, int byte) const {
      V v = V(0);
      if (exists[slot] && byte < Bytes)
        v = *(Global<const V>)(row[slot] + byte);
      return v;
    }
  };

  /// What is walked over.
  struct Walked {
    BackwardSide<S, kWalked> side;
    BackwardNumbers<S> numbers;
  };

  /// Moves one tile of both operands, and what rows have besides.
  struct TileCopy {
    HeadCopy head;
    ValueCopy value;
    float base, delta;
    HK_MEM void issue(const Walked &from, i32 j, i32 end, u8 *lds) {
      // Behind the last one: that again, masked later.
      auto at = [&](int row) __attribute__((always_inline)) {
        return j + row < end ? j + row : end - 1;
      };
      int thread = hidden(threadId());
      head.issue(
          thread,
          [&](int row) __attribute__((always_inline)) {
            return (Global<const u8>)from.side.head.at(at(row));
          },
          lds);
      value.issue(
          thread,
          [&](int row) __attribute__((always_inline)) {
            return (Global<const u8>)from.side.value.at(at(row));
          },
          lds + Layout::kHeadTile);
      if constexpr (kNumbers) {
        if (threadId() < T.walked) {
          base = Pairs::base(from.numbers, at(threadId()));
          delta = Pairs::delta(from.numbers, at(threadId()));
        }
      }
    }
    HK_MEM void land(u8 *lds) {
      head.land(threadId(), lds);
      value.land(threadId(), lds + Layout::kHeadTile);
      if (kNumbers && threadId() < T.walked) {
        float *rows = reinterpret_cast<float *>(lds + Layout::kTiles);
        rows[threadId()] = base;
        rows[T.walked + threadId()] = delta;
      }
    }
  };

  /// What a lane knows of what it owns (each walks [from, to)), and what its
  /// wave walks: a tile from `begin` to `end` concerns it, one inside
  /// [fullBegin, fullEnd) whole.
  struct Owned {
    i32 from[R], to[R];
    float base[R], delta[R];
    i32 begin, end, fullBegin, fullEnd;
  };

  template <class Source>
  HK_DEV void run(Source args, i64 tile, i64 head, Shared &sh) {
    BackwardBlock w;
    if (!locateBackward<S, O>(args(), tile, head, T.rows, w))
      return;
    Head h;
    ValueF v;
    Owned owned;
    prepare(args(), w, h, v, owned);
    BackwardRange all = walkOf<S, O>(w);
    i32 end = i32(all.end);
    i32 begin =
        all.begin < all.end ? i32(all.begin / T.walked * T.walked) : end;
    Pairs pairs(args(), w);
    i32 ownFirst = w.first;
    if constexpr (kKeys) { // one number less to keep until the end
      w.keyStart += w.first;
      w.first = 0;
    }
    Walked from = {sideOf<S, kWalked>(args(), w), numbersOf<S>(args(), w)};
    TileCopy copy;
    if constexpr (T.stages == 2) {
      if (begin < end) {
        copy.issue(from, begin, end, sh.bytes);
        copy.land(sh.bytes);
      }
      int stage = 0;
      for (i32 j = begin; j < end; j += T.walked) {
        rowCopyWait();
        barrier();
        u8 *now = sh.bytes + stage * Layout::kStage;
        stage ^= 1;
        u8 *next = sh.bytes + stage * Layout::kStage;
        if (j + T.walked < end) {
          copy.issue(from, j + T.walked, end, next);
          copy.land(next);
        }
        step(args(), pairs, ownFirst, h, v, owned, j, now);
      }
      rowCopyWait();
    } else {
      if (begin < end)
        copy.issue(from, begin, end, sh.bytes);
      for (i32 j = begin; j < end; j += T.walked) {
        barrier();
        copy.land(sh.bytes);
        barrier();
        // Registers want no branch: behind the last tile the last row again.
        copy.issue(from, j + T.walked, end, sh.bytes);
        step(args(), pairs, ownFirst, h, v, owned, j, sh.bytes);
      }
    }
    finish(args(), w, h, v);
  }

  /// A tile of dbias.
  template <class Source>
  HK_DEV void runBias(Source args, i64 tile, i64 head, Shared &sh) {
    static_assert(!kKeys);
    BackwardBias bias = locateBias<S>(args(), tile, T);
    i32 j = i32(bias.keys);
    Head sum;
    clear(sum);
    for (i64 b = bias.first; b < bias.end; ++b) {
      BackwardBlock w;
      if (!findBiasRows<S>(args(), bias, b, head, T.rows, w))
        continue;
      Walked from = {sideOf<S, kWalked>(args(), w), {}};
      Head h;
      ValueF v;
      Owned owned;
      prepare(args(), w, h, v, owned);
      TileCopy copy;
      copy.issue(from, j, w.keys, sh.bytes);
      copy.land(sh.bytes);
      rowCopyWait();
      barrier();
      if (j + T.walked > owned.begin && j < owned.end) {
        h.scores(sh.bytes);
        v.scores(sh.bytes + Layout::kHeadTile);
        weigh<true, true>(args(), Pairs(args(), w), w.first, h, v, owned, j,
                          nullptr);
        add(sum, h);
      }
      barrier();
    }
    BackwardBlock w = blockOfBias<S>(args(), bias, head, T.rows);
    storeBias(args(), w, sum, j);
  }

private:
  static constexpr int kScoreVectors =
      int(sizeof(Head::s) / sizeof(Head::s[0]));
  static constexpr int kScores =
      int(sizeof(Head::s[0]) / sizeof(Head::s[0][0]));

  HK_DEV void clear(Head &f) {
    HK_UNROLL for (int i = 0; i < kScoreVectors; ++i)
        HK_UNROLL for (int n = 0; n < kScores; ++n) f.s[i][n] = 0.f;
  }
  HK_DEV void add(Head &to, const Head &f) {
    HK_UNROLL for (int i = 0; i < kScoreVectors; ++i)
        HK_UNROLL for (int n = 0; n < kScores; ++n) to.s[i][n] += f.s[i][n];
  }
  /// Rows of keys have any number of elements, so any alignment.
  HK_DEV void storeBias(const Args &a, const BackwardBlock &w, Head &sum,
                        i32 j) {
    auto rows = biasOf<S>(a, w);
    sum.forEachScore(
        [&](int i, int at, auto &x) __attribute__((always_inline)) {
          constexpr int V = int(sizeof(x) / sizeof(float));
          if (Head::rowOf(i) >= w.count)
            return;
          auto to = rows.at(w.first + Head::rowOf(i));
          HK_UNROLL for (int e = 0; e < V; ++e) if (j + at + e < w.keys)
              hk::store<S.biasType, 1>(to, j + at + e, Vec<float, 1>(x[e]));
        });
  }

  HK_DEV void prepare(const Args &a, const BackwardBlock &w, Head &h, ValueF &v,
                      Owned &owned) {
    BackwardSide<S, O> side = sideOf<S, O>(a, w);
    BackwardNumbers<S> numbers = numbersOf<S>(a, w);
    OwnedRows<S.headDim * Layout::kElement> heads;
    OwnedRows<S.valueDim * Layout::kElement> values;
    HK_UNROLL for (int i = 0; i < R; ++i) {
      bool exists = Head::rowOf(i) < w.count;
      i64 own = w.first + minOf(Head::rowOf(i), w.count - 1);
      heads.row[i] = (Global<const u8>)side.head.at(own);
      values.row[i] = (Global<const u8>)side.value.at(own);
      heads.exists[i] = values.exists[i] = exists;
      BackwardRange walk = walkOf<S, O>(w, own);
      owned.from[i] = i32(walk.begin);
      owned.to[i] = exists ? i32(walk.end) : 0;
      if constexpr (!kKeys) {
        owned.base[i] = Pairs::base(numbers, own);
        owned.delta[i] = Pairs::delta(numbers, own);
      }
    }
    h.loadQueries(heads);
    v.loadQueries(values);
    h.clearOutput();
    v.clearOutput();
    // Ends grow with what is owned: the first row has the first of all and the
    // earliest end, the last row the opposite.
    i64 first = w.first + Head::firstRow(), stop = w.first + w.count;
    i64 last = minOf(first + kWaveRows, stop) - 1;
    owned.begin = owned.end = owned.fullBegin = owned.fullEnd = 0;
    if (first < stop) {
      BackwardRange low = walkOf<S, O>(w, first), high = walkOf<S, O>(w, last);
      owned.begin = i32(low.begin);
      owned.end = i32(high.end);
      owned.fullBegin = i32(high.begin);
      owned.fullEnd = i32(low.end);
    }
  }

  /// Base or delta of V walked rows from `at` on, or of owned row i.
  template <int V>
  HK_DEV Vec<float, V> rowNumber(const float (&own)[R], int i,
                                 const float *walked, int at) {
    if constexpr (!kKeys)
      return Vec<float, V>(own[i]);
    Vec<float, V> x;
    HK_UNROLL for (int e = 0; e < V; ++e)
        // Scores of a lane are neighbours.
        x[e] = walked[at + e];
    return x;
  }

  HK_DEV void step(const Args &a, const Pairs &pairs, i32 first, Head &h,
                   ValueF &v, const Owned &owned, i32 j, const u8 *lds) {
    if (j + T.walked <= owned.begin || j >= owned.end)
      return;
    const float *rows = reinterpret_cast<const float *>(lds + Layout::kTiles);
    scores(h, lds);
    scores(v, lds + Layout::kHeadTile);
    if (j < owned.fullBegin || j + T.walked > owned.fullEnd)
      weigh<true>(a, pairs, first, h, v, owned, j, rows);
    else
      weigh<false>(a, pairs, first, h, v, owned, j, rows);
    if constexpr (kKeys)
      values(v, lds + Layout::kHeadTile);
    values(h, lds);
  }

  /// The factors of ds of a lane's scores, in their order.
  struct Factors {
    float of[sizeof(Head::s) / sizeof(float)];
    int count = 0;
    /// Those from place `at` on, 0 outside [*lo, *hi) of the tile.
    template <bool Masked, int V>
    HK_MEM void push(Vec<float, V> x, int at, const int *lo, const int *hi) {
      HK_UNROLL for (int e = 0; e < V; ++e) of[count++] =
          !Masked || (at + e >= *lo && at + e < *hi) ? x[e] : 0.f;
    }
    HK_MEM void spread(Head &to) const {
      int at = 0;
      to.forEachScore([&](int, int, auto &x) __attribute__((always_inline)) {
        constexpr int V = int(sizeof(x) / sizeof(float));
        HK_UNROLL for (int e = 0; e < V; ++e) x[e] = of[at++];
      });
    }
  };

  /// p to what is not 0 where a pair counts.
  HK_DEV void toCounts(Head &p, const Head &factors) {
    if constexpr (Pairs::kFactors)
      HK_UNROLL for (int i = 0; i < kScoreVectors; ++i)
          HK_UNROLL for (int n = 0; n < kScores; ++n)
              p.s[i][n] = Pairs::counts(p.s[i][n], factors.s[i][n]);
  }

  /// q . k to the slopes of the soft cap there.
  HK_DEV void toCapSlopes(const Args &a, Head &f) {
    f.forEachScore([&](int, int, auto &x) __attribute__((always_inline)) {
      constexpr int V = int(sizeof(x) / sizeof(float));
      Vec<float, V> slope;
      backwardScore<S, V>(a, x, slope);
      x = slope;
    });
  }

  /// Scores to ds, or what dbias takes of it, and, for owned keys, dp to p w.
  /// `first`: of what the block owns.
  template <bool Masked, bool ForBias = false>
  HK_DEV void weigh(const Args &a, const Pairs &pairs, i32 first, Head &h,
                    ValueF &v, const Owned &owned, i32 j, const float *rows) {
    int lo[R], hi[R];
    if constexpr (Masked)
      HK_UNROLL for (int i = 0; i < R; ++i) {
        lo[i] = owned.from[i] - j;
        hi[i] = owned.to[i] - j;
      }
    auto capped = h;
    [[maybe_unused]] Factors made;
    h.forEachScore([&](int i, int at, auto &x) __attribute__((always_inline)) {
      constexpr int V = int(sizeof(x) / sizeof(float));
      Vec<float, V> slope;
      x = backwardScore<S, V, Regions>(a, x, slope);
      if constexpr (Pairs::kFactors) {
        Vec<float, V> factor;
        pairs.template weigh<V>(x, factor, first + Head::rowOf(i), j + at);
        made.template push<Masked, V>(factor, at, &lo[i], &hi[i]);
      } else {
        x = pairs.template scores<V>(x, first + Head::rowOf(i), j + at);
        x = Pairs::template weigh<V>(x, rowNumber<V>(owned.base, i, rows, at));
      }
      if constexpr (Masked)
        HK_UNROLL for (int e = 0; e < V; ++e) x[e] =
            at + e >= lo[i] && at + e < hi[i] ? x[e] : 0.f;
    });
    auto factors = h;
    if constexpr (Pairs::kFactors)
      made.spread(factors);
    auto weights = h;
    if constexpr (Regions::kWeight) {
      toCounts(weights, factors);
      weights.forEachScore(
          [&](int i, int at, auto &x) __attribute__((always_inline)) {
            constexpr int V = int(sizeof(x) / sizeof(float));
            x = pairs.template weights<V>(x, first + Head::rowOf(i), j + at);
          });
      multiply(v, weights);
    }
    v.forEachScore([&](int i, int at, auto &x) __attribute__((always_inline)) {
      constexpr int V = int(sizeof(x) / sizeof(float));
      x = Pairs::template moved<V>(
          x, rowNumber<V>(owned.delta, i, rows + T.walked, at));
    });
    if constexpr (S.softcap && !ForBias)
      toCapSlopes(a, capped);
    HK_UNROLL for (int i = 0; i < kScoreVectors; ++i)
        HK_UNROLL for (int n = 0; n < kScores; ++n) {
      auto p = h.s[i][n], factor = factors.s[i][n], ds = factor * v.s[i][n];
      if constexpr (S.softcap && !ForBias)
        ds *= capped.s[i][n];
      // dp of a pair that does not count may be anything.
      h.s[i][n] = Masked || Pairs::kFactors || Regions::kScore
                      ? (factor == 0.f ? decltype(p)(0.f) : ds)
                      : ds;
      v.s[i][n] = p;
    }
    if constexpr (Regions::kWeight && kKeys)
      multiply(v, weights);
  }
  HK_DEV void multiply(ValueF &v, const Head &by) {
    HK_UNROLL for (int i = 0; i < kScoreVectors; ++i)
        HK_UNROLL for (int n = 0; n < kScores; ++n) v.s[i][n] *= by.s[i][n];
  }

  HK_DEV void finish(const Args &a, const BackwardBlock &w, Head &h,
                     ValueF &v) {
    BackwardResults<S, O> results = resultsOf<S, O>(a, w);
    if constexpr (!kKeys || S.dk)
      store<S.headDim>(w, h, results.head, a.scale);
    if constexpr (kKeys && S.dv)
      store<S.valueDim>(w, v, results.value, 1.f);
  }

  template <int Size, class Fragments, class View>
  HK_DEV void store(const BackwardBlock &w, Fragments &f, const View &results,
                    float factor) {
    Global<Storage<S.outType>> to[R];
    bool exists[R];
    HK_UNROLL for (int i = 0; i < R; ++i) {
      exists[i] = Head::rowOf(i) < w.count;
      to[i] = results.at(w.first + minOf(Head::rowOf(i), w.count - 1));
    }
    constexpr DType D = S.outType;
    f.forEachOutput(
        [&](int i, int column, auto x) __attribute__((always_inline)) {
          constexpr int V = int(sizeof(x) / sizeof(float)), P = V < 8 ? V : 8;
          constexpr int align = S.align < kBytes<D, P> ? S.align : kBytes<D, P>;
          HK_UNROLL for (int c = 0; c < V; c += P) {
            if (!exists[i] || column + c >= Size)
              continue;
            Vec<float, P> y;
            HK_UNROLL for (int e = 0; e < P; ++e) y[e] = x[c + e] * factor;
            hk::store<D, P, align>(to[i], column + c, y);
          }
        });
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_BACKWARD_MATRIX_H
