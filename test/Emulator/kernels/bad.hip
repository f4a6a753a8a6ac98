//===- bad.hip - One planted bug per check
//----------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kernel has its bug with -DBAD=1 and is correct without.
//
//===----------------------------------------------------------------------===//
#include "device.h"

// An index one past the end of the LDS array.
KERNEL void lds_bounds(float *out, const float *in, int n) {
  SHARED float tile[256];
  int i = tid() + (BAD && tid() == 255);
  *(volatile float *)(tile + i) = in[tid()];
  barrier();
  out[tid()] = tile[tid() ^ 1];
}

// The last row is not masked.
KERNEL void global_read_bounds(float *out, const float *in, int n) {
  int i = wg() * 64 + tid();
  if (BAD || i < n)
    out[i < n ? i : n - 1] = in[i];
}
KERNEL void global_write_bounds(float *out, const float *in, int n) {
  int i = wg() * 64 + tid();
  if (BAD || i < n)
    out[i] = in[i < n ? i : n - 1];
}

// LDS that nobody wrote.
KERNEL void lds_undefined(float *out, const float *in, int n) {
  SHARED float tile[256];
  if (!BAD || tid() < 128)
    tile[tid()] = in[tid()];
  barrier();
  out[tid()] = tile[255 - tid()] + 1.0f;
}

// A sum over a workspace that was only partly initialised.
KERNEL void workspace_undefined(float *out, const float *in, float *work,
                                int n) {
  if (!BAD || tid() != 17)
    work[tid()] = in[tid()];
  float sum = 0;
  for (int i = 0; i < 4; ++i)
    sum += work[(tid() & ~3) + i];
  out[tid()] = sum;
}

// An address computed from undefined memory.
KERNEL void address_undefined(float *out, const float *in, int *work, int n) {
  if (!BAD)
    work[tid()] = tid();
  int i = ((volatile int *)work)[tid()] & 63;
  out[tid()] = in[i];
}

// A branch on undefined memory.
KERNEL void branch_undefined(float *out, const float *in, int *work, int n) {
  if (!BAD)
    work[tid()] = tid();
  float v = in[tid()];
  if (((volatile int *)work)[tid()] > 3)
    v = __builtin_amdgcn_rcpf(v) + in[tid() ^ 1];
  out[tid()] = v;
}

// No barrier between the write and another wave's read.
KERNEL void race_raw(float *out, const float *in, int n) {
  SHARED float tile[256];
  tile[tid()] = in[tid()];
#if BAD
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
#else
  barrier();
#endif
  out[tid()] = tile[255 - tid()];
}

// The second write does not wait for the readers of the first.
KERNEL void race_war(float *out, const float *in, int n) {
  SHARED float tile[256];
  tile[tid()] = in[tid()];
  barrier();
  float a = tile[255 - tid()];
#if BAD
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
#else
  barrier();
#endif
  tile[tid()] = a * 2;
  barrier();
  out[tid()] = a + tile[(tid() + 64) & 255];
}

// Two waves write one word.
KERNEL void race_waw(float *out, const float *in, int n) {
  SHARED float tile[256];
  tile[BAD ? tid() & 63 : tid()] = in[tid()];
  barrier();
  out[tid()] = tile[tid() & 63];
}

// All waves write the same values, of words and of bytes: correct.
KERNEL void race_same_value(float *out, const float *in, int n) {
  SHARED float tile[66];
  SHARED unsigned char bytes[64];
  int i = tid() & 63;
  tile[i] = in[i] + (BAD && tid() == 200);
  bytes[i] = (unsigned char)i;
  barrier();
  out[tid()] = tile[63 - i] + bytes[63 - i];
}
// A wave reads what the others write, though it is the value it had.
KERNEL void race_same_read(float *out, const float *in, int n) {
  SHARED float tile[64];
  int i = tid() & 63;
  tile[i] = in[i];
  if (!BAD)
    barrier();
  out[tid()] = ((volatile float *)tile)[63 - i];
}

