//===- skinny_codes.h - Few rows times 4-bit codes on sm_90a -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All time goes into reading the codes, a quarter of the bytes of bf16, and
// into widening them, so nothing else may stand in their way: above all not the
// path to LDS, of which every access takes its share. Blocks stay and walk over
// tiles of 32 rows of B. The waves of a block, and the blocks of a cluster,
// share k, so that a lane keeps its part of A in registers. Every wave copies
// its codes into LDS of its own, whole lines of 16 rows and `stages` times
// that ahead, so that it waits for no other wave and many bytes are under way
// while it decodes. Rows of B are the rows of the instruction, those of A its
// columns. Scales and zero points
// of a tile are read once for a block, in the order in which they lie, and wait
// in LDS as what the decoder takes. The waves' parts of a tile meet in LDS and
// are added in a fixed order, by other waves for each tile; as there is room
// for two tiles, a tile has one barrier.
//
// A lane's codes are neighbours along k, while the instruction wants a lane's
// elements 2, 6 and 8 apart. As the sum has no order of its own, A is taken in
// the order in which the codes come out of their words (code_pairs.h).
//
//   SkinnyCodes<Problem, Cluster>::run(args, block, shared, epilogue)
//   Grid: clusters * Cluster, ceil(m / bm), 1.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_SKINNYCODES_H
#define HK_KERNELS_GEMM_SM90_SKINNYCODES_H

#include "kernels/device/arch/nvptx_async.h"
#include "kernels/gemm/gpu.h"
#include "kernels/gemm/sm90/codes_powers.h"

