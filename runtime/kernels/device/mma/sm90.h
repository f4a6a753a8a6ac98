//===- sm90.h - Matrix fragments of sm_90a -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// C[BM, BN] += A[BM, BK] * B[BN, BK]^T from LDS with mma.sync: 16x8 fragments,
// 32 bytes of k per step and row whatever the dtype, read by ldmatrix. A lane
// owns two rows and two consecutive columns of a fragment.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_MMA_SM90_H
#define HK_KERNELS_DEVICE_MMA_SM90_H

#include "kernels/device/mma/fma.h"
#include "kernels/device/mma/swizzle.h"
#include "kernels/device/mma/view.h"

namespace hk {

#define HK_MMA_SYNC(name, acc, constraint)                                     \
  acc d0 = d[0], d1 = d[1], d2 = d[2], d3 = d[3];                              \
  asm("mma.sync.aligned." name                                                 \
      " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                 \
      : "+" constraint(d0), "+" constraint(d1), "+" constraint(d2),            \
        "+" constraint(d3)                                                     \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));         \
  d = Vec<acc, 4> { d0, d1, d2, d3 }

/// One 16x8 fragment and 32 bytes of k.
template <DType D> struct MmaSync;
template <> struct MmaSync<DType::BF16> {
  using Acc = float;
  HK_MEM static void step(Vec<Acc, 4> &d, u32x4 a, u32 b0, u32 b1) {
    HK_MMA_SYNC("m16n8k16.row.col.f32.bf16.bf16.f32", float, "f");
  }
};
template <> struct MmaSync<DType::F16> {
  using Acc = float;
  HK_MEM static void step(Vec<Acc, 4> &d, u32x4 a, u32 b0, u32 b1) {
    HK_MMA_SYNC("m16n8k16.row.col.f32.f16.f16.f32", float, "f");
  }
};
template <> struct MmaSync<DType::F8E4M3FN> {
  using Acc = float;
  HK_MEM static void step(Vec<Acc, 4> &d, u32x4 a, u32 b0, u32 b1) {
    HK_MMA_SYNC("m16n8k32.row.col.f32.e4m3.e4m3.f32", float, "f");
  }
};
template <> struct MmaSync<DType::I8> {
  using Acc = i32;
  HK_MEM static void step(Vec<Acc, 4> &d, u32x4 a, u32 b0, u32 b1) {
    HK_MMA_SYNC("m16n8k32.row.col.s32.s8.s8.s32", i32, "r");
  }
};
#undef HK_MMA_SYNC

template <DType D, int BM, int BN, int BK, int WM, int WN> struct MmaSyncBlock {
  using Op = MmaSync<D>;
  using Acc = typename Op::Acc;
  static constexpr int kThreads = WM * WN * 32;
  static constexpr int MI = BM / WM / 16, NI = BN / WN / 8;
  static constexpr int V = 2, kRows = MI * 2, kSlabs = MI;
  static constexpr int kSlabRows = 16;
  static constexpr int kRowBytes = BK * info(D).bits / 8;
  static constexpr int kSteps = kRowBytes / 32;
  static_assert(MI >= 1 && NI >= 2 && MI * WM * 16 == BM && NI * WN * 8 == BN &&
                NI % 2 == 0);
  static_assert(kRowBytes % 64 == 0, "a tile row is a multiple of 64 bytes");

  Vec<Acc, 4> c[MI][NI];

  HK_MEM static int waveRow() { return waveId() / WN * (BM / WM); }
  HK_MEM static int waveCol() { return waveId() % WN * (BN / WN); }

  HK_MEM void clear() {
    HK_UNROLL for (int i = 0; i < MI; ++i)
        HK_UNROLL for (int j = 0; j < NI; ++j) c[i][j] = Vec<Acc, 4>(0);
  }

  HK_MEM static u32x4 ldmatrix(const u8 *p) {
    u32 r0, r1, r2, r3;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3)
                 : "r"(ldsAddress(p))
                 : "memory");
    return u32x4{r0, r1, r2, r3};
  }
  HK_MEM static const u8 *at(const u8 *tile, int row, int ch) {
    return tile + row * kRowBytes + operandChunk<kRowBytes>(row, ch) * 16;
  }
  HK_MEM static u32x4 loadAFragment(const u8 *a, int i, int k) {
    int l = laneId();
    return ldmatrix(at(a, waveRow() + i * 16 + (l & 15), k * 2 + (l >> 4)));
  }
  /// Two neighbouring fragments of B.
  HK_MEM static u32x4 loadBFragments(const u8 *b, int j, int k) {
    int l = laneId();
    return ldmatrix(at(b, waveCol() + j * 16 + (l & 7) + (l >> 4) * 8,
                       k * 2 + ((l >> 3) & 1)));
  }

