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
// as much and a block seldom takes up rows of another group. Codes come from
// memory straight to the registers of the lane that decodes them.
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

  /// The rows of A in registers, in the order of the codes.
  struct Kept : Base::Columns {
    HK_MEM void load(const GemmArgs &args, const Rows &rows,
                     const typename Base::Units &units) {
      auto base = global<const u8>(args.a.data);
      HK_UNROLL for (int w = 0; w < Base::kWide; ++w) {
        i64 row = rows.source(w * 8 + laneId() / 4);
        HK_UNROLL for (int u = 0; u < Base::kUnits; ++u)
            HK_UNROLL for (int i = 0; i < 4; ++i) {
          i64 k =
              i64(units.begin + u) * Base::kUnit + laneId() % 4 * 32 + i * 8;
          u32x4 v = u32x4(0);
          if (units.holds(u) && row >= 0 && k < args.k)
            v = *(Global<const u32x4>)(base + (row * args.a.stride + k) * 2);
          this->x[u][i][w] = {
              __nvvm_prmt(v[0], v[2], 0x5410), __nvvm_prmt(v[0], v[2], 0x7632),
              __nvvm_prmt(v[1], v[3], 0x5410), __nvvm_prmt(v[1], v[3], 0x7632)};
        }
      }
    }
  };

  /// Steps of a tile, a fragment of rows of B and a unit of k each, and those
  /// whose codes are under way.
  static constexpr int kSteps = Base::kTall * Base::kUnits;
  static constexpr int kAhead = Base::kWide == 1 ? 4 : 2;
  static_assert(kSteps % kAhead == 0);
  using Codes = typename Base::Codes;

  /// Where the lane's codes lie. Rows and k that do not exist read others,
  /// whose sums nobody stores or whose scale is 0.
  struct Source {
    const GemmArgs &args;
    typename Base::Units units;
    int byteOfK[Base::kUnits];

    HK_MEM Source(const GemmArgs &args, const typename Base::Units &units)
        : args(args), units(units) {
      HK_UNROLL for (int u = 0; u < Base::kUnits; ++u) {
        i64 k = i64(units.begin + u) * Base::kUnit + laneId() % 4 * 32;
        byteOfK[u] = int(k < args.k ? k : args.k - 32) / 2;
      }
    }
    /// Asks for a step of a tile, of which there are `tiles`.
    HK_MEM void load(Codes &codes, u32 tile, u32 tiles, int step) const {
      if (tile < tiles && units.holds(step % Base::kUnits))
        HK_UNROLL for (int half = 0; half < 2; ++half) codes.row[half] =
            loadOnce16(at(tile, step, half));
    }

  private:
    HK_MEM Global<const u8> at(u32 tile, int step, int half) const {
      int r = step / Base::kUnits * 16 + half * 8;
      i64 column =
          i64(tile) * Base::kColumns + r % Base::kColumns + laneId() / 4;
      column = column < args.n ? column : args.n - 1;
      i64 row = rowOfB<P>(column, r / Base::kColumns, args.n);
      return global<const u8>(args.b.data) +
             (row * (args.b.stride / 2) + byteOfK[step % Base::kUnits]);
    }
  };

  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, const GroupArgs &groups,
                         BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    waitForLast();
    GroupWalk<Groups, T.bm> walk(groups);
    u32 columns = u32((args.n + Base::kColumns - 1) / Base::kColumns);
    // 2^32 of them would be a result of more bytes than an address has.
    u32 work = walk.count() * columns, turn = 0;
    u32 next = u32(u64(work) * block.x / blockCountX());
    u32 end = u32(u64(work) * (block.x + 1) / blockCountX());
    while (next < end) {
      u32 tile = next / columns, first = next % columns;
      u32 last = first + (end - next);
      Columns own = {first, last < columns ? last : columns};
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
  template <bool Usual>
  HK_MEM static void multiply(const Codes &codes, const Kept &kept,
                              const typename Base::Scales &scales,
                              const typename Base::Units &part, u32 turn,
                              int step, typename Base::Sums &sums) {
    int unit = step % Base::kUnits, row = step / Base::kUnits * 16;
    Base::multiply(codes, kept, unit,
                   scales.template of<Usual>(turn, part.begin + unit, row),
                   scales.template of<Usual>(turn, part.begin + unit, row + 8),
                   sums);
  }

  /// `turn`: of the tiles of the block; returns that of the next.
  template <class Epilogue>
  HK_MEM static u32 multiplyTiles(GemmArgs args, const Rows &rows, Columns own,
                                  u32 turn, Shared &shared,
                                  const Epilogue &epilogue) {
    chooseMatrix<typename P::B>(args, rows.groups, rows.at.group);
    auto units = Base::Units::ofBlock(args.k, 0), part = units.ofWave();
    Source source(args, part);
    typename Base::Scales scales(args, i64(units.begin) * Base::kUnit,
                                 shared.bytes + Base::kPartsBytes);
    Codes ring[kAhead];
    HK_UNROLL for (int s = 0; s < kAhead; ++s)
        source.load(ring[s], own.first, own.end, s);
    scales.ask(own.first);
    Kept kept;
    kept.load(args, rows, part);
    scales.keep(own.first, turn);
    barrier();
    for (u32 tile = own.first; tile < own.end; ++tile, ++turn) {
      u32 next = tile + 1;
      if (next < own.end)
        scales.ask(next);
      bool usual = scales.isUsual(turn);
      float *parts = reinterpret_cast<float *>(shared.bytes) +
                     turn % 2 * (Base::kWaves * Base::kPartFloats);
      HK_UNROLL for (int tall = 0; tall < Base::kTall; ++tall) {
        typename Base::Sums sums;
        HK_UNROLL for (Vec<float, 4> &sum : sums) sum = Vec<float, 4>(0);
        HK_UNROLL for (int unit = 0; unit < Base::kUnits; ++unit) {
          int s = tall * Base::kUnits + unit;
          if (part.holds(unit)) {
            if (usual)
              multiply<true>(ring[s % kAhead], kept, scales, part, turn, s,
                             sums);
            else
              multiply<false>(ring[s % kAhead], kept, scales, part, turn, s,
                              sums);
          }
          source.load(ring[s % kAhead], s + kAhead < kSteps ? tile : next,
                      own.end, (s + kAhead) % kSteps);
        }
        Base::keepPart(parts, tall, sums);
        if (tall == 0 && next < own.end)
          scales.keep(next, turn + 1);
      }
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
