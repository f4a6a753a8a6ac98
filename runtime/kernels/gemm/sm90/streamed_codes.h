//===- streamed_codes.h - Few rows times streams of codes -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Few rows times codes of 4 or 8 bits. Every unit has a tile of its own, or a
// part of its k, which the blocks of a cluster share: parts are added once a
// launch, and A comes along k with the codes, so that nothing has to be there
// before the first of them. One warp asks the copy engine for stages of 256 or
// 128 of k. The others decode in registers and multiply: a team of them has a
// part of the rows of B, a member half of k of every stage of its turn, and
// keeps the sums of its rows until the end. With scales of sums along k a
// member has whole stages, so that a sum is multiplied once. Rows of A are the
// rows of the instruction. What the codes are decoded with is read once, at the
// beginning, and waits in LDS as a word for 128 codes or more.
//
// Blocks do not share A: in clusters of two, which bring its boxes for both,
// they waited for each other (benchmarks/results/h200-gemm.md).
//
//   StreamedCodes<Problem, Cluster>::run(args, maps, block, shared, epilogue)
//   Grid: Cluster * ceil(n / columns of a tile), ceil(m / bm), 1.
//   maps: A, codes of B (of 4 bits as bytes).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_STREAMEDCODES_H
#define HK_KERNELS_GEMM_SM90_STREAMEDCODES_H

#include "kernels/gemm/sm90/codes_bytes.h"
#include "kernels/gemm/sm90/stages.h"

