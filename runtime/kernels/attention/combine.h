//===- combine.h - Sum of the parts of a split attention -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// o = sum e^lse_s o_s / sum e^lse_s over the splits, the sink joining the
// denominator. One thread per Width columns of a row; parts without keys have
// lse -inf and count nothing.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_COMBINE_H
#define HK_KERNELS_ATTENTION_COMBINE_H

#include "kernels/attention/softmax.h"

namespace hk {

/// The grid is (ceil(rows * valueDim / Width / Threads), 1, 1); `rows` counts
/// (query, head) pairs, args.partialRows of them.
template <AttentionSpec S, int Splits, int Threads> struct AttentionCombine {
  static constexpr int kWidth = S.valueDim % 4 == 0 ? 4 : 1;
  static constexpr int kPerRow = S.valueDim / kWidth;

  HK_DEV void run(const AttentionArgs<S> &a, BlockId id) {
    constexpr int here = kIsHost ? Threads : 1;
    for (int t = 0; t < here; ++t) {
      i64 item = i64(id.x) * Threads + (kIsHost ? t : threadId());
      if (item < a.partialRows * kPerRow)
        combine(a, item / kPerRow, int(item % kPerRow) * kWidth);
    }
  }

private:
  HK_DEV void combine(const AttentionArgs<S> &a, i64 row, int column) {
    i64 head = row % a.heads;
    float lse[Splits], top = S.sink ? a.sink[head] : kMinusInf;
    HK_UNROLL for (int s = 0; s < Splits; ++s) {
      lse[s] = a.partialLse[s * a.partialRows + row];
      top = __builtin_fmaxf(top, lse[s]);
    }
    float base = softmaxBase(top);
    float sum = S.sink ? softmaxExp2((a.sink[head] - base) * kLog2E) : 0.f;
    Vec<float, kWidth> o = 0.f;
    HK_UNROLL for (int s = 0; s < Splits; ++s) {
      float weight = softmaxExp2((lse[s] - base) * kLog2E);
      sum += weight;
      o += weight *
           load<DType::F32, kWidth, 4>(
               a.partial, (s * a.partialRows + row) * S.valueDim + column);
    }
    RowEnd end = finishRow(base * kLog2E, sum);
    i64 query = row / a.heads;
    i64 at = head * a.outHead, lseAt = head;
    if constexpr (S.queries == SequenceLayout::Dense) {
      at += query / a.queries * a.outSequence + query % a.queries * a.outRow;
      lseAt += query / a.queries * a.lseSequence + query % a.queries * a.lseRow;
    } else {
      at += query * a.outRow;
      lseAt += query * a.lseRow;
    }
    constexpr int bytes = kBytes<S.outType, kWidth>;
    constexpr int align = S.align < bytes ? S.align : bytes;
    hk::store<S.outType, kWidth, align>(a.out, at + column, o * end.factor);
    if constexpr (S.lse)
      if (column == 0)
        a.lse[lseAt] = end.lse;
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_COMBINE_H
