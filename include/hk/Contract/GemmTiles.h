//===- GemmTiles.h - Tiles a matrix product may use -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles of the AMD targets compile without spills for every operand layout they
// are offered for: the driver leaves out one whose object spills, and the
// golden budgets of the module tests would show it. Of sm_90a's some of
// SkinnyCodes and of groups' Skinny spill (ptxas, up to 132 bytes a thread).
// Depths are bytes of k, so that a tile is the same for each operand dtype. The
// target's LDS limit is checked by whoever chooses, not here.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_GEMMTILES_H
#define HK_CONTRACT_GEMMTILES_H

#include "hk/Contract/Lds.h"
#include "hk/Contract/Occupancy.h"

namespace hk {

struct GemmTileRow {
  int32_t bm, bn, kBytes, wm, wn, stages;
  /// Offered also when an operand passes through registers: changed dtype,
  /// unaligned rows, or rows contiguous in memory.
  bool staged;
  /// Offered also with scales along k, which need a second accumulator.
  bool scaled;
  /// Offered to 8-bit floats that the chip multiplies: mma.sync of sm_90a needs
  /// twice the registers for them.
  bool fp8 = true;
  bool fp8Staged = true;
  GemmLoop loop = GemmLoop::Blocks;
  int32_t cluster = 1;
  /// Offered to products that quantise A only: those of 16 bits need twice the
  /// bytes of k for a group.
  bool onlyQuantized = false;
  /// Offered only where the rows of B run along its columns: steps as deep as
  /// where they run along k, as lines of memory are whole in 64 columns.
  bool onlyColumns = false;
  /// Offered to products of groups.
  bool grouped = true;
  /// Offered to operands of 8 bits only.
  bool onlyBytes = false;
  /// Offered to codes only that are decoded where they are multiplied.
  bool onlyCodes = false;
};

/// A row for products that quantise A.
constexpr GemmTileRow onlyQuantized(GemmTileRow row) {
  row.onlyQuantized = true;
  return row;
}

/// A row for products whose B is [K, N].
constexpr GemmTileRow onlyColumns(GemmTileRow row) {
  row.onlyColumns = true;
  return row;
}

/// A warp-specialised row: 64 rows for each warpgroup. `folds`: registers hold
/// a second accumulator, for fp8 and scales along k.
constexpr GemmTileRow warpSpecialised(int32_t bn, int32_t stages, bool folds,
                                      int32_t cluster, int32_t groups = 2) {
  return {64 * groups,
          bn,
          kBulkRowBytes,
          groups,
          1,
          stages,
          false,
          folds,
          folds,
          false,
          GemmLoop::WarpSpecialised,
          cluster};
}

/// A row whose halves are folded one after the other: with scales along k,
/// where columns that need not be read again pay for it.
constexpr GemmTileRow scaledToo(GemmTileRow row) {
  row.scaled = true;
  return row;
}

/// Columns of a tile that share a scale along k wherever it begins, and the
/// most of one that no cluster shares: 160 took longer than 256 that one does
/// (2048 x 7168 x 4096 on an H200: 106.5 us for 100.2).
inline constexpr int32_t kLeastScaled = 32, kMostScaled = 128;

/// A warp-specialised row for one matrix of 16 bits, or of fp8, where registers
/// hold a second accumulator.
constexpr GemmTileRow ofOneMatrix(int32_t bn, int32_t stages, int32_t cluster,
                                  int32_t groups = 2) {
  GemmTileRow row = warpSpecialised(bn, stages, false, cluster, groups);
  row.grouped = false;
  row.fp8 = bn <= kFoldedAtOnce;
  row.scaled = bn <= kMostScaled && bn % kLeastScaled == 0;
  return row;
}

/// A row for groups of some hundred rows: 128 rows of B, and as many of a group
/// as it has, in steps of kGroupBoxRows.
constexpr GemmTileRow swappedGroups(int32_t bm, int32_t stages) {
  return {bm,
          128,
          kBulkRowBytes,
          1,
          2,
          stages,
          false,
          true,
          true,
          false,
          GemmLoop::WarpSpecialised};
}

/// The same without scales along k, with 256 rows of B.
constexpr GemmTileRow swappedWide(int32_t bm, int32_t stages) {
  GemmTileRow row = swappedGroups(bm, stages);
  row.bn = 256;
  row.scaled = false;
  return row;
}

/// A row for some hundred rows: bm rows of A by 64 of B for each warpgroup, k
/// split over a cluster; of fp8, too, where registers hold a second
/// accumulator.
constexpr GemmTileRow swapped(int32_t bm, int32_t bn, int32_t stages,
                              int32_t cluster) {
  return {
      bm,    bn,    kBulkRowBytes,          1,     bn / 64,           stages,
      false, false, bm <= 200 && bn <= 128, false, GemmLoop::Swapped, cluster};
}

/// The same for codes, which one warpgroup decodes, or two; rows of A come in
/// boxes of kGroupBoxRows.
constexpr GemmTileRow swappedOfCodes(int32_t bm, int32_t bn, int32_t stages,
                                     int32_t cluster, int32_t decoders = 1) {
  GemmTileRow row = swapped(bm, bn, stages, cluster);
  row.wm = 1 + decoders;
  row.onlyCodes = true;
  row.scaled = bm <= (decoders == 1 || bn == 64 ? 128 : 64);
  return row;
}

/// A row for few rows: bn rows of B to a block, k split over a cluster. Two
/// blocks share a unit where there are many of up to 32 rows; a block that has
/// it to itself keeps as much under way in more stages.
constexpr GemmTileRow skinny(int32_t bm, int32_t bn, int32_t stages,
                             int32_t cluster) {
  return {bm,    bn,    kBulkRowBytes, 1,     (bn + 63) / 64,   stages,
          false, false, true,          false, GemmLoop::Skinny, cluster};
}

/// A row for groups of few rows: bn rows of B to a tile by `waves` waves that
/// share k, a line of each row at a time.
constexpr GemmTileRow groupedSkinny(int32_t bn, int32_t waves) {
  return {8,    bn,    kBulkRowBytes,    1, waves, 1, false, false,
          true, false, GemmLoop::Skinny, 1};
}

/// The same through stages of a quarter of a unit: bn rows of B by `waves`
/// waves, which have a part of them each.
constexpr GemmTileRow groupedStaged(int32_t bn, int32_t waves, int32_t stages) {
  return {8,     bn,    kBulkRowBytes,    waves, 1, stages, false, false,
          false, false, GemmLoop::Skinny, 1};
}

/// A row for operands of 8 bits.
constexpr GemmTileRow onlyBytes(GemmTileRow row) {
  row.onlyBytes = true;
  return row;
}

/// A row of Skinny for operands of 16 bits.
constexpr GemmTileRow onlyWords(GemmTileRow row) {
  row.fp8 = false;
  return row;
}

/// A row of a loop that takes bk bytes of k and neither folds nor copies
/// otherwise.
constexpr GemmTileRow ofLoop(GemmLoop loop, int32_t bm, int32_t bn, int32_t bk,
                             int32_t wm, int32_t wn, int32_t stages,
                             int32_t cluster = 1) {
  return {bm,    bn,    bk,    wm,    wn,   stages,
          false, false, false, false, loop, cluster};
}

/// A row for few rows and 4-bit codes: 32 rows of B to a tile, bk elements of A
/// in the registers of `waves` waves.
constexpr GemmTileRow skinnyCodes(int32_t bm, int32_t bk, int32_t waves,
                                  int32_t stages, int32_t cluster) {
  return ofLoop(GemmLoop::SkinnyCodes, bm, 32, bk * 2, 1, waves, stages,
                cluster);
}

/// A row for few rows and codes of which a block has bn rows, by `teams` of
/// `members` waves; k split over a cluster. Few columns leave room for the
/// scales of 8,192 of k.
constexpr GemmTileRow streamedCodes(int32_t bm, int32_t bn, int32_t teams,
                                    int32_t members, int32_t stages,
                                    int32_t cluster) {
  return ofLoop(GemmLoop::StreamedCodes, bm, bn, (bn > 64 ? 4096 : 8192) * 2,
                teams, members, stages, cluster);
}

/// A row for operands of 8 or 4 bits with e8m0 scales; kBytes are those of the
/// wider operand.
constexpr GemmTileRow microscaled(int32_t bm, int32_t bn, int32_t kBytes,
                                  int32_t wm, int32_t wn, int32_t stages) {
  return ofLoop(GemmLoop::Microscaled, bm, bn, kBytes, wm, wn, stages);
}

/// A row for f32, whose lanes sum cells of bm / wm / 4 x bn / wn / 8 results.
constexpr GemmTileRow registerCells(int32_t bm, int32_t bn, int32_t wm,
                                    int32_t wn, int32_t stages) {
  return ofLoop(GemmLoop::RegisterCells, bm, bn, 128, wm, wn, stages);
}

/// A row of two groups of waves in turns; 128 bytes of k fill the registers of
/// copies and fragments.
constexpr GemmTileRow pingPong(int32_t stages) {
  return ofLoop(GemmLoop::PingPong, 256, 256, 128, 2, 4, stages);
}
/// The same for 8-bit floats with scales along k: half of the columns, as the
/// sums of a tile take registers, too.
constexpr GemmTileRow foldedTurns(int32_t stages) {
  GemmTileRow row = ofLoop(GemmLoop::PingPong, 256, 128, 128, 4, 2, stages);
  row.scaled = true;
  return row;
}

struct GemmTileTable {
  const GemmTileRow *rows;
  int32_t size;
};

inline constexpr GemmTileRow kGemmTilesGfx942[] = {
    pingPong(1),
    foldedTurns(1),
    {256, 256, 128, 2, 4, 1, false, false},
    {256, 128, 128, 4, 2, 1, true, false},
    {128, 128, 128, 2, 2, 1, true, true},
    {64, 256, 128, 2, 4, 1, true, false},
    {64, 128, 128, 2, 2, 1, true, true},
    {64, 64, 128, 2, 2, 1, true, true},
    {32, 128, 256, 1, 4, 1, false, false},
    {32, 64, 256, 1, 2, 1, false, false},
    {32, 128, 128, 1, 4, 1, true, true},
    {32, 32, 128, 1, 1, 1, true, true},
    {32, 32, 64, 1, 1, 1, true, true},
    onlyQuantized({64, 128, 256, 2, 2, 1, true, true}),
    onlyQuantized({32, 64, 256, 1, 2, 1, true, true}),
    onlyColumns({32, 64, 256, 1, 2, 1, true, true}),
};
inline constexpr GemmTileRow kGemmTilesGfx950[] = {
    pingPong(2),
    foldedTurns(2),
    {256, 256, 128, 2, 4, 2, false, false},
    {256, 128, 128, 4, 2, 2, false, false},
    {128, 128, 128, 2, 2, 2, true, true},
    {64, 256, 128, 2, 4, 2, true, false},
    {64, 128, 128, 2, 2, 2, true, true},
    {64, 64, 128, 2, 2, 2, true, true},
    {32, 128, 256, 1, 4, 3, false, false},
    {32, 64, 256, 1, 2, 3, false, false},
    {32, 128, 128, 1, 4, 2, true, true},
    {32, 32, 128, 1, 1, 2, true, true},
    {32, 32, 64, 1, 1, 2, true, true},
    onlyQuantized({64, 128, 256, 2, 2, 1, true, true}),
    onlyQuantized({32, 64, 256, 1, 2, 2, true, true}),
    onlyColumns({32, 64, 256, 1, 2, 2, true, true}),
    microscaled(256, 256, 128, 2, 4, 2),
    microscaled(256, 128, 128, 4, 2, 2),
    microscaled(128, 128, 128, 2, 2, 2),
    microscaled(64, 256, 128, 2, 4, 2),
    microscaled(64, 128, 128, 2, 2, 3),
    microscaled(64, 64, 128, 2, 2, 3),
    microscaled(32, 128, 256, 1, 4, 3),
    microscaled(32, 64, 256, 1, 2, 3),
    microscaled(32, 128, 128, 1, 4, 3),
    microscaled(32, 32, 128, 1, 1, 3),
};
inline constexpr GemmTileRow kGemmTilesGfx1100[] = {
    {128, 128, 64, 4, 2, 2, false, false},
    {128, 64, 128, 4, 2, 1, true, false},
    {64, 64, 128, 2, 2, 1, true, false},
    {32, 64, 128, 2, 2, 1, true, true},
    {16, 64, 256, 1, 4, 1, false, false},
    {16, 64, 128, 1, 4, 1, true, true},
    {16, 32, 128, 1, 2, 1, true, true},
    onlyQuantized({32, 64, 256, 2, 4, 1, true, true}),
};
inline constexpr GemmTileRow kGemmTilesSm90a[] = {
    scaledToo(warpSpecialised(256, 4, false, 2)),
    warpSpecialised(256, 4, false, 1),
    warpSpecialised(224, 4, false, 2),
    warpSpecialised(192, 4, true, 2),
    warpSpecialised(128, 6, true, 2),
    warpSpecialised(128, 6, true, 1),
    ofOneMatrix(208, 4, 1),
    onlyBytes(ofOneMatrix(192, 4, 1)),
    ofOneMatrix(176, 5, 1),
    ofOneMatrix(160, 5, 1),
    ofOneMatrix(144, 5, 1),
    ofOneMatrix(112, 6, 1),
    ofOneMatrix(96, 6, 1),
    ofOneMatrix(80, 7, 1),
    ofOneMatrix(224, 5, 1, /*groups=*/1),
    ofOneMatrix(128, 8, 2, /*groups=*/1),
    ofOneMatrix(96, 9, 1, /*groups=*/1),
    swappedGroups(160, 5),
    swappedWide(160, 4),
    swapped(80, 64, 12, 1),
    swapped(80, 64, 12, 2),
    swapped(80, 64, 12, 4),
    swapped(96, 64, 11, 1),
    swapped(96, 64, 11, 2),
    swapped(104, 64, 10, 1),
    swapped(104, 64, 10, 2),
    swapped(128, 64, 9, 2),
    swapped(128, 64, 9, 4),
    swapped(152, 64, 8, 1),
    swapped(152, 64, 8, 2),
    swapped(168, 64, 7, 1),
    swapped(168, 64, 7, 2),
    swapped(200, 64, 6, 1),
    swapped(200, 64, 6, 2),
    swapped(224, 64, 6, 2),
    swapped(256, 64, 5, 2),
    swapped(80, 128, 8, 1),
    swapped(96, 128, 7, 1),
    swapped(104, 128, 7, 1),
    swapped(128, 128, 6, 1),
    swapped(152, 128, 6, 1),
    swapped(160, 128, 5, 1),
    swapped(176, 128, 5, 1),
    swapped(200, 128, 5, 1),
    swapped(128, 128, 6, 3),
    swapped(136, 128, 6, 2),
    swapped(200, 128, 5, 4),
    swapped(104, 192, 5, 1),
    swapped(200, 192, 4, 1),
    swapped(128, 192, 5, 4),
    swapped(176, 192, 4, 4),
    swappedOfCodes(64, 64, 10, 1, 2),
    swappedOfCodes(64, 64, 10, 2, 2),
    swappedOfCodes(128, 64, 7, 1, 2),
    swappedOfCodes(128, 64, 7, 2, 2),
    swappedOfCodes(256, 64, 4, 1, 2),
    swappedOfCodes(256, 64, 4, 2, 2),
    swappedOfCodes(64, 128, 6, 1, 2),
    swappedOfCodes(96, 128, 5, 1, 2),
    swappedOfCodes(128, 128, 5, 1, 2),
    swappedOfCodes(64, 64, 10, 2),
    swappedOfCodes(128, 64, 7, 2),
    swappedOfCodes(256, 64, 4, 2),
    swappedOfCodes(64, 128, 6, 1),
    swappedOfCodes(96, 128, 5, 1),
    swappedOfCodes(128, 128, 5, 1),
    swappedOfCodes(160, 128, 4, 1),
    swappedOfCodes(192, 128, 4, 1),
    swappedOfCodes(256, 128, 3, 1),
    swappedOfCodes(128, 128, 5, 2),
    warpSpecialised(256, 5, false, 5, /*groups=*/1),
    warpSpecialised(256, 5, false, 1, /*groups=*/1),
    warpSpecialised(128, 8, true, 1, /*groups=*/1),
    warpSpecialised(64, 13, true, 1, /*groups=*/1),
    skinny(8, 64, 10, 1),
    skinny(8, 64, 10, 2),
    skinny(8, 64, 10, 4),
    skinny(8, 64, 10, 8),
    skinny(8, 64, 20, 1),
    skinny(8, 64, 20, 2),
    skinny(8, 80, 18, 1),
    skinny(8, 80, 18, 2),
    skinny(8, 128, 6, 1),
    skinny(8, 128, 6, 2),
    skinny(8, 112, 5, 1),
    skinny(16, 64, 10, 1),
    skinny(16, 64, 10, 2),
    skinny(16, 64, 10, 4),
    skinny(16, 64, 10, 8),
    skinny(16, 64, 20, 1),
    skinny(16, 64, 20, 2),
    skinny(16, 80, 16, 1),
    skinny(16, 80, 16, 2),
    skinny(16, 128, 6, 1),
    skinny(16, 128, 6, 2),
    skinny(16, 112, 5, 1),
    skinny(32, 64, 8, 1),
    skinny(32, 64, 8, 2),
    skinny(32, 64, 8, 4),
    skinny(32, 64, 8, 8),
    skinny(32, 64, 16, 1),
    skinny(32, 64, 16, 2),
    skinny(32, 80, 14, 1),
    skinny(32, 80, 14, 2),
    skinny(32, 128, 5, 1),
    skinny(32, 128, 5, 2),
    onlyBytes(skinny(32, 112, 5, 1)),
    onlyWords(skinny(48, 64, 7, 1)),
    onlyWords(skinny(48, 64, 15, 2)),
    onlyWords(skinny(48, 112, 4, 1)),
    skinny(64, 64, 12, 1),
    skinny(64, 64, 12, 2),
    skinny(64, 64, 12, 4),
    skinny(64, 64, 12, 8),
    skinny(64, 64, 8, 1),
    skinny(64, 80, 10, 1),
    skinny(64, 80, 10, 2),
    skinny(64, 112, 8, 1),
    onlyBytes(skinny(64, 112, 3, 1)),
    skinny(64, 128, 6, 1),
    skinny(64, 128, 6, 2),
    skinnyCodes(8, 3072, 12, 3, 1),
    skinnyCodes(8, 4096, 16, 2, 1),
    skinnyCodes(8, 4096, 16, 2, 2),
    skinnyCodes(8, 4096, 16, 2, 4),
    skinnyCodes(16, 3072, 12, 5, 1),
    skinnyCodes(16, 4096, 16, 2, 1),
    skinnyCodes(16, 4096, 16, 2, 2),
    skinnyCodes(16, 4096, 16, 2, 4),
    skinnyCodes(32, 2048, 8, 3, 2),
    skinnyCodes(32, 2048, 8, 3, 4),
    streamedCodes(64, 128, 4, 2, 4, 1),
    streamedCodes(64, 128, 4, 2, 4, 2),
    streamedCodes(64, 64, 4, 2, 4, 1),
    streamedCodes(64, 64, 4, 2, 4, 2),
    streamedCodes(64, 64, 4, 2, 4, 4),
    streamedCodes(32, 224, 4, 2, 4, 1),
    streamedCodes(32, 128, 4, 2, 4, 1),
    streamedCodes(32, 128, 4, 2, 4, 2),
    streamedCodes(32, 64, 4, 2, 6, 1),
    streamedCodes(32, 64, 4, 2, 6, 2),
    streamedCodes(32, 64, 4, 2, 6, 4),
    streamedCodes(16, 224, 4, 2, 4, 1),
    streamedCodes(16, 224, 2, 4, 4, 1),
    streamedCodes(16, 128, 4, 2, 4, 1),
    streamedCodes(16, 128, 2, 4, 4, 1),
    streamedCodes(16, 128, 4, 2, 4, 2),
    streamedCodes(16, 128, 2, 4, 4, 2),
    streamedCodes(16, 64, 4, 2, 6, 1),
    streamedCodes(16, 64, 2, 4, 4, 1),
    streamedCodes(16, 64, 4, 2, 6, 2),
    streamedCodes(16, 64, 2, 4, 4, 2),
    streamedCodes(16, 64, 4, 2, 6, 4),
    streamedCodes(16, 64, 2, 4, 4, 4),
    streamedCodes(8, 224, 4, 2, 4, 1),
    streamedCodes(8, 128, 4, 2, 4, 1),
    streamedCodes(8, 128, 4, 2, 4, 2),
    streamedCodes(8, 64, 4, 2, 6, 1),
    streamedCodes(8, 64, 4, 2, 6, 2),
    streamedCodes(8, 64, 4, 2, 6, 4),
    groupedSkinny(32, 4),
    groupedSkinny(32, 8),
    groupedSkinny(16, 4),
    groupedSkinny(16, 8),
    groupedStaged(48, 3, 7),
    groupedStaged(64, 4, 5),
    groupedStaged(96, 3, 3),
    registerCells(128, 128, 2, 2, 3),
    registerCells(64, 128, 2, 2, 4),
    registerCells(48, 128, 1, 4, 4),
    registerCells(32, 128, 2, 2, 4),
    registerCells(32, 64, 2, 2, 4),
    registerCells(16, 128, 1, 4, 4),
    registerCells(16, 64, 1, 2, 6),
    {128, 256, 128, 2, 4, 3, false, false, false, false},
    {128, 128, 128, 4, 2, 3, false, false, false, false},
    {64, 128, 128, 2, 4, 3, false, true},
    {32, 256, 128, 2, 4, 3, true, false, true, false},
    {32, 128, 128, 2, 4, 3, true, true},
    {64, 64, 128, 2, 2, 3, true, true, true, false},
    {32, 64, 128, 2, 2, 4, true, true},
    {16, 128, 256, 1, 4, 4, false, false, false, false},
    {16, 64, 256, 1, 4, 4, true, false},
    {16, 64, 128, 1, 4, 4, true, true},
    onlyQuantized({32, 64, 256, 2, 2, 2, true, true}),
};
/// Host rows: kBytes counts the bytes of the widened operands (4 per element).
/// A panel of f32 and the one that is asked for meanwhile fit the L1 cache
/// with fewer.
inline constexpr int32_t kHostDepthOfF32 = 192;
inline constexpr GemmTileRow kGemmTilesHost[] = {
    {192, 64, 1024, 1, 1, 1, true, false},
    {96, 64, 1024, 1, 1, 1, true, false},
    {48, 64, 1024, 1, 1, 1, true, false},
    {24, 64, 1024, 1, 1, 1, true, false},
    {192, 96, 1024, 1, 1, 1, true, false},
    {192, 128, 1024, 1, 1, 1, true, false},
    {96, 128, 1024, 1, 1, 1, true, false},
    {48, 128, 1024, 1, 1, 1, true, false},
    {24, 128, 1024, 1, 1, 1, true, false},
    {96, 256, 1024, 1, 1, 1, true, false},
    {96, 64, 512, 1, 1, 1, true, true},
    {96, 128, 512, 1, 1, 1, true, true},
    {8, 32, 8192, 1, 1, 1, true, false},
    {8, 64, 8192, 1, 1, 1, true, false},
    {8, 96, 8192, 1, 1, 1, true, false},
    {8, 128, 8192, 1, 1, 1, true, false},
    {8, 256, 8192, 1, 1, 1, true, false},
};

template <int32_t N>
constexpr GemmTileTable tableOf(const GemmTileRow (&rows)[N]) {
  return {rows, N};
}

/// The tiles of `target`; `tiny` is a gfx942.
constexpr GemmTileTable gemmTiles(const Target &target) {
  switch (target.arch) {
  case Arch::Host:
    return tableOf(kGemmTilesHost);
  case Arch::Gfx950:
    return tableOf(kGemmTilesGfx950);
  case Arch::Gfx1100:
    return tableOf(kGemmTilesGfx1100);
  case Arch::Sm90a:
    return tableOf(kGemmTilesSm90a);
  case Arch::Gfx942:
  case Arch::Tiny:
    break;
  }
  return tableOf(kGemmTilesGfx942);
}

constexpr int32_t gemmThreads(const Target &target, const GemmTile &tile) {
  if (target.arch == Arch::Host)
    return 1;
  int32_t waves = tile.wm * tile.wn;
  // Warpgroups, and one that copies.
  if (tile.loop == GemmLoop::WarpSpecialised)
    waves = (waves + 1) * kGroupWarps;
  // Those that multiply, and one that copies or some that decode.
  if (tile.loop == GemmLoop::Swapped)
    waves = (tile.wn + swappedFilling(tile)) * kGroupWarps;
  if (tile.loop == GemmLoop::Skinny && !isGroupedSkinny(tile))
    waves = waves * (isGroupedStaged(tile) ? 1 : kGroupWarps) + 1;
  if (tile.loop == GemmLoop::SkinnyCodes)
    waves += skinnyCodesHelpers(tile);
  if (tile.loop == GemmLoop::StreamedCodes)
    waves += 1;
  return waves * target.waveSize;
}

} // namespace hk

#endif // HK_CONTRACT_GEMMTILES_H
