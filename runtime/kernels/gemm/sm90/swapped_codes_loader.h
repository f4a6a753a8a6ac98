//===- swapped_codes_loader.h - fp4 codes and rows of groups -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the copying warpgroup of swapped_codes.h brings: rows of A, no more of
// them than there are, by the copy engine or, where an order names them, as
// gathered_loader.h does; by copies of 16 bytes a lane codes of B as they lie
// in memory, and the powers of eight stages at once, as what they cost is the
// number of requests. A row's powers begin anywhere, so the 32 bytes around
// them come.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_SWAPPED_CODES_LOADER_H
#define HK_KERNELS_GEMM_SM90_SWAPPED_CODES_LOADER_H

#include "kernels/gemm/sm90/code_pairs.h"
#include "kernels/gemm/sm90/group_tiles.h"

namespace hk {

template <class Problem> struct SwappedCodesConfig {
  using P = Problem;
  using B = typename P::B;
  static constexpr GemmTile T = {P::kTile.bm,
                                 P::kTile.bn,
                                 P::kTile.bk,
                                 P::kTile.wm,
                                 P::kTile.wn,
                                 P::kTile.stages,
                                 P::kTile.splitK,
                                 GemmLoop::WarpSpecialised,
                                 1};
  static constexpr DType D = P::kOperand;
  static constexpr int kCluster = 1, kStages = T.stages;
  static constexpr int kGroups = T.wn;
  static constexpr int kThreads = (kGroups + 1) * kWarpgroup;
  static constexpr int kRow = kBulkRowBytes;
  /// Codes of a row of a stage, which share a power by kChunk.
  static constexpr int kCodesRow = T.bk / 2, kChunk = 32;
  static constexpr int kChunks = T.bk / kChunk;
  static constexpr int kBytesA = T.bm * kRow, kBytesB = T.bn * kCodesRow;
  static constexpr int kStageBytes = kBytesA + kBytesB;
  static constexpr i64 kLds = gemmLds(kTarget, T, D);
  static_assert(isSwappedCodes(T) && T.bn == 64 * kGroups && kChunks == 2 &&
                T.bm % kGroupBoxRows == 0 && T.wm == 1 && D == DType::BF16 &&
                P::A::kMem == D && P::A::kKContiguous && B::kKContiguous &&
                B::kAlign >= 16 && kPowersOfCodes<B::kMem, typename B::Decode>);
  using Ring = StageRing<kStages>;
  using Shared = ClusterShared<1, kLds>;

  /// Stages whose powers come together, 16 of them, and their bytes of a row.
  static constexpr int kSpan = 16 / kChunks, kSpanBytes = kCodesSpanBytes;
  static constexpr u32 kPowersBytes = T.bn * kSpanBytes;

  /// Columns of a warp, whose results meet in its slab: 16 rows of B, of a pair
  /// eight of each half, so that both halves of a result are a lane's own.
  static constexpr int kColumns = P::kPair ? 8 : 16;
  static constexpr int kSlabPitch = kColumns + kSwappedPad;
  static constexpr int kSlabFloats = kGroupBoxRows * kSlabPitch;
  static_assert((P::kPair ? 2 : 1) * kSlabFloats * 4 <= kCodesSlabBytes);

  /// Where 16 bytes of a row's codes lie in a stage: those of eight rows are in
  /// different banks.
  HK_MEM static u32 placeOf(int row, int chunk) {
    return u32(row * kCodesRow + (chunk ^ (row >> 2 & 1)) * 16);
  }
  /// The column of a row of the tile, from that of the tile on, and which half
  /// of a pair it is.
  HK_MEM static int columnOf(int row) {
    return P::kPair ? row / 16 * 8 + row % 8 : row;
  }
  HK_MEM static int halfOf(int row) { return P::kPair ? row / 8 % 2 : 0; }

  /// Addresses in LDS: stages (A, then codes), powers of two spans, a slab
  /// for each warp that multiplies, barriers.
  struct Layout {
    u32 base;

    HK_MEM explicit Layout(const Shared &lds) : base(bulkBase(lds.bytes)) {}
    HK_MEM u32 stageA(u32 stage) const { return base + stage * kStageBytes; }
    HK_MEM u32 codes(u32 stage) const { return stageA(stage) + kBytesA; }
    HK_MEM u32 powers(u32 place) const {
      return base + kStages * kStageBytes + place * kPowersBytes;
    }
    HK_MEM u32 slab(int warp) const {
      return powers(2) + u32(warp * kCodesSlabBytes);
    }
    HK_MEM LdsBarrier full(u32 stage) const { return {bars() + stage * 8}; }
    HK_MEM LdsBarrier empty(u32 stage) const {
      return {bars() + (kStages + stage) * 8};
    }

  private:
    HK_MEM u32 bars() const { return slab(kGroups * 4); }
  };
};

/// Where the rows of B of a tile lie.
template <class Config> struct CodesOfTile {
  using P = typename Config::P;

  const GemmArgs &args;
  u64 codes, powers;
  int col;

  HK_MEM CodesOfTile(const GemmArgs &args, const GroupArgs &groups,
                     const WarpPlace &at)
      : args(args), codes(args.b.data + u64(at.matrix * groups.stride) / 2),
        powers(args.b.decode.data + u64(at.matrix * groups.strideDecode)),
        col(at.col) {}

  /// The row of B of a row of the tile; of those that do not exist the last
  /// one, whose sums nobody stores.
  HK_MEM u32 rowOf(int row) const {
    u32 column = u32(col + Config::columnOf(row)), last = u32(args.n) - 1;
    u32 half = u32(Config::halfOf(row));
    column = column < last ? column : last;
    return P::B::kStep == 2 ? column * 2 + half : column + half * u32(args.n);
  }
  HK_MEM bool powersAreNeighbours() const { return args.b.decode.strideK == 1; }
  HK_MEM u64 powersOf(u32 row, i64 chunk) const {
    return powers + row * u64(args.b.decode.strideRow) +
           u64(chunk * args.b.decode.strideK);
  }
  /// Where in its 32 bytes of a span the powers of a row begin.
  HK_MEM u32 phaseOf(u32 row) const {
    return powersAreNeighbours() ? u32(powersOf(row, 0)) % 16 : 0;
  }
};

/// Rows of A of a stage, which an order names.
template <class Config, class Groups, bool Gathered = Groups::kGathered>
struct RowsOfCodes : RowsByThread<Config, Groups> {
  static constexpr int kArrivals = 0, kMaps = 0;

