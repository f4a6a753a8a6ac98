//===- schedule.h - Which tile a block computes -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks that stay (as many as the chip holds, whatever the size) take tiles
// t, t + stride, t + 2 stride, ... The order keeps those that run together
// close: tiles of a matrix in groups of kGroup along m, the columns of a group
// one after the other, so that few rows of both operands are read at a time.
// A tile here is what a whole cluster computes; 2^32 of them would be a result
// of more bytes than an address has. Blocks of one tile each have the same
// order (tileOf), in which neighbours are of one L2 cache where a chip has
// several.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SCHEDULE_H
#define HK_KERNELS_GEMM_SCHEDULE_H

#include "hk/Contract/Caches.h"
#include "kernels/device/launch.h"

namespace hk {

/// Place `block` of `count` of an order, where blocks go round robin to
/// `caches` caches: each gets runs of `run` neighbouring places, and of the
/// rest one run as long as the others'.
HK_DEV constexpr u32 placeInCache(u32 block, u32 count, u32 caches, u32 run) {
  if (caches == 1)
    return block;
  u32 round = caches * run, whole = count / round * round;
  u32 cache = block % caches;
  if (block < whole)
    return block / round * round + cache * run + block % round / caches;
  u32 each = (count - whole) / caches, longer = (count - whole) % caches;
  return whole + cache * each + (cache < longer ? cache : longer) +
         (block - whole) / caches;
}

/// Which tile a block computes: m tiles in groups of eight, so that blocks that
/// run together share B in L2. Of `mTiles` rows of tiles those behind `ordered`
/// may have nothing to do, and are not taken for work of a cache.
struct TileIndex {
  i64 m, n;
};
HK_DEV TileIndex tileOf(BlockId block, i64 mTiles, i64 nTiles, i64 ordered) {
  constexpr u32 group = 8, run = 32;
  // A constant, or the table of targets becomes data of the kernel.
  constexpr auto caches = l2Caches(kTarget);
  u32 linear = block.x + u32(nTiles) * block.y;
  if (u32 count = u32(ordered) * u32(nTiles); linear < count)
    linear = placeInCache(linear, count, caches, run);
  u32 perGroup = group * u32(nTiles), first = linear / perGroup * group;
  u32 rows = u32(mTiles) - first < group ? u32(mTiles) - first : group;
  u32 in = linear % perGroup;
  return {i64(first + in % rows), i64(in / rows)};
}
HK_DEV TileIndex tileOf(BlockId block, i64 mTiles, i64 nTiles) {
  return tileOf(block, mTiles, nTiles, mTiles);
}

/// A tile: its matrix of the batch (or slice and batch) and its place there.
struct TileWork {
  u32 matrix, m, n;
};

struct PersistentSchedule {
  /// Neighbours along m; from 4 to 16 make no difference on an H200.
  static constexpr u32 kGroup = 8;

  u32 mTiles, nTiles, matrices;

  HK_MEM u32 perMatrix() const { return mTiles * nTiles; }
  HK_MEM u32 count() const { return perMatrix() * matrices; }
  HK_MEM TileWork at(u32 tile) const {
    u32 matrix = tile / perMatrix(), in = tile % perMatrix();
    u32 perGroup = kGroup * nTiles, first = in / perGroup * kGroup;
    u32 rows = mTiles - first < kGroup ? mTiles - first : kGroup;
    in %= perGroup;
    return {matrix, first + in % rows, in / rows};
  }
};

/// The same of one matrix, of which the rows of tiles before or behind `split`
/// come first.
struct SplitSchedule {
  u32 mTiles, nTiles, split;
  bool secondFirst;

  HK_MEM u32 count() const { return mTiles * nTiles; }
  HK_MEM TileWork at(u32 tile) const {
    u32 head = secondFirst ? mTiles - split : split;
    bool isBehind = tile >= head * nTiles;
    PersistentSchedule part = {isBehind ? mTiles - head : head, nTiles, 1};
    TileWork work = part.at(isBehind ? tile - head * nTiles : tile);
    work.m += isBehind == secondFirst ? 0 : split;
    return work;
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SCHEDULE_H
