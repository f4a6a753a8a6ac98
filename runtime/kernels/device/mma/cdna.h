//===- cdna.h - Matrix fragments of gfx942 and gfx950 -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// C[BM, BN] += A[BM, BK] * B[BN, BK]^T from LDS, on 32x32 MFMA fragments. The
// operands of the instruction are swapped, so that a lane owns one row and four
// consecutive columns. An operand is read as 16-byte chunks whatever its dtype:
// lane half h takes chunk 2k + h of step k, and as both operands permute k the
// same way, the order of k inside a step is free.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_MMA_CDNA_H
#define HK_KERNELS_DEVICE_MMA_CDNA_H

#include "kernels/device/mma/swizzle.h"

namespace hk {

/// Steps of a 32x32 fragment: 16 bytes of k per lane and operand, or 32 where
/// the full rate takes them (kPairs).
template <DType D> struct Mfma;

template <> struct Mfma<DType::BF16> {
  using Acc = f32x16;
  static constexpr int kInstructions = kArch == Arch::Gfx950 ? 1 : 2;
  HK_MEM static Acc step(u32x4 b, u32x4 a, Acc c) {
#if defined(__gfx950__)
    return __builtin_amdgcn_mfma_f32_32x32x16_bf16(
        bitCast<bf16x8>(b), bitCast<bf16x8>(a), c, 0, 0, 0);
#else
    c = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(
        bitCast<Vec<i16, 4>>(b.lo), bitCast<Vec<i16, 4>>(a.lo), c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(
        bitCast<Vec<i16, 4>>(b.hi), bitCast<Vec<i16, 4>>(a.hi), c, 0, 0, 0);
#endif
  }
};

template <> struct Mfma<DType::F16> {
  using Acc = f32x16;
  static constexpr int kInstructions = kArch == Arch::Gfx950 ? 1 : 2;
  HK_MEM static Acc step(u32x4 b, u32x4 a, Acc c) {
#if defined(__gfx950__)
    return __builtin_amdgcn_mfma_f32_32x32x16_f16(
        bitCast<Vec<f16, 8>>(b), bitCast<Vec<f16, 8>>(a), c, 0, 0, 0);
#else
    c = __builtin_amdgcn_mfma_f32_32x32x8f16(
        bitCast<Vec<f16, 4>>(b.lo), bitCast<Vec<f16, 4>>(a.lo), c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_32x32x8f16(
        bitCast<Vec<f16, 4>>(b.hi), bitCast<Vec<f16, 4>>(a.hi), c, 0, 0, 0);
#endif
  }
};

template <> struct Mfma<DType::F32> {
  using Acc = f32x16;
  static constexpr int kInstructions = 4;
  HK_MEM static Acc step(u32x4 b, u32x4 a, Acc c) {
    HK_UNROLL for (int e = 0; e < 4; ++e) c =
        __builtin_amdgcn_mfma_f32_32x32x2f32(bitCast<float>(b[e]),
                                             bitCast<float>(a[e]), c, 0, 0, 0);
    return c;
  }
};

/// The chip's own e4m3 flavour.
template <> struct Mfma<kNativeE4M3> {
  using Acc = f32x16;
#if defined(__gfx950__)
  static constexpr bool kPairs = true;
  static constexpr int kInstructions = 1;
  HK_MEM static Acc pair(u32x4 b0, u32x4 b1, u32x4 a0, u32x4 a1, Acc c) {
    // No scales: the instruction without them.
    return __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(
        join(b0, b1), join(a0, a1), c, 0, 0, 0, 0, 0, 0);
  }
  HK_MEM static Vec<i32, 8> join(u32x4 lo, u32x4 hi) {
    return bitCast<Vec<i32, 8>>(
        __builtin_shufflevector(lo, hi, 0, 1, 2, 3, 4, 5, 6, 7));
  }
#else
  static constexpr int kInstructions = 2;
#endif
  HK_MEM static Acc step(u32x4 b, u32x4 a, Acc c) {
    c = __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(
        bitCast<long>(b.lo), bitCast<long>(a.lo), c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(
        bitCast<long>(b.hi), bitCast<long>(a.hi), c, 0, 0, 0);
  }
};

template <> struct Mfma<DType::I8> {
  using Acc = Vec<i32, 16>;
  static constexpr int kInstructions = kArch == Arch::Gfx950 ? 1 : 2;
  HK_MEM static Acc step(u32x4 b, u32x4 a, Acc c) {
#if defined(__gfx950__)
    return __builtin_amdgcn_mfma_i32_32x32x32_i8(
        bitCast<Vec<i32, 4>>(b), bitCast<Vec<i32, 4>>(a), c, 0, 0, 0);
#else
    c = __builtin_amdgcn_mfma_i32_32x32x16_i8(bitCast<long>(b.lo),
                                              bitCast<long>(a.lo), c, 0, 0, 0);
    return __builtin_amdgcn_mfma_i32_32x32x16_i8(
        bitCast<long>(b.hi), bitCast<long>(a.hi), c, 0, 0, 0);
#endif
  }
};

template <DType D, int BM, int BN, int BK, int WM, int WN> struct BlockMma {
  using Op = Mfma<D>;
  using Fragment = typename Op::Acc;
  /// Element type of the accumulator.
  using Acc = __typeof__(Fragment{}[0] + Fragment{}[0]);
  static constexpr int kThreads = WM * WN * 64;
  static constexpr int MI = BM / WM / 32, NI = BN / WN / 32;
  /// Consecutive columns a lane owns; rows it owns; slabs the tile is cut in.
  static constexpr int V = 4, kRows = MI, kSlabs = MI;
  static constexpr int kSlabRows = 32;
  static constexpr int kRowBytes = BK * info(D).bits / 8;
  static constexpr int kSteps = kRowBytes / 32;
  static_assert(MI >= 1 && NI >= 1 && MI * WM * 32 == BM && NI * WN * 32 == BN);
  static_assert(kRowBytes % 64 == 0, "a tile row is a multiple of 64 bytes");

  static constexpr int pairs() {
    if constexpr (requires { Op::kPairs; })
      return 2;
    else
      return 1;
  }
  /// 16-byte chunks of k that a lane multiplies at once.
  static constexpr int kPer = pairs();
  static_assert(kSteps % kPer == 0);

  HK_MEM static Fragment step(const u32x4 (&b)[kPer], const u32x4 (&a)[kPer],
                              Fragment c) {
    if constexpr (kPer == 2)
      return Op::pair(b[0], b[1], a[0], a[1], c);
    else
      return Op::step(b[0], a[0], c);
  }

  Fragment c[MI][NI];

  HK_MEM static int waveRow() { return waveId() / WN * (BM / WM); }
  HK_MEM static int waveCol() { return waveId() % WN * (BN / WN); }

  HK_MEM void clear() {
    HK_UNROLL for (int i = 0; i < MI; ++i)
        HK_UNROLL for (int j = 0; j < NI; ++j) c[i][j] = Fragment(0);
  }

  HK_MEM static u32x4 chunk(const u8 *tile, int row, int ch) {
    return *reinterpret_cast<const u32x4 *>(
        tile + row * kRowBytes + operandChunk<kRowBytes>(row, ch) * 16);
  }

  /// One K tile. Fragments of the next step are read while this one computes;
  /// the group barriers keep clang from waiting at every step.
  HK_MEM void mma(const u8 *a, const u8 *b) {
    int r = laneId() & 31, h = laneId() >> 5;
    u32x4 fa[2][MI][kPer], fb[2][NI][kPer];
    auto load = [&](int k) __attribute__((always_inline)) {
      HK_UNROLL for (int x = 0; x < kPer; ++x) {
        int at = (k * kPer + x) * 2 + h;
        HK_UNROLL for (int i = 0; i < MI; ++i) fa[k & 1][i][x] =
            chunk(a, waveRow() + i * 32 + r, at);
        HK_UNROLL for (int j = 0; j < NI; ++j) fb[k & 1][j][x] =
            chunk(b, waveCol() + j * 32 + r, at);
      }
    };
    load(0);
    HK_UNROLL for (int k = 0; k < kSteps / kPer; ++k) {
      if (k + 1 < kSteps / kPer)
        load(k + 1);
      HK_UNROLL for (int i = 0; i < MI; ++i)
          HK_UNROLL for (int j = 0; j < NI; ++j) c[i][j] =
              step(fb[k & 1][j], fa[k & 1][i], c[i][j]);
    }
    schedule();
  }

  /// Adds part, perhaps of integers, times a scale per owned row; clears part.
  template <class Part>
  HK_MEM void fold(Part &part, const float (&scale)[kRows]) {
    HK_UNROLL for (int i = 0; i < MI; ++i)
        HK_UNROLL for (int j = 0; j < NI; ++j) {
      c[i][j] += convertTo<float, 16>(part.c[i][j]) * scale[i];
      part.c[i][j] = typename Part::Fragment(0);
    }
  }

  /// f(slot, row, col, Vec<Acc, V> &) over the elements this lane owns; slot
  /// counts its rows.
  template <class F> HK_MEM void forEach(F f) {
    HK_UNROLL for (int i = 0; i < kSlabs; ++i) forSlab(i, f);
  }
  /// The same for slab i, which must fold to a constant.
  template <class F> HK_MEM void forSlab(int i, F f) {
    int row = waveRow() + i * 32 + (laneId() & 31), h = laneId() >> 5;
    HK_UNROLL for (int j = 0; j < NI; ++j)
        HK_UNROLL for (int q = 0; q < 4; ++q) {
      Vec<Acc, 4> v = {c[i][j][q * 4], c[i][j][q * 4 + 1], c[i][j][q * 4 + 2],
                       c[i][j][q * 4 + 3]};
      f(i, row, waveCol() + j * 32 + q * 8 + h * 4, v);
      HK_UNROLL for (int e = 0; e < 4; ++e) c[i][j][q * 4 + e] = v[e];
    }
  }

  /// Combines, per row, what the lanes of this wave hold of it.
  template <class Reduce>
  HK_MEM static void laneReduce(float (&r)[kRows], Reduce reduce) {
    HK_UNROLL for (int i = 0; i < kRows; ++i) r[i] =
        reduce(r[i], bitCast<float>(laneXor<32>(bitCast<int>(r[i]))));
  }
  HK_MEM static int rowOf(int slot) {
    return waveRow() + slot * 32 + (laneId() & 31);
  }
  /// Whether this lane speaks for its rows after laneReduce.
  HK_MEM static bool rowLead() { return laneId() < 32; }

private:
  /// One LDS read for every few MFMAs.
  HK_MEM static void schedule() {
    constexpr int reads = (MI + NI) * kPer, macs = MI * NI * Op::kInstructions;
    constexpr int steps = kSteps / kPer;
    __builtin_amdgcn_sched_group_barrier(0x100, reads, 0);
    HK_UNROLL for (int k = 0; k < steps; ++k) {
      if (k + 1 < steps && macs >= reads) {
        HK_UNROLL for (int x = 0; x < reads; ++x) {
          __builtin_amdgcn_sched_group_barrier(0x100, 1, 0);
          __builtin_amdgcn_sched_group_barrier(0x008, macs / reads, 0);
        }
      } else {
        if (k + 1 < steps)
          __builtin_amdgcn_sched_group_barrier(0x100, reads, 0);
        __builtin_amdgcn_sched_group_barrier(0x008, macs, 0);
      }
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_DEVICE_MMA_CDNA_H
