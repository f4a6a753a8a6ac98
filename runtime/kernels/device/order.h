//===- order.h - Blocks of a launch that wait for others --------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks count themselves when all they have written can be seen by any other
// block of the launch. A block that waits has a higher number than those that
// it waits for, and blocks begin in the order of their numbers: these have
// begun, and end without its help. NVIDIA's chips begin blocks so; on others a
// block draws its number when it begins (docs/fusion.md).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_ORDER_H
#define HK_KERNELS_DEVICE_ORDER_H

#include "hk/Contract/Order.h"
#include "kernels/device/arch.h"
#include "kernels/device/launch.h"
#include "kernels/device/peer.h"

namespace hk {

#if defined(__NVPTX__)
/// Returns when `word` is at least `least`; what was written before it was set
/// can be seen by this thread then.
HK_DEV void awaitWord(Global<const u32> word, u32 least) {
  u32 now;
  do
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                 : "=r"(now)
                 : "l"(word)
                 : "memory");
  while (now < least);
}
/// Sets `word`, behind all that this thread has written or seen.
HK_DEV void releaseWord(Global<u32> word, u32 value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value)
               : "memory");
}
#endif

struct OrderLds {
  u32 number;
};
static_assert(sizeof(OrderLds) == kOrderLdsBytes);

/// The block whose work this one does; those with lower numbers have begun.
HK_DEV BlockId numberedBlock([[maybe_unused]] Global<u32> words, BlockId block,
                             [[maybe_unused]] OrderLds &lds) {
#if defined(__AMDGCN__)
  static_assert(drawsBlockNumbers(kTarget));
  if (threadId() == 0)
    lds.number = exchangeAdd(words + kOrderBegun, 1);
  barrier();
  block.x = __builtin_amdgcn_readfirstlane(lds.number);
  barrier(); // Its LDS is the work's from here on.
#elif defined(__NVPTX__)
  static_assert(!drawsBlockNumbers(kTarget));
#endif
  return block;
}

/// Counts this block, when all of its threads are here.
HK_DEV void countBlock([[maybe_unused]] Global<u32> words) {
#if defined(__AMDGCN__)
  // A wave answers for its own stores alone.
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  barrier();
  if (threadId() == 0)
    addToWord(words + kOrderDone, 1);
#elif defined(__NVPTX__)
  barrier();
  if (threadId() == 0) {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    addToWord(words + kOrderDone, 1);
  }
#endif
}

/// Returns when `count` blocks have counted themselves; what they wrote is
/// visible then.
HK_DEV void awaitBlocks([[maybe_unused]] Global<u32> words,
                        [[maybe_unused]] u32 count) {
#if defined(__AMDGCN__)
  if (threadId() == 0)
    while (__scoped_atomic_load_n(words + kOrderDone, __ATOMIC_RELAXED,
                                  __MEMORY_SCOPE_DEVICE) < count)
      __builtin_amdgcn_s_sleep(1);
  barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
#elif defined(__NVPTX__)
  if (threadId() == 0)
    awaitWord(words + kOrderDone, count);
  barrier();
#endif
}

} // namespace hk

#endif // HK_KERNELS_DEVICE_ORDER_H
