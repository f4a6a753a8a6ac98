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

/// Of the matrix rate of a compute unit, what a walk reaches: 1.75 us a chunk
/// of 64 tokens, 128 keys and 64 values on an H100
/// (results/h200-gated-delta.md).
inline constexpr double kChunkWalkShare = 0.36;

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

/// One launch that walks `chunks` chunks with `columns` columns of each of
/// `walks` states; `depth` multiply-adds for a column of a token.
constexpr double chunkWalkLaunch(const Target &target, double walks,
                                 double columns, double chunks, double depth,
                                 double shared, bool matrix,
                                 const ChunkWalk &walk) {
  double block = double(chunkWalkColumns(target));
  double perUnit =
      ceilDiv(walks * ceilDiv(columns, block), target.computeUnits);
  double flops = 2.0 * double(walk.chunk) * (block * depth + shared);
  double rate = target.bf16Tflops * 1e6 / target.computeUnits *
                (matrix ? kChunkWalkShare : kChunkWalkShare / 8);
  return target.launchMicroseconds + perUnit * chunks * flops / rate;
}

/// States and results of all chunks: whole, or what segments make of any state,
/// the states before them, and all segments at once.
constexpr double chunkWalkMicroseconds(const Target &target,
                                       const ChunkWalk &walk) {
  double heads = double(walk.heads), segments = double(walk.segments);
  double keys = double(walk.keys), values = double(walk.values);
  double chunks = ceilDiv(double(walk.chunks), segments);
  double all = chunkWalkLaunch(
      target, heads * segments, values, chunks, 3 * keys + double(walk.chunk),
      double(walk.chunk) * keys, walk.bits == 16, walk);
  if (walk.segments == 1)
    return all;
  // Both operands that a state is in are multiplied in two halves.
  double transitions =
      chunkWalkLaunch(target, heads * (segments - 1), values + keys, chunks,
                      4 * keys, 0, hasMatrixTransitions(target, walk), walk);
  double bytes = 4 * heads * (segments - 1) * keys * (2 * values + keys);
  double starts = target.launchMicroseconds +
                  bytes / (target.memoryGBps * 1e3) +
                  (segments - 1) * kMemoryMicroseconds;
  return all + transitions + starts;
}

} // namespace hk

#endif // HK_CONTRACT_COSTGATEDDELTA_H
