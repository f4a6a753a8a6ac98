//===- rows.h - Where the rows of a warp go -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sixteen rows of a tile that a warp multiplies, for its epilogue: which of
// them there are, which rows of the result they are, and with which matrix they
// were multiplied, -1 for none. rowOfA() is the row of A whose scales a row
// has, any one of a row that there is not; whole warps call it.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_ROWS_H
#define HK_KERNELS_GEMM_SM90_ROWS_H

#include "kernels/gemm/groups.h"
#include "kernels/gemm/sm90/config.h"

namespace hk {

/// All of one matrix.
struct MatrixRows {
  int of, first, end;

  /// `inTile`: the first one's row of the tile.
  HK_MEM MatrixRows(const WarpPlace &at, int inTile)
      : of(at.matrix), first(at.row + inTile), end(at.end) {}
  HK_MEM bool any() const { return true; }
  HK_MEM bool exists(int r) const { return first + r < end; }
  /// r, or that of the last row there is.
  HK_MEM int nearest(int r) const { return exists(r) ? r : end - 1 - first; }
  HK_MEM int row(int r) const { return first + r; }
  HK_MEM int rowOfA(int r) const { return row(nearest(r)); }
  HK_MEM int matrix(int) const { return of; }
  /// Makes the compiler know no more that these are the numbers they are.
  HK_MEM void forget() {
    of = int(opaqueWord(u32(of)));
    first = int(opaqueWord(u32(first)));
  }
};

/// Places of a group; a tile may have fewer than a warp's.
struct PlaceRows : MatrixRows {
  using MatrixRows::MatrixRows;
  HK_MEM bool any() const { return first < end; }
};

/// The same whose rows of A an order names; an empty place has no matrix.
struct GatheredRows : PlaceRows {
  /// The row of this lane's place, laneId() % 16, -1 for none.
  int source;

  HK_MEM GatheredRows(const WarpPlace &at, int inTile, int source)
      : PlaceRows(at, inTile), source(source) {}
  HK_MEM int rowOfA(int r) const {
    int row = fromLane(source, r);
    return row < 0 ? 0 : row;
  }
  HK_MEM int matrix(int r) const {
    return ballot(source >= 0) >> r & 1 ? of : -1;
  }
};

/// Rows that lie anywhere in the result, of one matrix or of none (-1); TopK of
/// them are of one row of A. Whole warps call.
template <i64 TopK> struct ScatteredRows {
  int of;
  /// Row laneId() % 16 of the result, -1 for none.
  int own;

  HK_MEM bool any() const { return ballot(own >= 0) != 0; }
  HK_MEM bool exists(int r) const { return ballot(own >= 0) >> r & 1; }
  /// r, or that of the first row there is.
  HK_MEM int nearest(int r) const {
    u32 there = u32(ballot(own >= 0));
    return there >> r & 1 ? r : __builtin_ctz(there);
  }
  HK_MEM int row(int r) const { return fromLane(own, r); }
  HK_MEM int rowOfA(int r) const {
    int to = row(r);
    return to < 0 ? 0 : to / int(TopK);
  }
  HK_MEM int matrix(int) const { return of; }
  HK_MEM void forget() {
    of = int(opaqueWord(u32(of)));
    own = int(opaqueWord(u32(own)));
  }
};

/// The part of an epilogue that asks the copy engine for nothing.
struct StoresItself {
  template <class Layout>
  HK_MEM StoresItself(const Layout &, const TensorMap *, int) {}
  template <class Rows> HK_MEM void begin(const Rows &, int) const {}
  HK_MEM void finish() const {}
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_ROWS_H
