//===- CostGroups.h - What a cost model knows of groups -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parts of Cost.h: products of groups of rows in the warp-specialised loop of
// sm_90a, where rows of A or of B are those of the instruction.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_COSTGROUPS_H
#define HK_CONTRACT_COSTGROUPS_H

#include "hk/Contract/Lds.h"

namespace hk {

/// A step of swapped tiles, however few its columns: a product that is waited
/// for, and added.
inline constexpr double kChainClocks = 600;

/// `rows` in boxes.
constexpr double rowsInBoxes(int64_t rows) {
  int64_t boxes = (rows + kGroupBoxRows - 1) / kGroupBoxRows;
  return double(boxes * kGroupBoxRows);
}

/// Columns of the instruction, where groups have `rows` rows.
constexpr double instructionColumns(const GemmTile &tile, int64_t rows) {
  if (!isSwapped(tile))
    return tile.bn;
  double boxes = rowsInBoxes(rows);
  return boxes < tile.bm ? boxes : tile.bm;
}

/// Rows of both operands that a step of k brings from the L2 cache, for one
/// tile of columns of a group of `rows` rows. As groups differ, one has half a
/// tile more than its rows fill, and reads its matrix for each.
constexpr double rowsFromCache(const GemmTile &tile, int64_t rows) {
  double tiles = double(rows) / tile.bm + 0.5;
  return (tiles < 1 ? 1 : tiles) * tile.bn + rowsInBoxes(rows);
}

static_assert(rowsInBoxes(96) == 96 && rowsInBoxes(97) == 128);
static_assert(rowsFromCache({128, 128, 128, 2, 1, 6, 1}, 96) ==
                  1.25 * 128 + 96 &&
              rowsFromCache({160, 128, 128, 1, 2, 5, 1}, 16) == 128 + 32);

} // namespace hk

#endif // HK_CONTRACT_COSTGROUPS_H
