//===- box_epilogue.h - An epilogue that only rounds -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A result of 16-bit elements is computed where the accumulators are, two
// columns at a time: each warp writes boxes of 16 rows and 64 columns to LDS,
// in turn into two places, and the copy engine stores them through the kernel's
// third map, which clips them at the edges. The epilogue may read one other
// matrix of 16-bit elements, where it stores: the engine brings its boxes
// through the fourth map into the places where the results go, the first two
// of a tile while the tile is multiplied, and asks for the others in L2.
//
// An epilogue that sends (tile_sender.h) says of each tile when it is stored.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_BOX_EPILOGUE_H
#define HK_KERNELS_GEMM_SM90_BOX_EPILOGUE_H

#include "kernels/gemm/sm90/rows.h"

namespace hk {

/// In place of an emitted epilogue: rounds the product to Out, bf16 or f16. An
/// emitted one for boxes has the same members, but for kRounds: BoxElement
/// holds what it gives.
template <class Out> struct StoreRounded {
  using BoxElement = Out;
  /// Out need not hold what two() gives.
  static constexpr bool kRounds = true;
  /// Two columns of the result.
  template <class In>
  HK_MEM Vec<float, 2> two(i64, i64, i64, const In &in) const {
    return convertTo<float, 2>(in.acc);
  }
};

/// Two results that an epilogue for boxes gave, as its elements.
template <class Epilogue> HK_DEV u32 packedPair(f32x2 v) {
  using Element = typename Epilogue::BoxElement;
  if constexpr (__is_same(Element, bf16) && !requires { Epilogue::kRounds; })
    // Bits, which the compiler recognises as those of the rounding.
    return (bitCast<u32>(v[1]) & 0xFFFF0000u) | bitCast<u32>(v[0]) >> 16;
  else
    return bitCast<u32>(convertTo<Element, 2>(v));
}

/// What reaches Epilogue::two; `read`: of the other matrix.
template <class Acc> struct BoxOutput : GemmOutput<Acc, 2> {
  Vec<float, 2> read;
};

/// Boxes of 64 columns that cover Columns: the last one may begin within the
/// one before, whose columns it then stores a second time.
template <int Columns> struct BoxesOfColumns {
  static constexpr int kColumns = kBulkRowBytes / 2;
  static constexpr int kCount = (Columns + kColumns - 1) / kColumns;
  static constexpr bool kOverlap = Columns % kColumns != 0;
  static_assert(Columns >= kColumns && Columns % 16 == 0);

  HK_MEM static constexpr int first(int box) {
    return box + 1 < kCount ? box * kColumns : Columns - kColumns;
  }
};

/// A warp's 16 rows of a tile, rounded in boxes. Whole warps call.
template <class Config, class Rows, class Total, class Epilogue>
class RoundedBoxes {
  using P = typename Config::P;

public:
  static constexpr int kColumns = kBulkRowBytes / 2;
  static constexpr int kBytes = 16 * kBulkRowBytes;
  using Places = BoxesOfColumns<P::kCols>;
  static constexpr int kCount = Places::kCount;
  static_assert(2 * kBytes <= kBulkSlabBytes);

  HK_MEM RoundedBoxes(const Total &d, const Rows &rows, int firstColumn,
                      const GemmArgs &args, const Epilogue &epilogue)
      : d(d), firstColumn(firstColumn), args(args), epilogue(epilogue) {
    HK_UNROLL for (int half = 0; half < 2; ++half) {
      int r = rows.nearest(half * 8 + laneId() / 4);
      matrix[half] = rows.matrix(r);
      row[half] = rows.row(r);
    }
    whole = ballot(matrix[0] < 0 || matrix[1] < 0) == 0 &&
            firstColumn + P::kCols <= args.n;
  }

  /// A lane's part of four 8x8 matrices, rows 0-7 and 8-15 of 16 columns, of
  /// each 16 columns of a box.
  using Part = u32[kColumns / 16][4];

