//===- orders.hip - Planted bugs in rare orders and instructions ----------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kernel has its bug with -DBAD=1 and is correct without: the order in
// which two waves meet is turned round, or an instruction is one that
// compilers emit seldom. Waves run in the order of their numbers.
//
//===----------------------------------------------------------------------===//
#include "device.h"

using Lds = __attribute__((address_space(3))) char *;
#define LDS(p) ((unsigned)(unsigned long)(Lds)(p))
#if BAD
#define ONLY_GOOD(text)
#else
#define ONLY_GOOD(text) text
#endif

using float4v = float __attribute__((ext_vector_type(4)));
/// A barrier that orders global memory too.
DEVICE inline void globalBarrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
DEVICE inline void count(int *word) {
  __hip_atomic_fetch_add(word, 1, __ATOMIC_RELAXED,
                         __HIP_MEMORY_SCOPE_WORKGROUP);
}
DEVICE inline void zero(int *words) {
  if (tid() < 64)
    words[tid()] = 0;
  barrier();
}

// --- LDS: reads, writes and atomics in every order ---

KERNEL void read_then_atomic(float *out, const float *in, int n) {
  SHARED int words[64];
  zero(words);
  int seen = tid() < 64 ? ((volatile int *)words)[tid()] : 0;
  if (!BAD)
    barrier();
  if (tid() >= 64)
    count(words + (tid() & 63));
  out[tid()] = seen;
}
// The wave that reads has counted, too.
KERNEL void own_atomic_then_read(float *out, const float *in, int n) {
  SHARED int words[64];
  zero(words);
  count(words + (tid() & 63));
  if (!BAD)
    barrier();
  if (tid() < 64)
    out[tid()] = ((volatile int *)words)[tid()];
}
// Its read comes first, so that its own atomic takes nothing back.
KERNEL void read_then_own_atomic(float *out, const float *in, int n) {
  SHARED int words[64];
  zero(words);
  int seen = tid() < 64 ? ((volatile int *)words)[tid()] : 0;
  if (!BAD)
    barrier();
  count(words + (tid() & 63));
  out[tid()] = seen;
}
KERNEL void atomic_then_write(float *out, const float *in, int n) {
  SHARED int words[64];
  zero(words);
  if (tid() < 64)
    count(words + tid());
  if (!BAD)
    barrier();
  if (tid() >= 192)
    words[tid() & 63] = 7;
  barrier();
  out[tid()] = words[tid() & 63];
}
// An atomic of 64 bits beside a byte of its upper half.
KERNEL void wide_atomic_then_byte(float *out, const float *in, int n) {
  SHARED unsigned long words[64];
  if (tid() < 64)
    words[tid()] = 0;
  barrier();
  if (tid() < 64)
    __hip_atomic_fetch_add(words + tid(), 1, __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_WORKGROUP);
  if (!BAD)
    barrier();
  if (tid() >= 64 && tid() < 128)
    ((volatile char *)(words + (tid() & 63)))[5] = 1;
  barrier();
  out[tid()] = words[tid() & 63] >> 40;
}
KERNEL void byte_then_wide_read(float *out, const float *in, int n) {
  SHARED unsigned long words[64];
  if (tid() < 64)
    words[tid()] = 0;
  barrier();
  if (tid() < 64)
    ((volatile char *)(words + tid()))[7] = 1;
  if (!BAD)
    barrier();
  out[tid()] = ((volatile unsigned long *)words)[tid() & 63] >> 56;
}
KERNEL void append_then_read(float *out, const float *in, int n) {
  SHARED int words[64];
  zero(words);
  if (tid() < 64) {
    int old;
    asm volatile("s_mov_b32 m0, %1\n s_nop 0\n ds_append %0\n"
                 "s_waitcnt lgkmcnt(0)"
                 : "=v"(old)
                 : "s"(LDS(words)), "v"(words)
                 : "memory");
  }
  if (!BAD)
    barrier();
  out[tid()] = ((volatile int *)words)[0];
}
// The barrier comes before an atomic, or a read, has been waited for.
KERNEL void atomic_unwaited(float *out, const float *in, int n) {
  SHARED int words[64];
  zero(words);
  if (tid() < 64)
    asm volatile("ds_add_u32 %0, %1" ::"v"(LDS(words + tid())), "v"(tid()),
                 "v"(words)
                 : "memory");
  asm volatile(ONLY_GOOD("s_waitcnt lgkmcnt(0)\n") "s_barrier" ::: "memory");
  out[tid()] = ((volatile int *)words)[tid() & 63];
}
KERNEL void read_unwaited(float *out, const float *in, int n) {
  SHARED int words[64];
  zero(words);
  int seen = 0;
  if (tid() < 64)
    asm volatile("ds_read_b32 %0, %1\n"
                 : "=v"(seen)
                 : "v"(LDS(words + tid())), "v"(words)
                 : "memory");
  asm volatile(ONLY_GOOD("s_waitcnt lgkmcnt(0)\n") "s_barrier"
               : "+v"(seen)::"memory");
  if (tid() >= 64)
    words[tid() & 63] = 7;
  asm volatile("s_waitcnt lgkmcnt(0)" : "+v"(seen)::"memory");
  out[tid()] = seen;
}
KERNEL void second_write_unwaited(float *out, const float *in, int n) {
  SHARED float tile[512];
  asm volatile(
      "ds_write2st64_b32 %0, %1, %1 offset1:4\n" ONLY_GOOD(
          "s_waitcnt lgkmcnt(0)\n") "s_barrier" ::"v"(LDS(tile + tid())),
      "v"(in[tid()]), "v"(tile)
      : "memory");
  out[tid()] = ((volatile float *)tile)[256 + (tid() ^ 64)];
}
KERNEL void transposed_read(float *out, const float *in, int n) {
#ifdef __gfx950__
  SHARED unsigned long tile[256];
  tile[tid()] = tid();
  if (!BAD)
    barrier();
  unsigned long v;
  asm volatile("s_waitcnt lgkmcnt(0)\n ds_read_b64_tr_b16 %0, %1\n"
               "s_waitcnt lgkmcnt(0)"
               : "=v"(v)
               : "v"(LDS(tile + (tid() ^ 64))), "v"(tile)
               : "memory");
  out[tid()] = v;
#else
  out[tid()] = in[tid() + (BAD ? n : 0)];
#endif
}

