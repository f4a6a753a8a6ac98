//===- grouped_staged.h - Groups of few rows through stages -----*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What grouped_skinny.h does, with rows of B brought by the copy engine. A
// launch of some microseconds ends before the next has anything under way if
// that one finds no room beside it. So a block takes a quarter of a unit: two
// of this launch and two of the next one stand there, and those have asked for
// their first rows in the L2 cache before this launch has ended. One thread
// asks for boxes, tile after tile; each wave multiplies rows of B of its own,
// both halves of a pair, and stores what they give, so that no wave waits for
// another.
//
//   GroupedStaged<Problem, Groups, AsksAhead>::run(args, groups, maps, block,
//                                                  shared, epilogue)
//   Grid: any number of blocks in x. maps: B. Fewer than kHeldBounds groups.
//   AsksAhead: bounds are older than the launch in front, so that blocks look
//   for their tiles while it runs, and ask for their first rows of B in the L2
//   cache.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_GROUPED_STAGED_H
#define HK_KERNELS_GEMM_SM90_GROUPED_STAGED_H

#include "kernels/gemm/lane_groups.h"
#include "kernels/gemm/sm90/block_tiles.h"
#include "kernels/gemm/sm90/held_bounds.h"
#include "kernels/gemm/sm90/stages.h"

