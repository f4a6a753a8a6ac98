//===- sink.h - The gradient of attention's sink -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One block per query head sums -e^(sink - lse) delta over the queries that see
// a key: thread t takes every kThreads-th one of each sequence, and the
// threads' sums are added in a fixed order.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_BACKWARD_SINK_H
#define HK_KERNELS_ATTENTION_BACKWARD_SINK_H

#include "kernels/attention/backward/softmax.h"
#include "kernels/device/reduce.h"

namespace hk {

/// Head `g` of those that share key head `head`. `scratch` has a float per
/// wave.
template <AttentionBackwardSpec S, int Threads>
HK_DEV void sinkGradient(const AttentionBackwardArgs<S> &a, i64 g, i64 head,
                         float *scratch) {
  BackwardBlock w = {};
  w.head = i32(head);
  float sum[1] = {}, sink = a.sink[head * S.group + g];
  for (i64 b = 0; b < a.batch; ++b) {
    w.sequence = i32(b);
    w.queries = i32(a.queries);
    w.keys = i32(a.keys);
    if constexpr (S.sequence == SequenceLayout::Ragged) {
      w.queryStart = a.qOffsets[b];
      w.queries = a.qOffsets[b + 1] - w.queryStart;
      w.keys = a.kvOffsets[b + 1] - a.kvOffsets[b];
    }
    BackwardNumbers<S> numbers = numbersOf<S>(a, w);
    for (i64 i = threadId(); i < w.queries; i += Threads) {
      BackwardRange seen = keysOf<S>(w, i);
      if (seen.begin >= seen.end)
        continue;
      i64 row = i * S.group + g;
      float lse = *numbers.lse.at(row), delta = *numbers.delta.at(row);
      if (lse == -__builtin_inff())
        continue;
      Vec<float, 1> share((sink - lse) * kBackwardLog2E); // of the sink, base 2
      sum[0] = __builtin_fmaf(-backwardExp2<1>(share)[0], delta, sum[0]);
    }
  }
  rowReduce<Sum, Threads, Threads>(sum, scratch);
  if (threadId() == 0)
    a.dsink[head * S.group + g] = sum[0];
}

} // namespace hk

#endif // HK_KERNELS_ATTENTION_BACKWARD_SINK_H