// --- direct loads to LDS ---

#ifdef __gfx950__
#define LOAD_LDS "global_load_lds_dwordx4"
constexpr unsigned kLoadBytes = 16;
#else
#define LOAD_LDS "global_load_lds_dword"
constexpr unsigned kLoadBytes = 4;
#endif
DEVICE inline void loadToLds(float *tile, const float *in) {
  unsigned wave = __builtin_amdgcn_readfirstlane(tid() / 64);
  asm volatile("s_mov_b32 m0, %0\n s_nop 0\n" LOAD_LDS
               " %1, %2" ::"s"(LDS(tile) + wave * 64 * kLoadBytes),
               "v"(tid() % 64 * kLoadBytes), "s"(in), "v"(tile)
               : "memory");
}
KERNEL void direct_load_unwaited(float *out, const float *in, int n) {
  SHARED float tile[1024];
  loadToLds(tile, in);
  asm volatile(ONLY_GOOD("s_waitcnt vmcnt(0)\n") "s_barrier" ::: "memory");
  out[tid()] = ((volatile float *)tile)[tid() ^ 64];
}
// The wait counts only one of two loads.
KERNEL void direct_load_half_waited(float *out, const float *in, int n) {
  SHARED float tile[1024], other[1024];
  loadToLds(other, in);
  loadToLds(tile, in);
#if BAD
  asm volatile("s_waitcnt vmcnt(1)\n s_barrier" ::: "memory");
#else
  asm volatile("s_waitcnt vmcnt(0)\n s_barrier" ::: "memory");
#endif
  out[tid()] = ((volatile float *)tile)[tid() ^ 64] +
               ((volatile float *)other)[tid() ^ 64];
}
KERNEL void direct_load_over_readers(float *out, const float *in, int n) {
  SHARED float tile[1024];
  for (int i = tid(); i < 1024; i += 256)
    tile[i] = in[i];
  barrier();
  float seen = ((volatile float *)tile)[tid() & 63];
  if (!BAD)
    barrier();
  if (tid() >= 64)
    loadToLds(tile - 16 * kLoadBytes, in);
  asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
  out[tid()] = seen;
}

