//===- ordered_sums.h - dq, summed in memory in order -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A part of dq is what a tile of keys adds to a tile of queries: f32, in the
// order of the accumulators, so that it is one run of LDS and of memory. The
// copy engine adds it where the sum lies. A word for each tile of queries
// counts the blocks that have added, and each waits until its turn: the sum is
// the same in every run. Blocks that come behind read whole sums, scale and
// round them.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_BACKWARD_SM90_ORDERED_SUMS_H
#define HK_KERNELS_ATTENTION_BACKWARD_SM90_ORDERED_SUMS_H

#include "kernels/attention/backward/sm90/ordered_config.h"
#include "kernels/attention/sm90/store.h"
#include "kernels/device/order.h"

namespace hk {

/// Tiles of queries that all sequences and heads have room for. Computed where
/// it is needed: a register that kept it through the steps would be spilled.
template <AttentionBackwardSpec S, AttentionBackwardTile T>
HK_DEV u32 orderedParts(AttentionBackwardArgs<S> a, u32 keyHeads) {
  u32 queries = u32(a.queries);
  settleWord(queries);
  a.queries = queries;
  return u32(backwardTiles<S, Own::Rows, 1>(a, T.walked)) * keyHeads * S.group;
}

/// The tiles of queries of some heads, one head after the other.
template <AttentionBackwardSpec S, AttentionBackwardTile T>
struct OrderedTiles {
  int each; // of a head
  int head; // of the group, the first
  u32 first;
  HK_MEM OrderedTiles(const BackwardBlock &w, u32 keyHeads, u32 head)
      : each((w.queries + T.walked - 1) / T.walked), head(int(head)),
        first(firstOf(w, keyHeads) +
              (u32(w.head) * S.group + head) * u32(each)) {}
  HK_MEM u32 firstOf(const BackwardBlock &w, u32 keyHeads) const {
    u32 heads = keyHeads * S.group;
    if constexpr (S.sequence == SequenceLayout::Ragged)
      return u32(raggedTile(w.queryStart, T.walked, w.sequence)) * heads;
    return u32(w.sequence) * heads * u32(each);
  }
  HK_MEM i64 at(int head, int tile) const {
    return first + u32(head * each + tile);
  }
};

/// What one thread does.
template <AttentionBackwardSpec S, AttentionBackwardTile T>
struct OrderedBackwardAdder {
  using Walk = OrderedBackwardWalk<S, T>;
  typename Walk::Layout lds;
  u32 keyHeads, head;
  bool down;

  HK_MEM void run(const AttentionBackwardArgs<S> &a) const {
    BackwardBlock w = lds.getBlock();
    typename Walk::Steps steps = Walk::stepsOf(w);
    OrderedTiles<S, T> tiles(w, keyHeads, head);
    auto step = steps.begin(down);
    for (u32 use = 0; int(use) < steps.count(); ++use) {
      add(a, tiles.at(step.head, step.tile), turnOf(w, step.tile), use);
      step = steps.next(step);
    }
  }

private:
  HK_MEM void add(const AttentionBackwardArgs<S> &a, i64 tile, u32 turn,
                  u32 use) const {
    RingPlace<Walk::kSumStages> at(use);
    Global<float> sum = a.sums + tile * Walk::kSumFloats;
    lds.sumsFull(at.stage).wait(at.phase);
    if (turn == 0) {
      storeRun(sum, lds.sums(at.stage), Walk::kSumBytes);
    } else {
      awaitWord(a.turns + tile, turn);
      publishToMemoryCopies();
      addRun(sum, lds.sums(at.stage), Walk::kSumBytes);
    }
    waitStoresRead<0>();
    lds.sumsEmpty(at.stage).arrive();
    waitStores();
    publishToMemoryCopies();
    releaseWord(a.turns + tile, turn + 1);
  }
  /// Blocks that add to the tile before.
  HK_MEM u32 turnOf(const BackwardBlock &w, int tile) const {
    SeenTiles<S, T> seen(w, tile);
    int own = w.first / T.rows;
    return u32(down ? own - seen.first : seen.end - 1 - own);
  }
};

/// What pairs of one key head sum of the same keys, one after the other: the
/// accumulators of a block, behind all parts of dq.
template <AttentionBackwardSpec S, AttentionBackwardTile T> struct OrderedKeys {
  using Walk = OrderedBackwardWalk<S, T>;
  static constexpr int kThreads = Walk::kGroups * kWarpgroup;
  Global<f32x4> sums; // of this thread, kThreads apart
  Global<u32> turn;

  HK_MEM OrderedKeys(const AttentionBackwardArgs<S> &a, const BackwardBlock &w,
                     u32 keyHeads) {
    u32 parts = orderedParts<S, T>(a, keyHeads);
    u32 each = u32(w.keys + T.rows - 1) / T.rows;
    u32 keys = u32(w.head) * each + u32(w.first) / T.rows;
    if constexpr (S.sequence == SequenceLayout::Ragged)
      keys += u32(raggedTile(w.keyStart, T.rows, w.sequence)) * keyHeads;
    else
      keys += u32(w.sequence) * keyHeads * each;
    sums = (Global<f32x4>)(a.sums + i64(parts) * Walk::kSumFloats +
                           keys * orderedKeyFloats(T, S.headDim, S.valueDim)) +
           threadId();
    turn = a.turns + parts + keys;
  }
  /// Adds what the pairs before have left, the first `n` words from `from` on.
  template <int N> HK_MEM void add(int from, float (&sum)[N]) const {
    HK_UNROLL for (int i = 0; i < N; i += 4) {
      f32x4 v = sums[(from + i) / 4 * kThreads];
      HK_UNROLL for (int e = 0; e < 4; ++e) sum[i + e] += v[e];
    }
  }
  template <int N> HK_MEM void leave(int from, const float (&sum)[N]) const {
    HK_UNROLL for (int i = 0; i < N; i += 4) sums[(from + i) / 4 * kThreads] =
        f32x4{sum[i], sum[i + 1], sum[i + 2], sum[i + 3]};
  }
};

/// Whole sums of some tiles of queries of HEADS heads, to dq.
template <AttentionBackwardSpec S, AttentionBackwardTile T, int HEADS>
struct OrderedBackwardFinisher {
  using Walk = OrderedBackwardWalk<S, T>;
  static constexpr int kThreads = Walk::kGroups * kWarpgroup;
  /// Accumulators of a thread.
  static constexpr int kEach = Walk::kSumFloats / kThreads;
  static constexpr int kColumns = S.headDim / Walk::kGroups;

