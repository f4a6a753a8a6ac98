//===- microscaled.h - Products of MX operands on scaled MFMA -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Main loop of operands that the matrix instruction takes as they lie in
// memory, OCP floats of 8 or 4 bits, with an e8m0 scale per 32 of k on either
// side or on one. Elements are copied straight into LDS, `stages` tiles of k
// deep. Scales go through registers, as their rows begin anywhere: a thread has
// one row of A or B, and loads in one access what a tile needs of it. Behind k
// elements are zeros and scales 1, so that no scale that is not there, which
// might be NaN, meets a zero.
//
//   Microscaled<Problem>::run(args, block, shared, epilogue)
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_MICROSCALED_H
#define HK_KERNELS_GEMM_MICROSCALED_H

#include "kernels/gemm/block.h"

namespace hk {

template <class P>
using MicroscaledMma =
    ScaledMma<P::A::kMem, P::B::kMem, P::kTile.bm, P::kTile.bn, P::kTile.bk,
              P::kTile.wm, P::kTile.wn>;
template <class P>
using MicroscaledBlock =
    BlockProduct<P, MicroscaledMma<P>, MicroscaledMma<P>::kRowBytesA, 1>;

template <class Problem> struct Microscaled : MicroscaledBlock<Problem> {
  using P = Problem;
  using Block = MicroscaledBlock<Problem>;
  using typename Block::A, typename Block::B, typename Block::Source;
  using Mma = typename Block::Total;
  using Block::kThreads, Block::kBytesA, Block::kParts, Block::kPartRows;
  static constexpr GemmTile T = P::kTile;
  static constexpr int kRowBytesA = Mma::kRowBytesA;
  static constexpr int kRowBytesB = Mma::kRowBytesB;
  static constexpr int kBytesB = T.bn * kRowBytesB;
  static constexpr int kScaleBytes = Mma::kScaleBytes;
  static constexpr int kStageBytes =
      kBytesA + kBytesB + (T.bm + T.bn) * kScaleBytes;
  static constexpr bool kScalesA = A::Decode::kHasScales;
  static constexpr bool kScalesB = B::Decode::kHasScales;
  static constexpr i64 kLds = microscaledLds(kTarget, T, A::kMem, B::kMem);
  static_assert(T.stages >= 2, "copies overwrite their buffer");
  static_assert(T.bm + T.bn <= kThreads, "a thread has a row's scales");
  static_assert(A::kKContiguous && B::kKContiguous && A::kAlign >= 16 &&
                B::kAlign >= 16);

  struct Shared {
    alignas(16) u8 bytes[kLds];
  };
  static_assert(sizeof(Shared) == kLds);

  /// The row of A whose scales this thread has.
  HK_MEM static int scaledRow(int) { return threadId(); }

  HK_MEM static void accumulate(const GemmArgs &args, const Source &s, i64 n0,
                                u8 *lds, Mma &acc) {
    constexpr int ahead = T.stages - 1;
    acc.clear();
    int tiles = int((s.k1 - s.k0 + T.bk - 1) / T.bk);
    if (tiles == 0)
      return;
    auto kOf = [&](int tile) { return s.k0 + i64(tile) * T.bk; };
    Scales scales(args, s, n0);
    HK_UNROLL for (int t = 0; t < ahead; ++t) if (t < tiles) {
      scales.load(kOf(t), s.k1);
      copy(s, kOf(t), lds + t * kStageBytes);
      if (t + 1 < ahead)
        scales.store(lds + t * kStageBytes);
    }
    int now = 0, last = ahead - 1, next = ahead;
    for (int t = 0; t < tiles; ++t) {
      // Here and not behind the products, which clang would do after it. Of the
      // last tiles it stores what nobody reads.
      scales.store(lds + last * kStageBytes);
      if (t + ahead <= tiles)
        waitDirectCopies<ahead - 1, kCopies>();
      else
        waitDirectCopies<0, kCopies>();
      barrierOfCopies();
      // Scales first: they are waited for while the copies are under way.
      if (t + ahead < tiles) {
        scales.load(kOf(t + ahead), s.k1);
        copy(s, kOf(t + ahead), lds + next * kStageBytes);
      }
      multiply(acc, lds + now * kStageBytes);
      now = after(now);
      last = after(last);
      next = after(next);
    }
    barrier();
  }

  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    Block::template runTile<Microscaled>(args, block, shared.bytes, epilogue);
  }

private:
  HK_MEM static int after(int stage) {
    return stage + 1 == T.stages ? 0 : stage + 1;
  }

