//===- Cost.h - Modelled run time of a kernel launch -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Terms that rank tiles of one kernel and compare fusions; never a promise of
// a run time. A product takes the longest of its matrix, LDS and memory times,
// over the rounds of blocks that the chip needs.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_COST_H
#define HK_CONTRACT_COST_H

#include "hk/Contract/Calibration.h"
#include "hk/Contract/CostGroups.h"
#include "hk/Contract/GemmTiles.h"
#include "hk/Contract/GroupTiles.h"
#include "hk/Contract/Order.h"
#include "hk/Contract/Slices.h"

namespace hk {

/// Peak shader clock, GHz: AMD MI325X, MI355X and RX 7900 XTX product pages;
/// NVIDIA H200 datasheet; a typical server core.
constexpr double clockGHz(const Target &target) {
  switch (target.arch) {
  case Arch::Gfx942:
  case Arch::Tiny:
    return 2.1;
  case Arch::Gfx950:
    return 2.4;
  case Arch::Gfx1100:
    return 2.5;
  case Arch::Sm90a:
    return 1.98;
  case Arch::Host:
    break;
  }
  return 2.8;
}

/// Whether a row-wise kernel is sooner bound by the vector units than by
/// memory: a SIMD of CDNA issues one instruction of a wave in four clocks, 5 to
/// 7 of a lane for each byte of memory. So idle lanes cost what they would have
/// done, and what a thread does once is shared by as many chunks as it may
/// have.
constexpr bool boundByIssue(const Target &target) {
  return target.arch == Arch::Gfx942 || target.arch == Arch::Gfx950;
}

/// Rate of a matrix operand dtype relative to bf16.
constexpr double matrixRate(const Target &target, DType operand) {
  if (target.arch == Arch::Host)
    return 1.0;
  if (operand == DType::F32)
    return target.waveSize == 64 ? 0.125 : 0.0625;
  return info(operand).bits == 8 ? 2.0 : 1.0;
}

/// That of a loop; the scaled instruction has its rates from the wider operand.
constexpr double matrixRate(const Target &target, const GemmTile &tile,
                            const GemmShapeClass &shape) {
  if (tile.loop != GemmLoop::Microscaled)
    return matrixRate(target, shape.operand);
  auto [a, b] = gemmBits(tile.loop, shape);
  return a == 4 && b == 4 ? 4.0 : 2.0;
}

/// Time from a global load to its data, microseconds.
inline constexpr double kMemoryMicroseconds = 0.9;

struct GemmSize {
  int64_t m, n, k, batches;
  /// Bytes of an element of A, B and of everything written per result element.
  double bytesA, bytesB, bytesOut;
  /// Rows of a matrix of the batch come in blocks of so many places, of which
  /// the last is filled up; 0: they follow each other.
  int64_t block = 0;
  /// Groups that have rows are fewer than groups, and a row each.
  bool fewGroups = false;
};

constexpr double costMax(double a, double b) { return a > b ? a : b; }
constexpr double ceilDiv(double a, double b) {
  int64_t q = int64_t(a / b);
  return double(q) * b < a ? double(q + 1) : double(q);
}

constexpr double hostGemmMicroseconds(const Target &target,
                                      const GemmTile &tile,
                                      const GemmSize &size, double blocks,
                                      double columns) {
  // Clocks of one core. 32 multiply-adds per clock; packing costs about 0.15
  // clocks per element of A, 0.45 of B (it is transposed); a skinny product
  // streams B at about 24 bytes per clock and reads it once per 4 rows. The
  // last tile of rows may have few: threads take blocks as they come, so a
  // round is as long as the mean block.
  int64_t whole = size.m / tile.bm, rest = size.m % tile.bm;
  double tiles = costMax(double(whole + (rest > 0 ? 1 : 0)), 1);
  double rows = double(size.m) / tiles;
  double multiplied =
      (double(whole) * ceilDiv(tile.bm, 12) + ceilDiv(double(rest), 12)) * 12 /
      tiles;
  double k = double(size.k);
  double perBlock =
      isHostSkinny(target, tile)
          ? columns * k *
                    costMax(size.bytesB / 24 * ceilDiv(rows, 4), rows / 14) +
                rows * k
          : multiplied * columns * k / 28 + rows * k * 0.15 +
                columns * k * 0.45;
  double rounds = ceilDiv(blocks, target.computeUnits);
  return rounds * (perBlock / clockGHz(target) * 1e-3 + 0.3) +
         target.launchMicroseconds;
}

/// What sm_90a's loops reach, measured on an H200 (benchmarks/results). Other
/// chips have one kind of matrix instruction, and no factor.
struct Sm90Calibration {
  /// Of the matrix rate by mma.sync: bf16 4096^3 in 409 us, fp8 8192^3 in
  /// 3,892.
  static constexpr double kBlocks = 0.45, kBlocksFp8 = 0.16;
  /// What they take longer where columns of B are transposed on their way to
  /// LDS: 1 to 4,096 rows by 4096 x 14336 2.2 to 2.5 times.
  static constexpr double kColumnsInBlocks = 2.4;
  /// Of the memory's rate: products of few rows in blocks, by the copy engine.
  /// A tile of 128 rows that has few of them leaves less under way.
  static constexpr double kBlocksMemory = 0.65, kBulkMemory = 0.88,
                          kTallMemory = 0.60;
  /// Clock at full load, until the power limit lowers it.
  static constexpr double kClocksPerMicrosecond = 1570;
  /// Narrower tiles move more bytes of LDS per product: of 128 columns, 7 %.
  static constexpr double kNarrow = 0.14;
  /// A fold every 128 bytes of k, without and with scales.
  static constexpr double kFold = 0.085, kScaledFold = 0.14;
  /// A tile of B that no cluster shares.
  static constexpr double kAlone = 0.02;
  /// Time of a tile of 64 rows, of that of one of 128: B passes through LDS as
  /// often for half of the products.
  static constexpr double kHalfTile = 0.625;
  /// Bytes that tiles get from the L2 cache in a microsecond: 4096^3 in tiles
  /// of 128x256 that share B took 1.07 GB in 171, 300x5000x3072 in 128x128 189
  /// MB in 28.
  static constexpr double kCacheBytes = 6.5e6;
  /// The same of one matrix of 16 bits, fitted to 27 products of 96 to 4,096
  /// rows in 15 tiles on an H100 (h200-gemm.md): rows that are whole lines of
  /// the cache come quicker. Of 64 rows: clocks of a step that no other
  /// warpgroup fills, and of the rest those of a tile of 128.
  static constexpr double kPlainCacheBytes = 10e6, kPlainNarrow = 0.20,
                          kLoneClocks = 120, kLoneTile = 0.43;
  static constexpr int32_t kLineBytes = 128;
  /// From asking for rows of B to having them, where tiles do so all the time:
  /// few columns have too little under way.
  static constexpr double kFetchMicroseconds = 2.0;
  /// The same of tiles in blocks, whose copies are 16 bytes a lane: 1500 rows
  /// by 256, k 7168, moved 250 to 350 MB in 63.5.
  static constexpr double kBlocksCacheBytes = 5.5e6;
  /// What groups' products and memory do not hide of each other.
  static constexpr double kGroupsApart = 0.05;
  /// Clocks of an epilogue of 256 columns.
  static constexpr double kEpilogueClocks = 5500;
  /// Start, first bytes and last store of a product of few rows; with one tile
  /// of rows it is quicker than a launch of another kind, as in a chain its
  /// weights are asked for while the launch before ends (fewer bytes of them
  /// were not measured). Each doubling of the blocks that share k, and where
  /// there are more blocks than units.
  static constexpr double kSkinnyMicroseconds = 2.0, kChainMicroseconds = -1.0,
                          kChainBytes = 256 * 1024, kSplitMicroseconds = 0.4,
                          kSplitInRounds = 1.5;
  /// Start, first bytes and last store of one of 4-bit codes.
  static constexpr double kCodesMicroseconds = 2.0;
  /// 4-bit codes that a unit decodes and multiplies in a microsecond, with up
  /// to 8 rows; another eight take so much longer.
  static constexpr double kCodesPerUnit = 30e3, kCodesRows = 0.25;
  /// The same of streamed_codes, with 16 rows; what another 16 add to its time,
  /// and its start and end. All are some two thirds of what an H100 did later:
  /// 45 and 54 thousand, 2 us.
  static constexpr double kStreamedPerUnit = 33e3, kStreamedRows = 0.25,
                          kStreamedMicroseconds = 3.2;
  /// The same in blocks, for every tile of rows.
  static constexpr double kBlocksCodesPerUnit = 10e3;
  /// Of the rate of f32 multiply-adds: blocks, whose lanes have cells of a
  /// quarter of a row, and of what cells leave of the issue slots with one wave
  /// on a SIMD and with more.
  static constexpr double kBlocksF32 = 0.30, kCellsAlone = 0.75, kCells = 0.90;
  /// Instructions of a wave for one k of its cells beside loads and
  /// multiply-adds.
  static constexpr double kCellsOther = 4;
  /// Start, first bytes and epilogue of a block that others do not hide.
  static constexpr double kCellsMicroseconds = 2.0;
  /// What one unit can draw of the memory's rate, in shares of an even split:
  /// with two blocks; with one of few that leave half of the units idle.
  static constexpr double kUnitShare = 1.25, kSparseShare = 1.75;
  /// With one block that leaves no room for another, and where most of its rows
  /// are none of A; what a stage of it costs in every round behind the first;
  /// what a chain of launches loses, as blocks of the next one wait for its
  /// end.
  static constexpr double kRoomlessShare = 1.15, kHollowShare = 1.0,
                          kRefillMicroseconds = 0.05,
                          kRoomlessMicroseconds = 1.0;
  /// With one block of two warpgroups, and room for another; what so little
  /// under way costs.
  static constexpr double kWideShare = 1.5, kShallow = 1.08;
  /// Time of such products in tiles of more than one warpgroup.
  static constexpr double kSkinnyWide = 1.012;
  /// Decode steps with one block a unit, of two (h200-attention.md).
  static constexpr double kSharedDecode = 1.05;
  /// Of the matrix rate: attention of few queries by the warp-specialised loop.
  /// What its clusters take to add their sums.
  static constexpr double kClusterProducts = 0.57, kClusterMicroseconds = 1.5;
};

constexpr double blocksRate(const Target &target, DType operand) {
  if (target.arch != Arch::Sm90a)
    return 1.0;
  if (operand == DType::F32)
    return Sm90Calibration::kBlocksF32;
  return isFp8(operand) ? Sm90Calibration::kBlocksFp8
                        : Sm90Calibration::kBlocks;
}

/// Bytes of all operands and results, each once.
constexpr double gemmBytes(const GemmShapeClass &shape, const GemmSize &size) {
  double rowsB = double(size.n) * (shape.pair ? 2 : 1);
  return double(size.batches) *
         (double(size.m) * double(size.k) * size.bytesA +
          rowsB * double(size.k) * size.bytesB +
          double(size.m) * double(size.n) * size.bytesOut);
}

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

/// Time of all of B at the rate of what is under way: the stages of as many of
/// `tiles` tiles of `columns` columns as are `resident` beside each other.
constexpr double fetchMicroseconds(const GemmTile &tile, const GemmSize &size,
                                   double columns, double tiles,
                                   double resident) {
  double beside = costMax(1, resident);
  double asked =
      (beside < tiles ? beside : tiles) * columns * kBulkRowBytes * tile.stages;
  double bytes =
      double(size.n) * double(size.batches) * double(size.k) * size.bytesB;
  return bytes / asked * Sm90Calibration::kFetchMicroseconds;
}

/// A warp-specialised product: rounds of tiles over the clusters that the chip
/// holds.
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
  double width = instructionColumns(tile, size.m);
  bool plain = !shape.grouped && info(shape.operand).bits == 16;
  double narrow = plain ? C::kPlainNarrow : C::kNarrow;
  double step = 4.0 * width * (1 + narrow * (256 - width) / 256);
  if (shape.scaled)
    step *= 1 + C::kScaledFold;
  else if (isFp8(shape.operand))
    step *= 1 + C::kFold;
  if (tile.cluster == 1)
    step *= 1 + C::kAlone;
  if (tile.wm * tile.wn == 1)
    step = plain ? C::kLoneClocks + C::kLoneTile * 4.0 * width
                 : step * C::kHalfTile;
  step = costMax(step, isSwapped(tile) ? kChainClocks : 0);
  // A stage of 16 bits takes twice as long to multiply; its widths were chosen
  // by what they took.
  if (!shape.grouped && info(shape.operand).bits == 8)
    step = costMax(step, clocksFromCache(target, tile, rowTiles * columnTiles));
  if (shape.powersOfCodes)
    step = costMax(step, kDecodeClocks * tile.bn);
  bool least = shape.grouped && tile.bn == 64;
  if (least)
    step = costMax(step, kLeastStageClocks);
  double clocks =
      ceilDiv(double(size.k), tile.bk) * step +
      (least ? kLeastTileClocks : C::kEpilogueClocks * tile.bn / 256);
  double compute =
      rounds * clocks / C::kClocksPerMicrosecond + kMemoryMicroseconds;
  // Tiles of groups follow each other, so that all units read all the time.
  double share = shape.grouped ? C::kBulkMemory : C::kTallMemory;
  double memory = gemmBytes(shape, size) / (target.memoryGBps * 1e3 * share);
  double rows = shape.grouped ? rowsFromCache(tile, size.m)
                              : rowTiles * (tile.bm * tile.cluster + tile.bn);
  bool lines = size.k * info(shape.operand).bits / 8 % C::kLineBytes == 0;
  double cache = plain && lines ? C::kPlainCacheBytes : C::kCacheBytes;
  bool fromCache = shape.scaled || (shape.gathered && isFp8(shape.operand));
  if (!shape.grouped || (fromCache && size.block == 0))
    memory = costMax(memory, columnTiles * rows * kBulkRowBytes *
                                 ceilDiv(double(size.k), tile.bk) / cache);
  if (plain)
    memory = costMax(memory, fetchMicroseconds(tile, size, columns, columnTiles,
                                               double(clusters) / rowTiles));
  if (size.fewGroups)
    memory = tilesFromMemory(gemmBytes(shape, size), rowTiles * columnTiles,
                             double(clusters), target.memoryGBps * 1e3 * share);
  double apart = shape.grouped ? C::kGroupsApart * (compute + memory) : 0;
  return target.launchMicroseconds + costMax(compute, memory) + apart;
}