// --- flat and private memory ---

KERNEL void flat_past_lds(float *out, const float *in, int n) {
  SHARED float tile[256];
  tile[tid()] = in[tid()];
  barrier();
  volatile float *at = tile + (BAD ? 1 : 0);
  asm volatile("" : "+v"(at));
  out[tid()] = at[tid()];
}
KERNEL void flat_load_half_waited(float *out, const float *in, int n) {
  SHARED float tile[256];
  tile[tid()] = in[tid()];
  barrier();
  const float *at = tile + tid();
  float v;
  asm volatile("flat_load_dword %0, %1\n s_waitcnt vmcnt(0)\n" ONLY_GOOD(
                   "s_waitcnt lgkmcnt(0)\n") "v_add_f32 %0, %0, %0"
               : "=&v"(v)
               : "v"(at)
               : "memory");
  out[tid()] = v;
}
KERNEL void private_undefined(float *out, const float *in, int n) {
  volatile float own[8];
  own[n & 7] = in[tid()];
  if (!BAD)
    for (int i = 0; i < 8; ++i)
      own[i] = in[tid()];
  out[tid()] = own[(n + 3) & 7];
}
KERNEL void private_past_end(float *out, const float *in, int n) {
  volatile float own[8];
  for (int i = 0; i < 8; ++i)
    own[i] = in[tid()];
  out[tid()] = own[BAD ? n * 16 : n & 7];
}

// --- waits of other kinds of loads ---

KERNEL void scalar_loads_out_of_order(float *out, const float *in, int n) {
  int a, b;
  asm volatile("s_load_dword %0, %2, 0x0\n s_load_dword %1, %2, 0x4\n"
#if BAD
               "s_waitcnt lgkmcnt(1)\n"
#else
               "s_waitcnt lgkmcnt(0)\n"
#endif
               "s_add_u32 %0, %0, 0\n s_waitcnt lgkmcnt(0)"
               : "=&s"(a), "=&s"(b)
               : "s"(in)
               : "scc");
  out[tid()] = a ^ b;
}
KERNEL void address_not_waited_for(float *out, const float *in, int n) {
  int at;
  float v;
  asm volatile("global_load_dword %0, %2, %3\n" ONLY_GOOD(
                   "s_waitcnt vmcnt(0)\n") "v_and_b32 %0, 0xfc, %0\n"
                                           "global_load_dword %1, %0, %3\n "
                                           "s_waitcnt vmcnt(0)"
               : "=&v"(at), "=&v"(v)
               : "v"(tid() * 4), "s"(in));
  out[tid()] = v;
}
KERNEL void second_load_unwaited(float *out, const float *in, int n) {
  float a, b;
  asm volatile("global_load_dword %0, %2, %3\n"
               "global_load_dword %1, %2, %3 offset:4\n"
#if BAD
               "s_waitcnt vmcnt(1)\n"
#else
               "s_waitcnt vmcnt(0)\n"
#endif
               "v_add_f32 %1, %1, %0\n s_waitcnt vmcnt(0)"
               : "=&v"(a), "=&v"(b)
               : "v"(tid() * 4), "s"(in));
  out[tid()] = b;
}
KERNEL void atomic_result_unwaited(float *out, const float *in, int n) {
  int old;
  asm volatile("global_atomic_add %0, %1, %1, %2 sc0\n" ONLY_GOOD(
                   "s_waitcnt vmcnt(0)\n") "v_add_u32 %0, %0, %0"
               : "=&v"(old)
               : "v"(tid() * 4), "s"(out + 512)
               : "memory");
  out[tid()] = old;
}
KERNEL void matrix_operand_unwaited(float *out, const float *in, int n) {
  float a;
  float4v acc = {};
  asm volatile(
      "global_load_dword %1, %2, %3\n" ONLY_GOOD(
          "s_waitcnt vmcnt(0)\n") "v_mfma_f32_16x16x4_f32 %0, %1, %1, %0\n"
                                  "s_nop 7\n s_nop 7\n s_waitcnt vmcnt(0)"
      : "+v"(acc), "=&v"(a)
      : "v"(tid() * 4), "s"(in));
  out[tid()] = acc[0];
}
// The load may land after the new value has been written.
KERNEL void overwrites_load(float *out, const float *in, int n) {
  float v;
  asm volatile("global_load_dword %0, %1, %2\n" ONLY_GOOD(
                   "s_waitcnt vmcnt(0)\n") "v_mov_b32 %0, 1.0\n"
                                           "s_waitcnt vmcnt(0)"
               : "=&v"(v)
               : "v"(tid() * 4), "s"(in));
  out[tid()] = v;
}
// A load is done when as many younger ones have been issued as the counter
// counts: 15 of LDS, 63 of memory.
KERNEL void lds_load_behind(float *out, const float *in, int n) {
  SHARED int words[256];
  words[tid()] = tid();
  barrier();
  int a, b;
  asm volatile("ds_read_b32 %0, %2\n"
               ".rept %4\n ds_read_b32 %1, %2\n .endr\n"
               "s_waitcnt vmcnt(0)\n v_add_u32 %0, %0, %0\n"
               "s_waitcnt lgkmcnt(0)"
               : "=&v"(a), "=&v"(b)
               : "v"(LDS(words + tid())), "v"(words), "n"(BAD ? 14 : 15)
               : "memory");
  out[tid()] = a ^ b;
}
// A scalar load may be done before any of them.
KERNEL void lds_load_behind_scalar(float *out, const float *in, int n) {
  SHARED int words[256];
  words[tid()] = tid();
  barrier();
  int a, b, c;
  asm volatile("s_load_dword %2, %5, 0x0\n" ONLY_GOOD(
                   "s_waitcnt lgkmcnt(0)\n") "ds_read_b32 %0, %3\n"
                                             ".rept 15\n ds_read_b32 %1, %3\n"
                                             ".endr\n v_add_u32 %0, %0, %0\n"
                                             "s_waitcnt lgkmcnt(0)"
               : "=&v"(a), "=&v"(b), "=&s"(c)
               : "v"(LDS(words + tid())), "v"(words), "s"(in)
               : "memory");
  out[tid()] = a ^ b ^ c;
}
KERNEL void global_load_behind(float *out, const float *in, int n) {
  float a, b;
  asm volatile("global_load_dword %0, %2, %3\n"
               ".rept %4\n global_load_dword %1, %2, %3 offset:4\n .endr\n"
               "v_add_f32 %0, %0, %0\n s_waitcnt vmcnt(0)"
               : "=&v"(a), "=&v"(b)
               : "v"(tid() * 4), "s"(in), "n"(BAD ? 62 : 63));
  out[tid()] = a + b;
}

