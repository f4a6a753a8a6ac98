//===- run_walk.h - Tiles of runs of blocks, without gaps -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of places that are smaller than a tile: neighbours of one group are a
// run, and every tile takes as many blocks of a run as it has room for, so that
// a matrix is read as seldom as groups that are not cut in blocks would have
// it. As in group_walk.h tiles are numbered without gaps, and all lanes of a
// wave make all calls together: each holds the group of one block of a chunk.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_RUN_WALK_H
#define HK_KERNELS_GEMM_RUN_WALK_H

#include "kernels/gemm/group_walk.h"

namespace hk {

template <class Groups, int ROWS> class RunWalk {
public:
  /// Blocks that a tile has room for.
  static constexpr int kTogether = int(blocksOfRun(ROWS, Groups::kBlock));
  static_assert(Groups::kForm == GroupForm::Blocks && kTogether > 1);

  HK_MEM explicit RunWalk(const GroupArgs &args)
      : args(args),
        blocks(int((args.places + Groups::kBlock - 1) / Groups::kBlock)) {
    // Several chunks are asked for at once.
    constexpr int ahead = 4;
    restart();
    for (int from = 0; from < blocks; from += ahead * kWave) {
      int own[ahead];
      HK_UNROLL for (int i = 0; i < ahead; ++i) own[i] =
          groupOf(from + i * kWave + laneId());
      HK_UNROLL for (int i = 0; i < ahead; ++i) if (from + i * kWave < blocks)
          enter(own[i]);
    }
    total = firstTile + inChunk;
    restart();
  }

  HK_MEM u32 count() const { return total; }

  HK_MEM GroupPlaces at(u32 tile) {
    if (tile < firstTile)
      restart();
    while (tile >= firstTile + inChunk && base + kWave < blocks)
      enter(groupOf(base + kWave + laneId()));
    u32 local = tile - firstTile;
    int lane = __builtin_ctzll(ballot(begins && before == local));
    int block = base + lane, of = fromLane(group, lane), next = block + 1;
    while (next < block + kTogether && next < blocks && groupOf(next) == of)
      ++next;
    i64 end = i64(next) * Groups::kBlock;
    return {of, int(i64(block) * Groups::kBlock),
            int(end < args.places ? end : args.places)};
  }

private:
  /// Before the first chunk. No block has group -1.
  HK_MEM void restart() {
    base = -kWave;
    firstTile = inChunk = 0;
    group = -1;
    behind = 0;
  }

  /// GroupArgs::count: none.
  HK_MEM int groupOf(int block) const {
    int given = block < args.blocks ? args.given()[block] : -1;
    return given >= 0 && given < args.count ? given : int(args.count);
  }

  /// The next chunk; `own` is the group of the lane's block of it.
  HK_MEM void enter(int own) {
    int lane = laneId();
    int last = fromLane(group, kWave - 1), carried = behind;
    firstTile += inChunk;
    base += kWave;
    int previous = fromLane(own, lane > 0 ? lane - 1 : 0);
    u64 runs = ballot(own != (lane > 0 ? previous : last));
    // Blocks of the lane's run before it: since its first one in the chunk, or
    // with those of the chunks before.
    u64 earlier = runs & (~u64(0) >> (63 - lane));
    int inRun =
        earlier ? lane - (63 - __builtin_clzll(earlier)) : carried + lane;
    begins = base + lane < blocks && inRun % kTogether == 0;
    u64 tiles = ballot(begins);
    before = u32(__builtin_popcountll(tiles & ((u64(1) << lane) - 1)));
    inChunk = u32(__builtin_popcountll(tiles));
    group = own;
    behind = fromLane(inRun, kWave - 1) + 1;
  }

  const GroupArgs &args;
  int blocks;
  u32 total;
  /// The chunk: its first block, the tiles before it and of it; blocks of its
  /// last run up to its end.
  int base, behind;
  u32 firstTile, inChunk;
  /// The lane's block: its group, whether a tile begins with it, and the tiles
  /// of the chunk before it.
  int group;
  bool begins = false;
  u32 before = 0;
};

} // namespace hk

#endif // HK_KERNELS_GEMM_RUN_WALK_H
