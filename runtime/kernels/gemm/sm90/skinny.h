//===- skinny.h - Product of few rows on sm_90a -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With few rows all time goes into reading B, so the roles are swapped: 64 rows
// of B per warpgroup are the rows of the instruction, the rows of A (bm of
// them) its columns, and nothing of the tile is padding. The blocks of a
// cluster share k and add their parts in a fixed order: each sends what another
// finishes to that one's LDS, so that it is one launch.
//
// A block asks for its first rows of B before the kernel in front has ended,
// into the L2 cache, which can change no value; and lets the next kernel begin
// shortly before its own last rows are asked for, not earlier, because what
// that one asks for would otherwise take the place of its own.
//
//   Skinny<Problem, Cluster, SharedB>::run(args, maps, block, shared, epilogue)
//   Grid: ceil(n / columns of a tile) * Cluster, ceil(m / bm), batches *
//   splitK. maps: A, B.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_SKINNY_H
#define HK_KERNELS_GEMM_SM90_SKINNY_H

#include "kernels/gemm/sm90/stages.h"

namespace hk {

template <class Problem, int Cluster, bool SharedB> struct Skinny {
  using P = Problem;
  static constexpr GemmTile T = {
      P::kTile.bm,     P::kTile.bn,      P::kTile.bk,
      P::kTile.wm,     P::kTile.wn,      P::kTile.stages,
      P::kTile.splitK, GemmLoop::Skinny, Cluster};
  static constexpr DType D = P::kOperand;
  static constexpr int kRow = kBulkRowBytes, kStages = T.stages;
  static constexpr int kGroups = T.wn;
  static constexpr int kThreads = kGroups * kWarpgroup + kWave;
  static constexpr int kBytesB = T.bn * kRow, kBytesA = T.bm * kRow;
  static constexpr int kStageBytes = kBytesB + kBytesA;
  static constexpr i64 kLds = gemmLds(kTarget, T, D);
  static_assert(T.bk * info(D).bits == kRow * 8 && T.bn > 64 * (kGroups - 1) &&
                T.bn <= 64 * kGroups && T.bn >= 64 && T.wm == 1 &&
                P::kScale == KScale::None);
  /// Rows of B are two ranges when columns come in pairs.
  static constexpr int kParts = P::kPair ? 2 : 1;
  static constexpr int kColumns = P::kCols, kOwn = kColumns / Cluster;
  static constexpr u32 kPartsBytes = u32(skinnyParts(T));
  /// Neighbouring columns of parts whose runs of eight rows are swapped apart.
  static constexpr int kTurns = T.bm % 32 == 0 ? 4 : T.bm % 16 == 0 ? 2 : 1;
  static_assert(kColumns % Cluster == 0 && kColumns % 8 == 0 && T.bm % 8 == 0);
  /// The first row of B of a warpgroup. The last one's 64 end with the tile, so
  /// that some may be its neighbour's, too, who keeps them.
  HK_MEM static int firstRow(int group) {
    return group * 64 < T.bn - 64 ? group * 64 : T.bn - 64;
  }
  /// The next kernel begins when this many stages are still to be asked for.
  static constexpr int kTail = 4;

  using Product = WarpgroupProduct<D, T.bm>;
  using Registers = typename Product::Registers;
  using Acc = typename P::Acc;
  using Ring = StageRing<kStages>;

  using Shared = ClusterShared<Cluster, kLds>;

  /// Addresses in LDS: stages (B, then A), parts, barriers.
  struct Layout {
    u32 base;

    HK_MEM explicit Layout(const Shared &lds) : base(bulkBase(lds.bytes)) {}
    HK_MEM u32 stageB(u32 stage) const { return base + stage * kStageBytes; }
    HK_MEM u32 stageA(u32 stage) const { return stageB(stage) + kBytesB; }
    HK_MEM u32 parts() const { return base + kStages * kStageBytes; }
    HK_MEM LdsBarrier full(u32 stage) const { return {bars() + stage * 8}; }
    HK_MEM LdsBarrier empty(u32 stage) const {
      return {bars() + (kStages + stage) * 8};
    }
    /// All parts that this block adds have come.
    HK_MEM LdsBarrier done() const { return {bars() + 2 * kStages * 8}; }

  private:
    HK_MEM u32 bars() const { return parts() + kPartsBytes; }
  };

  /// The block's place: corner of the result, stages of k from k0 on.
  struct Place {
    i64 matrix, row, col;
    int batch, k0, steps;
  };
  HK_MEM static Place placeOf(const GemmArgs &args, BlockId block, u32 rank) {
    KRange k = rangeOfK<P>(args, block.z);
    int steps = int((k.end - k.begin + T.bk - 1) / T.bk);
    int first = steps * int(rank) / Cluster;
    int end = steps * int(rank + 1) / Cluster;
    return {block.z,
            i64(block.y) * T.bm,
            i64(block.x / Cluster) * kColumns,
            int(T.splitK > 1 ? block.z % args.batches : block.z),
            int(k.begin) + first * T.bk,
            end - first};
  }

  /// Asks for the stages of a block.
  struct Producer {
    const TensorMap *maps;
    Layout lds;
    Place at;
    i64 n;
    /// Rows of B that other blocks ask for, too, stay in the L2 cache: those
    /// are not always in step.
    Keep keepB;

    template <class F> HK_MEM void forB(int step, F f) const {
      HK_UNROLL for (int p = 0; p < kParts; ++p)
          f(p, BoxPlace{at.k0 + step * T.bk, int(at.col + p * n),
                        SharedB ? 0 : at.batch});
    }
    HK_MEM void prefetch(int step) const {
      forB(step, [&](int, BoxPlace from) { prefetchBox(maps[1], from); });
    }
    HK_MEM void fill(int step, u32 stage) const {
      LdsBarrier full = lds.full(stage);
      full.expect(kStageBytes);
      forB(step, [&](int p, BoxPlace from) {
        loadBox(lds.stageB(stage) + p * kColumns * kRow, maps[1], full, from,
                keepB);
      });
      loadBox(lds.stageA(stage), maps[0], full,
              BoxPlace{at.k0 + step * T.bk, int(at.row), at.batch}, Keep::Long);
    }
    HK_MEM void run() const {
      Ring ring;
      int tail = at.steps < kTail ? 0 : at.steps - kTail;
      for (int step = 0; step < at.steps; ++step) {
        if (step == tail)
          letNextBegin();
        lds.empty(ring.stage).wait(ring.phase ^ 1);
        fill(step, ring.stage);
        ring.advance();
      }
    }
  };

  HK_MEM static void begin(const TensorMap *maps, const Layout &lds) {
    if (threadId() == 0) {
      maps[0].prefetch();
      maps[1].prefetch();
      initStages<kStages>(lds, 1, kGroups * 4);
      lds.done().init(1);
      publishBarriers();
      if constexpr (Cluster > 1)
        lds.done().expect(T.bn * T.bm * 4);
    }
    barrier();
    // Others send only after all have begun.
    if constexpr (Cluster > 1)
      clusterArriveRelaxed();
  }

  /// Sums of fp8 products are kept in f32, a stage (128 elements) at a time.
  static constexpr bool kFolds = isFp8(D);

  HK_MEM static void multiply(const Layout &lds, int steps, int group,
                              Registers &d) {
    Ring ring;
    HK_UNROLL for (auto &v : d) v = 0;
    for (int step = 0; step < steps; ++step) {
      lds.full(ring.stage).wait(ring.phase);
      u64 b =
          operandDescriptor(lds.stageB(ring.stage) + firstRow(group) * kRow);
      u64 a = operandDescriptor(lds.stageA(ring.stage));
      if constexpr (kFolds) {
        Registers part;
        Product::begin(part, b, a, false);
        waitProducts<0>();
        Product::settle(part);
        HK_UNROLL for (int i = 0; i < Product::kRegisters; ++i) d[i] += part[i];
      } else {
        Product::begin(d, b, a, step != 0);
        waitProducts<0>();
      }
      if (laneId() == 0)
        lds.empty(ring.stage).arrive();
      ring.advance();
    }
    if constexpr (!kFolds)
      if (steps != 0)
        Product::settle(d);
  }

  /// Where column c of half p of a pair lies among the parts of the block that
  /// finishes it, and rank's part of it there.
  HK_MEM static u32 slotOf(u32 rank, int p, int c) {
    return rank * kParts * kOwn + p * kOwn + c % kOwn;
  }
  /// The word of row m of a slot. Lanes write eight rows of each of four slots
  /// at once, and read a row of slots that are eight apart: for the first every
  /// slot has its runs of eight rows in another order, for the second eight
  /// slots are followed by a gap.
  HK_MEM static u32 wordOf(u32 slot, int m) {
    u32 turn = slot / (4 / kTurns) % kTurns * 8;
    return slot * T.bm + slot / 8 * kSkinnyGap + (u32(m) ^ turn);
  }

  /// Every sum to the block that finishes its column.
  HK_MEM static void send(const Layout &lds, u32 rank, const Registers &d) {
    int lane = laneId(), group = waveId() / 4;
    HK_UNROLL for (int h = 0; h < 2; ++h) {
      int row = firstRow(group) + waveId() % 4 * 16 + h * 8 + lane / 4;
      if (row < group * 64)
        continue;
      int p = row / kColumns, c = row % kColumns;
      u32 slot = slotOf(rank, p, c), at = lds.parts();
      u32 owner = c / kOwn;
      u32 to = at, bar = 0;
      if constexpr (Cluster > 1) {
        to = clusterAddress(at, owner);
        bar = clusterAddress(lds.done().at, owner);
      }
      HK_UNROLL for (int i = 0; i < T.bm / 8; ++i) {
        u32 first = bitCast<u32>(d[i * 4 + h * 2]);
        u32 second = bitCast<u32>(d[i * 4 + h * 2 + 1]);
        u32 place = to + wordOf(slot, i * 8 + lane % 4 * 2) * 4;
        if constexpr (Cluster > 1)
          sendLds8(place, first, second, bar);
        else
          storeLds8(place, first, second);
      }
    }
  }

  /// The sum of all parts of row m of V columns from c on.
  template <int V>
  HK_MEM static Vec<Acc, V> total(const Acc *parts, int p, int c, int m) {
    Vec<Acc, V> sum = 0;
    HK_UNROLL for (int rank = 0; rank < Cluster; ++rank)
        HK_UNROLL for (int e = 0; e < V; ++e) sum[e] +=
        parts[wordOf(slotOf(rank, p, c) + e, m)];
    return sum;
  }

  template <class Epilogue>
  HK_MEM static void finish(const GemmArgs &args, const Place &at, u32 rank,
                            const Acc *parts, const Epilogue &epilogue) {
    constexpr int V = Epilogue::kVec, perRow = kOwn / V;
    static_assert(Epilogue::kGroup == 0 && kOwn % V == 0);
    i64 left = args.m - at.row;
    int rows = left < T.bm ? int(left) : T.bm;
    for (int x = threadId(); x < rows * perRow; x += kThreads) {
      int m = x / perRow, c = x % perRow * V;
      i64 col = at.col + rank * kOwn + c;
      GemmOutput<Acc, V> out;
      out.acc = total<V>(parts, 0, c, m);
      out.pair = P::kPair ? total<V>(parts, 1, c, m) : Vec<Acc, V>(0);
      out.stat = 0;
      runEpilogue<V>(epilogue, at.matrix, at.row + m, col, args.n, col < args.n,
                     out);
    }
  }

  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, const TensorMap *maps,
                         BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    Layout lds(shared);
    begin(maps, lds);
    u32 rank = Cluster > 1 ? clusterRank() : 0;
    Place at = placeOf(args, block, rank);
    bool copies = waveId() == kGroups * 4;
    Producer producer = {maps, lds, at, args.n,
                         args.m > T.bm ? Keep::Normal : Keep::Short};
    bool leads = copies && laneId() == 0;
    if (leads) {
      int ahead = at.steps < kStages ? at.steps : kStages;
      for (int step = 0; step < ahead; ++step)
        producer.prefetch(step);
    }
    waitForLast();
    Registers d;
    if (leads)
      producer.run();
    else if (!copies)
      multiply(lds, at.steps, waveId() / 4, d);
    __nvvm_bar_warp_sync(~0u);
    if constexpr (Cluster > 1)
      clusterWait();
    if (!copies)
      send(lds, rank, d);
    if constexpr (Cluster > 1)
      lds.done().wait(0);
    else
      barrier();
    auto *parts = reinterpret_cast<const Acc *>(
        shared.bytes + (lds.parts() - ldsAddress(shared.bytes)));
    finish(args, at, rank, parts, epilogue);
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_SKINNY_H
