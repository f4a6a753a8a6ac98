//===- fma.h - f32 fragments without a matrix instruction -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// C[BM, BN] += A[BM, BK] * B[BN, BK]^T in IEEE f32 for GPUs of 32 lanes whose
// matrix instructions have no f32 operands (NVIDIA's tf32 drops 13 bits). A
// fragment is 16x16: a lane owns one row and two groups of four columns.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_MMA_FMA_H
#define HK_KERNELS_DEVICE_MMA_FMA_H

#include "kernels/device/mma/swizzle.h"

namespace hk {

template <int BM, int BN, int BK, int WM, int WN> struct FmaBlock {
  using Acc = float;
  static constexpr int kThreads = WM * WN * 32;
  static constexpr int MI = BM / WM / 16, NI = BN / WN / 16;
  static constexpr int V = 4, kRows = MI, kSlabs = MI;
  static constexpr int kSlabRows = 16;
  static constexpr int kRowBytes = BK * 4;
  static_assert(MI >= 1 && NI >= 1 && MI * WM * 16 == BM && NI * WN * 16 == BN);

  f32x4 c[MI][NI][2];

  HK_MEM static int waveRow() { return waveId() / WN * (BM / WM); }
  HK_MEM static int waveCol() { return waveId() % WN * (BN / WN); }

  HK_MEM void clear() {
    HK_UNROLL for (int i = 0; i < MI; ++i)
        HK_UNROLL for (int j = 0; j < NI; ++j) {
      c[i][j][0] = f32x4(0);
      c[i][j][1] = f32x4(0);
    }
  }

  HK_MEM static f32x4 chunk(const u8 *tile, int row, int ch) {
    return *reinterpret_cast<const f32x4 *>(
        tile + row * kRowBytes + operandChunk<kRowBytes>(row, ch) * 16);
  }

  HK_MEM void mma(const u8 *a, const u8 *b) {
    int r = laneId() & 15, h = laneId() >> 4;
    _Pragma("nounroll") for (int k = 0; k < BK / 4; ++k) {
      f32x4 fa[MI];
      HK_UNROLL for (int i = 0; i < MI; ++i) fa[i] =
          chunk(a, waveRow() + i * 16 + r, k);
      HK_UNROLL for (int j = 0; j < NI; ++j)
          HK_UNROLL for (int q = 0; q < 8; ++q) {
        f32x4 fb = chunk(b, waveCol() + j * 16 + q / 4 * 8 + h * 4 + q % 4, k);
        HK_UNROLL for (int i = 0; i < MI; ++i)
            HK_UNROLL for (int e = 0; e < 4; ++e) {
          c[i][j][q / 4][q % 4] =
              __builtin_fmaf(fa[i][e], fb[e], c[i][j][q / 4][q % 4]);
        }
      }
    }
  }

  /// Adds part times a scale per owned row, and clears part.
  HK_MEM void fold(FmaBlock &part, const float (&scale)[kRows]) {
    HK_UNROLL for (int i = 0; i < MI; ++i)
        HK_UNROLL for (int j = 0; j < NI; ++j) {
      c[i][j][0] += part.c[i][j][0] * scale[i];
      c[i][j][1] += part.c[i][j][1] * scale[i];
      part.c[i][j][0] = part.c[i][j][1] = f32x4(0);
    }
  }

  template <class F> HK_MEM void forEach(F f) {
    HK_UNROLL for (int i = 0; i < kSlabs; ++i) forSlab(i, f);
  }
  template <class F> HK_MEM void forSlab(int i, F f) {
    int row = waveRow() + i * 16 + (laneId() & 15), h = laneId() >> 4;
    HK_UNROLL for (int j = 0; j < NI; ++j) HK_UNROLL for (int q = 0; q < 2; ++q)
        f(i, row, waveCol() + j * 16 + q * 8 + h * 4, c[i][j][q]);
  }

  template <class Reduce>
  HK_MEM static void laneReduce(float (&r)[kRows], Reduce reduce) {
    HK_UNROLL for (int i = 0; i < kRows; ++i) r[i] =
        reduce(r[i], bitCast<float>(laneXor<16>(bitCast<int>(r[i]))));
  }
  HK_MEM static int rowOf(int slot) {
    return waveRow() + slot * 16 + (laneId() & 15);
  }
  HK_MEM static bool rowLead() { return laneId() < 16; }
};

} // namespace hk

#endif // HK_KERNELS_DEVICE_MMA_FMA_H
