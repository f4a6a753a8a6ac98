//===- bulk_loader.h - Operands by the copy engine -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread asks for both operands of a stage: rows of A for its own block, a
// part of the rows of B for every block of the cluster, which all wait for all
// parts. The maps of the kernel are A, B, then those of the epilogue.
//
// A loader has: the threads of its warpgroup that walk over the tiles, what it
// needs of registers, arrivals that fill a stage, and its maps;
// begin(tile), fill(tile, step, stage) by those of them that work(), finish().
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_BULK_LOADER_H
#define HK_KERNELS_GEMM_SM90_BULK_LOADER_H

#include "kernels/gemm/sm90/config.h"

namespace hk {

/// How long the L2 cache shall keep the rows of B of a place.
template <class Config> HK_DEV Keep keepOfB(const WarpPlace &at) {
  if constexpr (requires { Config::keepOfB(at); })
    return Config::keepOfB(at);
  else
    return Keep::Normal;
}

/// A block's part of the rows of B of a stage; one thread asks.
template <class Config> struct BulkRowsOfB {
  using P = typename Config::P;
  /// Rows of B are two ranges when columns come in pairs.
  static constexpr int kParts = P::kPair ? 2 : 1;
  static constexpr int kPartRows = Config::T.bn / kParts;
  /// The blocks of a cluster bring the boxes of a part in turns.
  static constexpr int kBoxRows =
      Config::kColumnsOfB ? kBulkPanelColumns
                          : bulkBoxRows(kPartRows, Config::kSharersOfB);
  static constexpr int kBoxes = kPartRows / kBoxRows;
  static_assert(kBoxRows % 8 == 0 && kPartRows % kBoxRows == 0,
                "boxes begin where the swizzle does");

  const TensorMap &map;
  typename Config::Layout lds;
  u32 rank;
  int n;

  HK_MEM void fill(const WarpPlace &at, int k, int batch, u32 stage) const {
    LdsBarrier full = lds.full(stage);
    HK_UNROLL for (int part = 0; part < kParts; ++part)
        HK_UNROLL for (int turn = 0; turn < kBoxes;
                       turn += Config::kSharersOfB) {
      if (kBoxes % Config::kSharersOfB != 0 && turn + int(rank) >= kBoxes)
        continue;
      int first = (turn + int(rank)) * kBoxRows;
      u32 to = lds.stageB(stage) + u32(part * kPartRows + first) * Config::kRow;
      int row = at.col + part * n + first;
      int matrix = Config::kOne == OneMatrix::OfB ? 0 : batch;
      BoxPlace from = Config::kColumnsOfB ? BoxPlace{row, k, matrix}
                                          : BoxPlace{k, row, matrix};
      if constexpr (Config::kSharersOfB > 1)
        loadBoxes(to, map, full, from, (1 << Config::kSharersOfB) - 1);
      else
        loadBox(to, map, full, from, keepOfB<Config>(at));
    }
  }

  /// The same of a tile of half as many columns (half_tiles.h): its parts lie
  /// one behind the other, too.
  HK_MEM void fillHalf(const WarpPlace &at, int k, int batch, u32 stage) const {
    constexpr int boxes = kBoxes / 2, sharers = Config::kSharersOfB;
    HK_UNROLL for (int i = 0; i < kParts * boxes; ++i) {
      if (sharers > 1 && i % sharers != int(rank))
        continue;
      u32 to = lds.stageB(stage) + u32(i * kBoxRows) * Config::kRow;
      int row = at.col + i / boxes * n + i % boxes * kBoxRows;
      BoxPlace from = {k, row, Config::kOne == OneMatrix::OfB ? 0 : batch};
      if constexpr (sharers > 1)
        loadBoxes(to, map, lds.full(stage), from, (1 << sharers) - 1);
      else
        loadBox(to, map, lds.full(stage), from);
    }
  }
};

/// Threads: 1, or a warp where tiles are found by all of its lanes. BoxRows: of
/// A; boxes behind the last row of a tile are not asked for.
template <class Config, int Threads = 1, int BoxRows = Config::T.bm>
struct BulkLoader {
  static constexpr int kThreads = Threads, kMaps = 2;
  static constexpr int kArrivals = 1, kRegisters = Threads > 1 ? 56 : 24;

  const TensorMap *maps;
  BulkRowsOfB<Config> b;
  u32 rank;
  int batches;

  HK_MEM BulkLoader(const TensorMap *maps, const typename Config::Layout &lds,
                    u32 rank, const GemmArgs &args)
      : maps(maps),
        b{maps[1], lds, Config::kSharersOfB > 1 ? rank : 0, int(args.n)},
        rank(Config::kSharersOfA > 1 ? rank : 0), batches(int(args.batches)) {}

  HK_MEM static bool works() { return Threads == 1 || laneId() == 0; }
  HK_MEM void begin(const WarpPlace &) const {}
  HK_MEM void finish() const {}

  /// `Half`: of a tile of half as many columns.
  template <bool Half = false>
  HK_MEM void fill(const WarpPlace &at, int step, u32 stage) const {
    LdsBarrier full = b.lds.full(stage);
    constexpr int most = Config::T.bm / BoxRows;
    int boxes = most == 1 ? 1 : boxesOf<BoxRows>(at, most);
    full.expect(Config::kBytesB / (Half ? 2 : 1) +
                boxes * BoxRows * Config::kRow);
    int k = at.k0 + step * Config::T.bk;
    int batch = Config::T.splitK > 1 ? at.matrix % batches : at.matrix;
    constexpr int sharers = Config::kSharersOfA;
    for (int i = int(rank); i < boxes; i += sharers) {
      u32 to = b.lds.stageA(stage) + i * BoxRows * Config::kRow;
      BoxPlace from = {k, at.row + i * BoxRows,
                       Config::kOne == OneMatrix::OfA ? 0 : batch};
      if constexpr (sharers > 1)
        loadBoxes(to, maps[0], full, from, (1 << sharers) - 1);
      else
        loadBox(to, maps[0], full, from);
    }
    if constexpr (Half)
      b.fillHalf(at, k, batch, stage);
    else
      b.fill(at, k, batch, stage);
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_BULK_LOADER_H
