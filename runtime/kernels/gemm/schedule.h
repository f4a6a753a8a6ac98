//===- schedule.h - Which tile a block computes next -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks that stay (as many as the chip holds, whatever the size) take tiles
// t, t + stride, t + 2 stride, ... The order keeps those that run together
// close: tiles of a matrix in groups of kGroup along m, the columns of a group
// one after the other, so that few rows of both operands are read at a time.
// A tile here is what a whole cluster computes; 2^32 of them would be a result
// of more bytes than an address has.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SCHEDULE_H
#define HK_KERNELS_GEMM_SCHEDULE_H

#include "kernels/device/types.h"

namespace hk {

/// A tile: its matrix of the batch (or slice and batch) and its place there.
struct TileWork {
  u32 matrix, m, n;
};

struct PersistentSchedule {
  /// Neighbours along m; from 4 to 16 make no difference on an H200.
  static constexpr u32 kGroup = 8;

  u32 mTiles, nTiles, matrices;

  HK_MEM u32 perMatrix() const { return mTiles * nTiles; }
  HK_MEM u32 count() const { return perMatrix() * matrices; }
  HK_MEM TileWork at(u32 tile) const {
    u32 matrix = tile / perMatrix(), in = tile % perMatrix();
    u32 perGroup = kGroup * nTiles, first = in / perGroup * kGroup;
    u32 rows = mTiles - first < kGroup ? mTiles - first : kGroup;
    in %= perGroup;
    return {matrix, first + in % rows, in / rows};
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SCHEDULE_H
