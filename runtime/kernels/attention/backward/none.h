//===- none.h - Gradients without a normaliser -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights are scores, or what a region makes of them, and ds has the slope of
// that as a factor, where a softmax has p and what all keys of a row share:
// rows have no numbers here. A score of -inf is that of a key that is not seen.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_BACKWARD_NONE_H
#define HK_KERNELS_ATTENTION_BACKWARD_NONE_H

#include "kernels/attention/backward/softmax.h"

namespace hk {

/// Pairs whose weights are their scores; members as those of BackwardSoftmax,
/// but that weights and factors are made at once.
template <AttentionBackwardSpec S, Own O, class R>
struct BackwardNone : BackwardRegions<S, O, R> {
  using Args = AttentionBackwardArgs<S>;
  static constexpr bool kNumbers = false;
  static constexpr bool kFactors = true;

  HK_MEM BackwardNone(const Args &a, const BackwardBlock &w)
      : BackwardRegions<S, O, R>(a, w) {}

  HK_DEV float base(const BackwardNumbers<S> &, i64) { return 0.f; }
  HK_DEV float delta(const BackwardNumbers<S> &, i64) { return 0.f; }

  /// What backwardScore gives to p and the factors of ds, one pair after the
  /// other: the compares that both regions make take scalar registers.
  template <int V>
  HK_MEM void weigh(Vec<float, V> &x, Vec<float, V> &factor, i32 own,
                    i32 walked) const {
    using F = Vec<float, 1>;
    HK_UNROLL for (int e = 0; e < V; ++e) {
      F score(x[e]), p = this->template scores<1>(score, own, walked + e);
      F slope = this->template slopes<1>(score, own, walked + e);
      bool seen = p[0] != -__builtin_inff();
      x[e] = seen ? p[0] : 0.f;
      factor[e] = seen ? slope[0] : 0.f;
    }
  }
  /// Without a branch for each pair, whose lanes would take scalar registers.
  template <int V>
  HK_MEM Vec<float, V> weights(Vec<float, V> counts, i32 own,
                               i32 walked) const {
    Vec<float, V> one(1.f);
    Vec<float, V> x =
        BackwardRegions<S, O, R>::template weights<V>(one, own, walked);
    return counts == Vec<float, V>(0.f) ? one : x;
  }
  template <int V> HK_DEV Vec<float, V> moved(Vec<float, V> dp, Vec<float, V>) {
    return dp;
  }
  /// A weight may be 0 where it has a slope.
  template <class F> HK_DEV F counts(F p, F factor) {
    return __builtin_elementwise_abs(p) + __builtin_elementwise_abs(factor);
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_BACKWARD_NONE_H
