//===- pairs.h - What pairs of a row and a key weigh -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The type that a spec's normaliser names: how scores become weights, and what
// ds is of them.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_BACKWARD_PAIRS_H
#define HK_KERNELS_ATTENTION_BACKWARD_PAIRS_H

#include "kernels/attention/backward/none.h"

namespace hk {

template <AttentionBackwardSpec S, Own O, class R,
          bool Softmax = S.normalizer != Normalizer::None>
struct PickBackwardPairs {
  using Type = BackwardSoftmax<S, O, R>;
};
template <AttentionBackwardSpec S, Own O, class R>
struct PickBackwardPairs<S, O, R, false> {
  using Type = BackwardNone<S, O, R>;
};
template <AttentionBackwardSpec S, Own O, class R>
using BackwardPairs = typename PickBackwardPairs<S, O, R>::Type;

} // namespace hk

#endif // HK_KERNELS_ATTENTION_BACKWARD_PAIRS_H
