//===- group_box.h - Results of swapped tiles of groups -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a swapped tile of groups an accumulator's columns are rows of the group.
// So results pass through LDS by some rows of the group, those of a box or
// fewer, from where vectors of columns go to the emitted functor. A slab is
// [row][Pitch].
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_GROUP_BOX_H
#define HK_KERNELS_GEMM_SM90_GROUP_BOX_H

#include "kernels/gemm/sm90/group_tiles.h"

namespace hk {

/// Puts a lane's results of the box-th Rows rows into the slab from its warp's
/// first column on. Eight rows of the instruction further on is `Below` further
/// in the slab.
template <int Pitch, int Below, int Rows = kGroupBoxRows, class Acc, int N>
HK_DEV void writeGroupBox(Acc *slab, const float (&d)[N], int box) {
  int row = laneId() % 4 * 2, column = laneId() / 4;
  HK_UNROLL for (int i = 0; i < Rows / 2; ++i) {
    int r = i / 4 * 8 + row + i % 2;
    slab[r * Pitch + column + i / 2 % 2 * Below] = d[box * (Rows / 2) + i];
  }
}

/// The matrix that a place met; an empty one has none.
template <class Groups>
HK_DEV int matrixOf(const GemmArgs &args, const GroupArgs &groups,
                    const WarpPlace &at, int place) {
  if constexpr (Groups::kGathered)
    return groups.rowOfPlace<Groups>(place, args.m) >= 0 ? at.matrix : -1;
  else
    return at.matrix;
}

/// The slab's Columns columns, which are those of the tile from `firstColumn`
/// on, to the functor, by Threads threads. Other lies the other half of a pair.
template <class Problem, class Groups, int Pitch, int Columns, int Threads,
          int Other, int Rows = kGroupBoxRows, class Acc, class Epilogue>
HK_DEV void storeGroupBox(const GemmArgs &args, const GroupArgs &groups,
                          const WarpPlace &at, int box, int firstColumn,
                          int thread, const Acc *slab,
                          const Epilogue &epilogue) {
  constexpr int V = Epilogue::kVec, perRow = Columns / V;
  static_assert(Epilogue::kGroup <= Columns && Columns % V == 0);
  int first = at.row + box * Rows;
  _Pragma("unroll 1") for (int x = thread; x < Rows * perRow; x += Threads) {
    int r = x / perRow, c = x % perRow * V;
    bool exists = first + r < at.end;
    int place = exists ? first + r : at.end - 1;
    GemmOutput<Acc, V> out;
    const Acc *own = slab + r * Pitch + c;
    out.acc = readSlab<V>(own);
    out.pair = Problem::kPair ? readSlab<V>(own + Other) : Vec<Acc, V>(0);
    out.stat = 0;
    int col = at.col + firstColumn + c;
    runEpilogue<V>(epilogue, matrixOf<Groups>(args, groups, at, place), place,
                   col, args.n, exists && col < args.n, out);
  }
}

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_GROUP_BOX_H
