//===- styles.hip - Kernels in many styles, for many compiler settings ----===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hand-written reductions, scans and tilings, recursion, function pointers,
// virtual calls, variable stack arrays, wide atomics, odd structures: what hk
// never emits and other people's kernels are full of. Every kernel gets
// in[256] and writes out[256] with one workgroup of 256; n is 256.
//
//===----------------------------------------------------------------------===//
#include "device.h"

typedef unsigned long long u64;
typedef long long i64;
#define NOINLINE __attribute__((noinline))

DEVICE inline int lane() {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}
DEVICE int shuffle(int v, int from) {
  return __builtin_amdgcn_ds_bpermute(from * 4, v);
}
DEVICE double shuffle(double v, int from) {
  union {
    double d;
    int i[2];
  } u = {v};
  u.i[0] = shuffle(u.i[0], from);
  u.i[1] = shuffle(u.i[1], from);
  return u.d;
}

KERNEL void shuffle_reduce(int *out, const int *in, int n) {
  SHARED double partial[4];
  double v = in[tid()] * 0.25;
  for (int d = 32; d; d >>= 1)
    v += shuffle(v, lane() ^ d);
  if (lane() == 0)
    partial[tid() / 64] = v;
  barrier();
  double all = 0;
  for (int i = 0; i < 4; ++i)
    all += partial[i];
  out[tid()] = (int)(all * 4.0) + tid();
}

KERNEL void warp_scan(int *out, const int *in, int n) {
  SHARED int totals[4];
  int v = in[tid()];
  for (int d = 1; d < 64; d *= 2) {
    int up = shuffle(v, lane() - d);
    if (lane() >= d)
      v += up;
  }
  if (lane() == 63)
    totals[tid() / 64] = v;
  barrier();
  for (int i = 0; i < tid() / 64; ++i)
    v += totals[i];
  out[tid()] = v;
}

KERNEL void tile_transpose(int *out, const int *in, int n) {
  SHARED int tile[16][17];
  int x = tid() % 16, y = tid() / 16;
  tile[y][x] = in[tid()];
  barrier();
  out[tid()] = tile[x][y];
}

DEVICE NOINLINE int fibonacci(int k) {
  return k < 2 ? k : fibonacci(k - 1) + fibonacci(k - 2);
}
KERNEL void recursion(int *out, const int *in, int n) {
  out[tid()] = fibonacci(in[tid()] & 7);
}

typedef int (*Binary)(int, int);
DEVICE NOINLINE int plus(int a, int b) { return a + b; }
DEVICE NOINLINE int minus(int a, int b) { return a - b; }
DEVICE NOINLINE int times(int a, int b) { return a * b; }
DEVICE Binary operations[3] = {plus, minus, times};
KERNEL void function_pointers(int *out, const int *in, int n) {
  Binary f = operations[(unsigned)in[tid()] % 3];
  out[tid()] = f(in[tid()], tid());
}

struct Shape {
  DEVICE virtual int area(int scale) const { return scale; }
};
struct Square : Shape {
  int side;
  DEVICE Square(int s) : side(s) {}
  DEVICE int area(int scale) const override { return side * side * scale; }
};
struct Strip : Shape {
  int width, length;
  DEVICE Strip(int w, int l) : width(w), length(l) {}
  DEVICE int area(int scale) const override { return width * length + scale; }
};
KERNEL void virtual_calls(int *out, const int *in, int n) {
  Square square(in[tid()] & 15);
  Strip strip(3, tid());
  const Shape *shapes[2] = {&square, &strip};
  int sum = 0;
  for (int i = 0; i < 2; ++i)
    sum += shapes[(i + in[tid()]) & 1]->area(i + 2);
  out[tid()] = sum;
}