namespace hk {

template <class Problem, class Groups, bool AsksAhead> struct GroupedStaged {
  using P = Problem;
  static constexpr GemmTile T = {
      P::kTile.bm, P::kTile.bn,     P::kTile.bk,     P::kTile.wm,
      P::kTile.wn, P::kTile.stages, P::kTile.splitK, GemmLoop::Skinny};
  static constexpr DType D = P::kOperand;
  static constexpr int kSize = info(D).bits / 8, kDepth = T.bk;
  static constexpr int kWaves = T.wm, kThreads = (kWaves + 1) * kWave;
  static constexpr int kRow = kBulkRowBytes, kStages = T.stages;
  static constexpr int kBytesB = T.bn * kRow, kBytesA = T.bm * kRow;
  static constexpr int kStageBytes = kBytesB + kBytesA;
  /// Fragments of 16 rows of B of a wave; columns of the result of a wave.
  static constexpr int kTall = T.bn / kWaves / 16;
  static constexpr int kParts = P::kPair ? 2 : 1;
  static constexpr int kOwn = 16 * kTall / kParts;
  static constexpr int kPitch = 16 * kTall + kGroupedSkinnyPad;
  /// Stages that a block asks for in the L2 cache before the launch in front
  /// has ended.
  static constexpr int kAhead = kStages;
  using Op = MmaSync<D>;
  using Sums = Vec<float, 4>[kTall][2];
  static_assert(isGroupedStaged(T) && T.bm == 8 && T.wn == 1 && T.splitK == 1 &&
                kTall * kWaves * 16 == T.bn && kDepth * kSize == kRow &&
                P::B::kMem == D && P::A::kMem == D && P::B::kStep == 1 &&
                P::B::kKContiguous && P::A::kKContiguous &&
                P::A::kAlign >= 16 && kSize == 2 && P::kScale == KScale::None &&
                P::A::kGathered == Groups::kGathered);
  using Bounds = HeldBounds<kThreads>;
  static constexpr i64 kLds = groupedStagedLds(T);
  struct Shared {
    static constexpr int kUnitBlocks = kGroupedStagedBlocks;
    u8 bytes[kLds];
  };

  /// Stages, barriers, the sums of each wave, bounds.
  struct Layout {
    u32 base;
    u8 *bytes;

    HK_MEM explicit Layout(Shared &lds)
        : base(bulkBase(lds.bytes)),
          bytes(lds.bytes + (base - ldsAddress(lds.bytes))) {}
    HK_MEM u32 stage(u32 s) const { return base + s * kStageBytes; }
    HK_MEM u32 stageA(u32 s) const { return stage(s) + kBytesB; }
    HK_MEM LdsBarrier full(u32 s) const { return {bars() + s * 8}; }
    HK_MEM LdsBarrier empty(u32 s) const {
      return {bars() + (kStages + s) * 8};
    }
    HK_MEM float *sums(int wave) const {
      return reinterpret_cast<float *>(bytes + kSums) + wave * T.bm * kPitch;
    }
    HK_MEM Bounds &bounds() const {
      return *reinterpret_cast<Bounds *>(bytes + kBounds);
    }

  private:
    static constexpr u32 kBars = u32(kStages) * kStageBytes;
    static constexpr u32 kSums = kBars + kStages * 16;
    static constexpr u32 kBounds = kSums + kWaves * T.bm * kPitch * 4;
    static_assert(kBounds + sizeof(Bounds) + kBulkAlignment <= kLds);
    HK_MEM u32 bars() const { return base + kBars; }
  };

  using Walk = LaneGroups<Groups, T.bm>;

  /// The tiles of a block, one after the other. All lanes of a wave make all
  /// calls together.
  struct Tiles {
    const GemmArgs &args;
    const GroupArgs &groups;
    const i32 *bounds;
    u32 columns;
    u32 next, end, rowTile, column;
    GroupPlaces at;

    HK_MEM Tiles(const GemmArgs &args, const GroupArgs &groups,
                 const i32 *bounds, BlockId block)
        : args(args), groups(groups), bounds(bounds),
          columns(u32((args.n + P::kCols - 1) / P::kCols)) {
      Walk walk(groups, bounds);
      // 2^32 of them would be a result of more bytes than an address has.
      auto tiles = BlockTiles::spread(walk.count() * columns, block,
                                      kGroupedStagedOfLaunch);
      next = tiles.next;
      end = tiles.end;
      at = {0, 0, 0};
      if (next < end) {
        rowTile = next / columns;
        column = next % columns;
        at = walk.at(rowTile);
      }
    }
    HK_MEM bool exist() const { return next < end; }
    HK_MEM bool multiply() const {
      return at.group < groups.count && args.m > 0;
    }
    HK_MEM int steps() const {
      return multiply() ? int((args.k + kDepth - 1) / kDepth) : 0;
    }
    HK_MEM void advance() {
      ++next;
      if (++column == columns && next < end) {
        column = 0;
        at = Walk(groups, bounds).at(++rowTile);
      }
    }
  };
  /// Which stage of which tile is next.
  struct Cursor {
    Tiles tiles;
    int step = 0;

    HK_MEM explicit Cursor(const Tiles &tiles) : tiles(tiles) { settle(); }
    HK_MEM bool exist() const { return tiles.exist(); }
    HK_MEM void advance() {
      ++step;
      settle();
    }
    template <class F> HK_MEM void forBoxes(F f) const {
      HK_UNROLL for (int p = 0; p < kParts; ++p)
          f(p, BoxPlace{step * kDepth,
                        int(tiles.column * P::kCols + p * tiles.args.n),
                        tiles.at.group});
    }

  private:
    HK_MEM void settle() {
      while (tiles.exist() && step >= tiles.steps()) {
        tiles.advance();
        step = 0;
      }
    }
  };

  /// The rows of A of a tile, for the lanes that copy them: two each, of which
  /// a lane has 16 bytes of a stage. -1: there is none.
  struct RowsOfA {
    static constexpr int kEach = 2, kApart = kWave / 8;
    int of[kEach];

    /// `early`: the launch in front may still be writing the order.
    HK_MEM RowsOfA(const Tiles &tiles, bool early) {
      HK_UNROLL for (int i = 0; i < kEach; ++i) {
        int r = i * kApart + laneId() / 8, place = tiles.at.first + r;
        of[i] = -1;
        if (tiles.exist() && tiles.multiply() && place < tiles.at.end)
          of[i] = rowOf(tiles, place, early);
      }
    }
    HK_MEM bool isLike(const RowsOfA &other) const {
      return of[0] == other.of[0] && of[1] == other.of[1];
    }

  private:
    HK_MEM static int rowOf(const Tiles &tiles, int place, bool early) {
      if constexpr (Groups::kGathered) {
        const GroupArgs &groups = tiles.groups;
        if (!early)
          return groups.rowOfPlace<Groups>(place, tiles.args.m);
        int entry = loadEarly(global<const i32>(groups.order) + place);
        return entry >= 0 && entry < tiles.args.m * Groups::kTopK
                   ? int(entry / Groups::kTopK)
                   : -1;
      } else {
        return place;
      }
    }
  };

  /// By the warp that copies.
  HK_MEM static void fill(const TensorMap &map, const Layout &lds,
                          const Cursor &from, const RowsOfA &rows, u32 stage) {
    LdsBarrier full = lds.full(stage);
    if (laneId() == 0) {
      full.expect(kBytesB);
      from.forBoxes([&](int p, BoxPlace at) {
        loadBox(lds.stage(stage) + p * P::kCols * kRow, map, full, at,
                Keep::Short);
      });
    }
    const GemmArgs &args = from.tiles.args;
    int chunk = laneId() % 8, k = from.step * kDepth + chunk * (16 / kSize);
    HK_UNROLL for (int i = 0; i < RowsOfA::kEach; ++i) {
      int r = i * RowsOfA::kApart + laneId() / 8;
      u64 at = args.a.data + u64(i64(rows.of[i]) * args.a.stride + k) * kSize;
      if (rows.of[i] >= 0)
        copyToLds16(lds.stageA(stage) + r * kRow + (chunk ^ r) * 16,
                    global<const u8>(k < args.k ? at : args.a.data),
                    k < args.k);
    }
    arriveAfterCopies(full);
  }

  /// The lane's row of half `half` of a fragment, in the tile: halves are those
  /// of a pair.
  HK_MEM static int rowOfTile(int tall, int half) {
    int lane = laneId() / 4;
    if constexpr (P::kPair)
      return half * P::kCols + waveId() * kOwn + tall * 8 + lane;
    return waveId() * kOwn + tall * 16 + half * 8 + lane;
  }

  HK_MEM static void multiply(const Layout &lds, u32 stage, Sums &sums) {
    u32 at = lds.stage(stage);
    u32x4 a[2], b[kTall][2][2];
    // Rows that begin at a multiple of eight lie permuted by their number; of
    // two neighbours one has its even chunks where the other has odd ones.
    HK_UNROLL for (int part = 0; part < 2; ++part) {
      u32 own = u32(laneId() / 4);
      u32 chunk = (u32(laneId() % 4 * 2 + part) ^ own) * 16;
      a[part] = loadLds16(lds.stageA(stage) + own * kRow + chunk);
      HK_UNROLL for (int tall = 0; tall < kTall; ++tall)
          HK_UNROLL for (int half = 0; half < 2; ++half) b[tall][half][part] =
              loadLds16(at + u32(rowOfTile(tall, half)) * kRow + chunk);
    }
    waveBarrier();
    if (laneId() == 0)
      lds.empty(stage).arrive();
    // Two sums, as each product waits for the one before of its own.
    HK_UNROLL for (int i = 0; i < 4; i += 2)
        HK_UNROLL for (int tall = 0; tall < kTall; ++tall)
            HK_UNROLL for (int part = 0; part < 2; ++part) {
      const u32x4 &low = b[tall][0][part], &high = b[tall][1][part];
      Op::step(sums[tall][part],
               u32x4{low[i], high[i], low[i + 1], high[i + 1]}, a[part][i],
               a[part][i + 1]);
    }
  }

  /// Multiplies and stores all tiles of the block, by a wave of its own.
  template <class Epilogue>
  HK_MEM static void consume(Tiles tiles, const Layout &lds,
                             const Epilogue &epilogue) {
    StageRing<kStages> ring;
    for (; tiles.exist(); tiles.advance()) {
      Sums sums;
      HK_UNROLL for (auto &sum : sums) sum[0] = sum[1] = Vec<float, 4>(0);
      u32 present = presentRows(tiles);
      for (int left = tiles.steps(); left > 0; --left) {
        lds.full(ring.stage).waitTogether(ring.phase);
        multiply(lds, ring.stage, sums);
        ring.advance();
      }
      finish(tiles, present, lds.sums(waveId()), sums, epilogue);
    }
  }
  /// Which places have a row of A, a bit each.
  HK_MEM static u32 presentRows(const Tiles &tiles) {
    int place = tiles.at.first + laneId();
    bool exists = tiles.multiply() && laneId() < T.bm && place < tiles.at.end;
    if constexpr (Groups::kGathered)
      exists = exists && tiles.groups.template rowOfPlace<Groups>(
                             place, tiles.args.m) >= 0;
    return u32(ballot(exists));
  }

  /// The sums of row m of V columns of the wave from c on, of half p of a pair.
  template <int V>
  HK_MEM static Vec<float, V> read(const float *sums, int m, int p, int c) {
    Vec<float, V> v;
    HK_UNROLL for (int e = 0; e < V; ++e) v[e] =
        sums[m * kPitch + p * kOwn + c + e];
    return v;
  }
  template <class Epilogue>
  HK_MEM static void finish(const Tiles &tile, u32 present, float *part,
                            const Sums &sums, const Epilogue &epilogue) {
    constexpr int V = Epilogue::kVec, perRow = kOwn / V;
    static_assert(Epilogue::kGroup == 0 && kOwn % V == 0);
    HK_UNROLL for (int tall = 0; tall < kTall; ++tall)
        HK_UNROLL for (int e = 0; e < 4; ++e) {
      int r = P::kPair ? e / 2 * kOwn + tall * 8 : tall * 16 + e / 2 * 8;
      part[(laneId() % 4 * 2 + e % 2) * kPitch + r + laneId() / 4] =
          sums[tall][0][e] + sums[tall][1][e];
    }
    waveBarrier();
    for (int x = laneId(); x < (tile.at.end - tile.at.first) * perRow;
         x += kWave) {
      int m = x / perRow, c = x % perRow * V;
      i64 col = i64(tile.column) * P::kCols + waveId() * kOwn + c;
      GemmOutput<float, V> out;
      out.acc = read<V>(part, m, 0, c);
      out.pair = P::kPair ? read<V>(part, m, 1, c) : Vec<float, V>(0);
      out.stat = 0;
      i64 matrix = present >> m & 1 ? tile.at.group : -1;
      runEpilogue<V>(epilogue, matrix, i64(tile.at.first) + m, col, tile.args.n,
                     col < tile.args.n, out);
    }
    waveBarrier();
  }

  HK_MEM static void makeBarriers(const Layout &lds) {
    if (threadId() == 0) {
      initStages<kStages>(lds, 1 + kWave, kWaves);
      publishBarriers();
    }
  }

  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, const GroupArgs &groups,
                         const TensorMap *maps, BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    Layout lds(shared);
    if (threadId() == 0)
      maps[0].prefetch();
    makeBarriers(lds);
    const i32 *bounds = lds.bounds().bounds;
    letNextBegin();
    if constexpr (!AsksAhead)
      waitForLast();
    lds.bounds().keep(groups, AsksAhead);
    bool copies = waveId() == kWaves;
    for (bool guesses = AsksAhead;; guesses = false) {
      Tiles tiles(args, groups, bounds, block);
      Cursor cursor(tiles);
      Tiles first = cursor.tiles;
      RowsOfA rows(cursor.tiles, AsksAhead);
      if (guesses) {
        if (copies)
          askAhead(maps[0], cursor);
        waitForLast();
      }
      Producer producer(maps[0], lds, cursor, rows);
      if (copies)
        producer.begin();
      if (guesses &&
          lds.bounds().changed(groups,
                               copies && !rows.isLike(RowsOfA(first, false)))) {
        if (copies)
          for (u32 s = 0; s < producer.asked; ++s)
            lds.full(s).wait(0);
        barrier();
        if (threadId() == 0)
          HK_UNROLL for (int s = 0; s < kStages; ++s) {
            lds.full(s).end();
            lds.empty(s).end();
          }
        makeBarriers(lds);
        lds.bounds().keep(groups, false);
        continue;
      }
      if (copies)
        producer.run();
      else
        consume(tiles, lds, epilogue);
      return;
    }
  }

private:
  HK_MEM static void askAhead(const TensorMap &map, Cursor cursor) {
    for (int s = 0; s < kAhead && cursor.exist(); ++s, cursor.advance())
      if (laneId() == 0)
        cursor.forBoxes([&](int, BoxPlace at) { prefetchBox(map, at); });
  }
  /// The warp that copies.
  struct Producer {
    const TensorMap &map;
    const Layout &lds;
    Cursor cursor;
    RowsOfA rows;
    u32 asked = 0;

    HK_MEM Producer(const TensorMap &map, const Layout &lds,
                    const Cursor &cursor, const RowsOfA &rows)
        : map(map), lds(lds), cursor(cursor), rows(rows) {}

    /// Fills the ring once.
    HK_MEM void begin() {
      for (; asked < kStages && cursor.exist(); ++asked)
        fillNext(asked);
    }
    HK_MEM void run() {
      StageRing<kStages> ring;
      while (cursor.exist()) {
        lds.empty(ring.stage).waitTogether(ring.phase);
        fillNext(ring.stage);
        ring.advance();
      }
    }

  private:
    HK_MEM void fillNext(u32 stage) {
      fill(map, lds, cursor, rows, stage);
      u32 tile = cursor.tiles.next;
      cursor.advance();
      if (cursor.tiles.next != tile)
        rows = RowsOfA(cursor.tiles, false);
    }
  };
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_GROUPED_STAGED_H
