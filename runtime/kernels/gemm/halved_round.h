//===- halved_round.h - A last round of halves -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks that stay take tiles t, t + clusters, t + 2 clusters, ... A last round
// that has tiles for no more than half of the clusters gives halves of them to
// twice as many.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_HALVED_ROUND_H
#define HK_KERNELS_GEMM_HALVED_ROUND_H

#include "kernels/device/types.h"

namespace hk {

/// Of `count` tiles those from `first` on are two halves each: item first + i
/// is half i % 2 of tile first + i / 2, for i below `halves`. A cluster has one
/// at most. No halves where there is no whole round.
struct HalvedRound {
  u32 first, halves;

  HK_MEM HalvedRound(u32 count, u32 clusters) : first(count), halves(0) {
    u32 rest = count % clusters;
    if (count < clusters || 2 * rest > clusters)
      return;
    first = count - rest;
    halves = 2 * rest;
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_HALVED_ROUND_H
