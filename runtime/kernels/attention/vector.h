//===- vector.h - Attention on the vector units of a GPU -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The path for what matrix fragments cannot take: head sizes that are no
// multiple of 16 bytes, unaligned rows, f32 where the chip has no f32 matrix
// instruction. One wave per row: a lane has one key of a tile for the scores
// and every waveSize-th column for the result. Right, not fast.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_VECTOR_H
#define HK_KERNELS_ATTENTION_VECTOR_H

#include "kernels/attention/softmax.h"

namespace hk {

/// op over the values that the lanes of a wave hold; every lane gets it.
template <int Distance = 1, class Op> HK_DEV float waveAll(float x, Op op) {
  x = op(x, bitCast<float>(laneXor<Distance>(bitCast<int>(x))));
  if constexpr (Distance * 2 < kWave)
    return waveAll<Distance * 2>(x, op);
  else
    return x;
}

/// The query of a wave's row and the probabilities of a tile of keys.
template <int HeadDim, int Keys> struct AttentionVectorShared {
  float q[HeadDim];
  float p[Keys];
};
/// What a wave knows of its row.
template <int PerLane> struct AttentionVectorRow {
  i64 number;
  float o[PerLane] = {}, maximum = kMinusInf, sum = 0.f;
};

template <AttentionSpec S, AttentionTile T, class R = NoRegions>
struct AttentionVector {
  using Args = AttentionArgs<S, R>;
  static_assert(T.waves == 1 && T.bk == kWave);
  static constexpr int kThreads = kWave;
  static constexpr int kPerLane = (S.valueDim + kWave - 1) / kWave;
  /// Keys whose values are under way at a time. Where each lies is in scalar
  /// registers on AMD, which those of four keys would spill.
  static constexpr int kTogether =
      kArch == Arch::Sm90a && kPerLane <= 4 ? 4 : 2;

  using Shared = AttentionVectorShared<S.headDim, T.bk>;
  using Row = AttentionVectorRow<kPerLane>;
  static_assert(sizeof(Shared) ==
                attentionLdsBytes(kArch, T, S.type, S.headDim, S.valueDim));

  template <class More = NoMoreSegments>
  HK_DEV void run(const Args &a, BlockId id, Shared &sh, More more = {}) {
    AttentionBlock w;
    if (!locate<S, T>(a, id, w))
      return;
    for (i64 r = w.first; r < w.first + w.count; ++r) {
      Row row = {r};
      barrier();
      for (int d = laneId(); d < S.headDim; d += kWave)
        sh.q[d] = loadFloat<S.qType>(a.q, queryOffset<S>(a, w, r) + d);
      barrier();
      walk(a, w, row, sh);
      if constexpr (kScaledSegment<S>)
        if (row.maximum != kMinusInf) // else no key is seen
          HK_UNROLL for (int c = 0; c < kPerLane; ++c) row.o[c] *=
              resultScale<S>(a, w, columnOf(c));
      more(w, row, sh);
      finish(a, w, row);
    }
  }

  /// The keys of another segment, whose rows another kernel began.
  HK_DEV void addSegment(const Args &a, AttentionBlock w, Row &row,
                         Shared &sh) {
    locateKeys<S, T>(a, 0, w);
    walk(a, w, row, sh);
  }

private:
  /// The score of one key of a lane.
  HK_DEV float keyScore(const Args &a, const AttentionBlock &w, i64 r, i64 key,
                        i64 end, const Shared &sh) {
    if (key >= end || isMissing<S>(a, w, key))
      return kUnseen<S>;
    i64 k = keyOffset<S>(a, w, key).k;
    float dot = 0.f;
    _Pragma("unroll 8") for (int d = 0; d < S.headDim; ++d) dot =
        __builtin_fmaf(sh.q[d],
                       loadFloat<S.kType>(a.k, k + keyElement<S>(a, d)), dot);
    dot *= rowScale<S>(a, w, r) * keyScale<S>(a, w, key);
    Vec<float, 1> x = score<S, 1>(a, Vec<float, 1>(dot));
    return finishScore<S, 1>(a, w, r, key, x)[0];
  }

  HK_DEV void walk(const Args &a, const AttentionBlock &w, Row &row,
                   Shared &sh) {
    int lane = laneId();
    i64 r = row.number;
    float (&o)[kPerLane] = row.o;
    KeyRange range = visibleKeys<S>(w, r / S.group);
    for (i64 j = range.begin; j < range.end; j += T.bk) {
      float p = keyScore(a, w, r, j + lane, range.end, sh);
      if constexpr (S.normalizer != Normalizer::None) {
        float top =
            waveAll(p, [](float u, float v) { return __builtin_fmaxf(u, v); });
        top = __builtin_fmaxf(top, row.maximum);
        float base = softmaxBase(top), factor = softmaxExp2(row.maximum - base);
        p = softmaxExp2(p - base);
        row.maximum = top;
        row.sum = row.sum * factor +
                  waveAll(p, [](float u, float v) { return u + v; });
        HK_UNROLL for (int c = 0; c < kPerLane; ++c) o[c] *= factor;
      }
      p = weighted<S, 1>(a, w, r, j + lane, Vec<float, 1>(p))[0];
      barrier();
      if (p != 0.f)
        p *= valueScale<S>(a, w, j + lane);
      sh.p[lane] = p;
      barrier();
      int n = int(minOf(T.bk, range.end - j));
      for (int e = 0; e < n; e += kTogether)
        addValues(a, w, j, e, n, row, sh);
    }
  }