  HK_MEM RowsOfCodes(const TensorMap *, const GemmArgs &args,
                     const GroupArgs &groups)
      : RowsByThread<Config, Groups>(args, groups) {}
  HK_MEM void fill(const WarpPlace &at, int k, u32 stage, LdsBarrier) const {
    this->copy(k, stage, at.end - at.row);
  }
};
/// Rows that lie as their groups do: one thread asks for boxes of them.
template <class Config, class Groups>
struct RowsOfCodes<Config, Groups, false> {
  static constexpr int kArrivals = 1, kMaps = 1;
  const TensorMap *maps;
  int thread = threadId() % kWarpgroup;

  HK_MEM RowsOfCodes(const TensorMap *maps, const GemmArgs &, const GroupArgs &)
      : maps(maps) {}
  HK_MEM void begin(const WarpPlace &) const {}
  HK_MEM void fill(const WarpPlace &at, int k, u32 stage,
                   LdsBarrier full) const {
    if (thread != 0)
      return;
    int boxes = boxesOf(at, Config::T.bm / kGroupBoxRows);
    full.expect(u32(boxes * kGroupBoxRows * Config::kRow));
    for (int i = 0; i < boxes; ++i)
      loadBox(stage + u32(i * kGroupBoxRows * Config::kRow), maps[0], full,
              BoxPlace{k, at.row + i * kGroupBoxRows, 0});
  }
  HK_MEM void finish() const { waitAllCopies(); }
};

template <class Config, class Groups> struct SwappedCodesLoader {
  using Rows = RowsOfCodes<Config, Groups>;
  /// With fewer its own spill.
  static constexpr int kRegisters = 80;
  static constexpr int kThreads = kWarpgroup, kMaps = Rows::kMaps;
  /// A thread arrives with its copies, and with what it has stored itself.
  static constexpr int kArrivals = 2 * kThreads + Rows::kArrivals;
  static constexpr int kChunks = Config::kChunks, kSpan = Config::kSpan;
  static constexpr int kRowsAtOnce = kThreads / kChunks;
  static constexpr int kItems = Config::T.bn / kRowsAtOnce;

  typename Config::Layout lds;
  const GemmArgs &args;
  const GroupArgs &groups;
  Rows a;
  typename Config::Ring ring;
  /// Stages and spans of powers until now, and the last stage of the span
  /// before the last.
  int stages = 0, spans = 0,
      lastOfSpan[2] = {-Config::kStages, -Config::kStages};

  HK_MEM SwappedCodesLoader(const TensorMap *maps,
                            const typename Config::Layout &lds,
                            const GemmArgs &args, const GroupArgs &groups)
      : lds(lds), args(args), groups(groups), a(maps, args, groups) {}

  /// Asks for all stages of a tile.
  HK_MEM void fill(const WarpPlace &at) {
    if (at.steps == 0)
      return;
    a.begin(at);
    CodesOfTile<Config> b(args, groups, at);
    u32 rows[kItems];
    HK_UNROLL for (int i = 0; i < kItems; ++i) rows[i] = b.rowOf(rowOfItem(i));
    for (int step = 0; step < at.steps; ++step) {
      // The first round finds all stages empty.
      lds.empty(ring.stage).wait(ring.phase ^ 1);
      if (step % kSpan == 0)
        askPowers(b, at, step);
      a.fill(at, at.k0 + step * Config::T.bk, lds.stageA(ring.stage),
             lds.full(ring.stage));
      askCodes(b, rows, at.k0 + i64(step) * Config::T.bk + chunk() * 32);
      arriveAfterCopies(lds.full(ring.stage));
      lds.full(ring.stage).arrive();
      ring.advance();
      ++stages;
    }
  }
  HK_MEM void finish() const { a.finish(); }

private:
  HK_MEM int chunk() const { return a.thread % kChunks; }
  HK_MEM int rowOfItem(int i) const {
    return a.thread / kChunks + i * kRowsAtOnce;
  }
  /// Zeros behind the end of k.
  HK_MEM void askCodes(const CodesOfTile<Config> &b, const u32 (&rows)[kItems],
                       i64 k) const {
    bool inside = k < args.k;
    HK_UNROLL for (int i = 0; i < kItems; ++i) {
      // Opaque, as in RowsByThread::copy().
      u64 code = b.codes + u64(opaqueWord(rows[i])) * u64(args.b.stride / 2) +
                 u64(k / 2);
      copyToLds16(lds.codes(ring.stage) +
                      Config::placeOf(rowOfItem(i), chunk()),
                  global<const u8>(inside ? code : b.codes), inside);
    }
  }
  /// Those of the steps from `step` on, half of each row's a lane.
  HK_MEM void askPowers(const CodesOfTile<Config> &b, const WarpPlace &at,
                        int step) {
    waitForPlace();
    i64 first = (at.k0 + i64(step) * Config::T.bk) / Config::kChunk;
    // Chunks of k from there on.
    int left = int((args.k + Config::kChunk - 1) / Config::kChunk - first);
    u32 place = lds.powers(u32(spans % 2));
    HK_NO_UNROLL for (int i = 0; i < kItems; ++i) {
      u64 power = b.powersOf(b.rowOf(rowOfItem(i)), first);
      u32 to = place + u32(rowOfItem(i) * Config::kSpanBytes);
      if (!b.powersAreNeighbours()) {
        putPowers(power, left, to);
        continue;
      }
      bool exists = chunk() * 16 < int(power & 15) + left;
      u64 piece = (power & ~u64(15)) + u32(chunk() * 16);
      copyToLds16(to + u32(chunk() * 16),
                  global<const u8>(exists ? piece : b.codes), exists);
    }
    int steps = at.steps - step;
    lastOfSpan[0] = lastOfSpan[1];
    lastOfSpan[1] = stages + (steps < kSpan ? steps : kSpan) - 1;
    ++spans;
  }
  /// Waits until nobody reads what the place had, the span before the last: one
  /// of few steps may have ended a moment ago.
  HK_MEM void waitForPlace() const {
    int last = lastOfSpan[0];
    if (stages - last < Config::kStages)
      lds.empty(u32(last % Config::kStages))
          .wait(u32(last / Config::kStages) & 1);
  }
  /// Powers apart, half of them a lane.
  HK_MEM void putPowers(u64 from, int left, u32 to) const {
    HK_NO_UNROLL for (int word = chunk() * 2; word < chunk() * 2 + 2; ++word) {
      u32 four = 0;
      HK_NO_UNROLL for (int i = word * 4; i < word * 4 + 4 && i < left; ++i)
          four |= u32(*global<const u8>(from + u64(i * args.b.decode.strideK)))
                  << i % 4 * 8;
      storeLds4(to + u32(word * 4), four);
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_SWAPPED_CODES_LOADER_H
