//===- LdsRowwise.h - LDS of row-wise kernels -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row-wise kernel needs LDS to combine the statistics of a row over several
// waves, one f32 per wave and statistic, and for the part of a long row that
// its registers do not hold.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_LDSROWWISE_H
#define HK_CONTRACT_LDSROWWISE_H

#include "hk/Contract/Lds.h"
#include "hk/Contract/Target.h"
#include "hk/Contract/Tile.h"

namespace hk {

/// Threads of a block that keeps a row which is too long for registers. With
/// fewer a thread has more registers, and not more of them are addresses.
inline constexpr int32_t kResidentThreads = 512;

/// Bytes of such a row that a thread keeps in registers, of the 512 that sm_90a
/// has for it; further chunks that it keeps are in LDS. CDNA has twice as many,
/// but a kernel of 640 bytes spills there.
inline constexpr int64_t kRowRegisterBytes = 320;

/// Chunks of `chunkBytes` that a thread keeps in registers and in LDS.
struct RowResidence {
  int64_t registers, lds;
};
constexpr RowResidence rowResidence(const RowTile &tile, int64_t chunkBytes) {
  int64_t most = chunkBytes > 0 ? kRowRegisterBytes / chunkBytes : tile.slots;
  int64_t registers = tile.slots < most ? tile.slots : most;
  return {registers, tile.slots - registers};
}

/// Bytes for `reductions` statistics of whole rows, whose chunks are kept in
/// `chunkBytes` each; 0: in registers only.
constexpr int64_t rowwiseLds(const Target &target, const RowTile &tile,
                             int64_t reductions, int64_t chunkBytes) {
  if (target.arch == Arch::Host || tile.threadsPerRow() <= target.waveSize)
    return 0;
  // A block of a cluster has the values of all waves of its row.
  return ldsAdd(
      int64_t(tile.threads * tile.cluster / target.waveSize) * reductions * 4,
      ldsMul(tile.threads, rowResidence(tile, chunkBytes).lds, chunkBytes));
}

} // namespace hk

#endif // HK_CONTRACT_LDSROWWISE_H
