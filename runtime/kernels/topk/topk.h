//===- topk.h - What a kernel with selections includes -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Selections and their LDS. The emitted code passes the scores as a function of
// the chunk, so that whatever computes them runs inside the selection.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_TOPK_TOPK_H
#define HK_KERNELS_TOPK_TOPK_H

#include "kernels/topk/block.h"
#include "kernels/topk/group_limit.h"
#include "kernels/topk/host.h"
#include "kernels/topk/wave.h"

namespace hk {

/// LDS of a selection by the waves of a block of ROWS rows.
template <int ROWS, int K> struct TopkShared {
  TopkRow<K> row[ROWS];
  static_assert(sizeof(TopkRow<K>) == 8 * K);
};

/// LDS of a selection by a block.
template <int K> struct TopkBlockShared {
  RadixShared<K> radix;
  TopkRow<K> row[1];
  static_assert(sizeof(RadixShared<K>) ==
                8 * (K + kTopkSpare) + kTopkHistogramBytes);
};

template <int ROWS, int N, int GROUPS> struct GroupShared {
  GroupRow<N, GROUPS> row[ROWS];
};

} // namespace hk

#endif // HK_KERNELS_TOPK_TOPK_H
