//===- stages.h - Blocks whose warpgroups share stages -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What loops have in common where a warpgroup fills stages and others multiply
// them: how a block begins, how its tiles' stages are filled one after the
// other, and how it ends. `tiles` and `loader` are those of warp_loop.h, and a
// layout has barriers full(stage) and empty(stage).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_STAGES_H
#define HK_KERNELS_GEMM_SM90_STAGES_H

#include "kernels/gemm/sm90/config.h"

namespace hk {

/// The barriers of Stages stages: `arrivals` fill one, `readers` have read it.
template <int Stages, class Layout>
HK_DEV void initStages(const Layout &lds, u32 arrivals, u32 readers) {
  HK_UNROLL for (int s = 0; s < Stages; ++s) {
    lds.full(s).init(arrivals);
    lds.empty(s).init(readers);
  }
}

struct NoMoreBarriers {
  HK_MEM void operator()() const {}
};

/// Begins a block, behind the kernel in front: all of its cluster have their
/// barriers, also those that one thread makes by `more`.
template <class Config, class Loader, class Layout, class More = NoMoreBarriers>
HK_DEV void beginStages(const TensorMap *maps, const Layout &lds,
                        const More &more = {}) {
  if (threadId() == 0) {
    HK_UNROLL for (int i = 0; i < Loader::kMaps; ++i) maps[i].prefetch();
    // A warp arrives once at every block of the cluster.
    initStages<Config::kStages>(lds, Loader::kArrivals,
                                Config::kCluster * Config::kGroups * 4);
    more();
    publishBarriers();
  }
  meetCluster<Config::kCluster>();
  beginAfterLast();
}

/// Fills the stages of all tiles, by threads that walk over them.
template <class Ring, class Tiles, class Loader, class Layout>
HK_DEV void fillStages(Ring &ring, Tiles &tiles, Loader &loader,
                       const Layout &lds) {
  for (WarpPlace at; tiles.take(at);) {
    loader.begin(at);
    if (!loader.works())
      continue;
    for (int step = 0; step < at.steps; ++step) {
      // The first round finds all stages empty.
      lds.empty(ring.stage).wait(ring.phase ^ 1);
      loader.fill(at, step, ring.stage);
      ring.advance();
    }
  }
}

/// Nobody ends while another may still arrive at its barriers.
template <int Cluster> HK_DEV void endStages() {
  if constexpr (Cluster > 1)
    meetCluster<Cluster>();
}

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_STAGES_H
