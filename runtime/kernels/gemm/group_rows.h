//===- group_rows.h - The rows of a tile of a group -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the rows of a tile are in A and where they go. Where an order names
// them, a table in LDS holds their rows of A for as long as the tile is
// computed (TableRows); or every thread reads the order for the rows that it
// copies and stores, so that all of LDS is the product's (OrderedRows). Rows of
// the result that no place names are found by a search through the order, which
// needs LDS for a moment only.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_GROUP_ROWS_H
#define HK_KERNELS_GEMM_GROUP_ROWS_H

#include "kernels/gemm/groups.h"

namespace hk {

/// Strikes the rows of an unnamed tile that the order names off `table`, where
/// they are set to -1. Ends with a barrier.
template <int Threads>
HK_DEV void strikeNamedRows(const GroupArgs &groups, const GroupTile &tile,
                            i32 *table) {
  // So many entries are asked for at once; none are behind the last one.
  constexpr int ahead = keepsRowsInRegisters(kTarget) ? 8 : 1;
  i64 count = tile.end - tile.first, last = groups.places - 1;
  for (i64 p = threadId(); p <= last; p += ahead * Threads) {
    i64 row[ahead];
    HK_UNROLL for (int i = 0; i < ahead; ++i) {
      i64 at = p + i * Threads, entry = groups.orderAt(at < last ? at : last);
      row[i] = at <= last ? entry - tile.first : -1;
    }
    HK_UNROLL for (int i = 0; i < ahead; ++i) if (row[i] >= 0 && row[i] < count)
        table[row[i]] = -1;
  }
  barrier();
}

/// What both kinds of rows share. Rows::isNamed(r): whether row r of the tile
/// has a row of A or, in an unnamed tile, no place that names it; no row behind
/// the tile's end has.
template <class Groups, class Rows> struct RowsOfGroup {
  static constexpr bool kBlocks = Groups::kForm == GroupForm::Blocks;

  const GroupArgs &groups;
  GroupTile tile;

  HK_MEM RowsOfGroup(const GroupArgs &groups, const GroupTile &tile)
      : groups(groups), tile(tile) {}

  HK_MEM bool exists(int r) const {
    if constexpr (kBlocks)
      return self().isNamed(r);
    else
      return tile.first + r < tile.end;
  }
  HK_MEM i64 row(int r) const {
    i64 place = tile.first + r;
    if constexpr (kBlocks)
      return tile.unnamed || !exists(r) ? place : groups.orderAt(place);
    else
      return place;
  }
  HK_MEM i64 matrix(int r) const {
    if constexpr (Groups::kGathered)
      return tile.group >= 0 && !self().isNamed(r) ? -1 : tile.group;
    else
      return tile.group;
  }

private:
  HK_MEM const Rows &self() const { return static_cast<const Rows &>(*this); }
};

template <class Groups, int BM, int Threads>
struct TableRows : RowsOfGroup<Groups, TableRows<Groups, BM, Threads>> {
  using Base = RowsOfGroup<Groups, TableRows>;
  using Base::groups, Base::tile;

  struct Table {
    alignas(16) i32 rows[(BM + 15) / 16 * 16];
  };

  /// Of each place its row of A, -1 for none; of an unnamed row 0.
  const i32 *table;

  /// `results`: rows of the result.
  HK_MEM TableRows(const GroupArgs &groups, const GroupTile &tile, i64 results,
                   u8 *, Table &lds)
      : Base(groups, tile), table(lds.rows) {
    if constexpr (Groups::kGathered)
      fill(results, lds.rows);
  }

  HK_MEM bool isNamed(int r) const { return table[r] >= 0; }
  /// Whether there is a row at all. Block-uniform.
  HK_MEM bool any() const {
    bool any = false;
    for (int r = 0; tile.first + r < tile.end; ++r)
      any |= table[r] >= 0;
    return any;
  }

private:
  HK_MEM void fill(i64 results, i32 *rows) const {
    int count = int(tile.end - tile.first);
    for (int r = threadId(); r < count; r += Threads) {
      i64 entry = tile.unnamed ? 0 : groups.orderAt(tile.first + r);
      bool inside = entry >= 0 && entry < results;
      rows[r] = inside ? i32(entry / Groups::kTopK) : -1;
    }
    // A row of the tile that has no place is read as zeros, too.
    for (int r = count + threadId(); r < BM; r += Threads)
      rows[r] = -1;
    barrier();
    if (tile.unnamed)
      strikeNamedRows<Threads>(groups, tile, rows);
  }
};

template <class Groups, int BM, int Threads>
struct OrderedRows : RowsOfGroup<Groups, OrderedRows<Groups, BM, Threads>> {
  using Base = RowsOfGroup<Groups, OrderedRows>;
  using Base::groups, Base::tile;

  struct Table {};

  i64 results;
  /// A bit for each row of a tile of places that has a row of A, and of an
  /// unnamed tile that no place names. The same in all lanes.
  u64 live[(BM + kWave - 1) / kWave];

  /// `lds`: bytes that nobody else uses until the constructor's end.
  HK_MEM OrderedRows(const GroupArgs &groups, const GroupTile &tile,
                     i64 results, u8 *lds, Table)
      : Base(groups, tile), results(results) {
    if constexpr (!Groups::kGathered)
      return;
    auto *table = reinterpret_cast<i32 *>(lds);
    if (tile.unnamed) {
      for (int r = threadId(); r < BM; r += Threads)
        table[r] = tile.first + r < tile.end ? 0 : -1;
      barrier();
      strikeNamedRows<Threads>(groups, tile, table);
    }
    HK_UNROLL for (int w = 0; w * kWave < BM; ++w) {
      int r = w * kWave + laneId();
      live[w] = ballot(r < BM && (tile.unnamed ? table[r] : rowOfA(r)) >= 0);
    }
    if (tile.unnamed)
      barrier();
  }

  /// The row of A of row `r` of a tile of places, -1 for none.
  HK_MEM int rowOfA(int r) const {
    i64 place = tile.first + r;
    i64 entry = place < tile.end ? groups.orderAt(place) : -1;
    return entry >= 0 && entry < results ? int(entry / Groups::kTopK) : -1;
  }

  /// Whether there is a row at all. Block-uniform.
  HK_MEM bool any() const {
    u64 any = 0;
    HK_UNROLL for (u64 word : live) any |= word;
    return any != 0;
  }

  HK_MEM bool isNamed(int r) const {
    // Who asks reads the place's row of the result as well.
    if (Base::kBlocks && !tile.unnamed)
      return rowOfA(r) >= 0;
    // A choice of words would be an address, and they would be in memory.
    u64 named = 0;
    HK_UNROLL for (int w = 0; w * kWave < BM; ++w) named |=
        r / kWave == w ? live[w] >> (r % kWave) & 1 : 0;
    return named;
  }
};

template <class Groups, int BM, int Threads>
using GroupRows = typename Choice<keepsRowsInRegisters(kTarget),
                                  OrderedRows<Groups, BM, Threads>,
                                  TableRows<Groups, BM, Threads>>::Type;

} // namespace hk

#endif // HK_KERNELS_GEMM_GROUP_ROWS_H
