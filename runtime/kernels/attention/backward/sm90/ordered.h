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
  using Grid = OrderedBackwardGrid<S, T>;
  using Work = typename Grid::Work;
  static constexpr int kThreads = Walk::kThreads;

  HK_MEM static void run(const AttentionBackwardArgs<S> &a,
                         const TensorMap *maps, BlockId id, Shared &shared) {
    Grid grid(a, KEYHEADS);
    if constexpr (S.dsink)
      if (id.x >= u32(grid.blocks())) {
        u32 head = id.x - u32(grid.blocks());
        beginAfterLast();
        return sinkGradient<S, kThreads>(a, head % S.group, head / S.group,
                                         reinterpret_cast<float *>(&shared));
      }
    Work work = grid.workOf(id.x);
    if (work.pair >= u32(grid.pairs)) // there is none so far in front
      return beginAfterLast();
    BackwardBlock w;
    u32 tile = work.owns ? work.tile : 0, keyHead = work.keyHead();
    locateBackward<S, Own::Keys>(a,
                                 keyHead / KEYHEADS * u32(grid.ownTiles) + tile,
                                 keyHead % KEYHEADS, T.rows, w);
    if (work.owns)
      return runOwned(a, maps, w, work, shared);
    beginAfterLast();
    OrderedBackwardFinisher<S, T>::run(
        a, w, OrderedTiles<S, T>(w, KEYHEADS, work.part()), work.tile);
  }

private:
  HK_MEM static void runOwned(const AttentionBackwardArgs<S> &a,
                              const TensorMap *maps, const BackwardBlock &w,
                              Work work, Shared &shared) {
    u32 part = u32(sameInWarp(int(work.part())));
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
        BulkBackwardLoader<S, T, Own::Keys>{lds, maps, int(part) * Walk::kHeads,
                                            down}
            .run(a);
      else if (warp == 1 && laneId() == 0)
        OrderedBackwardAdder<S, T>{lds, KEYHEADS, part, down}.run(a);
    } else {
      takeRegisters<Walk::kProductRegisters>();
      OrderedBackwardProducts<S, T>(lds, group, down).run(a, KEYHEADS, part);
    }
  }

  HK_MEM static void begin(const TensorMap *maps,
                           const typename Walk::Layout &lds) {
    if (threadId() == 0) {
      HK_UNROLL for (int i = 0; i < 4; ++i) maps[i].prefetch();
      lds.initBarriers();
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