// --- undefined values that cross lanes ---

DEVICE inline int undefinedLane(const float *in, int *work) {
  int v = ((volatile int *)work)[tid() == 5 ? 63 : 0];
  return v;
}
KERNEL void dpp_undefined(float *out, const float *in, int *work, int n) {
  if (!BAD)
    work[63] = 3;
  work[0] = 1;
  int v = undefinedLane(in, work);
  out[tid()] = __builtin_amdgcn_update_dpp(0, v, 0x111, 0xf, 0xf, true);
}
// A lane without a source keeps the old value, which is none.
KERNEL void dpp_old_undefined(float *out, const float *in, int *work, int n) {
  if (!BAD)
    work[63] = 3;
  int old = ((volatile int *)work)[63];
  out[tid()] = __builtin_amdgcn_update_dpp(old, tid(), 0x111, 0xf, 0xf, false);
}
KERNEL void permuted_undefined(float *out, const float *in, int *work, int n) {
  if (!BAD)
    work[63] = 3;
  work[0] = 1;
  int v = undefinedLane(in, work);
  out[tid()] = __builtin_amdgcn_ds_bpermute((tid() ^ 9) * 4, v);
}
KERNEL void lane_read_undefined(float *out, const float *in, int *work, int n) {
  if (!BAD)
    work[63] = 3;
  work[0] = 1;
  int v = undefinedLane(in, work);
  out[tid()] = in[__builtin_amdgcn_readlane(v, 5) & 63];
}
KERNEL void matrix_undefined(float *out, const float *in, int *work, int n) {
  if (!BAD)
    work[63] = 0;
  work[0] = 0;
  float a = __builtin_bit_cast(float, undefinedLane(in, work));
  float4v acc =
      __builtin_amdgcn_mfma_f32_16x16x4f32(a, a, (float4v){}, 0, 0, 0);
  out[tid()] = acc[0] + acc[1] + acc[2] + acc[3];
}

