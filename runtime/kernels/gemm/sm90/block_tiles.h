//===- block_tiles.h - The tiles that a block takes -------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops over groups of few rows have fewer blocks than tiles. A block takes
// neighbouring ones, which are mostly of one group.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_BLOCK_TILES_H
#define HK_KERNELS_GEMM_SM90_BLOCK_TILES_H

#include "kernels/device/launch.h"

namespace hk {

/// The tiles of a block of a grid in x that share `work`: the first blocks have
/// one more of those that are left.
struct BlockTiles {
  u32 next, end;

  HK_MEM static BlockTiles of(u32 work, BlockId block) {
    u32 each = work / blockCountX(), left = work % blockCountX();
    u32 next = block.x * each + (block.x < left ? block.x : left);
    return {next, next + each + (block.x < left ? 1 : 0)};
  }

  /// The same where a unit holds `perUnit` blocks. It may have got neighbours,
  /// if all its places were free, or blocks that are as many apart as there are
  /// units. Either way no unit has more than one of those with one more, before
  /// all have one.
  HK_MEM static BlockTiles spread(u32 work, BlockId block, u32 perUnit) {
    u32 units = blockCountX() / perUnit;
    if (units * perUnit == blockCountX()) {
      u32 round = block.x / units, unit = block.x % units;
      block.x = (round + unit) % perUnit * units + unit;
    }
    return of(work, block);
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_BLOCK_TILES_H