  using CopyA = DirectCopy<T.bm, kRowBytesA, kThreads>;
  using CopyB = DirectCopy<kPartRows, kRowBytesB, kThreads>;
  static constexpr int kCopies = CopyA::kPerThread + kParts * CopyB::kPerThread;

  HK_MEM static void copy(const Source &s, i64 k, u8 *stage) {
    CopyA::issue(s.a.template view<T.bm, T.bk>(k, s.k1), s.a.firstByte(k),
                 stage);
    HK_UNROLL for (int p = 0; p < kParts; ++p) CopyB::issue(
        s.part(p).template view<kPartRows, T.bk>(k, s.k1), s.b.firstByte(k),
        stage + kBytesA + p * kPartRows * kRowBytesB);
  }

  HK_MEM static void multiply(Mma &acc, const u8 *stage) {
    const u8 *scales = stage + kBytesA + kBytesB;
    acc.mma(stage, stage + kBytesA, kScalesA ? scales : nullptr,
            kScalesB ? scales + T.bm * kScaleBytes : nullptr);
  }

  /// What a thread loads of its row's scales for a tile.
  struct Scales {
    Global<const u8> row;
    u32 w[kScaleBytes / 4];

    HK_MEM Scales(const GemmArgs &args, const Source &s, i64 n0) {
      bool a = threadId() < T.bm;
      row = a ? global<const u8>(args.a.decode.data) +
                    s.a.foldRow(0, threadId()) * args.a.decode.strideRow
              : global<const u8>(args.b.decode.data) +
                    rowOfB(s, n0) * args.b.decode.strideRow;
    }

    /// Of the tile from `k` on. A word at the row's end is read in bytes.
    HK_MEM void load(i64 k, i64 kEnd) {
      if (!isLive())
        return;
      constexpr int depth = kMxScale.depth;
      Global<const u8> from = row + k / depth;
      int blocks =
          int((kEnd - k < T.bk ? kEnd - k : i64(T.bk)) + depth - 1) / depth;
      HK_UNROLL for (int i = 0; i < kScaleBytes; i += 4) {
        if (i + 4 <= blocks) {
          w[i / 4] = *(Global<const UnalignedWord>)(from + i);
          continue;
        }
        w[i / 4] = 0;
        HK_UNROLL for (int e = 0; e < 4; ++e) {
          bool inside = i + e < blocks;
          u32 byte = from[inside ? i + e : 0];
          w[i / 4] |= (inside ? byte : kOne) << e * 8;
        }
      }
    }

    HK_MEM void store(u8 *stage) const {
      if (!isLive())
        return;
      auto *to = reinterpret_cast<u32 *>(stage + kBytesA + kBytesB +
                                         threadId() * kScaleBytes);
      HK_UNROLL for (int i = 0; i < kScaleBytes / 4; ++i) to[i] = w[i];
    }

  private:
    typedef u32 __attribute__((aligned(1))) UnalignedWord;
    /// The scale 1.
    static constexpr u32 kOne = 127;

    HK_MEM static bool isLive() {
      int r = threadId();
      if constexpr (kScalesA && kScalesB && T.bm + T.bn == kThreads)
        return true;
      return r < T.bm ? kScalesA : kScalesB && r < T.bm + T.bn;
    }
    /// The row of B, of all parts, that row threadId() - bm of the tile is;
    /// that of the edge outside.
    HK_MEM static i64 rowOfB(const Source &s, i64 n0) {
      int r = threadId() - T.bm, p = r / kPartRows;
      i64 in = n0 + r % kPartRows, last = s.n * kParts - 1;
      i64 index = B::kStep == 1 ? in + p * s.n : in * B::kStep + p;
      return index < last ? index : last;
    }
  };
};

} // namespace hk

#endif // HK_KERNELS_GEMM_MICROSCALED_H
