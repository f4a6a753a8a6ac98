//===- CostAttention.h - Modelled time of attention -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks tiles, runs and slices of keys, as CostGemm.h does tiles of products.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_COSTATTENTION_H
#define HK_CONTRACT_COSTATTENTION_H

#include "hk/Contract/AttentionTiles.h"
#include "hk/Contract/Cost.h"
#include "hk/Contract/Slices.h"

namespace hk {

/// What one compute unit can draw of the memory's rate, GB/s; where nothing is
/// known of that, all of it.
constexpr double unitGBps(const Target &target) {
  if (const FlightCalibration *flight = flightCalibration(target))
    return flight->bytesInFlight / flight->rateClocks * clockGHz(target);
  if (target.arch == Arch::Sm90a)
    return target.memoryGBps / target.computeUnits *
           Sm90Calibration::kUnitShare;
  return target.memoryGBps;
}

/// Blocks of waves with keys of their own that a compute unit of AMD's holds: a
/// tile ahead takes most of a SIMD's registers, of short heads and of keys that
/// stream into them half.
constexpr double residentWalks(const Target &target, const AttentionTile &tile,
                               const AttentionShape &shape) {
  bool half = attentionPath(target.arch, tile) == AttentionPath::Stream ||
              shape.largestDim() <= 64;
  int32_t waves = half ? 8 : 4, blocks = waves / tile.waves;
  return costMax(1, blocks);
}

/// Blocks that take runs of which a compute unit of sm_90a has the registers:
/// 154 to 172 of a thread for heads to 64, 199 to 248 for larger ones.
constexpr double residentRuns(const AttentionShape &shape) {
  return shape.largestDim() <= 32 ? 5 : shape.largestDim() <= 64 ? 3 : 2;
}

/// Runs of the keys of all sequences, of equal length, for blocks that have the
/// `rows` rows of a key head in a sequence: as many as the chip holds blocks,
/// or a part of that where the rows are several tiles that walk over the same
/// keys. 0: the tile's kernel takes none.
constexpr int64_t attentionRuns(const Target &target, const AttentionTile &tile,
                                const AttentionShape &shape, int64_t rows) {
  if (attentionPath(target.arch, tile) == AttentionPath::Latent) {
    int64_t blocks = (rows + tile.bq - 1) / tile.bq;
    return blocks > 0 && blocks <= target.computeUnits
               ? target.computeUnits / blocks
               : 0;
  }
  if (rows > tile.bq)
    return 0;
  int64_t parts =
      attentionWaveParts(target.arch, tile, attentionSharesValues(shape));
  if (parts == 1 || kSliceUnit % (parts * tile.bk) != 0)
    return 0;
  double resident =
      residentBlocks(target, attentionLds(target.arch, tile, shape),
                     attentionThreads(target.arch, tile));
  if (flightCalibration(target) &&
      residentWalks(target, tile, shape) < resident)
    resident = residentWalks(target, tile, shape);
  if (target.arch == Arch::Sm90a && residentRuns(shape) < resident)
    resident = residentRuns(shape);
  return target.computeUnits * int64_t(resident);
}

struct AttentionSize {
  /// (query, head) rows of a key head in one sequence; key heads times
  /// sequences; keys of a sequence; slices of them.
  int64_t rows, heads, keys, slices;
  /// Blocks that share the keys in equal runs; 0: slices are equal.
  int64_t runs = 0;
  /// Whether only the device knows the sequences' lengths.
  bool unequal = false;
  /// Whether keys lie in pages.
  bool paged = false;
};

/// Blocks of an attention whose rows are `tiles` tiles, and keys of each.
struct AttentionBlocks {
  double blocks, keys;
};
constexpr AttentionBlocks attentionBlocks(const AttentionSize &size,
                                          double tiles) {
  if (size.runs > 0 && size.slices > 1) {
    double most = double(size.heads * (size.slices - 1));
    double blocks = most < double(size.runs) ? most : double(size.runs);
    return {blocks, double(size.heads) * double(size.keys) / blocks};
  }
  int64_t keys =
      size.slices > 1 ? sliceLength(size.keys, size.slices) : size.keys;
  return {tiles * double(size.heads * size.slices), double(keys)};
}

/// One launch of `size` with `tile`, without the combination of slices.
constexpr double attentionMicroseconds(const Target &target,
                                       const AttentionTile &tile,
                                       const AttentionShape &shape,
                                       const AttentionSize &size) {
  double columns = double(shape.headDim + shape.valueDim);
  bool latent = attentionPath(target.arch, tile) == AttentionPath::Latent;
  double inMemory = latent ? double(shape.headDim) : columns;
  double bytes = double(size.heads) * double(size.keys) * inMemory *
                 info(shape.type).bits / 8;
  double tiles = ceilDiv(double(size.rows), tile.bq);
  // Latent tiles of the same keys are neighbours and meet in the L2 cache.
  double memory = bytes * (latent ? 1 : tiles) / (target.memoryGBps * 1e3);
  auto [blocks, keys] = attentionBlocks(size, tiles);
  bool runs = size.runs > 0 && size.slices > 1;
  double perUnit = ceilDiv(blocks, target.computeUnits);
  double step = double(tile.bk) * attentionWaveParts(target.arch, tile);
  double steps = ceilDiv(keys, step);
  // A step waits for its keys; matrix units take two products of bq x bk. The
  // host has no latency that its prefetchers do not hide.
  double flops = 2.0 * tile.bq * step * columns;
  double compute = flops * target.computeUnits / (target.bf16Tflops * 1e6);
  bool host = target.arch == Arch::Host;
  double latency = host ? 0 : kMemoryMicroseconds / tile.stages;
  double walk = perUnit * steps * costMax(compute, latency) +
                (host ? 0 : kMemoryMicroseconds);
  // Units without a block draw nothing.
  double busiest = perUnit * bytes * tiles / (blocks * unitGBps(target) * 1e3);
  // Of sequences of different lengths the last one is alone for a while.
  double alone = size.unequal && !runs
                     ? bytes * tiles / (blocks * unitGBps(target) * 1e3)
                     : 0;
  return target.launchMicroseconds + alone +
         costMax(walk, costMax(memory, busiest));
}

/// The same of a tile whose keys the blocks of a cluster share: they add their
/// sums before they end, and tiles of the same keys meet in the L2 cache.
constexpr double attentionClusterMicroseconds(const Target &target,
                                              const AttentionTile &tile,
                                              const AttentionShape &shape,
                                              const AttentionSize &size) {
  using C = Sm90Calibration;
  double columns = double(shape.headDim + shape.valueDim);
  double keyBytes = columns * info(shape.type).bits / 8;
  double tiles = ceilDiv(double(size.rows), tile.bq) * double(size.heads);
  double rounds =
      ceilDiv(tiles, double(residentClusters(target, tile.cluster)));
  double steps = ceilDiv(ceilDiv(double(size.keys), tile.bk), tile.cluster);
  double flops = 2.0 * tile.bq * tile.bk * columns;
  double compute = flops * target.computeUnits /
                   (target.bf16Tflops * 1e6 * C::kClusterProducts);
  double drawn = tile.bk * keyBytes / (unitGBps(target) * 1e3);
  double walk = rounds * (steps * costMax(compute, drawn) +
                          kMemoryMicroseconds + C::kClusterMicroseconds);
  double memory = double(size.heads) * double(size.keys) * keyBytes /
                  (target.memoryGBps * 1e3);
  return target.launchMicroseconds + costMax(walk, memory);
}

/// `blocks` blocks that walk over `keys` keys each, in rounds of as many as the
/// chip holds: a step takes what its wave issues and waits for, or its bytes at
/// the memory's rate.
constexpr double
flightWalkMicroseconds(const Target &target, const FlightCalibration &flight,
                       const AttentionTile &tile, const AttentionShape &shape,
                       const AttentionSize &size, double blocks, double keys) {
  double columns = double(shape.headDim + shape.valueDim);
  double keyBytes = columns * info(shape.type).bits / 8;
  double accesses = tile.bk * keyBytes / (16.0 * target.waveSize);
  double step = flight.walkClocks +
                accesses * (size.paged ? flight.pageClocks : flight.rowClocks);
  double steps =
      ceilDiv(keys, double(tile.bk) * attentionWaveParts(target.arch, tile));
  double perUnit = ceilDiv(blocks, target.computeUnits);
  double resident = residentWalks(target, tile, shape);
  double together = perUnit < resident ? perUnit : resident;
  double clock = clockGHz(target) * 1e3;
  double rate = target.memoryGBps * 1e3 * flight.memoryShare;
  double units = blocks < target.computeUnits ? blocks : target.computeUnits;
  double bytes = keys * keyBytes * together * units / rate;
  double walk = costMax(steps * step / clock, bytes);
  bool runs = size.runs > 0 && size.slices > 1;
  double ends = flight.walkEndClocks + (runs ? flight.runClocks : 0);
  return ceilDiv(perUnit, resident) * (ends / clock + walk);
}

/// What attentionMicroseconds says, for comparing numbers of slices: of a
/// decode step by the chip's own clocks where they are known. Other tiles have
/// none, so tiles are not compared by it.
constexpr double attentionSlicesMicroseconds(const Target &target,
                                             const AttentionTile &tile,
                                             const AttentionShape &shape,
                                             const AttentionSize &size) {
  const FlightCalibration *flight = flightCalibration(target);
  if (!flight || size.rows > tile.bq ||
      attentionWaveParts(target.arch, tile, attentionSharesValues(shape)) == 1)
    return attentionMicroseconds(target, tile, shape, size);
  auto [blocks, keys] = attentionBlocks(size, 1);
  double alone = 0;
  // Of sequences of different lengths the last one is alone for a while.
  if (size.unequal && (size.runs == 0 || size.slices == 1))
    alone = keys * double(shape.headDim + shape.valueDim) *
            info(shape.type).bits / 8 / (unitGBps(target) * 1e3);
  return target.launchMicroseconds + alone +
         flightWalkMicroseconds(target, *flight, tile, shape, size, blocks,
                                keys);
}

/// The part of the units that a launch needs: where memory bounds it, those
/// that draw all of the memory's rate.
constexpr double attentionUnitShare(const Target &target,
                                    const AttentionTile &tile,
                                    const AttentionShape &shape,
                                    const AttentionSize &size) {
  double keys = double(size.heads) * double(size.keys);
  double columns = double(shape.headDim + shape.valueDim);
  double tiles = ceilDiv(double(size.rows), tile.bq);
  double bytes = keys * columns * info(shape.type).bits / 8;
  double flops = 2.0 * tile.bq * tiles * keys * columns;
  double need = target.memoryGBps / (unitGBps(target) * target.computeUnits);
  bool waits = bytes / target.memoryGBps > flops / (target.bf16Tflops * 1e3);
  return waits && need < 1 ? need : 1;
}

/// What a tile takes longer where blocks of 384 threads share a launch on
/// sm_90a: each block of a prefill begins with a wait for its queries and one
/// for its keys, which blocks that stay have behind them; decode steps have
/// half as many tiles of keys under way.
constexpr double attentionSharedMicroseconds(const Target &target,
                                             const AttentionTile &tile,
                                             const AttentionSize &size,
                                             double alone) {
  if (!isWarpSpecialised(tile))
    return alone * Sm90Calibration::kSharedDecode;
  double blocks = ceilDiv(double(size.rows), tile.bq) * double(size.heads);
  return alone + ceilDiv(blocks, target.computeUnits) * 2 * kMemoryMicroseconds;
}

} // namespace hk

#endif // HK_CONTRACT_COSTATTENTION_H
