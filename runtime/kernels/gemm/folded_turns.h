//===- folded_turns.h - Turns of products with scales along k -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks of ping_pong.h whose tile of k has scales: its sums are folded into the
// totals when the wave has given its turn back, while the other group
// multiplies. The next products begin at zero, so nothing is cleared. Scales
// are loads like copies, counted by the same waits.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_FOLDED_TURNS_H
#define HK_KERNELS_GEMM_FOLDED_TURNS_H

#include "kernels/gemm/problem.h"
#include "kernels/gemm/turns.h"

namespace hk {

/// Scales of rows at a distance from each other.
template <int Rows> struct TurnScaleRows {
  TileView view;
  u32 at[Rows];

  /// Four of row i from byte `further` on. What lies outside is 0, with Tail
  /// part of the 16 bytes, too.
  template <bool Tail> HK_MEM f32x4 four(int i, u32 further) const {
    if constexpr (!Tail)
      return bitCast<f32x4>(view.loadFurther(at[i], further));
    f32x4 v;
    HK_UNROLL for (u32 e = 0; e < 4; ++e) v[e] =
        bitCast<float>(u32(__builtin_amdgcn_raw_buffer_load_b32(
            view.rsrc, at[i] + further + e * 4, 0, 0)));
    return v;
  }
};

/// The same of rows that lie anywhere, whose addresses are made as those of
/// NamedTurnSource. With Tail what lies outside is the row's first one.
template <int Rows> struct NamedTurnScaleRows {
  Global<const u8> base;
  u32 row[Rows], stride, rowBytes;

  template <bool Tail> HK_MEM f32x4 four(int i, u32 further) const {
    typedef f32x4 __attribute__((aligned(4))) Unaligned;
    u32 r = row[i];
    asm("" : "+v"(r) : "s"(further));
    auto from = base + u64(r) * stride;
    if constexpr (!Tail)
      return *(Global<const Unaligned>)(from + further);
    f32x4 v;
    HK_UNROLL for (u32 e = 0; e < 4; ++e) {
      u32 byte = further + e * 4;
      v[e] = *(Global<const float>)(from + (byte < rowBytes ? byte : 0u));
    }
    return v;
  }
};

/// f32 scales of a wave's sums by tiles of k: those of a lane's rows of A, and
/// the one of the wave's columns.
template <class P, class Mma> struct TurnScales {
  static constexpr bool kNamed = P::A::kGathered;
  /// Of a fragment.
  static constexpr int kLoads = (P::kScaleA ? 1 : 0) + (P::kScaleB ? 1 : 0);

  u32 begin;
  int tiles;
  typename Choice<kNamed, NamedTurnScaleRows<Mma::MI>,
                  TurnScaleRows<Mma::MI>>::Type a;
  TurnScaleRows<1> b;

  /// Of the tiles of `source`, whose columns begin at n0.
  template <class Source>
  HK_MEM TurnScales(const GemmArgs &args, const Source &source, i64 n0,
                    int tiles)
      : begin(u32(source.k0 / kBlockScaleA.depth) * 4), tiles(tiles),
        a(rowsOfA(args.a.fold, source.a, begin + tiles * 4)),
        b{viewOf(args.b.fold, rowOfB(n0, args.n), 1, 1, begin + tiles * 4),
          {0}} {}

  /// Those of fragment i of the rows, and four tiles: a row's lie side by side,
  /// so that a line of memory is asked for once in four tiles.
  struct Values {
    f32x4 a, b;

    HK_MEM float product(int tile) const {
      return P::kScaleA && P::kScaleB ? a[tile] * b[tile]
             : P::kScaleA             ? a[tile]
                                      : b[tile];
    }
  };
  /// With Tail a tile may be behind the last one.
  template <bool Tail> HK_MEM Values load(int i, int tile) const {
    u32 further = begin + u32(tile) * 4;
    Values v = {};
    if constexpr (P::kScaleA)
      v.a = a.template four<Tail>(i, further);
    if constexpr (P::kScaleB)
      v.b = b.template four<Tail>(0, further);
    return v;
  }

private:
  template <class SourceA>
  HK_MEM static auto rowsOfA(const ScaleArgs &scales, const SourceA &source,
                             i64 rowBytes) {
    if constexpr (kNamed) {
      NamedTurnScaleRows<Mma::MI> rows = {global<const u8>(scales.data),
                                          {},
                                          u32(scales.strideRow) * 4,
                                          u32(rowBytes)};
      HK_UNROLL for (int i = 0; i < Mma::MI; ++i) rows.row[i] =
          u32(source.foldRow(i, 0));
      return rows;
    } else {
      TurnScaleRows<Mma::MI> rows = {
          viewOf(scales, source.row0, source.rows, P::kTile.bm, rowBytes), {}};
      HK_UNROLL for (int i = 0; i < Mma::MI; ++i) rows.at[i] =
          u32(Mma::rowOf(i)) * u32(scales.strideRow) * 4;
      return rows;
    }
  }
  /// Rows of scales up to those of `tiles` tiles. A single row has no stride.
  HK_MEM static TileView viewOf(const ScaleArgs &scales, i64 row, i64 rows,
                                int most, i64 rowBytes) {
    i64 stride = scales.strideRow * 4;
    return TileView(global<const u8>(scales.data) + row * stride, stride,
                    rows < most ? rows : i64(most), rowBytes);
  }
  /// The row of B's scales that the wave's columns have; of columns outside the
  /// last one.
  HK_MEM static i64 rowOfB(i64 n0, i64 n) {
    static_assert(!P::kPair && P::kTile.bn <= kBlockScaleB.rows);
    i64 column = n0 + Mma::waveCol();
    return (column < n ? column : n - 1) / kBlockScaleB.rows;
  }
};

/// `count`, as one that the compiler does not know. It takes a loop that runs
/// once apart, whose registers then are too few.
HK_DEV int unknownCount(int count) { return int(opaqueScalar(u32(count))); }

/// What both walks have: tiles of 256 x 128 for 4 x 2 waves, as the totals of
/// 256 columns would leave too few registers for sums.
template <class P, class Mma, int Stages>
struct FoldedTurns : TurnWalk<Mma, P::A::kGathered, Stages, 4, 2> {
  using Walk = TurnWalk<Mma, P::A::kGathered, Stages, 4, 2>;
  using Scales = TurnScales<P, Mma>;
  using Sum = typename Mma::Fragment;
  static_assert(Mma::MI == 2 && Mma::NI == 2);

