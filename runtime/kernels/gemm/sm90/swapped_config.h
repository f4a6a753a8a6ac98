//===- swapped_config.h - Groups as columns of the instruction -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the swapped loops over groups of rows know of their tile besides its
// stages: rows of B are those of the instruction. A loop adds what lies behind
// the stages in LDS.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_SWAPPED_CONFIG_H
#define HK_KERNELS_GEMM_SM90_SWAPPED_CONFIG_H

#include "kernels/gemm/sm90/config.h"

namespace hk {

template <class Problem, int Cluster>
struct SwappedStages : StagedTile<Problem, Cluster, GemmLoop::WarpSpecialised> {
  using Base = StagedTile<Problem, Cluster, GemmLoop::WarpSpecialised>;
  using P = Problem;
  using Base::D;
  using Base::T;
  static constexpr OneMatrix kOne = OneMatrix::OfA;
  static constexpr int kSharersOfA = Cluster, kSharersOfB = 1;
  static constexpr int kGroups = T.wn;
  static constexpr int kThreads = (kGroups + 1) * kWarpgroup;
  static constexpr bool kColumnsOfB = false;
  static_assert(T.bm % kGroupBoxRows == 0 && T.wm == 1 && P::B::kKContiguous &&
                P::B::kMem == D);
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_SWAPPED_CONFIG_H