/// How blocks of a product of few rows lie on the units.
struct SkinnySpread {
  double onUnit; // of the busiest, in a round
  double share;  // of the memory's rate that it draws, of an even split
  double shallow = 1;
};

constexpr SkinnySpread skinnySpread(const Target &target, const GemmTile &tile,
                                    double rows, double blocks,
                                    double resident) {
  using C = Sm90Calibration;
  double units = target.computeUnits;
  bool wide = tile.wn > 1;
  if (2 * blocks <= units)
    return {1, C::kSparseShare};
  if (resident == 1)
    return {1, tile.bm > 2 * costMax(rows, 8) ? C::kHollowShare
                                              : C::kRoomlessShare};
  // Clusters and wide blocks are spread evenly where launches of a chain fill
  // units by turns; single blocks, or fewer, often meet in one unit.
  if ((tile.cluster > 1 || wide) && blocks <= units && blocks > 0.7 * units)
    return {1, wide ? C::kWideShare : C::kUnitShare, C::kShallow};
  return {resident, C::kUnitShare};
}

/// A product of few rows: the memory's time, or that of the busiest unit. Every
/// bm rows read B again. Measured on an H200, h200-gemm.md.
constexpr double skinnyMicroseconds(const Target &target, const GemmTile &tile,
                                    const GemmShapeClass &shape,
                                    const GemmSize &size) {
  using C = Sm90Calibration;
  double columns = gemmColumns(tile, shape.pair);
  double rowBlocks = ceilDiv(double(size.m), tile.bm);
  double blocks = ceilDiv(double(size.n), columns) * tile.cluster * rowBlocks *
                  double(size.batches);
  double rate = target.memoryGBps * 1e3 * C::kBulkMemory;
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
  others += rowBlocks == 1 && bytesB >= C::kChainBytes ? C::kChainMicroseconds
                                                       : C::kSkinnyMicroseconds;
  for (int32_t s = tile.cluster; s > 1; s /= 2)
    others += blocks > units ? C::kSplitInRounds : C::kSplitMicroseconds;
  return target.launchMicroseconds + others +
         costMax(bytes / rate * spread.shallow, busiest) *
             (tile.wn > 1 ? C::kSkinnyWide : 1);
}