  HK_MEM void mma(const u8 *a, const u8 *b) {
    HK_UNROLL for (int k = 0; k < kSteps; ++k) {
      u32x4 fa[MI], fb[NI / 2];
      HK_UNROLL for (int i = 0; i < MI; ++i) fa[i] = loadAFragment(a, i, k);
      HK_UNROLL for (int j = 0; j < NI / 2; ++j) fb[j] =
          loadBFragments(b, j, k);
      HK_UNROLL for (int i = 0; i < MI; ++i)
          HK_UNROLL for (int j = 0; j < NI; ++j) Op::step(
              c[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
    }
  }

  /// Adds part, perhaps of integers, times a scale per owned row; clears part.
  template <class Part>
  HK_MEM void fold(Part &part, const float (&scale)[kRows]) {
    HK_UNROLL for (int i = 0; i < MI; ++i)
        HK_UNROLL for (int j = 0; j < NI; ++j) {
      HK_UNROLL for (int e = 0; e < 4; ++e) c[i][j][e] +=
          float(part.c[i][j][e]) * scale[i * 2 + e / 2];
      part.c[i][j] = Vec<typename Part::Acc, 4>(0);
    }
  }

  template <class F> HK_MEM void forEach(F f) {
    HK_UNROLL for (int i = 0; i < kSlabs; ++i) forSlab(i, f);
  }
  template <class F> HK_MEM void forSlab(int i, F f) {
    int row = waveRow() + i * 16 + laneId() / 4;
    int col = waveCol() + laneId() % 4 * 2;
    HK_UNROLL for (int j = 0; j < NI; ++j)
        HK_UNROLL for (int q = 0; q < 2; ++q) {
      Vec<Acc, 2> v = {c[i][j][q * 2], c[i][j][q * 2 + 1]};
      f(i * 2 + q, row + q * 8, col + j * 8, v);
      c[i][j][q * 2] = v[0];
      c[i][j][q * 2 + 1] = v[1];
    }
  }

  template <class Reduce>
  HK_MEM static void laneReduce(float (&r)[kRows], Reduce reduce) {
    HK_UNROLL for (int i = 0; i < kRows; ++i) {
      r[i] = reduce(r[i], bitCast<float>(laneXor<1>(bitCast<int>(r[i]))));
      r[i] = reduce(r[i], bitCast<float>(laneXor<2>(bitCast<int>(r[i]))));
    }
  }
  HK_MEM static int rowOf(int slot) {
    return waveRow() + slot / 2 * 16 + slot % 2 * 8 + laneId() / 4;
  }
  HK_MEM static bool rowLead() { return laneId() % 4 == 0; }
};

template <bool IsF32, DType D, int BM, int BN, int BK, int WM, int WN>
struct PickBlock {
  using Type = MmaSyncBlock<D, BM, BN, BK, WM, WN>;
};
template <DType D, int BM, int BN, int BK, int WM, int WN>
struct PickBlock<true, D, BM, BN, BK, WM, WN> {
  using Type = FmaBlock<BM, BN, BK, WM, WN>;
};
template <DType D, int BM, int BN, int BK, int WM, int WN>
using BlockMma =
    typename PickBlock<D == DType::F32, D, BM, BN, BK, WM, WN>::Type;

} // namespace hk

#endif // HK_KERNELS_DEVICE_MMA_SM90_H
