//===- unnamed_rows.h - Rows that no block of places names -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With blocks of places an order names the rows of the result that have a
// product; all others are zeros. Each block of the launch has a share of the
// rows. Its multiplying warps walk through the order once for kSearch of them
// and mark in LDS what it names; each lane then keeps what is missing of a tile
// of rows, as far as its warp stores it, and the warps store for themselves.
// That runs under the first copies of the first tile.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_UNNAMED_ROWS_H
#define HK_KERNELS_GEMM_SM90_UNNAMED_ROWS_H

#include "kernels/gemm/sm90/rows.h"

namespace hk {

/// Groups: by blocks. The multiplying warps of a block make all calls, each
/// warp as a whole.
template <class Config, class Groups> class UnnamedRows {
public:
  /// `flags`: the slabs of the epilogue, which rest meanwhile.
  HK_MEM UnnamedRows(const GemmArgs &args, const GroupArgs &groups, u32 block,
                     u8 *flags)
      : args(args), groups(groups), flags(flags) {
    i64 rows = args.m * Groups::kTopK;
    i64 share = (rows + blockCountX() - 1) / blockCountX();
    share = (share + Config::T.bm - 1) / Config::T.bm * Config::T.bm;
    i64 first = block * share;
    next = int(first < rows ? first : rows);
    end = int(first + share < rows ? first + share : rows);
  }

  /// The warp's next columns of rows that are zeros.
  HK_MEM bool take(WarpPlace &at) {
    while (column >= int(args.n)) {
      u32 tiles = u32(ballot(missing != 0));
      if (tiles == 0) {
        if (next >= end)
          return false;
        search();
        continue;
      }
      tile = __builtin_ctz(tiles);
      now = u32(fromLane(int(missing), tile));
      if (laneId() == tile)
        missing = 0;
      column = 0;
    }
    at = {-1, first + tile * Config::T.bm, end, column, 0, 0};
    column += Config::P::kCols;
    return true;
  }

  /// The warp's sixteen of them.
  HK_MEM ScatteredRows<Groups::kTopK> rowsOf(const WarpPlace &at,
                                             int inTile) const {
    int lane = laneId() % 16;
    return {-1, now >> lane & 1 ? at.row + inTile + lane : -1};
  }

private:
  static constexpr int kThreads = Config::kGroups * kWarpgroup;
  /// Rows of a search: a tile for each lane.
  static constexpr int kSearch = kWave * Config::T.bm;
  static_assert(kSearch <= Config::kGroups * 4 * kBulkSlabBytes);

  HK_MEM static void meet() { barrierOfSome<1, kThreads>(); }

  HK_MEM void search() {
    first = next;
    int left = end - first;
    int rows = left < kSearch ? left : kSearch;
    next = first + rows;
    // Others may still store from their slabs.
    meet();
    for (int i = threadId() * 16; i < kSearch; i += kThreads * 16)
      clearLds16(ldsAddress(flags) + i);
    meet();
    markAll();
    meet();
    const u8 *own = flags + laneId() * Config::T.bm + waveId() * 16;
    missing = 0;
    HK_UNROLL for (int r = 0; r < 16; ++r) {
      bool inside = laneId() * Config::T.bm + waveId() * 16 + r < rows;
      missing |= u32(inside && own[r] == 0) << r;
    }
    meet();
  }

  HK_MEM void mark(i32 entry) const {
    u32 row = u32(entry) - u32(first);
    if (row < u32(kSearch))
      flags[row] = 1;
  }
  HK_MEM void markAll() const {
    constexpr int kAtOnce = 8;
    auto order = global<const i32>(groups.order);
    i64 fours = groups.order % 16 == 0 ? groups.places / 4 : 0;
    for (i64 i = threadId(); i < fours; i += kThreads * kAtOnce) {
      Vec<i32, 4> entries[kAtOnce];
      HK_UNROLL for (int u = 0; u < kAtOnce; ++u) {
        i64 at = i + u * kThreads;
        entries[u] =
            *((Global<const Vec<i32, 4>>)(order) + (at < fours ? at : i));
      }
      HK_UNROLL for (int u = 0; u < kAtOnce; ++u)
          HK_UNROLL for (int e = 0; e < 4; ++e) mark(entries[u][e]);
    }
    for (i64 i = fours * 4 + threadId(); i < groups.places; i += kThreads)
      mark(order[i]);
  }

  const GemmArgs &args;
  const GroupArgs &groups;
  u8 *flags;
  /// Rows of the block that are not searched yet; the first of the last search.
  int next, end, first = 0;
  /// Of tile laneId() of the search the warp's rows that nothing names.
  u32 missing = 0;
  /// The tile that the warp stores, its rows, and the next column.
  int tile = 0;
  u32 now = 0;
  int column = 0x7FFFFFFF;
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_UNNAMED_ROWS_H
