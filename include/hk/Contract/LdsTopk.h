//===- LdsTopk.h - LDS of selections of a row -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a selection adds to the LDS of a row-wise kernel. The selected elements
// lie in LDS, where every thread of the row finds them. A tile with slots holds
// a row in the registers of one wave; without, the block needs the candidates
// and a histogram as well.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_LDSTOPK_H
#define HK_CONTRACT_LDSTOPK_H

#include "hk/Contract/Lds.h"

namespace hk {

/// Digits of a key have 8 bits; counts per digit, per 16 digits, and the state.
inline constexpr int64_t kTopkHistogramBytes = 4 * (256 + 16 + 4);

/// A long row's candidates may be this many more than are selected.
inline constexpr int64_t kTopkSpare = 256;

/// Whether the wave that holds a row selects in its registers.
constexpr bool topkInWave(const Target &target, const RowTile &tile) {
  return tile.slots > 0 && tile.threadsPerRow() <= target.waveSize;
}

/// Bytes of one hk.topk.
constexpr int64_t topkLds(const Target &target, const RowTile &tile,
                          int64_t k) {
  if (target.arch == Arch::Host)
    return 0;
  int64_t selected = ldsMul(tile.rows, k, 8);
  if (topkInWave(target, tile))
    return selected;
  return ldsAdd(ldsAdd(selected, ldsMul(ldsAdd(k, kTopkSpare), 8)),
                kTopkHistogramBytes);
}

/// Bytes of one hk.group_limit: the row, score and verdict of each group.
constexpr int64_t groupLimitLds(const Target &target, const RowTile &tile,
                                int64_t n, int64_t groups) {
  if (target.arch == Arch::Host)
    return 0;
  return ldsMul(tile.rows, ldsAdd(ldsMul(n, 4), ldsMul(groups, 8)));
}

} // namespace hk

#endif // HK_CONTRACT_LDSTOPK_H