  /// Those of `Boxes` boxes from box j on; v has what was read for them.
  template <int Boxes> HK_MEM void compute(int j, Part (&v)[Boxes]) const {
    // That rows have a matrix is asked once: as a branch around each pair of
    // columns it kept their loads apart. So is whether the columns exist: what
    // chooses each of them took more instructions than the sums do.
    if (whole) {
      HK_UNROLL for (int i = 0; i < Boxes; ++i) computeAs<true>(j + i, v[i]);
    } else {
      HK_UNROLL for (int i = 0; i < Boxes; ++i) computeAs<false>(j + i, v[i]);
    }
  }
  /// Writes them to the box.
  HK_MEM static void write(u32 box, const Part &v) {
    HK_UNROLL for (int c = 0; c < kColumns / 16; ++c)
        storeMatrices(matrices(box, c), v[c]);
  }
  /// What a box that the engine brought has in their places.
  HK_MEM static void read(u32 box, Part &v) {
    HK_UNROLL for (int c = 0; c < kColumns / 16; ++c)
        loadMatrices(matrices(box, c), v[c]);
  }

private:
  /// The row that this lane addresses of four matrices of 16 columns.
  HK_MEM static u32 matrices(u32 box, int c) {
    int l = laneId(), row = l / 8 % 2 * 8 + l % 8, side = l / 16;
    return box + swizzled<kBulkRowBytes>(row, (c * 2 + side) * 16);
  }

  /// `Whole`: all rows have a matrix, and all columns exist.
  template <bool Whole> HK_MEM void computeAs(int j, Part &v) const {
    HK_UNROLL for (int c = 0; c < kColumns / 16; ++c)
        HK_UNROLL for (int q = 0; q < 4; ++q) v[c][q] =
            get<Whole>(Places::first(j) / 2 + c * 8 + q * 2, q % 2,
                       Places::first(j) + c * 16 + q / 2 * 8, v[c][q]);
  }

  /// Columns col and col + 1 of row lane / 4, or 8 below, from registers i
  /// on. What is outside of the result is computed at its edge, and clipped.
  template <bool Whole>
  HK_MEM u32 get(int i, int half, int col,
                 [[maybe_unused]] const u32 &read) const {
    BoxOutput<typename P::Acc> out;
    out.acc = {d[i], d[i + 1]};
    out.pair = 0;
    if constexpr (P::kPair)
      out.pair = {d[i + Config::T.bn / 4], d[i + 1 + Config::T.bn / 4]};
    out.stat = 0;
    if constexpr (requires { typename Epilogue::ReadElement; })
      out.read = convertTo<float, 2>(
          bitCast<Vec<typename Epilogue::ReadElement, 2>>(read));
    // A number that the compiler knows to be none below 0.
    i64 of = Whole ? i64(u32(matrix[half]) & 0x7FFFFFFF) : matrix[half];
    f32x2 v = epilogue.two(of, row[half], columnOf<Whole>(col), out);
    return packedPair<Epilogue>(v);
  }
  /// The lane's first of two columns that are `col` behind the first.
  template <bool Whole> HK_MEM i64 columnOf(int col) const {
    // The compiler knows it to be even, and a sum of 64 bits, of which it
    // multiplies the part that is the same for all columns once.
    if constexpr (Whole)
      return (i64(u32(firstColumn / 2 + laneId() % 4) & 0x3FFFFFFF) + col / 2) *
             2;
    int column = firstColumn + col + laneId() % 4 * 2;
    return column < args.n ? column : 0;
  }

