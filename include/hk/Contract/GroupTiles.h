//===- GroupTiles.h - Tiles over blocks of sorted ids -----------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product of groups whose places come in blocks of one group each: how many
// blocks a tile of rows takes, and how many tiles there are. The compiler makes
// the grid, the kernel finds its places, the cost model counts products.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_GROUPTILES_H
#define HK_CONTRACT_GROUPTILES_H

#include "hk/Contract/Capability.h"

namespace hk {

/// With fewer rows a tile streams a matrix for few places (decode): blocks of
/// other groups would do so one after the other.
inline constexpr int64_t kLeastRowsOfRuns = 64;

/// Neighbouring blocks of `block` places that a tile of `bm` rows has room for.
constexpr int64_t blocksOfRun(int64_t bm, int64_t block) {
  return bm > block ? bm / block : 1;
}

/// Neighbouring blocks, of any groups, that a tile of loop `blocks` takes;
/// `runs`: takesRunsOfBlocks of the target.
constexpr int64_t blocksOfTile(bool runs, int64_t bm, int64_t block) {
  return runs && bm >= kLeastRowsOfRuns ? blocksOfRun(bm, block) : 1;
}

/// Whether blocks for the rows of the result that no place names are counted
/// one by one behind the tiles of places. Elsewhere they are rows of blocks, of
/// which the first does the work.
constexpr bool packsUnnamedRows(const Target &target) {
  return takesRunsOfBlocks(target);
}

/// Tiles of a block that is larger than a tile.
constexpr int64_t tilesOfBlock(int64_t bm, int64_t block) {
  return (block + bm - 1) / bm;
}

/// Tiles of a group of `rows` rows in blocks, where tiles take no other
/// group's.
constexpr int64_t tilesOfRuns(int64_t rows, int64_t bm, int64_t block) {
  int64_t blocks = (rows + block - 1) / block,
          together = blocksOfRun(bm, block);
  return (blocks + together - 1) / together * tilesOfBlock(bm, block);
}

/// Products of a tile on average, where groups have `blocks` blocks each: two
/// neighbours are of one group but for every so manieth time.
constexpr double productsOfTile(int64_t together, double blocks) {
  return 1 + double(together - 1) / (blocks > 1 ? blocks : 1);
}

static_assert(tilesOfRuns(130, 128, 64) == 2 &&
              tilesOfRuns(130, 128, 48) == 2 &&
              tilesOfRuns(130, 64, 128) == 4 && tilesOfRuns(0, 64, 16) == 0);
static_assert(productsOfTile(1, 8) == 1 && productsOfTile(4, 1) == 4 &&
              productsOfTile(3, 4) == 1.5);

} // namespace hk

#endif // HK_CONTRACT_GROUPTILES_H