  const Scales &scales;
  typename Scales::Values values[2];
  Sum part[2][2];

  HK_MEM FoldedTurns(const Walk &walk, const Scales &scales)
      : Walk(walk), scales(scales) {
    HK_UNROLL for (int i = 0; i < 2; ++i) {
      values[i] = {};
      HK_UNROLL for (int j = 0; j < 2; ++j) part[i][j] = Sum(0);
    }
  }

  /// Folds the sums of fragment i of the rows of a tile, S of four. Behind the
  /// last tile they are zeros, but what is read as scales may be anything.
  template <bool Tail, int S> HK_MEM void fold(int i, int tile) {
    float scale = values[i].product(S);
    if constexpr (Tail)
      scale = tile < scales.tiles ? scale : 0.f;
    HK_UNROLL for (int j = 0; j < 2; ++j) this->acc.c[i][j] =
        __builtin_elementwise_fma(part[i][j], Sum(scale), this->acc.c[i][j]);
  }
};

template <class P, class Mma, bool Direct = kTarget.directToLds >= 16>
struct FoldedWalk;

/// As PingPongWalk of such a chip: a turn has the sums of one fragment of a
/// wave's rows. A fragment's scales are asked for when those of the tiles
/// before have been used. A wait leaves under way what the last two turns asked
/// for.
template <class P, class Mma>
struct FoldedWalk<P, Mma, true> : FoldedTurns<P, Mma, 2> {
  using Turns = FoldedTurns<P, Mma, 2>;
  using Turns::kSteps, Turns::kFirst, Turns::kCopies;
  using Turns::rowsA, Turns::rowsB, Turns::scales, Turns::values, Turns::part;
  using typename Turns::Walk, typename Turns::Fragment, typename Turns::Scales,
      typename Turns::Sum;

