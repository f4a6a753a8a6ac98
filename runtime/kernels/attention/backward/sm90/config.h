//===- config.h - Constants of warp-specialised gradients -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the warps of a block agree on: sizes, the layout of LDS, and what a
// block walks over. A block owns T.rows keys of a key head, or as many queries
// of one head; it walks T.walked queries of one head after the other of the
// group, or twice as many keys, so that both kinds of blocks fill the same LDS.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_BACKWARD_SM90_CONFIG_H
#define HK_KERNELS_ATTENTION_BACKWARD_SM90_CONFIG_H

#include "hk/Contract/AttentionBackwardTiles.h"
#include "kernels/attention/backward/softmax.h"
#include "kernels/attention/sm90/config.h"

namespace hk {

/// What depends on neither kind of block.
template <AttentionBackwardSpec S, AttentionBackwardTile T>
struct BulkBackwardConfig {
  static constexpr int kOwned = T.rows;
  /// Warpgroups that multiply, 64 owned rows each; one more copies.
  static constexpr int kGroups = T.rows / kWarpgroupRows;
  static constexpr int kThreads = (kGroups + 1) * kWarpgroup;
  /// Of queries and keys, and of values and the gradient.
  static constexpr int kHeadPanels = int(attentionPanels(S.headDim));
  static constexpr int kValuePanels = int(attentionPanels(S.valueDim));
  static constexpr int kPanels = kHeadPanels + kValuePanels;
  static constexpr int kOwnedPanel = kOwned * kBulkRowBytes;
  /// The engine fills columns with zeros where the operand ends.
  static constexpr int kHeadDepth = (S.headDim + 15) / 16 * 16;
  static constexpr int kValueDepth = (S.valueDim + 15) / 16 * 16;
  static constexpr int kHeadColumns = valueChainColumns(S.headDim);
  static constexpr int kValueColumns = valueChainColumns(S.valueDim);
  /// Registers: 64 K of them, of which a thread that copies needs few.
  static constexpr int kCopyRegisters = 40, kProductRegisters = 232;
  static constexpr i64 kLds =
      attentionBackwardLdsBytes(Arch::Sm90a, T, S.type, S.headDim, S.valueDim);
  static_assert(info(S.type).bits == 16 && info(S.outType).bits == 16 &&
                S.align >= 16 && T.rows == 128 && T.stages % 2 == 0 &&
                bulkBackwardFits(T, S.headDim, S.valueDim) &&
                kHeadColumns == bulkBackwardColumns(S.headDim) &&
                kValueColumns == bulkBackwardColumns(S.valueDim));

  struct Shared {
    u8 bytes[kLds];
  };
};

/// See orderedHeads().
template <AttentionBackwardSpec S>
inline constexpr int kOrderedHeads = int(orderedHeads(
    S.group, (S.causal || S.windowRight >= 0) && S.windowLeft < 0));

/// The same of blocks that own keys, or queries.
template <AttentionBackwardSpec S, AttentionBackwardTile T, Own O>
struct BulkBackwardWalk : BulkBackwardConfig<S, T> {
  using Config = BulkBackwardConfig<S, T>;
  static constexpr bool kKeys = O == Own::Keys;
  /// Rows of a step, and of what steps are held at once.
  static constexpr int kRows = kKeys ? T.walked : 2 * T.walked;
  static constexpr int kStages = kKeys ? T.stages : T.stages / 2;
  static constexpr int kPanel = kRows * kBulkRowBytes;
  static constexpr int kHeadBytes = Config::kHeadPanels * kPanel;
  static constexpr int kStageBytes = Config::kPanels * kPanel;
  /// Heads whose queries are walked over one after the other.
  static constexpr int kHeads = !kKeys           ? 1
                                : sumsInOrder(T) ? kOrderedHeads<S>
                                                 : S.group;

  /// Addresses in LDS: what is owned, the stages, of queries walked over what
  /// is subtracted from scores and from dp, barriers.
  struct Layout {
    u32 base;

