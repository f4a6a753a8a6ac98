//===- LdsScan.h - LDS of scan and routing kernels -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scan combines one sum per wave and column. A routing kernel counts keys per
// wave, so that items of a key keep their order without atomics. Into how many
// blocks it cuts them is here, too.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_LDSSCAN_H
#define HK_CONTRACT_LDSSCAN_H

#include "hk/Contract/Lds.h"

namespace hk {

constexpr int64_t wavesOf(const Target &target, int64_t threads) {
  return threads > target.waveSize ? threads / target.waveSize : 1;
}

/// One sum of `sumBytes` per wave and column, where there are several waves.
constexpr int64_t scanLds(const Target &target, const ScanTile &tile,
                          int64_t sumBytes) {
  int64_t waves = wavesOf(target, tile.threads);
  return waves > 1 ? waves * tile.columns * sumBytes : 0;
}

/// A count per bin and wave and one per bin, and another where `shared` says
/// that several blocks have keys; the first place of `threads` segments; a sum
/// per wave.
constexpr int64_t routingLds(const Target &target, const RoutingTile &tile,
                             int64_t bins, bool shared) {
  int64_t waves = wavesOf(target, tile.threads);
  return ldsAdd(ldsMul(bins, ldsMul(waves + (shared ? 2 : 1), 4)),
                ldsMul(tile.threads + waves, 4));
}

/// Keys of a thread of a sort that several blocks share, and most blocks: every
/// block counts all keys.
inline constexpr int64_t kRoutingKeysOfThread = 2, kRoutingBlocks = 32;

/// Keys from which on a sort has several blocks.
constexpr int64_t routingKeysOfBlock(int64_t threads) {
  return kRoutingKeysOfThread * threads;
}
constexpr int64_t routingBlocks(int64_t threads, int64_t keys) {
  int64_t each = routingKeysOfBlock(threads), blocks = (keys + each - 1) / each;
  return blocks < 1 ? 1 : blocks < kRoutingBlocks ? blocks : kRoutingBlocks;
}

/// Threads of a routing kernel, in order of preference; those of no more than a
/// wave come last, the host's one thread is below all.
inline constexpr int32_t kRoutingThreads[] = {1024, 512, 256, 128, 64, 32};

/// Whether a block of `threads` threads exists on the target.
constexpr bool isRoutingTile(const Target &target, const RoutingTile &tile) {
  return target.arch == Arch::Host ? tile.threads == 1
                                   : tile.threads <= target.maxThreads &&
                                         tile.threads % target.waveSize == 0;
}

} // namespace hk

#endif // HK_CONTRACT_LDSSCAN_H