  const Total &d;
  int firstColumn;
  const GemmArgs &args;
  const Epilogue &epilogue;
  /// Of the lane's two rows.
  int matrix[2], row[2];
  bool whole;
};

template <class Config, bool Reads, bool Sends> class BoxEpilogue {
  static_assert(!Reads || !Sends); // whose barriers are the count
  static constexpr int kColumns = kBulkRowBytes / 2;
  static constexpr int kBytes = 16 * kBulkRowBytes;
  using Places = BoxesOfColumns<Config::P::kCols>;
  static constexpr int kCount = Places::kCount;
  // What is read may lie where the result goes, and is read once.
  static_assert(!Reads || !Places::kOverlap);

  typename Config::Layout lds;
  const TensorMap *maps;
  int warp;
  /// Phases of the two places' barriers, a bit each.
  u32 phases = 0;
  bool hasTile = false;

public:
  HK_MEM BoxEpilogue(const typename Config::Layout &lds, const TensorMap *maps,
                     int warp)
      : lds(lds), maps(maps), warp(warp) {}

  /// Before a tile is multiplied.
  template <class Rows> HK_MEM void begin(const Rows &rows, int col) {
    if constexpr (Sends)
      endTile();
    hasTile = true;
    if constexpr (Reads) {
      if (laneId() != 0)
        return;
      waitStoresRead<0>();
      HK_UNROLL for (int j = 0; j < kCount; ++j) {
        if (j < 2)
          ask(rows, col, j);
        else
          prefetchBox(maps[3], placeOf(rows, col, j));
      }
    }
  }

  template <class Total, class Rows, class Epilogue>
  HK_MEM void run(const Total &d, const Rows &rows, int col,
                  const GemmArgs &args, u8 *, const Epilogue &epilogue) {
    using Boxes = RoundedBoxes<Config, Rows, Total, Epilogue>;
    static_assert(Boxes::kCount == kCount && Boxes::kBytes == kBytes);
    Boxes boxes(d, rows, col, args, epilogue);
    if constexpr (Reads)
      runReading<Boxes>(boxes, rows, col);
    else
      runAtOnce<Boxes>(boxes, rows, col);
  }

  /// Before the block ends: the engine still reads its LDS.
  HK_MEM void finish() const {
    if constexpr (Sends)
      endTile();
    else if (laneId() == 0)
      waitStoresRead<0>();
  }

private:
  /// What is computed of a box waits for loads of its columns, once for all
  /// boxes where they are computed before the first is written (4096 x 7168 x
  /// 2048 of fp8 on an H100: 109 to 104 us).
  template <class Boxes, class Rows>
  HK_MEM void runAtOnce(const Boxes &boxes, const Rows &rows, int col) {
    typename Boxes::Part v[kCount];
    boxes.compute(0, v);
    HK_UNROLL for (int j = 0; j < kCount; ++j) {
      // The last box of the tile before may be in either place.
      if (laneId() == 0) {
        if (j == 0)
          waitStoresRead<0>();
        else
          waitStoresRead<1>();
      }
      waveBarrier();
      store<Boxes>(rows, col, j, v[j]);
    }
  }
  /// Of what is read two boxes are there at a time.
  template <class Boxes, class Rows>
  HK_MEM void runReading(const Boxes &boxes, const Rows &rows, int col) {
    HK_UNROLL for (int j = 0; j < kCount; ++j) {
      typename Boxes::Part v[1];
      lds.read(warp, j % 2).waitTogether(phases >> j % 2 & 1);
      phases ^= 1u << j % 2;
      Boxes::read(box(j), v[0]);
      boxes.compute(j, v);
      waveBarrier();
      store<Boxes>(rows, col, j, v[0]);
      if (laneId() == 0 && j + 2 < kCount) {
        waitStoresRead<0>();
        ask(rows, col, j + 2);
      }
    }
  }
  template <class Boxes, class Rows>
  HK_MEM void store(const Rows &rows, int col, int j,
                    const typename Boxes::Part &v) const {
    Boxes::write(box(j), v);
    publishToCopies();
    waveBarrier();
    if (laneId() == 0)
      storeBox(maps[2], box(j), placeOf(rows, col, j));
  }

  /// The warp's part of the tile before is in memory.
  HK_MEM void endTile() const {
    if (!hasTile || laneId() != 0)
      return;
    waitStores();
    lds.stored().add(1);
  }
  HK_MEM u32 box(int j) const { return lds.slab(warp) + j % 2 * kBytes; }
  template <class Rows>
  HK_MEM static BoxPlace placeOf(const Rows &rows, int col, int j) {
    return {col + Places::first(j), rows.row(0), rows.matrix(0)};
  }
  template <class Rows>
  HK_MEM void ask(const Rows &rows, int col, int j) const {
    LdsBarrier done = lds.read(warp, j % 2);
    done.expect(kBytes);
    loadBox(box(j), maps[3], done, placeOf(rows, col, j));
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_BOX_EPILOGUE_H
