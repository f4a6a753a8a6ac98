//===- MqaLogits.h - Tiles and LDS of the indexer's logits -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of hk.mqa_logits has bq queries of one sequence and bk keys. The keys
// stay in LDS while one query after the other is multiplied with them, some of
// its heads at a time. The kernels size their shared storage with these
// functions, the compiler chooses tiles with them.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_MQALOGITS_H
#define HK_CONTRACT_MQALOGITS_H

#include "hk/Contract/Lds.h"
#include "hk/Contract/Tile.h"

namespace hk {

/// What tiles depend on.
struct MqaLogitsShape {
  DType type; // of queries and keys
  int64_t headDim, heads;
};

/// Most queries of a block: so often are its keys used.
inline constexpr int32_t kMqaLogitsQueries = 8;
/// Most bytes of k in a row of LDS; longer rows take several pieces.
inline constexpr int32_t kMqaLogitsPieceBytes = 256;
/// Host: keys of a panel, and rows of the micro kernel.
inline constexpr int32_t kMqaLogitsPanel = 32, kMqaLogitsMicroRows = 8;

/// The element type of both operands in LDS.
constexpr DType mqaLogitsOperandType(const Target &target, DType type) {
  return gemmOperandType(target, type, type);
}

constexpr int64_t mqaLogitsRoundUp(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// GPU: bytes of a row of keys or queries in LDS.
constexpr int64_t mqaLogitsRowBytes(const Target &target,
                                    const MqaLogitsShape &shape) {
  DType type = mqaLogitsOperandType(target, shape.type);
  int64_t bytes = mqaLogitsRoundUp(shape.headDim * info(type).bits / 8, 64);
  return bytes < kMqaLogitsPieceBytes ? bytes : kMqaLogitsPieceBytes;
}

/// GPU: heads of a query that are multiplied together.
constexpr int64_t mqaLogitsColumns(const MqaLogitsShape &shape) {
  return shape.heads <= 32 ? 32 : 64;
}

constexpr int64_t mqaLogitsLds(const Target &target, const AttentionTile &tile,
                               const MqaLogitsShape &shape) {
  if (target.arch != Arch::Host) {
    int64_t columns = mqaLogitsColumns(shape); // with a weight each
    return ldsAdd(ldsMul(tile.bk + columns, mqaLogitsRowBytes(target, shape)),
                  4 * columns);
  }
  // All in f32: the keys in panels, a query, products of one micro kernel.
  int64_t depth = mqaLogitsRoundUp(shape.headDim, 16);
  int64_t rows = mqaLogitsRoundUp(shape.heads, kMqaLogitsMicroRows);
  return ldsMul(4, ldsAdd(ldsMul(ldsAdd(tile.bk, rows), depth),
                          kMqaLogitsMicroRows * kMqaLogitsPanel));
}

/// Candidates in order of preference; bq is an upper bound.
inline constexpr AttentionTile kMqaLogitsTiles[] = {
    {kMqaLogitsQueries, 128, 4, 1, 1}, {kMqaLogitsQueries, 32, 1, 1, 1}};

/// The first tile that fits in the LDS, or the smallest if none does; on the
/// host one thread is one wave.
constexpr AttentionTile mqaLogitsTile(const Target &target,
                                      const MqaLogitsShape &shape) {
  AttentionTile tile = {};
  for (const AttentionTile &candidate : kMqaLogitsTiles) {
    tile = candidate;
    if (target.arch == Arch::Host)
      tile.waves = 1;
    if (mqaLogitsLds(target, tile, shape) <= target.ldsBytes)
      break;
  }
  return tile;
}

} // namespace hk

#endif // HK_CONTRACT_MQALOGITS_H
