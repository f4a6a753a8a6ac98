//===- grouped_skinny.h - Groups of few rows -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A token or some read the matrices of a few groups once. What counts is that
// all units draw them from the first moment to the last, so nothing is between
// memory and the matrix instruction: lanes load rows of B into registers, one
// step ahead. Rows of B are the rows of the instruction, those of a group its
// columns, of which there are eight, so that few rows cost no more than one.
// Blocks are small, several share a unit: one of them loads while another adds
// up. The waves of a block share k, in turns of a step; their parts meet in LDS
// and are added in the order of the waves.
//
//   GroupedSkinny<Problem, Groups, AsksAhead>::run(args, groups, block, shared,
//                                                  epilogue)
//   Grid: any number of blocks in x. AsksAhead: bounds are older than the
//   launch in front and fewer than kHeldBounds + 1, so that blocks look for
//   their tiles while it runs, and ask for their first rows of B in the L2
//   cache.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_GROUPED_SKINNY_H
#define HK_KERNELS_GEMM_SM90_GROUPED_SKINNY_H

#include "kernels/gemm/gpu.h"
#include "kernels/gemm/lane_groups.h"
#include "kernels/gemm/sm90/block_tiles.h"
#include "kernels/gemm/sm90/held_bounds.h"

namespace hk {

/// Fragments of 16 rows of B of a tile, of which a lane has two rows each.
template <class P> inline constexpr int kSkinnyTall = P::kTile.bn / 16;
template <class P> struct SkinnyRows {
  int of[kSkinnyTall<P>][2];
  /// Rows of A of the lane's sums, -1 for none; for their scales along k alone.
  int ofA[2];

  /// Opaque, as products of rows and stride are kept for all of a tile if the
  /// compiler can, and are twice the registers.
  HK_MEM int get(int tall, int half) const {
    return int(opaqueWord(u32(of[tall][half])));
  }
};
template <class P> using SkinnySums = Vec<float, 4>[kSkinnyTall<P>];

/// What a wave loads at a time, and how it multiplies it: a line of 128 bytes
/// of each row of B. Lanes load 16 bytes that are neighbours along k, while the
/// instruction wants a lane's elements apart. As the sum has no order of its
/// own, both operands are taken in the order in which they lie.
template <class P> struct SkinnyStep {
  using B = typename P::B;
  static constexpr int kTall = kSkinnyTall<P>;
  static constexpr DType D = P::kOperand;
  static constexpr int kSize = info(D).bits / 8;
  static constexpr int kDepth = kBulkRowBytes / kSize;
  /// Scales along k multiply the sum of a step, which has one block of them.
  static constexpr bool kFolds = P::kScale != KScale::None;
  static constexpr int kBlock = kBlockScaleA.depth;
  static_assert(B::kMem == D && P::kTile.bk == kDepth &&
                kBlock == kBlockScaleB.depth && kBlock % kDepth == 0);
  using Op = MmaSync<D>;

  /// Halves of a line.
  u32x4 b[kTall][2][2], a[2];
  /// Of the lane's sums.
  float scaleB[kTall][2], scaleA[2];

  HK_MEM void load(const GemmArgs &args, const GroupArgs &groups, int group,
                   const SkinnyRows<P> &rows, u64 rowA, int k) {
    u64 matrix = args.b.data + u64(group * groups.stride) * kSize;
    int byte = k * kSize + laneId() % 4 * 16, depth = int(args.k) * kSize;
    bool multiplies = group < groups.count;
    HK_UNROLL for (int tall = 0; tall < kTall; ++tall)
        HK_UNROLL for (int half = 0; half < 2; ++half) {
      u64 row = matrix + u64(rows.get(tall, half) * args.b.stride) * kSize;
      HK_UNROLL for (int part = 0; part < 2; ++part) b[tall][half][part] =
          loadOnceOrZeros(row + u32(byte + part * 64),
                          multiplies && byte + part * 64 < depth);
    }
    // Behind them, as an order may still have to say which row it is.
    HK_UNROLL for (int part = 0; part < 2; ++part) a[part] = loadOnceOrZeros(
        rowA + u32(byte + part * 64), rowA != 0 && byte + part * 64 < depth);
    if constexpr (kFolds) {
      u64 matrixScales = args.b.fold.data + u64(group * groups.strideFold * 4);
      loadScales(args, matrixScales, multiplies && k < args.k, rows,
                 k / kBlock);
    }
  }

  HK_MEM void multiply(SkinnySums<P> &sums) const {
    HK_UNROLL for (int tall = 0; tall < kTall; ++tall) {
      constexpr bool kApart = isFp8(D) || kFolds;
      Vec<float, 4> sum = kApart ? Vec<float, 4>(0) : sums[tall];
      HK_UNROLL for (int part = 0; part < 2; ++part)
          HK_UNROLL for (int i = 0; i < 4; i += 2) {
        const u32x4 &low = b[tall][0][part], &high = b[tall][1][part];
        Op::step(sum, u32x4{low[i], high[i], low[i + 1], high[i + 1]},
                 a[part][i], a[part][i + 1]);
      }
      if constexpr (kFolds)
        HK_UNROLL for (int e = 0; e < 4; ++e) sum[e] *=
            scaleB[tall][e / 2] * scaleA[e % 2];
      // Sums of fp8 in the instruction are exact enough for 128 of k.
      sums[tall] = kApart ? sums[tall] + sum : sum;
    }
  }

private:
  /// Those of block `block` of k. `b`: of the matrix.
  HK_MEM void loadScales(const GemmArgs &args, u64 b, bool exist,
                         const SkinnyRows<P> &rows, int block) {
    auto at = [&](u64 data, const ScaleArgs &from, int row) {
      return *global<const float>(data + u64(row * from.strideRow + block) * 4);
    };
    HK_UNROLL for (int tall = 0; tall < kTall; ++tall)
        HK_UNROLL for (int half = 0; half < 2; ++half) {
      scaleB[tall][half] = 1;
      if constexpr (P::kScaleB)
        scaleB[tall][half] =
            exist ? at(b, args.b.fold, rows.get(tall, half) / kBlockScaleB.rows)
                  : 0;
    }
    HK_UNROLL for (int c = 0; c < 2; ++c) {
      scaleA[c] = 1;
      if constexpr (P::kScaleA)
        scaleA[c] = exist && rows.ofA[c] >= 0
                        ? at(args.a.fold.data, args.a.fold, rows.ofA[c])
                        : 0;
    }
  }
};

template <class Problem, class Groups, bool AsksAhead> struct GroupedSkinny {
  using P = Problem;
  using B = typename P::B;
  static constexpr GemmTile T = {
      P::kTile.bm, P::kTile.bn,     P::kTile.bk,     P::kTile.wm,
      P::kTile.wn, P::kTile.stages, P::kTile.splitK, GemmLoop::Skinny};
  static constexpr DType D = P::kOperand;
  static constexpr int kWaves = T.wn, kThreads = kWaves * kWave;
  static constexpr int kBlocks = groupedSkinnyBlocks(T);
  static constexpr int kSizeA = info(D).bits / 8;
  /// Words of a part between rows of A.
  static constexpr int kPitch = T.bn + kGroupedSkinnyPad;
  /// What a block asks for before the launch in front has ended.
  static constexpr u32 kBytesAhead = 24 * 1024;
  using Step = SkinnyStep<P>;
  using Sums = SkinnySums<P>;
  static_assert(T.bm == 8 && T.wm == 1 && T.splitK == 1 && P::kCols % 8 == 0 &&
                P::A::kMem == D && B::kStep == 1 && B::kKContiguous &&
                P::A::kKContiguous && B::kAlign >= 16 && P::A::kAlign >= 16 &&
                P::A::kGathered == Groups::kGathered);

  using Bounds = HeldBounds<kThreads>;
  /// Parts of the waves of two tiles: [row of A][row of B].
  struct Shared {
    alignas(16) float parts[2][kWaves][T.bm * kPitch];
    Bounds bounds;
  };
  static_assert(sizeof(Shared) == groupedSkinnyLds(T));

  /// The rows of a tile: places of one group.
  struct Rows {
    const GroupArgs &groups;
    GroupPlaces at;
    i64 rowsOfA;

    HK_MEM int count() const { return at.end - at.first; }
    HK_MEM bool multiplies() const {
      return at.group < groups.count && rowsOfA > 0;
    }
    /// The row of A of place r; -1: none.
    HK_MEM int source(int r) const {
      if (r >= count() || !multiplies())
        return -1;
      if constexpr (Groups::kGathered)
        return groups.rowOfPlace<Groups>(at.first + r, rowsOfA);
      else
        return at.first + r;
    }
    HK_MEM i64 row(int r) const { return at.first + r; }
  };

  /// A tile whose operands are on their way: the lane's rows of B, and the
  /// address of its row of A, 0 for none.
  struct Tile {
    GroupPlaces places;
    u32 columns;
    SkinnyRows<P> rows;
    u64 a;

    HK_MEM void begin(const GemmArgs &args, const Rows &of, u32 columnTile) {
      places = of.at;
      columns = columnTile;
      HK_UNROLL for (int tall = 0; tall < kSkinnyTall<P>; ++tall)
          HK_UNROLL for (int half = 0; half < 2; ++half) rows.of[tall][half] =
          rowOf(args, columns, tall * 16 + half * 8 + laneId() / 4);
      int row = of.source(laneId() / 4);
      a = row < 0 ? 0 : args.a.data + u64(row * args.a.stride) * kSizeA;
      if constexpr (P::kScaleA)
        HK_UNROLL for (int c = 0; c < 2; ++c) rows.ofA[c] =
            fromLane(row, (laneId() % 4 * 2 + c) * 4);
    }
    /// Which places have a row of A, in bits that are four apart: nobody reads
    /// the order once more for what the end of a tile waits for.
    HK_MEM u32 present() const { return u32(ballot(a != 0)); }
    /// Row r of B of a tile of columns. Of columns that do not exist the last
    /// one, whose sums nobody stores.
    HK_MEM static int rowOf(const GemmArgs &args, u32 columns, int r) {
      i64 column = i64(columns) * P::kCols + r % P::kCols;
      column = column < args.n ? column : args.n - 1;
      return int(column + r / P::kCols * args.n);
    }
    /// Asks for the wave's step number `step`.
    HK_MEM void load(const GemmArgs &args, const GroupArgs &groups, int step,
                     Step &to) const {
      int group = args.m > 0 ? places.group : int(groups.count);
      to.load(args, groups, group, rows, a,
              (step * kWaves + waveId()) * Step::kDepth);
    }
  };

  using Walk = LaneGroups<Groups, T.bm>;
  /// Where a block begins.
  struct Start {
    BlockTiles tiles;
    GroupPlaces places;

    HK_MEM static Start of(const GroupArgs &groups, const i32 *bounds,
                           u32 columns, BlockId block) {
      Walk walk(groups, bounds);
      // 2^32 of them would be a result of more bytes than an address has.
      auto tiles = BlockTiles::spread(walk.count() * columns, block, kBlocks);
      if (tiles.next >= tiles.end)
        return {tiles, {0, 0, 0}};
      return {tiles, walk.at(tiles.next / columns)};
    }
  };

  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, const GroupArgs &groups,
                         BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    u32 columns = u32((args.n + P::kCols - 1) / P::kCols);
    letNextBegin();
    // All waves look for their tiles in them, and again for those of another
    // group.
    bool holds = AsksAhead || groups.count < kHeldBounds;
    const i32 *bounds = holds ? shared.bounds.bounds
                              : reinterpret_cast<const i32 *>(groups.groups);
    if constexpr (!AsksAhead)
      waitForLast();
    if (holds)
      shared.bounds.keep(groups, AsksAhead);
    Tile tile;
    Step now;
    for (bool guesses = AsksAhead;; guesses = false) {
      auto [tiles, places] = Start::of(groups, bounds, columns, block);
      if (guesses) {
        askAhead(args, groups, bounds, columns, tiles, places);
        waitForLast();
      }
      if (tiles.next < tiles.end) {
        tile.begin(args, {groups, places, args.m}, tiles.next % columns);
        tile.load(args, groups, 0, now);
      }
      if (guesses && shared.bounds.changed(groups)) {
        shared.bounds.keep(groups, false);
        continue;
      }
      multiplyTiles(args, groups, bounds, columns, tiles, tile, now, shared,
                    epilogue);
      return;
    }
  }

private:
  /// Of `tiles`, of which the first one's loads of step 0 are under way.
  template <class Epilogue>
  HK_MEM static void
  multiplyTiles(const GemmArgs &args, const GroupArgs &groups,
                const i32 *bounds, u32 columns, BlockTiles tiles, Tile &tile,
                Step &now, Shared &shared, const Epilogue &epilogue) {
    int steps =
        int((args.k + kWaves * Step::kDepth - 1) / (kWaves * Step::kDepth));
    auto [next, end] = tiles;
    u32 rowTile = next / columns;
    Step then;
    for (u32 turn = 0; next < end; ++next, ++turn) {
      Rows rows = {groups, tile.places, args.m};
      u32 own = tile.columns, present = tile.present();
      Sums sums;
      HK_UNROLL for (auto &sum : sums) sum = Vec<float, 4>(0);
      for (int step = 1; step < steps; ++step) {
        tile.load(args, groups, step, then);
        now.multiply(sums);
        now = then;
      }
      // The first of the next tile. The few that are of another group look for
      // it anew, with no loads under way: bounds would take their registers.
      bool goesOn = next + 1 < end, isLast = own + 1 == columns;
      if (goesOn && !isLast) {
        tile.begin(args, {groups, tile.places, args.m}, own + 1);
        tile.load(args, groups, 0, then);
      }
      now.multiply(sums);
      if (goesOn && isLast) {
        GroupPlaces places = Walk(groups, bounds).at(++rowTile);
        tile.begin(args, {groups, places, args.m}, 0);
        tile.load(args, groups, 0, then);
      }
      now = then;
      keepPart(shared.parts[turn % 2][waveId()], sums);
      barrier();
      finish(args, rows, present, own, turn, shared.parts[turn % 2], epilogue);
    }
  }

