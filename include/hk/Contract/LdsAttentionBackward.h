//===- LdsAttentionBackward.h - LDS of the gradients ------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which kernel a tile of attention's gradients means, how it pads head sizes,
// and the LDS it takes. The kernels size their shared storage with these
// functions, the compiler chooses tiles with them.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_LDSATTENTIONBACKWARD_H
#define HK_CONTRACT_LDSATTENTIONBACKWARD_H

#include "hk/Contract/LdsAttention.h"

namespace hk {

enum class AttentionBackwardPath : int32_t {
  /// Matrix fragments; a wave has whole rows of the block, what they walk over
  /// goes through LDS.
  Matrix,
  /// sm_90a: one warp asks for tensor-map boxes, warpgroups that own 64 keys,
  /// or
  /// queries of one head, multiply.
  WarpSpecialised,
  /// One wave per row on the vector units: any head size and alignment.
  Vector,
  /// Host: what is walked over is repacked, 8 x 32 micro kernel.
  Host,
};

/// A tile with a warpgroup for each 64 rows and one more specialises them.
constexpr bool isWarpSpecialised(const AttentionBackwardTile &tile) {
  int32_t groups = tile.rows / kWarpgroupRows;
  return groups > 0 && tile.waves == kGroupWarps * (groups + 1);
}

/// Such a tile with half as many stages sums dq in memory, in an order
/// (sm90/ordered.h), and needs the LDS for ds and parts of dq.
constexpr bool sumsInOrder(const AttentionBackwardTile &tile) {
  return isWarpSpecialised(tile) && tile.stages == 2;
}
/// Stages there of ds, and of parts of dq.
inline constexpr int64_t kOrderedSlopeStages = 2, kOrderedSumStages = 2;
/// f32 of a part of dq: what a tile of keys adds to a tile of queries.
constexpr int64_t orderedSumFloats(const AttentionBackwardTile &tile,
                                   int64_t headDim) {
  return tile.walked * headDim;
}

/// f32 of the sums of a tile of keys that blocks of some heads of a group hand
/// to those of the next, behind all parts of dq.
constexpr int64_t orderedKeyFloats(const AttentionBackwardTile &tile,
                                   int64_t headDim, int64_t valueDim) {
  return tile.rows * (headDim + valueDim);
}

/// A GPU tile with fewer rows than a matrix fragment runs on the vector units.
constexpr AttentionBackwardPath
attentionBackwardPath(Arch arch, const AttentionBackwardTile &tile) {
  if (arch == Arch::Host)
    return AttentionBackwardPath::Host;
  if (arch == Arch::Sm90a && isWarpSpecialised(tile))
    return AttentionBackwardPath::WarpSpecialised;
  return tile.rows < targetOf(arch).mmaM ? AttentionBackwardPath::Vector
                                         : AttentionBackwardPath::Matrix;
}

/// Columns of a row in LDS and in the accumulators: whole fragments.
constexpr int64_t attentionBackwardColumns(int64_t size) {
  return (size + 31) / 32 * 32;
}

/// Room to align, what is owned, `stages` of what is walked over with two
/// numbers of every query, barriers, which rows of what the block has.
constexpr int64_t attentionBackwardBulkLds(const AttentionBackwardTile &t,
                                           int64_t headDim, int64_t valueDim) {
  int64_t row =
      (attentionPanels(headDim) + attentionPanels(valueDim)) * kBulkRowBytes;
  int64_t walked = int64_t(t.stages) * t.walked;
  return kBulkAlignment + (t.rows + walked) * row + walked * 8 +
         8 * (1 + 2 * int64_t(t.stages)) + 32;
}

/// The same, with ds and parts of dq behind it.
constexpr int64_t attentionBackwardOrderedLds(const AttentionBackwardTile &t,
                                              int64_t headDim,
                                              int64_t valueDim) {
  // Barriers of parts of dq, and of what is cleared behind a sequence.
  int64_t bulk = attentionBackwardBulkLds(t, headDim, valueDim) +
                 8 * (2 * kOrderedSumStages + 1);
  return (bulk + kBulkAlignment - 1) / kBulkAlignment * kBulkAlignment +
         kOrderedSlopeStages * t.rows * kBulkRowBytes +
         kOrderedSumStages * 4 * orderedSumFloats(t, headDim);
}

/// LDS bytes of a block. `type` is the element type of the operands, `headDim`
/// the size of queries and keys, `valueDim` that of values.
constexpr int64_t attentionBackwardLdsBytes(Arch arch,
                                            const AttentionBackwardTile &t,
                                            DType type, int64_t headDim,
                                            int64_t valueDim) {
  int64_t columns =
      attentionBackwardColumns(headDim) + attentionBackwardColumns(valueDim);
  switch (attentionBackwardPath(arch, t)) {
  case AttentionBackwardPath::Matrix:
    // Two operands, and of a query its log-sum-exp and delta.
    return int64_t(t.stages) * t.walked * (packedBytes(type, columns) + 8);
  case AttentionBackwardPath::WarpSpecialised:
    return sumsInOrder(t) ? attentionBackwardOrderedLds(t, headDim, valueDim)
                          : attentionBackwardBulkLds(t, headDim, valueDim);
  case AttentionBackwardPath::Vector:
    // The two operands of the row; p and ds of one wave of what it walks over.
    return 4 * (headDim + valueDim + 2 * int64_t(t.walked));
  case AttentionBackwardPath::Host:
    // f32: rows and their sums, what is walked over in both orders, p and ds,
    // log-sum-exp and delta of either.
    return 4 * (2 * int64_t(t.rows) * columns + 2 * t.walked * columns +
                2 * int64_t(t.rows) * t.walked + 2 * (t.rows + t.walked));
  }
  return 0;
}

/// Tiles of queries whose sums a block finishes.
inline constexpr int64_t kOrderedTilesEach = 8;
/// Blocks that finish a pair come behind at least so many that own keys of
/// later pairs, two at least: by then it is done, and its sums are still in the
/// L2 cache. One that comes earlier keeps a unit from others while it waits.
inline constexpr int64_t kOrderedBlocksBehind = 320;
/// The last pairs, whose blocks own the first keys first.
inline constexpr int64_t kOrderedPairsReversed = 4;

/// Heads of a group of `group` whose queries a block walks over. Where later
/// keys are seen by fewer queries a block gets ahead of its neighbour with
/// every head, until what one has read has left the L2 cache when the other one
/// comes: then there are two, and blocks of the next heads add to what those
/// before have summed of the same keys.
constexpr int64_t orderedHeads(int64_t group, bool getsAhead) {
  return !getsAhead ? group : group % 2 == 0 ? 2 : 1;
}

/// Sizes of a launch that sums dq in order. A pair is a key head of a sequence
/// and the heads of its group that a block walks over.
struct OrderedBackwardSizes {
  /// Of a pair: blocks that own keys, blocks that finish sums.
  int64_t pairs, ownTiles, finishers;

