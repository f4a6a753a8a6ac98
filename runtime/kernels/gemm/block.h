//===- block.h - What the products of one block share -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All of a product by a block of threads but its main loop: where the tiles of
// its operands begin, and the way of its accumulators to the epilogue. They
// pass through LDS slab by slab and reach the user's functor as row-contiguous
// vectors, so that it reads and writes memory in 16-byte accesses whatever the
// lane map. Main loops: gpu.h, microscaled.h, ping_pong.h.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_BLOCK_H
#define HK_KERNELS_GEMM_BLOCK_H

#include "kernels/device/mma.h"
#include "kernels/device/reduce.h"
#include "kernels/device/scan.h"
#include "kernels/gemm/best.h"
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
  if constexpr (kSelectsBest<Epilogue>) {
    u64 key = live ? epilogue.template key<V>(batch, row, col, in) : 0;
    key = largestOfLanes<Epilogue::kGroup / V>(key);
    if (live && col == 0)
      epilogue.applyBest(batch, row, key);
  } else if constexpr (Epilogue::kGroup != 0) {
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

/// TotalT: the accumulators of a block; RowBytesA: of a row of A in a stage;
/// Slots: rows of A whose scales a thread reads; Full: the main loop has no
/// register left for what stores of a tile and of the next one have in common.
template <class P, class TotalT, int RowBytesA, int Slots, bool Full = false>
struct BlockProduct {
  using A = typename P::A;
  using B = typename P::B;
  using Acc = typename P::Acc;
  using Total = TotalT;
  static constexpr GemmTile T = P::kTile;
  static constexpr int kThreads = Total::kThreads;
  static constexpr bool kFull = Full;
  static constexpr int kRowBytesA = RowBytesA, kBytesA = T.bm * RowBytesA;
  static constexpr int kSlab = int(gemmSlabRows(kTarget, T));
  static_assert(kSlab == Total::kSlabRows * T.wm,
                "the contract's fragment is not the one of the matrix layer");

  /// Rows of B are two ranges, or alternate, when columns come in pairs.
  static constexpr int kParts = P::kPair ? 2 : 1;
  static constexpr int kPartRows = T.bn / kParts;
  static_assert(kPartRows % kFragmentRows == 0 || !P::kPair,
                "the halves of B are not whole fragments");

  /// Rows of A that a thread copies at once, and rows whose scales it reads.
  static constexpr int kLines = kBytesA / 16 / kThreads;
  using SourceA =
      typename Choice<A::kGathered && keepsRowsInRegisters(kTarget),
                      ThreadRows<A, kLines, Slots>, TileSource<A>>::Type;

  /// The tile's row of which this thread copies line `line` (ThreadRows).
  HK_MEM static int copiedRow(int line) {
    return (line * kThreads + threadId()) / (RowBytesA / 16);
  }

  /// Where the tiles of this block start; the parts of B are n rows apart.
  struct Source {
    SourceA a;
    TileSource<B> b;
    i64 n, k0, k1;
    HK_MEM TileSource<B> part(int p) const { return b.part(p, n); }
  };

  /// consume(rowInTile, colInBlock, GemmOutput<Acc, V>) for every V columns,
  /// row-contiguous; all lanes of a wave stay together.
  template <int V, class F>
  HK_MEM static void forOutput(Total &acc, u8 *lds, F consume) {
    using Slab = SlabLayout<Acc, T.bn>;
    constexpr int waveRows = T.bm / T.wm, slabRows = Total::kSlabRows;
    constexpr int perRow = P::kCols / V, total = kSlab * perRow;
    static_assert(P::kCols % V == 0);
    int thread = threadId();
    if constexpr (kFull)
      thread = computeLaneFromHere(thread);
    HK_UNROLL for (int i = 0; i < Total::kSlabs; ++i) {
      acc.forSlab(i, [&](int, int row, int col, Vec<Acc, Total::V> &v) {
        int slabRow = row / waveRows * slabRows + row % slabRows;
        *reinterpret_cast<Vec<Acc, Total::V> *>(Slab::at(lds, slabRow, col)) =
            v;
      });
      barrier();
      for (int x = thread; x < (total + kThreads - 1) / kThreads * kThreads;
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
      if (i + 1 < Total::kSlabs)
        barrier();
    }
  }

  /// The operands of a tile whose columns begin at n0.
  HK_MEM static Source sourceOf(const GemmArgs &args, const SourceA &a, i64 n0,
                                KRange k) {
    return {
        a, {args.b, n0, args.n - n0, args.n * kParts}, args.n, k.begin, k.end};
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

  /// A tile of its own; Product::accumulate is the main loop.
  template <class Product, class Epilogue>
  HK_MEM static void runTile(const GemmArgs &args, BlockId block, u8 *lds,
                             const Epilogue &epilogue) {
    TileIndex tile = tileOf(block, (args.m + T.bm - 1) / T.bm,
                            (args.n + P::kCols - 1) / P::kCols);
    TileRows rows = {block.z, tile.m * T.bm, args.m};
    i64 n0 = tile.n * P::kCols;
    TileSource<A> a = {args.a, rows.first, args.m - rows.first, args.m};
    Total acc;
    Product::accumulate(args, sourceOf(args, a, n0, rangeOfK<P>(args, block.z)),
                        n0, lds, acc);
    finish(args, rows, n0, lds, acc, epilogue);
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_BLOCK_H
