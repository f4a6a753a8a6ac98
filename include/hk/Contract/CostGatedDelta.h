//===- CostGatedDelta.h - Time of walks over chunks -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a walk over the chunks of sequences would take, whole and in segments:
// to choose between them, not to tell a time.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_COSTGATEDDELTA_H
#define HK_CONTRACT_COSTGATEDDELTA_H

#include "hk/Contract/Cost.h"
#include "hk/Contract/LdsGatedDelta.h"

namespace hk {

struct ChunkWalk {
  /// Heads of all sequences; chunks of a sequence, tokens of a chunk.
  int64_t heads, keys, values, chunk, chunks;
  /// Of an element.
  int64_t bits;
  int64_t segments = 1;
};

/// Measured on an H100 (results/h200-gated-delta.md): of the matrix rate of a
/// compute unit, what walks reach, 1.44 us a chunk of 64 tokens, 128 keys and
/// 64 values, and 1.9 us of what segments make of 128 columns; what a launch of
/// walks takes beside them; and a step from segment to segment.
inline constexpr double kChunkWalkShare = 0.44, kTransitionShare = 0.59;
inline constexpr double kWalkMicroseconds = 6, kStartMicroseconds = 1.8;

/// Whether transitions of segments are multiplied by warpgroups.
constexpr bool hasMatrixTransitions(const Target &target,
                                    const ChunkWalk &walk) {
  return hasWarpgroupProducts(target) && walk.bits == 16 && walk.chunk == 64 &&
         (walk.keys == 64 || walk.keys == 128) &&
         (walk.values == 64 || walk.values == 128) &&
         (walk.keys + walk.values) % (2 * kWarpgroupValues) == 0;
}

/// Values of a block.
constexpr int64_t chunkWalkColumns(const Target &target) {
  if (target.arch == Arch::Host)
    return 16;
  return hasWarpgroupProducts(target) ? kWarpgroupValues : target.mmaM;
}

/// Walks of one launch: how many, over how many chunks; columns of each, of
/// which a block has `block`; multiply-adds for a column of a token, and those
/// that all of a block share; of the matrix rate, what they reach.
struct ChunkWalks {
  double count, chunks, columns, block, depth, shared, share;
};

constexpr double chunkWalkLaunch(const Target &target, const ChunkWalks &walks,
                                 const ChunkWalk &walk) {
  double perUnit = ceilDiv(walks.count * ceilDiv(walks.columns, walks.block),
                           target.computeUnits);
  double flops =
      2.0 * double(walk.chunk) * (walks.block * walks.depth + walks.shared);
  double rate = target.bf16Tflops * 1e6 / target.computeUnits * walks.share;
  return target.launchMicroseconds + kWalkMicroseconds +
         perUnit * walks.chunks * flops / rate;
}

/// States and results of all chunks: whole, or what segments make of any state,
/// the states before them, and all segments at once.
constexpr double chunkWalkMicroseconds(const Target &target,
                                       const ChunkWalk &walk) {
  double heads = double(walk.heads), segments = double(walk.segments);
  double keys = double(walk.keys), values = double(walk.values);
  double chunks = ceilDiv(double(walk.chunks), segments);
  double block = double(chunkWalkColumns(target));
  // On vector units an eighth, as a guess.
  double share = kChunkWalkShare / (walk.bits == 16 ? 1 : 8);
  double all = chunkWalkLaunch(target,
                               {heads * segments, chunks, values, block,
                                3 * keys + double(walk.chunk),
                                double(walk.chunk) * keys, share},
                               walk);
  if (walk.segments == 1)
    return all;
  // Both operands that a state is in are multiplied in two halves.
  bool matrix = hasMatrixTransitions(target, walk);
  double transitions =
      chunkWalkLaunch(target,
                      {heads * (segments - 1), chunks, values + keys,
                       matrix ? 2 * block : block, 4 * keys, 0,
                       matrix ? kTransitionShare : kChunkWalkShare / 8},
                      walk);
  double bytes = 4 * heads * (segments - 1) * keys * (2 * values + keys);
  double starts = target.launchMicroseconds +
                  bytes / (target.memoryGBps * 1e3) +
                  (segments - 1) * kStartMicroseconds;
  return all + transitions + starts;
}

} // namespace hk

#endif // HK_CONTRACT_COSTGATEDDELTA_H