  constexpr int64_t reversed() const {
    return pairs < kOrderedPairsReversed ? pairs : kOrderedPairsReversed;
  }
  /// How many pairs later blocks come that finish one.
  constexpr int64_t behind() const {
    int64_t later = (kOrderedBlocksBehind + ownTiles - 1) / ownTiles;
    return later < 2 ? 2 : later;
  }
  /// The first pair that only blocks behind all others finish.
  constexpr int64_t unfinished() const {
    int64_t up = pairs - reversed();
    return up < behind() ? 0 : up - behind();
  }
  constexpr int64_t blocks() const {
    return (pairs - reversed()) * (ownTiles + finishers) +
           reversed() * ownTiles + (pairs - unfinished()) * finishers;
  }
};
constexpr OrderedBackwardSizes
orderedBackwardSizes(const AttentionBackwardTile &tile, int64_t pairs,
                     int64_t heads, int64_t queries, int64_t keys) {
  int64_t tiles = (queries + tile.walked - 1) / tile.walked * heads;
  return {pairs, (keys + tile.rows - 1) / tile.rows,
          (tiles + kOrderedTilesEach - 1) / kOrderedTilesEach};
}

/// Threads of a block.
constexpr int64_t attentionBackwardThreads(Arch arch,
                                           const AttentionBackwardTile &tile) {
  return int64_t(tile.waves) * targetOf(arch).waveSize;
}

} // namespace hk

#endif // HK_CONTRACT_LDSATTENTIONBACKWARD_H
