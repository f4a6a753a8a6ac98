//===- ordered.h - Gradients of attention by five products -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The blocks of keys of warp_specialised.h make dq, too: their parts of it are
// summed in memory, in an order (ordered_sums.h). So scores are computed once.
// One warp copies, one thread adds, two warpgroups multiply.
//
//   OrderedAttentionBackward<spec, tile>::run(args, maps, block, shared)
//   Grid: OrderedBackwardSizes::blocks(), then a block for each sink's
//   gradient. args.turns is zero when the launch begins.
//
// A block waits for such with lower numbers only, which have begun
// (docs/fusion.md).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_BACKWARD_SM90_ORDERED_H
#define HK_KERNELS_ATTENTION_BACKWARD_SM90_ORDERED_H

#include "kernels/attention/backward/sink.h"
#include "kernels/attention/backward/sm90/load.h"
#include "kernels/attention/backward/sm90/ordered_products.h"
#include "kernels/attention/backward/sm90/ordered_sums.h"

namespace hk {

/// KEYHEADS: of a sequence.
template <AttentionBackwardSpec S, AttentionBackwardTile T, int KEYHEADS>
struct OrderedAttentionBackward {
  using Walk = OrderedBackwardWalk<S, T>;
  using Shared = typename Walk::Shared;
  using Grid = OrderedBackwardGrid<S, T, u32(KEYHEADS)>;
  static constexpr int kThreads = Walk::kThreads;

  HK_MEM static void run(const AttentionBackwardArgs<S> &a,
                         const TensorMap *maps, BlockId id, Shared &shared) {
    if constexpr (S.sequence == SequenceLayout::Ragged)
      beginAfterLast(); // offsets may be a result of the launch before
    Grid grid(a);
    if constexpr (S.dsink)
      if (id.x >= u32(grid.blocks())) {
        u32 head = id.x - u32(grid.blocks());
        beginAfterLast();
        return sinkGradient<S, kThreads>(a, head % S.group, head / S.group,
                                         reinterpret_cast<float *>(&shared));
      }
    OrderedWork work;
    BackwardBlock w;
    if (!grid.find(a, id.x, work, w))
      return beginAfterLast();
    if (work.owns)
      return runOwned(a, maps, w, work, shared);
    beginAfterLast();
    OrderedBackwardFinisher<S, T, Grid::kFinishedHeads>::run(
        a, w, OrderedTiles<S, T>(w, KEYHEADS, work.head), work.tile);
  }

private:
  HK_MEM static void runOwned(const AttentionBackwardArgs<S> &a,
                              const TensorMap *maps, const BackwardBlock &w,
                              OrderedWork work, Shared &shared) {
    u32 head = u32(sameInWarp(int(work.head)));
    bool down = work.down;
    typename Walk::Layout lds(shared);
    begin(maps, lds);
    if (threadId() == 0)
      lds.setBlock(w);
    barrier();
    int group = sameInWarp(threadId() / kWarpgroup);
    if (group == Walk::kGroups) {
      giveRegisters<Walk::kCopyRegisters>();
      int warp = sameInWarp(waveId() % kGroupWarps);
      if (warp == 0)
        BulkBackwardLoader<S, T, Own::Keys, typename Walk::Layout>{
            lds, maps, int(head), down}
            .run(a);
      else if (warp == 1 && laneId() == 0)
        OrderedBackwardAdder<S, T>{lds, KEYHEADS, head, down}.run(a);
    } else {
      takeRegisters<Walk::kProductRegisters>();
      OrderedBackwardProducts<S, T, KEYHEADS>(lds, group, down)
          .run(a, head / Walk::kHeads);
    }
  }

  HK_MEM static void begin(const TensorMap *maps,
                           const typename Walk::Layout &lds) {
    if (threadId() == 0) {
      HK_UNROLL for (int i = 0; i < 4; ++i) maps[i].prefetch();
      lds.initBarriers();
      if constexpr (S.sequence == SequenceLayout::Ragged)
        lds.partial().init(1);
      HK_UNROLL for (u32 s = 0; s < Walk::kSumStages; ++s) {
        lds.sumsFull(s).init(Walk::kGroups * kGroupWarps);
        lds.sumsEmpty(s).init(1);
      }
      publishBarriers();
    }
    beginAfterLast();
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_BACKWARD_SM90_ORDERED_H
