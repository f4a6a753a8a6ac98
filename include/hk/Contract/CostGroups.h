//===- CostGroups.h - What a cost model knows of groups -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parts of CostGemmSm90.h: products of groups of rows in the warp-specialised
// loop of sm_90a, where rows of A or of B are those of the instruction.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_COSTGROUPS_H
#define HK_CONTRACT_COSTGROUPS_H

#include "hk/Contract/Lds.h"

namespace hk {

/// A step of swapped tiles, however few its columns: a product that is waited
/// for, and added.
inline constexpr double kChainClocks = 600;

/// The end of a wide tile, whose results pass through LDS: Qwen3's experts with
/// 128 rows each took 161 us for 147 of tiles of 128 x 256 with 12 steps
/// (down), and 270 for 277 with 32 (up), on an H200.
inline constexpr double kWideTileClocks = 8000;

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

/// What a unit draws of the memory in a microsecond, however few do: GPT-OSS'
/// down product of one token in bf16, 66 MB in 45 tiles, took 32.8 us on an
/// H100, of which some four are its begin (benchmarks/results/h200-moe.md).
/// OfFew: in 92 tiles it took 23.3 us on an H200, of which some three are; for
/// groups by bounds, which have smaller tiles beside these.
inline constexpr double kUnitBytes = 50e3, kUnitBytesOfFew = 45e3;

/// Clocks of a stage of a tile of 64 x 64 and of its end, which nothing hides:
/// its one warpgroup waits for each product. On an H200 down products of 1 to
/// 32 tokens of GPT-OSS, Qwen3 and Mixtral take such tiles within a tenth.
inline constexpr double kLeastStageClocks = 430, kLeastTileClocks = 5400;

/// Clocks of a stage of fp8, which is folded, where all tiles are of few rows:
/// DeepSeek-V3's products of one token took 68 (up) and 51.6 us (down) on an
/// H200, two and four rounds of 64 x 128.
inline constexpr double kFewFoldClocks = 800;

/// Microseconds in which `tiles` tiles get `bytes` from a memory of `rate`
/// bytes a microsecond, `units` at a time: a last round of few is bound by what
/// they draw, `unitBytes` a microsecond each.
constexpr double tilesFromMemory(double bytes, double tiles, double units,
                                 double rate, double unitBytes = kUnitBytes) {
  auto roundsOf = [&](double count, double atOnce) {
    double drawn = atOnce * unitBytes;
    return bytes / tiles * count / (drawn < rate ? drawn : rate);
  };
  double last = tiles - double(int64_t(tiles / units)) * units;
  return (tiles > last ? roundsOf(tiles - last, units) : 0) +
         (last > 0 ? roundsOf(last, last) : 0);
}

static_assert(tilesFromMemory(1e6, 10, 100, 1e6) == 2 &&
              tilesFromMemory(3e6, 150, 100, 1e6) ==
                  tilesFromMemory(3e6, 200, 100, 1e6) &&
              tilesFromMemory(1e6, 100, 100, 1e6) == 1);

static_assert(rowsInBoxes(96) == 96 && rowsInBoxes(97) == 128);
static_assert(rowsFromCache({128, 128, 128, 2, 1, 6, 1}, 96) ==
                  1.25 * 128 + 96 &&
              rowsFromCache({160, 128, 128, 1, 2, 5, 1}, 16) == 128 + 32);

} // namespace hk

#endif // HK_CONTRACT_COSTGROUPS_H
