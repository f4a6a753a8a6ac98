//===- register_cells.h - Products of f32 on sm_90a -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The chip has no matrix instruction for f32, so every multiply-add is an
// instruction of a lane, and whatever else a lane issues takes the place of
// one. A lane sums a cell of kTall x kWide results: of each k it reads kTall +
// kWide elements, four in an access, those of the next k while it multiplies,
// across the borders of stages too, so that a wave waits for LDS nowhere.
// Operands are transposed on their way into LDS by copies of single elements.
//
// A multiply-add reads three registers, and the two banks of registers, even
// and odd ones, give one each in a clock. So one operand must be that of the
// multiply-add before, which the chip keeps, and the others lie in both banks.
// A walk through the cell there and back along the rows keeps a row's element,
// or at a turn a column's. Sums of neighbouring columns are in neighbouring
// registers, as they are stored together; operands are swapped with their
// neighbours in LDS, and so are in the other bank.
//
//   RegisterCells<Problem>::run(args, block, shared, epilogue)
//   Grid: that of gemm.h.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_REGISTERCELLS_H
#define HK_KERNELS_GEMM_SM90_REGISTERCELLS_H

#include "kernels/device/arch/nvptx_async.h"
#include "kernels/gemm/block.h"

namespace hk {

/// The sums of a block: waves of 4 x 8 lanes. A lane has fours of rows that are
/// 16 apart, and fours of columns that are 32 apart.
template <int BM, int BN, int WM, int WN> struct CellSums {
  using Acc = float;
  static constexpr int kThreads = WM * WN * kWave;
  static constexpr int kTallLanes = 4, kWideLanes = 8;
  static constexpr int kTall = BM / WM / kTallLanes;
  static constexpr int kWide = BN / WN / kWideLanes;
  static constexpr int V = 4, kSlabRows = 16, kSlabs = kTall / 4;
  static_assert(kTall * WM * kTallLanes == BM && kTall % 4 == 0 &&
                kWide * WN * kWideLanes == BN && kWide % 4 == 0);

  f32x4 c[kTall][kWide / 4];

  /// A lane's place in its wave. An access of 16 bytes takes half of the time
  /// where all lanes l and l ^ 1, or l and l ^ 2, read the same.
  HK_MEM static int laneRow() { return laneId() % 2 + laneId() / 16 * 2; }
  HK_MEM static int laneColumn() { return laneId() / 2 % 8; }
  HK_MEM static int waveRow() { return waveId() / WN * (BM / WM); }
  HK_MEM static int waveCol() { return waveId() % WN * (BN / WN); }

  HK_MEM void clear() {
    HK_UNROLL for (int i = 0; i < kTall; ++i)
        HK_UNROLL for (int j = 0; j < kWide / 4; ++j) c[i][j] = f32x4(0);
  }

  template <class F> HK_MEM void forSlab(int slab, F f) {
    HK_UNROLL for (int i = 0; i < 4; ++i)
        HK_UNROLL for (int j = 0; j < kWide / 4; ++j)
            f(slab, waveRow() + slab * 16 + laneRow() * 4 + i,
              waveCol() + j * 32 + laneColumn() * 4, c[slab * 4 + i][j]);
  }
};

template <class P>
using RegisterCellsBlock =
    BlockProduct<P,
                 CellSums<P::kTile.bm, P::kTile.bn, P::kTile.wm, P::kTile.wn>,
                 P::kTile.bk * 4, 1>;

template <class Problem> struct RegisterCells : RegisterCellsBlock<Problem> {
  using P = Problem;
  using Block = RegisterCellsBlock<Problem>;
  using typename Block::A, typename Block::B, typename Block::Source;
  using Sums = typename Block::Total;
  using Block::kThreads, Block::kParts, Block::kPartRows;
  static constexpr GemmTile T = {
      P::kTile.bm, P::kTile.bn,     P::kTile.bk,     P::kTile.wm,
      P::kTile.wn, P::kTile.stages, P::kTile.splitK, GemmLoop::RegisterCells};
  static constexpr int kTall = Sums::kTall, kWide = Sums::kWide;
  /// Elements between two k of a stage.
  static constexpr int kPitchA = T.bm + kCellsPad, kPitchB = T.bn + kCellsPad;
  static constexpr int kBytesA = T.bk * kPitchA * 4;
  static constexpr int kStageBytes = kBytesA + T.bk * kPitchB * 4;
  static constexpr i64 kLds = gemmLds(kTarget, T, P::kOperand);
  static_assert(P::kOperand == DType::F32 && A::kMem == DType::F32 &&
                B::kMem == DType::F32 && A::kKContiguous && B::kKContiguous &&
                A::kAlign >= 16 && B::kAlign >= 16 && !A::kGathered &&
                B::kStep == 1 && P::kScale == KScale::None);
  static_assert(T.stages >= 3 && T.bk % 8 == 0);

  /// k of an iteration, whose instructions fit into the first cache.
  static constexpr int kUnrolled = 8;

  struct Shared {
    alignas(16) u8 bytes[kLds];
  };
  static_assert(sizeof(Shared) == kLds);

  /// Eight lanes copy eight neighbours along k, a sector of memory, and others
  /// of a wave rows that lie beside each other in LDS.
  static constexpr int kAlong = 8, kStep = kThreads / kAlong;
  static_assert(T.bk % kAlong == 0 && T.bm % kStep == 0 &&
                kPartRows % kStep == 0);

  /// What a thread copies of a row of an operand of ROWS, to `to`. A row that
  /// does not exist is the last one, and nobody uses its sums. The bytes
  /// between rows are a word, so that an address takes one instruction.
  template <int ROWS, int PITCH, class Rows>
  HK_MEM static void copyRow(const Rows &rows, int row, i64 k, i64 k1, u32 to) {
    int last = rows.rows < ROWS ? int(rows.rows) - 1 : ROWS - 1;
    row = row < last ? row : last;
    Global<const u8> data = rows.data + k * 4;
    Global<const u8> from = data + u64(u32(row)) * u32(rows.stride * 4);
    HK_UNROLL for (int in = 0; in < T.bk; in += kAlong)
        copyToLds4(to + in * PITCH * 4, from + in * 4, k + in < k1);
  }

  /// Where a thread copies to and from; volatile: not kept in registers from
  /// stage to stage.
  struct Copier {
    const Source &s;
    i64 k;
    u32 stage;
    int row = threadId() / kAlong, in = threadId() % kAlong;

    HK_MEM Copier(const Source &s, i64 k, u32 stage)
        : s(s), k(k), stage(stage) {
      settleWord(row);
    }
    HK_MEM u32 place(int r) const { return stage + u32(row ^ 1) * 4 + r * 4; }
    /// Of the rows that are r behind the thread's first.
    HK_MEM void ofA(int r) const {
      copyRow<T.bm, kPitchA>(s.a, row + r, k + in, s.k1,
                             place(r) + in * (kPitchA * 4));
    }
    HK_MEM void ofB(int part, int r) const {
      copyRow<kPartRows, kPitchB>(s.part(part), row + r, k + in, s.k1,
                                  place(part * kPartRows + r) + kBytesA +
                                      in * (kPitchB * 4));
    }
  };

  HK_MEM static void copy(const Source &s, i64 k, u32 stage) {
    Copier copies(s, k, stage);
    HK_UNROLL for (int r = 0; r < T.bm; r += kStep) copies.ofA(r);
    HK_UNROLL for (int p = 0; p < kParts; ++p)
        HK_UNROLL for (int r = 0; r < kPartRows; r += kStep) copies.ofB(p, r);
    commitDirectCopies();
  }

  /// Where a thread has enough rows of both operands, the main loop asks for a
  /// row of the next stage before every second k: all copies at once hold up
  /// the reads of LDS. An iteration has a piece of the rows.
  static constexpr int kPieces = T.bk / kUnrolled;
  static constexpr int kPieceA = T.bm / kPieces, kPieceB = T.bn / kPieces;
  static constexpr bool kSpreads =
      kParts == 1 && kPieceA % kStep == 0 && kPieceB % kStep == 0 &&
      kPieceA / kStep + kPieceB / kStep <= kUnrolled / 2;

  HK_MEM static void copyNext(const Source &s, int piece, int row, i64 k,
                              u32 stage) {
    Copier copies(s, k, stage);
    int r = row * kStep;
    if (r < kPieceA)
      copies.ofA(piece * kPieceA + r);
    else if (r < kPieceA + kPieceB)
      copies.ofB(0, piece * kPieceB + r - kPieceA);
  }

  /// What a lane has of one k: neighbours are swapped.
  struct Elements {
    f32x4 a[kTall / 4], b[kWide / 4];

    /// `k`: of the stage whose first elements of the lane are at `atA`, `atB`.
    HK_MEM void load(u32 atA, u32 atB, int k) {
      HK_UNROLL for (int j = 0; j < kWide / 4; ++j) b[j] =
          loadLdsHere(atB + (k * kPitchB + j * 32) * 4);
      HK_UNROLL for (int i = 0; i < kTall / 4; ++i) a[i] =
          loadLdsHere(atA + (k * kPitchA + i * 16) * 4);
    }
    HK_MEM float row(int i) const { return a[i / 4][i % 4 ^ 1]; }
    HK_MEM float column(int j) const { return b[j / 4][j % 4 ^ 1]; }
  };

  HK_MEM static void multiply(Sums &sums, const Elements &of) {
    HK_UNROLL for (int i = 0; i < kTall; ++i)
        HK_UNROLL for (int x = 0; x < kWide; ++x) {
      int j = i % 2 ? kWide - 1 - x : x;
      float &sum = reinterpret_cast<float *>(&sums.c[i][j / 4])[j % 4];
      sum = __builtin_fmaf(of.row(i), of.column(j), sum);
    }
  }

  HK_MEM static void accumulate(const GemmArgs &, const Source &s, i64, u8 *lds,
                                Sums &sums) {
    sums.clear();
    int tiles = int((s.k1 - s.k0 + T.bk - 1) / T.bk);
    if (tiles == 0)
      return;
    auto kOf = [&](int tile) { return s.k0 + i64(tile) * T.bk; };
    u32 first = ldsAddress(lds);
    constexpr int ahead = T.stages - 1;
    HK_UNROLL for (int t = 0; t < ahead; ++t) {
      if (t < tiles)
        copy(s, kOf(t), first + t * kStageBytes);
      else
        commitDirectCopies();
    }
    waitDirectCopies<ahead - 1, 1>();
    barrier();
    u32 ownA = (Sums::waveRow() + Sums::laneRow() * 4) * 4;
    u32 ownB = kBytesA + (Sums::waveCol() + Sums::laneColumn() * 4) * 4;
    u32 a = first + ownA, b = first + ownB;
    Elements even, odd;
    even.load(a, b, 0);
    int now = 0;
    // The stage that is asked for, and its place: what was there is read until
    // the last iteration of the one behind it.
    i64 askedK = s.k1;
    u32 asked = 0;
    for (int t = 0; t < tiles; ++t) {
      _Pragma("nounroll") for (int k = 0; k < T.bk; k += kUnrolled) {
        u32 nextA = a + kUnrolled * kPitchA * 4;
        u32 nextB = b + kUnrolled * kPitchB * 4;
        if (k == T.bk - kUnrolled) {
          // The stage before this one has been read, the next one is there.
          if constexpr (kSpreads)
            waitAllCopies();
          else
            waitDirectCopies<ahead - 2, 1>();
          barrier();
          asked = first + (now == 0 ? ahead : now - 1) * kStageBytes;
          askedK = kOf(t + ahead);
          if constexpr (!kSpreads) {
            if (askedK < s.k1)
              copy(s, askedK, asked);
            else
              commitDirectCopies();
          }
          now = now + 1 == T.stages ? 0 : now + 1;
          nextA = first + now * kStageBytes + ownA;
          nextB = first + now * kStageBytes + ownB;
        }
        int piece = k == T.bk - kUnrolled ? 0 : k / kUnrolled + 1;
        HK_UNROLL for (int in = 0; in < kUnrolled; in += 2) {
          odd.load(a, b, in + 1);
          if constexpr (kSpreads)
            if (askedK < s.k1)
              copyNext(s, piece, in / 2, askedK, asked);
          multiply(sums, even);
          if (in + 2 < kUnrolled)
            even.load(a, b, in + 2);
          else
            even.load(nextA, nextB, 0);
          multiply(sums, odd);
        }
        a = nextA;
        b = nextB;
      }
    }
    waitDirectCopies<0, 1>();
    barrier();
  }

  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    TileIndex tile = tileOf(block, (args.m + T.bm - 1) / T.bm,
                            (args.n + P::kCols - 1) / P::kCols);
    u32 m = u32(tile.m), n = u32(tile.n);
    i64 row = i64(m) * T.bm, col = i64(n) * P::kCols;
    Sums sums;
    accumulate(args,
               Block::sourceOf(args, {args.a, row, args.m - row, args.m}, col,
                               rangeOfK<P>(args, block.z)),
               col, shared.bytes, sums);
    // The sums leave no registers for what the epilogue computes of these.
    settleWord(m);
    settleWord(n);
    TileRows rows = {block.z, i64(m) * T.bm, args.m};
    Block::finish(args, rows, i64(n) * P::kCols, shared.bytes, sums, epilogue);
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_REGISTERCELLS_H
