//===- held_bounds.h - Bounds of groups in LDS ------------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch of a few microseconds waits for the one in front, then for bounds,
// then for the bytes that they lead to. Here a block reads the bounds while the
// launch in front runs and looks for its tiles at once, so that behind
// waitForLast() the first loads need nothing. What it read is a guess: the
// bounds are read again while those loads are under way, and where one is
// another the block begins anew. Its threads share one copy, as loads past the
// L1 cache of all waves would meet in the same few lines.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_HELD_BOUNDS_H
#define HK_KERNELS_GEMM_SM90_HELD_BOUNDS_H

#include "kernels/device/arch/nvptx_async.h"
#include "kernels/gemm/groups.h"

namespace hk {

/// Of fewer than kHeldBounds groups. All threads of a block of THREADS make all
/// calls together.
template <int THREADS> struct HeldBounds {
  i32 bounds[kHeldBounds];

  /// `early`: the launch in front may still be writing them.
  HK_MEM void keep(const GroupArgs &groups, bool early) {
    for (int b = threadId(); b <= int(groups.count); b += THREADS) {
      Global<const i32> from = groups.given() + b;
      bounds[b] = early ? loadEarly(from) : *from;
    }
    barrier();
  }
  /// Whether one of them is another now, or `changed` of any thread.
  HK_MEM bool changed(const GroupArgs &groups, bool changed = false) const {
    for (int b = threadId(); b <= int(groups.count); b += THREADS)
      changed |= groups.given()[b] != bounds[b];
    return anyOfBlock(changed);
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_HELD_BOUNDS_H
