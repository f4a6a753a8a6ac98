//===- warp_loop.h - The loop of warp-specialised products -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks stay and take one tile after the other. One warpgroup copies, the
// others multiply 64 rows each; they meet at two barriers per stage only, so
// that the copies of the next tile run under the epilogue of this one. Which
// tiles (a schedule), how the operands come (a loader) and what is stored (an
// epilogue) are others' business:
//
//   tiles.take(place)           the block's next tile, false behind the last
//   tiles.takeResults(place)    the same for who stores, where that is more
//   tiles.rowsOf(place, first)  rows first to first + 15 of that tile (rows.h)
//   tiles.scalesOfB(place)      address of the scales along k of its matrix
//   tiles.takeHalf(place)       if it has halves (half_tiles.h): the block's
//                               only one, behind its tiles
//   loader                      bulk_loader.h
//   epilogue                    a functor of vectors (problem.h), of boxes
//                               (box_epilogue.h) or of rows (row_epilogue.h)
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_WARP_LOOP_H
#define HK_KERNELS_GEMM_SM90_WARP_LOOP_H

#include "kernels/gemm/sm90/accumulate.h"
#include "kernels/gemm/sm90/box_epilogue.h"
#include "kernels/gemm/sm90/bulk_loader.h"
#include "kernels/gemm/sm90/half_tiles.h"
#include "kernels/gemm/sm90/row_epilogue.h"
#include "kernels/gemm/sm90/slab_epilogue.h"
#include "kernels/gemm/sm90/stages.h"
#include "kernels/gemm/sm90/tile_sender.h"

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

template <class Epilogue>
concept StoresRounded = requires { typename Epilogue::BoxElement; };
template <class Epilogue>
concept StoresRoundedRows =
    StoresRounded<Epilogue> && requires { &Epilogue::storeEight; };
template <class Config, class Epilogue> struct PickEpilogue {
  using Type = SlabEpilogue<Config>;
};
template <class Epilogue>
concept ReadsBoxes = requires { typename Epilogue::ReadElement; };
template <class Config, class Epilogue>
  requires StoresRounded<Epilogue>
struct PickEpilogue<Config, Epilogue> {
  using Type = BoxEpilogue<Config, ReadsBoxes<Epilogue>, SendsTiles<Epilogue>>;
};
template <class Config, class Epilogue>
  requires StoresRoundedRows<Epilogue>
struct PickEpilogue<Config, Epilogue> {
  using Type = RowEpilogue<Config>;
};

template <class Config, class Loader> struct WarpLoop {
  using Layout = typename Config::Layout;
  using Sum = typename PickSum<Config>::Type;

  template <bool Sends = false>
  HK_MEM static void begin(const TensorMap *maps, const Layout &lds) {
    beginStages<Config, Loader>(
        maps, lds, [&]() __attribute__((always_inline)) {
          HK_UNROLL for (int warp = 0; warp < Config::kGroups * 4; ++warp)
              HK_UNROLL for (int place = 0; place < 2; ++place)
                  lds.read(warp, place)
                      .init(1);
          if constexpr (Sends)
            lds.stored().init();
        });
  }

  template <class Tiles, class Epilogue>
  HK_MEM static void run(Tiles &tiles, Loader &&loader, const GemmArgs &args,
                         const TensorMap *maps, const Layout &lds, u8 *bytes,
                         const Epilogue &epilogue) {
    // Of two warpgroups each has all the registers that it can have.
    static_assert(Config::kGroups <= 2);
    using Sender = TileSender<Config, SendsTiles<Epilogue>>;
    constexpr int own = Loader::kRegisters > Sender::kRegisters
                            ? Loader::kRegisters
                            : Sender::kRegisters;
    constexpr int registers = registersBeside(own, Config::kGroups);
    int group = threadId() / kWarpgroup;
    if (group == Config::kGroups) {
      if constexpr (Config::kGroups > 1)
        giveRegisters<own>();
      if (threadId() % kWarpgroup < Loader::kThreads)
        produce(tiles, loader, lds);
      else
        Sender::run(tiles, args, lds, epilogue);
    } else {
      if constexpr (Config::kGroups > 1)
        takeRegisters<registers>();
      consume(tiles, args, maps, lds, bytes, group, epilogue);
    }
    endStages<Config::kCluster>();
  }

private:
  template <class Tiles>
  HK_MEM static void produce(Tiles &tiles, Loader &loader, const Layout &lds) {
    typename Config::Ring ring;
    fillStages(ring, tiles, loader, lds);
    if constexpr (requires { &Tiles::takeHalf; })
      if (WarpPlace at; tiles.takeHalf(at) && loader.works())
        for (int step = 0; step < at.steps; ++step) {
          lds.empty(ring.stage).wait(ring.phase ^ 1);
          loader.template fill<true>(at, step, ring.stage);
          ring.advance();
        }
    loader.finish();
  }

  template <class Tiles>
  HK_MEM static bool takeResults(Tiles &tiles, WarpPlace &at) {
    if constexpr (requires { tiles.takeResults(at); })
      return tiles.takeResults(at);
    else
      return tiles.take(at);
  }

  template <class Tiles, class Rows>
  HK_MEM static ScalePlace scalesOf(const Tiles &tiles, const Rows &rows,
                                    const WarpPlace &at) {
    if constexpr (Config::P::kScale == KScale::None)
      return {};
    else
      return {{rows.rowOfA(laneId() / 4), rows.rowOfA(laneId() / 4 + 8)},
              tiles.scalesOfB(at)};
  }

  template <class Tiles, class Epilogue>
  HK_MEM static void consume(Tiles &tiles, const GemmArgs &args,
                             const TensorMap *maps, const Layout &lds,
                             u8 *bytes, int group, const Epilogue &epilogue) {
    using Results = typename PickEpilogue<Config, Epilogue>::Type;
    StageReader<Config> reader = {lds, {}, group};
    int warp = waveId() % 4;
    u8 *slab = bytes + (lds.slab(group * 4 + warp) - ldsAddress(bytes));
    Results results(lds, maps, group * 4 + warp);
    typename Sum::Total d;
    Sum::beginTiles(group);
    for (WarpPlace at; takeResults(tiles, at);) {
      auto rows = tiles.rowsOf(at, group * 64 + warp * 16);
      results.begin(rows, at.col);
      Sum::run(reader, args, at, scalesOf(tiles, rows, at), d);
      if (rows.any())
        results.run(d, rows, at.col, args, slab, epilogue);
    }
    if constexpr (requires { &Tiles::takeHalf; })
      if (WarpPlace at; tiles.takeHalf(at))
        consumeHalf<typename PickSum<HalfConfig<Config>>::Type,
                    typename PickEpilogue<HalfConfig<Config>, Epilogue>::Type>(
            reader, tiles, at,
            scalesOf(tiles, tiles.rowsOf(at, group * 64 + warp * 16), at),
            group * 4 + warp, args, maps, slab, epilogue);
    Sum::endTiles(group);
    results.finish();
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_WARP_LOOP_H
