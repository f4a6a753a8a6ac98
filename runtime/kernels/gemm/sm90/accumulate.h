//===- accumulate.h - Walks k with a warpgroup -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three ways to sum the products of the stages of a tile:
//  * Straight: in the matrix instruction. Its sums of fp8 products keep fewer
//    bits than f32.
//  * Folded: a stage (128 elements of fp8) is summed in the instruction, stages
//    in f32 registers, each times its scales if there are any. A thread owns
//    two rows, so two scales of A and, of each 64 columns, one of B (of each 32
//    where a tile begins at a multiple of 32).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_ACCUMULATE_H
#define HK_KERNELS_GEMM_SM90_ACCUMULATE_H

#include "kernels/gemm/sm90/config.h"

namespace hk {

/// Where the scales along k of a thread's elements lie: its two rows of A, and
/// those of the tile's matrix of B.
struct ScalePlace {
  int rowsOfA[2];
  u64 ofB;
};

/// A warpgroup's view of the ring.
template <class Config> struct StageReader {
  typename Config::Layout lds;
  typename Config::Ring ring;
  int group;

  /// Waits for the next stage and begins its product.
  HK_MEM void begin(typename Config::Registers &d, bool keep) const {
    await();
    beginPart<typename Config::Product>(d, keep, 0);
  }
  HK_MEM void await() const {
    lds.full(ring.stage).wait(ring.phase);
    // What threads have copied, the tensor cores see behind a fence.
    if constexpr (Config::P::A::kGathered)
      publishToCopies();
  }
  /// Begins the product of the stage with some rows of B, from `row` on.
  template <class Product>
  HK_MEM void beginPart(typename Product::Registers &d, bool keep,
                        int row) const {
    Product::begin(
        d,
        operandDescriptor(lds.stageA(ring.stage) + group * 64 * Config::kRow),
        Config::descriptorOfB(lds.stageB(ring.stage) + row * Config::kRow),
        keep);
  }
  /// The warp has read the stage: all blocks that filled it may know.
  HK_MEM void release(u32 stage) const {
    lds.empty(stage).template arriveEverywhere<Config::kCluster>();
  }
};

/// Parts of the columns of a stage that are multiplied and folded together.
template <class Config>
inline constexpr int kFoldedParts = Config::T.bn > kFoldedAtOnce ? 2 : 1;

/// Two warpgroups that scale their sums begin their products in turns, so that
/// those of one run while the other folds: in step both would fold at once, and
/// the tensor cores wait. (Sums that are only added take too little time: turns
/// made them slower; and so they did with halves, whose folds fall between
/// those of the other.) Groups have equally many stages.
template <class Config> struct Turns {
  static constexpr bool kUsed = Config::kGroups == 2 && Config::kTakesTurns;
  static constexpr int kThreads = 2 * kWarpgroup;
  /// The barriers of the groups; 1 is unnamed_rows.h's.
  static constexpr u32 kFirst = 2;

  /// Around all tiles: the second group lets the first begin, which in the end
  /// takes the turn that nobody needs.
  HK_MEM static void begin(int group) {
    if (kUsed && group == 1)
      give(group);
  }
  HK_MEM static void end(int group) {
    if (kUsed && group == 0)
      take(group);
  }
  HK_MEM static void take(int group) {
    if constexpr (kUsed)
      barrierOfSome<kThreads>(kFirst + u32(group));
  }
  HK_MEM static void give(int group) {
    if constexpr (kUsed)
      arriveAtBarrierOfSome<kThreads>(kFirst + 1 - u32(group));
  }
};

/// Sums in the instruction; one stage is read while the one before may end.
template <class Config> struct StraightSum {
  using Total = typename Config::Registers;

  HK_MEM static void beginTiles(int) {}
  HK_MEM static void endTiles(int) {}

  HK_MEM static void run(StageReader<Config> &reader, const GemmArgs &,
                         const WarpPlace &at, const ScalePlace &, Total &d) {
    // Few tiles may be empty; a branch around the zeros would spill.
    if constexpr (Config::kMayBeEmpty) {
      HK_UNROLL for (auto &v : d) v = 0;
    }
    u32 last = 0;
    for (int step = 0; step < at.steps; ++step) {
      reader.begin(d, step != 0);
      waitProducts<1>();
      if (step > 0)
        reader.release(last);
      last = reader.ring.stage;
      reader.ring.advance();
    }
    waitProducts<0>();
    Config::Product::settle(d);
    if (!Config::kMayBeEmpty || at.steps > 0)
      reader.release(last);
  }
};

/// The scales of a thread's elements of a tile. The lanes that share them have
/// those of neighbouring stages each, asked for long before, and hand them on:
/// a load for every stage came later than the product that it belongs to, and
/// held up the next one.
template <class Config> struct FoldScales {
  using P = typename Config::P;
  /// Columns that have one scale of B wherever the tile begins, which is at a
  /// multiple of its width.
  static constexpr bool kWhole = Config::T.bn % 128 == 0 && !P::kPair;
  static constexpr int kPart = kWhole ? 128 : Config::T.bn % 64 == 0 ? 64 : 32;
  static constexpr int kParts = Config::T.bn / kPart;
  static_assert(Config::T.bn % kPart == 0);
  /// Stages of which four lanes have the scales of two rows of A, and a warp
  /// those of B.
  static constexpr int kOfA = 4, kOfB = kWave;

  Global<const float> a[2], b[2];
  /// Columns of the tile from here on, of a pair the other half, have the
  /// second row of b.
  int edge;
  int first, last;
  float ofA[2], nextA[2], ofB[2], nextB[2];

  // Halves of a pair are whole blocks of columns.
  static_assert(!P::kPair || kParts == 2);

  HK_MEM FoldScales(const GemmArgs &args, const WarpPlace &at,
                    const ScalePlace &place)
      : edge(P::kPair ? 64
             : kWhole ? 128
                      : 128 - at.col % 128),
        first(at.k0 / 128), last(first + at.steps - 1) {
    HK_UNROLL for (int h = 0; h < 2; ++h) {
      a[h] = global<const float>(args.a.fold.data) +
             place.rowsOfA[h] * args.a.fold.strideRow;
      i64 block = P::kPair ? (at.col + h * args.n) / 128 : at.col / 128 + h;
      i64 most = ((P::kPair ? 2 : 1) * args.n - 1) / 128;
      b[h] = global<const float>(place.ofB) +
             (block < most ? block : most) * args.b.fold.strideRow;
      ofA[h] = ofB[h] = nextA[h] = nextB[h] = 1;
    }
    fetchA(0);
    fetchB(0);
  }
  /// Asks for the scales from stage `step` of the tile on.
  HK_MEM void fetchA(int step) {
    int block = first + step + laneId() % kOfA;
    if constexpr (P::kScaleA)
      HK_UNROLL for (int h = 0; h < 2; ++h) nextA[h] =
          a[h][block < last ? block : last];
  }
  HK_MEM void fetchB(int step) {
    int block = first + step + laneId();
    if constexpr (P::kScaleB)
      HK_UNROLL for (int h = 0; h < 2; ++h) nextB[h] =
          b[h][block < last ? block : last];
  }
  /// At stage `step`, a multiple of kOfA: takes what has come, asks for more.
  HK_MEM void advance(int step) {
    HK_UNROLL for (int h = 0; h < 2; ++h) ofA[h] = nextA[h];
    fetchA(step + kOfA);
    if (step % kOfB == 0) {
      HK_UNROLL for (int h = 0; h < 2; ++h) ofB[h] = nextB[h];
      fetchB(step + kOfB);
    }
  }
  /// The factors of stage `step` by row and by kPart columns.
  HK_MEM void take(float (&of)[2][kParts], int step) const {
    float fromA[2], fromB[2];
    HK_UNROLL for (int h = 0; h < 2; ++h) {
      fromA[h] =
          P::kScaleA ? handed(ofA[h], laneId() / kOfA * kOfA + step % kOfA) : 1;
      fromB[h] = P::kScaleB ? handed(ofB[h], step % kOfB) : 1;
    }
    HK_UNROLL for (int p = 0; p < kParts; ++p)
        HK_UNROLL for (int h = 0; h < 2; ++h) of[h][p] =
            fromA[h] * (p * kPart < edge ? fromB[0] : fromB[1]);
  }

private:
  HK_MEM static float handed(float v, int lane) {
    return bitCast<float>(fromLane(bitCast<int>(v), lane));
  }
};

/// Sums of a stage are added to f32 registers, of a wide tile one half of its
/// columns after the other.
template <class Config> struct FoldedSum {
  using P = typename Config::P;
  static constexpr int kParts = kFoldedParts<Config>;
  static constexpr int kColumns = Config::T.bn / kParts;
  static_assert(kParts == 1 || !Config::kColumnsOfB);
  using Product = WarpgroupProduct<Config::D, kColumns, Config::kColumnsOfB>;
  using Registers = typename Product::Registers;
  static constexpr int kRegisters = Product::kRegisters;
  using Total = float[kParts * kRegisters];
  using Turn = Turns<Config>;

  HK_MEM static void beginTiles(int group) { Turn::begin(group); }
  HK_MEM static void endTiles(int group) { Turn::end(group); }

  HK_MEM static void run(StageReader<Config> &reader, const GemmArgs &args,
                         const WarpPlace &at, const ScalePlace &scales,
                         Total &d) {
    HK_UNROLL for (auto &v : d) v = 0;
    if (at.steps == 0)
      return;
    if constexpr (P::kScale == KScale::None)
      addStages(reader, at, d);
    else
      addScaledStages(reader, args, at, scales, d);
  }

private:
  /// Waits for the product of part p, behind which, of the last one, the stage
  /// has been read.
  HK_MEM static void land(StageReader<Config> &reader, int p, Registers &part) {
    waitProducts<0>();
    Product::settle(part);
    if (p + 1 < kParts)
      return;
    reader.release(reader.ring.stage);
    reader.ring.advance();
  }

  HK_MEM static void addStages(StageReader<Config> &reader, const WarpPlace &at,
                               Total &d) {
    Registers part;
    for (int step = 0; step < at.steps; ++step) {
      reader.await();
      HK_UNROLL for (int p = 0; p < kParts; ++p) {
        reader.template beginPart<Product>(part, false, p * kColumns);
        land(reader, p, part);
        HK_UNROLL for (int i = 0; i < kRegisters; ++i) d[p * kRegisters + i] +=
            float(part[i]);
      }
    }
  }

  HK_MEM static void addScaledStages(StageReader<Config> &reader,
                                     const GemmArgs &args, const WarpPlace &at,
                                     const ScalePlace &place, Total &d) {
    using Scales = FoldScales<Config>;
    static_assert(Config::T.bk == 128, "a stage has one scale");
    Scales scales(args, at, place);
    Registers part;
    // The factors of a stage are folded between the waits of the next one; of
    // halves with more stages at once some would spill.
    constexpr int kUnrolled = kParts == 1 ? 4 : 2;
    _Pragma("clang loop unroll_count(kUnrolled)") for (int step = 0;
                                                       step < at.steps;
                                                       ++step) {
      float of[2][Scales::kParts];
      HK_UNROLL for (int p = 0; p < kParts; ++p) {
        Turn::take(reader.group);
        if (p == 0)
          reader.await();
        reader.template beginPart<Product>(part, false, p * kColumns);
        Turn::give(reader.group);
        if (p == 0) {
          if (step % Scales::kOfA == 0)
            scales.advance(step);
          scales.take(of, step);
        }
        land(reader, p, part);
        HK_UNROLL for (int i = 0; i < kRegisters; ++i) {
          int e = p * kRegisters + i;
          d[e] = __builtin_fmaf(float(part[i]),
                                of[e / 2 % 2][e / (Scales::kPart / 2)], d[e]);
        }
      }
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_ACCUMULATE_H
