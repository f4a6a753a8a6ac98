//===- softmax.h - Probabilities from a log-sum-exp -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// p = 2^(s log2(e) - lse log2(e)). A query without a log-sum-exp, -inf, is
// given +inf, so that its probabilities are 0 and no inf - inf arises. A kernel
// is a loop over pairs.h, one of whose types is BackwardSoftmax.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_BACKWARD_SOFTMAX_H
#define HK_KERNELS_ATTENTION_BACKWARD_SOFTMAX_H

#include "kernels/attention/backward/regions.h"
#include "kernels/device/math.h"

namespace hk {

inline constexpr float kBackwardLog2E = 1.4426950408889634f;

/// What is subtracted from the base-2 scores of a query. That of one that sees
/// no key may be the logit of a sink, which in base 2 may be no f32.
HK_DEV float backwardBase(float lse) {
  float base = lse * kBackwardLog2E;
  return base == -__builtin_inff() ? __builtin_inff() : base;
}

/// 2^x; results below 2^-126 may be 0.
template <int V> HK_DEV Vec<float, V> backwardExp2(Vec<float, V> x) {
  if constexpr (kIsHost)
    return exp2<V>(x);
  return exp2Small<V>(x); // the instructions take any x
}

/// q . k to the score, in base 2 or, for a region and without a softmax, in
/// base e; with a soft cap the slope of the cap there is what ds is multiplied
/// by.
template <AttentionBackwardSpec S, int V, class R = NoRegions>
HK_DEV Vec<float, V> backwardScore(const AttentionBackwardArgs<S> &a,
                                   Vec<float, V> dot, Vec<float, V> &slope) {
  constexpr float unit =
      R::kScore || S.normalizer == Normalizer::None ? 1.f : kBackwardLog2E;
  if constexpr (S.softcap) {
    Vec<float, V> t = tanh<V>(dot * (a.scale / a.softcap));
    slope = 1.f - t * t;
    return t * (a.softcap * unit);
  } else {
    slope = Vec<float, V>(1.f);
    return dot * (a.scale * unit);
  }
}

/// Pairs whose weights are those of a softmax.
template <AttentionBackwardSpec S, Own O, class R>
struct BackwardSoftmax : BackwardRegions<S, O, R> {
  using Args = AttentionBackwardArgs<S>;
  /// Rows have a base and a delta.
  static constexpr bool kNumbers = true;
  /// Whether ds has another factor than p.
  static constexpr bool kFactors = false;

  HK_MEM BackwardSoftmax(const Args &a, const BackwardBlock &w)
      : BackwardRegions<S, O, R>(a, w) {}

  HK_DEV float base(const BackwardNumbers<S> &numbers, i64 row) {
    return backwardBase(*numbers.lse.at(row));
  }
  HK_DEV float delta(const BackwardNumbers<S> &numbers, i64 row) {
    return *numbers.delta.at(row);
  }

  /// Scores behind the region, in base 2, of what backwardScore gives.
  template <int V>
  HK_MEM Vec<float, V> scores(Vec<float, V> x, i32 own, i32 walked) const {
    x = BackwardRegions<S, O, R>::template scores<V>(x, own, walked);
    if constexpr (R::kScore)
      x *= kBackwardLog2E;
    return x;
  }
  /// p of scores of a row with that base.
  template <int V>
  HK_DEV Vec<float, V> weigh(Vec<float, V> x, Vec<float, V> base) {
    return backwardExp2<V>(x - base);
  }
  /// What the factor of ds is multiplied by, of the product of gradient and
  /// value.
  template <int V>
  HK_DEV Vec<float, V> moved(Vec<float, V> dp, Vec<float, V> delta) {
    return dp - delta;
  }
  /// Not 0 where a pair counts.
  template <class F> HK_DEV F counts(F p, F) { return p; }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_BACKWARD_SOFTMAX_H
