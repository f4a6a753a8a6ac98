//===- lds_atomic.h - Counters in LDS -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Additions to a word in LDS by any thread of the block. They order nothing
// else: a barrier lies before the sum is read. On the host a block is one
// thread.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_LDS_ATOMIC_H
#define HK_KERNELS_DEVICE_LDS_ATOMIC_H

#include "kernels/device/arch.h"

namespace hk {

/// Adds v; the value before.
HK_DEV u32 ldsFetchAdd(u32 *p, u32 v) {
#if defined(__AMDGCN__)
  return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED,
                                __HIP_MEMORY_SCOPE_WORKGROUP);
#elif defined(__NVPTX__)
  return u32(__nvvm_atom_cta_add_gen_i(reinterpret_cast<int *>(p), int(v)));
#else
  u32 old = *p;
  *p += v;
  return old;
#endif
}
HK_DEV void ldsAdd(u32 *p, u32 v) { (void)ldsFetchAdd(p, v); }

} // namespace hk

#endif // HK_KERNELS_DEVICE_LDS_ATOMIC_H