// A word that one wave's atomics change is read, or written, by another one.
KERNEL void lds_atomic_read(float *out, const float *in, int n) {
  SHARED int count[64];
  if (tid() < 64)
    count[tid()] = 0;
  barrier();
  __hip_atomic_fetch_add(count + (tid() & 63), 1, __ATOMIC_RELAXED,
                         __HIP_MEMORY_SCOPE_WORKGROUP);
  barrier();
  if (tid() < 64)
    __hip_atomic_fetch_add(count + tid(), 1, __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_WORKGROUP);
  if (!BAD)
    barrier();
  if (tid() >= 64)
    out[tid()] = ((volatile int *)count)[63 - (tid() & 63)] * in[tid()];
}
// A maximum by compare-and-swap looks first, and where it finds enough that is
// all. Whoever wants to know the result waits.
template <class T> DEVICE void raise(T *word, T value) {
  T old = __builtin_nontemporal_load(word);
  while (value > old &&
         !__hip_atomic_compare_exchange_strong(
             word, &old, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
             __HIP_MEMORY_SCOPE_AGENT)) {
  }
}
KERNEL void lds_maximum(float *out, const float *in, int n) {
  SHARED int top;
  if (tid() == 0)
    top = 0;
  barrier();
  raise(&top, int(in[n - 1 - tid()]));
  if (!BAD)
    barrier();
  out[tid()] = *(volatile int *)&top;
}
KERNEL void global_maximum(float *out, const float *in, int n) {
  int *top = (int *)(out + 1000);
  int i = wg() * 64 + tid();
  raise(top, int(in[n - 1 - i]) + 0x50000000);
  if (BAD)
    out[i] = __builtin_nontemporal_load(top);
}

KERNEL void lds_atomic_init(float *out, const float *in, int n) {
  SHARED int count[64];
  if (tid() < 64)
    count[tid()] = 0;
  if (!BAD)
    barrier();
  __hip_atomic_fetch_add(count + (tid() & 63), 1, __ATOMIC_RELAXED,
                         __HIP_MEMORY_SCOPE_WORKGROUP);
  barrier();
  out[tid()] = count[63 - (tid() & 63)] * in[tid()];
}

// Neighbouring bytes of one word belong to different waves: correct.
KERNEL void race_bytes(float *out, const float *in, int n) {
  SHARED unsigned char tile[256];
  int i = (tid() & 63) * 4 + (tid() >> 6);
  tile[BAD ? i & ~1 : i] = (unsigned char)tid();
  barrier();
  out[tid()] = tile[tid() & ~3];
}

// The barrier comes before the LDS write has been waited for.
KERNEL void flat_without_wait(float *out, const float *in, int n) {
  SHARED float tile[256];
  float v = in[tid()];
  float *to = tile + tid();
#if BAD
  asm volatile("flat_store_dword %0, %1\n s_barrier" ::"v"(to), "v"(v)
               : "memory");
#else
  asm volatile("flat_store_dword %0, %1\n s_waitcnt vmcnt(0) lgkmcnt(0)\n"
               "s_barrier" ::"v"(to),
               "v"(v)
               : "memory");
#endif
  out[tid()] = tile[255 - tid()];
}
// The same with an address of LDS itself.
KERNEL void barrier_without_wait(float *out, const float *in, int n) {
  SHARED float tile[256];
  float v = in[tid()];
  unsigned to = (unsigned)(unsigned long)(__attribute__((
      address_space(3))) float *)(tile + tid());
#if BAD
  asm volatile("ds_write_b32 %0, %1\n s_barrier" ::"v"(to), "v"(v), "v"(tile)
               : "memory");
#else
  asm volatile(
      "ds_write_b32 %0, %1\n s_waitcnt lgkmcnt(0)\n s_barrier" ::"v"(to),
      "v"(v), "v"(tile)
      : "memory");
#endif
  out[tid()] = tile[255 - tid()];
}

// A loaded register is used before its wait.
KERNEL void missing_vmcnt(float *out, const float *in, int n) {
  float v;
  asm volatile("global_load_dword %0, %1, %2\n"
#if !BAD
               "s_waitcnt vmcnt(0)\n"
#endif
               "v_add_f32 %0, %0, %0"
               : "=&v"(v)
               : "v"(tid() * 4), "s"(in));
  out[tid()] = v;
}

KERNEL void missing_lgkmcnt(float *out, const float *in, int n) {
  SHARED float tile[256];
  tile[tid()] = in[tid()];
  barrier();
  unsigned from = (unsigned)(unsigned long)(__attribute__((
      address_space(3))) float *)(tile + (tid() ^ 1));
  float v;
  asm volatile("s_waitcnt lgkmcnt(0)\n"
               "ds_read_b32 %0, %1\n"
#if !BAD
               "s_waitcnt lgkmcnt(0)\n"
#endif
               "v_add_f32 %0, %0, %0"
               : "=&v"(v)
               : "v"(from), "v"(tile)
               : "memory");
  out[tid()] = v;
}

