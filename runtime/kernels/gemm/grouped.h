//===- grouped.h - Matrix product of groups of rows -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The product of gemm.h with another schedule: a tile is rows of one group, or
// runs of rows of one group each, one after the other; the matrix of B is that
// of the group, and group_rows.h names the rows of A where an order does. What
// has no product, stores zeros: the epilogue is called with matrix -1 and must
// take its product for 0.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_GROUPED_H
#define HK_KERNELS_GEMM_GROUPED_H

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/group_rows.h"
#include "kernels/gemm/or_zeros.h"

namespace hk {

/// Rows in groups; Product computes a tile. Grid: ceil(n / kCols),
/// GroupSchedule::tiles.
template <class Problem, class Groups, template <class> class Product>
struct GroupedGemm : Product<Problem> {
  using Base = Product<Problem>;
  using P = Problem;
  using B = typename P::B;
  using Schedule = GroupSchedule<Groups>;
  static constexpr GemmTile T = P::kTile;
  using Rows = GroupRows<Groups, T.bm, Base::kThreads>;
  static_assert(P::A::kGathered == Groups::kGathered && T.splitK == 1);

  struct Shared {
    typename Base::Shared product;
    [[no_unique_address]] typename Rows::Table rows;
  };
  static_assert(sizeof(Shared) == Base::kLds + groupedLds(kTarget, T));

  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, const GroupArgs &groups,
                         BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    i64 results = args.m * Groups::kTopK, columns = columnTiles(args);
    i64 places = Schedule::placeTiles(groups, T.bm);
    TileId at = tileId(block, Schedule::tiles(groups, results, T.bm, columns),
                       columns, places);
    if constexpr (Rows::kBlocks && packsUnnamedRows(kTarget)) {
      if (at.m >= places)
        return storeZeros(args, groups,
                          Schedule::unnamedAt(results, T.bm,
                                              (at.m - places) * columns + at.n),
                          shared, epilogue);
      GroupTile tile = Schedule::at(groups, results, T.bm, at.m);
      for (i64 first = tile.first; first < tile.end;) {
        GroupTile run = tile;
        if constexpr (Schedule::hasRuns(T.bm))
          run = Schedule::runAt(groups, tile, first);
        runOne(args, groups, run, at.n, at.n + 1, shared, epilogue);
        first = run.end;
      }
      return;
    }
    GroupTile tile = Schedule::at(groups, results, T.bm, at.m);
    // Few rows are unnamed, and who finds them out stores all of their columns.
    if (tile.first >= tile.end || (tile.unnamed && at.n != 0))
      return;
    runOne(args, groups, tile, at.n, tile.unnamed ? columns : at.n + 1, shared,
           epilogue);
  }

private:
  struct TileId {
    i64 m, n;
  };

  /// Columns [n, end) of a tile of one group.
  template <class Epilogue>
  HK_MEM static void runOne(GemmArgs args, const GroupArgs &groups,
                            const GroupTile &tile, i64 n, i64 end,
                            Shared &shared, const Epilogue &epilogue) {
    Rows rows(groups, tile, args.m * Groups::kTopK, shared.product.bytes,
              shared.rows);
    if (Rows::kBlocks && !rows.any())
      return;
    bool multiplies = tile.group >= 0;
    if constexpr (Groups::kGathered && !Rows::kBlocks)
      multiplies = multiplies && rows.any();
    if (multiplies)
      chooseMatrix<B>(args, groups, tile.group);
    for (; n < end; ++n)
      computeTile(args, rows, n * P::kCols, multiplies, shared.product,
                  epilogue);
  }

  /// All columns of the rows that no place names. As a loop of its own it
  /// keeps nothing alive beside the runs.
  template <class Epilogue>
  HK_MEM static void storeZeros(const GemmArgs &args, const GroupArgs &groups,
                                const GroupTile &tile, Shared &shared,
                                const Epilogue &epilogue) {
    constexpr int V = Epilogue::kVec, perRow = P::kCols / V;
    constexpr int total = T.bm * perRow, threads = Base::kThreads;
    if (tile.first >= tile.end)
      return;
    Rows rows(groups, tile, args.m * Groups::kTopK, shared.product.bytes,
              shared.rows);
    if (!rows.any())
      return;
    const GemmOutput<typename P::Acc, V> zero = {};
    for (i64 n0 = 0; n0 < args.n; n0 += P::kCols)
      for (int x = threadId(); x < (total + threads - 1) / threads * threads;
           x += threads) {
        int r = x / perRow < T.bm ? x / perRow : 0;
        i64 col = n0 + x % perRow * V;
        bool live = x < total && rows.exists(r) && col < args.n;
        runEpilogue<V>(epilogue, -1, rows.row(r), col, args.n, live, zero);
      }
  }

  HK_MEM static i64 columnTiles(const GemmArgs &args) {
    return (args.n + P::kCols - 1) / P::kCols;
  }

#if HK_GPU
  HK_MEM static TileId tileId(BlockId block, i64 rows, i64 columns,
                              i64 ordered) {
    TileIndex tile = tileOf(block, rows, columns, ordered);
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
  HK_MEM static typename Base::SourceA sourceA(const GemmArgs &args,
                                               const Rows &rows) {
    if constexpr (!Groups::kGathered)
      return {args.a, rows.tile.first, rows.tile.end - rows.tile.first, args.m};
    else if constexpr (!keepsRowsInRegisters(kTarget))
      return {args.a, rows.table, args.m};
    else
      return {args.a, args.m,
              [&](int line) { return rows.rowOfA(Base::copiedRow(line)); },
              [&](int slot) { return rows.rowOfA(Base::scaledRow(slot)); }};
  }
#else
  HK_MEM static TileId tileId(BlockId block, i64, i64, i64) {
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
