//===- rounded_columns.h - Results of swapped tiles, rounded ----*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The end of a swapped tile of groups whose results are 16 bits and need no
// others of their row: they are computed where the sums are, and pass through
// LDS rounded, by boxes of 32 rows and 64 columns, from where 16 bytes of a row
// each are stored. A lane has results of few columns and of many rows, so what
// it loads for its columns stays in registers for the tile.
//
// While a tile ends no stage is given back, so the end must not last longer
// than the stages that are full. What it loads for rows is a chain (the order,
// then a scale of the row that it names), and memory is busy with stages. So
// each of them is loaded once before the tile is multiplied, and lies in the L1
// cache at its end.
//
// An emitted epilogue has a BoxElement, and
//   Vec<float, 1> one(i64 batch, i64 row, i64 col, const In &in) const;
//   void storeEight(i64 row, i64 col, const u32x4 &elements) const;
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_ROUNDED_COLUMNS_H
#define HK_KERNELS_GEMM_SM90_ROUNDED_COLUMNS_H

#include "kernels/gemm/sm90/box_epilogue.h"
#include "kernels/gemm/sm90/group_box.h"

namespace hk {

template <class Epilogue>
concept RoundsColumns = requires {
  typename Epilogue::BoxElement;
  &Epilogue::storeEight;
};

/// Of a warpgroup that has sums of two blocks of 64 rows of B, Apart rows from
/// one to the other; of a pair they are the halves of the same columns. It has
/// kBytes of LDS, and a barrier of its own.
template <class Problem, class Groups, int Apart, class Epilogue>
class RoundedColumns {
  using P = Problem;
  using Acc = typename P::Acc;
  static constexpr int kBlocks = 2, kRows = kGroupBoxRows;
  static constexpr int kMostBoxes = P::kTile.bm / kRows;
  static constexpr int kBoxBytes = kRows * kBulkRowBytes;
  /// Columns of a box, and those between the two of a lane.
  static constexpr int kColumns = kBulkRowBytes / 2, kBelow = 8;
  /// Parts of a tile's columns that the warpgroup has.
  static constexpr int kParts = P::kPair ? 1 : kBlocks;
  /// Boxes that pass through LDS at once, each of all parts.
  static constexpr int kAtOnce = kBlocks / kParts;

  static_assert(sizeof(u32) * P::kTile.bm == kRoundedRowsBytes);

public:
  static constexpr int kBytes =
      kBlocks * kBoxBytes + kRoundedKeptBytes + kRoundedRowsBytes;
  static constexpr int kSums = kMostBoxes * kRows / 2;

  HK_MEM RoundedColumns(const GemmArgs &args, const GroupArgs &groups, u32 lds,
                        int group, u32 barrier, const Epilogue &epilogue)
      : args(args), groups(groups), lds(lds), column(group * 64),
        barrier(barrier), thread(int(threadId() % kWarpgroup)),
        epilogue(epilogue) {}

  /// Before the tile is multiplied: keeps in LDS where it lies and which places
  /// its rows load for, and has the L1 cache load what the end needs.
  HK_MEM void begin(const WarpPlace &tile) {
    forget();
    at = tile;
    meet();
    u32 has[kMostBoxes], every = ~0u;
    i64 known = -1;
    HK_UNROLL for (int box = kMostBoxes - 1; box >= 0; --box) {
      has[box] = hasProducts(box * kRows + lane());
      every &= has[box];
      if (has[box] != 0)
        known = placeOf(box * kRows + __builtin_ctz(has[box]));
    }
    // A warp writes every fourth box.
    HK_UNROLL for (int box = 0; box < kMostBoxes; ++box) {
      if (box % kGroupWarps != thread / kWave)
        continue;
      int r = box * kRows + lane();
      storeLds4(rowAt(r), u32(has[box] >> lane() & 1 ? placeOf(r) : known));
    }
    if (thread == 0) {
      storeLds8(kept(), u32(at.matrix), u32(at.row));
      storeLds8(kept() + 8, u32(at.end), u32(at.col));
      storeLds4(kept() + 16, every == ~0u ? kWhole : known < 0 ? kNone : kSome);
    }
    ask(known);
  }

  /// Rounds and stores the sums d of the tile.
  HK_MEM void run(const float (&d)[kBlocks][kSums]) {
    forget();
    meet();
    u32x4 place = loadLds16(kept());
    at = {int(place[0]), int(place[1]), int(place[2]), int(place[3]), 0, 0};
    u32 rows = loadLds4(kept() + 16);
    HK_UNROLL for (int box = 0; box < kMostBoxes; box += kAtOnce) {
      if (at.row + box * kRows >= at.end)
        break;
      meet();
      if (rows != kNone)
        HK_UNROLL for (int own = box; own < box + kAtOnce; ++own)
            compute(d, own);
      meet();
      HK_UNROLL for (int s = 0; s < kBlocks; ++s) store(s, box, rows);
    }
  }

private:
  /// Makes what follows from these no constants, which would be kept for all
  /// tiles.
  HK_MEM void forget() {
    lds = opaqueWord(lds);
    barrier = opaqueWord(barrier);
    column = int(opaqueWord(u32(column)));
    thread = int(opaqueWord(u32(thread)));
  }
  /// Loads what is needed for a place to a lane of some warp, and for columns
  /// of all lines; `known` has a product, if any has.
  HK_MEM void ask(i64 known) const {
    // The warpgroups' columns are 64 apart.
    int r = column * (kWarpgroup / 64) + thread;
    if (known < 0 || at.row + r / kWave * kWave >= at.end)
      return;
    i64 place = placeOf(r);
    if (matrixAt(place) < 0)
      place = known;
    int col = at.col + lane() * (P::kCols / kWave);
    auto v = epilogue.one(matrix(), place, col < args.n ? col : 0,
                          GemmOutput<Acc, 1>{});
    // Whatever it is: nothing would be loaded that nobody takes.
    storeLds4(kept() + 20, bitCast<u32>(v[0]));
  }