/// Clocks in which a compute unit gets the `bytes` of a step, one of `under`
/// steps that are under way together: the rate of bytes in flight, or a share
/// of the trip of the first one.
constexpr double flightClocks(const FlightCalibration &flight, double bytes,
                              double under) {
  double atRate = bytes * flight.rateClocks / flight.bytesInFlight;
  return costMax(atRate, (flight.tripClocks + atRate) / under);
}

/// Clocks of a step of two groups of waves in turns: its products or its bytes.
/// Blocks that share an operand ask for the same lines at the same time, so
/// what is under way takes a trip to memory and not to the L2 cache.
constexpr double turnsClocks(const FlightCalibration &flight, double matrix,
                             double bytes) {
  return costMax(matrix, bytes * flight.tripClocks / flight.bytesInFlight) +
         flight.turnClocks;
}

/// Bytes that come together from the memory of gfx942 and gfx950.
inline constexpr double kLineBytes = 128;

/// Clocks of a block of a product, its share of those that run together on a
/// unit. A step takes as long as its products or its bytes, and what happens
/// between barriers.
constexpr double flightBlockClocks(const Target &target,
                                   const FlightCalibration &flight,
                                   const GemmTile &tile,
                                   const GemmShapeClass &shape, double steps,
                                   double together) {
  double waves = tile.wm * tile.wn * together;
  double flopsPerClock = target.bf16Tflops * 1e3 *
                         matrixRate(target, tile, shape) /
                         (target.computeUnits * clockGHz(target));
  double matrix = 2.0 * tile.bm * tile.bn * tile.bk / flopsPerClock * 4 /
                  (waves < 4 ? waves : 4);
  auto [bitsA, bitsB] = gemmBits(tile.loop, shape);
  double bytesA = tile.bm * (tile.bk * bitsA / 8.0);
  double bytesB = tile.bn * (tile.bk * bitsB / 8.0);
  double bytes = bytesA + bytesB;
  double reads = (bytesA * tile.wn + bytesB * tile.wm) / flight.ldsReadBytes;
  double writes = bytes / target.ldsBytesPerClock;
  double depth = tile.stages > 2 ? tile.stages - 1 : 1;
  // Rows of B that run along its columns come in whole lines.
  double line =
      shape.columnsOfB ? costMax(1, kLineBytes / (tile.bn * bitsB / 8.0)) : 1;
  double step = costMax(
      matrix, flightClocks(flight, bytesA + bytesB * line, depth * together));
  if (together > 1)
    step = costMax(step, reads + writes);
  // Between two barriers copies through registers are written and the first
  // fragments read; only other blocks multiply then.
  bool direct = tile.stages > 1 && target.directToLds >= 16 &&
                (!shape.staged || tile.loop == GemmLoop::Microscaled);
  step += (flight.barrierClocks + reads / 2 + (direct ? 0 : writes)) / together;
  if (tile.loop == GemmLoop::PingPong)
    step = turnsClocks(flight, matrix, bytes);
  // The accumulators pass through LDS, in 4 bytes, once each way.
  double ends = 2 * flight.tripClocks + flight.blockClocks +
                8.0 * tile.bm * tile.bn / target.ldsBytesPerClock;
  return steps * step + ends / together;
}

