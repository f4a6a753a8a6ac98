//===- running_softmax.h - Softmax of a walk over keys ----------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a lane knows of its rows while a block walks over keys, and the step of
// the softmax for one tile on matrix fragments. Sums stay per lane until the
// end.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_RUNNING_SOFTMAX_H
#define HK_KERNELS_ATTENTION_RUNNING_SOFTMAX_H

#include "kernels/attention/softmax.h"

namespace hk {

/// What a lane knows of its N rows.
template <int N> struct AttentionMatrixRows {
  float maximum[N], sum[N];
  i64 number[N]; // in the sequence, for regions
  /// Of the keys being walked over.
  i32 begin[N], end[N];
  float scale[N];
};

/// The largest score of each row.
template <class Fragments, int N>
HK_DEV void rowMaxima(Fragments &f, float (&top)[N]) {
  f.forEachScore([&](int i, int, auto &x) __attribute__((always_inline)) {
    constexpr int V = int(sizeof(x) / sizeof(float));
    HK_UNROLL for (int e = 0; e < V; ++e) top[i] =
        __builtin_fmaxf(top[i], x[e]);
  });
  Fragments::laneReduce(top,
                        [](float x, float y) __attribute__((always_inline)) {
                          return __builtin_fmaxf(x, y);
                        });
}

/// Scores become probabilities relative to the largest so far.
template <class Fragments, int N>
HK_DEV void normaliseScores(Fragments &f, AttentionMatrixRows<N> &rows) {
  float top[N], base[N], factor[N];
  HK_UNROLL for (int i = 0; i < N; ++i) top[i] = rows.maximum[i];
  rowMaxima(f, top);
  HK_UNROLL for (int i = 0; i < N; ++i) {
    base[i] = softmaxBase(top[i]);
    factor[i] = softmaxExp2(rows.maximum[i] - base[i]);
    rows.maximum[i] = top[i];
    rows.sum[i] *= factor[i];
  }
  f.forEachScore([&](int i, int, auto &x) __attribute__((always_inline)) {
    constexpr int V = int(sizeof(x) / sizeof(float));
    HK_UNROLL for (int e = 0; e < V; ++e) {
      x[e] = softmaxExp2(x[e] - base[i]);
      rows.sum[i] += x[e];
    }
  });
  f.scaleOutput(factor);
}

/// Probabilities that are rounded to f16 are relative to 2^-kHalvesRoom of the
/// largest, as f16 has few exponents, where scores have digits for that.
inline constexpr float kHalvesRoom = 15.f;
HK_DEV float halvesBase(float top) {
  return __builtin_fabsf(top) < 0x1p20f ? top - kHalvesRoom : top;
}

/// normaliseScores() of such; a row's maximum is the base. Results are scaled
/// only where that of a row of the wave grew.
template <class Fragments, int N>
HK_DEV void normaliseToHalves(Fragments &f, AttentionMatrixRows<N> &rows) {
  float top[N], base[N];
  HK_UNROLL for (int i = 0; i < N; ++i) top[i] = kMinusInf;
  rowMaxima(f, top);
  bool grew = false;
  HK_UNROLL for (int i = 0; i < N; ++i) {
    top[i] = __builtin_fmaxf(rows.maximum[i], halvesBase(top[i]));
    base[i] = softmaxBase(top[i]);
    grew |= top[i] > rows.maximum[i];
  }
  if (ballot(grew) != 0) {
    float factor[N];
    HK_UNROLL for (int i = 0; i < N; ++i) {
      factor[i] = softmaxExp2(rows.maximum[i] - base[i]);
      rows.maximum[i] = top[i];
      rows.sum[i] *= factor[i];
    }
    f.scaleOutput(factor);
  }
  f.forEachScore([&](int i, int, auto &x) __attribute__((always_inline)) {
    constexpr int V = int(sizeof(x) / sizeof(float));
    HK_UNROLL for (int e = 0; e < V; ++e) {
      x[e] = softmaxExp2(x[e] - base[i]);
      rows.sum[i] += x[e];
    }
  });
}

/// From here on a base of the scaled scores is subtracted from rounded
/// products.
inline constexpr float kLargeBase = 0x1p24f;

/// The same of scores in units of `unit` > 0, in as few vector instructions as
/// there are: pairs are multiplied and added together, and results are scaled
/// only where the largest score of a row of the wave grew.
template <class Fragments, int N>
HK_DEV void normaliseScores(Fragments &f, AttentionMatrixRows<N> &rows,
                            float unit) {
  float top[N], base[N];
  HK_UNROLL for (int i = 0; i < N; ++i) top[i] = kMinusInf;
  rowMaxima(f, top);
  bool grew = false, large = false;
  HK_UNROLL for (int i = 0; i < N; ++i) {
    top[i] = __builtin_fmaxf(rows.maximum[i], top[i] * unit);
    base[i] = softmaxBase(top[i]);
    grew |= top[i] > rows.maximum[i];
    large |= !(__builtin_fabsf(base[i]) < kLargeBase);
  }
  // Of other rows the factor is 1; of those that have seen nothing it is 0, and
  // so are the results.
  if (ballot(grew) != 0) {
    float factor[N];
    HK_UNROLL for (int i = 0; i < N; ++i) {
      factor[i] = softmaxExp2(rows.maximum[i] - base[i]);
      rows.sum[i] *= factor[i];
      rows.maximum[i] = top[i];
    }
    f.scaleOutput(factor);
  }
  // The base is a rounded product, which may then lie far below the exact one.
  if (ballot(large) != 0) {
    f.forEachScore([&](int, int, f32x4 &x)
                       __attribute__((always_inline)) { x *= unit; });
    unit = 1.f;
  }
  f32x4 sum[N];
  HK_UNROLL for (int i = 0; i < N; ++i) sum[i] = f32x4(0.f);
  f.forEachScore([&](int i, int, f32x4 &x) __attribute__((always_inline)) {
    x = softmaxExp2<4>(
        __builtin_elementwise_fma(x, f32x4(unit), f32x4(-base[i])));
    sum[i] += x;
  });
  HK_UNROLL for (int i = 0; i < N; ++i) rows.sum[i] +=
      (sum[i][0] + sum[i][1]) + (sum[i][2] + sum[i][3]);
}

} // namespace hk

#endif // HK_KERNELS_ATTENTION_RUNNING_SOFTMAX_H
