//===- vector.h - Gradients of attention on vector units -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The path for what matrix fragments cannot take: head sizes that are no
// multiple of 16 bytes, unaligned rows, f32 where the chip has no f32 matrix
// instruction. A wave owns one key or row: a lane has one of what is walked for
// the products that make p and ds, and every waveSize-th column of the
// gradients. p and ds stay f32. Right, not fast.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_BACKWARD_VECTOR_H
#define HK_KERNELS_ATTENTION_BACKWARD_VECTOR_H

#include "kernels/attention/backward/pairs.h"

namespace hk {

template <AttentionBackwardSpec S, AttentionBackwardTile T>
struct VectorShared {
  float head[S.headDim], value[S.valueDim];
  float p[T.walked], ds[T.walked];
};

template <AttentionBackwardSpec S, AttentionBackwardTile T, Own O,
          class Regions = NoRegions>
struct AttentionBackwardVector {
  static_assert(T.rows == 1 && T.waves == 1 && T.walked == kWave);
  using Args = AttentionBackwardArgs<S>;
  using Shared = VectorShared<S, T>;
  static_assert(sizeof(Shared) == attentionBackwardLdsBytes(kArch, T, S.type,
                                                            S.headDim,
                                                            S.valueDim));
  static constexpr int kThreads = kWave;
  using Pairs = BackwardPairs<S, O, Regions>;
  static constexpr bool kKeys = O == Own::Keys;
  static constexpr Own kWalked = otherOwn(O);
  static constexpr int kHeads = (S.headDim + kWave - 1) / kWave;
  static constexpr int kValues = kKeys ? (S.valueDim + kWave - 1) / kWave : 1;

  template <class Source>
  HK_DEV void run(Source args, i64 tile, i64 head, Shared &sh) {
    BackwardBlock w;
    if (!locateBackward<S, O>(args(), tile, head, 1, w))
      return;
    int lane = laneId();
    BackwardSide<S, kWalked> walked = sideOf<S, kWalked>(args(), w);
    BackwardNumbers<S> numbers = numbersOf<S>(args(), w);
    loadOwned(args(), w, sh);
    float heads[kHeads] = {}, values[kValues] = {};
    BackwardRange walk = walkOf<S, O>(w, w.first);
    i32 end = i32(walk.end);
    for (i32 j = i32(walk.begin); j < end; j += kWave) {
      int n = end - j < kWave ? end - j : kWave;
      barrier();
      if (lane < n)
        weigh(args(), w, walked, numbers, j + lane, sh);
      barrier();
      for (int e = 0; e < n; ++e) {
        addRow<S.headDim>(heads, sh.ds[e], walked.head.at(j + e));
        if constexpr (kKeys)
          addRow<S.valueDim>(values, sh.p[e], walked.value.at(j + e));
      }
    }
    BackwardResults<S, O> results = resultsOf<S, O>(args(), w);
    if constexpr (!kKeys || S.dk)
      store<S.headDim>(heads, results.head.at(w.first), args().scale);
    if constexpr (kKeys && S.dv)
      store<S.valueDim>(values, results.value.at(w.first), 1.f);
  }

  /// One row of dbias and a wave of its keys.
  template <class Source>
  HK_DEV void runBias(Source args, i64 tile, i64 head, Shared &sh) {
    static_assert(!kKeys);
    BackwardBias bias = locateBias<S>(args(), tile, T);
    i32 j = i32(bias.keys) + laneId();
    float sum = 0.f;
    for (i64 b = bias.first; b < bias.end; ++b) {
      BackwardBlock w;
      if (!findBiasRows<S>(args(), bias, b, head, 1, w))
        continue;
      barrier();
      loadOwned(args(), w, sh);
      barrier();
      BackwardRange walk = walkOf<S, O>(w, w.first);
      if (j >= walk.begin && j < walk.end)
        sum += weigh(args(), w, sideOf<S, kWalked>(args(), w),
                     numbersOf<S>(args(), w), j, sh);
    }
    BackwardBlock w = blockOfBias<S>(args(), bias, head, 1);
    if (j < w.keys)
      hk::store<S.biasType, 1>(biasOf<S>(args(), w).at(w.first), j,
                               Vec<float, 1>(sum));
  }

private:
  HK_DEV void loadOwned(const Args &a, const BackwardBlock &w, Shared &sh) {
    BackwardSide<S, O> own = sideOf<S, O>(a, w);
    for (int d = laneId(); d < S.headDim; d += kWave)
      sh.head[d] = loadScalar<S.type>(own.head.at(w.first), d);
    for (int d = laneId(); d < S.valueDim; d += kWave)
      sh.value[d] = loadScalar<S.type>(own.value.at(w.first), d);
  }
  /// p w and ds of what the block owns with key or row i, which is the lane's.
  /// Returns what dbias takes of ds.
  HK_DEV float weigh(const Args &a, const BackwardBlock &w,
                     const BackwardSide<S, kWalked> &walked,
                     const BackwardNumbers<S> &numbers, i32 i, Shared &sh) {
    i32 row = kKeys ? i : w.first;
    float product = dot<S.headDim>(sh.head, walked.head.at(i));
    float dp = dot<S.valueDim>(sh.value, walked.value.at(i));
    using F = Vec<float, 1>;
    F base(Pairs::base(numbers, row)), delta(Pairs::delta(numbers, row));
    Pairs pairs(a, w);
    F slope, p = backwardScore<S, 1, Regions>(a, F(product), slope), factor;
    if constexpr (Pairs::kFactors) {
      pairs.template weigh<1>(p, factor, w.first, i);
    } else {
      p = pairs.template scores<1>(p, w.first, i);
      factor = p = Pairs::template weigh<1>(p, base);
    }
    F weight = pairs.template weights<1>(Pairs::counts(p, factor), w.first, i);
    F moved = Pairs::template moved<1>(F(dp * weight[0]), delta);
    // dp of a pair that a region hides may be anything.
    float dt = Regions::kScore && factor[0] == 0.f ? 0.f : factor[0] * moved[0];
    sh.p[laneId()] = p[0] * weight[0];
    sh.ds[laneId()] = dt * slope[0];
    return dt;
  }
  template <int Size>
  HK_DEV float dot(const float *own, Global<const Storage<S.type>> row) {
    float sum = 0.f;
    _Pragma("nounroll") for (int d = 0; d < Size; ++d) sum =
        __builtin_fmaf(own[d], loadScalar<S.type>(row, d), sum);
    return sum;
  }
  template <int Size, int N>
  HK_DEV void addRow(float (&sum)[N], float factor,
                     Global<const Storage<S.type>> row) {
    HK_UNROLL for (int c = 0; c < N; ++c) {
      int column = c * kWave + laneId();
      if (Size % kWave == 0 || column < Size)
        sum[c] =
            __builtin_fmaf(factor, loadScalar<S.type>(row, column), sum[c]);
    }
  }
  template <int Size, int N>
  HK_DEV void store(const float (&sum)[N], Global<Storage<S.outType>> out,
                    float factor) {
    HK_UNROLL for (int c = 0; c < N; ++c) {
      int column = c * kWave + laneId();
      if (Size % kWave == 0 || column < Size)
        hk::store<S.outType, 1>(out, column, Vec<float, 1>(sum[c] * factor));
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_BACKWARD_VECTOR_H
