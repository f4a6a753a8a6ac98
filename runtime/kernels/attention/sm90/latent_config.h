//===- latent_config.h - Constants of latent attention ----------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the warps of a block agree on where values are the first columns of
// keys: sizes, the layout of LDS, and which rows and keys the block has. Tile i
// of the keys lies in stage i % 2, in three pieces: both halves of the values'
// columns, and the columns behind them, in whose place the tile's probabilities
// stand when its scores are done.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_SM90_LATENT_CONFIG_H
#define HK_KERNELS_ATTENTION_SM90_LATENT_CONFIG_H

#include "kernels/attention/runs.h"
#include "kernels/attention/softmax.h"
#include "kernels/device/copy/tma.h"
#include "kernels/device/tile/wgmma_panels.h"

namespace hk {

/// Pieces of a tile of keys, in the order of its columns.
enum LatentPiece : u32 { kLeftValues, kRightValues, kRestOfKeys, kPieces };

template <AttentionSpec S, AttentionTile T> struct LatentConfig {
  static constexpr DType D = S.type;
  static constexpr int kRows = kWarpgroupRows; // of a block
  static constexpr int kKeys = T.bk, kStages = T.stages;
  static_assert(isLatent(T) && kKeys == 64 && kStages == 2 &&
                info(D).bits == 16 && S.sharesValues() && S.align >= 16 &&
                S.valueDim % 128 == 0 && S.valueDim <= S.headDim);
  static constexpr int kThreads = int(attentionThreads(kArch, T));
  static constexpr int kProductThreads = 2 * kWarpgroup;
  static constexpr int kPanel = kRows * kBulkRowBytes;
  static constexpr int kQueryPanels = int(attentionPanels(S.headDim));
  static constexpr int kHalfPanels = S.valueDim / 128;
  static constexpr int kStagePanels =
      int(attentionLatentPanels(S.headDim, S.valueDim));
  static constexpr int kHalfColumns = S.valueDim / 2;

  /// Keys may be missing between others. Keys of a box.
  static constexpr bool kGaps = S.keys.isPaged();
  static constexpr int kBoxKeys =
      kGaps ? int(attentionBoxRows(kKeys, S.keys.pageRows)) : kKeys;

  static constexpr int firstPanel(u32 piece) {
    return int(piece) * kHalfPanels;
  }
  static constexpr int panelsOf(u32 piece) {
    return piece == kRestOfKeys ? kQueryPanels - 2 * kHalfPanels : kHalfPanels;
  }

  static constexpr int kDepth = (S.headDim + 15) / 16 * 16;
  using Scores = PieceScoreChain<D, kDepth, kHalfPanels, 2 * kHalfPanels>;
  using Values = ValueChain<D, kHalfColumns, kKeys>;
  using OtherValues = LdsValueChain<D, kHalfColumns>;
  /// Registers: what a block of three warpgroups begins with, 168 a thread, of
  /// which those that copy need fewer. To ask for more would wait forever.
  static constexpr int kCopyRegisters = 56;
  static constexpr int kProductRegisters = (3 * 168 - kCopyRegisters) / 2;

  static_assert(sizeof(AttentionBlock) <= kLatentUnitBytes);
  struct Shared {
    u8 bytes[attentionLatentLds(T, S.headDim, S.valueDim)];
  };

  /// Addresses in LDS.
  struct Layout {
    u32 base;

    HK_MEM explicit Layout(const Shared &lds) : base(bulkBase(lds.bytes)) {}
    HK_MEM u32 queries() const { return base; }
    HK_MEM u32 keys(u32 stage, u32 panel = 0) const {
      return base + (kQueryPanels + stage * kStagePanels + panel) * kPanel;
    }
    HK_MEM u32 probabilities(u32 stage) const {
      return keys(stage, 2 * kHalfPanels);
    }
    /// Factor and maximum of a row after a tile of warpgroup `group`.
    HK_MEM u32 turn(u32 group, u32 row) const {
      return keys(kStages) + (group * kRows + row) * 8;
    }
    /// What a thread of `group` has summed of its two rows, of units of work by
    /// turns.
    HK_MEM u32 sums(u32 unit, u32 group, u32 thread) const {
      return turn(2, 0) + ((unit % 2 * 2 + group) * kWarpgroup + thread) * 8;
    }
    /// Unit number `unit` of the block, of which two are known at a time.
    HK_MEM AttentionBlock &unit(u32 unit) const {
      using Unit = __attribute__((address_space(3))) AttentionBlock;
      return *(AttentionBlock *)(Unit *)u64(behindSums() +
                                            unit % 2 * kLatentUnitBytes);
    }
    HK_MEM LdsBarrier queriesFull() const { return bar(0); }
    HK_MEM LdsBarrier queriesEmpty() const { return bar(1); }
    HK_MEM LdsBarrier unitFull(u32 unit) const { return bar(2 + unit % 2); }
    HK_MEM LdsBarrier unitEmpty(u32 unit) const { return bar(4 + unit % 2); }
    HK_MEM LdsBarrier full(u32 stage, u32 piece = 0) const {
      return bar(6 + stage * kPieces + piece);
    }
    HK_MEM LdsBarrier empty(u32 stage, u32 piece) const {
      return bar(6 + (kStages + stage) * kPieces + piece);
    }
    /// A word: bit b is set where the keys of box b are missing.
    HK_MEM u32 missing(u32 stage) const {
      return bar(6 + 2 * kStages * kPieces).at + 4 * stage;
    }

  private:
    HK_MEM u32 behindSums() const { return sums(1, 1, kWarpgroup); }
    HK_MEM LdsBarrier bar(u32 i) const {
      return {behindSums() + 2 * u32(kLatentUnitBytes) + 8 * i};
    }
  };

  /// Tiles of keys that a row of the block sees: `count`, from key `first` on.
  struct Steps {
    int first, count;
  };
  HK_MEM static Steps stepsOf(const AttentionBlock &w) {
    // Ranges grow with the query.
    i64 end = visibleKeys<S>(w, (w.first + w.count - 1) / S.group).end;
    i64 begin = visibleKeys<S>(w, w.first / S.group).begin;
    if (begin >= end)
      return {0, 0};
    int first = int(begin) / kKeys * kKeys;
    return {sameInWarp(first),
            sameInWarp((int(end) - first + kKeys - 1) / kKeys)};
  }

  /// Units of work of a block: f(rows and keys). One wave comes here.
  template <class F>
  HK_MEM static void forEach(const AttentionArgs<S> &a, BlockId id, F f) {
    if constexpr (T.blocks > 0) {
      // Blocks of the same keys are neighbours, which meet in the L2 cache.
      u32 tiles = u32((a.queries * S.group + T.bq - 1) / T.bq);
      i64 first = i64(id.x % tiles) * T.bq;
      AttentionRuns<S, T, kKeys, NoRegions, kWave>(a).forEach(
          id.x / tiles, [&](AttentionBlock w) __attribute__((always_inline)) {
            w.first = first;
            w.count = minOf(T.bq, w.count - first);
            f(w);
          });
    } else {
      AttentionBlock w;
      if (locate<S, T>(a, id, w))
        f(w);
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_SM90_LATENT_CONFIG_H
