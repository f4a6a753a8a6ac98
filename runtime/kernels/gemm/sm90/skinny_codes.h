//===- skinny_codes.h - Few rows times 4-bit codes on sm_90a -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All time goes into reading the codes, a quarter of the bytes of bf16, so
// nothing else may stand in their way. Blocks stay: each keeps its part of the
// rows of A in LDS and walks over tiles of 32 rows of B, whose codes are under
// way all the time. The waves of a block, and the blocks of a cluster, share k.
// A lane copies just those codes that it decodes itself, 16 bytes of a row at a
// time, so that no barrier stands between a copy and its use; rows of B are the
// rows of the instruction, those of A its columns. The waves' parts of a tile
// meet in LDS and are added in a fixed order.
//
// A lane's codes are neighbours along k, while the instruction wants a lane's
// elements 2, 6 and 8 apart. As the sum has no order of its own, A is stored
// in the order in which the codes come out of their words (code_pairs.h).
//
//   SkinnyCodes<Problem, Cluster>::run(args, block, shared, epilogue)
//   Grid: clusters * Cluster, ceil(m / bm), 1.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_SKINNYCODES_H
#define HK_KERNELS_GEMM_SM90_SKINNYCODES_H

#include "kernels/device/arch/nvptx_async.h"
#include "kernels/gemm/gpu.h"
#include "kernels/gemm/sm90/code_pairs.h"

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
  static constexpr int kStages = T.stages, kUnit = kCodesDepth;
  static constexpr i64 kLds = gemmLds(kTarget, T, D);
  /// Rows of B are two ranges when columns come in pairs.
  static constexpr int kParts = P::kPair ? 2 : 1;
  static constexpr int kColumns = P::kCols, kOwn = kColumns / Cluster;
  /// Rows of a tile that a lane has codes of; fragments of 16 rows of B, and of
  /// 8 rows of A.
  static constexpr int kRows = T.bn / 8, kTall = T.bn / 16, kWide = T.bm / 8;
  static constexpr int kPitch = T.bn + kCodesPad;
  static_assert(T.wm == 1 && T.splitK == 1 && info(B::kMem).bits == 4 &&
                B::kKContiguous && B::kAlign >= 16 && B::kStep == 1 &&
                P::A::kMem == D && P::A::kKContiguous && P::A::kAlign >= 16 &&
                P::kScale == KScale::None && Decode::kHasScales &&
                (Decode::kDepth == 0 || Decode::kDepth % 32 == 0) &&
                Decode::kRows <= 1);
  static_assert(T.bk % kUnit == 0 && kColumns % 16 == 0 && kOwn % 8 == 0);

  using Op = MmaSync<D>;
  using Scale = PairScale<B::kMem, D, Decode>;

  struct Shared {
    static constexpr int kCluster = Cluster > 1 ? Cluster : 0;
    alignas(16) u8 bytes[kLds];
  };

  // LDS: A, the stages of each wave, the waves' parts of a tile.
  static constexpr int kBytesA = T.bm * T.bk * 2;
  static constexpr int kStageBytes = int(skinnyCodesStage(T));
  static constexpr int kScalesAt = T.bn * kUnit / 2;
  static constexpr int kZerosAt = kScalesAt + T.bn * 16;
  static constexpr int kPartsAt = kBytesA + kWaves * kStages * kStageBytes;

  /// A step: a tile, and 128 elements of k of it.
  struct Step {
    u32 tile;
    int unit;
  };
  /// The steps of a wave: units [begin, end) of tile after tile.
  struct Walk {
    u32 tiles, stride;
    int begin, end;

    HK_MEM void advance(Step &s) const {
      if (++s.unit == end) {
        s.unit = begin;
        s.tile += stride;
      }
    }
    HK_MEM bool holds(const Step &s) const {
      return s.tile < tiles && begin < end;
    }
  };

  /// The units of rank's blocks, which keep those of A, and of a wave.
  HK_MEM static int unitOf(i64 k, u32 rank) {
    i64 units = (k + kUnit - 1) / kUnit;
    return int(units * rank / Cluster);
  }

  /// How a wave reads codes, scales and zero points. A row r * 8 of the tile
  /// lies as far from the tile's first row in all of them.
  struct Source {
    const GemmArgs &args;
    u8 *stages;

    /// The lane's first row of a tile, and its first element of k of a step.
    HK_MEM static i64 rowOf(u32 tile) {
      return i64(tile) * kColumns + laneId() / 4;
    }
    HK_MEM static i64 depthOf(const Step &s) {
      return i64(s.unit) * kUnit + laneId() % 4 * 32;
    }
    HK_MEM i64 offsetOf(int r) const {
      return r * 8 % kColumns + r * 8 / kColumns * args.n;
    }
    /// Whether row r of the tile and the step's k exist.
    HK_MEM bool holds(const Step &s, int r) const {
      bool depth = args.k % kUnit == 0 || depthOf(s) < args.k;
      return depth && (args.n % kColumns == 0 ||
                       rowOf(s.tile) + r * 8 % kColumns < args.n);
    }
    HK_MEM Global<const u8> codesAt(const Step &s, int r) const {
      i64 row = rowOf(s.tile) * args.b.stride,
          off = offsetOf(r) * args.b.stride;
      return global<const u8>(args.b.data) + ((row + depthOf(s)) / 2 + off / 2);
    }
    /// The scale, or zero point, of row r.
    HK_MEM static i64 indexOf(const ScaleArgs &from, i64 row, i64 offset,
                              i64 k) {
      i64 index = 0;
      if constexpr (Decode::kDepth != 0)
        index += k / Decode::kDepth * from.strideK;
      if constexpr (Decode::kRows != 0)
        index += row * from.strideRow + offset * from.strideRow;
      return index;
    }

    template <DType W>
    HK_MEM void copyWord(u8 *to, const ScaleArgs &from, const Step &s, int r,
                         bool inside) const {
      i64 index = indexOf(from, rowOf(s.tile), offsetOf(r), depthOf(s));
      copyToLds4(ldsAddress(to),
                 global<const u8>(ElementInWord<W>::wordAt(from.data, index)),
                 inside);
    }

    /// Asks for a step. What does not exist is zeros, and its scale 0.
    HK_MEM void issue(const Step &s, int stage) const {
      u8 *to = stages + stage * kStageBytes;
      int lane = laneId();
      HK_UNROLL for (int r = 0; r < kRows; ++r) {
        bool inside = holds(s, r);
        copyToLds16(ldsAddress(to + (r * kWave + lane) * 16), codesAt(s, r),
                    inside);
        u8 *word = to + (r * kWave + lane) * 4;
        copyWord<Decode::kScale>(word + kScalesAt, args.b.decode, s, r, inside);
        if constexpr (Decode::kHasZeros)
          copyWord<Decode::kZero>(word + kZerosAt, args.b.zeros, s, r, inside);
      }
    }

    /// Scale and zero point of row r of the step in `stage`.
    HK_MEM Scale scaleOf(const Step &s, int r, const u8 *stage) const {
      const u8 *word = stage + (r * kWave + laneId()) * 4;
      WordAndShift zero = {0, 0};
      if constexpr (Decode::kHasZeros)
        zero = wordOf<Decode::kZero>(word + kZerosAt, args.b.zeros, s, r);
      return Scale(
          wordOf<Decode::kScale>(word + kScalesAt, args.b.decode, s, r), zero);
    }

  private:
    template <DType W>
    HK_MEM WordAndShift wordOf(const u8 *at, const ScaleArgs &from,
                               const Step &s, int r) const {
      i64 index = indexOf(from, rowOf(s.tile), offsetOf(r), depthOf(s));
      return {*reinterpret_cast<const u32 *>(at),
              ElementInWord<W>::shiftOf(u32(from.data), u32(index))};
    }
  };

  /// The part of A that the block keeps: chunks of 8 elements of k, four of
  /// which, 32 elements apart, are the columns of two instructions.
  HK_MEM static u8 *chunkOfA(u8 *lds, int row, int chunk) {
    int unit = chunk / 16, lane = row % 8 * 4 + chunk % 16 / 4;
    int place = (unit * 4 + chunk % 4) * kWide + row / 8;
    return lds + (place * kWave + lane) * 16;
  }
  /// Elements in the order of CodePairs.
  HK_MEM static u32x4 paired(u32x4 x) {
    return {__nvvm_prmt(x[0], x[2], 0x5410), __nvvm_prmt(x[0], x[2], 0x7632),
            __nvvm_prmt(x[1], x[3], 0x5410), __nvvm_prmt(x[1], x[3], 0x7632)};
  }
  HK_MEM static void keepA(const GemmArgs &args, i64 row0, i64 k0, int units,
                           u8 *lds) {
    constexpr int kAtOnce = 8;
    int chunks = units * (kUnit / 8);
    auto base = global<const u8>(args.a.data);
    HK_UNROLL for (int row = 0; row < T.bm; ++row) {
      i64 line = (row0 + row) * args.a.stride;
      bool exists = row0 + row < args.m;
      for (int first = threadId(); first < chunks;
           first += kThreads * kAtOnce) {
        u32x4 x[kAtOnce];
        HK_UNROLL for (int i = 0; i < kAtOnce; ++i) {
          i64 k = k0 + i64(first + i * kThreads) * 8;
          x[i] = u32x4(0);
          if (exists && first + i * kThreads < chunks && k < args.k)
            x[i] = *(Global<const u32x4>)(base + (line + k) * 2);
        }
        HK_UNROLL for (int i = 0; i < kAtOnce; ++i) {
          if (first + i * kThreads < chunks)
            *reinterpret_cast<u32x4 *>(
                chunkOfA(lds, row, first + i * kThreads)) = paired(x[i]);
        }
      }
    }
  }

  using Sums = Vec<float, 4>[kTall][kWide];

  /// One step: decodes what the lane copied and multiplies. `unit`: among those
  /// that the block keeps of A.
  HK_MEM static void multiply(const Source &source, const Step &s, int unit,
                              const u8 *stage, const u8 *a, Sums &sums) {
    u32x4 codes[kRows];
    HK_UNROLL for (int r = 0; r < kRows; ++r) codes[r] =
        *reinterpret_cast<const u32x4 *>(stage + (r * kWave + laneId()) * 16);
    const u8 *columns = a + (unit * 4 * kWide * kWave + laneId()) * 16;
    HK_UNROLL for (int tall = 0; tall < kTall; ++tall) {
      Scale low = source.scaleOf(s, tall * 2, stage);
      Scale high = source.scaleOf(s, tall * 2 + 1, stage);
      HK_UNROLL for (int i = 0; i < 4; ++i) {
        u32 first = codes[tall * 2][i], second = codes[tall * 2 + 1][i];
        u32x4 x[kWide];
        HK_UNROLL for (int w = 0; w < kWide; ++w) x[w] =
            *reinterpret_cast<const u32x4 *>(columns +
                                             (i * kWide + w) * kWave * 16);
        HK_UNROLL for (int half = 0; half < 2; ++half) {
          u32x4 rows = {low.pair(first, half * 2), high.pair(second, half * 2),
                        low.pair(first, half * 2 + 1),
                        high.pair(second, half * 2 + 1)};
          HK_UNROLL for (int w = 0; w < kWide; ++w)
              Op::step(sums[tall][w], rows, x[w][half * 2], x[w][half * 2 + 1]);
        }
      }
    }
  }

  /// Part `waveId()` of a tile: [row of A][row of the tile].
  HK_MEM static void keepPart(float *parts, const Sums &sums) {
    float *own = parts + waveId() * T.bm * kPitch;
    int lane = laneId();
    HK_UNROLL for (int tall = 0; tall < kTall; ++tall)
        HK_UNROLL for (int w = 0; w < kWide; ++w)
            HK_UNROLL for (int e = 0; e < 4; ++e)
                own[(w * 8 + lane % 4 * 2 + e % 2) * kPitch + tall * 16 +
                    e / 2 * 8 + lane / 4] = sums[tall][w][e];
  }

  /// Four neighbours of a part in block `rank` of the cluster.
  HK_MEM static f32x4 readPart(const float *at, u32 rank) {
    if constexpr (Cluster == 1)
      return *reinterpret_cast<const f32x4 *>(at);
    else
      return readLds16From(clusterAddress(ldsAddress(at), rank));
  }
  /// The sums of row m of V columns from c of the tile on. V columns are in
  /// four, or some of four.
  template <int V>
  HK_MEM static Vec<float, V> total(const float *parts, int m, int c) {
    constexpr int kFours = V <= 4 ? 1 : V / 4;
    f32x4 sum[kFours];
    HK_UNROLL for (int f = 0; f < kFours; ++f) sum[f] = f32x4(0);
    HK_UNROLL for (u32 rank = 0; rank < Cluster; ++rank)
        HK_UNROLL for (int wave = 0; wave < kWaves; ++wave)
            HK_UNROLL for (int f = 0; f < kFours; ++f) sum[f] +=
        readPart(parts + (wave * T.bm + m) * kPitch + c / 4 * 4 + f * 4, rank);
    Vec<float, V> result;
    HK_UNROLL for (int e = 0; e < V; ++e) result[e] =
        V < 4 ? sum[0][c % 4 + e] : sum[e / 4][e % 4];
    return result;
  }

  template <class Epilogue>
  HK_MEM static void finish(const GemmArgs &args, i64 row0, u32 tile, u32 rank,
                            const float *parts, const Epilogue &epilogue) {
    constexpr int V = Epilogue::kVec, perRow = kOwn / V;
    static_assert(Epilogue::kGroup == 0 && kOwn % V == 0);
    i64 left = args.m - row0;
    int rows = left < T.bm ? int(left) : T.bm;
    for (int x = threadId(); x < rows * perRow; x += kThreads) {
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
    u8 *a = shared.bytes;
    u8 *stages = a + kBytesA + waveId() * kStages * kStageBytes;
    u8 *ends = a + kPartsAt;
    auto *parts = reinterpret_cast<float *>(ends);
    u32 rank = Cluster > 1 ? clusterRank() : 0;
    i64 row0 = i64(block.y) * T.bm;
    int first = unitOf(args.k, rank), units = unitOf(args.k, rank + 1) - first;
    Walk walk = {u32((args.n + kColumns - 1) / kColumns),
                 blockCountX() / Cluster, first + units * waveId() / kWaves,
                 first + units * (waveId() + 1) / kWaves};
    Source source = {args, stages};
    Step now = {block.x / Cluster, walk.begin}, ahead = now;
    // Into the L2 cache, before the kernel in front has ended.
    Step early = now;
    for (int i = 1; i < kStages; ++i, walk.advance(early))
      HK_UNROLL for (int r = 0; r < kRows;
                     ++r) if (walk.holds(early) && source.holds(early, r))
          prefetchLine(source.codesAt(early, r));
    waitForLast();
    HK_UNROLL for (int i = 0; i + 1 < kStages; ++i) {
      if (walk.holds(ahead))
        source.issue(ahead, i);
      walk.advance(ahead);
      commitDirectCopies();
    }
    keepA(args, row0, i64(first) * kUnit, units, a);
    barrier();
    bool later = false;
    int stage = 0, next = kStages - 1;
    for (u32 tile = now.tile; tile < walk.tiles; tile += walk.stride) {
      Sums sums;
      HK_UNROLL for (int t = 0; t < kTall; ++t)
          HK_UNROLL for (int w = 0; w < kWide; ++w) sums[t][w] =
              Vec<float, 4>(0);
      for (int unit = walk.begin; unit < walk.end; ++unit) {
        waitDirectCopies<kStages - 2, 1>();
        if (walk.holds(ahead))
          source.issue(ahead, next);
        walk.advance(ahead);
        commitDirectCopies();
        multiply(source, {tile, unit}, unit - first,
                 stages + stage * kStageBytes, a, sums);
        stage = stage + 1 == kStages ? 0 : stage + 1;
        next = next + 1 == kStages ? 0 : next + 1;
      }
      if (!walk.holds(ahead))
        letNextBegin();
      // Nobody reads the parts of the tile before any longer.
      if (later)
        clusterWait();
      later = true;
      keepPart(parts, sums);
      clusterArrive();
      clusterWait();
      finish(args, row0, tile, rank, parts, epilogue);
      clusterArrive();
    }
    if (later)
      clusterWait();
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_SKINNYCODES_H