KERNEL void big_stack(int *out, const int *in, int n) {
  int a[1000];
  short b[64];
  for (int i = 0; i < 1000; ++i)
    a[i] = in[tid()] + i * 3;
  for (int i = 0; i < 64; ++i)
    b[i] = (short)(a[(i * 13 + tid()) % 1000] - i);
  out[tid()] = b[in[tid()] & 63] + a[999 - tid()];
}

DEVICE NOINLINE int sumOf(const int *p, int count) {
  int s = 0;
  for (int i = 0; i < count; ++i)
    s += p[i];
  return s;
}
KERNEL void variable_stack(int *out, const int *in, int n) {
  int *p = (int *)__builtin_alloca(sizeof(int) * (n / 8));
  for (int i = 0; i < n / 8; ++i)
    p[i] = in[(tid() + i) % n];
  out[tid()] = sumOf(p, n / 8);
}

// Also what an inlined call keeps alive: more values than registers.
KERNEL __attribute__((amdgpu_num_vgpr(24))) void
spills(int *out, const int *in, int n) {
  int v[40];
#pragma unroll
  for (int i = 0; i < 40; ++i)
    v[i] = in[(tid() + i * 7) % n];
  barrier();
  int s = 0;
#pragma unroll
  for (int i = 0; i < 40; ++i)
    s = s * 3 + v[39 - i];
  out[tid()] = s;
}

KERNEL void doubles(int *out, const int *in, int n) {
  double x = in[tid()] + 0.5, y = tid() + 1.25;
  double q = x / y, r = __builtin_sqrt(y), f = __builtin_fma(x, y, -q);
  double t = __builtin_floor(q * 1000.0) + __builtin_rint(r * 77.0);
  out[tid()] = (int)(q * 65536.0) ^ (int)(r * 1048576.0) ^ (int)f ^ (int)t ^
               (x < y) ^ (int)__builtin_fmin(x, y);
}

KERNEL void wide_atomics(int *out, const int *in, int n) {
  SHARED u64 sum, top, low, swapped;
  SHARED double total;
  if (tid() == 0) {
    sum = top = swapped = 0;
    low = ~0ull;
    total = 0;
  }
  barrier();
  u64 v = (u64)in[tid()] << 20 | tid();
  __hip_atomic_fetch_add(&sum, v, __ATOMIC_RELAXED,
                         __HIP_MEMORY_SCOPE_WORKGROUP);
  __hip_atomic_fetch_max(&top, v, __ATOMIC_RELAXED,
                         __HIP_MEMORY_SCOPE_WORKGROUP);
  __hip_atomic_fetch_min(&low, v, __ATOMIC_RELAXED,
                         __HIP_MEMORY_SCOPE_WORKGROUP);
  __hip_atomic_fetch_add(&total, 0.5, __ATOMIC_RELAXED,
                         __HIP_MEMORY_SCOPE_WORKGROUP);
  u64 seen = __hip_atomic_load(&swapped, __ATOMIC_RELAXED,
                               __HIP_MEMORY_SCOPE_WORKGROUP);
  while (!__hip_atomic_compare_exchange_strong(
      &swapped, &seen, seen * 3 + 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
      __HIP_MEMORY_SCOPE_WORKGROUP))
    ;
  barrier();
  u64 all = sum ^ top ^ low ^ swapped ^ (u64)total;
  out[tid()] = (int)(all >> (tid() & 1 ? 32 : 0));
}

struct Mixed {
  signed char a;
  short b;
  unsigned bits : 5, more : 11;
  i64 c;
  float d[3];
};
DEVICE NOINLINE Mixed change(Mixed m, int k) {
  m.a = (signed char)(m.a + k);
  m.b = (short)(m.b * k);
  m.bits += k;
  m.more ^= k * 37;
  m.c -= (i64)k << 33;
  m.d[k % 3] += k;
  return m;
}
KERNEL void structures(int *out, const int *in, int n) {
  Mixed m = {(signed char)in[tid()], (short)tid(), 3, 99, in[tid()], {1, 2, 3}};
  Mixed all[4];
  for (int i = 0; i < 4; ++i)
    m = all[i] = change(m, (in[tid()] + i) & 7);
  Mixed r = all[in[tid()] & 3];
  out[tid()] = r.a + r.b + (int)r.bits + (int)r.more + (int)(r.c >> 32) +
               (int)(r.d[0] + r.d[1] * 2 + r.d[2] * 4);
}

