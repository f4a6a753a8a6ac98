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
// copies that wait for the loads.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_GPU_H
#define HK_KERNELS_GEMM_GPU_H

#include "kernels/gemm/block.h"

namespace hk {

/// The accumulators of a product: those of a scaled product of integers have
/// the same lane map.
template <class P>
using GemmTotal =
    BlockMma<P::kOperand == DType::I8 && P::kScale != KScale::None
                 ? DType::BF16
                 : P::kOperand,
             P::kTile.bm, P::kTile.bn, P::kTile.bk, P::kTile.wm, P::kTile.wn>;

template <class Problem>
using GemmBlock =
    BlockProduct<Problem, GemmTotal<Problem>,
                 Problem::kTile.bk * info(Problem::kOperand).bits / 8,
                 GemmTotal<Problem>::kRows>;

template <class Problem> struct Gemm : GemmBlock<Problem> {
  using P = Problem;
  using Block = GemmBlock<Problem>;
  using Block::kThreads, Block::kBytesA, Block::kParts, Block::kPartRows;
  using typename Block::A, typename Block::B, typename Block::Acc;
  using typename Block::Source, typename Block::Total;
  static constexpr GemmTile T = P::kTile;
  static constexpr DType D = P::kOperand;
  using Mma = BlockMma<D, T.bm, T.bn, T.bk, T.wm, T.wn>;
  static constexpr int kRowBytes = Block::kRowBytesA;
  static constexpr int kBytesB = T.bn * kRowBytes;
  static constexpr bool kQuantized = A::Decode::kMakesScales;
  /// A stage: A, B, and the scales of the rows of A that are quantised.
  static constexpr int kStageBytes =
      kBytesA + kBytesB + (kQuantized ? T.bm * int(sizeof(float)) : 0);
  static constexpr i64 kLds = gemmLds(kTarget, T, D, kQuantized);

  struct Shared {
    alignas(16) u8 bytes[kLds];
  };
  static_assert(sizeof(Shared) == kLds);

  static constexpr bool kDirect = kCanCopyDirect<A, D> &&
                                  kCanCopyDirect<B, D> &&
                                  !A::Decode::kDecodes && !B::Decode::kDecodes;
  static_assert(!kDirect || T.stages >= 2,
                "direct copies overwrite their buffer: two stages at least");

  /// The row of A whose scale slot `slot` of this thread is.
  HK_MEM static int scaledRow(int slot) { return Mma::rowOf(slot); }

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

  HK_MEM static void accumulate(const GemmArgs &args, const Source &s, i64 n0,
                                u8 *lds, Total &acc) {
    acc.clear();
    if constexpr (P::kScale == KScale::None)
      mainLoop(s, lds, acc, [](int, u8 *) {});
    else
      scaledLoop(s, args, n0, lds, acc);
  }

  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    Block::template runTile<Gemm>(args, block, shared.bytes, epilogue);
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_GPU_H
