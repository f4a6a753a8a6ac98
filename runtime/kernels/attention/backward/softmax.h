//===- softmax.h - Probabilities from a log-sum-exp -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// p = 2^(s log2(e) - lse log2(e)). A query without a log-sum-exp, -inf, is
// given +inf, so that its probabilities are 0 and no inf - inf arises.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_BACKWARD_SOFTMAX_H
#define HK_KERNELS_ATTENTION_BACKWARD_SOFTMAX_H

#include "kernels/attention/backward/spec.h"
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

/// q . k to the base-2 score; with a soft cap the slope of the cap there is
/// what ds is multiplied by.
template <AttentionBackwardSpec S, int V>
HK_DEV Vec<float, V> backwardScore(const AttentionBackwardArgs<S> &a,
                                   Vec<float, V> dot, Vec<float, V> &slope) {
  if constexpr (S.softcap) {
    Vec<float, V> t = tanh<V>(dot * (a.scale / a.softcap));
    slope = 1.f - t * t;
    return t * (a.softcap * kBackwardLog2E);
  } else {
    slope = Vec<float, V>(1.f);
    return dot * (a.scale * kBackwardLog2E);
  }
}

} // namespace hk

#endif // HK_KERNELS_ATTENTION_BACKWARD_SOFTMAX_H
