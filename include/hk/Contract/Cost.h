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

#include "hk/Contract/AttentionTiles.h"
#include "hk/Contract/GemmTiles.h"
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

/// Rate of a matrix operand dtype relative to bf16.
constexpr double matrixRate(const Target &target, DType operand) {
  if (target.arch == Arch::Host)
    return 1.0;
  if (operand == DType::F32)
    return target.waveSize == 64 ? 0.125 : 0.0625;
  return info(operand).bits == 8 ? 2.0 : 1.0;
}

/// Time from a global load to its data, microseconds.
inline constexpr double kMemoryMicroseconds = 0.9;

struct GemmSize {
  int64_t m, n, k, batches;
  /// Bytes of an element of A, B and of everything written per result element.
  double bytesA, bytesB, bytesOut;
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
  // streams B at about 24 bytes per clock and reads it once per 4 rows.
  double rows = double(size.m < tile.bm ? size.m : tile.bm);
  double k = double(size.k);
  double perBlock =
      isHostSkinny(target, tile)
          ? columns * k *
                    costMax(size.bytesB / 24 * ceilDiv(rows, 4), rows / 14) +
                rows * k
          : ceilDiv(rows, 12) * 12 * columns * k / 28 + rows * k * 0.15 +
                columns * k * 0.45;
  double rounds = ceilDiv(blocks, target.computeUnits);
  return rounds * (perBlock / clockGHz(target) * 1e-3 + 0.3) +
         target.launchMicroseconds;
}

/// One launch of `size` with `tile`. `columns`: gemmColumns.
constexpr double gemmMicroseconds(const Target &target, const GemmTile &tile,
                                  const GemmShapeClass &shape,
                                  const GemmSize &size) {
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
  int64_t inLds =
      target.ldsBytes / gemmLds(target, tile, shape.operand, shape.quantized);
  double fit = costMax(1, double(inLds));
  double most = costMax(1, 1024.0 / threads);
  double resident = perUnit < fit ? perUnit : fit;
  resident = resident < most ? resident : most;
  // One K step of one block: matrix time on the SIMDs its waves can use, LDS
  // time of the waves' reads and the copies' writes, and its share of the
  // memory latency that the other stages and blocks do not cover.
  double waves = tile.wm * tile.wn * resident;
  double simds = waves < 4 ? waves : 4;
  double matrix =
      2.0 * tile.bm * tile.bn * tile.bk * units /
      (target.bf16Tflops * 1e6 * matrixRate(target, shape.operand)) * 4 / simds;
  double rowsRead = double(tile.bm) * tile.wn + double(tile.bn) * tile.wm;
  double lds = (rowsRead + tile.bm + tile.bn) * tile.bk * bytes /
               (target.ldsBytesPerClock * clockGHz(target) * 1e3);
  double depth = tile.stages > 2 ? tile.stages - 1 : 1;
  double latency = kMemoryMicroseconds / (depth * resident);
  double step = costMax(costMax(matrix, lds), latency);
  double compute = perUnit * steps * step + kMemoryMicroseconds;
  // Every operand once from memory, every tile's operands from L2, which is
  // about four times as fast.
  double rowsB = double(size.n) * (shape.pair ? 2 : 1);
  double once =
      double(size.batches) * (double(size.m) * double(size.k) * size.bytesA +
                              rowsB * double(size.k) * size.bytesB +
                              double(size.m) * double(size.n) * size.bytesOut);
  double tiles = blocks * (tile.bm + tile.bn) * k * bytes;
  double memory = costMax(once, tiles / 4) / (target.memoryGBps * 1e3);
  return target.launchMicroseconds + costMax(compute, memory);
}

/// Partial results that their combination loads at a time.
inline constexpr int32_t kCombineInFlight = 8;

/// The second step of a split: reads and writes `bytes`, in a kernel that runs
/// anyway (and waits for one load) or in one of its own.
constexpr double combineMicroseconds(const Target &target, int64_t parts,
                                     double bytes, bool ownLaunch) {
  double waits = ceilDiv(double(parts), kCombineInFlight);
  return bytes / (target.memoryGBps * 1e3) +
         (ownLaunch ? target.launchMicroseconds + waits * kMemoryMicroseconds
                    : (waits - 1) * kMemoryMicroseconds);
}

struct AttentionSize {
  /// (query, head) rows of a key head in one sequence; key heads times
  /// sequences; keys of a sequence; slices of them.
  int64_t rows, heads, keys, slices;
};

/// One launch of `size` with `tile`, without the combination of slices.
constexpr double attentionMicroseconds(const Target &target,
                                       const AttentionTile &tile,
                                       const AttentionShape &shape,
                                       const AttentionSize &size) {
  double columns = double(shape.headDim + shape.valueDim);
  double bytes = double(size.heads) * double(size.keys) * columns *
                 info(shape.type).bits / 8;
  double memory = bytes / (target.memoryGBps * 1e3);
  double tiles = ceilDiv(double(size.rows), tile.bq);
  double blocks = tiles * double(size.heads * size.slices);
  double perUnit = ceilDiv(blocks, target.computeUnits);
  double keys =
      double(size.slices > 1 ? sliceLength(size.keys, size.slices) : size.keys);
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
  return target.launchMicroseconds + costMax(walk, memory * tiles);
}

} // namespace hk

#endif // HK_CONTRACT_COST_H
