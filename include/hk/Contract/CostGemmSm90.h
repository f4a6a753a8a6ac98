//===- CostGemmSm90.h - Modelled run times of sm_90a's loops -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product in each of the loops that only sm_90a has.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_COSTGEMMSM90_H
#define HK_CONTRACT_COSTGEMMSM90_H

#include "hk/Contract/CostGemmBulk16.h"
#include "hk/Contract/CostGroups.h"

namespace hk {

/// Clocks in which the L2 cache gives a stage to all blocks that are busy with
/// `tiles` tiles of clusters, which share B.
constexpr double clocksFromCache(const Target &target, const GemmTile &tile,
                                 double tiles) {
  using C = Sm90Calibration;
  double units = target.computeUnits, blocks = tiles * tile.cluster;
  double bytes = (tile.bm + double(tile.bn) / tile.cluster) * kBulkRowBytes;
  return (blocks < units ? blocks : units) * bytes / C::kCacheBytes *
         C::kClocksPerMicrosecond;
}

/// Bytes in a microsecond that the copy engine brings from memory.
constexpr double bulkRate(const Target &target) {
  return target.memoryGBps * 1e3 * Sm90Calibration::kBulkMemory;
}

/// Whether a product is of CostGemmBulk16.h.
constexpr bool isPlainBulk(const GemmShapeClass &shape) {
  return !shape.grouped &&
         (info(shape.operand).bits == 16 || isFp8(shape.operand));
}

/// Whether rows of a few groups are multiplied where the loop for few rows may
/// be as well.
constexpr bool isBesideSkinny(const GemmShapeClass &shape,
                              const GemmSize &size) {
  return size.fewGroups && shape.byBounds && !shape.scaled;
}

/// Clocks of one of `tiles` tiles of a warp-specialised product: its steps, and
/// its end.
constexpr double warpSpecialisedClocks(const Target &target,
                                       const GemmTile &tile,
                                       const GemmShapeClass &shape,
                                       const GemmSize &size, double tiles) {
  using C = Sm90Calibration;
  double width = instructionColumns(tile, size.m);
  double step = 4.0 * width * (1 + C::kNarrow * (256 - width) / 256);
  if (isSwappedWide(tile))
    step *= 2;
  if (shape.scaled)
    step *= 1 + C::kScaledFold;
  else if (isFp8(shape.operand))
    step *= 1 + C::kFold;
  if (tile.cluster == 1)
    step *= 1 + C::kAlone;
  if (tile.wm * tile.wn == 1)
    step *= C::kHalfTile;
  if (isSwapped(tile) && !isSwappedWide(tile))
    step = costMax(step, kChainClocks);
  // A stage of 16 bits takes twice as long to multiply; its widths were chosen
  // by what they took.
  if (!shape.grouped && info(shape.operand).bits == 8)
    step = costMax(step, clocksFromCache(target, tile, tiles));
  bool least = shape.grouped && tile.bn == 64;
  if (least)
    step = costMax(step, kLeastStageClocks);
  double end = least                 ? kLeastTileClocks
               : isSwappedWide(tile) ? kWideTileClocks
                                     : C::kEpilogueClocks * tile.bn / 256;
  if (isBesideSkinny(shape, size)) {
    end = costMax(end, kLeastTileClocks);
    if (isFp8(shape.operand))
      step = costMax(step, kFewFoldClocks);
  }
  return ceilDiv(double(size.k), tile.bk) * step + end;
}

/// A warp-specialised product of groups or int8: rounds of tiles over the
/// clusters that the chip holds.
constexpr double warpSpecialisedMicroseconds(const Target &target,
                                             const GemmTile &tile,
                                             const GemmShapeClass &shape,
                                             const GemmSize &size) {
  using C = Sm90Calibration;
  double columns = gemmColumns(tile, shape.pair);
  double rowTiles = size.block
                        ? double(tilesOfRuns(size.m, tile.bm, size.block))
                        : ceilDiv(double(size.m), tile.bm * tile.cluster);
  double columnTiles = ceilDiv(double(size.n), columns) * double(size.batches);
  int64_t clusters = residentClusters(target, tile.cluster);
  double rounds = ceilDiv(rowTiles * columnTiles, double(clusters));
  double clocks =
      warpSpecialisedClocks(target, tile, shape, size, rowTiles * columnTiles);
  double compute =
      rounds * clocks / C::kClocksPerMicrosecond + kMemoryMicroseconds;
  // Tiles of groups follow each other, so that all units read all the time.
  double share = shape.grouped ? C::kBulkMemory : C::kTallMemory;
  double memory = gemmBytes(shape, size) / (target.memoryGBps * 1e3 * share);
  double rows = shape.grouped ? rowsFromCache(tile, size.m)
                              : rowTiles * (tile.bm * tile.cluster + tile.bn);
  bool fromCache = shape.scaled || (shape.gathered && isFp8(shape.operand));
  if (!shape.grouped || (fromCache && size.block == 0))
    memory =
        costMax(memory, columnTiles * rows * kBulkRowBytes *
                            ceilDiv(double(size.k), tile.bk) / C::kCacheBytes);
  if (size.fewGroups)
    memory = tilesFromMemory(gemmBytes(shape, size), rowTiles * columnTiles,
                             double(clusters), target.memoryGBps * 1e3 * share,
                             isBesideSkinny(shape, size) ? kUnitBytesOfFew
                                                         : kUnitBytes);
  double apart = shape.grouped ? C::kGroupsApart * (compute + memory) : 0;
  return target.launchMicroseconds + costMax(compute, memory) + apart;
}

/// How blocks of a product of few rows lie on the units.
struct SkinnySpread {
  double onUnit; // of the busiest, in a round
  double share;  // of the memory's rate that it draws, of an even split
};

constexpr SkinnySpread skinnySpread(const Target &target, const GemmTile &tile,
                                    double rows, double blocks,
                                    double resident) {
  using C = Sm90Calibration;
  double units = target.computeUnits;
  if (2 * blocks <= units)
    return {1, C::kSparseShare};
  if (resident == 1)
    return {1, tile.bm > 2 * costMax(rows, 8) ? C::kHollowShare
                                              : C::kRoomlessShare};
  // With no more blocks than units some units have two in a chain of launches,
  // which then draw more than others.
  return {blocks <= units ? 1 : resident, C::kSkinnyShare};
}

/// A product of few rows: the memory's time, or that of the busiest unit. Every
/// bm rows read B again. Measured on an H200, h200-gemm.md.
constexpr double skinnyMicroseconds(const Target &target, const GemmTile &tile,
                                    const GemmShapeClass &shape,
                                    const GemmSize &size) {
  using C = Sm90Calibration;
  double rowBlocks = ceilDiv(double(size.m), tile.bm);
  double blocks =
      gemmBlocks(target, tile, shape, size).blocks * double(tile.cluster);
  double rate = bulkRate(target);
  double bytesB = double(size.n) * (shape.pair ? 2 : 1) * double(size.k) *
                  size.bytesB * double(size.batches);
  double bytes = gemmBytes(shape, size) + (rowBlocks - 1) * bytesB;
  double units = target.computeUnits;
  double resident = residentBlocks(target, gemmLds(target, tile, shape),
                                   gemmThreads(target, tile));
  double clusters = double(residentClusters(target, tile.cluster)) * resident;
  double rounds = ceilDiv(blocks, clusters * tile.cluster);
  SkinnySpread spread =
      skinnySpread(target, tile, double(size.m), blocks, resident);
  double busiest =
      rounds * spread.onUnit * bytes / blocks / (rate / units * spread.share);
  double others =
      resident > 1 ? 0 : (rounds - 1) * tile.stages * C::kRefillMicroseconds;
  if (resident == 1)
    others += C::kRoomlessMicroseconds;
  else if (tile.bn == 112)
    others += rowBlocks == 1 && blocks >= C::kFilledRound * rounds * clusters
                  ? -C::kFilledMicroseconds
                  : C::kFilledMicroseconds * rounds;
  others += rowBlocks == 1 && bytesB >= C::kChainBytes ? C::kChainMicroseconds
                                                       : C::kSkinnyMicroseconds;
  for (int32_t s = tile.cluster; s > 1; s /= 2)
    others += blocks > units ? C::kSplitInRounds : C::kSplitMicroseconds;
  // Eight rows are the least that a tile has.
  double missing = costMax(0, rowBlocks * tile.bm - 8 - double(size.m));
  return target.launchMicroseconds + others +
         costMax(bytes / rate, busiest) * (tile.wn > 1 ? C::kSkinnyWide : 1) *
             (1 + C::kHollowRows * missing / tile.bm);
}

/// A product of few rows with 4-bit codes: the memory's time, or that of the
/// unit with most tiles.
constexpr double skinnyCodesMicroseconds(const Target &target,
                                         const GemmTile &tile,
                                         const GemmShapeClass &shape,
                                         const GemmSize &size) {
  using C = Sm90Calibration;
  int64_t clusters = residentClusters(target, tile.cluster);
  double rounds =
      ceilDiv(gemmBlocks(target, tile, shape, size).blocks, double(clusters));
  double codes = double(tile.bn) * double(size.k) / tile.cluster;
  int32_t fragments = tile.bm / 8;
  double slower = 1 + C::kCodesRows * (fragments - 1);
  double compute = rounds * codes * slower / C::kCodesPerUnit;
  double memory = gemmBytes(shape, size) / bulkRate(target);
  double splits = 0;
  for (int32_t s = tile.cluster; s > 1; s /= 2)
    splits += 1;
  return target.launchMicroseconds + C::kCodesMicroseconds +
         splits * C::kSplitMicroseconds + costMax(memory, compute);
}

/// The same by streamed_codes: every block streams its part of the codes.
constexpr double streamedCodesMicroseconds(const Target &target,
                                           const GemmTile &tile,
                                           const GemmShapeClass &shape,
                                           const GemmSize &size) {
  using C = Sm90Calibration;
  double tilesOfRows = ceilDiv(double(size.m), tile.bm);
  double tiles =
      ceilDiv(double(size.n), gemmColumns(tile, shape.pair)) * tilesOfRows;
  // Registers of larger tiles leave no room for a second block.
  double resident = tile.bm <= 32 && tile.bn <= 128
                        ? residentBlocks(target, gemmLds(target, tile, shape),
                                         gemmThreads(target, tile))
                        : 1;
  double clusters = double(residentClusters(target, tile.cluster)) * resident;
  double rounds = ceilDiv(tiles, clusters);
  double busiest = resident > 1
                       ? ceilDiv(tiles * tile.cluster, target.computeUnits)
                       : rounds;
  double perUnit = shape.streamedInF32       ? C::kStreamedF32PerUnit
                   : shape.streamedBits == 8 ? C::kStreamedBytesPerUnit
                                             : C::kStreamedPerUnit;
  double slower = tile.bm <= 16   ? 1
                  : tile.bm <= 32 ? C::kStreamed32
                                  : C::kStreamed64;
  if (tilesOfRows > 2 && tile.bm <= 32)
    slower *= C::kStreamedTiles;
  if (tilesOfRows > 1 && tile.cluster > 1)
    slower *= C::kStreamedShared;
  double compute =
      busiest * tile.bn * double(streamedSlice(tile, shape)) * slower / perUnit;
  double others = C::kCodesMicroseconds + (rounds - 1) * C::kStreamedRound;
  if (tile.cluster > 1)
    others += tile.cluster == 2 ? C::kStreamedPair : C::kStreamedFour;
  return target.launchMicroseconds + others +
         costMax(gemmBytes(shape, size) / bulkRate(target), compute);
}

/// The square root of a number from 1 on.
constexpr double costRoot(double v) {
  double root = v;
  for (int i = 0; i < 40; ++i)
    root = (root + v / root) / 2;
  return root;
}

/// Clocks of a step of a swapped tile of codes. Products, and what reads and
/// writes LDS, hide what decodes as long as one is much longer than the other.
constexpr double swappedCodesStep(const Target &target, const GemmTile &tile,
                                  const GemmShapeClass &shape) {
  using C = Sm90Calibration;
  double decoding =
      shape.streamedBits == 4
          ? shape.powersOfCodes ? C::kDecodedPowers : C::kDecodedNibbles
      : shape.scaled ? C::kWidenedBytes
                     : C::kDecodedBytes;
  if (tile.bn <= 64)
    decoding *= C::kDecodedHalf;
  if (swappedDecoders(tile) > 1)
    decoding *= C::kDecodedInTurn;
  // Instructions of 16 of k read rows of both operands; codes are written, read
  // and written again as 16 bits.
  double products = 2.0 * tile.bm * tile.wn;
  double read = tile.bk / 16 * tile.wn * (64.0 + tile.bm) * 32;
  double written = tile.bm * double(kBulkRowBytes) +
                   tile.bn * tile.bk * (2 * shape.streamedBits / 8.0 + 2);
  double lds = (read + written) / (target.ldsBytesPerClock * C::kDecodedLds);
  double longest = costMax(products, lds);
  return costRoot(longest * longest + decoding * decoding);
}

/// Codes in a swapped tile: rounds of clusters, of which each lasts as long as
/// its steps, or as the bytes from memory and the L2 cache.
constexpr double swappedCodesMicroseconds(const Target &target,
                                          const GemmTile &tile,
                                          const GemmShapeClass &shape,
                                          const GemmSize &size) {
  using C = Sm90Calibration;
  Bulk16Rounds of = bulk16Rounds(target, tile, shape, size);
  double steps = ceilDiv(ceilDiv(double(size.k), tile.bk), tile.cluster);
  double step = swappedCodesStep(target, tile, shape);
  double compute =
      of.rounds * (steps * step + C::kDecodedEnd * tile.bm) / kSwapped16.clocks;
  double rows = tile.bm + tile.bn * shape.streamedBits / 16.0;
  double cache = of.tiles * rows * kBulkRowBytes *
                 ceilDiv(double(size.k), tile.bk) / kSwapped16.cacheBytes;
  double memory = costMax(gemmBytes(shape, size) / bulkRate(target), cache);
  return target.launchMicroseconds + C::kCodesMicroseconds +
         swappedShareMicroseconds(tile, of.rounds, C::kSplitMicroseconds) +
         costMax(memory, compute);
}

/// Few rows of groups: the bytes, more of them for a unit that has a tile more
/// than others, or what the waves of a block with most tiles draw. Measured on
/// an H200 (h200-moe.md).
constexpr double groupedSkinnyMicroseconds(const Target &target,
                                           const GemmTile &tile,
                                           const GemmShapeClass &shape,
                                           const GemmSize &size) {
  using C = Sm90Calibration;
  double tiles = gemmBlocks(target, tile, shape, size).blocks;
  double units = target.computeUnits;
  double rounds = ceilDiv(tiles, units * groupedSkinnyBlocks(tile));
  double steps = ceilDiv(double(size.k), tile.bk);
  double wholeSteps = ceilDiv(steps, tile.wn) * tile.wn;
  double block = rounds * wholeSteps * kBulkRowBytes / tile.wn / C::kLineDraw;
  double uneven = ceilDiv(tiles, units) * units / tiles;
  uneven = uneven < C::kMostUneven ? uneven : C::kMostUneven;
  double memory = gemmBytes(shape, size) /
                  (target.memoryGBps * 1e3 * C::kLineMemory) * uneven *
                  (shape.scaled ? C::kScaledLines : 1);
  double work = C::kGroupedSkinnyMicroseconds + costMax(block, memory) +
                rounds * tile.wn * C::kPartMicroseconds +
                (tile.bn > 16 ? C::kWideGroupMicroseconds : 0);
  // However few the bytes: bounds, and what they lead to.
  return target.launchMicroseconds + costMax(work, 2 * kMemoryMicroseconds);
}

/// Few rows of groups through stages: whether they are a token's, and leave few
/// places of the blocks of a launch empty, as a block draws little more alone
/// than beside others.
constexpr bool groupedStagedTakes(const Target &target, const GemmTile &tile,
                                  const GemmShapeClass &shape,
                                  const GemmSize &size) {
  using C = Sm90Calibration;
  double places = target.computeUnits * double(kGroupedStagedOfLaunch);
  double filled = gemmBlocks(target, tile, shape, size).blocks / places;
  return size.fewGroups && size.batches <= C::kMostStagedProducts &&
         filled >= C::kStagedFilled && filled <= 1 &&
         gemmBytes(shape, size) <= C::kMostStagedBytes;
}

constexpr double groupedStagedMicroseconds(const Target &target,
                                           const GemmShapeClass &shape,
                                           const GemmSize &size) {
  using C = Sm90Calibration;
  double work =
      C::kStagedMicroseconds +
      gemmBytes(shape, size) / (target.memoryGBps * 1e3 * C::kStagedMemory);
  return target.launchMicroseconds + costMax(work, 2 * kMemoryMicroseconds);
}

/// A product of f32 in cells of registers: the multiply-adds of the busiest
/// unit, or the memory's time.
constexpr double registerCellsMicroseconds(const Target &target,
                                           const GemmTile &tile,
                                           const GemmShapeClass &shape,
                                           const GemmSize &size) {
  using C = Sm90Calibration;
  double blocks = gemmBlocks(target, tile, shape, size).blocks;
  double perUnit = ceilDiv(blocks, target.computeUnits);
  double fit = residentBlocks(target, gemmLds(target, tile, shape),
                              gemmThreads(target, tile));
  double resident = perUnit < fit ? perUnit : fit;
  double tall = tile.bm / (4.0 * tile.wm), wide = tile.bn / (8.0 * tile.wn);
  double issue =
      tall * wide / (tall * wide + (tall + wide) / 4 + C::kCellsOther);
  double share = resident * tile.wm * tile.wn > 4 ? C::kCells : C::kCellsAlone;
  double k = ceilDiv(double(size.k), tile.bk) * tile.bk;
  // An f32 multiply-add of each of 128 lanes in a clock.
  double clocks = perUnit * tile.bm * tile.bn * k / 128 / (issue * share);
  double compute = clocks / C::kClocksPerMicrosecond +
                   ceilDiv(perUnit, fit) * C::kCellsMicroseconds;
  double once = gemmBytes(shape, size) / C::kBlocksMemory;
  double tiles = blocks * (tile.bm + tile.bn) * k * 4;
  double memory = costMax(once, tiles / 4) / (target.memoryGBps * 1e3);
  return target.launchMicroseconds + costMax(compute, memory);
}

} // namespace hk

#endif // HK_CONTRACT_COSTGEMMSM90_H
