//===- algorithms.hip - Kernels as other people write them ----------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whole algorithms in the styles of GPU libraries: direct loads to LDS behind
// inline waits, privatised histograms, DPP reductions, sorting networks, stream-K
// with flags, decoupled look-back, transposing reads, clamped buffer loads, last
// block reductions, persistent workgroups and scaled products. Each has one
// typical bug with -DBAD=1 and is correct without. All take the same arguments:
// results, 4,096 floats from 1 up, an undefined workspace, zeroed counters, n.
//
//===----------------------------------------------------------------------===//
#include "device.h"

typedef unsigned u32;
typedef unsigned short u16;
typedef float f4 __attribute__((ext_vector_type(4)));

template <class T> DEVICE T *launder(T *p) { // hides an object from analyses
  asm volatile("" : "+v"(p));
  return p;
}
DEVICE inline void release() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
}
DEVICE inline void acquire() {
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
}
DEVICE inline u32 add(u32 *p, u32 v) {
  return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED,
                                __HIP_MEMORY_SCOPE_AGENT);
}
DEVICE inline u32 peek(u32 *p) {
  return __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
DEVICE inline void post(u32 *p, u32 v) {
  __hip_atomic_store(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// --- 64x64 += 64x64 in four steps of K, tiles double buffered in LDS, which
// direct loads fill. The bug: a wait that leaves one load of the tile open. ---

DEVICE inline void loadToLds(const float *from, u32 lds) {
  asm volatile("v_readfirstlane_b32 s40, %0\n s_nop 4\n"
               "s_mov_b32 m0, s40\n s_nop 0\n global_load_lds_dword %1, off"
               :
               : "v"(lds), "v"(from)
               : "memory", "s40", "m0");
}
KERNEL void gemm_direct_to_lds(float *out, const float *in, float *work,
                               u32 *count, int n) {
  SHARED float tiles[2][2][16 * 64];
  int wave = __builtin_amdgcn_readfirstlane(tid() / 64), lane = tid() % 64;
  u32 base = (u32)(__SIZE_TYPE__)(
      __attribute__((address_space(3))) float *)&tiles[0][0][0];
  auto load = [&](int step, int buffer) {
    for (int side = 0; side < 2; ++side)
      for (int r = 0; r < 4; ++r)
        loadToLds(in + side * 2048 + (step * 16 + r * 4 + wave) % 32 * 64 + lane,
                  base + ((buffer * 2 + side) * 1024 + (r * 4 + wave) * 64) * 4);
  };
  float sum[4][4] = {};
  int row = tid() / 16 * 4, column = tid() % 16 * 4;
  load(0, 0);
  for (int step = 0; step < 4; ++step) {
    if (step < 3)
      load(step + 1, (step + 1) & 1);
    // Eight loads a tile and wave; those of the next one may stay open.
    if (step == 3)
      asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    else if (BAD)
      asm volatile("s_waitcnt vmcnt(9)" ::: "memory");
    else
      asm volatile("s_waitcnt vmcnt(8)" ::: "memory");
    barrier();
    const float *a = tiles[step & 1][0], *b = tiles[step & 1][1];
    for (int k = 0; k < 16; ++k)
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
          sum[i][j] += a[k * 64 + row + i] * b[k * 64 + column + j];
    barrier();
  }
  for (int i = 0; i < 4; ++i)
    *(f4 *)(out + (row + i) * 64 + column) =
        f4{sum[i][0], sum[i][1], sum[i][2], sum[i][3]};
}

// --- A histogram in LDS for each workgroup, added to the global one. The bug:
// nobody clears the upper half. ---
KERNEL void histogram_private(float *out, const float *in, float *work,
                              u32 *count, int n) {
  SHARED u32 bins[128];
  if (tid() < (BAD ? 64 : 128))
    bins[tid()] = 0;
  barrier();
  for (int i = wg() * 256 + tid(); i < n; i += 1024)
    __hip_atomic_fetch_add(bins + (u32)in[i] * 37 % 128, 1u, __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_WORKGROUP);
  barrier();
  if (tid() < 128)
    add(count + tid(), bins[tid()]);
}

// --- Softmax of rows of 512 in one pass over the maximum and the sum, reduced
// by DPP in a wave and through LDS between them. The bug: no barrier between. ---
DEVICE inline float move(float v, float otherwise, int kind) {
#define MOVE(control, rows)                                                    \
  __builtin_bit_cast(float, __builtin_amdgcn_update_dpp(                       \
                                __builtin_bit_cast(int, otherwise),            \
                                __builtin_bit_cast(int, v), control, rows,     \
                                0xf, false))
  switch (kind) {
  case 0:
    return MOVE(0x111, 0xf); // row_shr:1
  case 1:
    return MOVE(0x112, 0xf);
  case 2:
    return MOVE(0x114, 0xf);
  case 3:
    return MOVE(0x118, 0xf);
  case 4:
    return MOVE(0x142, 0xa); // row_bcast:15
  default:
    return MOVE(0x143, 0xc); // row_bcast:31
  }
#undef MOVE
}
KERNEL void softmax_online(float *out, const float *in, float *work, u32 *count,
                           int n) {
  SHARED float tops[4], sums[4];
  const float *row = in + wg() * 512;
  float x = row[tid()] * 0.01f, y = row[tid() + 256] * 0.01f;
  float top = __builtin_fmaxf(x, y);
  float sum = __builtin_amdgcn_exp2f(x - top) + __builtin_amdgcn_exp2f(y - top);
#pragma unroll
  for (int kind = 0; kind < 6; ++kind) {
    float t = move(top, -3e38f, kind), s = move(sum, 0, kind);
    float m = __builtin_fmaxf(t, top);
    sum = sum * __builtin_amdgcn_exp2f(top - m) +
          s * __builtin_amdgcn_exp2f(t - m);
    top = m;
  }
  if (tid() % 64 == 63) {
    tops[tid() / 64] = top;
    sums[tid() / 64] = sum;
  }
  if (BAD)
    __builtin_amdgcn_wave_barrier();
  else
    barrier();
  top = -3e38f;
  sum = 0;
  for (int i = 0; i < 4; ++i) {
    float m = __builtin_fmaxf(tops[i], top);
    sum = sum * __builtin_amdgcn_exp2f(top - m) +
          sums[i] * __builtin_amdgcn_exp2f(tops[i] - m);
    top = m;
  }
  out[wg() * 512 + tid()] = __builtin_amdgcn_exp2f(x - top) / sum;
  out[wg() * 512 + tid() + 256] = __builtin_amdgcn_exp2f(y - top) / sum;
}

// --- A bitonic sort of 512 keys. The bug: the partner is one too far. ---
KERNEL void bitonic_sort(float *out, const float *in, float *work, u32 *count,
                         int n) {
  SHARED u32 keys[512];
  for (int i = tid(); i < 512; i += 256)
    keys[i] = (u32)in[i] * 2654435761u >> 8;
  for (int size = 2; size <= 512; size *= 2)
    for (int stride = size / 2; stride; stride /= 2) {
      barrier();
      int i = 2 * tid() - (tid() & (stride - 1));
      int j = i + stride + (BAD && size == 512 && stride == 256);
      u32 a = keys[i], b = launder(keys)[j];
      bool up = (i & size) == 0;
      if ((a > b) == up) {
        keys[i] = b;
        launder(keys)[j] = a;
      }
    }
  barrier();
  for (int i = tid(); i < 512; i += 256)
    out[i] = (float)keys[i];
}

// --- Stream-K: workgroup 0 owns the tile and waits for the partial sums of the
// workgroups behind it. The bug: the flag is set before the sums are there. ---
KERNEL void stream_k(float *out, const float *in, float *work, u32 *count,
                     int n) {
  float sum = 0;
  for (int i = wg() * 1024; i < wg() * 1024 + 1024; i += 64)
    sum += in[i + tid()];
  if (wg()) {
    if (BAD)
      post(count + wg(), 1);
    work[wg() * 64 + tid()] = sum;
    if (!BAD) {
      release();
      post(count + wg(), 1);
    }
    return;
  }
  for (int other = 1; other < 4; ++other) {
    while (!peek(count + other))
      __builtin_amdgcn_s_sleep(1);
    acquire();
    sum += work[other * 64 + tid()];
  }
  out[tid()] = sum;
}

// --- A barrier of the whole grid at which one wave looks and tells the rest
// through LDS, so that the loop has barriers of the workgroup in it. The bug: a
// workgroup says that it is there before its part is written. ---
KERNEL void grid_barrier(float *out, const float *in, float *work, u32 *count,
                         int n) {
  SHARED u32 arrived[1];
  if (BAD && tid() == 0)
    add(count, 1);
  if (tid() < 64) {
    float sum = 0;
    for (int i = wg() * 1024; i < (int)wg() * 1024 + 1024; i += 64)
      sum += in[i + tid()];
    work[wg() * 64 + tid()] = sum;
  }
  release();
  barrier();
  if (!BAD && tid() == 0)
    add(count, 1);
  u32 seen;
  do {
    // Branches of whole waves: lanes would go to the barriers apart.
    if (__builtin_amdgcn_readfirstlane(tid()) == 0)
      arrived[0] = peek(count);
    // clang 22 takes the barrier's own wait away in loops like this.
    asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");
    barrier();
    seen = __builtin_amdgcn_readfirstlane(arrived[0]);
    barrier();
  } while (seen < 4);
  acquire();
  float sum = 0;
  for (int other = 0; other < 4; ++other)
    sum += work[other * 64 + tid() % 64];
  if (wg() == 0 && tid() < 64)
    out[tid()] = sum;
}

// --- A sum under a lock. The bug: the lock is freed before the store. ---
KERNEL void critical_section(float *out, const float *in, float *work,
                             u32 *count, int n) {
  if (tid())
    return;
  u32 free = 0;
  while (!__hip_atomic_compare_exchange_strong(
      count, &free, 1u, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED,
      __HIP_MEMORY_SCOPE_AGENT))
    free = 0;
  float sum = in[wg()] + (count[1] ? *out : 0.0f);
  count[1] = 1;
  if (BAD)
    post(count, 0);
  *out = sum;
  if (!BAD)
    __hip_atomic_store(count, 0u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}

// --- An inclusive scan in one pass: each workgroup publishes its sum, then its
// prefix, and looks back. The bug: the prefix is published without a release
// (the flag and the value are two words). ---
KERNEL void scan_look_back(float *out, const float *in, float *work, u32 *count,
                           int n) {
  SHARED u32 shared[3];
  if (tid() == 0)
    shared[0] = add(count, 1);
  barrier();
  u32 tile = shared[0];
  float *sums = work, *prefixes = work + 64;
  u32 *states = count + 1;
  u32 lane = tid();
  float v = in[tile * 64 + lane];
  for (u32 d = 1; d < 64; d *= 2) {
    float up = __builtin_bit_cast(
        float, __builtin_amdgcn_ds_bpermute((lane - d) * 4,
                                            __builtin_bit_cast(int, v)));
    if (lane >= d)
      v += up;
  }
  float before = 0;
  if (lane == 63) {
    sums[tile] = v;
    release();
    post(states + tile, 1);
    for (int back = (int)tile - 1; back >= 0; --back) {
      u32 state;
      while (!(state = peek(states + back)))
        __builtin_amdgcn_s_sleep(1);
      acquire();
      if (state == 2) {
        before += prefixes[back];
        break;
      }
      before += sums[back];
    }
    prefixes[tile] = before + v;
    if (!BAD)
      release();
    post(states + tile, 2);
  }
  before = __builtin_bit_cast(
      float,
      __builtin_amdgcn_readlane(__builtin_bit_cast(int, before), 63));
  out[tile * 64 + lane] = before + v;
}

// --- Rows behind a buffer descriptor whose end zeroes what is past it. The bug:
// the descriptor covers one row more than there is. ---
KERNEL void buffer_clamped(float *out, const float *in, float *work, u32 *count,
                           int n) {
  auto source = __builtin_amdgcn_make_buffer_rsrc(
      (void *)in, 0, 4 * n + (BAD ? 256 : 0), 0x00027000);
  float sum = 0;
  for (int r = 0; r < 3; ++r)
    sum += __builtin_bit_cast(
        float, __builtin_amdgcn_raw_buffer_load_b32(
                   source, 4 * (n - 128 + r * 64 + tid()), 0, 0));
  out[tid()] = sum;
}

// --- Split K: whoever comes last adds the partial sums of all. The bug: one sum
// too many is read. ---
KERNEL void split_k_last_block(float *out, const float *in, float *work,
                               u32 *count, int n) {
  SHARED u32 last;
  float sum = 0;
  for (int i = wg() * 512; i < wg() * 512 + 512; i += 64)
    sum += in[i + tid()];
  work[wg() * 64 + tid()] = sum;
  release();
  barrier();
  if (tid() == 0)
    last = add(count, 1) == 7;
  barrier();
  if (!last)
    return;
  acquire();
  sum = 0;
  for (int i = 0; i < 8 + BAD; ++i)
    sum += work[i * 64 + tid()];
  out[tid()] = sum;
}

// --- Persistent workgroups that draw tiles from a queue. The bug: the next
// number overwrites the one that other waves still read. ---
KERNEL void persistent_queue(float *out, const float *in, float *work,
                             u32 *count, int n) {
  SHARED u32 tile;
  while (true) {
    if (tid() == 0)
      tile = add(count, 1);
    barrier();
    u32 mine = *(volatile u32 *)&tile;
    if (!BAD)
      barrier();
    if (mine >= 16)
      return;
    out[mine * 256 + tid()] = in[mine * 256 + tid()] * 2 + (float)mine;
  }
}

// --- Pipelined waves: wave 0 fills a ring in LDS, the others consume it in
// turns that barriers pace. The bug: a consumer reads the slot being filled. ---
KERNEL void ring_pipeline(float *out, const float *in, float *work, u32 *count,
                          int n) {
  SHARED float ring[5][64]; // a turn more than the last wave is behind
  int wave = tid() / 64, lane = tid() % 64;
  float sum = 0;
  for (int step = 0; step < 19; ++step) {
    if (wave == 0 && step < 16)
      ring[step % 5][lane] = in[step * 64 + lane];
    barrier();
    int slot = step - (BAD ? -1 : wave);
    if (wave && slot >= 0 && slot < 16)
      sum += ring[slot % 5][63 - lane];
  }
  out[tid()] = sum;
}

#if defined(__gfx950__)
// --- A tile transposed by ds_read_b64_tr_b16. The bug: no barrier before. ---
typedef short s4 __attribute__((ext_vector_type(4)));
KERNEL void transposed_read(float *out, const float *in, float *work,
                            u32 *count, int n) {
  SHARED short tile[4][16 * 16];
  int wave = tid() / 64, lane = tid() % 64;
  for (int i = 0; i < 4; ++i)
    tile[(wave + BAD) % 4][lane * 4 + i] =
        (short)in[((wave + BAD) % 4 * 64 + lane) * 4 + i];
  if (!BAD)
    barrier();
  s4 v = __builtin_amdgcn_ds_read_tr16_b64_v4i16(
      (__attribute__((address_space(3))) s4 *)(tile[wave] + lane * 4));
  for (int i = 0; i < 4; ++i)
    out[tid() * 4 + i] = v[i];
}

// --- One scaled product of fp8 whose operands come through LDS behind inline
// waits. The bug: the wait lets the second read open. ---
typedef int i8 __attribute__((ext_vector_type(8)));
typedef int i4 __attribute__((ext_vector_type(4)));
KERNEL void scaled_product(float *out, const float *in, float *work, u32 *count,
                           int n) {
  SHARED u32 codes[64 * 8];
  int lane = tid();
  for (int i = 0; i < 8; ++i) // 1.0, 2.0 or 4.0 in e4m3
    codes[lane * 8 + i] = 0x38383838u + ((u32)in[lane] % 3) * 0x08080808u;
  barrier();
  u32 at = (u32)(__SIZE_TYPE__)(
      __attribute__((address_space(3))) u32 *)(codes + lane * 8);
  i4 low, high;
#if BAD
#define OPEN_READS "1"
#else
#define OPEN_READS "0"
#endif
  asm volatile("ds_read_b128 %0, %2\n ds_read_b128 %1, %2 offset:16\n"
               "s_waitcnt lgkmcnt(" OPEN_READS ")"
               : "=&v"(low), "=&v"(high)
               : "v"(at)
               : "memory");
  i8 a = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
  f4 sum = {0, 0, 0, 0};
  // Scales of 2 and 1/4 in the lowest byte.
  sum = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a, a, sum, 0, 0, 0,
                                                         128, 0, 125);
  for (int i = 0; i < 4; ++i)
    out[lane * 4 + i] = sum[i];
}
#endif
