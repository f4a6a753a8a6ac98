//===- group_tiles.h - A block's tiles of groups of rows -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the loops over tiles of groups share: how the operands come, which walk
// numbers the tiles, and which of them a block that stays takes.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_GROUP_TILES_H
#define HK_KERNELS_GEMM_SM90_GROUP_TILES_H

#include "kernels/gemm/run_walk.h"
#include "kernels/gemm/schedule.h"
#include "kernels/gemm/sm90/gathered_loader.h"

namespace hk {

template <class Config, class Groups, bool Gathered = Groups::kGathered>
struct PickLoader {
  using Type = BulkLoader<Config, kWave, kGroupBoxRows>;
};
template <class Config, class Groups> struct PickLoader<Config, Groups, true> {
  using Type = GatheredLoader<Config, Groups>;
};

template <class Config, class Groups>
HK_DEV auto pickedLoader(const TensorMap *maps,
                         const typename Config::Layout &lds,
                         const GemmArgs &args, const GroupArgs &groups) {
  using Loader = typename PickLoader<Config, Groups>::Type;
  if constexpr (Groups::kGathered)
    return Loader(maps, lds, args, groups);
  else
    return Loader(maps, lds, Config::kCluster > 1 ? clusterRank() : 0, args);
}

/// By bounds or lengths; blocks that are larger than a tile, or a tile's runs
/// of them.
template <class Groups, int ROWS, int EVEN,
          bool Blocks = Groups::kForm == GroupForm::Blocks,
          bool Runs = blocksOfRun(ROWS, Groups::kBlock) != 1>
struct PickWalk {
  using Type = GroupWalk<Groups, ROWS, EVEN>;
};
template <class Groups, int ROWS, int EVEN>
struct PickWalk<Groups, ROWS, EVEN, true, false> {
  using Type = BlockWalk<Groups, ROWS>;
};
template <class Groups, int ROWS, int EVEN>
struct PickWalk<Groups, ROWS, EVEN, true, true> {
  using Type = RunWalk<Groups, ROWS>;
};

/// Which tiles the block takes. Whole warps call. The blocks of a cluster take
/// neighbouring columns.
template <class Config, class Groups> struct GroupTilesOf {
  using P = typename Config::P;
  static constexpr GemmTile T = Config::T;
  static constexpr int kCluster = Config::kCluster;

  const GemmArgs &args;
  const GroupArgs &groups;
  /// A wide tile multiplies as many rows as it needs.
  static constexpr int kEven = isSwappedWide(T) ? kGroupBoxRows : 0;
  typename PickWalk<Groups, T.bm, kEven>::Type walk;
  PersistentSchedule schedule;
  u32 rank, next;

  HK_MEM GroupTilesOf(const GemmArgs &args, const GroupArgs &groups, u32 block)
      : args(args), groups(groups), walk(groups),
        schedule{
            walk.count(),
            u32((args.n + kCluster * P::kCols - 1) / (kCluster * P::kCols)), 1},
        rank(kCluster > 1 ? clusterRank() : 0), next(block / kCluster) {}

  HK_MEM bool take(WarpPlace &at) {
    // Opaque, as the product would be kept for all tiles.
    if (next >= opaqueWord(schedule.mTiles) * schedule.nTiles)
      return false;
    TileWork work = schedule.at(next);
    next += blockCountX() / kCluster;
    GroupPlaces places = walk.at(work.m);
    // Without rows of A all places are empty.
    bool multiplies = places.group < groups.count && args.m > 0;
    at = {multiplies ? places.group : -1,
          places.first,
          places.end,
          int((work.n * kCluster + rank) * P::kCols),
          0,
          multiplies ? int((args.k + T.bk - 1) / T.bk) : 0};
    return true;
  }

  HK_MEM u64 scalesOfB(const WarpPlace &at) const {
    return args.b.fold.data + u64(at.matrix * groups.strideFold * 4);
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_GROUP_TILES_H
