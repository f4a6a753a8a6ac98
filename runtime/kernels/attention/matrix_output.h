//===- matrix_output.h - Results of attention on fragments -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Waves that had keys of their own merge what they summed; then rows are
// divided by their sums, scaled, and stored, or handed to an epilogue.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_MATRIX_OUTPUT_H
#define HK_KERNELS_ATTENTION_MATRIX_OUTPUT_H

#include "kernels/attention/epilogue.h"
#include "kernels/attention/matrix_config.h"
#include "kernels/attention/narrow.h"

namespace hk {

/// Ends the rows of a block.
template <AttentionSpec S, AttentionTile T, class R>
struct AttentionMatrixOutput : AttentionMatrixConfig<S, T, R> {
  using Config = AttentionMatrixConfig<S, T, R>;
  using Config::kColumns, Config::kRowWaves, Config::kGroupColumns,
      Config::kGroups, Config::firstColumn;
  using typename Config::Args, typename Config::Fragments,
      typename Config::Shared, typename Config::Rows;

  /// Of Count waves the second half hand their parts to the first, and so on.
  /// The lanes of two waves hold the same rows and columns.
  template <int Count>
  HK_DEV void mergeParts(Fragments &f, Rows &rows, int part, Shared &sh) {
    constexpr int Half = (Count + 1) / 2;
    constexpr int N = Fragments::kRows;
    constexpr int registers = T.bq * kGroupColumns / kWave;
    constexpr int floats = (registers + 2 * N) * kWave;
    static_assert(Half * floats * 4 <= int(sizeof(Shared)));
    float *slot =
        reinterpret_cast<float *>(sh.bytes) + (part % Half) * floats + laneId();
    barrier();
    if (part >= Half && part < Count) {
      f.eachOutput([&](int, int e, float &x)
                       __attribute__((always_inline)) { slot[e * kWave] = x; });
      HK_UNROLL for (int i = 0; i < N; ++i) {
        slot[(registers + i) * kWave] = rows.maximum[i];
        slot[(registers + N + i) * kWave] = rows.sum[i];
      }
    }
    barrier();
    if (part < Count - Half) {
      float own[N], other[N];
      HK_UNROLL for (int i = 0; i < N; ++i) {
        float maximum = slot[(registers + i) * kWave];
        float top = __builtin_fmaxf(rows.maximum[i], maximum);
        float base = softmaxBase(top);
        own[i] = softmaxExp2(rows.maximum[i] - base);
        other[i] = softmaxExp2(maximum - base);
        rows.maximum[i] = top;
        rows.sum[i] =
            rows.sum[i] * own[i] + slot[(registers + N + i) * kWave] * other[i];
      }
      f.eachOutput([&](int i, int e, float &x) __attribute__((always_inline)) {
        x = x * own[i] + slot[e * kWave] * other[i];
      });
    }
    if constexpr (Half > 1)
      mergeParts<Half>(f, rows, part, sh);
  }

  HK_DEV void finish(const Args &a, const AttentionBlock &w, Fragments &f,
                     Rows &rows) {
    constexpr int N = Fragments::kRows;
    Fragments::laneReduce(rows.sum,
                          [](float x, float y)
                              __attribute__((always_inline)) { return x + y; });
    float factor[N];
    i64 at[N];
    bool exists[N];
    HK_UNROLL for (int i = 0; i < N; ++i) {
      exists[i] = Fragments::rowOf(i) < w.count;
      i64 row = w.first + minOf(Fragments::rowOf(i), w.count - 1);
      RowEnd end = finishRow<S>(a, w.head * S.group + row % S.group,
                                rows.maximum[i], rows.sum[i]);
      at[i] = outOffset<S>(a, w, row);
      if constexpr (S.storesLse())
        if (exists[i] && Fragments::rowLead() && firstColumn() == 0)
          a.lse[lseOffset<S>(a, w, row)] = end.lse;
      factor[i] = end.factor;
    }
    scale(f, rows, factor);
    if constexpr (kHasEpilogue<R>)
      return putOutput(a, w, f, factor);
    constexpr DType to = S.outType;
    f.forEachOutput([&](int i, int local,
                        auto x) __attribute__((always_inline)) {
      int column = firstColumn() + local;
      constexpr int V = int(sizeof(x) / sizeof(float)), P = V < 8 ? V : 8;
      constexpr int align = S.align < kBytes<to, P> ? S.align : kBytes<to, P>;
      HK_UNROLL for (int c = 0; c < V; c += P) {
        if (!exists[i] || (kColumns != S.valueDim && column + c >= S.valueDim))
          continue;
        Vec<float, P> y;
        HK_UNROLL for (int e = 0; e < P; ++e) y[e] = x[c + e];
        if constexpr (kScaledResult<S>)
          if (factor[i] != 0.f) // else no key is seen
            HK_UNROLL for (int e = 0; e < P; ++e) y[e] *=
                resultScale<S>(a, w, column + c + e);
        hk::store<to, P, align>(a.out, at[i] + column + c, y);
      }
    });
  }

private:
  /// What a row that sees nothing summed may be 0 * inf.
  HK_DEV void scale(Fragments &f, const Rows &rows,
                    const float (&factor)[Fragments::kRows]) {
    bool unseen[Fragments::kRows];
    HK_UNROLL for (int i = 0; i < Fragments::kRows; ++i) unseen[i] =
        Config::kSoftmax ? rows.sum[i] == 0.f : rows.begin[i] >= rows.end[i];
    f.eachOutput([&](int i, int, float &x) __attribute__((always_inline)) {
      x = unseen[i] ? 0.f : x * factor[i];
    });
  }