  /// Asks for the first rows of B of a block, kBytesAhead or less, in the L2
  /// cache. Any bounds name rows that exist. By wave 0.
  HK_MEM static void askAhead(const GemmArgs &args, const GroupArgs &groups,
                              const i32 *bounds, u32 columns, BlockTiles tiles,
                              GroupPlaces places) {
    if (waveId() != 0)
      return;
    // Of long rows what is loaded first. Whole pieces, as rows are.
    u32 bytes = u32(args.k) * kSizeA / 16 * 16;
    bytes = bytes < kBytesAhead / T.bn ? bytes : kBytesAhead / T.bn;
    u32 most = bytes > 0 ? kBytesAhead / (bytes * T.bn) : 0;
    u32 left = tiles.end - tiles.next;
    u32 rowTile = tiles.next / columns, tile = tiles.next % columns;
    for (u32 i = 0; i < most && i < left; ++i, ++tile) {
      if (tile == columns) {
        tile = 0;
        places = Walk(groups, bounds).at(++rowTile);
      }
      i64 row = Tile::rowOf(args, tile, laneId() < T.bn ? laneId() : 0);
      u64 at = args.b.data +
               u64(places.group * groups.stride + row * args.b.stride) * kSizeA;
      if (laneId() < T.bn && places.group < groups.count)
        prefetchL2(global<const u8>(at), bytes);
    }
  }