    HK_MEM explicit Layout(const typename Config::Shared &lds)
        : base(bulkBase(lds.bytes)) {}
    HK_MEM u32 ownedHead() const { return base; }
    HK_MEM u32 ownedValue() const {
      return base + Config::kHeadPanels * Config::kOwnedPanel;
    }
    HK_MEM u32 head(u32 stage) const {
      return base + Config::kPanels * Config::kOwnedPanel + stage * kStageBytes;
    }
    HK_MEM u32 value(u32 stage) const { return head(stage) + kHeadBytes; }
    HK_MEM u32 bases(u32 stage) const {
      return head(kStages) + stage * kRows * 8;
    }
    HK_MEM u32 deltas(u32 stage) const { return bases(stage) + kRows * 4; }
    /// What lies there has been filled; every warp that multiplies has read it.
    HK_MEM LdsBarrier ownedFull() const { return bar(0); }
    HK_MEM LdsBarrier full(u32 stage) const { return bar(1 + stage); }
    HK_MEM LdsBarrier empty(u32 stage) const {
      return bar(1 + kStages + stage);
    }
    /// By one thread, before the block meets.
    HK_MEM void initBarriers() const {
      ownedFull().init(1);
      HK_UNROLL for (u32 s = 0; s < kStages; ++s) {
        full(s).init(1);
        empty(s).init(Config::kGroups * kGroupWarps);
      }
    }
    /// What is owned: registers are scarce.
    HK_MEM void setBlock(const BackwardBlock &w) const {
      *(LdsBlock *)u64(bar(1 + 2 * T.stages).at) = w;
    }
    HK_MEM BackwardBlock getBlock() const {
      return *(const LdsBlock *)u64(bar(1 + 2 * T.stages).at);
    }

  private:
    using LdsBlock = __attribute__((address_space(3))) BackwardBlock;
    HK_MEM LdsBarrier bar(u32 i) const { return {bases(kStages) + 8 * i}; }
  };

  using Place = RingPlace<kStages>;

  /// A tile of what is walked over, of which head, and whether tiles go down.
  struct Step {
    int tile, head;
    bool down;
  };
  /// Whether heads behind the first one are walked down, where sums are made in
  /// order. A block with fewer queries in front of it is ahead of its neighbour
  /// by two tiles at the first, and by two more behind every head: going down
  /// takes one of these back, so what both walk over stays in the L2 cache more
  /// often. With a left window blocks have equally many queries, and one that
  /// goes down would come before those whose turn is earlier.
  static constexpr bool kLaterHeadsDown = sumsInOrder(T) && S.windowLeft < 0;
  /// Tiles [first, end) of kRows keys, or of kRows queries of each head; walked
  /// over from the first, or `down` from the last.
  struct Steps {
    int first, end;
    HK_MEM int count() const { return (end - first) * kHeads; }
    HK_MEM Step begin(bool down) const {
      return {down ? end - 1 : first, 0, down};
    }
    HK_MEM Step next(Step s) const {
      s.tile += s.down ? -1 : 1;
      if (s.tile == end || s.tile < first) {
        s.down |= kLaterHeadsDown;
        s = {s.down ? end - 1 : first, s.head + 1, s.down};
      }
      return s;
    }
  };
  HK_MEM static BackwardRange rangeOf(const BackwardBlock &w, i64 own) {
    return kKeys ? queriesOf<S>(w, own) : keysOf<S>(w, own);
  }
  /// The same of row `row` of the block, empty behind its last one where dq is
  /// summed. That in words, of which registers hold more: what 2^30 rows sum
  /// fits into no memory.
  HK_MEM static void rangeOf(const BackwardBlock &w, int row, int &begin,
                             int &end) {
    if constexpr (!sumsInOrder(T)) {
      BackwardRange range = rangeOf(w, i64(w.first) + row);
      begin = int(range.begin);
      end = int(range.end);
    } else {
      constexpr i64 most = 1 << 30;
      int own = w.first + row + w.queries - w.keys;
      begin = 0;
      end = w.queries;
      if constexpr (S.causal)
        begin = maxOf(begin, own);
      if constexpr (S.windowRight >= 0)
        begin = maxOf(begin, own - int(minOf(S.windowRight, most)));
      if constexpr (S.windowLeft >= 0)
        end = minOf(end, own + int(minOf(S.windowLeft, most)) + 1);
      end = own < w.queries ? end : begin; // behind the last key
    }
  }
  HK_MEM static Steps stepsOf(const BackwardBlock &w) {
    i64 begin = rangeOf(w, w.first).begin;
    i64 end = rangeOf(w, i64(w.first) + w.count - 1).end;
    if (begin >= end)
      return {0, 0};
    return {int(begin / kRows), int((end + kRows - 1) / kRows)};
  }
};

/// The keys, or the queries and their head of the group, that block `i` of its
/// kind owns; false: none.
template <AttentionBackwardSpec S, AttentionBackwardTile T, Own O>
HK_DEV bool locateBulkBackward(const AttentionBackwardArgs<S> &a, u32 i,
                               u32 keyHead, BackwardBlock &w, int &head) {
  constexpr int heads = O == Own::Keys ? 1 : S.group;
  head = int(i % u32(heads));
  return locateBackward<S, O, 1>(a, i / u32(heads), keyHead, T.rows, w);
}

} // namespace hk

#endif // HK_KERNELS_ATTENTION_BACKWARD_SM90_CONFIG_H
