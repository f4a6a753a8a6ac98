//===- cdna_scaled.h - Scaled matrix fragments of gfx950 -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// C[BM, BN] += (A[BM, BK] * SA) * (B[BN, BK] * SB)^T from LDS, where A and B
// are OCP floats of 8 or 4 bits, each of its own type, and SA and SB an e8m0
// scale for every 32 elements along k. One instruction takes 64 of k. Lane half
// h has block 2s + h of step s: 4-bit elements as they lie, of 8-bit ones the
// 16-byte chunks 4s + h and 4s + 2 + h, which the instruction orders as memory
// does. The scale of block 2s + h is in half h whatever the type. Accumulators
// are those of cdna.h.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_MMA_CDNA_SCALED_H
#define HK_KERNELS_DEVICE_MMA_CDNA_SCALED_H

#include "hk/Contract/Scale.h"
#include "kernels/device/mma/cdna.h"

namespace hk {

/// What the instruction calls an element type.
template <DType D>
inline constexpr int kScaledFormat = D == DType::F8E4M3FN ? 0
                                     : D == DType::F8E5M2 ? 1
                                                          : 4;

/// The accumulators of a block of 16-bit products, which do not depend on k.
template <int BM, int BN, int WM, int WN>
using ScaledTotal = BlockMma<DType::BF16, BM, BN, 64, WM, WN>;

template <DType A, DType B, int BM, int BN, int BK, int WM, int WN>
struct ScaledMma : ScaledTotal<BM, BN, WM, WN> {
  using Base = ScaledTotal<BM, BN, WM, WN>;
  using Base::c, Base::MI, Base::NI, Base::waveRow, Base::waveCol;
  using typename Base::Fragment;
  static constexpr int kRowBytesA = BK * info(A).bits / 8;
  static constexpr int kRowBytesB = BK * info(B).bits / 8;
  /// Scales of a row, and steps that share a word of them.
  static constexpr int kScaleBytes = BK / kMxScale.depth, kWordSteps = 2;
  static constexpr int kSteps = BK / 64, kWords = kSteps / kWordSteps;
  static_assert(BK % 128 == 0, "a row's scales are whole words");

  /// One K tile. `scalesA`, `scalesB`: kScaleBytes for each row, or null where
  /// all scales are 1.
  HK_MEM void mma(const u8 *a, const u8 *b, const u8 *scalesA,
                  const u8 *scalesB) {
    Words sa[MI], sb[NI];
    HK_UNROLL for (int i = 0; i < MI; ++i) sa[i] =
        words(scalesA, waveRow() + i * 32);
    HK_UNROLL for (int j = 0; j < NI; ++j) sb[j] =
        words(scalesB, waveCol() + j * 32);
    Packed fa[2][MI], fb[2][NI];
    auto load = [&](int k) __attribute__((always_inline)) {
      HK_UNROLL for (int i = 0; i < MI; ++i) fa[k & 1][i] =
          elements<A>(a, waveRow() + i * 32, k);
      HK_UNROLL for (int j = 0; j < NI; ++j) fb[k & 1][j] =
          elements<B>(b, waveCol() + j * 32, k);
    };
    load(0);
    HK_UNROLL for (int k = 0; k < kSteps; ++k) {
      if (k + 1 < kSteps)
        load(k + 1);
      HK_UNROLL for (int i = 0; i < MI; ++i)
          HK_UNROLL for (int j = 0; j < NI; ++j) {
        u32 wa = sa[i].w[k / kWordSteps], wb = sb[j].w[k / kWordSteps];
        c[i][j] = k % kWordSteps == 0
                      ? step<0>(fb[k & 1][j], wb, fa[k & 1][i], wa, c[i][j])
                      : step<2>(fb[k & 1][j], wb, fa[k & 1][i], wa, c[i][j]);
      }
    }
    schedule();
  }

private:
  using Packed = Vec<i32, 8>;
  struct Words {
    u32 w[kWords];
  };

  /// The scales of row `row` of the lane's half, in bytes 0 and 2.
  HK_MEM static Words words(const u8 *scales, int row) {
    Words of;
    auto *from = reinterpret_cast<const u32 *>(
        scales + (row + (laneId() & 31)) * kScaleBytes);
    HK_UNROLL for (int i = 0; i < kWords; ++i) of.w[i] =
        scales ? from[i] >> (laneId() >> 5) * 8 : 0x7f7f7f7fu;
    return of;
  }

  template <DType D>
  HK_MEM static Packed elements(const u8 *tile, int row, int k) {
    constexpr int bytes = BK * info(D).bits / 8;
    int r = row + (laneId() & 31), h = laneId() >> 5;
    auto chunk = [&](int ch) {
      return *reinterpret_cast<const u32x4 *>(tile + r * bytes +
                                              operandChunk<bytes>(r, ch) * 16);
    };
    u32x4 lo = {}, hi = {};
    if constexpr (info(D).bits == 8) {
      lo = chunk(k * 4 + h);
      hi = chunk(k * 4 + 2 + h);
    } else {
      lo = chunk(k * 2 + h);
    }
    return bitCast<Packed>(
        __builtin_shufflevector(lo, hi, 0, 1, 2, 3, 4, 5, 6, 7));
  }

  /// Byte: where in the words the step's scales are.
  template <int Byte>
  HK_MEM static Fragment step(Packed b, u32 scaleB, Packed a, u32 scaleA,
                              Fragment c) {
    return __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(
        b, a, c, kScaledFormat<B>, kScaledFormat<A>, Byte, int(scaleB), Byte,
        int(scaleA));
  }

  /// One LDS read for every few MFMAs.
  HK_MEM static void schedule() {
    constexpr int reads =
        MI * info(A).bits / 4 + NI * info(B).bits / 4 - (MI + NI);
    constexpr int macs = MI * NI;
    __builtin_amdgcn_sched_group_barrier(0x100, reads + MI + NI, 0);
    HK_UNROLL for (int k = 0; k < kSteps; ++k) {
      if (k + 1 < kSteps)
        __builtin_amdgcn_sched_group_barrier(0x100, reads, 0);
      __builtin_amdgcn_sched_group_barrier(0x008, macs, 0);
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_DEVICE_MMA_CDNA_SCALED_H