  /// The c-th column of this lane, or the last one.
  HK_MEM static int columnOf(int c) {
    int column = c * kWave + laneId();
    return S.valueDim % kWave == 0 ? column : minOf(column, S.valueDim - 1);
  }

  /// Values of keys e to e + kTogether, below n, of the tile from key j on. All
  /// are asked for before the first is used.
  HK_DEV void addValues(const Args &a, const AttentionBlock &w, i64 j, int e,
                        int n, Row &row, const Shared &sh) {
    bool there[kTogether];
    float v[kTogether][kPerLane];
    HK_UNROLL for (int i = 0; i < kTogether; ++i) {
      i64 key = j + minOf(e + i, n - 1);
      there[i] = e + i < n && !isMissing<S>(a, w, key);
      i64 at = keyOffset<S>(a, w, key).v;
      HK_UNROLL for (int c = 0; c < kPerLane; ++c) v[i][c] =
          loadFloat<S.vType>(a.v, at + valueElement<S>(a, columnOf(c)));
    }
    HK_UNROLL for (int i = 0; i < kTogether; ++i)
        HK_UNROLL for (int c = 0; c < kPerLane; ++c) if (there[i])
            row.o[c] = __builtin_fmaf(sh.p[e + i], v[i][c], row.o[c]);
  }

  HK_DEV void finish(const Args &a, const AttentionBlock &w, const Row &row) {
    int lane = laneId();
    i64 r = row.number;
    RowEnd end =
        finishRow<S>(a, w.head * S.group + r % S.group, row.maximum, row.sum);
    i64 at = outOffset<S>(a, w, r);
    using Epilogue = EpilogueOf<R>;
    auto valueOf = [&](int c) __attribute__((always_inline)) {
      float y = row.o[c] * end.factor;
      if constexpr (kScaledResult<S>)
        if (end.factor != 0.f) // else no key is seen
          y *= resultScale<S>(a, w, c * kWave + lane);
      return y;
    };
    [[maybe_unused]] float stats[kPerLane] = {};
    if constexpr (kStatGroup<Epilogue> != 0)
      findStats(a, w, r, stats, valueOf);
    HK_UNROLL for (int c = 0; c < kPerLane; ++c) {
      int column = c * kWave + lane;
      if (S.valueDim % kWave != 0 && column >= S.valueDim)
        continue;
      float y = valueOf(c);
      if constexpr (kHasEpilogue<R>)
        applyEpilogue<Epilogue, S, 1>(a, w, r, column, Vec<float, 1>(y),
                                      stats[c]);
      else
        hk::store<S.outType, 1>(a.out, at + column, Vec<float, 1>(y));
    }
    if constexpr (S.storesLse())
      if (lane == 0)
        a.lse[lseOffset<S>(a, w, r)] = end.lse;
  }

private:
  /// The statistics of the groups of this lane's columns, one group after the
  /// other: all lanes have some of each.
  template <class ValueOf>
  HK_MEM static void findStats(const Args &a, const AttentionBlock &w, i64 row,
                               float (&stats)[kPerLane], ValueOf valueOf) {
    using Epilogue = EpilogueOf<R>;
    constexpr int group = kStatGroup<Epilogue>;
    float own[kPerLane];
    HK_UNROLL for (int c = 0; c < kPerLane; ++c) {
      int column = c * kWave + laneId();
      bool exists = S.valueDim % kWave == 0 || column < S.valueDim;
      own[c] = 0;
      if (exists)
        own[c] = epilogueStat<Epilogue, S, 1>(a, w, row, column,
                                              Vec<float, 1>(valueOf(c)));
    }
    for (int g = 0; g < S.valueDim / group; ++g) {
      float stat[1] = {0};
      HK_UNROLL for (int c = 0; c < kPerLane; ++c) stat[0] =
          (c * kWave + laneId()) / group == g ? Max::apply(stat[0], own[c])
                                              : stat[0];
      groupReduce<Max, kWave>(stat);
      HK_UNROLL for (int c = 0; c < kPerLane; ++c) stats[c] =
          (c * kWave + laneId()) / group == g ? stat[0] : stats[c];
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_VECTOR_H
