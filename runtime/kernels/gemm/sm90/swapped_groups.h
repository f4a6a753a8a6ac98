//===- swapped_groups.h - Groups of some rows on sm_90a -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The warp-specialised loop where groups have some hundred rows each, as the
// experts of a prefill have. What such tiles get from the L2 cache is the
// limit, and half of the groups have a few rows more than a tile of 128, for
// which all of B is read again. So the roles are swapped: 64 rows of B per
// warpgroup are the rows of the instruction, and the rows of a group are its
// columns, as many of them as there are, in steps of 32. B is read once for a
// group, and nothing is multiplied that is not there.
//
// An accumulator's column has the scale of its row of A, so scales of A lie in
// LDS, of four stages together. What passes through LDS (group_box.h) is a
// warp's own, or, where both halves of a pair or a statistic's columns have to
// meet, those of all warps.
//
//   SwappedGroups<Problem, Groups, Cluster>: as GroupedWarpSpecialised
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_SWAPPED_GROUPS_H
#define HK_KERNELS_GEMM_SM90_SWAPPED_GROUPS_H

#include "kernels/gemm/sm90/accumulate.h"
#include "kernels/gemm/sm90/group_box.h"
#include "kernels/gemm/sm90/stages.h"
#include "kernels/gemm/sm90/swapped_loader.h"