  Fragment fa[kSteps], fb[2][kSteps];

  using Turns::Turns;

  HK_MEM void readA(int stage, int i) {
    HK_UNROLL for (int k = 0; k < kSteps; ++k) fa[k] =
        rowsA.read(k, Walk::at(stage, i));
  }
  HK_MEM void readB(int stage) {
    HK_UNROLL for (int k = 0; k < kSteps; ++k)
        HK_UNROLL for (int j = 0; j < 2; ++j) fb[j][k] =
            rowsB.read(k, Walk::atB(stage, j) - Walk::atB(0, 0));
  }
  /// Behind the copies of a turn, in whose window `Loads` scales were asked
  /// for.
  template <int Loads> HK_MEM void waitTurn() {
    waitDirectCopies<1, kCopies + Loads * Scales::kLoads>();
    codeFence();
  }
  HK_MEM void turn(int i) {
    takeTurn([&]() __attribute__((always_inline)) {
      HK_UNROLL for (int k = 0; k < kSteps;
                     ++k) HK_UNROLL for (int j = 0; j < 2; ++j) part[i][j] =
          Mma::step(fb[j][k].chunk, fa[k].chunk, k == 0 ? Sum(0) : part[i][j]);
    });
  }

  /// Tile t, S of four.
  template <bool Tail, int S> HK_MEM void tile(int t) {
    constexpr int stage = S % 2;
    readB(stage);
    readA(stage, 0);
    codeFence();
    this->template copySecond<Tail>(1 - stage, t + 1);
    waitTurn<S == 0 || S == 1>();
    this->template fold<Tail, (S + 3) % 4>(1, t - 1);
    if constexpr (S == 0) {
      codeFence();
      values[1] = scales.template load<Tail>(1, t);
    }
    turn(0);
    readA(stage, 1);
    codeFence();
    this->template copyFirst<Tail>(stage, t + 2);
    waitTurn<S == 0 ? 2 : 0>();
    this->template fold<Tail, S>(0, t);
    if constexpr (S == 3) {
      codeFence();
      values[0] = scales.template load<Tail>(0, t + 1);
    }
    turn(1);
  }
  template <bool Tail> HK_MEM void four(int t) {
    tile<Tail, 0>(t);
    tile<Tail, 1>(t + 1);
    tile<Tail, 2>(t + 2);
    tile<Tail, 3>(t + 3);
  }

  HK_MEM void start() {
    this->template copyFirst<true>(0, 0);
    this->template copySecond<true>(0, 0);
    this->template copyFirst<true>(1, 1);
    waitDirectCopies<1, kFirst>();
    codeFence(); // In the order that the waits of tile 0 count on.
    values[0] = scales.template load<true>(0, 0);
  }
  HK_MEM void run(int tiles) {
    int t = 0;
    for (; Walk::isWhole(t + 7); t += 4)
      four<false>(t);
    for (int end = unknownCount(tiles); t < end; t += 4)
      four<true>(t);
    this->template fold<true, 3>(1, t - 1);
    waitDirectCopies<0, kCopies>();
  }
};

/// As PingPongWalk of such a chip. The scales of a tile come while it is
/// multiplied.
template <class P, class Mma>
struct FoldedWalk<P, Mma, false> : FoldedTurns<P, Mma, 1> {
  using Turns = FoldedTurns<P, Mma, 1>;
  using Turns::a, Turns::b, Turns::lds, Turns::rowsA, Turns::rowsB;
  using Turns::scales, Turns::values, Turns::part;
  using typename Turns::Walk, typename Turns::Fragment, typename Turns::Sum;
  static_assert(Turns::kSteps == 4);

