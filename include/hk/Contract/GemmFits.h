//===- GemmFits.h - Which tiles take a product -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What of a product decides about tiles besides its sizes, and which rows of a
// target's table (GemmTiles.h) the kernel templates accept for it.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_GEMMFITS_H
#define HK_CONTRACT_GEMMFITS_H

#include "hk/Contract/GemmTiles.h"
#include "hk/Contract/Scale.h"

namespace hk {

/// What the choice of a tile depends on besides the sizes.
struct GemmShapeClass {
  DType operand; // gemmOperandType
  bool staged;   // an operand cannot be copied straight into LDS
  bool pair;     // gated: columns c and c + n in one block
  bool scaled;   // scales along k
  /// A is quantised in groups along k where it is read, which gives it scales.
  bool quantized;
  /// Columns that share a statistic in the epilogue; 0: none.
  int32_t group;
  /// Both operands can be described by tensor maps (sm_90a); the rows of B run
  /// along its columns.
  bool bulk = false, columnsOfB = false;
  /// Rows come in groups, each with a matrix of its own; an order says which.
  bool grouped = false, gathered = false;
  /// B is of 4-bit codes that sm_90a decodes in registers; k then.
  bool codes = false;
  int64_t codesDepth = 0;
  /// Bits of B's codes, where what they are decoded with is at most a word for
  /// every 128 of a row and tensor maps can describe both operands, or 0; k
  /// then, and the elements of it that share a word (0: all).
  int32_t streamedBits = 0;
  int64_t streamedK = 0, streamedGroup = 0;
  /// They are decoded one by one, in f32.
  bool streamedInF32 = false;
  /// They are fp4 whose blocks of 32 have a power of two each.
  bool powersOfCodes = false;
  /// Groups are given by bounds; they are of k.
  bool byBounds = false, groupsK = false;
  /// The scaled matrix instruction takes the operands as they lie in memory;
  /// their types then.
  bool microscaled = false;
  DType elementsA = DType::F32, elementsB = DType::F32;
  /// The number of rows is known.
  bool knownRows = false;
  /// The epilogue reads a matrix where it stores.
  bool readsMatrix = false;
};

/// Bits of an element of A and of B in LDS.
struct GemmBits {
  int32_t a, b;
};
constexpr GemmBits gemmBits(GemmLoop loop, const GemmShapeClass &shape) {
  if (loop == GemmLoop::Microscaled)
    return {info(shape.elementsA).bits, info(shape.elementsB).bits};
  return {info(shape.operand).bits, info(shape.operand).bits};
}

constexpr GemmTile tileOf(const GemmTileRow &row, const Target &target,
                          const GemmShapeClass &shape) {
  auto [a, b] = gemmBits(row.loop, shape);
  int32_t bits = target.arch == Arch::Host ? 32 : a > b ? a : b;
  int32_t depth = row.kBytes * 8 / bits;
  if (target.arch == Arch::Host && row.bm > kHostSkinnyRows &&
      shape.operand == DType::F32 && depth > kHostDepthOfF32)
    depth = kHostDepthOfF32;
  return {row.bm,     row.bn, depth,    row.wm,     row.wn,
          row.stages, 1,      row.loop, row.cluster};
}

/// LDS bytes of `tile`, whatever its loop.
constexpr int64_t gemmLds(const Target &target, const GemmTile &tile,
                          const GemmShapeClass &shape) {
  if (tile.loop == GemmLoop::Microscaled)
    return microscaledLds(target, tile, shape.elementsA, shape.elementsB);
  if (tile.loop == GemmLoop::StreamedCodes)
    return streamedCodesLds(tile, shape.streamedBits);
  return gemmLds(target, tile, shape.operand, shape.quantized);
}

/// Columns of the result that a block computes.
constexpr int32_t gemmColumns(const GemmTile &tile, bool pair) {
  return pair ? tile.bn / 2 : tile.bn;
}

constexpr bool warpSpecialisedFits(const GemmTileRow &row, const GemmTile &tile,
                                   const GemmShapeClass &shape) {
  // Codes of groups are decoded where they are multiplied.
  if (shape.grouped && shape.powersOfCodes && shape.operand == DType::BF16)
    return isSwappedCodes(tile) && shape.group == 0;
  if (!shape.bulk || shape.operand == DType::F32)
    return false;
  if (isFp8(shape.operand) && !(shape.scaled ? row.scaled : row.fp8))
    return false;
  if (row.onlyBytes && info(shape.operand).bits != 8)
    return false;
  // Products with scales along k have the L2 cache as their limit, and so have
  // those of 8 bits whose rows no cluster shares.
  if (isSwappedWide(tile)) {
    if (!shape.grouped || shape.columnsOfB || shape.group != 0 ||
        (info(shape.operand).bits != 16 && !isFp8(shape.operand)))
      return false;
  } else if (isSwapped(tile) &&
             !(shape.grouped &&
               (shape.scaled || (shape.gathered && isFp8(shape.operand))))) {
    return false;
  }
  // Neighbouring tiles of rows may be of two groups.
  if (shape.grouped && (row.cluster != 1 || !row.grouped))
    return false;
  // One warpgroup was tried with int8 in groups only, or without scales along
  // k where blocks share B.
  if (!shape.grouped && row.wm == 1 && row.wn == 1 &&
      (row.cluster == 1 || shape.scaled) && shape.operand == DType::I8)
    return false;
  // Columns of the result are stored in whole panels, and 16 at a time.
  if (shape.pair && (gemmColumns(tile, true) < kBulkPanelColumns ||
                     gemmColumns(tile, true) % 16 != 0))
    return false;
  // A half of a pair has one scale of B; tried with groups only.
  if (shape.scaled &&
      (!row.scaled || tile.bk != 128 ||
       (shape.pair && (!shape.grouped || tile.bn != kBlockScaleB.rows))))
    return false;
  // Folded by halves, what follows from a number of rows that only a launch
  // knows spills.
  if (shape.scaled && tile.bn > kFoldedAtOnce && !shape.knownRows)
    return false;
  if (shape.columnsOfB &&
      gemmColumns(tile, shape.pair) / row.cluster % kBulkPanelColumns != 0)
    return false;
  // A statistic is of the columns that pass through a slab together, and of
  // one tile.
  int32_t together = bulkSlabColumns(tile.bn);
  return shape.group == 0 || (!shape.pair && together % shape.group == 0 &&
                              tile.bn % shape.group == 0);
}

/// Rows of A of a swapped tile of codes whose columns are gated pairs.
inline constexpr int32_t kMostRowsOfPair = 128;

/// One matrix, or a batch of them, of 16 bits, whose rows run along k; or codes
/// that become 16 bits by a scale for whole chunks of k.
constexpr bool swappedFits(const GemmTileRow &row, const GemmTile &tile,
                           const GemmShapeClass &shape) {
  if (shape.streamedBits != 0)
    // Pairs of more rows would spill.
    return row.onlyCodes && (row.scaled || !shape.scaled) &&
           (!shape.pair || (tile.bm <= kMostRowsOfPair && !shape.scaled)) &&
           shape.group == 0 && shape.streamedGroup % kDecodedDepth == 0;
  return !row.onlyCodes && shape.bulk &&
         (info(shape.operand).bits == 16 ||
          (isFp8(shape.operand) && row.fp8)) &&
         !shape.grouped && !shape.scaled && !shape.pair && !shape.columnsOfB &&
         shape.group == 0;
}

/// A block of the cluster finishes its part of the columns, in vectors of
/// eight. Groups have tiles of their own.
constexpr bool skinnyFits(const GemmTileRow &row, const GemmTile &tile,
                          const GemmShapeClass &shape) {
  if (isGroupedSkinny(tile) || isGroupedStaged(tile)
          ? !shape.byBounds || shape.operand == DType::I8
          : shape.grouped)
    return false;
  // Scales along k of 32 rows of B would spill.
  if (shape.scaled && (!isGroupedSkinny(tile) || tile.bn > 16))
    return false;
  return shape.bulk && shape.operand != DType::F32 && !shape.columnsOfB &&
         shape.group == 0 &&
         (info(shape.operand).bits == 8 ? row.fp8 : !row.onlyBytes) &&
         gemmColumns(tile, shape.pair) / row.cluster % 8 == 0;
}

/// The blocks of a cluster have room for all of k, and a part of the columns
/// in vectors of eight each; of groups one block has it.
constexpr bool skinnyCodesFits(const GemmTileRow &row, const GemmTile &tile,
                               const GemmShapeClass &shape) {
  return shape.codes && shape.group == 0 &&
         (shape.grouped ? row.cluster == 1 : row.wn != kGroupCodesWaves) &&
         shape.codesDepth <= int64_t(tile.bk) * row.cluster &&
         gemmColumns(tile, shape.pair) / row.cluster % 8 == 0;
}

/// Elements of k of the block of a cluster that has most of them.
constexpr int64_t streamedSlice(const GemmTile &tile,
                                const GemmShapeClass &shape) {
  int64_t depth = streamedDepth(shape.streamedBits);
  int64_t stages = (shape.streamedK + depth - 1) / depth;
  return (stages + tile.cluster - 1) / tile.cluster * depth;
}

/// A block has room for the scales of its part of k. With 16 rows fp4 and its
/// powers take teams of four, which read A half as often (fp4 23.7 for 24.3 us
/// on an H200, integers 21.2 for 21.4 where they do not spill). What scales
/// along k fold takes too many registers with 64 rows, and with 32 by 224.
constexpr bool streamedCodesFits(const GemmTile &tile,
                                 const GemmShapeClass &shape) {
  if (shape.streamedBits == 0 || shape.group != 0)
    return false;
  int32_t members = shape.powersOfCodes && tile.bm == 16 ? 4 : 2;
  bool folds = tile.bm <= 32 && tile.bm * tile.bn <= 32 * 128;
  return tile.wn == members && (folds || !shape.scaled) &&
         gemmColumns(tile, shape.pair) % 8 == 0 &&
         (shape.streamedGroup == 0 || streamedSlice(tile, shape) <= tile.bk);
}

/// All threads copy of both operands, and each the scales of at most one row.
constexpr bool microscaledFits(const Target &target, const GemmTile &tile,
                               const GemmShapeClass &shape) {
  int32_t threads = gemmThreads(target, tile);
  int32_t columns = gemmColumns(tile, shape.pair);
  auto [a, b] = gemmBits(tile.loop, shape);
  auto shared = [&](int32_t rows, int32_t bits) {
    return rows * (tile.bk * bits / 128) % threads == 0;
  };
  return shape.microscaled && tile.bm + tile.bn <= threads &&
         shared(tile.bm, a) && shared(columns, b) && columns % 32 == 0 &&
         (shape.group == 0 || columns % shape.group == 0);
}

/// Operands of f32 that are copied straight into LDS.
constexpr bool registerCellsFit(const GemmTile &tile,
                                const GemmShapeClass &shape) {
  return shape.operand == DType::F32 && !shape.staged && !shape.scaled &&
         !shape.grouped &&
         (shape.group == 0 || gemmColumns(tile, shape.pair) % shape.group == 0);
}

/// Operands that lie as they are multiplied. With scales along k those of half
/// of a pair would be half of the columns that share one.
constexpr bool pingPongFits(const GemmTileRow &row, const GemmTile &tile,
                            const GemmShapeClass &shape) {
  return shape.operand != DType::F32 && !shape.staged &&
         shape.scaled == row.scaled &&
         (!shape.scaled || (isFp8(shape.operand) && !shape.pair)) &&
         !shape.quantized && !shape.groupsK &&
         (shape.group == 0 || gemmColumns(tile, shape.pair) % shape.group == 0);
}

/// Whether the kernel template accepts this row; LDS apart.
constexpr bool gemmTileFits(const GemmTileRow &row, const Target &target,
                            const GemmShapeClass &shape) {
  GemmTile tile = tileOf(row, target, shape);
  if (row.loop == GemmLoop::WarpSpecialised)
    return warpSpecialisedFits(row, tile, shape);
  if (row.loop == GemmLoop::Swapped)
    return swappedFits(row, tile, shape);
  if (row.loop == GemmLoop::Skinny)
    return skinnyFits(row, tile, shape);
  if (row.loop == GemmLoop::SkinnyCodes)
    return skinnyCodesFits(row, tile, shape);
  if (row.loop == GemmLoop::StreamedCodes)
    return streamedCodesFits(tile, shape);
  if (row.loop == GemmLoop::Microscaled)
    return microscaledFits(target, tile, shape);
  if (row.loop == GemmLoop::RegisterCells)
    return registerCellsFit(tile, shape);
  if (row.loop == GemmLoop::PingPong)
    return pingPongFits(row, tile, shape);
  int32_t columns = gemmColumns(tile, shape.pair);
  bool host = target.arch == Arch::Host;
  if ((shape.staged && !row.staged) || (row.onlyColumns && !shape.columnsOfB))
    return false;
  if (isFp8(shape.operand) && !(shape.staged ? row.fp8Staged : row.fp8))
    return false;
  if (shape.scaled && (!row.scaled || kBlockScaleA.depth % tile.bk != 0 ||
                       kBlockScaleB.rows % columns != 0 ||
                       (host && tile.bk != kBlockScaleA.depth)))
    return false;
  // The columns of a wave have one scale of B: they are of one half.
  if (shape.scaled && shape.pair && !host && tile.wn % 2 != 0)
    return false;
  if (host && !shape.scaled && tile.bk == kBlockScaleA.depth)
    return false;
  if (shape.quantized ? tile.bk != kBlockScaleA.depth : row.onlyQuantized)
    return false;
  if (shape.group != 0 && columns % shape.group != 0)
    return false;
  // Host panels are 32 columns, and a wave's fragments twice the instruction's.
  if (host && !isHostSkinny(target, tile) && columns % 32 != 0)
    return false;
  // The halves of B are whole fragments: what is in LDS is permuted within one
  // (kFragmentRows of device/mma/swizzle.h).
  if (!host && shape.pair && columns % (target.waveSize == 64 ? 32 : 8) != 0)
    return false;
  // The two halves of B are copied by all threads each.
  if (!host && shape.pair &&
      columns * row.kBytes / 16 % gemmThreads(target, tile) != 0)
    return false;
  return true;
}

} // namespace hk

#endif // HK_CONTRACT_GEMMFITS_H
