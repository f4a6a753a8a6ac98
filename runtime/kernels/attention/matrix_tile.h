//===- matrix_tile.h - One tile of keys on fragments -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scores of a tile are scaled, masked where some row does not see all of it,
// become probabilities in registers, and multiply the values.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_MATRIX_TILE_H
#define HK_KERNELS_ATTENTION_MATRIX_TILE_H

#include "kernels/attention/matrix_config.h"
#include "kernels/attention/narrow.h"

namespace hk {

/// Multiplies tiles of keys that lie in LDS.
template <AttentionSpec S, AttentionTile T, class R>
struct AttentionMatrixTile : AttentionMatrixConfig<S, T, R> {
  using Config = AttentionMatrixConfig<S, T, R>;
  using Config::kElement, Config::kHalves, Config::kScaledQueries, Config::kBk,
      Config::kScoresInFours, Config::kSharedScores, Config::kKeyTile,
      Config::kGaps, Config::kSoftmax, Config::kMayKeepUnit,
      Config::kFindsAhead, Config::kFromPieces, Config::firstColumn;
  using typename Config::Args, typename Config::Fragments,
      typename Config::TileBlocks, typename Config::Rows, typename Config::Walk;

  /// One tile of keys from j on.
  HK_DEV void multiply(const Args &a, const AttentionBlock &w, Fragments &f,
                       Rows &rows, i32 j, const Walk &x, const u8 *lds,
                       const TileBlocks &blocks = {}) {
    f.scores(lds);
    if constexpr (kSharedScores)
      f.addShares(x.scratch);
    weigh(a, w, f, rows, j, x, blocks);
    f.values(lds + kKeyTile, firstColumn() * kElement);
  }

  /// Products of queries and keys from j on become what multiplies the values.
  HK_DEV void weigh(const Args &a, const AttentionBlock &w, Fragments &f,
                    Rows &rows, i32 j, const Walk &x,
                    const TileBlocks &blocks) {
    if constexpr (S.qScale.exists() || S.kScale.exists() || kScaledQueries)
      f.forEachScore([&](int i, int key, auto &x)
                         __attribute__((always_inline)) {
                           constexpr int V = int(sizeof(x) / sizeof(float));
                           HK_UNROLL for (int e = 0; e < V; ++e) x[e] *=
                               rows.scale[i] * keyScale<S>(a, w, j + key + e);
                         });
    float unit = 1.f;
    if (kMayKeepUnit && a.scale > 0.f)
      unit = a.scale * kLog2E;
    else if (smallScores(a, f))
      scale<true>(a, w, f, rows, j);
    else
      scale<false>(a, w, f, rows, j);
    mask(a, w, f, rows, j, x, blocks);
    if constexpr (kSoftmax && kScoresInFours)
      normaliseScores(f, rows, unit);
    else if constexpr (kHalves)
      normaliseToHalves(f, rows);
    else if constexpr (kSoftmax)
      normaliseScores(f, rows);
    if constexpr (R::kWeight)
      f.forEachScore([&](int i, int key, auto &x)
                         __attribute__((always_inline)) {
                           constexpr int V = int(sizeof(x) / sizeof(float));
                           x = weighted<S, V>(a, w, rows.number[i], j + key, x);
                         });
    if constexpr (kScaledWeights<S>)
      f.forEachScore([&](int, int key, auto &x) __attribute__((always_inline)) {
        constexpr int V = int(sizeof(x) / sizeof(float));
        HK_UNROLL for (int e = 0; e < V; ++e) if (x[e] != 0.f) x[e] *=
            valueScale<S>(a, w, j + key + e);
      });
  }

private:
  /// Whether all scores of the wave are far below a soft cap, as most are. On
  /// sm_90a a branch is dearer than what it saves.
  HK_DEV bool smallScores(const Args &a, Fragments &f) {
    if constexpr (S.cap == ScoreCap::None || kArch == Arch::Sm90a)
      return false;
    float most = 0;
    f.forEachScore([&](int, int, auto &x) __attribute__((always_inline)) {
      constexpr int V = int(sizeof(x) / sizeof(float));
      HK_UNROLL for (int e = 0; e < V; ++e) most =
          __builtin_fmaxf(most, __builtin_fabsf(x[e]));
    });
    most *= __builtin_fabsf(a.scale / a.softcap);
    return ballot(!(most < kSmallCapped)) == 0;
  }
  /// Products to scores.
  template <bool SMALL>
  HK_DEV void scale(const Args &a, const AttentionBlock &w, Fragments &f,
                    const Rows &rows, i32 j) {
    f.forEachScore([&](int i, int key, auto &x) __attribute__((always_inline)) {
      constexpr int V = int(sizeof(x) / sizeof(float));
      x = finishScore<S, V>(a, w, rows.number[i], j + key,
                            score<S, V, SMALL>(a, x));
    });
  }

  /// Scores of keys that a row does not see are replaced.
  HK_DEV void mask(const Args &a, const AttentionBlock &w, Fragments &f,
                   const Rows &rows, i32 j, const Walk &x,
                   const TileBlocks &blocks) {
    if (j < x.fullBegin || j + kBk > x.fullEnd)
      f.forEachScore(
          [&](int i, int key, auto &v) __attribute__((always_inline)) {
            i32 stop = rows.end[i] < x.end ? rows.end[i] : x.end;
            constexpr int V = int(sizeof(v) / sizeof(float));
            HK_UNROLL for (int e = 0; e < V; ++e) {
              bool seen = j + key + e >= rows.begin[i] && j + key + e < stop;
              v[e] = seen ? v[e] : kUnseen<S>;
            }
          });
    if constexpr (kGaps) {
      auto missing = [&](int key) __attribute__((always_inline)) {
        if constexpr (kFromPieces)
          return blocks.isMissing(key);
        i32 at = j + key < x.end ? j + key : x.end - 1;
        if constexpr (kFindsAhead)
          return blocks.of(at) < 0;
        return isMissing<S>(a, w, at);
      };
      bool gap = false;
      if constexpr (kFindsAhead || kFromPieces)
        gap = blocks.anyMissing();
      else if constexpr (kOneBlock<S, kBk>)
        gap = missing(0);
      else
        for (int key = laneId(); key < kBk; key += kWave)
          gap |= missing(key);
      if (ballot(gap) != 0)
        f.forEachScore(
            [&](int, int key, auto &v) __attribute__((always_inline)) {
              constexpr int V = int(sizeof(v) / sizeof(float));
              HK_UNROLL for (int e = 0; e < V; ++e) if (missing(key + e)) v[e] =
                  kUnseen<S>;
            });
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_MATRIX_TILE_H
