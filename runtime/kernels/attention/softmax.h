//===- softmax.h - Scores, exponentials and masks -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The softmax runs in base 2: scores are multiplied by scale * log2(e) and the
// maximum of what a row has seen is kept in that unit. A row that has seen
// nothing has maximum -inf and sum 0.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_SOFTMAX_H
#define HK_KERNELS_ATTENTION_SOFTMAX_H

#include "kernels/attention/epilogue.h"
#include "kernels/attention/narrow.h"
#include "kernels/device/math.h"

namespace hk {

inline constexpr float kLog2E = 1.4426950408889634f;
inline constexpr float kLn2 = 0.6931471805599453f;
inline constexpr float kMinusInf = -__builtin_inff();

/// 2^x for x <= 0; -inf gives 0. Results below 2^-126 may be 0.
template <int V> HK_DEV Vec<float, V> softmaxExp2(Vec<float, V> x) {
  if constexpr (!kIsHost)
    return exp2Small<V>(x); // the instructions take any x
  using F = Vec<float, V>;
  // x < -126 must give exactly 0: a masked key must not count. NaN stays NaN.
#if defined(__AVX512F__)
  if constexpr (V == 16) {
    constexpr int notLess = 5, current = 4; // true for NaN; the rounding
    F n = __builtin_elementwise_roundeven(x), p = exp2Small<V>(x - n);
    auto counts = __builtin_ia32_cmpps512_mask(x, F(-126.f), notLess,
                                               u16(0xFFFF), current);
    return __builtin_ia32_scalefps512_mask(p, n, F(0.f), counts, current);
  }
#endif
  F c = x < F(-126.f) ? F(-126.f) : x;
  F n = __builtin_elementwise_roundeven(c);
  F p = exp2Small<V>(c - n);
  Vec<i32, V> bits = bitCast<Vec<i32, V>>(p) + (convertTo<i32, V>(n) << 23);
  F r = c == c ? bitCast<F>(bits) : c;
  return x < F(-126.f) ? F(0.f) : r;
}
HK_DEV float softmaxExp2(float x) {
  return softmaxExp2<1>(Vec<float, 1>(x))[0];
}

/// The maximum to subtract: finite where a row has seen nothing, so that no
/// inf - inf arises.
HK_DEV float softmaxBase(float maximum) {
  return maximum == kMinusInf ? 0.f : maximum;
}

/// The unit of scores: that of base 2, unless something else than the softmax
/// reads them.
template <AttentionSpec S, class R>
inline constexpr float kScoreUnit =
    R::kScore || S.normalizer == Normalizer::None ? 1.f : kLog2E;

/// Scores below this part of a soft cap are small.
inline constexpr float kSmallCapped = 0.54f;
/// q . k to the score, in kScoreUnit. SMALL: all of them are, the bits are the
/// same in a quarter of the instructions.
template <AttentionSpec S, int V, bool SMALL = false, class R>
HK_DEV Vec<float, V> score(const AttentionArgs<S, R> &a, Vec<float, V> dot) {
  constexpr float unit = kScoreUnit<S, R>;
  if constexpr (S.cap == ScoreCap::Soft) {
    float inner = a.scale / a.softcap, outer = a.softcap * unit;
    Vec<float, V> x = dot * inner;
    return (SMALL ? smallTanh<V>(x, x * x) : tanh<V>(x)) * outer;
  } else
    return dot * (a.scale * unit);
}

/// Finite scores of a region count as no lower: in base 2 they stay finite, and
/// a row that only has such scores is the mean of its values, as it is where a
/// mask adds the lowest number of f32 to all of them.
inline constexpr float kLowestScore = -2.3e38f;

/// Scores of row `row` against keys [key, key + V) behind the region `score`:
/// base 2, or what `normalizer` none multiplies with values.
template <AttentionSpec S, int V, class R>
HK_DEV Vec<float, V> finishScore(const AttentionArgs<S, R> &a,
                                 const AttentionBlock &w, i64 row, i64 key,
                                 Vec<float, V> x) {
  if constexpr (R::kScore) {
    i32 head = i32(w.head * S.group + row % S.group),
        query = i32(row / S.group);
    HK_UNROLL for (int e = 0; e < V; ++e) x[e] =
        R::score(a.words, x[e], i32(w.sequence), head, query, i32(key + e),
                 i32(w.queries), i32(w.keys));
    if constexpr (S.normalizer != Normalizer::None)
      x *= kLog2E;
  }
  return x;
}

/// Probabilities times what the region `weight` gives.
template <AttentionSpec S, int V, class R>
HK_DEV Vec<float, V> weighted(const AttentionArgs<S, R> &a,
                              const AttentionBlock &w, i64 row, i64 key,
                              Vec<float, V> p) {
  if constexpr (R::kWeight) {
    i32 head = i32(w.head * S.group + row % S.group),
        query = i32(row / S.group);
    HK_UNROLL for (int e = 0; e < V; ++e) if (p[e] != 0.f) p[e] *=
        R::weight(a.words, i32(w.sequence), head, query, i32(key + e),
                  i32(w.queries), i32(w.keys));
  }
  return p;
}

/// The score of a key that is not seen.
template <AttentionSpec S>
inline constexpr float kUnseen =
    S.normalizer == Normalizer::None ? 0.f : kMinusInf;

/// What a row's maximum (base 2) and sum become at the end: the factor of its
/// accumulator and its log-sum-exp.
struct RowEnd {
  float factor, lse;
};
HK_DEV RowEnd finishRow(float maximum, float sum) {
  if (sum == 0.f)
    return {0.f, kMinusInf};
  return {1.f / sum,
          (softmaxBase(maximum) + log2<1>(Vec<float, 1>(sum))[0]) * kLn2};
}
/// A sink in base 2: finite where it is, so that it can be subtracted from
/// itself.
HK_DEV float sinkLogit(float sink) {
  constexpr float most = 3.4028234663852886e38f;
  float logit = sink * kLog2E;
  if (__builtin_fabsf(sink) <= most)
    logit = __builtin_fminf(__builtin_fmaxf(logit, -most), most);
  return logit;
}
/// The same, with the logit of a sink that has no value (if the spec has one).
template <AttentionSpec S, class R>
HK_DEV RowEnd finishRow(const AttentionArgs<S, R> &a, i64 head, float maximum,
                        float sum) {
  if constexpr (S.normalizer == Normalizer::None)
    return {1.f, 0.f};
  if constexpr (S.normalizer != Normalizer::SoftmaxWithSink)
    return finishRow(maximum, sum);
  float sink = a.sink[head], logit = sinkLogit(sink);
  bool outweighs = !(maximum > logit);
  float top = outweighs ? logit : maximum, base = softmaxBase(top);
  float factor = softmaxExp2(maximum - base);
  RowEnd end = finishRow(0.f, sum * factor + softmaxExp2(logit - base));
  return {end.factor * factor, end.lse + (outweighs ? sink : base * kLn2)};
}

} // namespace hk

#endif // HK_KERNELS_ATTENTION_SOFTMAX_H
