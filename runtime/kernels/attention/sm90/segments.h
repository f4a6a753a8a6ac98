//===- segments.h - The keys that a tile walks over -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keys may lie apart, a cached prefix and the new tokens: each segment has a
// spec and arguments of its own, which agree in all that is about queries and
// results. A tile walks over one after the other with one running softmax.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_SM90_SEGMENTS_H
#define HK_KERNELS_ATTENTION_SM90_SEGMENTS_H

#include "kernels/attention/sm90/config.h"

namespace hk {

template <AttentionSpec S, AttentionTile T, class R = NoRegions>
struct BulkSegment {
  static constexpr AttentionSpec kSpec = S;
  static constexpr AttentionTile kTile = T;
  using Args = AttentionArgs<S>;
  using Epilogue = EpilogueOf<R>;
  using Config = BulkAttentionConfig<S, T>;
};

/// Segments I and following of the keys, with their arguments.
template <int I, class... All> struct BulkSegments {
  static constexpr bool kCausal = true;
  template <class F> HK_MEM void forEach(F) const {}
};

template <int I, class F, class... More> struct BulkSegments<I, F, More...> {
  using First = F;
  using Rest = BulkSegments<I + 1, More...>;
  static constexpr int kCount = 1 + sizeof...(More);
  /// Whether later queries see more keys of each segment.
  static constexpr bool kCausal =
      F::kSpec.window.right == 0 && F::kSpec.window.left < 0 && Rest::kCausal;

  typename First::Args args;
  Rest rest;

  HK_MEM explicit BulkSegments(const typename First::Args &args,
                               const typename More::Args &...more)
      : args(args), rest(more...) {}

  /// Calls body<Segment, number>(arguments) in order.
  template <class Body> HK_MEM void forEach(Body body) const {
    body.template operator()<First, I>(args);
    rest.forEach(body);
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_SM90_SEGMENTS_H
