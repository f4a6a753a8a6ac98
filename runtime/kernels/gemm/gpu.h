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
#include "kernels/gemm/problem.h"

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

/// Which tile a block computes: m tiles in groups of eight, so that blocks that
/// run together share B in L2.
struct TileIndex {
  i64 m, n;
};
HK_DEV TileIndex tileOf(BlockId block, i64 mTiles, i64 nTiles) {
  constexpr u32 group = 8;
  u32 linear = block.x + u32(nTiles) * block.y;
  u32 perGroup = group * u32(nTiles), first = linear / perGroup * group;
  u32 rows = u32(mTiles) - first < group ? u32(mTiles) - first : group;
  u32 in = linear % perGroup;
  return {i64(first + in % rows), i64(in / rows)};
}

template <class Problem> struct Gemm {
  using P = Problem;
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
  static constexpr i64 kLds = gemmLds(kTarget, T, D);
  static constexpr int kSlab = int(gemmSlabRows(kTarget, T));
  static_assert(kSlab == Mma::kSlabRows * T.wm,
                "the contract's fragment is not the one of the matrix layer");

  struct Shared {
    alignas(16) u8 bytes[kLds];
  };
  static_assert(sizeof(Shared) == kLds);

  static constexpr bool kDirect =
      kCanCopyDirect<typename P::A, D> && kCanCopyDirect<typename P::B, D>;
  static_assert(!kDirect || T.stages >= 2,
                "direct copies overwrite their buffer: two stages at least");

  /// Rows of B are two ranges when columns come in pairs.
  static constexpr int kParts = P::kPair ? 2 : 1;
  static constexpr int kPartRows = T.bn / kParts;

  /// Where the tiles of this block start.
  struct Source {
    Global<const u8> a, b;
    i64 strideA, strideB, partB;
    i64 rowsA, rowsB, k0, k1;
  };

  template <class L> HK_MEM static constexpr i64 memBytes(i64 elements) {
    return elements * (info(L::kMem).bits / 8);
  }

  /// A view of the operand tile whose first k is `k`, and the byte where that k
  /// lies in it. Row counts are clamped to the tile, which keeps a view's span
  /// within 32 bits.
  template <class L, int Rows>
  HK_MEM static TileView viewOf(Global<const u8> base, i64 stride, i64 rows,
                                i64 k, i64 kEnd) {
    rows = rows < Rows ? rows : i64(Rows);
    if constexpr (L::kKContiguous)
      return TileView(base, memBytes<L>(stride), rows, memBytes<L>(kEnd));
    i64 depth = kEnd - k < T.bk ? kEnd - k : i64(T.bk);
    return TileView(base + memBytes<L>(k * stride), memBytes<L>(stride), depth,
                    memBytes<L>(rows));
  }
  template <class L> HK_MEM static u32 firstByte(i64 k) {
    return L::kKContiguous ? u32(memBytes<L>(k)) : 0u;
  }

  HK_MEM static void issueDirect(const Source &s, i64 k, u8 *stage) {
    DirectCopy<T.bm, kRowBytes, kThreads>::issue(
        viewOf<typename P::A, T.bm>(s.a, s.strideA, s.rowsA, k, s.k1),
        firstByte<typename P::A>(k), stage);
    HK_UNROLL for (int p = 0; p < kParts; ++p)
        DirectCopy<kPartRows, kRowBytes, kThreads>::issue(
            viewOf<typename P::B, kPartRows>(s.b + p * s.partB, s.strideB,
                                             s.rowsB, k, s.k1),
            firstByte<typename P::B>(k),
            stage + kBytesA + p * kPartRows * kRowBytes);
    commitDirectCopies();
  }

  /// Both operands of a stage on their way through registers.
  struct InFlight {
    StagedCopy<typename P::A, D, T.bm, T.bk, kThreads> a;
    StagedCopy<typename P::B, D, kPartRows, T.bk, kThreads> b[kParts];

    HK_MEM void issue(const Source &s, i64 k) {
      a.issue(viewOf<typename P::A, T.bm>(s.a, s.strideA, s.rowsA, k, s.k1),
              firstByte<typename P::A>(k));
      HK_UNROLL for (int p = 0; p < kParts; ++p) b[p].issue(
          viewOf<typename P::B, kPartRows>(s.b + p * s.partB, s.strideB,
                                           s.rowsB, k, s.k1),
          firstByte<typename P::B>(k));
    }
    HK_MEM void land(u8 *stage) const {
      a.land(stage);
      HK_UNROLL for (int p = 0; p < kParts; ++p) b[p].land(
          stage + kBytesA + p * kPartRows * kRowBytes);
    }
  };

  HK_MEM static void multiply(Mma &acc, const u8 *stage) {
    acc.mma(stage, stage + kBytesA);
  }

  /// onTile(tile index) runs after each K tile has been accumulated.
  template <class F>
  HK_MEM static void mainLoop(const Source &s, u8 *lds, Mma &acc, F onTile) {
    constexpr int stageBytes = kBytesA + kBytesB;
    int tiles = int((s.k1 - s.k0 + T.bk - 1) / T.bk);
    auto kOf = [&](int tile) { return s.k0 + i64(tile) * T.bk; };
    if (tiles == 0)
      return;
    if constexpr (kDirect) {
      constexpr int ahead = T.stages - 1;
      HK_UNROLL for (int t = 0; t < ahead; ++t) {
        if (t < tiles)
          issueDirect(s, kOf(t), lds + t * stageBytes);
        else
          commitDirectCopies();
      }
      int now = 0, next = ahead;
      for (int t = 0; t < tiles; ++t) {
        waitDirectCopies<ahead - 1>();
        barrier();
        if (t + ahead < tiles)
          issueDirect(s, kOf(t + ahead), lds + next * stageBytes);
        else
          commitDirectCopies();
        multiply(acc, lds + now * stageBytes);
        onTile(t);
        now = now + 1 == T.stages ? 0 : now + 1;
        next = next + 1 == T.stages ? 0 : next + 1;
      }
      waitDirectCopies<0>();
    } else {
      static_assert(T.stages == 1 || T.stages == 2 || kTarget.directToLds >= 16,
                    "copies through registers use one or two stages");
      constexpr bool two = T.stages >= 2;
      InFlight next;
      next.issue(s, kOf(0));
      next.land(lds);
      barrier();
      for (int t = 1; t < tiles; ++t) {
        u8 *from = lds + (two ? (t - 1) % 2 * stageBytes : 0);
        u8 *to = lds + (two ? t % 2 * stageBytes : 0);
        next.issue(s, kOf(t));
        multiply(acc, from);
        onTile(t - 1);
        if constexpr (!two)
          barrier();
        next.land(to);
        barrier();
      }
      multiply(acc, lds + (two ? (tiles - 1) % 2 * stageBytes : 0));
      onTile(tiles - 1);
    }
    barrier();
  }

  /// Partial sums of 128 elements of k, each times its scales.
  HK_MEM static void scaledLoop(const Source &s, const GemmArgs &args, i64 m0,
                                i64 n0, u8 *lds, Total &total) {
    static_assert(sizeof(Acc) == 4 && 128 % T.bk == 0 && P::kCols <= 128 &&
                      128 % P::kCols == 0 && !P::kPair,
                  "a block's columns share one 128-wide block of B");
    constexpr int every = 128 / T.bk;
    auto scaleA = global<const float>(args.scaleA);
    auto scaleB =
        global<const float>(args.scaleB) + n0 / 128 * args.scaleStrideB;
    (void)scaleA, (void)scaleB;
    Mma part;
    part.clear();
    int tiles = int((s.k1 - s.k0 + T.bk - 1) / T.bk);
    mainLoop(s, lds, part, [&](int t) {
      if (t % every != every - 1 && t != tiles - 1)
        return;
      i64 block = (s.k0 + i64(t) * T.bk) / 128;
      float scale[Mma::kRows];
      HK_UNROLL for (int i = 0; i < Mma::kRows; ++i) {
        i64 row = m0 + Mma::rowOf(i);
        row = row < args.m ? row : args.m - 1;
        scale[i] = 1;
        if constexpr (P::kScaleA)
          scale[i] = scaleA[row * args.scaleStrideA + block];
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

  /// Where the block's accumulators belong.
  struct Place {
    i64 batch, m0, n0;
  };
  HK_MEM static Place compute(const GemmArgs &args, BlockId block, u8 *lds,
                              Total &acc) {
    TileIndex tile = tileOf(block, (args.m + T.bm - 1) / T.bm,
                            (args.n + P::kCols - 1) / P::kCols);
    Place at = {block.z, tile.m * T.bm, tile.n * P::kCols};
    i64 batch = T.splitK > 1 ? at.batch % args.batches : at.batch;
    constexpr bool kA = P::A::kKContiguous, kB = P::B::kKContiguous;
    Source s;
    s.a = global<const u8>(args.a) +
          memBytes<typename P::A>(batch * args.batchStrideA +
                                  (kA ? at.m0 * args.strideA : at.m0));
    s.b = global<const u8>(args.b) +
          memBytes<typename P::B>(batch * args.batchStrideB +
                                  (kB ? at.n0 * args.strideB : at.n0));
    s.strideA = args.strideA;
    s.strideB = args.strideB;
    s.partB = memBytes<typename P::B>(kB ? args.n * args.strideB : args.n);
    s.rowsA = args.m - at.m0;
    s.rowsB = args.n - at.n0;
    KRange k = rangeOfK<Problem>(args, block.z);
    s.k0 = k.begin;
    s.k1 = k.end;
    acc.clear();
    if constexpr (P::kScale == KScale::None)
      mainLoop(s, lds, acc, [](int) {});
    else
      scaledLoop(s, args, at.m0, at.n0, lds, acc);
    return at;
  }

  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    Total acc;
    Place at = compute(args, block, shared.bytes, acc);
    forOutput<Epilogue::kVec>(
        acc, shared.bytes, [&](int r, int c, bool live, const auto &out) {
          i64 row = at.m0 + r, col = at.n0 + c;
          live = live && row < args.m && col < args.n;
          runEpilogue<Epilogue::kVec>(epilogue, at.batch, row, col, args.n,
                                      live, out);
        });
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_GPU_H
