//===- swapped_config.h - Groups as columns of the instruction -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the swapped loops over groups of rows know of their tile, as WarpConfig
// with rows of B as those of the instruction. A loop adds what lies behind the
// stages in LDS.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_SWAPPED_CONFIG_H
#define HK_KERNELS_GEMM_SM90_SWAPPED_CONFIG_H

#include "kernels/gemm/sm90/config.h"

namespace hk {

template <class Problem, int Cluster> struct SwappedStages {
  using P = Problem;
  static constexpr GemmTile T = {
      P::kTile.bm, P::kTile.bn,     P::kTile.bk,     P::kTile.wm,
      P::kTile.wn, P::kTile.stages, P::kTile.splitK, GemmLoop::WarpSpecialised,
      Cluster};
  static constexpr DType D = P::kOperand;
  static constexpr int kCluster = Cluster, kStages = T.stages;
  static constexpr OneMatrix kOne = OneMatrix::OfA;
  static constexpr int kSharersOfA = Cluster, kSharersOfB = 1;
  static constexpr int kGroups = T.wn;
  static constexpr int kThreads = (kGroups + 1) * kWarpgroup;
  static constexpr int kRow = kBulkRowBytes;
  static constexpr int kBytesA = T.bm * kRow, kBytesB = T.bn * kRow;
  static constexpr int kStageBytes = kBytesA + kBytesB;
  static constexpr bool kColumnsOfB = false;
  static constexpr i64 kLds = gemmLds(kTarget, T, D);
  static_assert(T.bk * info(D).bits == kRow * 8 && T.bm % kGroupBoxRows == 0 &&
                T.wm == 1 && P::A::kKContiguous && P::B::kKContiguous &&
                P::A::kMem == D && P::B::kMem == D);
  using Ring = StageRing<kStages>;
  using Shared = ClusterShared<Cluster, kLds>;

  /// Addresses of the stages in LDS (A, then B), and what lies behind them.
  struct Stages {
    u32 base;

    HK_MEM explicit Stages(const Shared &lds) : base(bulkBase(lds.bytes)) {}
    HK_MEM u32 stageA(u32 stage) const { return base + stage * kStageBytes; }
    HK_MEM u32 stageB(u32 stage) const { return stageA(stage) + kBytesA; }
    HK_MEM u32 behind() const { return base + kStages * kStageBytes; }
  };
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_SWAPPED_CONFIG_H