  /// What is kept of a tile behind the boxes: its place, how many of its rows
  /// have a product, and the place that each row loads for, its own or another
  /// that has one.
  static constexpr u32 kNone = 0, kSome = 1, kWhole = 2;
  HK_MEM u32 kept() const { return lds + kBlocks * kBoxBytes; }
  HK_MEM u32 rowAt(int r) const {
    return kept() + kRoundedKeptBytes + u32(r) * 4;
  }

  /// Of the s-th box that passes at once: its number, the first column.
  HK_MEM static constexpr int boxOf(int s, int box) { return box + s / kParts; }
  HK_MEM int columnOf(int s) const {
    return at.col + column + s % kParts * Apart;
  }
  /// The place of a row of the tile, or the last one there is.
  HK_MEM i64 placeOf(int r) const {
    return at.row + r < at.end ? at.row + r : at.end - 1;
  }
  /// Which lanes' rows have a product; those of an empty tile have none.
  HK_MEM u32 hasProducts(int r) const {
    return u32(ballot(at.row < at.end && matrixAt(placeOf(r)) >= 0));
  }
  HK_MEM int matrixAt(i64 place) const {
    return matrixOf<Groups>(args, groups, at, int(place));
  }
  /// A number that the compiler knows to be none below 0.
  HK_MEM i64 matrix() const { return i64(u32(at.matrix) & 0x7FFFFFFF); }
  HK_MEM int lane() const { return thread % kWave; }
  HK_MEM void meet() const { barrierOfSome<kWarpgroup>(barrier); }

  /// Writes the warp's 16 columns of the parts of a box: 16 rows at a time, of
  /// which a lane has its part of four 8x8 matrices. What is loaded for a row
  /// serves all parts.
  HK_MEM void compute(const float (&d)[kBlocks][kSums], int box) const {
    if (box >= kMostBoxes || at.row + box * kRows >= at.end)
      return;
    HK_UNROLL for (int i = 0; i < 2; ++i) {
      i64 places[2][2];
      HK_UNROLL for (int q = 0; q < 2; ++q) HK_UNROLL for (int e = 0; e < 2;
                                                           ++e) places[q][e] =
          loadLds4(rowAt(box * kRows + (i * 2 + q) * 8 + lane() % 4 * 2 + e));
      u32 v[kParts][4];
      HK_UNROLL for (int q = 0; q < 4; ++q)
          HK_UNROLL for (int part = 0; part < kParts; ++part) {
        int col = at.col + column + part * Apart + thread / kWave * 16 +
                  lane() / 4 + q % 2 * kBelow;
        int first = (box * (kRows / 8) + i * 2 + q / 2) * 4 + q % 2 * 2;
        f32x2 two;
        HK_UNROLL for (int e = 0; e < 2; ++e) two[e] =
            get(places[q / 2][e], col, d[part][first + e],
                d[kBlocks - 1][first + e]);
        v[part][q] = packedPair<Epilogue>(two);
      }
      HK_UNROLL for (int part = 0; part < kParts; ++part) storeColumns(
          matrices(kParts == 1 ? box % kAtOnce : part, i), v[part]);
    }
  }
  HK_MEM float get(i64 place, int col, float sum, float other) const {
    GemmOutput<Acc, 1> out;
    out.acc = sum;
    out.pair = P::kPair ? other : 0.f;
    out.stat = 0;
    return epilogue.one(matrix(), place, col < args.n ? col : 0, out)[0];
  }

  /// The row that this lane addresses of four matrices.
  HK_MEM u32 matrices(int s, int i) const {
    int l = lane(), row = i * 16 + l / 16 * 8 + l % 8;
    return lds + u32(s * kBoxBytes) +
           swizzled<kBulkRowBytes>(row, (thread / kWave * 2 + l / 8 % 2) * 16);
  }
  HK_MEM void store(int s, int box, u32 rows) const {
    constexpr int perRow = kBulkRowBytes / 16, atOnce = kWarpgroup / perRow;
    int own = boxOf(s, box);
    if (own >= kMostBoxes)
      return;
    HK_UNROLL for (int i = 0; i < kRows; i += atOnce) {
      int row = i + thread / perRow, chunk = thread % perRow;
      i64 place = at.row + own * kRows + row;
      int col = columnOf(s) + chunk * 8;
      // Rows are whole chunks.
      if (place >= at.end || col >= args.n)
        continue;
      u32x4 v = loadLds16(lds + u32(s * kBoxBytes) +
                          swizzled<kBulkRowBytes>(row, chunk * 16));
      if (rows != kWhole && matrixAt(place) < 0)
        v = zeros(place, col);
      epilogue.storeEight(place, col, v);
    }
  }
  HK_MEM u32x4 zeros(i64 place, int col) const {
    u32x4 v;
    HK_UNROLL for (int i = 0; i < 4; ++i) {
      f32x2 two;
      HK_UNROLL for (int e = 0; e < 2; ++e) two[e] =
          epilogue.one(-1, place, col + i * 2 + e, GemmOutput<Acc, 1>{})[0];
      v[i] = packedPair<Epilogue>(two);
    }
    return v;
  }

  const GemmArgs &args;
  const GroupArgs &groups;
  u32 lds;
  int column;
  u32 barrier;
  int thread;
  const Epilogue &epilogue;
  WarpPlace at = {};
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_ROUNDED_COLUMNS_H
