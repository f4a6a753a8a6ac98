//===- group_walk.h - Tiles of groups, without gaps -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks that stay need the tiles of groups numbered without gaps: a number of
// no rows would cost the block that gets it nothing, and the others a round.
// What group a tile is of takes prefix sums of the groups' tiles; a wave makes
// them for as many groups as it has lanes, and walks on from there: the tiles
// that a block takes lie one behind the other. All lanes of a wave make all
// calls together. Blocks of places say their group themselves.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_GROUP_WALK_H
#define HK_KERNELS_GEMM_GROUP_WALK_H

#include "kernels/device/scan.h"
#include "kernels/gemm/groups.h"

namespace hk {

/// Places [first, end) of a group, which is GroupArgs::count behind the last.
struct GroupPlaces {
  int group, first, end;
};

/// Tiles of ROWS places, those behind the last group at the end. Groups by
/// bounds or lengths. EVEN: the tiles of a group have about as many places
/// each, a multiple of EVEN, so that blocks which stay have as much to do.
template <class Groups, int ROWS, int EVEN = 0> class GroupWalk {
public:
  static_assert(Groups::kForm != GroupForm::Blocks);

  HK_MEM explicit GroupWalk(const GroupArgs &args) : args(args) {
    u32 tiles;
    if constexpr (Groups::kForm == GroupForm::Bounds) {
      tiles = tilesOfBounds();
    } else {
      rewind();
      while (!isLast())
        advance();
      tiles = firstTile + inChunk;
    }
    // Of bounds that are none no more than a launch counts.
    u32 most = u32(args.places / ROWS + args.count + 1);
    total = tiles < most ? tiles : most;
    rewind();
  }

  /// How many tiles there are.
  HK_MEM u32 count() const { return total; }

  HK_MEM GroupPlaces at(u32 tile) {
    if (tile < firstTile)
      rewind();
    while (tile >= firstTile + inChunk && !isLast())
      advance();
    u32 local = tile - firstTile;
    // The last group that begins at it or before.
    int lane = __builtin_popcountll(ballot(before <= local)) - 1;
    int begins = fromLane(begin, lane), last = fromLane(end, lane);
    int rows = rowsOfTile(last - begins);
    int first = begins + int(local - u32(fromLane(int(before), lane))) * rows;
    return {base + lane, first, first + rows < last ? first + rows : last};
  }

private:
  /// Whether the chunk has the places behind the last group.
  HK_MEM bool isLast() const { return base + kWave > args.count; }
  HK_MEM void rewind() {
    base = 0;
    firstTile = 0;
    firstPlace = 0;
    load();
  }
  HK_MEM void advance() {
    firstTile += inChunk;
    base += kWave;
    firstPlace = nextPlace;
    load();
  }
  HK_MEM i64 clamped(i64 place) const {
    return place < 0 ? 0 : place < args.places ? place : args.places;
  }

  HK_MEM static int rowsOfTile(int places) {
    if constexpr (EVEN == 0)
      return ROWS;
    // A tile that is asked for has places.
    int tiles = int(tilesOf(places));
    int each = (places + tiles - 1) / tiles;
    return (each + EVEN - 1) / EVEN * EVEN;
  }
  HK_MEM static u32 tilesOf(i64 places) {
    return places > 0 ? (u32(places) + ROWS - 1) / ROWS : 0;
  }

  /// Where a group begins and ends; that behind the last one has all other
  /// places, and those behind it none.
  struct Ends {
    i64 from, to;
  };
  HK_MEM Ends endsOfBounds(i64 group) const {
    i64 bound = group < args.count ? group : args.count;
    i64 next = group < args.count ? bound + 1 : bound;
    i64 from = clamped(args.given()[bound]), to = clamped(args.given()[next]);
    return {from, group < args.count    ? to
                  : group == args.count ? args.places
                                        : from};
  }
  /// A launch waits for this before all else, so several chunks are asked for
  /// at once.
  HK_MEM u32 tilesOfBounds() const {
    constexpr int ahead = 8;
    u32 own = 0, before = 0;
    for (i64 first = 0; first <= args.count; first += ahead * kWave) {
      Ends ends[ahead];
      HK_UNROLL for (int i = 0; i < ahead; ++i) ends[i] =
          endsOfBounds(first + i * kWave + laneId());
      HK_UNROLL for (Ends &e : ends) own += tilesOf(e.to - e.from);
    }
    scanLanes<1, kWave>(before, own);
    return own;
  }

  /// The lane's group of the chunk.
  HK_MEM void load() {
    i64 group = base + laneId(), from, to;
    if constexpr (Groups::kForm == GroupForm::Bounds) {
      Ends ends = endsOfBounds(group);
      from = ends.from;
      to = ends.to;
    } else {
      i64 length = group < args.count ? clamped(args.given()[group]) : 0;
      i64 earlier = 0, all = length;
      scanLanes<1, kWave>(earlier, all);
      from = clamped(firstPlace + earlier);
      to = group < args.count ? clamped(from + length) : args.places;
      nextPlace = int(clamped(firstPlace + all));
    }
    begin = int(from);
    end = int(to);
    before = 0;
    inChunk = group <= args.count ? tilesOf(end - begin) : 0;
    scanLanes<1, kWave>(before, inChunk);
  }

  const GroupArgs &args;
  u32 total;
  /// The chunk: its first group, the tiles before it and of it; of lengths the
  /// places before it and before the next one.
  int base;
  u32 firstTile, inChunk;
  int firstPlace, nextPlace = 0;
  /// The lane's group: its places, and the tiles of the chunk before it.
  int begin, end;
  u32 before;
};

/// Tiles of ROWS places of blocks, which have as many tiles each. A wave reads
/// the groups of as many blocks as it has lanes; a block without one has group
/// GroupArgs::count.
template <class Groups, int ROWS> class BlockWalk {
public:
  static_assert(Groups::kForm == GroupForm::Blocks);

  HK_MEM explicit BlockWalk(const GroupArgs &args) : args(args) {}

  HK_MEM u32 count() const {
    return u32((args.places + Groups::kBlock - 1) / Groups::kBlock) * kTiles;
  }

  HK_MEM GroupPlaces at(u32 tile) {
    u32 block = tile / kTiles, in = tile % kTiles * ROWS;
    if (block / kWave != chunk) {
      chunk = block / kWave;
      i64 own = i64(chunk) * kWave + laneId();
      group = own < args.blocks ? args.given()[own] : -1;
    }
    int of = fromLane(group, int(block % kWave));
    i64 first = i64(block) * Groups::kBlock;
    i64 end = first + (in + ROWS < Groups::kBlock ? in + ROWS : Groups::kBlock);
    return {of >= 0 && of < args.count ? of : int(args.count), int(first + in),
            int(end < args.places ? end : args.places)};
  }

private:
  static constexpr u32 kTiles = u32((Groups::kBlock + ROWS - 1) / ROWS);

  const GroupArgs &args;
  /// The blocks whose groups the lanes hold, in units of kWave.
  u32 chunk = ~0u;
  int group = -1;
};

} // namespace hk

#endif // HK_KERNELS_GEMM_GROUP_WALK_H