  HK_MEM static void keepPart(float *part, const Sums &sums) {
    HK_UNROLL for (int tall = 0; tall < kSkinnyTall<P>; ++tall)
        HK_UNROLL for (int e = 0; e < 4; ++e)
            part[(laneId() % 4 * 2 + e % 2) * kPitch + tall * 16 + e / 2 * 8 +
                 laneId() / 4] = sums[tall][e];
  }

  /// The sums of row m of V rows of B from r of the tile on.
  template <int V>
  HK_MEM static Vec<float, V> total(const float (&parts)[kWaves][T.bm * kPitch],
                                    int m, int r) {
    Vec<float, V> sum = 0;
    HK_UNROLL for (int wave = 0; wave < kWaves; ++wave)
        HK_UNROLL for (int e = 0; e < V; ++e) sum[e] +=
        parts[wave][m * kPitch + r + e];
    return sum;
  }

  /// `present`: of the tile. `turn`: of the tiles of the block, which take
  /// turns over its threads.
  template <class Epilogue>
  HK_MEM static void finish(const GemmArgs &args, const Rows &rows, u32 present,
                            u32 columns, u32 turn,
                            const float (&parts)[kWaves][T.bm * kPitch],
                            const Epilogue &epilogue) {
    constexpr int V = Epilogue::kVec, perRow = P::kCols / V;
    constexpr int busy = (T.bm * perRow + kWave - 1) / kWave * kWave;
    static_assert(Epilogue::kGroup == 0 && P::kCols % V == 0);
    int thread = int((u32(threadId()) + turn * busy) % kThreads);
    for (int x = thread; x < rows.count() * perRow; x += kThreads) {
      int m = x / perRow, c = x % perRow * V;
      i64 col = i64(columns) * P::kCols + c;
      GemmOutput<float, V> out;
      out.acc = total<V>(parts, m, c);
      out.pair = P::kPair ? total<V>(parts, m, P::kCols + c) : Vec<float, V>(0);
      out.stat = 0;
      i64 matrix = present >> m * 4 & 1 ? rows.at.group : -1;
      runEpilogue<V>(epilogue, matrix, rows.row(m), col, args.n, col < args.n,
                     out);
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_GROUPED_SKINNY_H
