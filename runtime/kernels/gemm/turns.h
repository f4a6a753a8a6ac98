//===- turns.h - Operands of two groups of waves in turns -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the main loop of ping_pong.h is made of: a turn, and the tiles of A and
// B, 256 rows of 128 bytes of k for 2 x 4 waves. They lie in LDS as two halves
// each: half h has the first (second) half of the rows of every wave, so that
// it may be overwritten when the waves have read theirs. Offsets into memory
// are made once; what changes from tile to tile is a scalar. Only copies with
// Tail see that rows end within a tile.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_TURNS_H
#define HK_KERNELS_GEMM_TURNS_H

#include "kernels/device/mma.h"
#include "kernels/device/mma/tile_copy.h"

namespace hk {

inline constexpr int kTurnRowBytes = 128, kTurnHalfRows = 128;
inline constexpr int kTurnHalfBytes = kTurnHalfRows * kTurnRowBytes;
inline constexpr int kTurnThreads = 512;
/// 16-byte chunks of a half that a thread copies; rows between them.
inline constexpr int kTurnChunks = 2;
inline constexpr int kTurnChunkRows = kTurnHalfRows / kTurnChunks;

/// Ends what a wave does while the other group multiplies: its reads are in
/// registers, its writes in LDS. Then it multiplies, and gives the turn back.
template <class F> HK_DEV void takeTurn(F products) {
  codeFence();
  waitLds();
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_s_setprio(1);
  codeFence();
  products();
  codeFence();
  __builtin_amdgcn_s_setprio(0);
  __builtin_amdgcn_s_barrier();
  codeFence();
}

/// The copies of an operand's tiles, of which each wave multiplies WaveRows
/// rows. Of two parts each is one of a thread's chunks of a half.
template <int WaveRows> struct TurnSource {
  TileView first, second;
  u32 at[2][kTurnChunks];
  /// Where the thread's chunks lie in a row.
  u32 chunk;

  HK_MEM TurnSource(const TileView &first, const TileView &second, bool parts)
      : first(first), second(second) {
    int line = threadId() * 16 / kTurnRowBytes;
    chunk = u32(operandChunk<kTurnRowBytes>(line, threadId() % 8)) * 16;
    HK_UNROLL for (int h = 0; h < 2; ++h)
        HK_UNROLL for (int i = 0; i < kTurnChunks; ++i) {
      int row = rowOf(h, i * kTurnChunkRows + line);
      at[h][i] = u32(parts ? row % kTurnHalfRows : row) * first.stride + chunk;
    }
  }

  /// Chunk i of half h of the tile whose rows begin at byte `k`.
  template <bool Tail> HK_MEM u32x4 load(int h, int i, u32 k) const {
    return view(i).loadFurther(offset<Tail>(h, i, k), further<Tail>(k));
  }
  /// Half h straight into LDS; `to` is where this wave's first chunks go. Only
  /// where the chip has such copies, so the view is a parameter.
  template <bool Tail, class View = TileView>
  HK_MEM void copy(int h, u32 k, u8 *to) const {
    HK_UNROLL for (int i = 0; i < kTurnChunks; ++i) {
      const View &from = view(i);
      from.copyFurther(offset<Tail>(h, i, k), further<Tail>(k),
                       to + i * kTurnThreads * 16);
    }
  }

private:
  HK_MEM const TileView &view(int i) const { return i == 0 ? first : second; }
  /// The tile's row that row x of half h is.
  HK_MEM static int rowOf(int h, int x) {
    constexpr int each = WaveRows / 2;
    return x / each * WaveRows + h * each + x % each;
  }
  /// Never behind the buffer's end, from which a bound may be counted.
  template <bool Tail> HK_MEM u32 further(u32 k) const {
    return !Tail || k < first.rowBytes ? k : 0u;
  }
  template <bool Tail> HK_MEM u32 offset(int h, int i, u32 k) const {
    return !Tail || k + chunk < first.rowBytes ? at[h][i] : TileView::kOutside;
  }
};

/// 16 bytes of k a lane of 32 rows, as many as a matrix instruction or a pair
/// takes.
template <class Mma> struct TurnFragment {
  u32x4 chunk[Mma::kPer];
};

/// Where a lane's chunks of the 32 rows of LDS from `rows` on are; those of 32
/// rows further on are a constant away. Made once: under pressure clang would
/// make them anew for every read.
template <class Mma> struct TurnReader {
  const u8 *at[Mma::kSteps];

  HK_MEM explicit TurnReader(const u8 *lds, int rows) {
    int row = rows + laneId() % 32;
    HK_UNROLL for (int x = 0; x < Mma::kSteps; ++x) at[x] =
        lds +
        opaqueWord(
            u32(row * kTurnRowBytes +
                operandChunk<kTurnRowBytes>(row, x * 2 + laneId() / 32) * 16));
  }
  /// Those of step k, `offset` bytes further on.
  HK_MEM TurnFragment<Mma> read(int k, int offset) const {
    TurnFragment<Mma> f;
    HK_UNROLL for (int x = 0; x < Mma::kPer; ++x) f.chunk[x] =
        *reinterpret_cast<const u32x4 *>(at[k * Mma::kPer + x] + offset);
    return f;
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_TURNS_H
