//===- half_tiles.h - The last round in halves of tiles -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks that stay take as many tiles each, but in the last round, which lasts
// as long as the others if one cluster has a tile. Where less than half of them
// would have one, two clusters have half of its columns each: the same boxes of
// A, half of those of B, an instruction of half the width, the same bits. On an
// H100 a round of half of Llama 3 70B's gate and up takes 100 us, and its last
// one has tiles for 10 of 66 clusters.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_HALF_TILES_H
#define HK_KERNELS_GEMM_SM90_HALF_TILES_H

#include "kernels/gemm/halved_round.h"
#include "kernels/gemm/sm90/accumulate.h"
#include "kernels/gemm/sm90/box_epilogue.h"
#include "kernels/gemm/sm90/bulk_loader.h"
#include "kernels/gemm/sm90/slab_epilogue.h"

namespace hk {

template <class Problem> struct HalfOfColumns : Problem {
  static constexpr GemmTile kTile = {
      Problem::kTile.bm,    Problem::kTile.bn / 2, Problem::kTile.bk,
      Problem::kTile.wm,    Problem::kTile.wn,     Problem::kTile.stages,
      Problem::kTile.splitK};
  static constexpr int kCols = Problem::kCols / 2;
};

/// Stages, barriers and slabs are those of the whole tile.
template <class Config> struct HalfConfig : Config {
  using P = HalfOfColumns<typename Config::P>;
  static constexpr GemmTile T = {
      Config::T.bm,     Config::T.bn / 2, Config::T.bk,
      Config::T.wm,     Config::T.wn,     Config::T.stages,
      Config::T.splitK, Config::T.loop,   Config::T.cluster};
  using Product = WarpgroupProduct<Config::D, T.bn, Config::kColumnsOfB>;
  using Registers = typename Product::Registers;
};

/// Whether results in slabs have a half's columns in whole passes, as wide as
/// those of a tile, whose groups of columns they then hold, too.
template <class Config>
inline constexpr bool kHalvesSlabs =
    !Config::P::kPair &&
    bulkSlabColumns(Config::T.bn / 2) == bulkSlabColumns(Config::T.bn) &&
    Config::T.bn / 2 % bulkSlabColumns(Config::T.bn) == 0;

/// Whether a kernel computes halves, with what is stored by `Results`: rows of
/// B in an even number of boxes for each of its parts, and nothing read where
/// results go.
template <class Config, class Results>
inline constexpr bool kHasHalves =
    (__is_same(Results, BoxEpilogue<Config, false, false>) ||
     (__is_same(Results, SlabEpilogue<Config>) && kHalvesSlabs<Config>)) &&
    !Config::kColumnsOfB && Config::T.splitK == 1 &&
    BulkRowsOfB<Config>::kBoxes % 2 == 0 && Config::P::kCols % 32 == 0 &&
    Config::P::kCols >= 128;

/// Sums and stores half of a tile behind `reader`'s stage.
template <class Sum, class Results, class Config, class Tiles, class Epilogue>
HK_MEM void consumeHalf(StageReader<Config> &reader, const Tiles &tiles,
                        const WarpPlace &at, const ScalePlace &scales, int warp,
                        const GemmArgs &args, const TensorMap *maps, u8 *slab,
                        const Epilogue &epilogue) {
  using Half = HalfConfig<Config>;
  StageReader<Half> half = {reader.lds, reader.ring, reader.group};
  auto rows = tiles.rowsOf(at, warp * 16);
  typename Sum::Total d;
  Sum::run(half, args, at, scales, d);
  reader.ring = half.ring;
  if (rows.any())
    Results(half.lds, maps, warp).run(d, rows, at.col, args, slab, epilogue);
}

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_HALF_TILES_H
