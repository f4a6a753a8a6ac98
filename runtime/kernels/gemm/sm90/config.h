//===- config.h - Constants of a warp-specialised product -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the parts of the kernel agree on: sizes, the layout of LDS and the ring
// of stages.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_CONFIG_H
#define HK_KERNELS_GEMM_SM90_CONFIG_H

#include "kernels/device/copy/tma.h"
#include "kernels/device/tile/wgmma.h"
#include "kernels/gemm/gpu.h"

namespace hk {

/// The stage that is next, and the phase of its barriers.
template <int STAGES> struct StageRing {
  u32 stage = 0, phase = 0;

  HK_MEM void advance() {
    if (++stage == STAGES) {
      stage = 0;
      phase ^= 1;
    }
  }
};

/// Which operands have one matrix for all of a batch; of groups of rows it is
/// A.
enum class OneMatrix { None, OfA, OfB };

/// What the blocks of a cluster share: neighbours along m a tile of B, along n
/// one of A.
enum class Shares { B, A };

/// The LDS of a block; kCluster is what a launch reads, 0 where blocks are on
/// their own.
template <int Cluster, i64 Bytes> struct ClusterShared {
  static constexpr int kCluster = Cluster > 1 ? Cluster : 0;
  u8 bytes[Bytes];
};

/// V sums of a row of a slab; such places are multiples of 16 bytes apart.
template <int V, class Acc> HK_DEV Vec<Acc, V> readSlab(const Acc *from) {
  constexpr int kAtOnce = V < 4 ? V : 4;
  Vec<Acc, V> v;
  HK_UNROLL for (int i = 0; i < V; i += kAtOnce) {
    auto part = *reinterpret_cast<const Vec<Acc, kAtOnce> *>(from + i);
    HK_UNROLL for (int e = 0; e < kAtOnce; ++e) v[i + e] = part[e];
  }
  return v;
}

/// A tile whose operands come in stages of rows of A and of B. Cluster: blocks
/// that share it.
template <class Problem, int Cluster, GemmLoop Loop> struct StagedTile {
  using P = Problem;
  static constexpr GemmTile T = {P::kTile.bm,     P::kTile.bn, P::kTile.bk,
                                 P::kTile.wm,     P::kTile.wn, P::kTile.stages,
                                 P::kTile.splitK, Loop,        Cluster};
  static constexpr DType D = P::kOperand;
  static constexpr int kCluster = Cluster, kStages = T.stages;
  /// Bytes of k in a stage: what the swizzle of the copy engine spans.
  static constexpr int kRow = kBulkRowBytes;
  static constexpr int kBytesA = T.bm * kRow, kBytesB = T.bn * kRow;
  static constexpr int kStageBytes = kBytesA + kBytesB;
  static constexpr i64 kLds = gemmLds(kTarget, T, D);
  static_assert(T.bk * info(D).bits == kRow * 8 && P::A::kKContiguous &&
                P::A::kMem == D);
  /// Whether warpgroups take turns (accumulate.h). What is a part of a tile, as
  /// half of one (half_tiles.h), does as the tile, around which turns begin.
  static constexpr bool kTakesTurns =
      P::kScale != KScale::None && T.bn <= kFoldedAtOnce;
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

template <class Problem, int Cluster, OneMatrix OneT,
          Shares SharesT = Shares::B>
struct WarpConfig : StagedTile<Problem, Cluster, GemmLoop::WarpSpecialised> {
  using Base = StagedTile<Problem, Cluster, GemmLoop::WarpSpecialised>;
  using P = Problem;
  using Base::D;
  using Base::kRow;
  using Base::kStages;
  using Base::T;
  static constexpr OneMatrix kOne = OneT;
  /// Blocks that share a tile of A, and of B.
  static constexpr int kSharersOfA = SharesT == Shares::A ? Cluster : 1;
  static constexpr int kSharersOfB = SharesT == Shares::B ? Cluster : 1;
  /// Whether a tile may have no k at all: of a slice, or places behind the last
  /// group.
  static constexpr bool kMayBeEmpty = T.splitK > 1 || kOne == OneMatrix::OfA;
  /// Warpgroups that multiply, 64 rows each; one more copies.
  static constexpr int kGroups = T.wm;
  static constexpr int kThreads = (kGroups + 1) * kWarpgroup;
  static_assert(T.bm == 64 * kGroups && T.wn == 1 && P::B::kMem == D);

  /// B lies in a stage as rows along k, or as panels of kBulkPanelColumns.
  static constexpr bool kColumnsOfB = !P::B::kKContiguous;
  using Product = WarpgroupProduct<D, T.bn, kColumnsOfB>;
  HK_MEM static u64 descriptorOfB(u32 at) {
    return kColumnsOfB ? transposedDescriptor(at, T.bk * kRow)
                       : operandDescriptor(at);
  }
  using Registers = typename Product::Registers;

  /// Addresses in LDS: stages, a slab for each warp that multiplies, barriers.
  struct Layout : Base::Stages {
    using Base::Stages::Stages;
    HK_MEM u32 slab(int warp) const {
      return this->behind() + warp * kBulkSlabBytes;
    }
    /// A stage has been filled; every consumer of the cluster has read it.
    HK_MEM LdsBarrier full(u32 stage) const { return {bars() + stage * 8}; }
    HK_MEM LdsBarrier empty(u32 stage) const {
      return {bars() + (kStages + stage) * 8};
    }
    /// What a multiplying warp asked for is in place 0 or 1 of its slab.
    HK_MEM LdsBarrier read(int warp, int place) const {
      return {bars() + (2 * kStages + 2 * warp + place) * 8};
    }
    /// Tiles that have been stored, times warps that multiply, where nothing is
    /// read.
    HK_MEM LdsCount stored() const { return {read(0, 0).at}; }

  private:
    HK_MEM u32 bars() const { return slab(kGroups * 4); }
  };
};

/// What one block computes of a tile: its corner in the result, the end of the
/// matrix' (or group's) rows and its part of k, in stages. The coordinates of
/// boxes have 32 bits (the runtime checks the sizes), and registers are scarce.
struct WarpPlace {
  int matrix, row, end, col, k0, steps;
};

/// The boxes of BoxRows rows that a tile's rows are in; with `most` no more.
template <int BoxRows = kGroupBoxRows> HK_DEV int boxesOf(const WarpPlace &at) {
  return (at.end - at.row + BoxRows - 1) / BoxRows;
}
template <int BoxRows = kGroupBoxRows>
HK_DEV int boxesOf(const WarpPlace &at, int most) {
  int boxes = boxesOf<BoxRows>(at);
  return boxes < most ? boxes : most;
}

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_CONFIG_H
