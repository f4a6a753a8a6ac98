//===- warp_specialised.h - Gradients of attention on sm_90a -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The blocks of backward.h, warp-specialised: one warp copies (tma.h), two
// warpgroups multiply (wgmma).
//
//   BulkAttentionBackward<spec, tile>::run(args, maps, block, shared)
//   Grid: as backward.h has it, but a tile of queries is of one head; the tiles
//   of the heads of a group lie side by side. maps: queries, gradients, keys,
//   values.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_BACKWARD_SM90_WARP_SPECIALISED_H
#define HK_KERNELS_ATTENTION_BACKWARD_SM90_WARP_SPECIALISED_H

#include "kernels/attention/backward/sink.h"
#include "kernels/attention/backward/sm90/load.h"
#include "kernels/attention/backward/sm90/products.h"

namespace hk {

template <AttentionBackwardSpec S, AttentionBackwardTile T>
struct BulkAttentionBackward {
  using Config = BulkBackwardConfig<S, T>;
  using Shared = typename Config::Shared;
  static constexpr int kThreads = Config::kThreads;

  HK_MEM static void run(const AttentionBackwardArgs<S> &a,
                         const TensorMap *maps, BlockId id, Shared &shared) {
    u32 tile = id.x;
    if constexpr (S.dsink) {
      if (tile < u32(S.group)) {
        beginAfterLast();
        return sinkGradient<S, kThreads>(a, tile, id.y,
                                         reinterpret_cast<float *>(&shared));
      }
      tile -= S.group;
    }
    u32 tilesOfKeys = 0;
    if constexpr (S.dk || S.dv)
      tilesOfKeys = u32(backwardTiles<S, Own::Keys, 1>(a, T.rows));
    bool ownsKeys = tile < tilesOfKeys;
    tile -= ownsKeys ? 0 : tilesOfKeys;
    if constexpr (S.dk || S.dv)
      if (ownsKeys)
        return runOwned<Own::Keys>(a, maps, tile, id.y, shared);
    if constexpr (S.dq)
      runOwned<Own::Rows>(a, maps, tile, id.y, shared);
  }

private:
  template <Own O>
  HK_MEM static void runOwned(const AttentionBackwardArgs<S> &a,
                              const TensorMap *maps, u32 tile, u32 keyHead,
                              Shared &shared) {
    using Walk = BulkBackwardWalk<S, T, O>;
    typename Walk::Layout lds(shared);
    begin<Walk>(maps, lds);
    BackwardBlock w;
    int head;
    if (!locateBulkBackward<S, T, O>(a, tile, keyHead, w, head))
      return;
    if (threadId() == 0)
      lds.setBlock(w);
    barrier();
    int group = sameInWarp(threadId() / kWarpgroup);
    if (group == Config::kGroups) {
      giveRegisters<Config::kCopyRegisters>();
      if (waveId() % kGroupWarps == 0)
        BulkBackwardLoader<S, T, O>{lds, maps, head}.run(a);
    } else {
      takeRegisters<Config::kProductRegisters>();
      BulkBackwardProducts<S, T, O>(lds, head, group).run(a);
    }
  }

  template <class Walk>
  HK_MEM static void begin(const TensorMap *maps,
                           const typename Walk::Layout &lds) {
    if (threadId() == 0) {
      HK_UNROLL for (int i = 0; i < 4; ++i) maps[i].prefetch();
      lds.initBarriers();
      publishBarriers();
    }
    beginAfterLast();
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_BACKWARD_SM90_WARP_SPECIALISED_H