  /// `part`: tiles from part * kOrderedTilesEach on.
  HK_MEM static void run(const AttentionBackwardArgs<S> &a,
                         const BackwardBlock &w,
                         const OrderedTiles<S, T> &tiles, u32 part) {
    int from = int(part) * int(kOrderedTilesEach);
    int count = minOf(int(kOrderedTilesEach), HEADS * tiles.each - from);
    if (threadId() < count) {
      int i = from + threadId();
      SeenTiles<S, T> seen(w, i % tiles.each);
      awaitWord(a.turns + (tiles.first + i), u32(seen.end - seen.first));
    }
    barrier();
    if (threadId() >= kThreads)
      return;
    float sum[2][kEach];
    load(a, w, tiles, from, sum[0]);
    HK_UNROLL for (int i = 0; i < int(kOrderedTilesEach); ++i) {
      if (i + 1 < count)
        load(a, w, tiles, from + i + 1, sum[(i + 1) % 2]);
      if (i < count)
        store(a, w, tiles, from + i, sum[i % 2]);
    }
  }

private:
  HK_MEM static void load(const AttentionBackwardArgs<S> &a,
                          const BackwardBlock &w,
                          const OrderedTiles<S, T> &tiles, int i,
                          float (&sum)[kEach]) {
    SeenTiles<S, T> seen(w, i % tiles.each);
    auto from = (Global<const f32x4>)(a.sums +
                                      i64(tiles.first + i) * Walk::kSumFloats) +
                threadId() / kWarpgroup * (kEach / 4 * kWarpgroup) +
                threadId() % kWarpgroup;
    HK_UNROLL for (int e = 0; e < kEach; e += 4) {
      f32x4 v = {};
      if (seen.first < seen.end)
        v = from[e / 4 * kWarpgroup];
      HK_UNROLL for (int x = 0; x < 4; ++x) sum[e + x] = v[x];
    }
  }
  HK_MEM static void store(const AttentionBackwardArgs<S> &a,
                           const BackwardBlock &w,
                           const OrderedTiles<S, T> &tiles, int i,
                           const float (&sum)[kEach]) {
    int row =
        i % tiles.each * T.walked + waveId() % kGroupWarps * 16 + laneId() / 4;
    Global<Storage<S.outType>> head =
        viewOf<S, Own::Rows>(a.dq, a.dqStride, w).base +
        (tiles.head + i / tiles.each) * a.dqStride.head +
        threadId() / kWarpgroup * kColumns;
    HK_UNROLL for (int r = 0; r < 2; ++r) {
      int query = row + 8 * r;
      storeAccumulatorRow<S.outType, kColumns>(
          head + i64(minOf(query, w.queries - 1)) * a.dqStride.row,
          query < w.queries, sum, r, a.scale);
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_BACKWARD_SM90_ORDERED_SUMS_H
