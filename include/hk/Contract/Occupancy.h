//===- Occupancy.h - Waves that are resident on AMD chips -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a kernel asks of the compiler and what the compiler's answer is checked
// against. Source: the CDNA3, CDNA4 and RDNA3 ISA documents and LLVM's user
// guide of the AMDGPU backend (sizes of the register files, granules).
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_OCCUPANCY_H
#define HK_CONTRACT_OCCUPANCY_H

#include "hk/Contract/Target.h"

namespace hk {

/// Waves that each of the four SIMDs holds when `minBlocks` blocks of `threads`
/// threads are resident; kernels are compiled for no fewer.
constexpr int32_t wavesPerSimd(const Target &target, int32_t threads,
                               int32_t minBlocks) {
  int32_t waves = (threads + target.waveSize - 1) / target.waveSize *
                  (minBlocks > 0 ? minBlocks : 1);
  int32_t perSimd = (waves + 3) / 4;
  return perSimd < 8 ? perSimd : 8;
}

/// Waves that a SIMD's registers suffice for when each takes `count`.
constexpr int32_t wavesOfRegisters(const Target &target, int32_t count) {
  bool cdna = target.waveSize == 64;
  int32_t granule = cdna ? 8 : 24, file = cdna ? target.vgprs : 1536;
  int32_t taken = (count + granule - 1) / granule * granule;
  return file / (taken > granule ? taken : granule);
}

/// Clusters of `cluster` blocks that a chip runs at a time, a block a unit:
/// what the driver says of an H100, whose units are in groups of 16 and 18.
constexpr int64_t residentClusters(const Target &target, int32_t cluster) {
  constexpr int32_t clusters[] = {132, 66, 39, 30, 22, 17, 15, 15};
  return target.arch == Arch::Sm90a ? clusters[cluster - 1]
                                    : target.computeUnits / cluster;
}

/// Blocks that a compute unit holds by their LDS and threads; a core of the
/// host runs one at a time.
constexpr double residentBlocks(const Target &target, int64_t ldsBytes,
                                int64_t threads) {
  if (target.arch == Arch::Host)
    return 1;
  int64_t inLds = ldsBytes > 0 ? target.ldsBytes / ldsBytes : 8;
  int64_t most = 1024 / threads;
  int64_t fit = inLds < most ? inLds : most;
  return fit > 1 ? double(fit) : 1;
}

} // namespace hk

#endif // HK_CONTRACT_OCCUPANCY_H
