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

/// How a tile of Rows rows, of which each wave multiplies WaveRows, lies in two
/// halves, and which chunks of it a thread copies.
template <int WaveRows, int Rows> struct TurnRows {
  static constexpr int kHalfRows = Rows / 2;
  static constexpr int kHalfBytes = kHalfRows * kTurnRowBytes;
  /// 16-byte chunks of a half that a thread copies.
  static constexpr int kChunks = kHalfRows / kTurnChunkRows;
  static_assert(kChunks * kTurnChunkRows == kHalfRows);

  /// The tile's row of which this thread copies chunk i of half h is rowStep(h,
  /// i) behind the first one.
  HK_MEM static int firstRow() {
    return line() / kEach * WaveRows + line() % kEach;
  }
  HK_MEM static constexpr int rowStep(int h, int i) {
    return i * (kTurnChunkRows / kEach) * WaveRows + h * kEach;
  }
  HK_MEM static int copiedRow(int h, int i) {
    return firstRow() + rowStep(h, i);
  }
  /// Where the thread's chunks lie in a row.
  HK_MEM static u32 chunkByte() {
    return u32(operandChunk<kTurnRowBytes>(line(), threadId() % 8)) * 16;
  }

private:
  /// Rows of a wave in a half.
  static constexpr int kEach = WaveRows / 2;
  static_assert(kTurnChunkRows % kEach == 0);
  HK_MEM static int line() { return threadId() * 16 / kTurnRowBytes; }
};

/// The copies of an operand's tiles. Of two parts each is one of a thread's two
/// chunks of a half.
template <int WaveRows, int Rows> struct TurnSource : TurnRows<WaveRows, Rows> {
  using Layout = TurnRows<WaveRows, Rows>;
  using Layout::kHalfRows, Layout::kChunks;

  TileView first, second;
  u32 at[2][kChunks];
  u32 chunk = Layout::chunkByte();

  HK_MEM TurnSource(const TileView &first, const TileView &second, bool parts)
      : first(first), second(second) {
    HK_UNROLL for (int h = 0; h < 2; ++h)
        HK_UNROLL for (int i = 0; i < kChunks; ++i) {
      int row = Layout::copiedRow(h, i);
      at[h][i] = u32(parts ? row % kHalfRows : row) * first.stride + chunk;
    }
  }

  HK_MEM u32 rowBytes() const { return first.rowBytes; }
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
  /// Never behind the buffer's end, from which a bound may be counted.
  template <bool Tail> HK_MEM u32 further(u32 k) const {
    return !Tail || k < first.rowBytes ? k : 0u;
  }
  template <bool Tail> HK_MEM u32 offset(int h, int i, u32 k) const {
    return !Tail || k + chunk < first.rowBytes ? at[h][i] : TileView::kOutside;
  }
};

/// The same of rows that lie anywhere. A chunk's address is made for every copy
/// of it, as registers have no room for two words of each.
template <int WaveRows, int Rows>
struct NamedTurnSource : TurnRows<WaveRows, Rows> {
  using Layout = TurnRows<WaveRows, Rows>;
  using Layout::kChunks;

  Global<const u8> base;
  u32 row[2][kChunks];
  u32 stride, chunk = Layout::chunkByte(), bytes;

  /// `rows`: that of chunk i of half h is rows[h * kChunks + i], `stride` bytes
  /// from the next one.
  HK_MEM NamedTurnSource(Global<const u8> base, const i32 *rows, u32 stride,
                         u32 rowBytes)
      : base(base), stride(stride), bytes(rowBytes) {
    HK_UNROLL for (int h = 0; h < 2; ++h)
        HK_UNROLL for (int i = 0; i < kChunks; ++i) row[h][i] =
            u32(rows[h * kChunks + i]);
  }

  HK_MEM u32 rowBytes() const { return bytes; }
  template <bool Tail> HK_MEM u32x4 load(int h, int i, u32 k) const {
    return *(Global<const u32x4>)address<Tail>(h, i, k);
  }
  template <bool Tail> HK_MEM void copy(int h, u32 k, u8 *to) const {
    HK_UNROLL for (int i = 0; i < kChunks; ++i)
        copy16(address<Tail>(h, i, k), to + i * kTurnThreads * 16);
  }

private:
  template <bool Tail>
  HK_MEM Global<const u8> address(int h, int i, u32 k) const {
    u32 r = row[h][i], in = chunk;
    // Of this tile, so that no sum is kept from tile to tile.
    asm("" : "+v"(r), "+v"(in) : "s"(k));
    auto from = (base + k) + (u64(r) * stride + in);
    return !Tail || k + chunk < bytes ? from : (Global<const u8>)(kZeroChunk);
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
    int lane = computeLaneFromHere(laneId()), row = rows + lane % 32;
    HK_UNROLL for (int x = 0; x < Mma::kSteps; ++x) at[x] =
        lds + opaqueWord(u32(
                  row * kTurnRowBytes +
                  operandChunk<kTurnRowBytes>(row, x * 2 + lane / 32) * 16));
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
/// accumulators. Named: rows of A lie anywhere. LDS has the halves of A of all
/// stages, then those of B.
template <class Mma, bool Named, int Stages, int WM = 2, int WN = 4>
struct TurnWalk {
  static_assert(WM * WN * kWave == kTurnThreads);
  using A =
      typename Choice<Named, NamedTurnSource<Mma::MI * 32, Mma::MI * 32 * WM>,
                      TurnSource<Mma::MI * 32, Mma::MI * 32 * WM>>::Type;
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
    return byteOf(tile + 1) <= a.rowBytes();
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
