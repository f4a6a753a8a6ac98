//===- ping_pong.h - Products of two groups of waves in turns -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Main loop of tiles of 256 x 256: eight waves, of which waves 4 to 7 are half
// a turn behind waves 0 to 3, so that on every SIMD one wave multiplies while
// the other one copies and reads its fragments. In the loop there is no vector
// instruction but products, and no wait that is not written here; it must not
// spill, as loads of spilled registers would be counted by the waits for
// copies. Operands lie in memory as they are multiplied.
//
//   PingPong<Problem>::run(args, block, shared, epilogue)
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_PING_PONG_H
#define HK_KERNELS_GEMM_PING_PONG_H

#include "kernels/gemm/block.h"
#include "kernels/gemm/folded_turns.h"
#include "kernels/gemm/turns.h"

namespace hk {

template <class P>
using PingPongMma = BlockMma<P::kOperand, P::kTile.bm, P::kTile.bn, P::kTile.bk,
                             P::kTile.wm, P::kTile.wn>;

/// The walk for a chip that copies 16 bytes a lane straight into LDS, or for
/// one that does not.
template <class Mma, bool Named, bool Direct = kTarget.directToLds >= 16>
struct PingPongWalk;

/// Two stages, filled by copies straight into LDS: what is read of tile t is
/// overwritten by tile t + 2. A tile is two turns, one for each half of a
/// wave's rows of A. A wait leaves eight copies under way, those of the last
/// two turns.
template <class Mma, bool Named>
struct PingPongWalk<Mma, Named, true> : TurnWalk<Mma, Named, 2> {
  using Walk = TurnWalk<Mma, Named, 2>;
  using typename Walk::Fragment;
  using Walk::acc, Walk::rowsA, Walk::rowsB;
  using Walk::Walk, Walk::kSteps, Walk::kFragmentBytes, Walk::kCopies;

  Fragment fa[2][kSteps], fb[2][kSteps];

  HK_MEM void readA(int stage, int h) {
    HK_UNROLL for (int k = 0; k < kSteps; ++k)
        HK_UNROLL for (int i = 0; i < 2; ++i) fa[i][k] =
            rowsA.read(k, Walk::at(stage, h) + i * kFragmentBytes);
  }
  HK_MEM void readB(int stage) {
    HK_UNROLL for (int k = 0; k < kSteps; ++k)
        HK_UNROLL for (int j = 0; j < 2; ++j) fb[j][k] =
            rowsB.read(k, Walk::at(stage, j));
  }
  HK_MEM void turn(int h) {
    takeTurn([&]() __attribute__((always_inline)) {
      HK_UNROLL for (int k = 0; k < kSteps; ++k)
          HK_UNROLL for (int i = 0; i < 2; ++i)
              HK_UNROLL for (int j = 0; j < 2; ++j) {
        auto &c = acc.c[h * 2 + i][j];
        c = Mma::step(fb[j][k].chunk, fa[i][k].chunk, c);
      }
    });
  }

  template <bool Tail> HK_MEM void tile(int stage, int t) {
    readB(stage);
    readA(stage, 0);
    codeFence();
    this->template copySecond<Tail>(1 - stage, t + 1);
    waitDirectCopies<1, kCopies>();
    turn(0);
    readA(stage, 1);
    codeFence();
    this->template copyFirst<Tail>(stage, t + 2);
    waitDirectCopies<1, kCopies>();
    turn(1);
  }

  HK_MEM void start() {
    this->template copyFirst<true>(0, 0);
    this->template copySecond<true>(0, 0);
    this->template copyFirst<true>(1, 1);
    waitDirectCopies<1, kCopies>();
  }
  HK_MEM void run(int tiles) {
    int t = 0;
    for (; Walk::isWhole(t + 3); t += 2) {
      tile<false>(0, t);
      tile<false>(1, t + 1);
    }
    // A tile behind the last one is zeros.
    for (; t < tiles; t += 2) {
      tile<true>(0, t);
      tile<true>(1, t + 1);
    }
    waitDirectCopies<0, kCopies>();
  }
};

/// One stage, which fills LDS; the next tile is in registers meanwhile. A tile
/// is four turns, one for every 32 bytes of k.
template <class Mma, bool Named>
struct PingPongWalk<Mma, Named, false> : TurnWalk<Mma, Named, 1> {
  using Walk = TurnWalk<Mma, Named, 1>;
  using typename Walk::Fragment;
  using Walk::a, Walk::b, Walk::lds, Walk::acc, Walk::rowsA, Walk::rowsB;
  using Walk::Walk, Walk::kFragmentBytes;
  static_assert(Walk::kSteps == 4);

  Fragment fa[2][Mma::MI], fb[2][Mma::NI];
  u32x4 nextA[4], nextB[4];

  template <bool Tail> HK_MEM void issueA(int tile) {
    HK_UNROLL for (int x = 0; x < 4; ++x) nextA[x] =
        a.template load<Tail>(x / 2, x % 2, Walk::byteOf(tile));
  }
  template <bool Tail> HK_MEM void issueB(int tile) {
    HK_UNROLL for (int x = 0; x < 4; ++x) nextB[x] =
        b.template load<Tail>(x / 2, x % 2, Walk::byteOf(tile));
  }
  HK_MEM void land() {
    HK_UNROLL for (int x = 0; x < 4; ++x) chunkAt(x) = nextA[x];
    HK_UNROLL for (int x = 0; x < 4; ++x) chunkAt(4 + x) = nextB[x];
  }

