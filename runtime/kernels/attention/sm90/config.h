//===- config.h - Constants of warp-specialised attention -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the warps of a block agree on: sizes, the layout of LDS, and which keys
// a tile of queries walks over. A tile is bq rows: queries of one head, or of
// several heads that share keys, one head after the other. The blocks of a
// cluster have the same tile and take parts of its keys.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_SM90_CONFIG_H
#define HK_KERNELS_ATTENTION_SM90_CONFIG_H

#include "kernels/attention/softmax.h"
#include "kernels/device/copy/tma.h"
#include "kernels/device/tile/wgmma_chain.h"

namespace hk {

/// Columns of the second product: the least size that a chain exists for.
constexpr int valueChainColumns(int valueDim) {
  constexpr int sizes[] = {64, 96, 128, 192, 256};
  for (int n : sizes)
    if (valueDim <= n)
      return n;
  return 0;
}

/// Clears the rows from `first` on of PANELS panels of ROWS rows that copies
/// have brought to `at`: whatever lies there, products with 0 are 0 behind
/// this. All THREADS threads that multiply call it.
template <int PANELS, int ROWS, int THREADS>
HK_DEV void clearRowsBehind(u32 at, int first) {
  constexpr int unit = 16, inRow = kBulkRowBytes / unit;
  int count = (ROWS - first) * inRow;
  HK_UNROLL for (int panel = 0; panel < PANELS; ++panel) {
    u32 to = at + (panel * ROWS + first) * kBulkRowBytes;
    for (int i = threadId(); i < count; i += THREADS)
      clearLds16(to + i * unit);
  }
  publishToCopies();
  barrierOfSome<1, THREADS>();
}

/// Queries of each head of a tile.
template <AttentionTile T> inline constexpr int kTileQueries = T.bq / T.heads;
/// The query and the head of a row of a tile, from the tile's first.
template <AttentionTile T> HK_DEV int tileQuery(int row) {
  return T.heads == 1 ? row : row % kTileQueries<T>;
}
template <AttentionTile T> HK_DEV int tileHead(int row) {
  return T.heads == 1 ? 0 : row / kTileQueries<T>;
}

/// A tile: queries [first, first + count) of one sequence, of heads from `head`
/// on, and the keys of the segment that is walked over. The runtime has checked
/// that the sizes of mapped operands fit in an int, and registers are scarce.
struct BulkAttentionTile {
  int sequence, head;
  int first, count;
  int queries, keys;        // of the sequence
  int queryStart, keyStart; // first row in ragged tensors
  bool padding;             // queries of no sequence, which see no key