namespace hk {

template <class Problem, int Cluster> struct StreamedCodes {
  using P = Problem;
  using B = typename P::B;
  using Decode = typename B::Decode;
  static constexpr GemmTile T = {
      P::kTile.bm, P::kTile.bn,     P::kTile.bk,     P::kTile.wm,
      P::kTile.wn, P::kTile.stages, P::kTile.splitK, GemmLoop::StreamedCodes,
      Cluster};
  static constexpr DType D = P::kOperand;
  static constexpr int kStages = T.stages, kRow = kBulkRowBytes;
  static constexpr int kBits = info(B::kMem).bits,
                       kDepth = streamedDepth(kBits),
                       kBoxes = streamedBoxes(kBits);
  /// Waves that multiply; one more copies.
  static constexpr int kWaves = T.wm * T.wn, kReaders = kWaves * kWave;
  static constexpr int kThreads = kReaders + kWave;
  static constexpr i64 kLds = streamedCodesLds(T, kBits);
  static constexpr int kColumns = P::kCols, kParts = P::kPair ? 2 : 1;
  static constexpr int kTeams = T.wm, kMembers = T.wn;
  /// Fragments of eight rows of B of a team; of 16 rows of A.
  static constexpr int kTall = T.bn / (kTeams * 8), kWide = (T.bm + 15) / 16;
  /// Sums along k have scales, each of them those of a stage.
  static constexpr bool kFolds = P::kScaleB;
  /// A stage is its members' parts: of as many stages a member has one. The
  /// place of a stage in LDS is always the same members': who waits for its
  /// second use has read its first.
  static constexpr int kHalves = kFolds ? 1 : 2, kTurns = kMembers / kHalves;
  static constexpr int kBytesB = T.bn * kRow, kBoxA = T.bm * kRow;
  static constexpr int kStageBytes = int(streamedCodesStage(T, kBits));
  static constexpr int kScalesBytes = int(streamedCodesScales(T));
  static_assert(T.splitK == 1 && B::kKContiguous && B::kStep == 1 &&
                P::A::kMem == D && P::A::kKContiguous && !P::kScaleA &&
                (kBits == 8 || (Decode::kHasScales && !kFolds)));
  static_assert(!kFolds ||
                (kDepth == kBlockScaleB.depth && kBlockScaleB.rows % 8 == 0));
  static_assert(kTeams * kTall * 8 == T.bn && kTurns * kHalves == kMembers &&
                kStages % kTurns == 0 && kColumns % 8 == 0 && T.bm % 8 == 0);

  using Op = MmaSync<D>;
  using Scales = typename PickCodesWords<P, T, kReaders>::Type;
  static_assert(Scales::kBytes <= kScalesBytes);
  using Sums = Vec<float, 4>[kTall][kWide];
  /// Floats of a row of A of a member's sums.
  static constexpr int kPitch = T.bn + kCodesPad;
  static constexpr int kPartFloats = T.bm * kPitch;
  static_assert(kMembers * kPartFloats * 4 <= kStages * kStageBytes);

  using Shared = ClusterShared<Cluster, kLds>;

  /// Addresses in LDS: stages (codes, then A), whose place the members' sums
  /// take; scales; barriers.
  struct Layout {
    u32 base;

    HK_MEM explicit Layout(const Shared &lds) : base(bulkBase(lds.bytes)) {}
    HK_MEM u32 stage(u32 stage) const { return base + stage * kStageBytes; }
    /// Of four boxes of A 1 and 3 begin two rows behind where the swizzle does:
    /// what four lanes read of two boxes is then in different banks.
    HK_MEM static u32 boxOfA(int box) {
      if constexpr (kBits == 8)
        return u32(kBytesB + box * kBoxA);
      return u32(kBytesB + box / 2 * kBoxA +
                 box % 2 * (2 * kBoxA + kStreamedApart));
    }
    HK_MEM u32 scales() const { return base + kStages * kStageBytes; }
    HK_MEM LdsBarrier full(u32 stage) const { return {bars() + stage * 8}; }
    HK_MEM LdsBarrier empty(u32 stage) const { return full(kStages + stage); }

  private:
    HK_MEM u32 bars() const { return scales() + kScalesBytes; }
  };

  HK_MEM static void begin(const TensorMap *maps, const Layout &lds) {
    if (waveId() == 0 && isElected()) {
      maps[0].prefetch();
      maps[1].prefetch();
      initStages<kStages>(lds, 1, kTeams * kHalves);
      publishBarriers();
    }
    barrier();
  }

  /// Asks for the stages of a block, from stage `first` of k on.
  struct Producer {
    const TensorMap *maps;
    Layout lds;
    int row, col, n, first;

    template <class F> HK_MEM void forCodes(int step, F f) const {
      HK_UNROLL for (int p = 0; p < kParts; ++p)
          f(p, BoxPlace{(first + step) * kRow, col + p * n, 0});
    }
    HK_MEM void prefetch(int steps) const {
      for (int step = 0; step < steps && step < kStages; ++step)
        forCodes(step, [&](int, BoxPlace from) { prefetchBox(maps[1], from); });
    }
    HK_MEM void fill(int step, u32 stage) const {
      LdsBarrier full = lds.full(stage);
      full.expect(kBytesB + kBoxes * kBoxA);
      forCodes(step, [&](int p, BoxPlace from) {
        loadBox(lds.stage(stage) + p * kColumns * kRow, maps[1], full, from,
                Keep::Short);
      });
      HK_UNROLL for (int box = 0; box < kBoxes; ++box) {
        constexpr int columns = kDepth / kBoxes;
        BoxPlace from = {(first + step) * kDepth + box * columns, row, 0};
        loadBox(lds.stage(stage) + Layout::boxOfA(box), maps[0], full, from,
                Keep::Long);
      }
    }
    HK_MEM void run(int steps) const {
      StageRing<kStages> ring;
      for (int step = 0; step < steps; ++step) {
        lds.empty(ring.stage).wait(ring.phase ^ 1);
        fill(step, ring.stage);
        ring.advance();
      }
      letNextBegin();
    }
  };

  /// What a wave multiplies of a stage.
  struct Member {
    /// Its rows of B, its (first) half of a stage's k, its first stage.
    int rows, half, first;
    /// Of eight rows of B the lane's: of two that eight lanes read together the
    /// chunks are in different halves of a line of banks.
    int own;

    HK_MEM Member()
        : rows(waveId() % kTeams * (kTall * 8)),
          half(waveId() / kTeams % kHalves),
          first(waveId() / (kTeams * kHalves)), own(rowOf(laneId() / 4)) {}
    HK_MEM static int rowOf(int n) { return n % 2 * 4 + n / 2; }

    /// The lane's codes of fragment `tall`, of half `half` of the stage.
    HK_MEM u32x4 codes(u32 stage, int tall, int half) const {
      int chunk = (half * 4 + laneId() % 4) ^ own;
      return loadLds16(stage + u32((rows + own) * kRow + chunk * 16) +
                       u32(tall * 8 * kRow));
    }
    /// The elements of A beside them, eight at a time (i), of row laneId() / 4
    /// and `r` more, which are a multiple of eight.
    HK_MEM u32x4 elements(u32 stage, int i, int r, int half) const {
      int quad = laneId() / 4, t = laneId() % 4;
      if constexpr (kBits == 8)
        return loadLds16(stage + Layout::boxOfA(half) +
                         u32((quad + r) * kRow + ((t * 2 + i) ^ quad) * 16));
      int chunk = (t % 2 * 4) ^ ((quad + t / 2 * (kStreamedApart / kRow)) % 8);
      u32 at = stage + Layout::boxOfA(half * 2 + t / 2) +
               u32(quad * kRow + chunk * 16);
      return paired(loadLds16((at ^ u32(i * 16)) + u32(r * kRow)));
    }

  private:
    /// In the order of CodePairs.
    HK_MEM static u32x4 paired(u32x4 v) {
      return {__nvvm_prmt(v[0], v[2], 0x5410), __nvvm_prmt(v[0], v[2], 0x7632),
              __nvvm_prmt(v[1], v[3], 0x5410), __nvvm_prmt(v[1], v[3], 0x7632)};
    }
  };

  /// Eight of k of A for each of a lane's rows, as the instruction has them:
  /// [16 rows][half of the eight].
  using Elements = u32x4[kWide][2];
  HK_MEM static void load(const Member &member, u32 stage, int i, int half,
                          Elements &a) {
    HK_UNROLL for (int w = 0; w < kWide; ++w) {
      u32x4 low = member.elements(stage, i, w * 16, half), high = u32x4(0);
      if constexpr (T.bm > 8)
        high = member.elements(stage, i, w * 16 + 8, half);
      HK_UNROLL for (int h = 0; h < 2; ++h)
          a[w][h] = {low[h * 2], high[h * 2], low[h * 2 + 1], high[h * 2 + 1]};
    }
  }

  /// Eights of k of a lane in half a stage.
  static constexpr int kEights = 16 / kBits;
  /// What four of k of a lane are decoded to.
  template <class Scale>
  HK_MEM static u32x2 fours(const Scale &scale, const u32x4 &codes, int i,
                            int h) {
    if constexpr (kBits == 4)
      return {scale.pair(codes[i], h * 2), scale.pair(codes[i], h * 2 + 1)};
    else
      return {scale.pair(codes[i * 2 + h], 0), scale.pair(codes[i * 2 + h], 1)};
  }

  /// The member's half of a stage, whose first half of k is unit `unit`.
  template <bool Usual>
  HK_MEM static void multiplyStage(const Member &member, const Scales &scales,
                                   u32 stage, int unit, Sums &sums) {
    u32x4 codes[kTall];
    HK_UNROLL for (int tall = 0; tall < kTall; ++tall) codes[tall] =
        member.codes(stage, tall, member.half);
    // Fragments of B within eight of k: neighbouring products are of
    // different sums.
    HK_UNROLL for (int i = 0; i < kEights; ++i) {
      Elements a;
      load(member, stage, i, member.half, a);
      HK_UNROLL for (int tall = 0; tall < kTall; ++tall) {
        auto scale = scales.template of<Usual>(
            unit + member.half, member.rows + tall * 8 + member.own);
        HK_UNROLL for (int h = 0; h < 2; ++h) {
          u32x2 four = fours(scale, codes[tall], i, h);
          HK_UNROLL for (int w = 0; w < kWide; ++w)
              Op::step(sums[tall][w], a[w][h], four[0], four[1]);
        }
      }
    }
  }
  /// The same of a whole stage, whose sums have scales.
  HK_MEM static void foldStage(const Member &member, const Scales &scales,
                               u32 stage, int unit, Sums &sums) {
    Elements a[2][kEights];
    HK_UNROLL for (int half = 0; half < 2; ++half)
        HK_UNROLL for (int i = 0; i < kEights; ++i)
            load(member, stage, i, half, a[half][i]);
    HK_UNROLL for (int tall = 0; tall < kTall; ++tall) {
      int row = member.rows + tall * 8;
      auto scale = scales.template of<true>(unit, row);
      Vec<float, 4> part[kWide];
      HK_UNROLL for (auto &v : part) v = Vec<float, 4>(0);
      HK_UNROLL for (int half = 0; half < 2; ++half) {
        u32x4 codes = member.codes(stage, tall, half);
        HK_UNROLL for (int i = 0; i < kEights; ++i)
            HK_UNROLL for (int h = 0; h < 2; ++h) {
          u32x2 four = fours(scale, codes, i, h);
          HK_UNROLL for (int w = 0; w < kWide; ++w)
              Op::step(part[w], a[half][i][w][h], four[0], four[1]);
        }
      }
      // Of a pair eight rows may have two scales.
      float even = scales.foldOf(unit, row + Member::rowOf(laneId() % 4 * 2));
      float odd =
          P::kPair
              ? scales.foldOf(unit, row + Member::rowOf(laneId() % 4 * 2 + 1))
              : even;
      HK_UNROLL for (int w = 0; w < kWide; ++w)
          HK_UNROLL for (int e = 0; e < 4; ++e) sums[tall][w][e] +=
          part[w][e] * (e % 2 == 0 ? even : odd);
    }
  }

  /// `first`: the block's first stage of k.
  template <bool Usual>
  HK_MEM static void multiply(const Layout &lds, const Scales &scales,
                              int first, int steps, Sums &sums) {
    Member member;
    StageRing<kStages> ring;
    ring.stage = u32(member.first);
    for (int step = member.first; step < steps; step += kTurns) {
      lds.full(ring.stage).waitTogether(ring.phase);
      int unit = (first + step) * 2;
      if constexpr (kFolds)
        foldStage(member, scales, lds.stage(ring.stage), unit, sums);
      else
        multiplyStage<Usual>(member, scales, lds.stage(ring.stage), unit, sums);
      waveBarrier();
      if (laneId() == 0)
        lds.empty(ring.stage).arrive();
      ring.stage += kTurns;
      if (ring.stage >= kStages) {
        ring.stage -= kStages;
        ring.phase ^= 1;
      }
    }
  }

  /// The wave's sums: [row of A][row of B].
  HK_MEM static void keepPart(float *parts, const Sums &sums) {
    Member member;
    float *own = parts + waveId() / kTeams * kPartFloats +
                 laneId() / 4 * kPitch + member.rows;
    HK_UNROLL for (int tall = 0; tall < kTall; ++tall)
        HK_UNROLL for (int w = 0; w < kWide; ++w)
            HK_UNROLL for (int e = 0; e < (T.bm > 8 ? 4 : 2); ++e)
                own[(w * 16 + e / 2 * 8) * kPitch + tall * 8 +
                    Member::rowOf(laneId() % 4 * 2 + e % 2)] = sums[tall][w][e];
  }

  HK_MEM static f32x4 fourOf(const float *parts, int rank, int at) {
    if constexpr (Cluster == 1)
      return *reinterpret_cast<const f32x4 *>(parts + at);
    else
      return readLds16From(clusterAddress(ldsAddress(parts + at), u32(rank)));
  }
  /// The sum of all members of all blocks of row m of V columns from c on,
  /// which are in four or some of four.
  template <int V>
  HK_MEM static Vec<float, V> total(const float *parts, int m, int c) {
    constexpr int fours = V <= 4 ? 1 : V / 4;
    f32x4 sum[fours];
    int at = m * kPitch + c / 4 * 4;
    HK_UNROLL for (int f = 0; f < fours; ++f) {
      sum[f] = f32x4(0);
      HK_UNROLL for (int rank = 0; rank < Cluster; ++rank)
          HK_UNROLL for (int part = 0; part < kMembers; ++part) sum[f] +=
          fourOf(parts, rank, at + part * kPartFloats + f * 4);
    }
    Vec<float, V> result;
    HK_UNROLL for (int e = 0; e < V; ++e) result[e] =
        V < 4 ? sum[0][c % 4 + e] : sum[e / 4][e % 4];
    return result;
  }

  /// The blocks of a cluster have vectors of results in turns.
  template <class Epilogue>
  HK_MEM static void finish(const GemmArgs &args, u32 rank, i64 row0, i64 col0,
                            const float *parts, const Epilogue &epilogue) {
    constexpr int V = Epilogue::kVec, perRow = kColumns / V;
    static_assert(Epilogue::kGroup == 0 && kColumns % V == 0);
    i64 left = args.m - row0;
    int rows = left < T.bm ? int(left) : T.bm;
    for (int x = int(rank) * kReaders + threadId(); x < rows * perRow;
         x += Cluster * kReaders) {
      int m = x / perRow, c = x % perRow * V;
      i64 col = col0 + c;
      GemmOutput<float, V> out;
      out.acc = total<V>(parts, m, c);
      out.pair = P::kPair ? total<V>(parts, m, kColumns + c) : Vec<float, V>(0);
      out.stat = 0;
      runEpilogue<V>(epilogue, 0, row0 + m, col, args.n, col < args.n, out);
    }
  }

  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, const TensorMap *maps,
                         BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    Layout lds(shared);
    u32 rank = Cluster > 1 ? clusterRank() : 0;
    i64 row = i64(block.y) * T.bm, col = i64(block.x / Cluster) * kColumns;
    int all = int((args.k + kDepth - 1) / kDepth);
    int first = all * int(rank) / Cluster;
    int steps = all * int(rank + 1) / Cluster - first;
    bool copies = waveId() == kWaves;
    Producer producer = {maps, lds, int(row), int(col), int(args.n), first};
    u8 *bytes = shared.bytes + (lds.base - ldsAddress(shared.bytes));
    int end = (first + steps) * kDepth;
    PartOfK part = {first * kDepth, end < args.k ? end : int(args.k)};
    Scales scales(args, bytes + kStages * kStageBytes, part);
    // Before the kernel in front has ended. Each branch elects its lane: behind
    // one of the program's the assembler asks for boxes lane by lane.
    if (copies && isElected())
      producer.prefetch(steps);
    if (threadId() == 0)
      scales.clear();
    begin(maps, lds);
    waitForLast();
    float *parts = reinterpret_cast<float *>(bytes);
    if (copies) {
      if (isElected())
        producer.run(steps);
      waveBarrier();
    } else {
      scales.template read<true>(col);
      barrierOfSome<1, kReaders>();
      Sums sums;
      HK_UNROLL for (auto &tall : sums)
          HK_UNROLL for (Vec<float, 4> &sum : tall) sum = Vec<float, 4>(0);
      if (scales.isUsual()) {
        multiply<true>(lds, scales, first, steps, sums);
      } else {
        scales.template read<false>(col);
        barrierOfSome<1, kReaders>();
        multiply<false>(lds, scales, first, steps, sums);
      }
      barrierOfSome<1, kReaders>();
      keepPart(parts, sums);
    }
    if constexpr (Cluster > 1)
      meetCluster<Cluster>();
    else if (!copies)
      barrierOfSome<1, kReaders>();
    if (!copies)
      finish(args, rank, row, col, parts, epilogue);
    // Others read this block's parts.
    waveBarrier();
    if constexpr (Cluster > 1)
      meetCluster<Cluster>();
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_STREAMEDCODES_H
