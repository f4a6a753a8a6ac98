//===- ordered_config.h - Gradients that are summed in order -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the blocks of ordered.h agree on: which part of the work a block has, in
// which order blocks add to a tile of dq, and where a block has what in LDS.
//
// A *pair* is a key head of a sequence, and kOrderedHeads of its group. A block
// owns T.rows keys of it, and walks over the queries of those heads. Of a
// tile of T.walked queries the blocks that walk it add to dq one after the
// other, from the last keys that it sees to the first; blocks begin in that
// order and each walks its queries from the first it is seen by, so that one
// with fewer keys in front of it is ahead by itself. The last pairs go the
// other way: from the first keys, and from the last queries. Their blocks get
// shorter, and fill the units that the ones before leave one by one.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_BACKWARD_SM90_ORDERED_CONFIG_H
#define HK_KERNELS_ATTENTION_BACKWARD_SM90_ORDERED_CONFIG_H

#include "kernels/attention/backward/sm90/config.h"

namespace hk {

/// Sizes of a launch, and what a block of it does.
template <AttentionBackwardSpec S, AttentionBackwardTile T>
struct OrderedBackwardGrid : OrderedBackwardSizes {
  static constexpr int kHeads = kOrderedHeads<S>;
  /// Pairs of a key head.
  static constexpr u32 kParts = u32(S.group / kHeads);
  /// Of block i: owned keys, down or not, or finished tiles, or nothing.
  struct Work {
    u32 pair, tile;
    bool owns, down;
    /// Among the key heads of all sequences; the part of its group.
    HK_MEM u32 keyHead() const { return pair / kParts; }
    HK_MEM u32 part() const { return pair % kParts; }
  };

  HK_MEM explicit OrderedBackwardGrid(const AttentionBackwardArgs<S> &a,
                                      u32 keyHeads)
      : OrderedBackwardSizes(orderedBackwardSizes(
            T, a.batch * keyHeads * kParts, kHeads, a.queries, a.keys)) {}

  HK_MEM Work workOf(u32 i) const {
    u32 up = u32(pairs - reversed()), each = u32(ownTiles + finishers);
    if (i < up * each) {
      u32 pair = i / each, in = i % each;
      if (in < u32(ownTiles))
        return {pair, u32(ownTiles) - 1 - in, true, false};
      return {pair - u32(kOrderedPairsBehind), in - u32(ownTiles), false,
              false};
    }
    i -= up * each;
    u32 down = u32(reversed());
    if (i < down * u32(ownTiles))
      return {up + i % down, i / down, true, true};
    i -= down * u32(ownTiles);
    return {u32(unfinished()) + i / u32(finishers), i % u32(finishers), false,
            false};
  }
};

/// The keys that a tile of queries sees, as tiles of them; empty: none.
template <AttentionBackwardSpec S, AttentionBackwardTile T> struct SeenTiles {
  int first, end;
  HK_MEM SeenTiles(const BackwardBlock &w, int tile) {
    int query = tile * T.walked;
    i64 begin = keysOf<S>(w, query).begin;
    i64 last = keysOf<S>(w, minOf(query + T.walked, w.queries) - 1).end;
    first = int(begin / T.rows);
    end = begin < last ? int((last + T.rows - 1) / T.rows) : first;
  }
};

template <AttentionBackwardSpec S, AttentionBackwardTile T>
struct OrderedBackwardWalk : BulkBackwardWalk<S, T, Own::Keys> {
  using Base = BulkBackwardWalk<S, T, Own::Keys>;
  /// With fewer for products the assembler has each wait for the one before.
  static constexpr int kCopyRegisters = 24, kProductRegisters = 240;
  /// ds and parts of dq, in LDS at once.
  static constexpr u32 kSlopeStages = kOrderedSlopeStages;
  static constexpr u32 kSumStages = kOrderedSumStages;
  static constexpr int kSumFloats = int(orderedSumFloats(T, S.headDim));
  static constexpr int kSlopeBytes = T.rows * kBulkRowBytes;
  static constexpr int kSumBytes = kSumFloats * 4;
  static constexpr i64 kLds =
      attentionBackwardLdsBytes(Arch::Sm90a, T, S.type, S.headDim, S.valueDim);
  /// From the aligned beginning.
  static constexpr u32 kSlopes =
      u32(kLds - kBulkAlignment - i64(kSumStages) * kSumBytes -
          i64(kSlopeStages) * kSlopeBytes);
  static_assert(T.walked * 2 == kBulkRowBytes && Base::kGroups == 2);

  struct Shared {
    u8 bytes[kLds];
  };

  struct Layout : Base::Layout {
    HK_MEM explicit Layout(const Shared &s)
        : Base::Layout(
              reinterpret_cast<const typename Base::Config::Shared &>(s)) {}
    /// ds: a row of T.walked queries for every owned key.
    HK_MEM u32 slopes(u32 stage) const {
      return this->base + kSlopes + stage * kSlopeBytes;
    }
    /// A part of dq.
    HK_MEM u32 sums(u32 stage) const {
      return slopes(kSlopeStages) + stage * kSumBytes;
    }
    /// It has been made; it has been read.
    HK_MEM LdsBarrier sumsFull(u32 stage) const {
      return {slopes(0) - 8 * (2 * kSumStages) + 8 * stage};
    }
    HK_MEM LdsBarrier sumsEmpty(u32 stage) const {
      return {sumsFull(kSumStages).at + 8 * stage};
    }
  };
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_BACKWARD_SM90_ORDERED_CONFIG_H