  /// The same as the other kernels have it, for a key head of `group` heads.
  HK_MEM AttentionBlock block(int group) const {
    AttentionBlock block = {};
    block.sequence = sequence;
    block.head = head / group;
    block.first = first;
    block.count = count;
    block.padding = padding;
    block.queries = queries;
    block.keys = keys;
    block.queryStart = queryStart;
    block.keyStart = keyStart;
    block.slice = {0, keys};
    return block;
  }
};

/// Where a block has what in LDS: tiles of queries, of keys and of values, in
/// panels of 64 columns, and barriers. Addresses are the engine's.
template <AttentionTile T, int HEAD, int VALUE> struct BulkAttentionLayout {
  static constexpr u32 kStages = T.stages;
  /// Bytes of what one stage holds.
  static constexpr u32 kQueryBytes =
      u32(attentionPanels(HEAD)) * T.bq * kBulkRowBytes;
  static constexpr u32 kKeyBytes =
      u32(attentionPanels(HEAD)) * T.bk * kBulkRowBytes;
  static constexpr u32 kValueBytes =
      u32(attentionPanels(VALUE)) * T.bk * kBulkRowBytes;
  /// From queries() on, in front of the barriers.
  static constexpr u32 kOperandBytes =
      kQueryBytes + kStages * (kKeyBytes + kValueBytes);
  u32 base;

  HK_MEM explicit BulkAttentionLayout(const void *lds) : base(bulkBase(lds)) {}
  HK_MEM u32 queries() const { return base; }
  HK_MEM u32 keys(u32 stage) const {
    return base + kQueryBytes + stage * kKeyBytes;
  }
  HK_MEM u32 values(u32 stage) const {
    return keys(kStages) + stage * kValueBytes;
  }
  /// What lies there has been filled; every warp that multiplies has read it.
  HK_MEM LdsBarrier queriesFull() const { return bar(0); }
  HK_MEM LdsBarrier queriesEmpty() const { return bar(1); }
  HK_MEM LdsBarrier keysFull(u32 stage) const { return bar(2 + stage); }
  HK_MEM LdsBarrier keysEmpty(u32 stage) const {
    return bar(2 + kStages + stage);
  }
  HK_MEM LdsBarrier valuesFull(u32 stage) const {
    return bar(2 + 2 * kStages + stage);
  }
  HK_MEM LdsBarrier valuesEmpty(u32 stage) const {
    return bar(2 + 3 * kStages + stage);
  }
  /// A word: bit b is set where the keys of box b are missing.
  HK_MEM u32 missing(u32 stage) const {
    return bar(2 + 4 * kStages).at + 4 * stage;
  }

private:
  HK_MEM LdsBarrier bar(u32 i) const { return {values(kStages) + 8 * i}; }
};

template <AttentionSpec S, AttentionTile T> struct BulkAttentionConfig {
  static constexpr DType D = S.type;
  static constexpr int kQueries = T.bq, kKeys = T.bk, kStages = T.stages;
  using Place = RingPlace<kStages>;
  /// Warpgroups that multiply, 64 queries each; one more copies.
  static constexpr int kGroups = T.bq / kWarpgroupRows;
  static constexpr int kThreads = (kGroups + 1) * kWarpgroup;
  static constexpr int kKeyPanels = int(attentionPanels(S.headDim));
  static constexpr int kValuePanels = int(attentionPanels(S.valueDim));
  /// Bytes of a panel.
  static constexpr int kQueryPanel = kQueries * kBulkRowBytes;
  static constexpr int kKeyPanel = kKeys * kBulkRowBytes;
  static constexpr i64 kLds = attentionBulkLds(T, S.headDim, S.valueDim);
  static_assert(info(S.type).bits == 16 && info(S.outType).bits == 16 &&
                T.splitKv == 1 && T.stages == 2 && S.align >= 16 &&
                kTileQueries<T> % 8 == 0 && S.group % T.heads == 0);
  /// Keys may be missing between others.
  static constexpr bool kGaps = S.keys.isPaged();
  /// Keys of a box.
  static constexpr int kBoxKeys =
      kGaps ? int(attentionBoxRows(kKeys, S.keys.pageRows)) : kKeys;

  /// The engine fills rows of keys and columns with zeros where the operand
  /// ends, so that the products may take whole steps.
  static constexpr int kDepth = (S.headDim + 15) / 16 * 16;
  static constexpr int kColumns = valueChainColumns(S.valueDim);
  using Scores = ScoreChain<D, kKeys, kDepth, kQueries>;
  using Values = ValueChain<D, kColumns, kKeys>;
  /// Registers: 64 K of them, of which a thread that copies needs few. One
  /// group has enough without. Five groups begin with 96 each, which is what
  /// they can share.
  static constexpr int kCopyRegisters = kGroups == 2 ? 40 : 32;
  static constexpr int kProductRegisters = kGroups == 2   ? 232
                                           : kGroups == 4 ? 112
                                                          : 160;
  /// Whether a step keeps the base that exponents are taken from, while sums
  /// stay small: without maxima in its way, four groups fill the units that
  /// multiply and that exponentiate.
  static constexpr bool kKeepsBase = kGroups == 4;

  struct Shared {
    static constexpr int kCluster = T.cluster > 1 ? T.cluster : 0;
    u8 bytes[kLds];
  };
  using Layout = BulkAttentionLayout<T, S.headDim, S.valueDim>;

  /// Tiles [first, end) of kKeys keys, from the last to the first: under a
  /// causal mask those with masked scores come first.
  struct Steps {
    int first, end;
    HK_MEM int count() const { return end - first; }
  };
  /// Finds the keys of the tile's sequence.
  HK_MEM static void locateKeys(const AttentionArgs<S> &a,
                                BulkAttentionTile &tile) {
    AttentionBlock w = tile.block(S.group);
    locateSequence<S>(a, w);
    tile.keys = int(w.keys);
    tile.keyStart = int(w.keyStart);
  }
  /// Behind the last key that may be read.
  HK_MEM static int keysEnd(const BulkAttentionTile &tile) {
    if constexpr (S.window.own == OwnKeys::Elsewhere)
      return tile.keys > tile.queries ? tile.keys - tile.queries : 0;
    return tile.keys;
  }
  HK_MEM static Steps stepsOf(const BulkAttentionTile &tile) {
    AttentionBlock w = tile.block(S.group);
    KeyRange first = visibleKeys<S>(w, w.first);
    KeyRange last = visibleKeys<S>(w, w.first + w.count - 1);
    int end = int(last.end), begin = int(minOf(first.begin, last.end));
    if (begin >= end)
      return {0, 0};
    return ofBlock({begin / kKeys, (end + kKeys - 1) / kKeys});
  }

private:
  /// The block's part of the cluster's steps.
  HK_MEM static Steps ofBlock(Steps all) {
    if constexpr (T.cluster == 1)
      return all;
    int rank = int(clusterRank()), count = all.count();
    return {all.first + count * rank / T.cluster,
            all.first + count * (rank + 1) / T.cluster};
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_SM90_CONFIG_H