KERNEL void missing_scalar_wait(float *out, const float *in, int n) {
  int v;
  asm volatile("s_load_dword %0, %1, 0x0\n"
#if !BAD
               "s_waitcnt lgkmcnt(0)\n"
#endif
               "s_add_u32 %0, %0, 0"
               : "=&s"(v)
               : "s"(in));
  out[tid()] = __builtin_bit_cast(float, v);
}

// A direct-to-LDS load is read back before vmcnt.
KERNEL void missing_dma_wait(float *out, const float *in, int n) {
  SHARED float tile[64];
  auto *to = (__attribute__((address_space(3))) float *)tile;
  asm volatile("s_mov_b32 m0, %0\n"
               "s_nop 0\n"
               "global_load_lds_dword %1, %2\n"
#if !BAD
               "s_waitcnt vmcnt(0)"
#endif
               ::"s"((unsigned)(unsigned long)to),
               "v"(tid() * 4), "s"(in), "v"(tile)
               : "memory");
  float v;
  asm volatile("ds_read_b32 %0, %1\n"
               "s_waitcnt vmcnt(0) lgkmcnt(0)"
               : "=&v"(v)
               : "v"((unsigned)(unsigned long)to + tid() * 4)
               : "memory");
  out[tid()] = v;
}

// A wave leaves before the barrier that the others reach.
KERNEL void barrier_divergence(float *out, const float *in, int n) {
  SHARED float tile[256];
  tile[tid()] = in[tid()];
  if (BAD && tid() >= 192)
    return;
  barrier();
  out[tid()] = tile[tid() ^ 1];
}