// --- global memory: reads before another one's changes ---

KERNEL void group_reads_then_atomic(int *out, const float *in, int n) {
  if (wg() == 0)
    out[tid()] = __builtin_nontemporal_load(out + 512);
  else
    __hip_atomic_fetch_add(out + 512 + !BAD, 1, __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_AGENT);
}
KERNEL void wave_reads_then_atomic(int *out, const float *in, int n) {
  int seen = tid() < 64 ? __builtin_nontemporal_load(out + 512) : 0;
  if (!BAD)
    barrier();
  if (tid() >= 64)
    __hip_atomic_fetch_add(out + 512, 1, __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_AGENT);
  out[tid()] = seen;
}
DEVICE inline void countForAll(int *word) {
  __hip_atomic_fetch_add(word, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
// The wave that reads has counted before, or counts itself before the others.
KERNEL void wave_counts_then_reads(int *out, const float *in, int n) {
  int seen = 0;
  if (tid() < 64) {
    countForAll(out + 512);
    seen = __builtin_nontemporal_load(out + 512);
  }
  if (!BAD)
    barrier();
  if (tid() >= 64)
    countForAll(out + 512);
  out[tid()] = seen;
}
KERNEL void wave_reads_then_counts(int *out, const float *in, int n) {
  int seen = tid() < 64 ? __builtin_nontemporal_load(out + 512) : 0;
  if (!BAD)
    barrier();
  countForAll(out + 512);
  out[tid()] = seen;
}
// What each wave has read after it counted it compares and swaps. The exchange
// with itself hides that the swap compares with what was read.
KERNEL void wave_counts_then_swaps(int *out, const float *in, int n) {
  int *word = out + 512 + (tid() & 63);
  countForAll(word);
  int old = __builtin_amdgcn_ds_bpermute(int(tid() & 63) * 4,
                                         __builtin_nontemporal_load(word));
  if (!BAD)
    while (!__hip_atomic_compare_exchange_strong(
        word, &old, old + 2, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
        __HIP_MEMORY_SCOPE_AGENT))
      ;
  out[tid()] = old;
}
// A scalar load of what another workgroup, or wave, writes.
KERNEL void scalar_read_of_group(int *out, const float *in, int n) {
  int seen;
  asm volatile("s_load_dword %0, %1, 0x0\n s_waitcnt lgkmcnt(0)"
               : "=s"(seen)
               : "s"(out + 512)
               : "memory");
  if (wg() == 1)
    out[512 + !BAD] = 7;
  out[wg() * 64 + tid()] = seen;
}
KERNEL void scalar_read_of_wave(int *out, const float *in, int n) {
  if (tid() == 0)
    out[512] = 7;
  if (!BAD)
    globalBarrier();
  int seen;
  asm volatile("s_load_dword %0, %1, 0x0\n s_waitcnt lgkmcnt(0)"
               : "=s"(seen)
               : "s"(out + 512)
               : "memory");
  if (tid() >= 64)
    out[tid()] = seen;
}
// Through a buffer descriptor.
DEVICE inline __amdgpu_buffer_rsrc_t bufferOf(void *p, int bytes) {
  return __builtin_amdgcn_make_buffer_rsrc(p, 0, bytes, 0x27000);
}
KERNEL void buffer_race(int *out, const float *in, int n) {
  auto buffer = bufferOf(out, 4096);
  __builtin_amdgcn_raw_buffer_store_b32(tid(), buffer, tid() * 4, 0, 0);
  if (!BAD)
    globalBarrier();
  int v = __builtin_amdgcn_raw_buffer_load_b32(buffer, (255 - tid()) * 4, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b32(v, buffer, 2048 + tid() * 4, 0, 0);
}
KERNEL void buffer_past_allocation(int *out, const float *in, int n) {
  auto buffer = bufferOf(out, BAD ? 8192 : 4096);
  int v = __builtin_amdgcn_raw_buffer_load_b32(buffer, 4000 + tid() * 4, 0, 0);
  out[tid()] = v;
}