  /// A wave has whole groups of its columns.
  using Stats = GroupStats<EpilogueOf<R>, kGroupColumns>;
  static_assert(kStatGroup<EpilogueOf<R>> == 0 || kGroups == 1 ||
                kGroupColumns % kStatGroup<EpilogueOf<R>> == 0);

  HK_MEM static void shareStats(Stats (&stats)[Fragments::kRows]) {
    HK_UNROLL for (int g = 0; g < Stats::kCount; ++g) {
      float of[Fragments::kRows];
      HK_UNROLL for (int i = 0; i < Fragments::kRows; ++i) of[i] =
          stats[i].of[g];
      Fragments::laneReduce(
          of, [](float x, float y)
                  __attribute__((always_inline)) { return Max::apply(x, y); });
      HK_UNROLL for (int i = 0; i < Fragments::kRows; ++i) stats[i].of[g] =
          of[i];
    }
  }

  /// The same with an epilogue. All is computed before the first is stored, of
  /// rows and columns that do not exist that of some that do.
  HK_DEV void putOutput(const Args &a, AttentionBlock w, Fragments &f,
                        const float (&factor)[Fragments::kRows]) {
    w.first = computeFromHere(w.first);
    using Epilogue = EpilogueOf<R>;
    constexpr int V = Fragments::kOutputVec;
    constexpr int P = kEpilogueVec<Epilogue, (V < 8 ? V : 8)>;
    constexpr int count = T.bq / kRowWaves * kGroupColumns / kWave / P;
    constexpr int last = S.valueDim - P;
    EpilogueResults<Epilogue, P> made[count];
    auto columnOf = [&](int local, int c) __attribute__((always_inline)) {
      return firstColumn() + local + c;
    };
    // Each vector of columns, with what it is of.
    auto forEachVector = [&](auto visit) __attribute__((always_inline)) {
      f.forEachOutput(
          [&](int i, int local, auto x) __attribute__((always_inline)) {
            HK_UNROLL for (int c = 0; c < V; c += P) {
              int column = columnOf(local, c);
              if constexpr (kColumns != S.valueDim)
                column = column < last ? column : last;
              Vec<float, P> y;
              HK_UNROLL for (int e = 0; e < P; ++e) y[e] = x[c + e];
              if constexpr (kScaledResult<S>)
                if (factor[i] != 0.f) // else no key is seen
                  HK_UNROLL for (int e = 0; e < P; ++e) y[e] *=
                      resultScale<S>(a, w, column + e);
              i64 row = w.first + minOf(Fragments::rowOf(i), w.count - 1);
              visit(i, row, local + c, column, y);
            }
          });
    };
    Stats stats[Fragments::kRows];
    if constexpr (kStatGroup<Epilogue> != 0) {
      forEachVector([&](int i, i64 row, int local, int column,
                        auto y) __attribute__((always_inline)) {
        if (kColumns == S.valueDim || firstColumn() + local < S.valueDim)
          stats[i].add(local,
                       epilogueStat<Epilogue, S, P>(a, w, row, column, y));
      });
      shareStats(stats);
    }
    int n = 0;
    forEachVector([&](int i, i64 row, int local, int column, auto y)
                      __attribute__((always_inline)) {
                        made[n++] = computeEpilogue<Epilogue, S, P>(
                            a, w, row, column, y, stats[i].get(local));
                      });
    n = 0;
    f.forEachOutput([&](int i, int local, auto) __attribute__((always_inline)) {
      HK_UNROLL for (int c = 0; c < V; c += P, ++n) {
        int column = columnOf(local, c);
        if (Fragments::rowOf(i) < w.count &&
            (kColumns == S.valueDim || column < S.valueDim))
          putEpilogue<Epilogue, S, P>(a, w, w.first + Fragments::rowOf(i),
                                      column, made[n]);
      }
    });
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_MATRIX_OUTPUT_H