/// Of the shorter of a product's compute and memory times.
inline constexpr double kNotHidden = 0.05;

/// Blocks of a launch, and the products that each computes one after the other.
struct GemmBlocks {
  double blocks, products;
};
constexpr GemmBlocks gemmBlocks(const Target &target, const GemmTile &tile,
                                const GemmShapeClass &shape,
                                const GemmSize &size) {
  double columns = ceilDiv(double(size.n), gemmColumns(tile, shape.pair));
  if (size.block == 0)
    return {ceilDiv(double(size.m), tile.bm) * columns * double(size.batches),
            1};
  int64_t together = blocksOfTile(target, tile.bm, size.block);
  double each = ceilDiv(double(size.m), double(size.block));
  double tiles = ceilDiv(each * double(size.batches), double(together)) *
                 double(tilesOfBlock(tile.bm, size.block));
  return {tiles * columns, productsOfTile(together, each)};
}

/// A product in blocks on a chip whose bytes in flight are known: rounds of as
/// many blocks as a unit holds, and the rest together.
constexpr double flightGemmMicroseconds(const Target &target,
                                        const FlightCalibration &flight,
                                        const GemmTile &tile,
                                        const GemmShapeClass &shape,
                                        const GemmSize &size) {
  auto [blocks, products] = gemmBlocks(target, tile, shape, size);
  double steps = ceilDiv(double(size.k), tile.bk);
  int64_t lds = gemmLds(target, tile, shape);
  double fit = residentBlocks(target, lds, gemmThreads(target, tile));
  double perUnit = ceilDiv(blocks, target.computeUnits);
  double rest = perUnit - double(int64_t(perUnit / fit)) * fit;
  double clocks = 0;
  if (perUnit > rest)
    clocks += (perUnit - rest) *
              flightBlockClocks(target, flight, tile, shape, steps, fit);
  if (rest > 0)
    clocks +=
        rest * flightBlockClocks(target, flight, tile, shape, steps, rest);
  clocks *= products;
  auto [bitsA, bitsB] = gemmBits(tile.loop, shape);
  double tiles = blocks * products * steps * tile.bk *
                 (tile.bm * bitsA + tile.bn * bitsB) / 8.0;
  double memory =
      costMax(gemmBytes(shape, size) / (target.memoryGBps * flight.memoryShare),
              tiles / flight.cacheGBps);
  // The shorter of the two is not hidden whole: among tiles that the memory
  // bounds alike the one with more blocks under way is taken.
  double compute = clocks / clockGHz(target);
  // Blocks that have a unit to themselves end together: nothing hides that they
  // store. The gate of a pair takes as long as the half that it does not store.
  if (tile.loop == GemmLoop::PingPong)
    compute += double(size.m * size.n * size.batches) * (shape.pair ? 2 : 1) *
               size.bytesOut / (target.memoryGBps * flight.memoryShare);
  double shorter = compute < memory ? compute : memory;
  return target.launchMicroseconds +
         (costMax(compute, memory) + kNotHidden * shorter) / 1e3;
}