  Fragment fa[2][2], fb[2][2];
  u32x4 nextA[4], nextB[2][2];

  using Turns::Turns;

  template <bool Tail> HK_MEM void issueA(int h, int tile) {
    HK_UNROLL for (int x = 0; x < 2; ++x) nextA[h * 2 + x] =
        a.template load<Tail>(h, x, Walk::byteOf(tile));
  }
  /// B of tile S of four, a turn earlier than A, as no other has room for it.
  template <bool Tail, int S> HK_MEM void issueB(int tile) {
    HK_UNROLL for (int h = 0; h < 2; ++h) nextB[S % 2][h] =
        b.template load<Tail>(h, 0, Walk::byteOf(tile));
  }
  template <int S> HK_MEM void land() {
    HK_UNROLL for (int x = 0; x < 4; ++x) chunkAt(x) = nextA[x];
    HK_UNROLL for (int x = 0; x < 2; ++x) chunkAt(4 + x) = nextB[S % 2][x];
  }

  HK_MEM void read(int k) {
    HK_UNROLL for (int i = 0; i < 2; ++i) {
      fa[k % 2][i] = rowsA.read(k, Walk::at(0, i));
      fb[k % 2][i] = rowsB.read(k, Walk::atB(0, i) - Walk::atB(0, 0));
    }
  }
  /// Steps `first` to `last` of k.
  HK_MEM void turn(int first, int last) {
    takeTurn([&]() __attribute__((always_inline)) {
      HK_UNROLL for (int k = first; k <= last; ++k)
          HK_UNROLL for (int i = 0; i < 2; ++i)
              HK_UNROLL for (int j = 0; j < 2; ++j) part[i][j] =
                  Mma::step(fb[k % 2][j].chunk, fa[k % 2][i].chunk,
                            k == 0 ? Sum(0) : part[i][j]);
    });
  }

  /// Tile t, S of four.
  template <bool Tail, int S> HK_MEM void tile(int t) {
    read(0);
    read(1);
    codeFence();
    issueA<Tail>(1, t + 1);
    codeFence();
    HK_UNROLL for (int i = 0; i < 2;
                   ++i) this->template fold<Tail, (S + 3) % 4>(i, t - 1);
    turn(0, 1);
    read(2);
    read(3);
    codeFence();
    issueB<Tail, S>(t + 2);
    if constexpr (S == 0)
      HK_UNROLL for (int i = 0; i < 2; ++i) values[i] =
          scales.template load<Tail>(i, t);
    turn(2, 2);
    land<S + 1>();
    codeFence();
    issueA<Tail>(0, t + 2);
    turn(3, 3);
  }
  template <bool Tail> HK_MEM void four(int t) {
    tile<Tail, 0>(t);
    tile<Tail, 1>(t + 1);
    tile<Tail, 2>(t + 2);
    tile<Tail, 3>(t + 3);
  }

  HK_MEM void start() {
    issueB<true, 0>(0);
    issueA<true>(0, 0);
    issueA<true>(1, 0);
    land<0>();
    codeFence();
    issueB<true, 1>(1);
    issueA<true>(0, 1);
  }
  HK_MEM void run(int tiles) {
    int t = 0;
    for (; Walk::isWhole(t + 5); t += 4)
      four<false>(t);
    for (int end = unknownCount(tiles); t < end; t += 4)
      four<true>(t);
    HK_UNROLL for (int i = 0; i < 2;
                   ++i) this->template fold<true, 3>(i, t - 1);
  }

private:
  HK_MEM u32x4 &chunkAt(int x) {
    return *reinterpret_cast<u32x4 *>(lds +
                                      (x * kTurnThreads + threadId()) * 16);
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_FOLDED_TURNS_H
