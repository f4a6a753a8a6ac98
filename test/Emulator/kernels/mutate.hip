//===- mutate.hip - Correct kernels whose every barrier and wait matters
//----===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Typical shapes of synchronisation: a staged loop over tiles with a matrix
// product, a reduction across waves, and a transposition through LDS.
//
//===----------------------------------------------------------------------===//
#include "device.h"

typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef __bf16 bf16x8 __attribute__((ext_vector_type(8)));
typedef short s16x4 __attribute__((ext_vector_type(4)));

// C[64,64] = A[64,K] B[64,K]^T for K in steps of 32, bf16 in LDS, four waves.
KERNEL __attribute__((amdgpu_flat_work_group_size(256, 256))) void
tiles(float *c, const __bf16 *a, const __bf16 *b, int k) {
  SHARED __bf16 ta[64 * 32], tb[64 * 32];
  int t = tid(), wave = t / 64, lane = t % 64;
  f32x4 acc[4] = {};
  for (int k0 = 0; k0 < k; k0 += 32) {
    int row = t / 4, col = t % 4 * 8;
    *(bf16x8 *)(ta + row * 32 + col) =
        *(const bf16x8 *)(a + row * k + k0 + col);
    *(bf16x8 *)(tb + row * 32 + col) =
        *(const bf16x8 *)(b + row * k + k0 + col);
    barrier();
    for (int s = 0; s < 2; ++s) {
      int at = s * 16 + lane / 16 * 4;
      s16x4 x = *(s16x4 *)(ta + (wave * 16 + lane % 16) * 32 + at);
      for (int n = 0; n < 4; ++n) {
        s16x4 y = *(s16x4 *)(tb + (n * 16 + lane % 16) * 32 + at);
        acc[n] =
            __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x, y, acc[n], 0, 0, 0);
      }
    }
    barrier();
  }
  for (int n = 0; n < 4; ++n)
    for (int r = 0; r < 4; ++r)
      c[(wave * 16 + lane / 16 * 4 + r) * 64 + n * 16 + lane % 16] = acc[n][r];
}

KERNEL __attribute__((amdgpu_flat_work_group_size(256, 256))) void
reduce(float *c, const float *a, const float *, int n) {
  SHARED float part[256];
  float sum = 0;
  for (int i = tid(); i < n; i += 256)
    sum += a[i];
  part[tid()] = sum;
  barrier();
  for (int step = 128; step >= 64; step /= 2) {
    if (tid() < step)
      part[tid()] += part[tid() + step];
    barrier();
  }
  sum = 0;
  for (int i = 0; i < 64; ++i)
    sum += part[i];
  c[tid()] = a[tid()] / sum;
}

KERNEL __attribute__((amdgpu_flat_work_group_size(256, 256))) void
transpose(float *c, const float *a, const float *, int n) {
  SHARED float tile[16 * 17];
  int x = tid() % 16, y = tid() / 16;
  for (int i = 0; i < n; i += 16) {
    tile[y * 17 + x] = a[y * n + i + x];
    barrier();
    float v = tile[x * 17 + y];
    barrier();
    c[(i + y) * 16 + x] = v;
  }
}
