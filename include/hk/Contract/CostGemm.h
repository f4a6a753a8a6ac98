//===- CostGemm.h - Modelled run time of a product -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product takes the longest of its matrix, LDS and memory times, over the
// rounds of blocks that the chip needs.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_COSTGEMM_H
#define HK_CONTRACT_COSTGEMM_H

#include "hk/Contract/CostGemmBulk16.h"
#include "hk/Contract/CostGemmSm90.h"

namespace hk {

constexpr double hostGemmMicroseconds(const Target &target,
                                      const GemmTile &tile,
                                      const GemmShapeClass &shape,
                                      const GemmSize &size, double blocks,
                                      double columns) {
  // Clocks of one core. 32 multiply-adds per clock; packing costs about 0.15
  // clocks per element of A, 0.45 of B (it is transposed); a skinny product
  // streams B at about 24 bytes per clock, decodes 4 codes of it per clock, and
  // reads it once per 4 rows. The last tile of rows may have few: threads take
  // blocks as they come, so a round is as long as the mean block.
  int64_t whole = size.m / tile.bm, rest = size.m % tile.bm;
  double tiles = costMax(double(whole + (rest > 0 ? 1 : 0)), 1);
  double rows = double(size.m) / tiles;
  double multiplied =
      (double(whole) * ceilDiv(tile.bm, 12) + ceilDiv(double(rest), 12)) * 12 /
      tiles;
  double k = double(size.k);
  bool codes = size.bytesB <= 1 && shape.operand != DType::I8;
  double element = costMax(size.bytesB / 24, codes ? 0.25 : 0);
  double perBlock =
      isHostSkinny(target, tile)
          ? columns * k * costMax(element * ceilDiv(rows, 4), rows / 14) +
                rows * k
          : multiplied * columns * k / 28 + rows * k * 0.15 +
                columns * k * 0.45;
  double rounds = ceilDiv(blocks, target.computeUnits);
  return rounds * (perBlock / clockGHz(target) * 1e-3 + 0.3) +
         target.launchMicroseconds;
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

/// A product in blocks on a chip whose bytes in flight are known: rounds of as
/// many blocks as a unit holds, and the rest together.
constexpr double flightGemmMicroseconds(const Target &target,
                                        const FlightCalibration &flight,
                                        const GemmTile &tile,
                                        const GemmShapeClass &shape,
                                        const GemmSize &size) {
  auto [blocks, products] = gemmBlocks(target, tile, shape, size);
  if (shape.grouped && size.block == 0)
    blocks = tilesOfGroup(double(size.m), tile.bm) *
             ceilDiv(double(size.n), gemmColumns(tile, shape.pair)) *
             double(size.batches);
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

/// A product in blocks on a GPU of which less is known.
constexpr double blocksGemmMicroseconds(const Target &target,
                                        const GemmTile &tile,
                                        const GemmShapeClass &shape,
                                        const GemmSize &size) {
  double columns = gemmColumns(tile, shape.pair);
  double blocks = gemmBlocks(target, tile, shape, size).blocks;
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

/// Whether `row`, which fits, is a candidate for a product of `size`.
constexpr bool gemmTileTakes(const GemmTileRow &row, const Target &target,
                             const GemmShapeClass &shape,
                             const GemmSize &size) {
  GemmTile tile = tileOf(row, target, shape);
  if (isGroupedStaged(tile))
    return groupedStagedTakes(target, tile, shape, size);
  return row.loop != GemmLoop::Swapped ||
         swappedTakes(target, tile, shape, size);
}

/// One launch of `given` with `tile`.
constexpr double gemmMicroseconds(const Target &target, const GemmTile &tile,
                                  const GemmShapeClass &shape,
                                  const GemmSize &given) {
  if (const FlightCalibration *flight = flightCalibration(target))
    return flightGemmMicroseconds(target, *flight, tile, shape, given);
  if (tile.loop == GemmLoop::Swapped && shape.streamedBits != 0)
    return swappedCodesMicroseconds(target, tile, shape, given);
  if (tile.loop == GemmLoop::Swapped ||
      (tile.loop == GemmLoop::WarpSpecialised && isPlainBulk(shape)))
    return bulk16Microseconds(target, tile, shape, given);
  if (tile.loop == GemmLoop::WarpSpecialised)
    return warpSpecialisedMicroseconds(target, tile, shape, given);
  GemmSize size = withBlocksAsBatches(given);
  if (isGroupedSkinny(tile))
    return groupedSkinnyMicroseconds(target, tile, shape, size);
  if (isGroupedStaged(tile))
    return groupedStagedMicroseconds(target, shape, size);
  if (tile.loop == GemmLoop::Skinny)
    return skinnyMicroseconds(target, tile, shape, size);
  if (tile.loop == GemmLoop::SkinnyCodes)
    return skinnyCodesMicroseconds(target, tile, shape, size);
  if (tile.loop == GemmLoop::StreamedCodes)
    return streamedCodesMicroseconds(target, tile, shape, size);
  if (tile.loop == GemmLoop::RegisterCells)
    return registerCellsMicroseconds(target, tile, shape, size);
  if (target.arch == Arch::Host)
    return hostGemmMicroseconds(target, tile, shape, size,
                                gemmBlocks(target, tile, shape, size).blocks,
                                gemmColumns(tile, shape.pair));
  return blocksGemmMicroseconds(target, tile, shape, size);
}

} // namespace hk

#endif // HK_CONTRACT_COSTGEMM_H
