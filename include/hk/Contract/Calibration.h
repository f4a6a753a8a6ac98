//===- Calibration.h - Constants that were measured -------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What benchmarks told of a chip and no document does, with the product, the
// date and the page of results. A chip without a row is one on which nothing was
// measured: families then do what is safe on any.
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
  /// A block is as many memory latencies old when its row is done, and
  /// what is missing of the accesses that keep the memory busy costs time to
  /// this power.
  double latenciesPerRow, starvationPower;
};

/// leastClusterChunks: a norm of 34816 bf16, three chunks, took 106 us and not
/// 81, one of 131072, eight chunks, 101 and not 112; a softmax of 34816 f32,
/// five chunks, 155 and not 208. Words: what ptxas was seen to need; with fewer
/// it loads late what it needs last, which costs more than another block gains.
inline constexpr RowwiseCalibration kH200Rowwise = {
    "H200, 2026-11-22, benchmarks/rowwise/gpu.py (results/h200-rowwise.md)",
    /*prefetchesRows=*/true,
    /*piecesFirst=*/true,
    /*clusterThreads=*/256,
    /*leastClusterChunks=*/5,
    /*registers=*/65536,
    /*threads=*/2048,
    /*baseWords=*/16,
    /*reducingWords=*/8,
    /*splitWords=*/32,
    /*pairWords=*/16,
    /*latenciesPerRow=*/3,
    /*starvationPower=*/0.6};

/// nullptr: nothing was measured.
constexpr const RowwiseCalibration *rowwiseCalibration(const Target &target) {
  return target.arch == Arch::Sm90a ? &kH200Rowwise : nullptr;
}

} // namespace hk

#endif // HK_CONTRACT_CALIBRATION_H