  HK_MEM void read(int k) {
    HK_UNROLL for (int i = 0; i < Mma::MI; ++i) fa[k % 2][i] =
        rowsA.read(k, Walk::at(0, i / 2) + i % 2 * kFragmentBytes);
    HK_UNROLL for (int j = 0; j < Mma::NI; ++j) fb[k % 2][j] =
        rowsB.read(k, Walk::at(0, j));
  }
  HK_MEM void turn(int k) {
    takeTurn([&]() __attribute__((always_inline)) {
      HK_UNROLL for (int i = 0; i < Mma::MI; ++i)
          HK_UNROLL for (int j = 0; j < Mma::NI; ++j) {
        auto &c = acc.c[i][j];
        c = Mma::step(fb[k % 2][j].chunk, fa[k % 2][i].chunk, c);
      }
    });
  }

  template <bool Tail> HK_MEM void tile(int t) {
    issueA<Tail>(t + 1);
    read(0);
    turn(0);
    issueB<Tail>(t + 1);
    read(1);
    turn(1);
    read(2);
    read(3);
    turn(2);
    land();
    turn(3);
  }

  HK_MEM void start() {
    issueA<true>(0);
    issueB<true>(0);
    land();
  }
  HK_MEM void run(int tiles) {
    int t = 0;
    for (; Walk::isWhole(t + 1); ++t)
      tile<false>(t);
    // What is behind the last one is zeros.
    for (; t < tiles; ++t)
      tile<true>(t);
  }

private:
  HK_MEM u32x4 &chunkAt(int x) {
    return *reinterpret_cast<u32x4 *>(lds +
                                      (x * kTurnThreads + threadId()) * 16);
  }
};

template <class P>
using PingPongBlock =
    BlockProduct<P, PingPongMma<P>, kTurnRowBytes, PingPongMma<P>::MI, true>;

template <class Problem> struct PingPong : PingPongBlock<Problem> {
  using P = Problem;
  using Block = PingPongBlock<Problem>;
  using typename Block::A, typename Block::B, typename Block::Acc;
  using typename Block::Source;
  using Mma = typename Block::Total;
  using Block::kThreads, Block::kParts, Block::kPartRows;
  static constexpr GemmTile T = P::kTile;
  static constexpr i64 kLds = gemmLds(kTarget, T, P::kOperand);
  static constexpr bool kFolds = P::kScale != KScale::None;
  using Walk = typename Choice<kFolds, FoldedWalk<P, Mma>,
                               PingPongWalk<Mma, A::kGathered>>::Type;
  static_assert(T.bm == 256 && T.bn == T.wn * 64 &&
                Mma::kRowBytes == kTurnRowBytes && kThreads == kTurnThreads);
  static_assert(!kFolds || (kBlockScaleA.depth == T.bk &&
                            kBlockScaleB.depth == T.bk && sizeof(Acc) == 4),
                "a tile of k has one scale");
  static_assert(A::kMem == P::kOperand && B::kMem == P::kOperand &&
                    A::kKContiguous && B::kKContiguous && A::kAlign >= 16 &&
                    B::kAlign >= 16 && !A::Decode::kDecodes &&
                    !B::Decode::kDecodes,
                "operands lie in memory as they are multiplied");

  struct Shared {
    alignas(16) u8 bytes[kLds];
  };
  static_assert(sizeof(Shared) == kLds);

  /// The tile's row of which this thread copies line `line`, and the one whose
  /// sums slot `slot` scales.
  HK_MEM static int copiedRow(int line) {
    constexpr int chunks = Walk::A::kChunks;
    return computeLaneFromHere(Walk::A::firstRow()) +
           Walk::A::rowStep(line / chunks, line % chunks);
  }
  HK_MEM static int scaledRow(int slot) {
    return computeLaneFromHere(Mma::rowOf(0)) + slot * kFragmentRows;
  }

  HK_MEM static void take(Walk &walk, int tiles) {
    walk.start();
    barrierOfCopies();
    bool ahead = waveId() < kTurnThreads / kWave / 2;
    if (!ahead)
      __builtin_amdgcn_s_barrier();
    codeFence();
    walk.run(tiles);
    if (ahead)
      __builtin_amdgcn_s_barrier();
    barrier();
  }

  /// `rowBytes`: those of a row of B, which are as many.
  HK_MEM static typename Walk::A rowsOfA(const GemmArgs &args, const Source &s,
                                         u32 rowBytes) {
    if constexpr (A::kGathered) {
      return {global<const u8>(args.a.data), s.a.rows,
              u32(memBytes<A>(args.a.stride)), rowBytes};
    } else {
      TileView view = s.a.template view<T.bm, T.bk>(s.k0, s.k1);
      return {view, view, false};
    }
  }

  HK_MEM static void accumulate(const GemmArgs &args, const Source &s, i64 n0,
                                u8 *lds, Mma &acc) {
    acc.clear();
    int tiles = int((s.k1 - s.k0 + T.bk - 1) / T.bk);
    if (tiles == 0)
      return;
    TileView b0 = s.part(0).template view<kPartRows, T.bk>(s.k0, s.k1);
    TileView b1 = s.part(kParts - 1).template view<kPartRows, T.bk>(s.k0, s.k1);
    u32 begin = s.a.firstByte(s.k0);
    typename Walk::B b(b0, b1, P::kPair);
    if constexpr (kFolds) {
      TurnScales<P, Mma> scales(args, s, n0, tiles);
      Walk walk({rowsOfA(args, s, b0.rowBytes), b, begin, lds, acc}, scales);
      take(walk, tiles);
    } else {
      Walk walk(rowsOfA(args, s, b0.rowBytes), b, begin, lds, acc);
      take(walk, tiles);
    }
  }

  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    Block::template runTile<PingPong>(args, block, shared.bytes, epilogue);
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_PING_PONG_H