KERNEL void control_flow(int *out, const int *in, int n) {
  int v = in[tid()], s = 0;
  for (int i = 0; i < 20; ++i) {
    switch ((v + i) % 9) {
    case 0:
      s += 5;
      break;
    case 1:
      s ^= i;
      continue;
    case 2:
      s -= v;
      if (s < -500)
        goto done;
      break;
    case 3:
      for (int j = i; j & 7; ++j)
        s += j;
      [[fallthrough]];
    case 5:
      s = s * 3 & 0xfff;
      break;
    case 7:
      if (v & 1)
        break;
      s += 11;
    }
    if (s > 3000 && (v & 3) == 2) {
      out[tid()] = -s;
      return;
    }
    s += i;
  }
done:
  out[tid()] = s;
}

KERNEL void long_division(int *out, const int *in, int n) {
  i64 a = (i64)in[tid()] * 1000003 * (tid() & 1 ? -977 : 1013);
  i64 b = tid() * 12345 + 7;
  u64 c = (u64)a * 0x9e3779b97f4a7c15ull;
  out[tid()] = (int)(a / b) + (int)(a % b) + (int)(c / (u64)b) +
               (int)(c % 1000) + (int)((unsigned __int128)c * c >> 96);
}

KERNEL void halves(int *out, const int *in, int n) {
  _Float16 h = (_Float16)(in[tid()] * 0.125f), g = (_Float16)(tid() + 1);
  __bf16 b = (__bf16)(in[tid()] * 1.5f), c = (__bf16)0.75f;
  _Float16 r = h * g + (_Float16)3.5f;
  if (r > (_Float16)1000.0f)
    r = h / g;
  __bf16 t = b * c;
  t = t + (__bf16)1.0f;
  out[tid()] = (int)((float)r * 16.0f) + (int)((float)t * 4.0f);
}

KERNEL void bytes(int *out, const int *in, int n) {
  SHARED unsigned char raw[256 * 7];
  struct __attribute__((packed)) Odd {
    unsigned char tag;
    unsigned value;
    short tail;
  };
  Odd *odd = (Odd *)raw + tid();
  odd->tag = (unsigned char)tid();
  odd->value = (unsigned)in[tid()] * 2654435761u;
  odd->tail = (short)-tid();
  barrier();
  Odd *other = (Odd *)raw + (255 - tid());
  out[tid()] = (int)(other->value >> 3) + other->tag * 2 + other->tail;
}

KERNEL void votes(int *out, const int *in, int n) {
  u64 odd = __builtin_amdgcn_ballot_w64(in[tid()] & 1);
  int first = __builtin_amdgcn_readfirstlane(in[tid()]);
  int some = __builtin_amdgcn_readlane(in[tid()], 17);
  int next = __builtin_amdgcn_update_dpp(0, in[tid()], 0xb1, 0xf, 0xf, false);
  int rank = __builtin_popcountll(odd & ((1ull << lane()) - 1));
  int swizzled = __builtin_amdgcn_ds_swizzle(in[tid()], 0x041f);
  out[tid()] = rank + first * 3 + some * 5 + next * 7 + swizzled * 11 +
               __builtin_ctzll(odd | 1ull << 63);
}

struct Large {
  int numbers[20];
  const int *pointer;
  unsigned char last[3];
};
KERNEL void large_argument(int *out, const int *in, int n, Large large) {
  int s = large.pointer[tid()] + large.last[2];
  for (int i = 0; i < 20; ++i)
    s += large.numbers[(i + tid()) % 20] * i;
  out[tid()] = s;
}
