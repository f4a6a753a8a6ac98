//===- softmax.h - Probabilities from a log-sum-exp -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// p = 2^(s log2(e) - lse log2(e)). A query without a log-sum-exp, -inf, is
// given +inf, so that its probabilities are 0 and no inf - inf arises. Regions
// change scores and weigh probabilities as in kernels/attention/softmax.h.
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

/// q . k to the score, in base 2 or, for a region, in base e; with a soft cap
/// the slope of the cap there is what ds is multiplied by.
template <AttentionBackwardSpec S, int V, class R = NoRegions>
HK_DEV Vec<float, V> backwardScore(const AttentionBackwardArgs<S> &a,
                                   Vec<float, V> dot, Vec<float, V> &slope) {
  constexpr float unit = R::kScore ? 1.f : kBackwardLog2E;
  if constexpr (S.softcap) {
    Vec<float, V> t = tanh<V>(dot * (a.scale / a.softcap));
    slope = 1.f - t * t;
    return t * (a.softcap * unit);
  } else {
    slope = Vec<float, V>(1.f);
    return dot * (a.scale * unit);
  }
}

/// The regions for pairs of one that a block owns and V neighbours of what it
/// walks.
template <AttentionBackwardSpec S, Own O, class R> struct BackwardRegions {
  const u64 *words;
  i32 sequence, head, queries, keys; // head: the first of the key head

  HK_MEM BackwardRegions(const AttentionBackwardArgs<S> &a,
                         const BackwardBlock &w)
      : words(a.words), sequence(w.sequence), head(w.head * S.group),
        queries(w.queries), keys(w.keys) {}

  /// Of what backwardScore gives, in base 2.
  template <int V>
  HK_MEM Vec<float, V> scores(Vec<float, V> x, i32 own, i32 walked) const {
    if constexpr (R::kScore) {
      HK_UNROLL for (int e = 0; e < V; ++e) {
        i32 row = O == Own::Rows ? own : walked + e;
        i32 key = O == Own::Rows ? walked + e : own;
        x[e] = R::score(words, x[e], sequence, head + i32(u32(row) % S.group),
                        i32(u32(row) / S.group), key, queries, keys);
      }
      x *= kBackwardLog2E;
    }
    return x;
  }
  /// The weights of probabilities, where they are not 0.
  template <int V>
  HK_MEM Vec<float, V> weights(Vec<float, V> p, i32 own, i32 walked) const {
    Vec<float, V> x(1.f);
    if constexpr (R::kWeight)
      HK_UNROLL for (int e = 0; e < V; ++e) if (p[e] != 0.f) {
        i32 row = O == Own::Rows ? own : walked + e;
        i32 key = O == Own::Rows ? walked + e : own;
        x[e] = R::weight(words, sequence, head + i32(u32(row) % S.group),
                         i32(u32(row) / S.group), key, queries, keys);
      }
    return x;
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_BACKWARD_SOFTMAX_H
