//===- turns.h - Operands of two groups of waves in turns -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the main loop of ping_pong.h is made of: a turn, and the tiles of A and
// B, rows of 128 bytes of k for eight waves. They lie in LDS as two halves
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

inline constexpr int kTurnRowBytes = 128, kTurnThreads = 512;
/// Rows of which a thread copies one 16-byte chunk.
inline constexpr int kTurnChunkRows = kTurnThreads * 16 / kTurnRowBytes;

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

/// The copies of an operand's tiles of Rows rows, of which each wave multiplies
/// WaveRows. Of two parts each is one of a thread's two chunks of a half.
template <int WaveRows, int Rows> struct TurnSource {
  static constexpr int kHalfRows = Rows / 2;
  static constexpr int kHalfBytes = kHalfRows * kTurnRowBytes;
  /// 16-byte chunks of a half that a thread copies.
  static constexpr int kChunks = kHalfRows / kTurnChunkRows;
  static_assert(kChunks * kTurnChunkRows == kHalfRows);

  TileView first, second;
  u32 at[2][kChunks];
  /// Where the thread's chunks lie in a row.
  u32 chunk;

  HK_MEM TurnSource(const TileView &first, const TileView &second, bool parts)
      : first(first), second(second) {
    int line = threadId() * 16 / kTurnRowBytes;
    chunk = u32(operandChunk<kTurnRowBytes>(line, threadId() % 8)) * 16;
    HK_UNROLL for (int h = 0; h < 2; ++h)
        HK_UNROLL for (int i = 0; i < kChunks; ++i) {
      int row = rowOf(h, i * kTurnChunkRows + line);
      at[h][i] = u32(parts ? row % kHalfRows : row) * first.stride + chunk;
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
    HK_UNROLL for (int i = 0; i < kChunks; ++i) {
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

/// What all walks along k have, for WM x WN waves; Mma is the type of the
/// accumulators. LDS has the halves of A of all stages, then those of B.
template <class Mma, int Stages, int WM = 2, int WN = 4> struct TurnWalk {
  static_assert(WM * WN * kWave == kTurnThreads);
  using A = TurnSource<Mma::MI * 32, Mma::MI * 32 * WM>;
  using B = TurnSource<Mma::NI * 32, Mma::NI * 32 * WN>;
  using Fragment = TurnFragment<Mma>;
  static constexpr int kSteps = Mma::kSteps / Mma::kPer;
  static constexpr int kFragmentBytes = 32 * kTurnRowBytes;
  /// Copies that a wave asks for by copyFirst(), and for a tile.
  static constexpr int kFirst = 2 * B::kChunks + A::kChunks;
  static constexpr int kCopies = kFirst + A::kChunks;

  A a;
  B b;
  u8 *lds;
  Mma &acc;
  /// The byte of a row where tile 0 begins.
  u32 begin;
  TurnReader<Mma> rowsA, rowsB;
  /// Where this wave's part of a copy to the begin of LDS goes.
  u8 *own = lds + waveId() * kWave * 16;

  HK_MEM TurnWalk(const A &a, const B &b, u32 begin, u8 *lds, Mma &acc)
      : a(a), b(b), lds(lds), acc(acc), begin(begin),
        rowsA(lds, waveId() / WN * (Mma::MI / 2 * 32)),
        rowsB(lds + atB(0, 0), waveId() % WN * (Mma::NI / 2 * 32)) {}

  /// Where half h of a stage begins, of A, and of B.
  HK_MEM static constexpr int at(int stage, int h) {
    return (h * Stages + stage) * A::kHalfBytes;
  }
  HK_MEM static constexpr int atB(int stage, int h) {
    return 2 * Stages * A::kHalfBytes + (h * Stages + stage) * B::kHalfBytes;
  }
  HK_MEM u32 byteOf(int tile) const {
    return begin + u32(tile) * kTurnRowBytes;
  }
  /// Whether rows hold all of a tile.
  HK_MEM bool isWhole(int tile) const {
    return byteOf(tile + 1) <= a.first.rowBytes;
  }

  /// Copies of a tile straight into LDS: the first half of A and all of B, and
  /// the second half of A.
  template <bool Tail> HK_MEM void copyFirst(int stage, int tile) {
    u32 k = byteOf(tile);
    HK_UNROLL for (int h = 0; h < 2; ++h)
        b.template copy<Tail>(h, k, own + atB(stage, h));
    a.template copy<Tail>(0, k, own + at(stage, 0));
  }
  template <bool Tail> HK_MEM void copySecond(int stage, int tile) {
    a.template copy<Tail>(1, byteOf(tile), own + at(stage, 1));
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_TURNS_H