/// A product of few rows with 4-bit codes: the memory's time, or that of the
/// unit with most tiles.
constexpr double skinnyCodesMicroseconds(const Target &target,
                                         const GemmTile &tile,
                                         const GemmShapeClass &shape,
                                         const GemmSize &size) {
  using C = Sm90Calibration;
  double rowBlocks = ceilDiv(double(size.m), tile.bm);
  double tiles = ceilDiv(double(size.n), gemmColumns(tile, shape.pair));
  int64_t clusters = residentClusters(target, tile.cluster);
  double rounds =
      ceilDiv(tiles * rowBlocks * double(size.batches), double(clusters));
  double codes = double(tile.bn) * double(size.k) / tile.cluster;
  int32_t fragments = tile.bm / 8;
  double slower = 1 + C::kCodesRows * (fragments - 1);
  double compute = rounds * codes * slower / C::kCodesPerUnit;
  double bytes = gemmBytes(shape, size);
  double rate = target.memoryGBps * 1e3 * C::kBulkMemory;
  double splits = 0;
  for (int32_t s = tile.cluster; s > 1; s /= 2)
    splits += 1;
  return target.launchMicroseconds + C::kCodesMicroseconds +
         splits * C::kSplitMicroseconds + costMax(bytes / rate, compute);
}

