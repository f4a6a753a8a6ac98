//===- early_groups.h - Rows of weights before they are known -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of a launch take places that become free while the one in front ends,
// and would do nothing until then; memory would rest from the last bytes of one
// launch to the first of the next. Where bounds are older than the launch in
// front, a wave of each block reads them and asks for its first rows of B in
// the L2 cache. It is a guess: any bounds name rows that exist, what was asked
// for is no result, and all waves read bounds again behind waitForLast().
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_EARLY_GROUPS_H
#define HK_KERNELS_GEMM_SM90_EARLY_GROUPS_H

#include "kernels/device/arch/nvptx_async.h"
#include "kernels/gemm/groups.h"
#include "kernels/gemm/sm90/block_tiles.h"

namespace hk {

/// Which groups have rows, by what bounds are before the launch in front has
/// ended: up to 287 of them, a bit each. All lanes of a wave make all calls
/// together.
///
/// Lanes read neighbouring bounds, not those of nine groups as LaneGroups does:
/// loads past the L1 cache of all blocks meet in the same few lines.
class EarlyGroups {
  static constexpr int kWords = 9;
  u32 hasRows[kWords] = {}, count = 0;

public:
  HK_MEM explicit EarlyGroups(const GroupArgs &args) {
    if (args.count >= kWords * kWave)
      return;
    int bounds[kWords + 1];
    HK_UNROLL for (int i = 0; i <= kWords; ++i) {
      int at = i * kWave + laneId(), last = int(args.count);
      bounds[i] = loadEarly(args.given() + (at < last ? at : last));
    }
    HK_UNROLL for (int i = 0; i < kWords; ++i) {
      int next = fromLane(bounds[i], (laneId() + 1) % kWave);
      int first = fromLane(bounds[i + 1], 0);
      next = laneId() == kWave - 1 ? first : next;
      hasRows[i] = u32(ballot(next > bounds[i]));
      count += u32(__builtin_popcount(hasRows[i]));
    }
  }

  HK_MEM u32 size() const { return count; }
  /// The group that `index`, less than size(), of them come before.
  HK_MEM int get(u32 index) const {
    int group = 0;
    HK_UNROLL for (int i = 0; i < kWords; ++i) {
      u32 left = hasRows[i], own = u32(__builtin_popcount(left));
      if (index < own) {
        for (; index > 0; --index)
          left &= left - 1;
        group = i * kWave + __builtin_ctz(left);
        index = ~0u;
      } else if (index != ~0u) {
        index -= own;
      }
    }
    return group;
  }
};

/// Calls ask(group, column tile) for the first `most` tiles of a block, taken
/// that groups have no more rows than a tile. A whole wave calls.
template <class Ask>
HK_DEV void askAheadOfGroups(const GroupArgs &args, u32 columns, BlockId block,
                             u32 most, Ask ask) {
  EarlyGroups groups(args);
  BlockTiles range = BlockTiles::of(groups.size() * columns, block);
  for (u32 i = 0; i < most && range.next < range.end; ++i, ++range.next)
    ask(groups.get(range.next / columns), range.next % columns);
}

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_EARLY_GROUPS_H
