//===- Calibration.h - Constants that were measured -------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What benchmarks told of a chip and no document does, with the product, the
// date and the page of results. A chip without a row is one on which nothing
// was measured: families then do what is safe on any.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_CALIBRATION_H
#define HK_CONTRACT_CALIBRATION_H

#include "hk/Contract/Target.h"

namespace hk {

/// Row-wise kernels.
struct RowwiseCalibration {
  /// Product, date and benchmark.
  const char *source;
  /// Whether blocks of whole rows prefetch them into L2 before they wait for
  /// the kernel before, and those of the blocks that follow.
  bool prefetchesRows;
  /// Whether neighbouring blocks of a plain pointwise kernel are quicker with
  /// neighbouring pieces of a row than with one piece of neighbouring rows.
  bool piecesFirst;
  /// Bytes of a line of memory, at which the first access of a wave begins
  /// where rows of elements that are loaded alone do not.
  int32_t lineBytes;
  /// Threads of each block of a cluster, so that several rows are under way on
  /// a compute unit.
  int32_t clusterThreads;
  /// With fewer chunks of a thread the exchange costs more than the row's
  /// second reading.
  int32_t leastClusterChunks;
  /// Registers and threads of a compute unit.
  int32_t registers, threads;
  /// Registers of a thread beside those of what it loads: of any kernel, and
  /// more with row reductions, without them, and with rotated pairs, whose
  /// angles are loaded too.
  int32_t baseWords, reducingWords, splitWords, pairWords;
  /// A block is as many memory latencies old when its row is done, and one more
  /// for the first two reductions each; what is missing of the accesses that
  /// keep the memory busy costs time to this power.
  double latenciesPerRow, starvationPower;
  /// What idle lanes cost of a kernel with row reductions, as a share of its
  /// time, and what each chunk of a thread costs, which is all loaded before
  /// the first is used.
  double idleShare, chunkShare;
};

/// leastClusterChunks: a norm of 34816 bf16, three chunks, took 106 us and not
/// 81, one of 131072, eight chunks, 101 and not 112; a softmax of 34816 f32,
/// five chunks, 155 and not 208. Words: what ptxas was seen to need; with fewer
/// it loads late what it needs last, which costs more than another block gains.
/// Shares: 192 tiles of 23 norms, softmaxes and quantisations; a norm of 7168
/// bf16 took 110 us with 448 threads of two chunks and 113 with 224 of four,
/// layer_norm of 8192 127 with 352 threads of three, the last of them mostly
/// idle, and 130 with 256 of four.
inline constexpr RowwiseCalibration kH200Rowwise = {
    "H200, 2026-11-22, benchmarks/rowwise/gpu.py (results/h200-rowwise.md)",
    /*prefetchesRows=*/true,
    /*piecesFirst=*/true,
    /*lineBytes=*/128,
    /*clusterThreads=*/256,
    /*leastClusterChunks=*/5,
    /*registers=*/65536,
    /*threads=*/2048,
    /*baseWords=*/16,
    /*reducingWords=*/8,
    /*splitWords=*/32,
    /*pairWords=*/16,
    /*latenciesPerRow=*/1,
    /*starvationPower=*/0.6,
    /*idleShare=*/0.2,
    /*chunkShare=*/0.012};

/// nullptr: nothing was measured.
constexpr const RowwiseCalibration *rowwiseCalibration(const Target &target) {
  return target.arch == Arch::Sm90a ? &kH200Rowwise : nullptr;
}

/// Products and attention of blocks that load through a queue of their compute
/// unit's, which is what bounds most tiles of AMD's chips.
struct FlightCalibration {
  /// Product, date and source.
  const char *source;
  /// Bytes of a compute unit that are under way at a time, and clocks that they
  /// take from the caches when it asks for no fewer: the rate of a unit.
  double bytesInFlight, rateClocks;
  /// Clocks from a load to its data from memory.
  double tripClocks;
  /// Bytes that a unit's LDS reads in a clock by accesses of 16 bytes.
  double ldsReadBytes;
  /// Clocks of a step's barriers, and of a block's start and end without its
  /// memory accesses.
  double barrierClocks, blockClocks;
  /// Clocks of a step of two groups of waves in turns, whose barriers a wave's
  /// products do not cover.
  double turnClocks;
  /// What is usable of the memory's peak rate, and of all L2 caches together,
  /// GB/s.
  double memoryShare, cacheGBps;
  /// Attention whose waves have keys of their own, a tile ahead in registers:
  /// clocks of a wave's tile, and more for each access of its lanes to keys or
  /// values, at equal distances or in pages; of a block besides, which merges
  /// its waves, and of one that has a run of the keys.
  double walkClocks, rowClocks, pageClocks, walkEndClocks, runClocks;
  /// Clocks of the combination of slices, and more for each of its parts.
  double combineClocks, partClocks;
};

/// Nobody here has these chips: bytes, trips and rates are those that the
/// emulator's timing model rests on, with their sources in `hk-emu --constants`
/// (gluon tutorials and Origami, measured by their authors), and barriers and
/// blocks are what that model gave for the tiles and decode steps of
/// results/amd-tiles.md.
inline constexpr FlightCalibration kMi325xFlight = {
    "MI325X, modelled, 2026-11-23, benchmarks/timing/tiles.py "
    "(results/amd-tiles.md)",
    /*bytesInFlight=*/32768,
    /*rateClocks=*/1000,
    /*tripClocks=*/1150,
    /*ldsReadBytes=*/128,
    /*barrierClocks=*/200,
    /*blockClocks=*/600,
    /*turnClocks=*/150,
    /*memoryShare=*/0.75,
    /*cacheGBps=*/17000,
    /*walkClocks=*/2000,
    /*rowClocks=*/50,
    /*pageClocks=*/280,
    /*walkEndClocks=*/17000,
    /*runClocks=*/6500,
    /*combineClocks=*/4200,
    /*partClocks=*/700};
inline constexpr FlightCalibration kMi355xFlight = {
    "MI355X, modelled, 2026-11-23, benchmarks/timing/tiles.py "
    "(results/amd-tiles.md)",
    /*bytesInFlight=*/32768,
    /*rateClocks=*/1000,
    /*tripClocks=*/1460,
    /*ldsReadBytes=*/256,
    /*barrierClocks=*/200,
    /*blockClocks=*/600,
    /*turnClocks=*/60,
    /*memoryShare=*/0.8,
    /*cacheGBps=*/17000,
    /*walkClocks=*/2000,
    /*rowClocks=*/120,
    /*pageClocks=*/330,
    /*walkEndClocks=*/12000,
    /*runClocks=*/15000,
    /*combineClocks=*/4200,
    /*partClocks=*/700};

/// nullptr: no such terms for the chip.
constexpr const FlightCalibration *flightCalibration(const Target &target) {
  switch (target.arch) {
  case Arch::Gfx942:
    return &kMi325xFlight;
  case Arch::Gfx950:
    return &kMi355xFlight;
  default:
    return nullptr;
  }
}

/// Blocks that a compute unit should hold where a block has a chunk of a gated
/// delta rule. ptxas gives a thread 197 registers, enough for two blocks,
/// unless it is told of more. H100, 2026-11-25, 4,096 chunks of 128 keys and
/// values: 366 us with two, 291 with three, which spill 32 bytes
/// (results/h200-gated-delta.md).
constexpr int32_t chunkBlocksPerUnit(const Target &target) {
  return target.arch == Arch::Sm90a ? 3 : 1;
}

/// The same where one warpgroup prepares a chunk (prepare_warpgroup.h): as many
/// as LDS has room for with 128 keys and values, which take the same 4,096
/// chunks in 116 us; fewer were not tried.
inline constexpr int32_t kPreparedBlocksPerUnit = 4;

/// Threads that share a row of what segments of a sequence make of a state:
/// each column that a thread reads from LDS goes into so many more rows of its
/// own, and neighbours read whole lines. H100, 2026-11-25, 8 heads of 8
/// segments, 128 keys and values: 34 us with two, 21 with eight
/// (results/h200-gated-delta.md). Not looked into on other chips.
constexpr int32_t startsLanes(const Target &target) {
  return target.arch == Arch::Sm90a ? 8 : 2;
}

/// What an exchange between two ranks takes: a start, and bytes over the link
/// between them, in one direction; partsGBps: of a reduce_scatter or
/// all_gather. pushUs: a launch whose rows the other ranks write to it;
/// secondShotUs: what it takes more where sums come back from the rows' owners.
struct ExchangeCalibration {
  const char *source;
  double startUs, linkGBps, partsGBps, pushUs, secondShotUs;
};

/// The all-reduces of the H200 took 7 us at 16 KiB, 14 at 1 MiB, 32 at 4 MiB,
/// 77 at 16 MiB and 246 at 64 MiB; those of OpenMPI 6 us and 150 at 1 MiB. A
/// launch that wrote its rows to the other H200 took 4.4 us with a norm behind
/// it, a reduce_scatter and an all_gather of 64 MiB 320 us. Four H200 took 1.6
/// us more for one row in two shots, 0.8 for 16 of 16 KiB, and 1.7 less for 32
/// (results/h100-ranks.md). Of AMD's links nothing was measured.
constexpr ExchangeCalibration exchangeCalibration(const Target &target) {
  switch (target.arch) {
  case Arch::Host:
    return {
        "OpenMPI 4.1, two processes of one machine, 2026-11-22", 6, 7, 7, 6, 6};
  case Arch::Sm90a:
    return {"two H200, NCCL 2.28, 2026-11-22", 7, 270, 220, 4.4, 1.9};
  case Arch::Gfx950:
    return {
        "MI355X data sheet: 153.6 GB/s a link, both ways", 10, 76, 76, 6, 6};
  default:
    return {"MI325X data sheet: 128 GB/s a link, both ways", 10, 64, 64, 6, 6};
  }
}

} // namespace hk

#endif // HK_CONTRACT_CALIBRATION_H
