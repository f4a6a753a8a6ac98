//===- warp_specialised.h - Matrix product of sm_90a -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks stay and take one tile after the other. One warpgroup copies (one of
// its threads does all of it), the others multiply 64 rows each; they meet at
// two barriers per stage only, so that the copies of the next tile run under
// the epilogue of this one. The blocks of a cluster share B, each brings a part
// of it to all.
//
//   WarpSpecialised<Problem, Cluster, SharedB>::run(args, maps, block, shared,
//                                                   epilogue)
//   Grid: a multiple of Cluster in x.
//   maps: A, B and, for boxes, the result.
//   epilogue: a functor of vectors (problem.h) or of boxes (box_epilogue.h).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_WARP_SPECIALISED_H
#define HK_KERNELS_GEMM_SM90_WARP_SPECIALISED_H

#include "kernels/gemm/schedule.h"
#include "kernels/gemm/sm90/accumulate.h"
#include "kernels/gemm/sm90/box_epilogue.h"
#include "kernels/gemm/sm90/bulk_loader.h"
#include "kernels/gemm/sm90/slab_epilogue.h"

namespace hk {

/// Sums in the instruction are exact enough but for fp8, and take no scales.
template <class Config>
inline constexpr bool kFolds =
    Config::P::kScale != KScale::None || isFp8(Config::D);
template <class Config, bool Folds = kFolds<Config>> struct PickSum {
  using Type = StraightSum<Config>;
};
template <class Config> struct PickSum<Config, true> {
  using Type = FoldedSum<Config>;
};

template <class Config, class Epilogue> struct PickEpilogue {
  using Type = SlabEpilogue<Config>;
};
template <class Config, class Epilogue>
  requires requires { typename Epilogue::BoxElement; }
struct PickEpilogue<Config, Epilogue> {
  using Type = BoxEpilogue<Config>;
};

template <class Problem, int Cluster, bool SharedB> struct WarpSpecialised {
  using P = Problem;
  using Config = WarpConfig<P, Cluster, SharedB>;
  using Shared = typename Config::Shared;
  using Layout = typename Config::Layout;
  using Sum = typename PickSum<Config>::Type;
  static constexpr int kThreads = Config::kThreads;
  static constexpr GemmTile T = Config::T;

  /// Which tiles the block takes.
  struct Tiles {
    PersistentSchedule schedule;
    const GemmArgs &args;
    u32 rank;
    u32 next, stride;

    HK_MEM Tiles(const GemmArgs &args, u32 rank, u32 block)
        : args(args), rank(rank), next(block / Cluster),
          stride(blockCountX() / Cluster) {
      constexpr int rows = T.bm * Cluster;
      schedule = {u32((args.m + rows - 1) / rows),
                  u32((args.n + P::kCols - 1) / P::kCols),
                  u32(args.batches * T.splitK)};
    }
    HK_MEM bool take(WarpPlace &at) {
      if (next >= schedule.count())
        return false;
      TileWork work = schedule.at(next);
      next += stride;
      KRange k = rangeOfK<P>(args, work.matrix);
      at = {int(work.matrix), int((work.m * Cluster + rank) * T.bm),
            int(work.n * P::kCols), int(k.begin),
            int((k.end - k.begin + T.bk - 1) / T.bk)};
      return true;
    }
  };

  HK_MEM static void begin(const TensorMap *maps, const Layout &lds) {
    if (threadId() == 0) {
      maps[0].prefetch();
      maps[1].prefetch();
      HK_UNROLL for (int s = 0; s < Config::kStages; ++s) {
        lds.full(s).init(1);
        // A warp arrives once at every block of the cluster.
        lds.empty(s).init(Cluster * Config::kGroups * 4);
      }
      publishBarriers();
    }
    if constexpr (Cluster > 1) {
      clusterArrive();
      clusterWait();
    } else {
      barrier();
    }
    beginAfterLast();
  }

  HK_MEM static void produce(Tiles &tiles, const BulkLoader<Config> &loader) {
    typename Config::Ring ring;
    for (WarpPlace at; tiles.take(at);)
      for (int step = 0; step < at.steps; ++step) {
        // The first round finds all stages empty.
        loader.lds.empty(ring.stage).wait(ring.phase ^ 1);
        loader.fill(at, step, ring.stage);
        ring.advance();
      }
  }

  template <class Epilogue>
  HK_MEM static void consume(Tiles &tiles, const TensorMap *maps,
                             const Layout &lds, u8 *bytes, int group,
                             const Epilogue &epilogue) {
    using Results = typename PickEpilogue<Config, Epilogue>::Type;
    StageReader<Config> reader = {lds, {}, group};
    int warp = waveId() % 4;
    u8 *slab = bytes + (lds.slab(group * 4 + warp) - ldsAddress(bytes));
    typename Sum::Total d;
    for (WarpPlace at; tiles.take(at);) {
      Sum::run(reader, tiles.args, at, d);
      at.row += group * 64 + warp * 16;
      Results::run(d, at, tiles.args, maps, slab, epilogue);
    }
    Results::finish();
  }

  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, const TensorMap *maps,
                         BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    Layout lds(shared);
    begin(maps, lds);
    u32 rank = Cluster > 1 ? clusterRank() : 0;
    Tiles tiles(args, rank, block.x);
    int group = threadId() / kWarpgroup;
    if (group == Config::kGroups) {
      giveRegisters<24>();
      if (threadId() % kWarpgroup == 0)
        produce(tiles, {maps, lds, rank, int(args.n), int(args.batches)});
    } else {
      takeRegisters<240>();
      consume(tiles, maps, lds, shared.bytes, group, epilogue);
    }
    // Nobody ends while another may still arrive at its barriers.
    if constexpr (Cluster > 1) {
      clusterArrive();
      clusterWait();
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_WARP_SPECIALISED_H
