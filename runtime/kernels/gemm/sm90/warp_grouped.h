//===- warp_grouped.h - Product of groups of rows of sm_90a -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The warp-specialised loop over the tiles of groups of rows: the matrix of B
// is that of the group; rows of A lie as the groups do and come by the copy
// engine, or an order names them; with blocks of places it names those of the
// result, too. A tile of rows that have no group has no k, and its epilogue,
// called with matrix -1, must take the product for 0.
//
//   GroupedWarpSpecialised<Problem, Groups, Cluster>::run(args, groups, maps,
//   block,
//                                                shared, epilogue)
//   maps: A, unless an order names its rows, and B.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_WARP_GROUPED_H
#define HK_KERNELS_GEMM_SM90_WARP_GROUPED_H

#include "kernels/gemm/sm90/swapped_codes.h"
#include "kernels/gemm/sm90/swapped_groups.h"
#include "kernels/gemm/sm90/swapped_wide.h"
#include "kernels/gemm/sm90/unnamed_rows.h"
#include "kernels/gemm/sm90/warp_loop.h"

namespace hk {

/// Cluster: blocks of neighbouring columns, which share the rows of A.
template <class Problem, class Groups, int Cluster>
struct GroupedWarpSpecialised {
  using P = Problem;
  static_assert(Cluster == 1 || !Groups::kGathered);
  using Config = WarpConfig<P, Cluster, OneMatrix::OfA, Shares::A>;
  using Shared = typename Config::Shared;
  using Loader = typename PickLoader<Config, Groups>::Type;
  using Loop = WarpLoop<Config, Loader>;
  static constexpr int kThreads = Config::kThreads;
  static constexpr GemmTile T = Config::T;
  static_assert(P::A::kGathered == Groups::kGathered && T.splitK == 1);

  /// Which tiles the block takes, and their rows.
  struct Tiles : GroupTilesOf<Config, Groups> {
    using GroupTilesOf<Config, Groups>::GroupTilesOf;

    HK_MEM auto rowsOf(const WarpPlace &at, int first) const {
      if constexpr (Groups::kGathered) {
        int place = at.row + first + laneId() % 16;
        return GatheredRows(
            at, first,
            place < at.end
                ? this->groups.template rowOfPlace<Groups>(place, this->args.m)
                : -1);
      } else {
        return PlaceRows(at, first);
      }
    }
  };

  /// The same of blocks, and before them the block's share of the rows that
  /// no place names.
  struct ScatteredTiles : Tiles {
    UnnamedRows<Config, Groups> unnamed;
    bool isUnnamed = false;

    HK_MEM ScatteredTiles(const GemmArgs &args, const GroupArgs &groups,
                          u32 block, u8 *flags)
        : Tiles(args, groups, block), unnamed(args, groups, block, flags) {}

    HK_MEM bool takeResults(WarpPlace &at) {
      isUnnamed = unnamed.take(at);
      return isUnnamed || this->take(at);
    }
    HK_MEM ScatteredRows<Groups::kTopK> rowsOf(const WarpPlace &at,
                                               int first) const {
      if (isUnnamed)
        return unnamed.rowsOf(at, first);
      int place = at.row + first + laneId() % 16;
      i64 row = place < at.end ? this->groups.orderAt(place) : -1;
      return {at.matrix, row < this->args.m * Groups::kTopK ? int(row) : -1};
    }
  };

  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, const GroupArgs &groups,
                         const TensorMap *maps, BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    typename Config::Layout lds(shared);
    Loop::begin(maps, lds);
    u8 *flags = shared.bytes + (lds.slab(0) - ldsAddress(shared.bytes));
    auto tiles = [&] {
      if constexpr (Groups::kForm == GroupForm::Blocks)
        return ScatteredTiles(args, groups, block.x, flags);
      else
        return Tiles(args, groups, block.x);
    }();
    Loop::run(tiles, pickedLoader<Config, Groups>(maps, lds, args, groups),
              args, maps, lds, shared.bytes, epilogue);
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_WARP_GROUPED_H
