//===- schedule.h - Which tile a block takes next -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks stay and take tiles of a fixed order: no counter in memory, so that
// launches may overlap and results do not depend on time. The order goes by
// sections of (sequence, head) pairs whose keys fit in the L2 cache; in a
// section the tiles with most keys come first. A block takes the c-th tile of
// one round and the c-th from behind of the next, so that two rounds give every
// block the same number of keys; to keep that across sections, a causal one
// begins with a round of its own where that leaves few blocks without a tile.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_SM90_SCHEDULE_H
#define HK_KERNELS_ATTENTION_SM90_SCHEDULE_H

#include "kernels/attention/sm90/segments.h"

namespace hk {

/// Keys and values of a section: most of the L2 cache.
inline constexpr i64 kSectionBytes = 36 << 20;

/// `size` pairs are a section; the next begins `span` places later.
struct TileSections {
  u32 size, span;
};

/// Chooses sections of at most `most` of the pairs, which have `slots` tiles
/// each: of the divisors of the number of blocks the one that takes fewest
/// rounds. An odd number of rounds leaves a rest, most of which the next
/// section makes up for. Sections with an odd divisor that follow each other
/// directly lose about 3 % whatever the sizes. In 64ths of a round.
HK_DEV TileSections chooseSections(u32 pairs, u32 slots, u32 most,
                                   bool causal) {
  constexpr u32 blocks = kTarget.computeUnits;
  if (most >= pairs)
    return {pairs, pairs * slots};
  TileSections best = {1, slots};
  u32 least = (pairs * slots / blocks + 1) * 66;
  HK_UNROLL for (u32 d = 1; d <= blocks; ++d) {
    u32 size = blocks / d;
    if (blocks % d != 0 || size > most)
      continue;
    // The first is the largest.
    if (size % 2 != 0 && best.span == slots && best.size == 1)
      best = {size, size * slots};
    u32 sections = (pairs + size - 1) / size;
    u32 rounds = (size * slots + blocks - 1) / blocks;
    u32 last = (pairs - (sections - 1) * size) * slots;
    u32 all = (sections - 1) * rounds + (last + blocks - 1) / blocks;
    u32 cost = all * 64;
    if (rounds % 2 != 0)
      cost += sections % 2 == 0 ? all : rounds == 1 ? 64 : 21;
    if (causal && cost < least) {
      least = cost;
      best = {size, rounds * blocks};
    }
  }
  return best;
}

template <class Segments> class AttentionTiles {
  using First = typename Segments::First;
  static constexpr AttentionSpec S = First::kSpec;
  static constexpr AttentionTile T = First::kTile;
  static constexpr int kQueries = kTileQueries<T>;

public:
  /// Tiles of block `block` of `blocks`, which together take all.
  HK_MEM AttentionTiles(const Segments &segments, u32 block, u32 blocks)
      : AttentionTiles(segments, block) {
    this->blocks = blocks;
    sections = chooseSections(pairs, slots, mostPairs(segments),
                              Segments::kCausal &&
                                  S.queries != SequenceLayout::Ragged);
  }
  /// The one of as many blocks as there are tiles.
  HK_MEM AttentionTiles(const Segments &segments, u32 block)
      : a(segments.args), block(block) {
    pairs = u32(a.heads / T.heads);
    if constexpr (S.queries == SequenceLayout::Ragged)
      // Room for a partly filled tile per sequence and for the queries of none.
      slots = u32(a.queries / kQueries + (a.batch < 0 ? 0 : a.batch) + 1);
    else
      slots = u32((a.queries + kQueries - 1) / kQueries);
    if constexpr (S.queries == SequenceLayout::Dense)
      pairs *= u32(a.batch);
    blocks = pairs * slots;
    sections = {pairs, blocks};
  }

  /// The next tile of this block that has queries; false: there is none.
  HK_MEM bool take(BulkAttentionTile &w) {
    for (;;) {
      u32 place = round & 1 ? blocks - 1 - block : block;
      u32 at = round * blocks + place;
      u32 section = at / sections.span, in = at % sections.span;
      u32 first = section * sections.size;
      if (first >= pairs)
        return false;
      ++round;
      u32 wide = pairs - first < sections.size ? pairs - first : sections.size;
      if (in < wide * slots &&
          locate(first + in % wide, slots - 1 - in / wide, w))
        return true;
    }
  }

private:
  /// Pairs whose keys and values fit.
  HK_MEM u32 mostPairs(const Segments &segments) const {
    i64 keys = 0;
    segments.forEach([&]<class Segment, int I>(const typename Segment::Args &s)
                         __attribute__((always_inline)) {
                           bool all =
                               Segment::kSpec.keys.layout == KeyLayout::Ragged;
                           keys += all ? s.keys / maxOf(s.batch, 1) : s.keys;
                         });
    i64 bytes = maxOf(keys, 1) * (S.headDim + S.valueDim) * 2;
    return u32(minOf(maxOf(kSectionBytes / bytes, 1) * S.group, pairs));
  }

  HK_MEM bool locate(u32 pair, u32 slot, BulkAttentionTile &w) const {
    u32 heads = u32(a.heads / T.heads);
    w.sequence = int(pair / heads);
    w.head = int(pair % heads) * T.heads;
    w.queryStart = 0;
    w.queries = int(a.queries);
    w.padding = false;
    if constexpr (S.queries == SequenceLayout::Ragged)
      if (!locateRagged(slot, w))
        return false;
    w.first = int(slot) * kQueries;
    w.count = minOf(w.queries - w.first, kQueries);
    return true;
  }

  /// Finds the sequence of a slot, which becomes that of the sequence's tile.
  HK_MEM bool locateRagged(u32 &slot, BulkAttentionTile &w) const {
    if (a.batch < 0)
      return false;
    w.sequence = int(raggedSequence(a.qOffsets, a.batch, 1, kQueries, slot));
    w.padding = w.sequence == a.batch;
    w.queryStart = a.qOffsets[w.sequence];
    int end = w.padding ? int(a.queries) : a.qOffsets[w.sequence + 1];
    w.queries = end - w.queryStart;
    slot -= u32(raggedTile(w.queryStart, kQueries, w.sequence));
    return int(slot) * kQueries < w.queries;
  }

  const typename First::Args &a;
  u32 block, blocks, slots, pairs;
  TileSections sections;
  u32 round = 0;
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_SM90_SCHEDULE_H
