//===- CostGemmBulk16.h - Modelled times of 16-bit tiles -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of matrices of 16 bits and of fp8, with scales along k, too, in the
// two loops of sm_90a for many rows, `warp_specialised` and `swapped`, by one
// model, so that its times can be compared: rounds of clusters, of which each
// lasts as long as the products of a tile or as what the memory and the L2
// cache need for the tiles of a round, and some of the shorter of both. The
// last round has fewer tiles that fetch.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_COSTGEMMBULK16_H
#define HK_CONTRACT_COSTGEMMBULK16_H

#include "hk/Contract/CostGemmTerms.h"

namespace hk {

/// Fitted to 5,100 times of 192 sizes of 65 to 8,192 rows in 50 tiles on an
/// H200 (benchmarks/results/h200-gemm-2.md), by what its choices lose and by
/// how far it is off, which is 9 % on the average.
struct Bulk16Calibration {
  /// Launch, start and last store in a chain of launches; clocks of a
  /// microsecond; of a step beside its products, with up to two and with three
  /// warpgroups; of the end of a tile of 256 rows of the instruction's columns.
  double start, clocks, stepClocks, wideStepClocks, endClocks;
  /// Bytes that the L2 cache gives in a microsecond.
  double cacheBytes;
  /// What is left of the shorter of a round's products and bytes.
  double notHidden;
};
inline constexpr Bulk16Calibration kSwapped16 = {1.75, 1717,   64,  151,
                                                 3706, 14.8e6, 0.19};
inline constexpr Bulk16Calibration kWarpSpecialised16 = {1.78, 1584,   119, 109,
                                                         0,    15.7e6, 0.02};
/// Of the memory's rate; of the cache's where rows of k are not whole lines;
/// what a row of a box costs that does not exist, of one that does.
inline constexpr double kBulk16Memory = 0.963, kBulk16Unaligned = 0.6,
                        kMissingRow = 6.1;
inline constexpr int64_t kBulk16LineBytes = 128;
/// fp8: a stage has twice the k and takes as long to come and to multiply. What
/// adding its sums to f32 registers takes, of its products in `swapped` (else
/// Sm90Calibration::kFold and kScaledFold); halves of a tile that are added one
/// after the other; where one warpgroup multiplies, in clocks; where blocks
/// share B, whose warpgroups then wait for those of the other; and what a last
/// round of halves of tiles takes of a whole one. Of 28 sizes of 77 to 4,096
/// rows in up to 40 tiles on an H200 choices lose 0.7 %, of 25 with scales
/// along k, from one row on, 1.2 % (h200-gemm-2.md).
struct Bulk8Calibration {
  static constexpr double kSwappedFold = 0.3, kHalves = 0.03, kAloneClocks = 60,
                          kShared = 0.04, kHalfRound = 0.75;
  /// With scales along k, of no columns; 128 take 7 % longer for one than 192
  /// (2048 x 7168 x 4096: 107.1 and 101.5 us).
  static constexpr double kNarrow = 0.2;
};
/// Up to so many rows, which were not fitted, times are longer by this: 33 to
/// 48 rows in tiles of 64 took 0.98 to 1.3 times as long as modelled. With
/// scales along k 1 and 16 rows by 7168 x 2048 took 7.9 and 7.6 us for 7.7 and
/// 6.6, which in blocks take 11.3 and 12.4.
inline constexpr int64_t kFewRows16 = 64;
inline constexpr double kOfFewRows16 = 1.25;
/// Clocks of a step of a swapped tile of two warpgroups, however few its rows.
inline constexpr double kSwappedPairClocks = 460;
/// What a column of a warp-specialised tile takes longer where the epilogue
/// reads a matrix that does not come in boxes, as columns end within one: of
/// 112 to 208 columns 2.5 to 5 us (h200-gemm-2.md).
inline constexpr double kReadColumnMicroseconds = 0.024;
/// From asking for a stage of a swapped tile to having it; each doubling of the
/// blocks that share k, and a byte of the sums that one sends; a round of those
/// behind the first, as they take one tile.
inline constexpr double kSwappedStageMicroseconds = 0.76,
                        kSwappedShareMicroseconds = 0.25,
                        kSwappedSentMicroseconds = 40e-6,
                        kSwappedRoundMicroseconds = 5.1;

/// Clusters of tiles, and rounds in which the chip takes them.
struct Bulk16Rounds {
  double tiles, resident, rounds;
  constexpr double last() const { return tiles - (rounds - 1) * resident; }
};
constexpr Bulk16Rounds bulk16Rounds(const Target &target, const GemmTile &tile,
                                    const GemmShapeClass &shape,
                                    const GemmSize &size) {
  // The blocks of a cluster take tiles of rows, those of a swapped one share k.
  double rows =
      tile.bm * (tile.loop == GemmLoop::Swapped ? 1.0 : double(tile.cluster));
  double tiles = ceilDiv(double(size.m), rows) *
                 ceilDiv(double(size.n), gemmColumns(tile, shape.pair)) *
                 double(size.batches);
  double resident = double(residentClusters(target, tile.cluster));
  return {tiles, resident, ceilDiv(tiles, resident)};
}

/// Whether the columns of a tile are folded in two halves (accumulate.h).
constexpr bool foldsHalves(const GemmTile &tile) {
  return tile.loop == GemmLoop::WarpSpecialised && tile.bn > kFoldedAtOnce;
}

/// Whether a last round of few tiles is taken in halves (half_tiles.h).
constexpr bool halvesLastRound(const GemmTile &tile,
                               const GemmShapeClass &shape) {
  return shape.knownRows && !shape.grouped && !shape.columnsOfB &&
         tile.cluster == 2 && tile.splitK == 1 && tile.bn % 32 == 0;
}

/// Clocks of a step of a warp-specialised tile of fp8, `products` of them and
/// `other`.
constexpr double foldedStep(const GemmTile &tile, const GemmShapeClass &shape,
                            double products, double other) {
  using C = Bulk8Calibration;
  double fold =
      (shape.scaled ? Sm90Calibration::kScaledFold : Sm90Calibration::kFold) +
      (foldsHalves(tile) ? C::kHalves : 0);
  double step = products * (1 + fold) + other;
  if (tile.wm == 1)
    return step + C::kAloneClocks;
  if (shape.scaled && !foldsHalves(tile))
    step *= 1 + C::kNarrow * (kFoldedAtOnce - tile.bn) / kFoldedAtOnce;
  return step * (tile.cluster > 1 ? 1 + C::kShared : 1);
}

/// Time of the products of a tile, which nothing else holds up.
constexpr double bulk16Products(const GemmTile &tile,
                                const GemmShapeClass &shape,
                                const GemmSize &size) {
  bool swapped = tile.loop == GemmLoop::Swapped, folds = isFp8(shape.operand);
  const Bulk16Calibration &c = swapped ? kSwapped16 : kWarpSpecialised16;
  double steps = ceilDiv(double(size.k), tile.bk);
  if (!swapped) {
    double products = 2.0 * tile.bn * tile.wm;
    double other = tile.wm > 1 ? c.wideStepClocks : c.stepClocks;
    double step =
        folds ? foldedStep(tile, shape, products, other) : products + other;
    return steps * step / c.clocks;
  }
  steps = ceilDiv(steps, tile.cluster);
  double other = tile.wn > 2 ? c.wideStepClocks : c.stepClocks;
  double step = 2.0 * tile.bm * tile.wn *
                    (folds ? 1 + Bulk8Calibration::kSwappedFold : 1) +
                other;
  if (tile.wn == 2)
    step = costMax(step, kSwappedPairClocks);
  double clocks = steps * step + c.endClocks * tile.bm / 256 / tile.cluster;
  return costMax(clocks / c.clocks,
                 steps * kSwappedStageMicroseconds / tile.stages);
}

/// Time in which the memory and the L2 cache give a cluster its operands,
/// beside nothing else: only a tile that is alone has rows of A that do not
/// exist. They hold up the copy engine of a unit, so that a warp-specialised
/// tile with such rows takes as long when it has the cache to itself.
struct Bulk16Fetch {
  double shared, alone;
};
constexpr Bulk16Fetch bulk16Fetch(const Target &target, const GemmTile &tile,
                                  const GemmShapeClass &shape,
                                  const GemmSize &size, double tiles) {
  bool swapped = tile.loop == GemmLoop::Swapped;
  const Bulk16Calibration &c = swapped ? kSwapped16 : kWarpSpecialised16;
  double missing = costMax(0, tile.bm - double(size.m));
  double rows = tile.bm + (kMissingRow - 1) * missing;
  rows = rows * (swapped ? 1 : tile.cluster) + tile.bn;
  bool lines = size.k * info(shape.operand).bits / 8 % kBulk16LineBytes == 0;
  double cache = rows * kBulkRowBytes * ceilDiv(double(size.k), tile.bk) /
                 (c.cacheBytes * (lines ? 1 : kBulk16Unaligned));
  double memory = gemmBytes(shape, size) / tiles /
                  (target.memoryGBps * 1e3 * kBulk16Memory);
  double units = double(target.computeUnits) / tile.cluster;
  return {costMax(cache, memory), missing > 0 && !swapped ? cache * units : 0};
}

/// `fitted` microseconds of a launch in a chain, in the currency of all others:
/// what decides whether launches are joined counts a launch as longer than one
/// of few products takes so. No less than that and a trip to memory, in the
/// same order.
constexpr double bulk16AsLaunch(const Target &target, double fitted) {
  constexpr double kInOrder = 0.05;
  return costMax(fitted, target.launchMicroseconds + kMemoryMicroseconds +
                             kInOrder * fitted);
}

/// What the blocks of a swapped tile that share k add: `each` for a doubling of
/// them, the sums that one sends, and rounds behind the first.
constexpr double swappedShareMicroseconds(const GemmTile &tile, double rounds,
                                          double each) {
  if (tile.cluster == 1)
    return 0;
  double doublings = tile.cluster > 4 ? 3 : tile.cluster > 2 ? 2 : 1;
  double sent = 4.0 * tile.bm * tile.bn * (tile.cluster - 1) / tile.cluster;
  return each * doublings + kSwappedSentMicroseconds * sent +
         kSwappedRoundMicroseconds * (rounds - 1);
}

/// Such a product in a tile of either loop.
constexpr double bulk16Microseconds(const Target &target, const GemmTile &tile,
                                    const GemmShapeClass &shape,
                                    const GemmSize &size) {
  bool swapped = tile.loop == GemmLoop::Swapped;
  const Bulk16Calibration &c = swapped ? kSwapped16 : kWarpSpecialised16;
  Bulk16Rounds of = bulk16Rounds(target, tile, shape, size);
  double products = bulk16Products(tile, shape, size);
  Bulk16Fetch fetch = bulk16Fetch(target, tile, shape, size, of.tiles);
  auto round = [&](double tiles) {
    double bytes = costMax(tiles * fetch.shared, fetch.alone);
    double shorter = products < bytes ? products : bytes;
    return costMax(products, bytes) + c.notHidden * shorter;
  };
  bool halves = shape.scaled && halvesLastRound(tile, shape) && of.rounds > 1 &&
                2 * of.last() <= of.resident;
  double time = c.start + (of.rounds - 1) * round(of.resident) +
                round(of.last()) * (halves ? Bulk8Calibration::kHalfRound : 1);
  if (size.m <= kFewRows16 && !shape.scaled)
    time *= kOfFewRows16;
  if (!swapped && shape.readsMatrix &&
      gemmColumns(tile, shape.pair) % kBulkPanelColumns != 0)
    time += of.rounds * tile.bn * kReadColumnMicroseconds;
  if (swapped)
    time +=
        swappedShareMicroseconds(tile, of.rounds, kSwappedShareMicroseconds);
  return bulk16AsLaunch(target, time);
}

/// Up to so many rows codes have loops of their own, those that are decoded in
/// f32 up to fewer.
inline constexpr int64_t kFewRowsOfCodes = 64, kFewRowsInF32 = 32;

/// Whether a swapped tile is offered: a tile that fits one number of rows may
/// be the worst for others, and up to 64 have loops of their own. What an
/// epilogue reads of a matrix takes half a microsecond for 16 rows, which
/// nothing hides in more than one round.
constexpr bool swappedTakes(const Target &target, const GemmTile &tile,
                            const GemmShapeClass &shape, const GemmSize &size) {
  if (shape.streamedBits != 0)
    return size.m > (shape.streamedInF32 ? kFewRowsInF32 : kFewRowsOfCodes);
  return shape.knownRows && size.m > kFewRows16 &&
         (!shape.readsMatrix ||
          bulk16Rounds(target, tile, shape, size).rounds <= 1);
}

} // namespace hk

#endif // HK_CONTRACT_COSTGEMMBULK16_H
