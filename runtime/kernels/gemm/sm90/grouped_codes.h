//===- grouped_codes.h - Few rows of groups times 4-bit codes -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// skinny_codes.h where the matrix is that of a group: a few tokens and their
// experts. The work is numbered column tile by column tile of one tile of rows
// after the other, and every block takes a run of it, so that all blocks read
// as much and a block seldom takes up rows of another group.
//
//   GroupedSkinnyCodes<Problem, Groups>::run(args, groups, block, shared,
//                                            epilogue)
//   Groups: by bounds or lengths. Grid: any number of blocks in x.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_GROUPED_CODES_H
#define HK_KERNELS_GEMM_SM90_GROUPED_CODES_H

#include "kernels/gemm/group_walk.h"
#include "kernels/gemm/sm90/skinny_codes.h"

namespace hk {

template <class Problem, class Groups>
struct GroupedSkinnyCodes : SkinnyCodes<Problem, /*Cluster=*/1> {
  using Base = SkinnyCodes<Problem, 1>;
  using P = Problem;
  using typename Base::Shared;
  static constexpr GemmTile T = Base::T;
  static_assert(Groups::kForm != GroupForm::Blocks &&
                P::A::kGathered == Groups::kGathered);

  /// The rows of a tile: places of one group.
  struct Rows {
    const GroupArgs &groups;
    GroupPlaces at;
    i64 rowsOfA;

    HK_MEM int count() const { return at.end - at.first; }
    /// The row of A of place r; -1: none.
    HK_MEM i64 source(int r) const {
      if (r >= count())
        return -1;
      if constexpr (Groups::kGathered)
        return groups.rowOfPlace<Groups>(at.first + r, rowsOfA);
      else
        return at.first + r;
    }
    HK_MEM i64 row(int r) const { return at.first + r; }
    HK_MEM i64 matrix(int r) const {
      return at.group < groups.count && source(r) >= 0 ? at.group : -1;
    }
  };
  /// Tiles of columns.
  struct Columns {
    u32 first, end;
  };

  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, const GroupArgs &groups,
                         BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    waitForLast();
    GroupWalk<Groups, T.bm> walk(groups);
    u32 columns = u32((args.n + Base::kColumns - 1) / Base::kColumns);
    u64 work = u64(walk.count()) * columns;
    u64 next = work * block.x / blockCountX();
    u64 end = work * (block.x + 1) / blockCountX();
    u32 turn = 0;
    while (next < end) {
      u32 tile = u32(next / columns), first = u32(next % columns);
      u64 left = end - next;
      Columns own = {first,
                     left < columns - first ? u32(first + left) : columns};
      next += own.end - own.first;
      if (next >= end)
        letNextBegin();
      Rows rows = {groups, walk.at(tile), args.m};
      if (rows.at.group < groups.count && args.m > 0)
        turn = multiplyTiles(args, rows, own, turn, shared, epilogue);
      else
        storeZeros(args, rows, own, epilogue);
    }
  }

private:
  /// `turn`: of the tiles of the block; returns that of the next.
  template <class Epilogue>
  HK_MEM static u32 multiplyTiles(GemmArgs args, const Rows &rows, Columns own,
                                  u32 turn, Shared &shared,
                                  const Epilogue &epilogue) {
    chooseMatrix<typename P::B>(args, rows.groups, rows.at.group);
    auto units = Base::Units::ofBlock(args.k, 0), part = units.ofWave();
    typename Base::Source source(args, part);
    typename Base::Scales scales(args, i64(units.begin) * Base::kUnit,
                                 shared.bytes + Base::kPartsBytes);
    typename Base::Codes ring[Base::kAhead];
    HK_UNROLL for (int s = 0; s < Base::kAhead;
                   ++s) if (source.holds(own.first, own.end, s))
        source.load(ring[s], own.first, s);
    scales.ask(own.first);
    typename Base::Columns kept;
    kept.load(args, [&](int r) { return rows.source(r); }, part);
    scales.keep(own.first, turn);
    barrier();
    for (u32 tile = own.first; tile < own.end; ++tile, ++turn) {
      if (tile + 1 < own.end)
        scales.ask(tile + 1);
      float *parts = reinterpret_cast<float *>(shared.bytes) +
                     turn % 2 * (Base::kWaves * Base::kPartFloats);
      Base::sumTile(source, scales, kept, part, {tile, tile + 1, own.end}, turn,
                    ring, parts);
      barrier();
      finish(args, rows, tile, turn, parts, epilogue);
    }
    return turn;
  }

  template <class Epilogue>
  HK_MEM static void finish(const GemmArgs &args, const Rows &rows, u32 tile,
                            u32 turn, const float *parts,
                            const Epilogue &epilogue) {
    constexpr int V = Epilogue::kVec, perRow = Base::kColumns / V;
    constexpr int kBusy = (T.bm * perRow + kWave - 1) / kWave * kWave;
    static_assert(Epilogue::kGroup == 0 && Base::kColumns % V == 0);
    int thread = (threadId() + turn * kBusy) % Base::kThreads;
    for (int x = thread; x < rows.count() * perRow; x += Base::kThreads) {
      int m = x / perRow, c = x % perRow * V;
      i64 col = i64(tile) * Base::kColumns + c;
      GemmOutput<float, V> out;
      out.acc = Base::template total<V>(parts, m, c);
      out.pair = P::kPair
                     ? Base::template total<V>(parts, m, Base::kColumns + c)
                     : Vec<float, V>(0);
      out.stat = 0;
      runEpilogue<V>(epilogue, rows.matrix(m), rows.row(m), col, args.n,
                     col < args.n, out);
    }
  }

  /// Rows behind the last group.
  template <class Epilogue>
  HK_MEM static void storeZeros(const GemmArgs &args, const Rows &rows,
                                Columns own, const Epilogue &epilogue) {
    constexpr int V = Epilogue::kVec;
    int perRow = int(own.end - own.first) * (Base::kColumns / V);
    const GemmOutput<float, V> zero = {};
    for (int x = threadId(); x < rows.count() * perRow; x += Base::kThreads) {
      i64 col = i64(own.first) * Base::kColumns + x % perRow * V;
      runEpilogue<V>(epilogue, -1, rows.row(x / perRow), col, args.n,
                     col < args.n, zero);
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_GROUPED_CODES_H
