//===- grouped.h - Matrix product of groups of rows -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The product of gemm.h with another schedule: a tile is rows of one group, the
// matrix of B is that of the group, and a table in LDS names the rows of A
// where an order does. What has no product, stores zeros: the epilogue is
// called with matrix -1 and must take its product for 0.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_GROUPED_H
#define HK_KERNELS_GEMM_GROUPED_H

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/groups.h"

namespace hk {

/// The rows of a tile: what they are in A, and where they go.
template <class Groups> struct GroupRows {
  static constexpr bool kBlocks = Groups::kForm == GroupForm::Blocks;

  const GroupArgs &groups;
  GroupTile tile;
  /// Of each place its row of A, -1 for none; of an unnamed row 0.
  const i32 *table;

  HK_MEM bool exists(int r) const {
    if constexpr (kBlocks)
      return tile.first + r < tile.end && table[r] >= 0;
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
      return tile.group >= 0 && table[r] < 0 ? -1 : tile.group;
    else
      return tile.group;
  }
  /// Whether there is a row at all. Block-uniform.
  HK_MEM bool any() const {
    bool any = false;
    for (int r = 0; tile.first + r < tile.end; ++r)
      any |= table[r] >= 0;
    return any;
  }
};

/// Rows in groups. Grid: ceil(n / kCols), GroupSchedule::tiles.
template <class Problem, class Groups> struct GroupedGemm : Gemm<Problem> {
  using Base = Gemm<Problem>;
  using P = Problem;
  using B = typename P::B;
  using Schedule = GroupSchedule<Groups>;
  using Rows = GroupRows<Groups>;
  static constexpr GemmTile T = P::kTile;
  static_assert(P::A::kGathered == Groups::kGathered && T.splitK == 1);

  struct Shared {
    typename Base::Shared product;
    alignas(16) i32 rows[groupedLds(T) / 4];
  };
  static_assert(sizeof(Shared) == Base::kLds + groupedLds(T));

  template <class Epilogue>
  HK_MEM static void run(GemmArgs args, const GroupArgs &groups, BlockId block,
                         Shared &shared, const Epilogue &epilogue) {
    i64 results = args.m * Groups::kTopK, columns = columnTiles(args);
    TileId at = tileId(block, Schedule::tiles(groups, results, T.bm), columns);
    GroupTile tile = Schedule::at(groups, results, T.bm, at.m);
    // Few rows are unnamed, and who finds them out stores all of their columns.
    if (tile.first >= tile.end || (tile.unnamed && at.n != 0))
      return;
    Rows rows = {groups, tile, shared.rows};
    if constexpr (Groups::kGathered) {
      fillTable(groups, tile, results, shared.rows);
      if (Rows::kBlocks && !rows.any())
        return;
    }
    bool multiplies = tile.group >= 0;
    if constexpr (Groups::kGathered && !Rows::kBlocks)
      multiplies = multiplies && rows.any();
    if (multiplies)
      chooseMatrix(args, groups, tile.group);
    i64 end = tile.unnamed ? columns : at.n + 1;
    for (i64 n = at.n; n < end; ++n)
      computeTile(args, rows, n * P::kCols, multiplies, shared.product,
                  epilogue);
  }

private:
  struct TileId {
    i64 m, n;
  };
  HK_MEM static i64 columnTiles(const GemmArgs &args) {
    return (args.n + P::kCols - 1) / P::kCols;
  }

  HK_MEM static void chooseMatrix(GemmArgs &args, const GroupArgs &groups,
                                  i64 group) {
    args.b.data += u64(group * groups.stride * info(B::kMem).bits / 8);
    if constexpr (B::Decode::kHasScales)
      args.b.decode.data +=
          u64(group * groups.strideDecode * info(B::Decode::kScale).bits / 8);
    if constexpr (B::Decode::kHasZeros)
      args.b.zeros.data +=
          u64(group * groups.strideZeros * info(B::Decode::kZero).bits / 8);
    args.b.fold.data += u64(group * groups.strideFold * 4);
  }

  /// The row of A of each place; of rows of the result, which the order does
  /// not name.
  HK_MEM static void fillTable(const GroupArgs &groups, const GroupTile &tile,
                               i64 results, i32 *table) {
    int count = int(tile.end - tile.first);
    for (int r = threadId(); r < count; r += Base::kThreads) {
      i64 entry = tile.unnamed ? 0 : groups.orderAt(tile.first + r);
      bool inside = entry >= 0 && entry < results;
      table[r] = inside ? i32(entry / Groups::kTopK) : -1;
    }
    // A row of the tile that has no place is read as zeros, too.
    for (int r = count + threadId(); r < T.bm; r += Base::kThreads)
      table[r] = -1;
    barrier();
    if (!tile.unnamed)
      return;
    for (i64 p = threadId(); p < groups.places; p += Base::kThreads) {
      i64 row = groups.orderAt(p) - tile.first;
      if (row >= 0 && row < count)
        table[row] = -1;
    }
    barrier();
  }

#if HK_GPU
  HK_MEM static TileId tileId(BlockId block, i64 rows, i64 columns) {
    TileIndex tile = tileOf(block, rows, columns);
    return {tile.m, tile.n};
  }

  template <class Epilogue>
  HK_MEM static void computeTile(const GemmArgs &args, const Rows &rows, i64 n0,
                                 bool multiplies, typename Base::Shared &shared,
                                 const Epilogue &epilogue) {
    typename Base::Total acc;
    if (multiplies)
      Base::accumulate(
          args, Base::sourceOf(args, sourceA(args, rows), n0, {0, args.k}), n0,
          shared.bytes, acc);
    else
      acc.clear();
    Base::finish(args, rows, n0, shared.bytes, acc, epilogue);
    barrier();
  }
  HK_MEM static TileSource<typename P::A> sourceA(const GemmArgs &args,
                                                  const Rows &rows) {
    if constexpr (Groups::kGathered)
      return {args.a, rows.table, args.m};
    else
      return {args.a, rows.tile.first, rows.tile.end - rows.tile.first, args.m};
  }
#else
  HK_MEM static TileId tileId(BlockId block, i64, i64) {
    return {i64(block.y), i64(block.x)};
  }

  template <class Epilogue>
  HK_MEM static void computeTile(const GemmArgs &args, const Rows &rows, i64 n0,
                                 bool multiplies, typename Base::Shared &shared,
                                 const Epilogue &epilogue) {
    i64 count = rows.tile.end - rows.tile.first;
    typename Base::Place at = {Groups::kGathered ? 0 : rows.tile.first, n0,
                               count, Base::columnsFrom(args, n0)};
    auto acc = Base::accumulators(shared);
    if (multiplies)
      Base::compute(args,
                    typename Base::SourceA(args.a, args.m, args.k, rows.table),
                    {0, args.k}, at, acc);
    else
      Base::clear(acc, count);
    Base::finish(args, rows, at, acc, epilogue);
  }
#endif
};

/// k in groups, each a matrix of the result. Grid: that of gemm.h with the
/// groups as z.
template <class Problem, class Groups> struct GroupedDepth : Gemm<Problem> {
  using Base = Gemm<Problem>;
  using P = Problem;
  static constexpr GemmTile T = P::kTile;
  using Shared = typename Base::Shared;
  static_assert(T.splitK == 1 && P::kScale == KScale::None);

  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, const GroupArgs &groups,
                         BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    i64 begin = groups.template bound<Groups::kForm>(block.z);
    i64 end = groups.template bound<Groups::kForm>(i64(block.z) + 1);
    KRange range = {begin < end ? begin : end, end};
#if HK_GPU
    TileIndex tile = tileOf(block, (args.m + T.bm - 1) / T.bm,
                            (args.n + P::kCols - 1) / P::kCols);
    TileRows rows = {block.z, tile.m * T.bm, args.m};
    i64 n0 = tile.n * P::kCols;
    typename Base::Total acc;
    Base::accumulate(
        args,
        Base::sourceOf(args, {args.a, rows.first, args.m - rows.first, args.m},
                       n0, range),
        n0, shared.bytes, acc);
    Base::finish(args, rows, n0, shared.bytes, acc, epilogue);
#else
    TileRows rows = {block.z, i64(block.y) * T.bm, args.m};
    i64 left = args.m - rows.first, n0 = i64(block.x) * P::kCols;
    typename Base::Place at = {rows.first, n0, left < T.bm ? left : i64(T.bm),
                               Base::columnsFrom(args, n0)};
    auto acc = Base::accumulators(shared);
    Base::compute(args, typename Base::SourceA(args.a, args.m, range.end),
                  range, at, acc);
    Base::finish(args, rows, at, acc, epilogue);
#endif
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_GROUPED_H
