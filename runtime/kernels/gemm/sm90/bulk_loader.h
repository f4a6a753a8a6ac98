//===- bulk_loader.h - Operands by the copy engine -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread asks for both operands of a stage: rows of A for its own block, a
// part of the rows of B for every block of the cluster, which all wait for all
// parts. The maps of the kernel are A, B, then those of the epilogue.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_BULK_LOADER_H
#define HK_KERNELS_GEMM_SM90_BULK_LOADER_H

#include "kernels/gemm/sm90/config.h"

namespace hk {

template <class Config> struct BulkLoader {
  using P = typename Config::P;
  /// Rows of B are two ranges when columns come in pairs.
  static constexpr int kParts = P::kPair ? 2 : 1;
  static constexpr int kPartRows = Config::T.bn / kParts;
  /// What one box of B has.
  static constexpr int kBoxRows = kPartRows / Config::kCluster;
  static_assert(kBoxRows % 8 == 0, "boxes begin where the swizzle does");

  const TensorMap *maps;
  typename Config::Layout lds;
  u32 rank;
  int n, batches;

  HK_MEM void fill(const WarpPlace &at, int step, u32 stage) const {
    LdsBarrier full = lds.full(stage);
    full.expect(Config::kStageBytes);
    int k = at.k0 + step * Config::T.bk;
    int batch = Config::T.splitK > 1 ? at.matrix % batches : at.matrix;
    loadBox(lds.stageA(stage), maps[0], full,
            BoxPlace{k, at.row, batch});
    HK_UNROLL for (int part = 0; part < kParts; ++part) {
      int first = rank * kBoxRows;
      u32 to = lds.stageB(stage) + u32(part * kPartRows + first) * Config::kRow;
      BoxPlace from = {k, at.col + part * n + first,
                       Config::kSharedB ? 0 : batch};
      if constexpr (Config::kCluster > 1)
        loadBoxes(to, maps[1], full, from, (1 << Config::kCluster) - 1);
      else
        loadBox(to, maps[1], full, from);
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_BULK_LOADER_H
