//===- peer.h - Memory that several devices access -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accesses of memory that another device may write or read at the same time.
// They go past the caches that devices do not share. Words of 4 bytes are
// whole; nothing is said of the order of two of them. On the host there is one
// device.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_PEER_H
#define HK_KERNELS_DEVICE_PEER_H

#include "kernels/device/arch.h"

namespace hk {

HK_DEV u32x4 loadPeer(Global<const u32x4> p) {
#if defined(__AMDGCN__)
  auto halves = (Global<const u64>)p;
  u64 low =
      __scoped_atomic_load_n(halves, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
  u64 high = __scoped_atomic_load_n(halves + 1, __ATOMIC_RELAXED,
                                    __MEMORY_SCOPE_SYSTEM);
  return u32x4{u32(low), u32(low >> 32), u32(high), u32(high >> 32)};
#elif defined(__NVPTX__)
  u32x4 v;
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
               : "l"(p)
               : "memory");
  return v;
#else
  return *p;
#endif
}

HK_DEV void storePeer(Global<u32x4> p, u32x4 v) {
#if defined(__AMDGCN__)
  auto halves = (Global<u64>)p;
  __scoped_atomic_store_n(halves, v[0] | u64(v[1]) << 32, __ATOMIC_RELAXED,
                          __MEMORY_SCOPE_SYSTEM);
  __scoped_atomic_store_n(halves + 1, v[2] | u64(v[3]) << 32, __ATOMIC_RELAXED,
                          __MEMORY_SCOPE_SYSTEM);
#elif defined(__NVPTX__)
  asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p),
               "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3])
               : "memory");
#else
  *p = v;
#endif
}

/// A word that the host or another block writes.
HK_DEV u32 loadPeerWord(Global<const u32> p) {
#if defined(__AMDGCN__)
  return __scoped_atomic_load_n(p, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
#elif defined(__NVPTX__)
  u32 v;
  asm volatile("ld.volatile.global.u32 %0, [%1];"
               : "=r"(v)
               : "l"(p)
               : "memory");
  return v;
#else
  return *p;
#endif
}

/// Adds to a word that blocks of this device share; orders nothing.
HK_DEV void addToWord(Global<u32> p, u32 v) {
#if defined(__AMDGCN__)
  (void)__scoped_atomic_fetch_add(p, v, __ATOMIC_RELAXED,
                                  __MEMORY_SCOPE_DEVICE);
#elif defined(__NVPTX__)
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(p), "r"(v)
               : "memory");
#else
  *p += v;
#endif
}

/// The same, and what was there before.
HK_DEV u32 exchangeAdd(Global<u32> p, u32 v) {
#if defined(__AMDGCN__)
  return __scoped_atomic_fetch_add(p, v, __ATOMIC_RELAXED,
                                   __MEMORY_SCOPE_DEVICE);
#elif defined(__NVPTX__)
  u32 before;
  asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(p), "r"(v)
               : "memory");
  return before;
#else
  u32 before = *p;
  *p += v;
  return before;
#endif
}

/// Until what this thread has written to another device is there. The end of a
/// kernel does not wait for that.
HK_DEV void awaitPeerStores() {
#if defined(__AMDGCN__)
  __scoped_atomic_thread_fence(__ATOMIC_SEQ_CST, __MEMORY_SCOPE_SYSTEM);
#elif defined(__NVPTX__)
  asm volatile("fence.sc.sys;" ::: "memory");
#endif
}

/// A word of another device that says that what this one has written there
/// before, and what launches before have, is there.
HK_DEV void tellPeer(Global<u32> p, u32 v) {
#if defined(__AMDGCN__)
  __scoped_atomic_store_n(p, v, __ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM);
#elif defined(__NVPTX__)
  asm volatile("fence.acq_rel.sys;\n"
               "st.release.sys.global.u32 [%0], %1;" ::"l"(p),
               "r"(v)
               : "memory");
#else
  *p = v;
#endif
}

/// What was told: behind it the other device's words are read.
HK_DEV u32 hearPeer(Global<const u32> p) {
#if defined(__AMDGCN__)
  return __scoped_atomic_load_n(p, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_SYSTEM);
#elif defined(__NVPTX__)
  u32 v;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];"
               : "=r"(v)
               : "l"(p)
               : "memory");
  return v;
#else
  return *p;
#endif
}

/// Between two looks at memory that another device is going to write.
HK_DEV void pauseForPeer() {
#if defined(__AMDGCN__)
  __builtin_amdgcn_s_sleep(1);
#elif defined(__NVPTX__)
  asm volatile("nanosleep.u32 200;");
#endif
}

} // namespace hk

#endif // HK_KERNELS_DEVICE_PEER_H
