//===- swapped_wide.h - Groups of some hundred rows, no scales -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As swapped_groups.h, for operands of 16 bits, whose products add to what a
// warpgroup has, and for fp8 without scales along k: it multiplies two blocks
// of 64 rows of B, so a tile of 256 rows of B reads the rows of its group once
// for all of them, and a group of up to 160 rows reads its matrix once. Of a
// pair a warpgroup's two blocks are the two halves of the same columns.
//
// Results of a warpgroup meet in a slab of its own, so that lines of 64 columns
// are stored.
//
//   SwappedWide<Problem, Groups, Cluster>: as GroupedWarpSpecialised
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_SWAPPED_WIDE_H
#define HK_KERNELS_GEMM_SM90_SWAPPED_WIDE_H

#include "kernels/device/tile/wgmma_chain.h"
#include "kernels/gemm/sm90/announced_tiles.h"
#include "kernels/gemm/sm90/rounded_columns.h"
#include "kernels/gemm/sm90/stages.h"
#include "kernels/gemm/sm90/swapped_config.h"

namespace hk {

template <class Problem, int Cluster>
struct SwappedWideConfig : SwappedStages<Problem, Cluster> {
  using Base = SwappedStages<Problem, Cluster>;
  using P = Problem;
  using Base::D;
  using Base::kGroups;
  using Base::kStages;
  using Base::T;
  static_assert(isSwappedWide(T) && (info(D).bits == 16 || isFp8(D)) &&
                P::kScale == KScale::None);

  /// Rows of A whose results meet: of a pair both halves have room.
  static constexpr int kSlabRows = kGroupBoxRows / (P::kPair ? 2 : 1);
  static constexpr int kSlabPitch = kWideColumns + kSwappedPad;
  /// Those before it are accumulate.h's.
  static constexpr u32 kSlabBarrier = 4;

  /// Addresses in LDS: stages, a slab for each warpgroup that multiplies,
  /// barriers.
  struct Layout : Base::Stages {
    using Base::Stages::Stages;
    HK_MEM u32 slab(int group) const {
      return this->behind() + u32(group * kWideSlabBytes);
    }
    /// A stage has been filled; every consumer of the cluster has read it.
    HK_MEM LdsBarrier full(u32 stage) const { return {bars() + stage * 8}; }
    HK_MEM LdsBarrier empty(u32 stage) const {
      return {bars() + (kStages + stage) * 8};
    }

    /// Of a tile that is announced.
    HK_MEM LdsBarrier placeFull(u32 slot) const { return {bar(2 * slot)}; }
    HK_MEM LdsBarrier placeEmpty(u32 slot) const { return {bar(2 * slot + 1)}; }
    HK_MEM u32 place(u32 slot) const {
      return slab(kGroups) + slot * u32(kTilePlaceBytes);
    }

