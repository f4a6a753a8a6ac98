//===- block_order.h - Which rows a block of a CDNA chip has -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks go to the dies of a chip in turn, and each die has an L2 cache of its
// own. So blocks whose numbers differ by a multiple of the number of dies have
// the same (sequence, key head) pair, or one of as many as fit in that cache;
// of these the tiles with most keys come first. Blocks of a die fill its units
// forth and back: where two blocks of a unit are all that it gets, a long one
// lies beside a short one.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_BLOCK_ORDER_H
#define HK_KERNELS_ATTENTION_BLOCK_ORDER_H

#include "kernels/attention/block.h"

namespace hk {

/// Dies of a chip, and the bytes of an L2 cache.
inline constexpr u32 kDies = 8;
inline constexpr i64 kDieL2Bytes = 4 << 20;

/// Tiles of rows of one sequence, or of all ragged ones: see raggedTile.
template <AttentionSpec S, AttentionTile T, class R>
HK_DEV u32 tileSlots(const AttentionArgs<S, R> &a) {
  i64 rows = a.queries * S.group;
  if constexpr (S.queries == SequenceLayout::Ragged)
    return u32(rows / T.bq + maxOf(a.batch, 0) + 1);
  return u32((rows + T.bq - 1) / T.bq);
}

/// Block `place` of a die that has `count` in the order in which units take
/// them: every second round goes backwards.
HK_DEV u32 forthAndBack(u32 place, u32 count) {
  constexpr u32 units = u32(kTarget.computeUnits) / kDies;
  u32 round = place / units, first = round * units;
  u32 last = (count < first + units ? count : first + units) - 1;
  return round % 2 != 0 ? first + last - place : place;
}

/// The block of the grid whose rows block `id` takes.
template <AttentionSpec S, AttentionTile T, class R>
HK_DEV BlockId orderedBlock(const AttentionArgs<S, R> &a, BlockId id) {
  u32 slots = tileSlots<S, T>(a), heads = u32(a.heads / S.group);
  u32 sequences = S.queries == SequenceLayout::Dense ? u32(a.batch) : 1;
  u32 pairs = heads * sequences, total = pairs * slots;
  u32 linear = id.y * (slots * sequences) + id.x;

  u32 die = linear % kDies;
  linear =
      forthAndBack(linear / kDies, (total - die + kDies - 1) / kDies) * kDies +
      die;

  constexpr bool all = S.keys.layout == KeyLayout::Ragged;
  i64 keys = all ? a.keys / maxOf(a.batch, 1) : a.keys;
  constexpr i64 bytesOfKey =
      S.headDim * info(S.kType).bits / 8 + S.valueDim * info(S.vType).bits / 8;
  i64 bytes = maxOf(keys, 1) * bytesOfKey;
  u32 fit = u32(minOf(maxOf(kDieL2Bytes / bytes, 1) * kDies, pairs));
  u32 section = linear / (fit * slots), in = linear % (fit * slots);
  u32 first = section * fit;
  u32 wide = pairs - first < fit ? pairs - first : fit;
  u32 pair = first + in % wide, slot = in / wide;
  return {pair / heads * slots + slot, pair % heads, id.z};
}

} // namespace hk

#endif // HK_KERNELS_ATTENTION_BLOCK_ORDER_H
