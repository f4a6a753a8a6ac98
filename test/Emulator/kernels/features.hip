//===- features.hip - What kernels from other compilers use
//-----------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private memory, calls, hidden arguments, dynamic LDS, atomics, flat pointers,
// constant tables, partial waves.
//
//===----------------------------------------------------------------------===//
#include "device.h"

// An array that is indexed dynamically and too large for registers.
KERNEL void private_array(int *out, const int *in, int n) {
  volatile int a[80];
  for (int i = 0; i < 80; ++i)
    a[i] = i * in[tid()];
  out[tid()] = a[(in[tid()] & 63) + 5];
}

DEVICE __attribute__((noinline)) int twice(int x, int y) { return x * 2 + y; }
KERNEL void calls(int *out, const int *in, int n) {
  out[tid()] = twice(in[tid()], twice(n, 1));
}

KERNEL void hidden(int *out, const int *in, int n) {
  auto *implicit = (const __attribute__((
      address_space(4))) int *)__builtin_amdgcn_implicitarg_ptr();
  // Block counts, then the workgroup sizes as 16-bit values.
  int blocks = implicit[0], size = implicit[3] & 0xffff;
  out[wg() * size + tid()] = blocks * 1000 + size;
}

KERNEL void dynamic_lds(int *out, const int *in, int n) {
  extern SHARED int tile[];
  tile[tid()] = in[tid()];
  barrier();
  out[tid()] = tile[63 - tid()];
}

KERNEL void atomics(int *out, const int *in, int n) {
  SHARED int count;
  if (tid() == 0)
    count = 0;
  barrier();
  __hip_atomic_fetch_add(&count, in[tid()], __ATOMIC_RELAXED,
                         __HIP_MEMORY_SCOPE_WORKGROUP);
  barrier();
  if (tid() == 0)
    __hip_atomic_fetch_add(out, count, __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_max(out + 1, in[tid()], __ATOMIC_RELAXED,
                         __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_add((float *)(out + 2), 0.5f, __ATOMIC_RELAXED,
                         __HIP_MEMORY_SCOPE_AGENT);
}

// A pointer that may be LDS or global memory.
KERNEL void flat(int *out, const int *in, int n) {
  SHARED int tile[64];
  tile[tid()] = in[tid()] + 100;
  barrier();
  const int *p = in[tid()] & 1 ? tile + tid() : in + tid();
  out[tid()] = *p;
}

DEVICE const int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
KERNEL void constants(int *out, const int *in, int n) {
  out[tid()] = table[in[tid()] & 7];
}

KERNEL void three_dimensions(int *out, const int *in, int n) {
  int x = __builtin_amdgcn_workitem_id_x(),
      y = __builtin_amdgcn_workitem_id_y(),
      z = __builtin_amdgcn_workitem_id_z();
  int gx = __builtin_amdgcn_workgroup_id_x(),
      gy = __builtin_amdgcn_workgroup_id_y(),
      gz = __builtin_amdgcn_workgroup_id_z();
  int block = (gz * 3 + gy) * 2 + gx;
  out[block * 60 + (z * 4 + y) * 5 + x] = block * 100 + z * 36 + y * 6 + x;
}