namespace hk {

template <class Problem, int Cluster> struct SkinnyCodes {
  using P = Problem;
  using B = typename P::B;
  using Decode = typename B::Decode;
  static constexpr GemmTile T = {
      P::kTile.bm,     P::kTile.bn,           P::kTile.bk,
      P::kTile.wm,     P::kTile.wn,           P::kTile.stages,
      P::kTile.splitK, GemmLoop::SkinnyCodes, Cluster};
  static constexpr DType D = P::kOperand;
  static constexpr int kWaves = T.wn, kThreads = kWaves * kWave;
  static constexpr int kUnit = kCodesDepth;
  static constexpr i64 kLds = gemmLds(kTarget, T, D);
  static constexpr int kColumns = P::kCols, kOwn = kColumns / Cluster;
  /// Fragments of 16 rows of B, and of 8 rows of A.
  static constexpr int kTall = T.bn / 16, kWide = T.bm / 8;
  /// Units of k of a wave; fragments of rows of B that it has room for.
  static constexpr int kUnits = T.bk / (kUnit * kWaves);
  static constexpr int kPitch = T.bn + kCodesPad;
  static_assert(T.wm == 1 && T.splitK == 1 && info(B::kMem).bits == 4 &&
                B::kKContiguous && B::kAlign >= 16 && P::A::kMem == D &&
                P::A::kKContiguous && P::A::kAlign >= 16 &&
                P::kScale == KScale::None && Decode::kHasScales &&
                (Decode::kDepth == 0 || Decode::kDepth % 32 == 0) &&
                Decode::kRows <= 1);
  static_assert(T.bk == kUnits * kUnit * kWaves && kColumns % 16 == 0 &&
                kOwn % 8 == 0);

  using Op = MmaSync<D>;
  using Scales =
      typename PickCodesScales<P, T, kThreads,
                               kPowersOfCodes<B::kMem, Decode>>::Type;

  struct Shared {
    static constexpr int kCluster = Cluster > 1 ? Cluster : 0;
    alignas(16) u8 bytes[kLds];
  };

  // LDS: parts of two tiles, scales of two tiles, and at its end the codes of
  // each wave.
  static constexpr int kPartFloats = T.bm * kPitch;
  static constexpr int kPartsBytes = 2 * kWaves * kPartFloats * 4;
  static constexpr int kAhead = T.stages;
  static constexpr int kCodesBytes = kAhead * 16 * kUnits * kUnit / 2;
  static constexpr int kCodesAt = int(kLds) - kWaves * kCodesBytes;
  static_assert(kCodesAt >= kPartsBytes + 2 * Scales::kBytes &&
                kCodesAt % 16 == 0);

  /// Units [begin, end) of k: those of a block, or of one of its waves.
  struct Units {
    int begin, end;

    HK_MEM static Units ofBlock(i64 k, u32 rank) {
      i64 units = (k + kUnit - 1) / kUnit;
      return {int(units * rank / Cluster), int(units * (rank + 1) / Cluster)};
    }
    HK_MEM Units ofWave() const {
      int first = begin + waveId() * kUnits, last = first + kUnits;
      return {first, last < end ? last : end};
    }
    HK_MEM bool holds(int unit) const { return begin + unit < end; }
  };

  /// What of A the wave keeps: of each unit four words of codes, times the
  /// instruction's columns; in the order of CodePairs.
  struct Columns {
    u32x4 x[kUnits][4][kWide];

    /// It comes by way of LDS, where parts and scales come later: lanes of
    /// which each reads its own 64 bytes would ask for half a sector at a time.
    /// Passes of as many rows as have room.
    static constexpr int kRows = T.bm < 16 ? T.bm : 16, kPasses = T.bm / kRows;
    static constexpr int kChunks = kUnits * 16, kRow = kChunks * 16;
    static_assert(kChunks == kWave && kWaves * kRows * kRow <= kCodesAt);

    HK_MEM static void ask(const GemmArgs &args, i64 row0, const Units &units,
                           int pass, u8 *lds) {
      i64 k = i64(units.begin) * kUnit + laneId() * 8;
      bool exists = units.holds(laneId() / 16) && k < args.k;
      auto base = global<const u8>(args.a.data) + (exists ? k * 2 : 0);
      HK_UNROLL for (int r = 0; r < kRows; ++r) {
        i64 row = row0 + pass * kRows + r;
        copyToLds16(place(lds, r, laneId()),
                    base + (row < args.m ? row : 0) * args.a.stride * 2,
                    exists && row < args.m);
      }
      commitDirectCopies();
    }
    HK_MEM void take(int pass, u8 *lds) {
      HK_UNROLL for (int u = 0; u < kUnits; ++u)
          HK_UNROLL for (int i = 0; i < 4; ++i)
              HK_UNROLL for (int w = 0; w < kRows / 8; ++w)
                  x[u][i][pass * (kRows / 8) + w] =
                      paired(loadLds16(place(lds, w * 8 + laneId() / 4,
                                             u * 16 + laneId() % 4 * 4 + i)));
    }

  protected:
    /// Words of k as the fragments have them.
    HK_MEM static u32x4 paired(u32x4 v) {
      return {__nvvm_prmt(v[0], v[2], 0x5410), __nvvm_prmt(v[0], v[2], 0x7632),
              __nvvm_prmt(v[1], v[3], 0x5410), __nvvm_prmt(v[1], v[3], 0x7632)};
    }

  private:
    /// Eight lanes that read together have two rows and every fourth chunk.
    HK_MEM static u32 place(u8 *lds, int row, int chunk) {
      int turned = chunk ^ (chunk / 8 % 2 | row % 2 * 2);
      return ldsAddress(lds) + (waveId() * kRows + row) * kRow + turned * 16;
    }
  };

  /// The codes of a unit: a lane's two rows, 32 elements each.
  struct Codes {
    u32x4 row[2];
  };
  /// A wave's codes: fragments of 16 rows on their way from memory to LDS, in
  /// the order of the tiles. Rows and k that do not exist read others, whose
  /// sums nobody stores or whose scale is 0.
  class Ring {
    static constexpr int kChunks = kUnits * kUnit / 32, kRow = kChunks * 16;
    static constexpr int kFragment = 16 * kRow;
    /// Rows that the lanes copy at once.
    static constexpr int kRows = kWave / kChunks;
    static_assert(kWave % kChunks == 0 && kChunks % 8 == 0);

    const GemmArgs &args;
    Global<const u8> base;
    u32 lds;

  public:
    static_assert(kCodesBytes == kAhead * kFragment);

    HK_MEM Ring(const GemmArgs &args, const Units &units, u8 *lds)
        : args(args), lds(ldsAddress(lds) + waveId() * kCodesBytes) {
      i64 k = i64(units.begin) * kUnit + chunk() * 32;
      base = global<const u8>(args.b.data) + (k < args.k ? k : args.k - 32) / 2;
    }
    /// Asks for fragment `tall` of a tile in place `stage`.
    HK_MEM void ask(u32 tile, int tall, u32 stage) const {
      u32 to = place(stage, laneId() / kChunks, chunk());
      HK_UNROLL for (int r = 0; r < 16; r += kRows)
          copyToLds16(to + r * kRow, at(tile, tall * 16 + r), true);
    }
    /// The first fragments of the block; tileOf(f): the tile of the f-th.
    template <class TileOf>
    HK_MEM void askFirst(TileOf tileOf, u32 tiles) const {
      HK_UNROLL for (int f = 0; f < kAhead; ++f) {
        if (tileOf(f) < tiles)
          ask(tileOf(f), f % kTall, f);
        commitDirectCopies();
      }
    }
    HK_MEM Codes get(u32 stage, int unit) const {
      u32 from = place(stage, laneId() / 4, unit * 4 + laneId() % 4);
      return {{loadLds16(from), loadLds16(from + 8 * kRow)}};
    }

  private:
    HK_MEM static int chunk() { return laneId() % kChunks; }
    /// Rows are whole lines of banks: of two that are read together one has its
    /// halves swapped.
    HK_MEM u32 place(u32 stage, int row, int chunk) const {
      return lds + stage * kFragment + row * kRow + (chunk ^ row % 2 * 4) * 16;
    }
    /// The bytes between rows are a word, so that an address takes one
    /// instruction.
    HK_MEM Global<const u8> at(u32 tile, int r) const {
      r += laneId() / kChunks;
      u32 column = tile * kColumns + u32(r % kColumns), last = u32(args.n) - 1;
      column = column < last ? column : last;
      u32 half = u32(r / kColumns);
      u32 row = B::kStep == 2 ? column * 2 + half : column + half * u32(args.n);
      return base + u64(row) * u32(args.b.stride / 2);
    }
  };

  /// Asks for the block's codes of a tile in the L2 cache: a row for each lane
  /// of a wave. `units` are those of the block.
  HK_MEM static void prefetch(const GemmArgs &args, const Units &units,
                              u32 tile) {
    static_assert(T.bn == kWave);
    i64 column = i64(tile) * kColumns + laneId() % kColumns;
    i64 row = column + laneId() / kColumns * args.n;
    i64 k = i64(units.begin) * kUnit, end = i64(units.end) * kUnit;
    end = end < args.k ? end : args.k;
    if (column < args.n && k < end)
      prefetchL2(global<const u8>(args.b.data) + (row * args.b.stride + k) / 2,
                 u32(end - k) / 2);
  }
  using Sums = Vec<float, 4>[kWide];

  /// Decodes a unit and multiplies it, every second step into `odd`.
  template <class Scale>
  HK_MEM static void multiply(const Codes &codes, const Columns &columns,
                              int unit, Scale low, Scale high, Sums &sums,
                              Sums &odd) {
    HK_UNROLL for (int i = 0; i < 4; ++i)
        HK_UNROLL for (int half = 0; half < 2; ++half) {
      u32 first = codes.row[0][i], second = codes.row[1][i];
      u32x4 rows = {low.pair(first, half * 2), high.pair(second, half * 2),
                    low.pair(first, half * 2 + 1),
                    high.pair(second, half * 2 + 1)};
      HK_UNROLL for (int w = 0; w < kWide; ++w) Op::step(
          half == 0 ? sums[w] : odd[w], rows, columns.x[unit][i][w][half * 2],
          columns.x[unit][i][w][half * 2 + 1]);
    }
  }
  template <bool Usual, class CodesOf>
  HK_MEM static void multiplyAs(const Columns &columns, const Scales &scales,
                                const Units &own, u32 turn, int tall,
                                CodesOf codesOf, Sums &sums) {
    HK_UNROLL for (int unit = 0; unit < kUnits; ++unit) if (own.holds(unit))
        multiply(
            codesOf(unit), columns, unit,
            scales.template of<Usual>(turn, own.begin + unit, tall * 16),
            scales.template of<Usual>(turn, own.begin + unit, tall * 16 + 8),
            sums, sums);
  }

  /// The units of fragment `tall` of a tile; codesOf(unit).
  template <class CodesOf>
  HK_MEM static void multiplyAll(const Columns &columns, const Scales &scales,
                                 const Units &own, u32 turn, int tall,
                                 CodesOf codesOf, Sums &sums) {
    if (scales.isUsual(turn))
      multiplyAs<true>(columns, scales, own, turn, tall, codesOf, sums);
    else
      multiplyAs<false>(columns, scales, own, turn, tall, codesOf, sums);
  }

  /// The wave's part of sixteen rows of a tile: [row of A][row of the tile].
  HK_MEM static void keepPart(float *parts, int tall, const Sums &sums) {
    float *own = parts + waveId() * kPartFloats + tall * 16 + laneId() / 4;
    HK_UNROLL for (int w = 0; w < kWide; ++w)
        HK_UNROLL for (int e = 0; e < 4; ++e)
            own[(w * 8 + laneId() % 4 * 2 + e % 2) * kPitch + e / 2 * 8] =
                sums[w][e];
  }

  /// Four neighbours of a part, `words` behind `at`; `there`: that place in
  /// another block of the cluster.
  HK_MEM static f32x4 readPart(const float *at, u32 there, int words) {
    if constexpr (Cluster == 1)
      return *reinterpret_cast<const f32x4 *>(at + words);
    else
      return readLds16From(there + words * 4);
  }
  /// The sums of row m of V columns from c of the tile on. V columns are in
  /// four, or some of four.
  template <int V, int Waves = kWaves>
  HK_MEM static Vec<float, V> total(const float *parts, int m, int c) {
    constexpr int kFours = V <= 4 ? 1 : V / 4;
    f32x4 sum[kFours];
    HK_UNROLL for (int f = 0; f < kFours; ++f) sum[f] = f32x4(0);
    const float *own = parts + m * kPitch + c / 4 * 4;
    HK_UNROLL for (u32 rank = 0; rank < Cluster; ++rank) {
      // One address for all waves; one for each would spill.
      u32 there = Cluster > 1 ? clusterAddress(ldsAddress(own), rank) : 0;
      HK_UNROLL for (int wave = 0; wave < Waves; ++wave)
          HK_UNROLL for (int f = 0; f < kFours; ++f) sum[f] +=
          readPart(own, there, wave * kPartFloats + f * 4);
    }
    Vec<float, V> result;
    HK_UNROLL for (int e = 0; e < V; ++e) result[e] =
        V < 4 ? sum[0][c % 4 + e] : sum[e / 4][e % 4];
    return result;
  }

  /// `turn`: of the tiles of the block, which take turns over its threads.
  template <class Epilogue>
  HK_MEM static void finish(const GemmArgs &args, i64 row0, u32 tile, u32 rank,
                            u32 turn, const float *parts,
                            const Epilogue &epilogue) {
    constexpr int V = Epilogue::kVec, perRow = kOwn / V;
    constexpr int kBusy = (T.bm * perRow + kWave - 1) / kWave * kWave;
    static_assert(Epilogue::kGroup == 0 && kOwn % V == 0);
    i64 left = args.m - row0;
    int rows = left < T.bm ? int(left) : T.bm;
    int thread = (threadId() + turn * kBusy) % kThreads;
    for (int x = thread; x < rows * perRow; x += kThreads) {
      int m = x / perRow, c = int(rank) * kOwn + x % perRow * V;
      i64 col = i64(tile) * kColumns + c;
      GemmOutput<float, V> out;
      out.acc = total<V>(parts, m, c);
      out.pair = P::kPair ? total<V>(parts, m, kColumns + c) : Vec<float, V>(0);
      out.stat = 0;
      runEpilogue<V>(epilogue, 0, row0 + m, col, args.n, col < args.n, out);
    }
  }

  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    static_assert(B::kStep == 1);
    u32 rank = Cluster > 1 ? clusterRank() : 0;
    i64 row0 = i64(block.y) * T.bm;
    Units units = Units::ofBlock(args.k, rank), own = units.ofWave();
    u32 tiles = u32((args.n + kColumns - 1) / kColumns);
    u32 stride = blockCountX() / Cluster, tile = block.x / Cluster;
    Ring ring(args, own, shared.bytes + kCodesAt);
    Scales scales(args, i64(units.begin) * kUnit, shared.bytes + kPartsBytes);
    auto tileOf = [&](int fragment) {
      return tile + u32(fragment / kTall) * stride;
    };
    // Before the kernel in front has ended.
    if (waveId() == 0 && tile < tiles)
      prefetch(args, units, tile);
    waitForLast();
    // In front of the codes, behind which they would wait for all of them.
    scales.ask(tile);
    Columns columns;
    HK_UNROLL for (int pass = 0; pass < Columns::kPasses; ++pass) {
      constexpr int last = Columns::kPasses - 1;
      Columns::ask(args, row0, own, pass, shared.bytes);
      if (pass == last)
        ring.askFirst(tileOf, tiles);
      // Of this lane, then of all.
      pass == last ? waitDirectCopies<kAhead, 1>() : waitDirectCopies<0, 1>();
      waveBarrier();
      columns.take(pass, shared.bytes);
      waveBarrier();
    }
    barrier();
    scales.keep(tile, 0);
    barrier();
    u32 stage = 0;
    for (u32 turn = 0; tile < tiles; ++turn, tile += stride) {
      u32 next = tile + stride;
      if (next < tiles)
        scales.ask(next);
      float *parts = reinterpret_cast<float *>(shared.bytes) +
                     turn % 2 * (kWaves * kPartFloats);
      HK_UNROLL for (int tall = 0; tall < kTall; ++tall) {
        Sums sums;
        HK_UNROLL for (Vec<float, 4> &sum : sums) sum = Vec<float, 4>(0);
        // Of this lane, then of all.
        waitDirectCopies<kAhead - 1, 1>();
        waveBarrier();
        auto codesOf = [&](int unit) { return ring.get(stage, unit); };
        multiplyAll(columns, scales, own, turn, tall, codesOf, sums);
        waveBarrier();
        if (u32 of = tileOf(tall + kAhead); of < tiles)
          ring.ask(of, (tall + kAhead) % kTall, stage);
        commitDirectCopies();
        stage = stage + 1 == kAhead ? 0 : stage + 1;
        keepPart(parts, tall, sums);
      }
      if (next < tiles)
        scales.keep(next, turn + 1);
      if (next >= tiles)
        letNextBegin();
      meetCluster<Cluster>();
      finish(args, row0, tile, rank, turn, parts, epilogue);
    }
    waitDirectCopies<0, 1>();
    // Others may still read this block's parts.
    if constexpr (Cluster > 1)
      meetCluster<Cluster>();
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_SKINNYCODES_H
