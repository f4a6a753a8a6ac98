//===- LdsRowwise.h - LDS of row-wise kernels -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row-wise kernel needs LDS only to combine the statistics of a row over
// several waves: one f32 per wave and statistic.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_LDSROWWISE_H
#define HK_CONTRACT_LDSROWWISE_H

#include "hk/Contract/Target.h"
#include "hk/Contract/Tile.h"

namespace hk {

/// Bytes for `reductions` statistics of whole rows.
constexpr int64_t rowwiseLds(const Target &target, const RowTile &tile,
                             int64_t reductions) {
  int64_t threadsPerRow = tile.threads / tile.rows;
  if (target.arch == Arch::Host || threadsPerRow <= target.waveSize)
    return 0;
  return int64_t(tile.threads / target.waveSize) * reductions * 4;
}

} // namespace hk

#endif // HK_CONTRACT_LDSROWWISE_H
