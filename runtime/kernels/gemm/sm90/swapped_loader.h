//===- swapped_loader.h - Operands of groups of some rows -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the copying warpgroup of swapped_groups.h brings: the operands as every
// loop of groups gets them, of A no more than the boxes that have rows, and the
// scales of the rows of A for the stage's k, a row a thread.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_SWAPPED_LOADER_H
#define HK_KERNELS_GEMM_SM90_SWAPPED_LOADER_H

#include "kernels/gemm/sm90/group_tiles.h"
#include "kernels/gemm/sm90/swapped_config.h"

namespace hk {

template <class Problem, int Cluster>
struct SwappedConfig : SwappedStages<Problem, Cluster> {
  using Base = SwappedStages<Problem, Cluster>;
  using Base::kGroups;
  using Base::kStages;
  using Base::T;
  static constexpr int kSlabPitch = T.bn + kSwappedPad;
  /// Those before it are accumulate.h's.
  static constexpr int kResultsBarrier = 4;
  static_assert(T.bn == 64 * kGroups && kGroups == 2);

  /// A row's scales of so many stages are brought at once.
  static constexpr int kScalesAtOnce = 4;

  /// Addresses in LDS: stages, two slabs of results, places for the scales of
  /// kScalesAtOnce stages, barriers.
  struct Layout : Base::Stages {
    using Base::Stages::Stages;
    HK_MEM u32 slab() const { return this->behind(); }
    HK_MEM u32 scales(u32 place) const {
      return slab() + 2 * kGroupBoxRows * kSlabPitch * 4 +
             place * T.bm * kScalesAtOnce * 4;
    }
    /// A stage has been filled; every consumer of the cluster has read it.
    HK_MEM LdsBarrier full(u32 stage) const { return {bars() + stage * 8}; }
    HK_MEM LdsBarrier empty(u32 stage) const {
      return {bars() + (kStages + stage) * 8};
    }

  private:
    HK_MEM u32 bars() const { return scales(kStages); }
  };
};

template <class Config, class Groups> struct SwappedLoader {
  using P = typename Config::P;
  using Rows = typename PickLoader<Config, Groups>::Type;
  static constexpr int kMaps = Rows::kMaps, kRegisters = 56;
  /// Every thread, and who asks the copy engine once more.
  static constexpr int kArrivals = kWarpgroup + 1;
  static constexpr int kEach = (Config::T.bm + kWarpgroup - 1) / kWarpgroup;

  const GemmArgs &args;
  const GroupArgs &groups;
  typename Config::Layout lds;
  Rows rows;
  int thread = threadId() % kWarpgroup;
  /// The rows of A whose scales the thread brings, -1 for none.
  int scaled[kEach];
  /// Of the next scales. A place is free when the stage is that was filled so
  /// many stages ago.
  u32 place = 0;

  HK_MEM SwappedLoader(const TensorMap *maps,
                       const typename Config::Layout &lds, const GemmArgs &args,
                       const GroupArgs &groups)
      : args(args), groups(groups), lds(lds),
        rows(pickedLoader<Config, Groups>(maps, lds, args, groups)) {}

  HK_MEM static bool works() { return true; }
  HK_MEM void begin(const WarpPlace &at) {
    rows.begin(at);
    if constexpr (P::kScaleA)
      HK_UNROLL for (int i = 0; i < kEach; ++i) {
        int place = at.row + thread + i * kWarpgroup;
        scaled[i] = -1;
        if (place < at.end && thread + i * kWarpgroup < Config::T.bm) {
          if constexpr (Groups::kGathered)
            scaled[i] = groups.rowOfPlace<Groups>(place, args.m);
          else
            scaled[i] = place;
        }
      }
  }

  HK_MEM void fill(const WarpPlace &at, int step, u32 stage) {
    if constexpr (P::kScaleA)
      if (step % Config::kScalesAtOnce == 0) {
        copyScales(at, step);
        place = place + 1 == Config::kStages ? 0 : place + 1;
      }
    if constexpr (Groups::kGathered) {
      rows.fill(at, step, stage);
    } else {
      if (thread == 0)
        rows.fill(at, step, stage);
      arriveAfterCopies(lds.full(stage));
    }
  }

  /// Nothing is under way when the block ends.
  HK_MEM void finish() {
    rows.finish();
    waitAllCopies();
  }

private:
  HK_MEM void copyScales(const WarpPlace &at, int step) const {
    constexpr int kAtOnce = Config::kScalesAtOnce;
    auto from = global<const u8>(args.a.fold.data);
    // Rows of scales are as long as k, and begin where they may.
    bool wide = (args.a.fold.strideRow | at.steps) % kAtOnce == 0 &&
                args.a.fold.data % 16 == 0;
    HK_UNROLL for (int i = 0; i < kEach; ++i) {
      if (scaled[i] < 0)
        continue;
      u32 to = lds.scales(place) + (thread + i * kWarpgroup) * kAtOnce * 4;
      auto own = from + (scaled[i] * args.a.fold.strideRow + step) * 4;
      if (wide)
        copyToLds16(to, own, true);
      else
        HK_UNROLL for (int e = 0; e < kAtOnce; ++e) if (step + e < at.steps)
            copyToLds4(to + e * 4, own + e * 4, true);
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_SWAPPED_LOADER_H
