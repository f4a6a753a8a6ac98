//===- warp_specialised.h - Matrix product of sm_90a -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The warp-specialised loop over the tiles of a matrix, or of a batch of them.
// The blocks of a cluster share B, each brings a part of it to all.
//
//   WarpSpecialised<Problem, Cluster, SharedB>::run(args, maps, block, shared,
//                                                   epilogue)
//   Grid: a multiple of Cluster in x.
//   maps: A, B and, for boxes, the result.
//   SharedB: all matrices of a batch are multiplied by one B.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_WARP_SPECIALISED_H
#define HK_KERNELS_GEMM_SM90_WARP_SPECIALISED_H

#include "kernels/gemm/schedule.h"
#include "kernels/gemm/sm90/warp_loop.h"

namespace hk {

template <class Problem, int Cluster, bool SharedB> struct WarpSpecialised {
  using P = Problem;
  using Config =
      WarpConfig<P, Cluster, SharedB ? OneMatrix::OfB : OneMatrix::None>;
  using Shared = typename Config::Shared;
  using Loader = BulkLoader<Config>;
  using Loop = WarpLoop<Config, Loader>;
  static constexpr int kThreads = Config::kThreads;
  static constexpr GemmTile T = Config::T;

  /// Rows of a tile of a cluster.
  static constexpr int kRows = T.bm * Cluster;

  /// Whether the last tile of rows may begin early enough to be full, and store
  /// rows of the one before it a second time: the copy engine takes five times
  /// as long for rows of a box that do not exist. What is read where it stores
  /// would be read twice; what is computed beside 256 columns needs the
  /// registers.
  template <class Epilogue>
  static constexpr bool kFillsTiles =
      StoresRounded<Epilogue> && !StoresRoundedRows<Epilogue> &&
      !ReadsBoxes<Epilogue> && !SendsTiles<Epilogue> &&
      (T.bn < 256 || requires { Epilogue::kRounds; });

  /// Which tiles the block takes.
  template <class Schedule, bool Fills> struct WholeTiles {
    Schedule schedule;
    const GemmArgs &args;
    u32 rank;
    u32 next;

    HK_MEM WholeTiles(const Schedule &schedule, const GemmArgs &args, u32 rank,
                      u32 block)
        : schedule(schedule), args(args), rank(rank), next(block / Cluster) {}
    /// Clusters of the launch, read when asked: a register less to keep.
    HK_MEM static u32 clusters() { return freshBlockCountX() / Cluster; }
    /// What follows from a number of rows that only a launch knows is computed
    /// for every tile: registers that keep it would spill, some of them within
    /// the loop over k.
    HK_MEM Schedule order() const {
      Schedule s = schedule;
      if constexpr (__is_same(Schedule, PersistentSchedule))
        if (!__builtin_constant_p(args.m))
          s.mTiles = (opaqueWord(u32(args.m)) + kRows - 1) / kRows;
      return s;
    }
    HK_MEM bool take(WarpPlace &at) { return takeBefore(at, order().count()); }
    HK_MEM bool takeBefore(WarpPlace &at, u32 end) {
      if (next >= end)
        return false;
      TileWork work = order().at(next);
      next += clusters();
      KRange k = rangeOfK<P>(args, work.matrix);
      int row = int((work.m * Cluster + rank) * T.bm);
      if constexpr (Fills) {
        int last = int(args.m) - T.bm;
        last = last < 0 ? 0 : last;
        row = row < last ? row : last;
      }
      at = {int(work.matrix), row,
            int(args.m),      int(work.n * P::kCols),
            int(k.begin),     int((k.end - k.begin + T.bk - 1) / T.bk)};
      return true;
    }
    HK_MEM MatrixRows rowsOf(const WarpPlace &at, int first) const {
      return {at, first};
    }
    HK_MEM u64 scalesOfB(const WarpPlace &) const { return args.b.fold.data; }
  };

  /// The same with halves of those that a last round would have few of, in a
  /// launch of as many clusters as the chip holds. Of tiles that are not pairs'
  /// their number has to be known: registers for what depends on it would
  /// spill.
  template <class Schedule, bool Fills>
  struct HalvedTiles : WholeTiles<Schedule, Fills> {
    using Whole = WholeTiles<Schedule, Fills>;
    using Whole::clusters, Whole::next, Whole::schedule;
    static constexpr u32 kClusters = u32(residentClusters(kTarget, Cluster));

    /// Asked once, so that all warps have the same answer.
    bool counts;

    HK_MEM HalvedTiles(const Schedule &schedule, const GemmArgs &args, u32 rank,
                       u32 block)
        : Whole(schedule, args, rank, block) {
      u32 count = schedule.count();
      counts = P::kPair || __builtin_constant_p(count);
    }
    HK_MEM HalvedRound round() const { return {schedule.count(), kClusters}; }
    HK_MEM bool hasHalves() const { return counts && clusters() == kClusters; }
    HK_MEM bool take(WarpPlace &at) {
      return Whole::takeBefore(at, hasHalves() ? round().first
                                               : Whole::order().count());
    }
    HK_MEM bool takeHalf(WarpPlace &at) {
      if (!hasHalves())
        return false;
      u32 half = next - round().first;
      if (half >= round().halves)
        return false;
      next = round().first + half / 2;
      if (!Whole::take(at))
        return false;
      at.col += half % 2 * (P::kCols / 2);
      return true;
    }
  };

  template <class Schedule, bool Fills, bool Halves> struct PickTiles {
    using Type = WholeTiles<Schedule, Fills>;
  };
  template <class Schedule, bool Fills>
  struct PickTiles<Schedule, Fills, true> {
    using Type = HalvedTiles<Schedule, Fills>;
  };

  template <class Epilogue>
  HK_MEM static auto scheduleOf(const GemmArgs &args,
                                const Epilogue &epilogue) {
    u32 mTiles = u32((args.m + kRows - 1) / kRows),
        nTiles = u32((args.n + P::kCols - 1) / P::kCols);
    if constexpr (SendsTiles<Epilogue>) {
      static_assert(T.splitK == 1);
      u32 split = u32(epilogue.split() / kRows);
      return SplitSchedule{mTiles, nTiles, split < mTiles ? split : mTiles,
                           epilogue.ownsFirst()};
    } else {
      return PersistentSchedule{mTiles, nTiles, u32(args.batches * T.splitK)};
    }
  }

  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, const TensorMap *maps,
                         BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    typename Config::Layout lds(shared);
    Loop::template begin<SendsTiles<Epilogue>>(maps, lds);
    u32 rank = Cluster > 1 ? clusterRank() : 0;
    auto schedule = scheduleOf(args, epilogue);
    using Schedule = decltype(schedule);
    using Results = typename PickEpilogue<Config, Epilogue>::Type;
    using Tiles = typename PickTiles<Schedule, kFillsTiles<Epilogue>,
                                     kHasHalves<Config, Results>>::Type;
    Tiles tiles(schedule, args, rank, block.x);
    Loop::run(tiles, Loader(maps, lds, rank, args), args, maps, lds,
              shared.bytes, epilogue);
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_WARP_SPECIALISED_H
