//===- lane_groups.h - Tiles of groups by bounds, in lanes -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The members of GroupWalk for a launch whose time is a few trips to memory: a
// lane has neighbouring groups, so that 288 of them take one load and one
// prefix sum, of which both the number of tiles and the first tile come.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_LANE_GROUPS_H
#define HK_KERNELS_GEMM_LANE_GROUPS_H

#include "kernels/gemm/group_walk.h"

namespace hk {

/// Tiles of ROWS places, those behind the last group at the end. All lanes of a
/// wave make all calls together.
template <class Groups, int ROWS> class LaneGroups {
  static constexpr int kEach = 9, kChunk = kEach * kWave;

public:
  static_assert(Groups::kForm == GroupForm::Bounds);

  /// `given`: the bounds that `args` names, or a copy of them in LDS.
  HK_MEM LaneGroups(const GroupArgs &args, const i32 *given)
      : args(args), given(given) {
    load(0);
    total = firstTile + inChunk;
    // Most launches have one chunk, which stays loaded.
    if (base + kChunk <= args.count) {
      while (base + kChunk <= args.count)
        advance();
      total = firstTile + inChunk;
      firstTile = 0;
      load(0);
    }
    // Of bounds that are none no more than a launch counts.
    u32 most = u32(args.places / ROWS + args.count + 1);
    total = total < most ? total : most;
  }

  /// How many tiles there are.
  HK_MEM u32 count() const { return total; }

  /// `tile`: none before that of the last call.
  HK_MEM GroupPlaces at(u32 tile) {
    while (tile >= firstTile + inChunk && base + kChunk <= args.count)
      advance();
    u32 local = tile - firstTile;
    // The last lane that begins at it or before, and which of its groups.
    int lane = __builtin_popcountll(ballot(before <= local)) - 1;
    u32 left = local - before;
    GroupPlaces own = {0, 0, 0};
    HK_UNROLL for (int i = 0; i < kEach; ++i) {
      u32 tiles = tilesOf(i);
      bool isHere = left < tiles;
      int first = bounds[i] + int(left) * ROWS, end = bounds[i + 1];
      own.group = isHere ? base + laneId() * kEach + i : own.group;
      own.first = isHere ? first : own.first;
      own.end = isHere ? (first + ROWS < end ? first + ROWS : end) : own.end;
      // Behind it no group has so many.
      left = isHere ? ~0u : left - tiles;
    }
    return {fromLane(own.group, lane), fromLane(own.first, lane),
            fromLane(own.end, lane)};
  }

private:
  HK_MEM u32 tilesOf(int i) const {
    int places = bounds[i + 1] - bounds[i];
    return places > 0 ? u32(places + ROWS - 1) / ROWS : 0;
  }
  HK_MEM void advance() {
    firstTile += inChunk;
    load(base + kChunk);
  }
  /// The lane's groups of the chunk. The one behind the last has all other
  /// places, and those behind it none.
  HK_MEM void load(int first) {
    base = first;
    int places = int(args.places);
    HK_UNROLL for (int i = 0; i <= kEach; ++i) {
      i64 bound = base + laneId() * kEach + i;
      bool exists = bound <= args.count;
      int at = given[exists ? bound : args.count];
      at = exists ? at : places;
      bounds[i] = at < 0 ? 0 : at < places ? at : places;
    }
    before = inChunk = 0;
    HK_UNROLL for (int i = 0; i < kEach; ++i) inChunk += tilesOf(i);
    scanLanes<1, kWave>(before, inChunk);
  }

  const GroupArgs &args;
  const i32 *given;
  u32 total;
  /// The chunk: its first group, the tiles before it and of it.
  int base;
  u32 firstTile = 0, inChunk;
  /// Where the lane's groups begin and the last one ends; the tiles of the
  /// chunk before them.
  int bounds[kEach + 1];
  u32 before;
};

} // namespace hk

#endif // HK_KERNELS_GEMM_LANE_GROUPS_H