/// The same by streamed_codes: every block streams its part of the codes.
constexpr double streamedCodesMicroseconds(const Target &target,
                                           const GemmTile &tile,
                                           const GemmShapeClass &shape,
                                           const GemmSize &size) {
  using C = Sm90Calibration;
  double tiles = ceilDiv(double(size.n), gemmColumns(tile, shape.pair)) *
                 ceilDiv(double(size.m), tile.bm);
  double units = target.computeUnits;
  double slower = 1 + C::kStreamedRows * (tile.bm / 16.0 - 1);
  double compute = ceilDiv(tiles, units) * tile.bn * double(size.k) * slower /
                   C::kStreamedPerUnit;
  double rate = target.memoryGBps * 1e3 * C::kBulkMemory;
  return target.launchMicroseconds + C::kCodesMicroseconds +
         C::kStreamedMicroseconds +
         costMax(gemmBytes(shape, size) / rate, compute);
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

/// Every block of places as a matrix of the batch: it is read once a block.
constexpr GemmSize withBlocksAsBatches(GemmSize size) {
  if (size.block == 0)
    return size;
  size.batches *= (size.m + size.block - 1) / size.block;
  size.m = size.m < size.block ? size.m : size.block;
  size.block = 0;
  return size;
}

/// One launch of `given` with `tile`.
constexpr double gemmMicroseconds(const Target &target, const GemmTile &tile,
                                  const GemmShapeClass &shape,
                                  const GemmSize &given) {
  if (const FlightCalibration *flight = flightCalibration(target))
    return flightGemmMicroseconds(target, *flight, tile, shape, given);
  if (tile.loop == GemmLoop::WarpSpecialised)
    return warpSpecialisedMicroseconds(target, tile, shape, given);
  GemmSize size = withBlocksAsBatches(given);
  if (tile.loop == GemmLoop::Skinny)
    return skinnyMicroseconds(target, tile, shape, size);
  if (tile.loop == GemmLoop::SkinnyCodes)
    return skinnyCodesMicroseconds(target, tile, shape, size);
  if (tile.loop == GemmLoop::StreamedCodes)
    return streamedCodesMicroseconds(target, tile, shape, size);
  if (tile.loop == GemmLoop::RegisterCells)
    return registerCellsMicroseconds(target, tile, shape, size);
  double columns = gemmColumns(tile, shape.pair);
  double blocks = ceilDiv(double(size.m), tile.bm) *
                  ceilDiv(double(size.n), columns) * double(size.batches);
  if (target.arch == Arch::Host)
    return hostGemmMicroseconds(target, tile, size, blocks, columns);

  double units = target.computeUnits;
  double steps = ceilDiv(double(size.k), tile.bk);
  double k = steps * tile.bk;
  double bytes = info(shape.operand).bits / 8.0;
  // Blocks one unit gets, and how many of them it holds at a time.
  double perUnit = ceilDiv(blocks, units);
  int32_t threads = gemmThreads(target, tile);
  int64_t inLds = target.ldsBytes / gemmLds(target, tile, shape);
  double fit = costMax(1, double(inLds));
  double most = costMax(1, 1024.0 / threads);
  double resident = perUnit < fit ? perUnit : fit;
  resident = resident < most ? resident : most;
  // One K step of one block: matrix time on the SIMDs its waves can use, LDS
  // time of the waves' reads and the copies' writes, and its share of the
  // memory latency that the other stages and blocks do not cover.
  double waves = tile.wm * tile.wn * resident;
  double simds = waves < 4 ? waves : 4;
  double matrix = 2.0 * tile.bm * tile.bn * tile.bk * units /
                  (target.bf16Tflops * 1e6 * matrixRate(target, shape.operand) *
                   blocksRate(target, shape.operand)) *
                  4 / simds;
  double rowsRead = double(tile.bm) * tile.wn + double(tile.bn) * tile.wm;
  double lds = (rowsRead + tile.bm + tile.bn) * tile.bk * bytes /
               (target.ldsBytesPerClock * clockGHz(target) * 1e3);
  double depth = tile.stages > 2 ? tile.stages - 1 : 1;
  double latency = kMemoryMicroseconds / (depth * resident);
  double step = costMax(costMax(matrix, lds), latency);
  double compute = perUnit * steps * step + kMemoryMicroseconds;
  if (shape.codes)
    compute =
        costMax(compute, blocks * columns * (shape.pair ? 2 : 1) * k /
                             (units * Sm90Calibration::kBlocksCodesPerUnit));
  // Every operand once from memory, every tile's operands from L2, which is
  // about four times as fast.
  double once = gemmBytes(shape, size);
  if (target.arch == Arch::Sm90a)
    once /= Sm90Calibration::kBlocksMemory;
  double tiles = blocks * (tile.bm + tile.bn) * k * bytes;
  double cache = target.arch == Arch::Sm90a ? Sm90Calibration::kBlocksCacheBytes
                                            : target.memoryGBps * 4e3;
  double memory = costMax(once / (target.memoryGBps * 1e3), tiles / cache);
  double longer = target.arch == Arch::Sm90a && shape.columnsOfB
                      ? Sm90Calibration::kColumnsInBlocks
                      : 1;
  return target.launchMicroseconds + longer * costMax(compute, memory);
}

/// A launch as its model sees it, alone or beside others.
struct LaunchLoad {
  double microseconds; // alone
  double blocks;
  int64_t ldsBytes;
  double unitShare = 1; // see Family::getUnitShare
};

/// The `count` problems of `loads` in one launch: every one takes at least its
/// own time, and together they take what they need of the chip. A problem whose
/// blocks find less room than alone, beside LDS of another's size, takes longer
/// by as much.
constexpr double sharedMicroseconds(const Target &target,
                                    const LaunchLoad *loads, int32_t count,
                                    int64_t threads) {
  int64_t lds = 0;
  for (int32_t i = 0; i < count; ++i)
    lds = loads[i].ldsBytes > lds ? loads[i].ldsBytes : lds;
  double together = residentBlocks(target, lds, threads);
  double units = target.computeUnits, longest = 0, work = 0, memory = 0;
  for (int32_t i = 0; i < count; ++i) {
    double perUnit = ceilDiv(loads[i].blocks, units);
    double alone = residentBlocks(target, loads[i].ldsBytes, threads);
    double had = alone < perUnit ? alone : perUnit;
    double time = loads[i].microseconds - target.launchMicroseconds;
    time *= costMax(1, had / together);
    double share = loads[i].blocks < units ? loads[i].blocks / units : 1;
    longest = costMax(longest, time);
    work += time * share * loads[i].unitShare;
    memory += loads[i].unitShare < 1 ? time : 0;
  }
  return target.launchMicroseconds + costMax(costMax(longest, memory), work);
}

/// From the last store of blocks that others of their launch wait for to the
/// first load of these: the count goes to the memory that blocks share, and a
/// look at it there and back.
inline constexpr double kWaitMicroseconds = 2 * kMemoryMicroseconds;

/// What `waits` one behind the other save in a launch beside as many launches;
/// where blocks draw their numbers that is one more trip to memory.
constexpr double orderedSavingMicroseconds(const Target &target, int waits) {
  return waits * (target.launchMicroseconds - kWaitMicroseconds) -
         (waits && drawsBlockNumbers(target) ? kMemoryMicroseconds : 0);
}

/// What a wait must be modelled to save. An H100 (results/h100-ordered-
/// launches.md) gained 1.0 to 1.4 us a wait with up to 64 tokens where the
/// model says 1.2; this is twice what it was wrong by.
inline constexpr double kOrderMarginMicroseconds = 0.4;
/// And all waits of a function together, beside the launch that zeroes their
/// counters: an H100 lost 1.7 us where three small ones were to gain 0.6.
inline constexpr double kOrderedFunctionMicroseconds = 1;

/// Partial results that their combination loads at a time.
inline constexpr int32_t kCombineInFlight = 8;

/// The second step of a split: reads and writes `bytes`, in a kernel that runs
/// anyway (and waits for one load) or in one of its own. `weighs`: parts are
/// not added but weighed, which takes its time where clocks of that are known.
constexpr double combineMicroseconds(const Target &target, int64_t parts,
                                     double bytes, bool ownLaunch,
                                     bool weighs = false) {
  const FlightCalibration *flight = flightCalibration(target);
  if (weighs && flight) {
    double clocks = flight->combineClocks + double(parts) * flight->partClocks;
    return bytes / (target.memoryGBps * 1e3) +
           clocks / (clockGHz(target) * 1e3) +
           (ownLaunch ? target.launchMicroseconds : 0);
  }
  double waits = ceilDiv(double(parts), kCombineInFlight);
  return bytes / (target.memoryGBps * 1e3) +
         (ownLaunch ? target.launchMicroseconds + waits * kMemoryMicroseconds
                    : (waits - 1) * kMemoryMicroseconds);
}

} // namespace hk

#endif // HK_CONTRACT_COST_H