namespace hk {

/// A multiplying warpgroup over the tiles of a block.
template <class Config, class Groups> class SwappedConsumer {
  using P = typename Config::P;
  using Acc = typename P::Acc;
  using Layout = typename Config::Layout;
  using Turn = Turns<Config>;
  static constexpr GemmTile T = Config::T;
  static constexpr int kThreads = Config::kGroups * kWarpgroup;
  static constexpr int kBoxes = T.bm / kGroupBoxRows;
  static constexpr int kPitch = Config::kSlabPitch;

public:
  HK_MEM SwappedConsumer(const GemmArgs &args, const GroupArgs &groups,
                         const Layout &lds, u8 *bytes, int group)
      : args(args), groups(groups), lds(lds),
        slabs(
            reinterpret_cast<Acc *>(bytes + (lds.slab() - ldsAddress(bytes)))),
        group(group) {}

  HK_MEM void begin() const { Turn::begin(group); }
  HK_MEM void end() const { Turn::end(group); }

  template <class Epilogue>
  HK_MEM void tile(const WarpPlace &at, u64 scalesOfB,
                   const Epilogue &epilogue) {
    tileOf<kBoxes>(boxesOf(at), at, scalesOfB, epilogue);
  }

private:
  /// The tile that is as wide as its rows need. One without rows has k, too.
  template <int Boxes, class Epilogue>
  HK_MEM void tileOf(int boxes, const WarpPlace &at, u64 scalesOfB,
                     const Epilogue &epilogue) {
    if constexpr (Boxes > 1)
      if (boxes < Boxes)
        return tileOf<Boxes - 1>(boxes, at, scalesOfB, epilogue);
    float d[Boxes * kGroupBoxRows / 2];
    multiply<Boxes * kGroupBoxRows>(at, scalesOfB, d);
    store<Boxes>(at, d, epilogue);
  }

  /// The scales along k of this warpgroup's rows of B, all of one block.
  HK_MEM Global<const float> rowOfB(const WarpPlace &at, u64 scalesOfB) const {
    i64 block = P::kPair ? (at.col + group * args.n) / 128 : at.col / 128;
    i64 most = ((P::kPair ? 2 : 1) * args.n - 1) / 128;
    return global<const float>(scalesOfB) +
           (block < most ? block : most) * args.b.fold.strideRow;
  }

  template <int N>
  HK_MEM void multiply(const WarpPlace &at, u64 scalesOfB, float (&d)[N / 2]) {
    using Product = WarpgroupProduct<Config::D, N>;
    HK_UNROLL for (auto &v : d) v = 0;
    if (at.steps == 0)
      return;
    auto b = rowOfB(at, scalesOfB);
    typename Product::Registers part;
    float next = P::kScaleB ? b[0] : 1;
    for (int step = 0; step < at.steps; ++step) {
      float ofB = next;
      Turn::take(group);
      arrived();
      Product::begin(
          part,
          operandDescriptor(lds.stageB(ring.stage) + group * 64 * Config::kRow),
          operandDescriptor(lds.stageA(ring.stage)), false);
      Turn::give(group);
      if constexpr (P::kScaleB)
        next = b[step + 1 < at.steps ? step + 1 : step];
      waitProducts<0>();
      Product::settle(part);
      int together = step % Config::kScalesAtOnce;
      add<N>(part, ofB, together, d);
      waveBarrier();
      release();
      ring.advance();
      if (together == Config::kScalesAtOnce - 1 || step + 1 == at.steps)
        place = place + 1 == Config::kStages ? 0 : place + 1;
    }
  }
  HK_MEM void arrived() const {
    lds.full(ring.stage).wait(ring.phase);
    // What threads have copied, the tensor cores see behind a fence.
    if constexpr (Groups::kGathered)
      publishToCopies();
  }

  /// d += part, times the scales of its rows of A and of B; `of` the stages
  /// that have their scales together.
  template <int N, class Part>
  HK_MEM void add(const Part &part, float ofB, int of,
                  float (&d)[N / 2]) const {
    constexpr int kBytes = Config::kScalesAtOnce * 4;
    u32 at = lds.scales(place) + of * 4 + laneId() % 4 * 2 * kBytes;
    HK_UNROLL for (int c = 0; c < N / 8; ++c) {
      float s[2] = {ofB, ofB};
      if constexpr (P::kScaleA)
        HK_UNROLL for (int e = 0; e < 2; ++e) s[e] *=
            bitCast<float>(loadLds4(at + (c * 8 + e) * kBytes));
      HK_UNROLL for (int i = 0; i < 4; ++i) d[c * 4 + i] =
          __builtin_fmaf(float(part[c * 4 + i]), s[i % 2], d[c * 4 + i]);
    }
  }

  /// The warp has read the stage: all blocks that filled it may know.
  HK_MEM void release() const {
    lds.empty(ring.stage).template arriveEverywhere<Config::kCluster>();
  }

  /// Results of a warp's columns alone meet in a slab of its own, where nobody
  /// waits for another; a pair's halves, and the columns that a statistic is
  /// of, are several warps'.
  template <class Epilogue>
  static constexpr bool kAlone = !P::kPair && Epilogue::kGroup == 0;
  static constexpr int kOwnColumns = 16, kOwnPitch = kOwnColumns + 4;
  /// Columns that eight rows of the instruction are.
  static constexpr int kBelow = 8;
  static_assert(kGroupBoxRows * kOwnPitch * 4 * (kThreads / kWave) <=
                2 * kGroupBoxRows * kPitch * 4);

  template <int Boxes, class Epilogue>
  HK_MEM void store(const WarpPlace &at,
                    const float (&d)[Boxes * kGroupBoxRows / 2],
                    const Epilogue &epilogue) {
    // Not unrolled: the functor may be large.
    _Pragma("unroll 1") for (int box = 0; box < Boxes; ++box) {
      if constexpr (kAlone<Epilogue>) {
        Acc *slab = slabs + waveId() * (kGroupBoxRows * kOwnPitch);
        waveBarrier();
        HK_UNROLL for (int b = 0; b < Boxes; ++b) if (b == box)
            writeGroupBox<kOwnPitch, kBelow>(slab, d, b);
        waveBarrier();
        storeBox<kOwnPitch, kOwnColumns, kWave>(at, box, waveId() * kOwnColumns,
                                                laneId(), slab, epilogue);
      } else {
        Acc *slab = slabs + slabNext * (kGroupBoxRows * kPitch);
        slabNext ^= 1;
        HK_UNROLL for (int b = 0; b < Boxes; ++b) if (b == box)
            writeGroupBox<kPitch, kBelow>(slab + waveId() * kOwnColumns, d, b);
        // Who writes here again has met all at the next slab's barrier.
        barrierOfSome<Config::kResultsBarrier, kThreads>();
        storeBox<kPitch, P::kCols, kThreads>(at, box, 0, threadId(), slab,
                                             epilogue);
      }
    }
  }
  /// Columns of the tile from `firstColumn` on, by Threads threads.
  template <int Pitch, int Columns, int Threads, class Epilogue>
  HK_MEM void storeBox(const WarpPlace &at, int box, int firstColumn,
                       int thread, const Acc *slab,
                       const Epilogue &epilogue) const {
    storeGroupBox<P, Groups, Pitch, Columns, Threads, P::kCols>(
        args, groups, at, box, firstColumn, thread, slab, epilogue);
  }

  const GemmArgs &args;
  const GroupArgs &groups;
  Layout lds;
  Acc *slabs;
  typename Config::Ring ring;
  int group, slabNext = 0;
  /// Of the scales of A.
  u32 place = 0;
};

template <class Problem, class Groups, int Cluster> struct SwappedGroups {
  using P = Problem;
  static_assert((Cluster == 1 || !Groups::kGathered) &&
                Groups::kForm != GroupForm::Blocks);
  using Config = SwappedConfig<P, Cluster>;
  using Shared = typename Config::Shared;
  using Layout = typename Config::Layout;
  using Loader = SwappedLoader<Config, Groups>;
  static constexpr int kThreads = Config::kThreads;
  static constexpr GemmTile T = Config::T;
  static_assert(P::A::kGathered == Groups::kGathered && T.splitK == 1);

  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, const GroupArgs &groups,
                         const TensorMap *maps, BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    Layout lds(shared);
    beginStages<Config, Loader>(maps, lds);
    GroupTilesOf<Config, Groups> tiles(args, groups, block.x);
    int group = threadId() / kWarpgroup;
    constexpr int own = Loader::kRegisters,
                  others = registersBeside(own, Config::kGroups);
    if (group == Config::kGroups) {
      giveRegisters<own>();
      Loader loader(maps, lds, args, groups);
      typename Config::Ring ring;
      fillStages(ring, tiles, loader, lds);
      loader.finish();
    } else {
      takeRegisters<others>();
      SwappedConsumer<Config, Groups> consumer(args, groups, lds, shared.bytes,
                                               group);
      consumer.begin();
      for (WarpPlace at; tiles.take(at);)
        consumer.tile(at, tiles.scalesOfB(at), epilogue);
      consumer.end();
    }
    endStages<Cluster>();
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_SWAPPED_GROUPS_H