KERNEL void misaligned_atomic(float *out, const float *in, int n) {
  int *p = (int *)((char *)out + 1024 + (BAD ? 2 : 0));
  __hip_atomic_fetch_add(p, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  out[tid()] = in[tid()];
}

DEVICE __attribute__((used)) extern const int table[4] = {1, 2, 3, 4};
KERNEL void read_only_write(float *out, const float *in, int n) {
  int *p = BAD ? const_cast<int *>(table) : (int *)out;
  asm volatile("" : "+v"(p));
  if (tid() == 0)
    *(volatile int *)p = table[n & 3];
  out[tid()] = in[tid()];
}

// Every workgroup writes the same words.
KERNEL void global_race(float *out, const float *in, int n) {
  int i = BAD ? tid() : wg() * 64 + tid();
  out[i] = in[wg() * 64 + tid()];
}
// The runs of two workgroups share one word; correct if its value is the same.
KERNEL void global_overlap(float *out, const float *in, int n) {
  out[wg() * 63 + tid()] = in[wg() * 63 + tid()] + (BAD ? wg() : 0);
}
// A workgroup reads what another one writes.
KERNEL void global_race_read(float *out, const float *in, int n) {
  int i = wg() * 64 + tid();
  float v = out[BAD ? i ^ 64 : i];
  out[i] = v + in[i];
}
// Halves of a word belong to two workgroups: correct.
KERNEL void global_share_word(short *out, const float *in, int n) {
  int i = wg() * 63 + tid();
  if (tid() < 63 + BAD)
    out[i] = (short)in[tid()];
}
// A workgroup reads, or writes, a word that another one's atomics change.
KERNEL void global_atomic_read(int *out, const float *in, int n) {
  int *word = out + 512 + tid();
  if (wg() == 0)
    __hip_atomic_fetch_add(word, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  else
    out[tid()] = word[BAD ? 0 : 64];
}
KERNEL void global_atomic_init(int *out, const float *in, int n) {
  int *word = out + 512 + tid();
  if (wg() == 1)
    __hip_atomic_fetch_add(word, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  else
    word[BAD ? 0 : 64] = 0;
}
// The first read of a compare-and-swap loop, which clang makes of these, is
// plain; any other read of such a word is a race.
KERNEL void global_swap(float *out, const float *in, int n) {
  if (!BAD || wg() == 0)
    __hip_atomic_fetch_max(out + 512 + (tid() & 7), in[tid()], __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_AGENT);
  else
    out[wg() * 64 + tid()] = out[512 + (tid() & 7)];
}
// Every workgroup counts; with its bug each looks at the count too early.
KERNEL void global_atomic_all(int *out, const float *in, int n) {
  __hip_atomic_fetch_add(out + 512, 1, __ATOMIC_RELAXED,
                         __HIP_MEMORY_SCOPE_AGENT);
  out[wg() * 64 + tid()] = BAD ? out[512]
                               : __hip_atomic_load(out + 512, __ATOMIC_RELAXED,
                                                   __HIP_MEMORY_SCOPE_AGENT);
}

// --- races of waves over global memory ---

DEVICE inline void globalBarrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  if (!BAD)
    __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
KERNEL void wave_raw(float *out, const float *in, int n) {
  out[tid()] = in[tid()];
  globalBarrier();
  out[512 + tid()] = out[255 - tid()];
}
KERNEL void wave_war(float *out, const float *in, int n) {
  float v = out[255 - tid()];
  globalBarrier();
  out[tid()] = v;
}
KERNEL void wave_waw(float *out, const float *in, int n) {
  out[tid()] = in[tid()];
  globalBarrier();
  out[255 - tid()] = in[tid()] + 1;
}
KERNEL void wave_atomic(int *out, const float *in, int n) {
  __hip_atomic_fetch_add(out + (tid() & 63), 1, __ATOMIC_RELAXED,
                         __HIP_MEMORY_SCOPE_AGENT);
  globalBarrier();
  if (tid() >= 64)
    out[512 + tid()] = out[63 - (tid() & 63)];
}
// All waves store the same value; halves of a word belong to two waves.
KERNEL void wave_same_value(float *out, const float *in, int n) {
  out[tid() & 63] = in[tid() & 63] + (BAD && tid() == 200);
}
KERNEL void wave_halves(short *out, const float *in, int n) {
  int i = (tid() & 127) * 2 + (tid() >> 7);
  out[i] = (short)in[tid()];
  short v = out[BAD ? i ^ 1 : i];
  out[512 + tid()] = v;
}
// A word that a lock guards.
KERNEL void wave_lock(int *out, const float *in, int n) {
  int *lock = out + 1000;
  if (tid() == 0)
    *lock = 0;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  if ((tid() & 63) == 0) {
    while (!BAD && __hip_atomic_exchange(lock, 1, __ATOMIC_ACQUIRE,
                                         __HIP_MEMORY_SCOPE_WORKGROUP))
      ;
    out[0] += 1;
    if (!BAD)
      __hip_atomic_store(lock, 0, __ATOMIC_RELEASE,
                         __HIP_MEMORY_SCOPE_WORKGROUP);
  }
}

// The last workgroup to finish sums what all wrote: correct through the atomic.
KERNEL void last_block(float *out, const float *in, int *count, float *work,
                       int n) {
  int i = wg() * 64 + tid();
  work[i] = in[i];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  int seen = 0;
  if (!BAD)
    seen = __hip_atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL,
                                  __HIP_MEMORY_SCOPE_AGENT);
  if (__builtin_amdgcn_readfirstlane(seen) >= 0) {
    float sum = 0;
    if (BAD || seen == 4 * 64 - 1)
      for (int j = 0; j < 4; ++j)
        sum += work[j * 64 + tid()];
    if (BAD || seen == 4 * 64 - 1)
      out[i] = sum;
  }
}

// The same with a counter of each workgroup's own, which orders nothing.
KERNEL void own_counter(float *out, const float *in, int *count, float *work,
                        int n) {
  int i = wg() * 64 + tid();
  work[i] = in[i];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  int seen = __hip_atomic_fetch_add(count + (BAD ? wg() : 0), 1,
                                    __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
  if (seen == (BAD ? 1 : 4) * 64 - 1) {
    float sum = 0;
    for (int j = 0; j < 4; ++j)
      sum += work[j * 64 + tid()];
    out[i] = sum;
  }
}

// The second workgroup waits for the first one's flag before it reads.
KERNEL void hand_over(float *out, const float *in, int n) {
  int *flag = (int *)(out + 1000);
  if (wg() == 0) {
    out[tid()] = in[tid()];
    if (!BAD)
      __hip_atomic_store(flag, 7, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    return;
  }
  while (!BAD && __hip_atomic_load(flag, __ATOMIC_ACQUIRE,
                                   __HIP_MEMORY_SCOPE_AGENT) != 7)
    ;
  out[64 + tid()] = out[tid()];
}

KERNEL void never_ends(float *out, const float *in, int n) {
  volatile float *p = out;
  do
    p[tid()] = in[tid()];
  while (BAD);
}

// --- correct kernels that look suspicious: silent with any BAD ---

// Lanes without a row compute on undefined values and drop them.
KERNEL void select_undefined(float *out, const float *in, float *work, int n) {
  float v = work[tid()];
  bool valid = tid() < 0;
  out[tid()] = valid && v > 1.0f ? v : in[tid()];
}
// Undefined padding is masked away.
KERNEL void mask_undefined(float *out, const float *in, unsigned char *work,
                           int n) {
  work[tid() * 4] = (unsigned char)tid();
  unsigned v = ((volatile unsigned *)work)[tid()];
  out[tid()] = (float)(v & 0xff) + in[tid()];
}