  private:
    HK_MEM u32 bars() const { return place(kTilePlaces); }
    HK_MEM u32 bar(u32 of) const { return bars() + (2 * kStages + of) * 8; }
  };
};

/// A multiplying warpgroup over the tiles of a block.
template <class Config, class Groups> class SwappedWideConsumer {
  using P = typename Config::P;
  using Layout = typename Config::Layout;
  static constexpr GemmTile T = Config::T;
  static constexpr int kBoxes = T.bm / kGroupBoxRows;
  static constexpr int kPitch = Config::kSlabPitch, kRows = Config::kSlabRows;
  /// Blocks of 64 rows of B, and rows between them.
  static constexpr int kBlocks = 2, kApart = 64 * Config::kGroups;
  /// Eight rows of B further on are columns.
  static constexpr int kBelow = 8;
  /// Columns of a product for whose sums there is room beside those of both
  /// blocks.
  static constexpr int kMostParts = 64;

public:
  HK_MEM SwappedWideConsumer(const GemmArgs &args, const GroupArgs &groups,
                             const Layout &lds, u8 *bytes, int group)
      : args(args), groups(groups), lds(lds),
        slab(reinterpret_cast<float *>(bytes +
                                       (lds.slab(group) - ldsAddress(bytes)))),
        group(group) {}

  template <class Epilogue> HK_MEM void tiles(const Epilogue &epilogue) {
    for (WarpPlace at; ring.take(lds, at);)
      if constexpr (RoundsColumns<Epilogue>)
        tileRounded(at, epilogue);
      else
        tileOf<kBoxes>(boxesOf(at), at, epilogue);
  }

private:
  /// The tile that is as wide as its rows need. One without rows has k, too.
  template <int Boxes, class Epilogue>
  HK_MEM void tileOf(int boxes, const WarpPlace &at, const Epilogue &epilogue) {
    if constexpr (Boxes > 1)
      if (boxes < Boxes)
        return tileOf<Boxes - 1>(boxes, at, epilogue);
    float d[kBlocks][Boxes * kGroupBoxRows / 2];
    multiply<Boxes * kGroupBoxRows>(at, d);
    store<Boxes>(at, d, epilogue);
  }

  template <class Epilogue>
  HK_MEM void tileRounded(const WarpPlace &at, const Epilogue &epilogue) {
    using Results = RoundedColumns<P, Groups, kApart, Epilogue>;
    static_assert(Results::kBytes <= kWideSlabBytes);
    Results results(args, groups, lds.slab(group), group,
                    Config::kSlabBarrier + u32(group), epilogue);
    results.begin(at);
    float d[kBlocks][Results::kSums];
    sumsOf<kBoxes>(boxesOf(at), at, d);
    results.run(d);
  }
  /// Those of a tile as wide as its rows need, of which the others have none.
  template <int Boxes, int Sums>
  HK_MEM void sumsOf(int boxes, const WarpPlace &at,
                     float (&d)[kBlocks][Sums]) {
    if constexpr (Boxes > 1)
      if (boxes < Boxes)
        return sumsOf<Boxes - 1>(boxes, at, d);
    float own[kBlocks][Boxes * kGroupBoxRows / 2];
    multiply<Boxes * kGroupBoxRows>(at, own);
    HK_UNROLL for (int m = 0; m < kBlocks; ++m)
        HK_UNROLL for (int i = 0; i < Boxes * kGroupBoxRows / 2; ++i) d[m][i] =
            own[m][i];
  }

  template <int N>
  HK_MEM void multiply(const WarpPlace &at, float (&d)[kBlocks][N / 2]) {
    HK_UNROLL for (int m = 0; m < kBlocks; ++m) HK_UNROLL for (auto &v : d[m])
        v = 0;
    if (at.steps == 0)
      return;
    if constexpr (isFp8(Config::D))
      addStages<N>(at, d);
    else
      chainStages<N>(at, d);
  }
  HK_MEM void arrived() const {
    lds.full(ring.stage).wait(ring.phase());
    // What threads have copied, the tensor cores see behind a fence.
    if constexpr (Groups::kGathered)
      publishToCopies();
  }
  HK_MEM u64 rowsOfB(int m) const {
    return operandDescriptor(lds.stageB(ring.stage) +
                             u32(m * kApart + group * 64) * Config::kRow);
  }

  /// Sums in the instruction; one stage is read while the one before may end.
  template <int N>
  HK_MEM void chainStages(const WarpPlace &at, float (&d)[kBlocks][N / 2]) {
    using Product = WarpgroupProduct<Config::D, N>;
    u32 last = 0;
    for (int step = 0; step < at.steps; ++step) {
      arrived();
      u64 rows = operandDescriptor(lds.stageA(ring.stage));
      HK_UNROLL for (int m = 0; m < kBlocks; ++m)
          Product::begin(d[m], rowsOfB(m), rows, true);
      waitProducts<kBlocks>();
      if (step > 0)
        release(last);
      last = ring.stage;
      ring.advance();
    }
    waitProducts<0>();
    HK_UNROLL for (int m = 0; m < kBlocks; ++m) Product::settle(d[m]);
    release(last);
  }

  /// Sums of a stage are added to f32 registers, which leave room for those of
  /// some of a block's columns: one warpgroup adds while the other multiplies.
  template <int N>
  HK_MEM void addStages(const WarpPlace &at, float (&d)[kBlocks][N / 2]) {
    constexpr int kTimes = N > kMostParts ? 2 : 1, kPart = N / kTimes;
    using Product = WarpgroupProduct<Config::D, kPart>;
    static_assert(kPart % 8 == 0, "rows of an operand begin at multiples of 8");
    typename Product::Registers part;
    for (int step = 0; step < at.steps; ++step) {
      arrived();
      HK_UNROLL for (int x = 0; x < kBlocks * kTimes; ++x) {
        int m = x / kTimes, first = x % kTimes * kPart;
        Product::begin(part, rowsOfB(m),
                       operandDescriptor(lds.stageA(ring.stage) +
                                         u32(first) * Config::kRow),
                       false);
        waitProducts<0>();
        Product::settle(part);
        if (x == kBlocks * kTimes - 1)
          release(ring.stage);
        HK_UNROLL for (int i = 0; i < Product::kRegisters; ++i)
            d[m][first / 2 + i] += part[i];
        // Parts that are added later would keep their registers.
        settleProduct(d[m]);
      }
      ring.advance();
    }
  }
  /// The warp has read the stage: all blocks that filled it may know.
  HK_MEM void release(u32 stage) const {
    lds.empty(stage).template arriveEverywhere<Config::kCluster>();
  }

  /// Results of kRows rows pass through the slab at a time: of 64 columns, or
  /// of a pair both halves of them.
  template <int Boxes, class Epilogue>
  HK_MEM void store(const WarpPlace &at,
                    const float (&d)[kBlocks][Boxes * kGroupBoxRows / 2],
                    const Epilogue &epilogue) const {
    static_assert(Epilogue::kGroup == 0);
    constexpr int kOther = kRows * kPitch, kParts = P::kPair ? 1 : kBlocks;
    static_assert(kBlocks / kParts * kOther * 4 <= kWideSlabBytes);
    constexpr int kTimes = Boxes * kGroupBoxRows / kRows;
    int times = (at.end - at.row + kRows - 1) / kRows;
    // Not unrolled: the functor may be large.
    _Pragma("unroll 1") for (int x = 0; x < times * kParts; ++x) {
      int part = x / times, time = x % times;
      int column = part * kApart + group * 64;
      if (at.col + column >= int(args.n))
        break;
      meet();
      float *own = slab + waveId() % 4 * 16;
      HK_UNROLL for (int t = 0; t < kTimes; ++t) {
        if (t != time)
          continue;
        HK_UNROLL for (int m = 0; m < kBlocks; ++m) {
          if constexpr (P::kPair)
            writeGroupBox<kPitch, kBelow, kRows>(own + m * kOther, d[m], t);
          else if (m == part)
            writeGroupBox<kPitch, kBelow, kRows>(own, d[m], t);
        }
      }
      meet();
      storeGroupBox<P, Groups, kPitch, kWideColumns, kWarpgroup, kOther, kRows>(
          args, groups, at, time, column, int(threadId() % kWarpgroup), slab,
          epilogue);
    }
  }
  HK_MEM void meet() const {
    barrierOfSome<kWarpgroup>(Config::kSlabBarrier + u32(group));
  }

  const GemmArgs &args;
  const GroupArgs &groups;
  Layout lds;
  float *slab;
  TileRing<Config::kStages> ring;
  int group;
};

template <class Problem, class Groups, int Cluster> struct SwappedWide {
  using P = Problem;
  static_assert((Cluster == 1 || !Groups::kGathered) &&
                Groups::kForm != GroupForm::Blocks);
  using Config = SwappedWideConfig<P, Cluster>;
  using Shared = typename Config::Shared;
  using Layout = typename Config::Layout;
  using Loader = typename PickLoader<Config, Groups>::Type;
  static constexpr int kThreads = Config::kThreads;
  static constexpr GemmTile T = Config::T;
  static_assert(P::A::kGathered == Groups::kGathered && T.splitK == 1);

  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, const GroupArgs &groups,
                         const TensorMap *maps, BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    Layout lds(shared);
    beginStages<Config, Loader>(
        maps, lds, [&] { initPlaces(lds, Config::kGroups * kGroupWarps); });
    int group = threadId() / kWarpgroup;
    // Sums of fp8 need eight registers more.
    constexpr int own = isFp8(Config::D) ? 40 : Loader::kRegisters,
                  others = registersBeside(own, Config::kGroups);
    if (group == Config::kGroups) {
      giveRegisters<own>();
      if (threadId() % kWarpgroup < Loader::kThreads) {
        auto loader = pickedLoader<Config, Groups>(maps, lds, args, groups);
        typename Config::Ring ring;
        AnnouncingTiles<GroupTilesOf<Config, Groups>, Layout> tiles{
            {args, groups, block.x}, lds};
        fillStages(ring, tiles, loader, lds);
        loader.finish();
      }
    } else {
      takeRegisters<others>();
      SwappedWideConsumer<Config, Groups> consumer(args, groups, lds,
                                                   shared.bytes, group);
      consumer.tiles(epilogue);
    }
    endStages<Cluster>();
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_SWAPPED_WIDE_H
