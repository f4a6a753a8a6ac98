//===- gpu.h - Matrix product of one block on a GPU -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Main loop: `stages` LDS buffers filled by direct copies where operand layout
// and target allow, else through registers with one or two buffers. The last
// iteration of the register loop is peeled: a conditional prefetch would make
// copies that wait for the loads. Epilogue: accumulators pass through LDS slab
// by slab and reach the user's functor as row-contiguous vectors, so that it
// reads and writes memory in 16-byte accesses whatever the lane map.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_GPU_H
#define HK_KERNELS_GEMM_GPU_H

#include "kernels/device/mma.h"
#include "kernels/device/reduce.h"
#include "kernels/gemm/loader.h"
#include "kernels/gemm/problem.h"
#include "kernels/gemm/schedule.h"

namespace hk {

/// Accumulators in LDS: rows of Cols 4-byte values, 16-byte chunks swizzled.
template <class Acc, int Cols> struct SlabLayout {
  HK_MEM static Acc *at(u8 *slab, int row, int col) {
    return reinterpret_cast<Acc *>(slab + swizzled<Cols * 4>(row, col * 4));
  }
  template <int V> HK_MEM static Vec<Acc, V> read(u8 *slab, int row, int col) {
    Vec<Acc, V> r;
    if constexpr (V <= 4)
      r = *reinterpret_cast<Vec<Acc, V> *>(at(slab, row, col));
    else
      HK_UNROLL for (int i = 0; i < V; i += 4) {
        auto q = *reinterpret_cast<Vec<Acc, 4> *>(at(slab, row, col + i));
        HK_UNROLL for (int e = 0; e < 4; ++e) r[i + e] = q[e];
      }
    return r;
  }
};

/// Statistic and stores of V columns; `live` is false for lanes that only take
/// part in the lane exchange.
template <int V, class Epilogue, class In>
HK_DEV void runEpilogue(const Epilogue &epilogue, i64 batch, i64 row, i64 col,
                        i64 n, bool live, In in) {
  if constexpr (Epilogue::kGroup != 0) {
    float stat[1] = {0};
    if (live)
      forColumns<V>(col, n, in, [&]<int W>(i64 c, const auto &part) {
        stat[0] =
            Max::apply(stat[0], epilogue.template stat<W>(batch, row, c, part));
      });
    groupReduce<Max, Epilogue::kGroup / V>(stat);
    in.stat = stat[0];
  }
  if (live)
    forColumns<V>(col, n, in, [&]<int W>(i64 c, const auto &part) {
      epilogue.template apply<W>(batch, row, c, part);
    });
}

template <class Problem> struct Gemm {
  using P = Problem;
  using A = typename P::A;
  using B = typename P::B;
  using Acc = typename P::Acc;
  static constexpr GemmTile T = P::kTile;
  static constexpr DType D = P::kOperand;
  using Mma = BlockMma<D, T.bm, T.bn, T.bk, T.wm, T.wn>;
  /// The accumulator of a scaled product of integers has the same lane map.
  static constexpr bool kScaledIntegers =
      D == DType::I8 && P::kScale != KScale::None;
  using Total =
      BlockMma<kScaledIntegers ? DType::BF16 : D, T.bm, T.bn, T.bk, T.wm, T.wn>;
  static constexpr int kThreads = Mma::kThreads;
  static constexpr int kSize = info(D).bits / 8;
  static constexpr int kRowBytes = T.bk * kSize;
  static constexpr int kBytesA = T.bm * kRowBytes, kBytesB = T.bn * kRowBytes;
  static constexpr bool kQuantized = A::Decode::kMakesScales;
  /// A stage: A, B, and the scales of the rows of A that are quantised.
  static constexpr int kStageBytes =
      kBytesA + kBytesB + (kQuantized ? T.bm * int(sizeof(float)) : 0);
  static constexpr i64 kLds = gemmLds(kTarget, T, D, kQuantized);
  static constexpr int kSlab = int(gemmSlabRows(kTarget, T));
  static_assert(kSlab == Mma::kSlabRows * T.wm,
                "the contract's fragment is not the one of the matrix layer");

  struct Shared {
    alignas(16) u8 bytes[kLds];
  };
  static_assert(sizeof(Shared) == kLds);

  static constexpr bool kDirect = kCanCopyDirect<A, D> &&
                                  kCanCopyDirect<B, D> &&
                                  !A::Decode::kDecodes && !B::Decode::kDecodes;
  static_assert(!kDirect || T.stages >= 2,
                "direct copies overwrite their buffer: two stages at least");

  /// Rows of B are two ranges, or alternate, when columns come in pairs.
  static constexpr int kParts = P::kPair ? 2 : 1;
  static constexpr int kPartRows = T.bn / kParts;
  static_assert(kPartRows % kFragmentRows == 0 || !P::kPair,
                "the halves of B are not whole fragments");

  /// Rows of A that a thread copies at once, and rows of its sums.
  static constexpr int kLines = kBytesA / 16 / kThreads;
  using SourceA =
      typename Choice<A::kGathered && keepsRowsInRegisters(kTarget),
                      ThreadRows<A, kLines, Total::kRows>, TileSource<A>>::Type;

  /// Where the tiles of this block start; the parts of B are n rows apart.
  struct Source {
    SourceA a;
    TileSource<B> b;
    i64 n, k0, k1;
    HK_MEM TileSource<B> part(int p) const { return b.part(p, n); }
  };

  HK_MEM static void issueDirect(const Source &s, i64 k, u8 *stage) {
    DirectCopy<T.bm, kRowBytes, kThreads>::issue(
        s.a.template view<T.bm, T.bk>(k, s.k1), s.a.firstByte(k), stage);
    HK_UNROLL for (int p = 0; p < kParts; ++p)
        DirectCopy<kPartRows, kRowBytes, kThreads>::issue(
            s.part(p).template view<kPartRows, T.bk>(k, s.k1), s.b.firstByte(k),
            stage + kBytesA + p * kPartRows * kRowBytes);
    commitDirectCopies();
  }

  /// Both operands of a stage on their way through registers.
  struct InFlight {
    StagedLoader<A, D, T.bm, T.bk, kThreads> a;
    StagedLoader<B, D, kPartRows, T.bk, kThreads> b[kParts];

    HK_MEM void issue(const Source &s, i64 k) {
      a.issue(s.a, k, s.k1);
      HK_UNROLL for (int p = 0; p < kParts; ++p) b[p].issue(s.part(p), k, s.k1);
    }
    HK_MEM void land(const Source &s, i64 k, u8 *stage) const {
      a.land(stage, s.a, k, s.k1, scalesIn(stage));
      HK_UNROLL for (int p = 0; p < kParts; ++p) b[p].land(
          stage + kBytesA + p * kPartRows * kRowBytes, s.part(p), k, s.k1,
          nullptr);
    }
  };

  HK_MEM static float *scalesIn(u8 *stage) {
    return reinterpret_cast<float *>(stage + kBytesA + kBytesB);
  }

  HK_MEM static void multiply(Mma &acc, const u8 *stage) {
    acc.mma(stage, stage + kBytesA);
  }

  /// onTile(tile index, stage) runs after each K tile has been accumulated.
  template <class F>
  HK_MEM static void mainLoop(const Source &s, u8 *lds, Mma &acc, F onTile) {
    constexpr int stageBytes = kStageBytes;
    int tiles = int((s.k1 - s.k0 + T.bk - 1) / T.bk);
    auto kOf = [&](int tile) { return s.k0 + i64(tile) * T.bk; };
    if (tiles == 0)
      return;
    if constexpr (kDirect) {
      constexpr int ahead = T.stages - 1;
      constexpr int kCopies =
          DirectCopy<T.bm, kRowBytes, kThreads>::kPerThread +
          kParts * DirectCopy<kPartRows, kRowBytes, kThreads>::kPerThread;
      HK_UNROLL for (int t = 0; t < ahead; ++t) {
        if (t < tiles)
          issueDirect(s, kOf(t), lds + t * stageBytes);
        else
          commitDirectCopies();
      }
      int now = 0, next = ahead;
      for (int t = 0; t < tiles; ++t) {
        // Groups at the end are empty, which AMD does not count.
        if (kTarget.arch == Arch::Sm90a || t + ahead <= tiles)
          waitDirectCopies<ahead - 1, kCopies>();
        else
          waitDirectCopies<0, kCopies>();
        barrierOfCopies();
        if (t + ahead < tiles)
          issueDirect(s, kOf(t + ahead), lds + next * stageBytes);
        else
          commitDirectCopies();
        multiply(acc, lds + now * stageBytes);
        onTile(t, lds + now * stageBytes);
        now = now + 1 == T.stages ? 0 : now + 1;
        next = next + 1 == T.stages ? 0 : next + 1;
      }
      waitDirectCopies<0, kCopies>();
    } else {
      static_assert(T.stages == 1 || T.stages == 2 || kTarget.directToLds >= 16,
                    "copies through registers use one or two stages");
      constexpr bool two = T.stages >= 2;
      InFlight next;
      next.issue(s, kOf(0));
      next.land(s, kOf(0), lds);
      barrier();
      for (int t = 1; t < tiles; ++t) {
        u8 *from = lds + (two ? (t - 1) % 2 * stageBytes : 0);
        u8 *to = lds + (two ? t % 2 * stageBytes : 0);
        next.issue(s, kOf(t));
        multiply(acc, from);
        onTile(t - 1, from);
        if constexpr (!two)
          barrier();
        next.land(s, kOf(t), to);
        barrier();
      }
      u8 *last = lds + (two ? (tiles - 1) % 2 * stageBytes : 0);
      multiply(acc, last);
      onTile(tiles - 1, last);
    }
    barrier();
  }

  /// Partial sums of a block along k, each times its scales.
  HK_MEM static void scaledLoop(const Source &s, const GemmArgs &args, i64 n0,
                                u8 *lds, Total &total) {
    constexpr int depth = kBlockScaleA.depth, columns = kBlockScaleB.rows;
    static_assert(sizeof(Acc) == 4 && depth % T.bk == 0 &&
                      depth == kBlockScaleB.depth && columns % P::kCols == 0 &&
                      (!P::kPair || T.wn % 2 == 0),
                  "a wave's columns share one block of B");
    static_assert(!kQuantized || P::kScaleA);
    constexpr int every = depth / T.bk;
    auto scaleA = global<const float>(args.a.fold.data);
    i64 row = n0;
    if constexpr (P::kPair)
      row += Mma::waveCol() / kPartRows * s.n;
    auto scaleB = global<const float>(args.b.fold.data) +
                  row / columns * args.b.fold.strideRow;
    (void)scaleA, (void)scaleB;
    Mma part;
    part.clear();
    int tiles = int((s.k1 - s.k0 + T.bk - 1) / T.bk);
    mainLoop(s, lds, part, [&](int t, [[maybe_unused]] u8 *stage) {
      if (t % every != every - 1 && t != tiles - 1)
        return;
      i64 block = (s.k0 + i64(t) * T.bk) / depth;
      float scale[Mma::kRows];
      HK_UNROLL for (int i = 0; i < Mma::kRows; ++i) {
        scale[i] = 1;
        if constexpr (kQuantized)
          scale[i] = scalesIn(stage)[Mma::rowOf(i)];
        else if constexpr (P::kScaleA)
          scale[i] =
              scaleA[s.a.foldRow(i, Mma::rowOf(i)) * args.a.fold.strideRow +
                     block];
        if constexpr (P::kScaleB)
          scale[i] *= scaleB[block];
      }
      total.fold(part, scale);
    });
  }

  /// consume(rowInTile, colInBlock, GemmOutput<Acc, V>) for every V columns,
  /// row-contiguous; all lanes of a wave stay together.
  template <int V, class F>
  HK_MEM static void forOutput(Total &acc, u8 *lds, F consume) {
    using Slab = SlabLayout<Acc, T.bn>;
    constexpr int waveRows = T.bm / T.wm, slabRows = Mma::kSlabRows;
    constexpr int perRow = P::kCols / V, total = kSlab * perRow;
    static_assert(P::kCols % V == 0);
    HK_UNROLL for (int i = 0; i < Mma::kSlabs; ++i) {
      acc.forSlab(i, [&](int, int row, int col, Vec<Acc, Mma::V> &v) {
        int slabRow = row / waveRows * slabRows + row % slabRows;
        *reinterpret_cast<Vec<Acc, Mma::V> *>(Slab::at(lds, slabRow, col)) = v;
      });
      barrier();
      for (int x = threadId(); x < (total + kThreads - 1) / kThreads * kThreads;
           x += kThreads) {
        int r = x / perRow, col = x % perRow * V;
        bool live = total % kThreads == 0 || x < total;
        r = live ? r : 0;
        GemmOutput<Acc, V> out;
        out.acc = Slab::template read<V>(lds, r, col);
        out.pair = P::kPair ? Slab::template read<V>(lds, r, col + kPartRows)
                            : Vec<Acc, V>(0);
        out.stat = 0;
        int row = r / slabRows * waveRows + i * slabRows + r % slabRows;
        consume(row, col, live, out);
      }
      if (i + 1 < Mma::kSlabs)
        barrier();
    }
  }

  /// The operands of a tile whose columns begin at n0.
  HK_MEM static Source sourceOf(const GemmArgs &args, const SourceA &a, i64 n0,
                                KRange k) {
    return {
        a, {args.b, n0, args.n - n0, args.n * kParts}, args.n, k.begin, k.end};
  }

  HK_MEM static void accumulate(const GemmArgs &args, const Source &s, i64 n0,
                                u8 *lds, Total &acc) {
    acc.clear();
    if constexpr (P::kScale == KScale::None)
      mainLoop(s, lds, acc, [](int, u8 *) {});
    else
      scaledLoop(s, args, n0, lds, acc);
  }

  /// `rows` says where the rows of the tile go (TileRows).
  template <class Rows, class Epilogue>
  HK_MEM static void finish(const GemmArgs &args, const Rows &rows, i64 n0,
                            u8 *lds, Total &acc, const Epilogue &epilogue) {
    forOutput<Epilogue::kVec>(
        acc, lds, [&](int r, int c, bool live, const auto &out) {
          i64 col = n0 + c;
          live = live && rows.exists(r) && col < args.n;
          runEpilogue<Epilogue::kVec>(epilogue, rows.matrix(r), rows.row(r),
                                      col, args.n, live, out);
        });
  }

  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    TileIndex tile = tileOf(block, (args.m + T.bm - 1) / T.bm,
                            (args.n + P::kCols - 1) / P::kCols);
    TileRows rows = {block.z, tile.m * T.bm, args.m};
    i64 n0 = tile.n * P::kCols;
    TileSource<A> a = {args.a, rows.first, args.m - rows.first, args.m};
    Total acc;
    accumulate(args, sourceOf(args, a, n0, rangeOfK<Problem>(args, block.z)),
               n0, shared.bytes, acc);
    finish(args, rows, n0, shared.bytes, acc, epilogue);
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_GPU_H
