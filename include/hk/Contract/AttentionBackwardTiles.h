//===- AttentionBackwardTiles.h - Tiles of gradients ------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Per chip, the tiles in order of preference and the head sizes whose registers
// fit: a wave holds two operands and two accumulators of its rows. What no
// matrix tile can take runs on the vector units.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_ATTENTIONBACKWARDTILES_H
#define HK_CONTRACT_ATTENTIONBACKWARDTILES_H

#include "hk/Contract/AttentionTiles.h"
#include "hk/Contract/LdsAttentionBackward.h"

#include <initializer_list>

namespace hk {

/// Queries of a sequence from which on a warp-specialised tile is taken.
inline constexpr int64_t kBulkBackwardQueries = 64;
/// Columns that the gradients of 64 rows of `size` take there in accumulators:
/// the least number that a chain of products exists for; 0: none.
constexpr int64_t bulkBackwardColumns(int64_t size) {
  for (int64_t columns : {64, 96, 128, 192, 256})
    if (size <= columns)
      return columns;
  return 0;
}
/// Whether the registers of one hold what a block of keys needs, the sums of
/// both gradients and s, dp, p and ds of 64 keys, and a block of queries, which
/// walks twice as many: the sums of one, s, dp and ds. In columns of 64 rows,
/// two of which are a register of a thread; 224 of 232 are for them.
constexpr bool bulkBackwardFits(const AttentionBackwardTile &tile,
                                int64_t headDim, int64_t valueDim) {
  int64_t head = bulkBackwardColumns(headDim),
          value = bulkBackwardColumns(valueDim);
  return head != 0 && value != 0 && head + value + 3 * tile.walked <= 448 &&
         head + 5 * tile.walked <= 448;
}
/// The one that sums dq in order, and the size of queries, keys and values
/// there: each of two warpgroups makes a panel of dq's columns.
inline constexpr AttentionBackwardTile kOrderedBackwardTile = {128, 64, 12, 2};
inline constexpr int64_t kOrderedBackwardHead = 128;
/// Least queries and keys of a sequence there, and blocks for each compute
/// unit: with fewer, what blocks wait for each other shows.
inline constexpr int64_t kOrderedBackwardRows = 1024;
inline constexpr int64_t kOrderedBackwardBlocks = 4;
/// Largest head size of one, beside values of which there is room.
inline constexpr int64_t kBulkBackwardHead = 256;

/// What tiles depend on.
struct AttentionBackwardShape {
  DType type; // of the operands
  int64_t headDim, valueDim;
  /// Bytes that every row of the operands and gradients is aligned to.
  int64_t align;
  /// The warp-specialised loop can compute the kernel.
  bool bulk = false;
  /// There is memory in which blocks sum dq in order.
  bool sums = false;

  /// Padded columns of a row's two operands.
  constexpr int64_t columns() const {
    return attentionBackwardColumns(headDim) +
           attentionBackwardColumns(valueDim);
  }
};

struct AttentionBackwardCandidate {
  Arch arch;
  AttentionBackwardTile tile;
  /// Most bytes of a row's two operands (host: no limit but the memory).
  int64_t maxBytes;
};

/// `tiny` takes those of gfx942.
inline constexpr AttentionBackwardCandidate kAttentionBackwardCandidates[] = {
    {Arch::Host, {64, 64, 1, 1}, 1 << 20},
    {Arch::Host, {16, 32, 1, 1}, 1 << 20},
    {Arch::Host, {8, 32, 1, 1}, 1 << 20},
    {Arch::Gfx942, {128, 32, 4, 1}, 640},
    {Arch::Gfx950, {128, 32, 4, 1}, 640},
    {Arch::Gfx1100, {64, 16, 4, 1}, 256},
    {Arch::Sm90a, kOrderedBackwardTile, 512},
    {Arch::Sm90a, {128, 64, 12, 4}, 512},
    {Arch::Sm90a, {128, 32, 12, 4}, 640},
    {Arch::Sm90a, {64, 32, 4, 2}, 256},
    {Arch::Sm90a, {64, 16, 4, 2}, 512},
};

constexpr bool usableForShape(const AttentionBackwardCandidate &c, Arch arch,
                              const AttentionBackwardShape &shape) {
  Arch known = arch == Arch::Tiny ? Arch::Gfx942 : arch;
  if (attentionBackwardPath(c.arch, c.tile) ==
          AttentionBackwardPath::WarpSpecialised &&
      !(shape.bulk && (shape.sums || !sumsInOrder(c.tile)) &&
        bulkBackwardFits(c.tile, shape.headDim, shape.valueDim)))
    return false;
  return c.arch == known &&
         packedBytes(shape.type, shape.columns()) <= c.maxBytes;
}

/// Whether matrix tiles exist for the shape on a GPU, LDS aside.
constexpr bool
attentionBackwardHasMatrixTile(Arch arch, const AttentionBackwardShape &shape) {
  if (!attentionFitsFragments(arch, shape.type, shape.headDim, shape.valueDim,
                              shape.align))
    return false;
  for (const AttentionBackwardCandidate &c : kAttentionBackwardCandidates)
    if (arch != Arch::Host && usableForShape(c, arch, shape))
      return true;
  return false;
}

/// The tile of the vector path of a GPU: a wave per row, one key or query of
/// the walk per lane.
constexpr AttentionBackwardTile attentionBackwardVectorTile(Arch arch) {
  return {1, targetOf(arch).waveSize, 1, 1};
}

} // namespace hk

#endif // HK_CONTRACT_ATTENTIONBACKWARDTILES_H
