//===- rdna.h - Matrix fragments of gfx1100 -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// C[BM, BN] += A[BM, BK] * B[BN, BK]^T from LDS, on 16x16x16 WMMA fragments.
// The operands of the instruction are swapped as on CDNA; a lane owns one row
// and every second column.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_MMA_RDNA_H
#define HK_KERNELS_DEVICE_MMA_RDNA_H

#include "kernels/device/mma/fma.h"
#include "kernels/device/mma/swizzle.h"

namespace hk {

/// 16 elements of k per lane and operand.
template <DType D> struct Wmma;

template <> struct Wmma<DType::BF16> {
  using Acc = f32x8;
  using Operand = Vec<i16, 16>;
  HK_MEM static Acc step(Operand b, Operand a, Acc c) {
    return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(b, a, c);
  }
};
template <> struct Wmma<DType::F16> {
  using Acc = f32x8;
  using Operand = Vec<f16, 16>;
  HK_MEM static Acc step(Operand b, Operand a, Acc c) {
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(b, a, c);
  }
};
template <> struct Wmma<DType::I8> {
  using Acc = Vec<i32, 8>;
  using Operand = Vec<i32, 4>;
  HK_MEM static Acc step(Operand b, Operand a, Acc c) {
    return __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, b, true, a, c,
                                                      false);
  }
};

template <DType D, int BM, int BN, int BK, int WM, int WN> struct WmmaBlock {
  using Op = Wmma<D>;
  using Fragment = typename Op::Acc;
  using Operand = typename Op::Operand;
  using Acc = __typeof__(Fragment{}[0] + Fragment{}[0]);
  static constexpr int kThreads = WM * WN * 32;
  static constexpr int MI = BM / WM / 16, NI = BN / WN / 16;
  static constexpr int V = 1, kRows = MI, kSlabs = MI;
  static constexpr int kSlabRows = 16;
  static constexpr int kRowBytes = BK * info(D).bits / 8;
  static constexpr int kStepChunks = int(sizeof(Operand)) / 16;
  static constexpr int kSteps = kRowBytes / int(sizeof(Operand));
  static_assert(MI >= 1 && NI >= 1 && MI * WM * 16 == BM && NI * WN * 16 == BN);
  static_assert(kRowBytes % 64 == 0, "a tile row is a multiple of 64 bytes");

  Fragment c[MI][NI];

  HK_MEM static int waveRow() { return waveId() / WN * (BM / WM); }
  HK_MEM static int waveCol() { return waveId() % WN * (BN / WN); }

  HK_MEM void clear() {
    HK_UNROLL for (int i = 0; i < MI; ++i)
        HK_UNROLL for (int j = 0; j < NI; ++j) c[i][j] = Fragment(0);
  }

  HK_MEM static Operand operand(const u8 *tile, int row, int step) {
    u32x4 t[kStepChunks];
    HK_UNROLL for (int x = 0; x < kStepChunks; ++x) t[x] =
        *reinterpret_cast<const u32x4 *>(
            tile + row * kRowBytes +
            operandChunk<kRowBytes>(row, step * kStepChunks + x) * 16);
    return __builtin_bit_cast(Operand, t);
  }

  HK_MEM void mma(const u8 *a, const u8 *b) {
    int r = laneId() & 15;
    HK_UNROLL for (int k = 0; k < kSteps; ++k) {
      Operand fb[NI];
      HK_UNROLL for (int j = 0; j < NI; ++j) fb[j] =
          operand(b, waveCol() + j * 16 + r, k);
      HK_UNROLL for (int i = 0; i < MI; ++i) {
        Operand fa = operand(a, waveRow() + i * 16 + r, k);
        HK_UNROLL for (int j = 0; j < NI; ++j) c[i][j] =
            Op::step(fb[j], fa, c[i][j]);
      }
    }
  }

  /// Adds part, perhaps of integers, times a scale per owned row; clears part.
  template <class Part>
  HK_MEM void fold(Part &part, const float (&scale)[kRows]) {
    HK_UNROLL for (int i = 0; i < MI; ++i)
        HK_UNROLL for (int j = 0; j < NI; ++j) {
      c[i][j] += convertTo<float, 8>(part.c[i][j]) * scale[i];
      part.c[i][j] = typename Part::Fragment(0);
    }
  }

  template <class F> HK_MEM void forEach(F f) {
    HK_UNROLL for (int i = 0; i < kSlabs; ++i) forSlab(i, f);
  }
  template <class F> HK_MEM void forSlab(int i, F f) {
    int row = waveRow() + i * 16 + (laneId() & 15), h = laneId() >> 4;
    HK_UNROLL for (int j = 0; j < NI; ++j)
        HK_UNROLL for (int q = 0; q < 8; ++q) {
      Vec<Acc, 1> v = {c[i][j][q]};
      f(i, row, waveCol() + j * 16 + q * 2 + h, v);
      c[i][j][q] = v[0];
    }
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

template <bool IsF32, DType D, int BM, int BN, int BK, int WM, int WN>
struct PickBlock {
  using Type = WmmaBlock<D, BM, BN, BK, WM, WN>;
};
template <DType D, int BM, int BN, int BK, int WM, int WN>
struct PickBlock<true, D, BM, BN, BK, WM, WN> {
  using Type = FmaBlock<BM, BN, BK, WM, WN>;
};
template <DType D, int BM, int BN, int BK, int WM, int WN>
using BlockMma =
    typename PickBlock<D == DType::F32, D, BM, BN, BK, WM, WN>::Type;

} // namespace hk

#endif // HK_KERNELS_DEVICE_MMA_RDNA_H
