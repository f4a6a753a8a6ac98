//===- regions.h - Regions of gradients by position -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a graph computes of scores, their slopes and the factors of weights, for
// pairs of a row and a key, as in kernels/attention/softmax.h.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_BACKWARD_REGIONS_H
#define HK_KERNELS_ATTENTION_BACKWARD_REGIONS_H

#include "kernels/attention/backward/spec.h"

namespace hk {

/// What regions take in front of a pair: the words of the launch, or also what
/// they read for all pairs of a sequence.
template <class R> struct RegionContext {
  using Type = const u64 *;
  HK_DEV Type of(const u64 *words, const BackwardBlock &) { return words; }
};
template <class R>
  requires requires { typename R::Context; }
struct RegionContext<R> {
  using Type = typename R::Context;
  HK_DEV Type of(const u64 *words, const BackwardBlock &w) {
    return R::context(words, w.sequence, w.queries, w.keys);
  }
};

/// The regions for pairs of one that a block owns and V neighbours of what it
/// walks.
template <AttentionBackwardSpec S, Own O, class R> struct BackwardRegions {
  typename RegionContext<R>::Type context;
  i32 sequence, head, queries, keys; // head: the first of the key head

  HK_MEM BackwardRegions(const AttentionBackwardArgs<S> &a,
                         const BackwardBlock &w)
      : context(RegionContext<R>::of(a.words, w)), sequence(w.sequence),
        head(w.head * S.group), queries(w.queries), keys(w.keys) {}

  struct Pair {
    i32 head, query, key;
  };
  /// Of one that the block owns and one that it walks over.
  HK_MEM Pair pairOf(i32 own, i32 walked) const {
    i32 row = O == Own::Rows ? own : walked;
    return {head + i32(u32(row) % S.group), i32(u32(row) / S.group),
            O == Own::Rows ? walked : own};
  }

  /// Scores behind the region, of those in base e.
  template <int V>
  HK_MEM Vec<float, V> scores(Vec<float, V> x, i32 own, i32 walked) const {
    if constexpr (R::kScore)
      HK_UNROLL for (int e = 0; e < V; ++e) {
        Pair at = pairOf(own, walked + e);
        x[e] = R::score(context, x[e], sequence, at.head, at.query, at.key,
                        queries, keys);
      }
    return x;
  }
  /// Their slopes by the scores in front.
  template <int V>
  HK_MEM Vec<float, V> slopes(Vec<float, V> x, i32 own, i32 walked) const {
    if constexpr (!R::kScore)
      return Vec<float, V>(1.f);
    else
      HK_UNROLL for (int e = 0; e < V; ++e) {
        Pair at = pairOf(own, walked + e);
        x[e] = R::slope(context, x[e], sequence, at.head, at.query, at.key,
                        queries, keys);
      }
    return x;
  }
  /// Factors of the weights of pairs that count, which are not 0 there.
  template <int V>
  HK_MEM Vec<float, V> weights(Vec<float, V> p, i32 own, i32 walked) const {
    Vec<float, V> x(1.f);
    if constexpr (R::kWeight)
      HK_UNROLL for (int e = 0; e < V; ++e) if (p[e] != 0.f) {
        Pair at = pairOf(own, walked + e);
        x[e] = R::weight(context, sequence, at.head, at.query, at.key, queries,
                         keys);
      }
    return x;
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_BACKWARD_REGIONS_H
