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

/// What a block does: it owns keys, and walks queries up or down; or it
/// finishes tiles of queries.
struct OrderedWork {
  /// The first head of the group; the tile of keys, or of kOrderedTilesEach
  /// tiles of queries.
  u32 head, tile;
  bool owns, down;
};

/// Sizes of a launch, and what a block of it does.
template <AttentionBackwardSpec S, AttentionBackwardTile T, u32 KEYHEADS>
struct OrderedBackwardGrid : OrderedBackwardSizes {
  static constexpr int kHeads = kOrderedHeads<S>;
  /// Pairs of a key head.
  static constexpr u32 kParts = u32(S.group / kHeads);
  /// Heads that a finishing block has tiles of.
  static constexpr int kFinishedHeads = kHeads;

  HK_MEM explicit OrderedBackwardGrid(const AttentionBackwardArgs<S> &a)
      : OrderedBackwardSizes(orderedBackwardSizes(
            T, a.batch * KEYHEADS * kParts, kHeads, a.queries, a.keys)) {}

  /// Block i; false: it has nothing to do.
  HK_MEM bool find(const AttentionBackwardArgs<S> &a, u32 i, OrderedWork &work,
                   BackwardBlock &w) const {
    u32 pair = workOf(i, work);
    if (pair >= u32(pairs)) // there is none so far in front
      return false;
    u32 keyHead = pair / kParts;
    work.head = pair % kParts * kHeads;
    return locateBackward<S, Own::Keys>(
        a, keyHead / KEYHEADS * u32(ownTiles) + (work.owns ? work.tile : 0),
        keyHead % KEYHEADS, T.rows, w);
  }

private:
  HK_MEM u32 workOf(u32 i, OrderedWork &work) const {
    u32 up = u32(pairs - reversed()), each = u32(ownTiles + finishers);
    if (i < up * each) {
      u32 in = i % each;
      work = {0, u32(ownTiles) - 1 - in, true, false};
      if (in < u32(ownTiles))
        return i / each;
      work = {0, in - u32(ownTiles), false, false};
      return i / each - u32(behind());
    }
    i -= up * each;
    u32 down = u32(reversed());
    if (i < down * u32(ownTiles)) {
      work = {0, i / down, true, true};
      return up + i % down;
    }
    i -= down * u32(ownTiles);
    work = {0, i % u32(finishers), false, false};
    return u32(unfinished()) + i / u32(finishers);
  }
};

/// The same of sequences whose sizes only the device knows. The pairs of a
/// sequence follow each other and have equally many places, as many as there
/// are between the first tile of keys of it and of the next one (raggedTile);
/// those behind its last tile are empty. The last pairs of the last sequence go
/// the other way. Blocks that finish come last, each for one head.
template <AttentionBackwardSpec S, AttentionBackwardTile T, u32 KEYHEADS>
  requires(S.sequence == SequenceLayout::Ragged)
struct OrderedBackwardGrid<S, T, KEYHEADS> {
  static constexpr int kHeads = kOrderedHeads<S>;
  static constexpr u32 kParts = u32(S.group / kHeads);
  static constexpr int kFinishedHeads = 1;
  static constexpr u32 kPairs = KEYHEADS * kParts;
  static constexpr u32 kAllHeads = KEYHEADS * u32(S.group);
  static constexpr u32 kReversed =
      kPairs < kOrderedPairsReversed ? kPairs : u32(kOrderedPairsReversed);
  static constexpr i64 kFinished = T.walked * kOrderedTilesEach;
  u32 keyTiles, queryTiles;

  HK_MEM explicit OrderedBackwardGrid(const AttentionBackwardArgs<S> &a)
      : keyTiles(u32(backwardTiles<S, Own::Keys, 1>(a, T.rows))),
        queryTiles(u32(backwardTiles<S, Own::Rows, 1>(a, kFinished))) {}
  HK_MEM u32 blocks() const {
    return keyTiles * kPairs + queryTiles * kAllHeads;
  }

  HK_MEM bool find(const AttentionBackwardArgs<S> &a, u32 i, OrderedWork &work,
                   BackwardBlock &w) const {
    if (a.batch < 0)
      return false;
    if (i < keyTiles * kPairs)
      return findOwned(a, i, work, w);
    i -= keyTiles * kPairs;
    u32 head = i % kAllHeads;
    if (!locateBackward<S, Own::Rows, 1>(a, i / kAllHeads, head / S.group,
                                         kFinished, w))
      return false;
    work = {head % S.group, u32(w.first / kFinished), false, false};
    return true;
  }

private:
  HK_MEM bool findOwned(const AttentionBackwardArgs<S> &a, u32 i,
                        OrderedWork &work, BackwardBlock &w) const {
    i64 b = raggedSequence(a.kvOffsets, a.batch, 1, T.rows, i / kPairs);
    u32 first = u32(raggedTile(a.kvOffsets[b], T.rows, b));
    u32 end = b == a.batch ? keyTiles
                           : u32(raggedTile(a.kvOffsets[b + 1], T.rows, b + 1));
    u32 place = i - first * kPairs, each = end - first, pair = place / each;
    u32 tile = place % each, up = kPairs - kReversed;
    bool down = b == a.batch - 1 && pair >= up;
    if (down) {
      place -= up * each;
      pair = up + place % kReversed;
      tile = place / kReversed;
    }
    if (!locateBackward<S, Own::Keys>(a, first, pair / kParts, T.rows, w))
      return false;
    u32 tiles = u32(w.keys + T.rows - 1) / T.rows;
    if (tile >= tiles)
      return false;
    work = {pair % kParts * kHeads, down ? tile : tiles - 1 - tile, true, down};
    w.first = i32(work.tile * T.rows);
    w.count = minOf(w.keys - w.first, T.rows);
    return true;
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
    /// A box that ends behind its sequence has come.
    HK_MEM LdsBarrier partial() const { return {sumsFull(0).at - 8}; }
  };
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_BACKWARD_SM90_ORDERED_CONFIG_H
