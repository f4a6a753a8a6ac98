//===- Conv1dTiles.h - Tiles of causal convolutions -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel only moves memory: a thread loads and stores vectors of 16 bytes
// of consecutive elements, channels or tokens, and goes along enough tokens
// that the width - 1 before them, which a neighbour loads too, cost little. It
// needs no LDS.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_CONV1DTILES_H
#define HK_CONTRACT_CONV1DTILES_H

#include "hk/Contract/Target.h"
#include "hk/Contract/Tile.h"

namespace hk {

/// Longest filter; a strip has at least one token less, so that only the first
/// strip of a sequence reaches back before it. Strips of channel_first are one
/// vector of tokens.
inline constexpr int64_t kConv1dMaxWidth = 8;
inline constexpr int64_t kConv1dMaxChannelFirstWidth = 4;

/// What the choice of a tile depends on.
struct Conv1dShape {
  int64_t channels = 0;
  /// A power of two that divides every run of channels that is stored.
  int64_t channelDivisor = 1;
  /// Tokens of every sequence; 0: not known.
  int64_t tokens = 0;
  int32_t elementBytes = 2;
  bool channelLast = true;
};

/// Blocks whose registers a compute unit has at once, whatever the epilogue
/// needs: one loads while another computes.
inline constexpr int kConv1dBlocksPerUnit = 2;

constexpr int64_t conv1dThreads(const Target &target, const Conv1dTile &tile) {
  return target.arch == Arch::Host ? 1 : tile.items;
}

/// Strips of a block that lie one behind the other in the tokens.
constexpr int32_t conv1dStripLanes(const Conv1dTile &tile) {
  return tile.items / tile.channelLanes;
}

constexpr Conv1dTile conv1dTile(const Target &target,
                                const Conv1dShape &shape) {
  auto powerOver = [](int64_t value, int64_t limit) {
    int64_t power = 1;
    while (power < value && power < limit)
      power *= 2;
    return int32_t(power);
  };
  bool host = target.arch == Arch::Host;
  int64_t vec = host ? 16 : 16 / shape.elementBytes;
  int64_t most = shape.channelLast ? (host ? 16 : 8) : vec;
  int32_t tokens = shape.tokens ? powerOver(shape.tokens, most) : int32_t(most);
  bool oneStrip = shape.tokens != 0 && shape.tokens <= tokens;
  Conv1dTile tile = {};
  tile.tokens = tokens;
  tile.channels = 1;
  if (shape.channelLast)
    while (tile.channels * 2 <= vec &&
           shape.channelDivisor % (tile.channels * 2) == 0)
      tile.channels *= 2;
  // Decoding has little work: smaller blocks reach more compute units.
  tile.items = host || oneStrip ? 64 : 256;
  int64_t vectors = (shape.channels + tile.channels - 1) / tile.channels;
  if (shape.channelLast || oneStrip) {
    tile.channelLanes = powerOver(vectors, tile.items);
  } else {
    int64_t strips = shape.tokens ? (shape.tokens + tokens - 1) / tokens : 64;
    tile.channelLanes = tile.items / powerOver(strips, tile.items);
  }
  return tile;
}

} // namespace hk

#endif // HK_CONTRACT_CONV1DTILES_H
