//===- barrier.hip - A loop whose head is a barrier -----------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Begins with a barrier, ends with a store to LDS, and is entered with nothing
// under way: LLVM 22 takes away the wait that a fence puts in front of such a
// barrier. With PLANTED the barrier is fences and s_barrier alone.
//
//===----------------------------------------------------------------------===//

#include "kernels/device/arch.h"

using namespace hk;

HK_DEV void atHead() {
#if defined(PLANTED)
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
#else
  barrier();
#endif
}

extern "C" __attribute__((global)) __attribute__((launch_bounds(256))) void
ring(u32 *to, int steps) {
  __attribute__((shared)) static u32 lds[256];
  lds[threadId()] = u32(threadId());
  barrier();
  u32 sum = 0;
  for (int i = 0; i < steps; ++i) {
    atHead();
    sum += lds[(threadId() + 64) % 256];
    atHead();
    lds[threadId()] = sum;
  }
  to[threadId()] = sum;
}
