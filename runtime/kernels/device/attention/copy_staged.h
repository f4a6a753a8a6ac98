//===- copy_staged.h - Rows into LDS through registers -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RowCopy for AMD targets: issue() starts the loads, land() writes LDS.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_ATTENTION_COPYSTAGED_H
#define HK_KERNELS_DEVICE_ATTENTION_COPYSTAGED_H

#include "kernels/device/mma/swizzle.h"
#include "kernels/device/mma/view.h"

namespace hk {

/// Rows of RowBytes in LDS, of which ValidBytes exist; the rest is zero.
template <int Rows, int RowBytes, int ValidBytes, int Threads> struct RowCopy {
  static constexpr bool kDirect = false;
  static constexpr int kChunks = RowBytes / 16;
  static constexpr int kPerThread = (Rows * kChunks + Threads - 1) / Threads;
  static constexpr bool kExact = Rows * kChunks % Threads == 0;
  u32x4 v[kPerThread];

  /// rowAt(row): address of the row's first byte; with Gaps null for a row of
  /// zeros. `thread` is below Threads. With Gaps an address comes from a table:
  /// all are asked for before the first row is, as loads return in order.
  template <bool Gaps = false, class F>
  HK_MEM void issue(int thread, F rowAt, u8 *) {
    Global<const u8> from[Gaps ? kPerThread : 1];
    if constexpr (Gaps)
      HK_UNROLL for (int i = 0; i < kPerThread; ++i) {
        int row = (i * Threads + thread) / kChunks;
        from[i] = rowAt(row < Rows ? row : Rows - 1);
      }
    HK_UNROLL for (int i = 0; i < kPerThread; ++i) {
      int s = i * Threads + thread, row = s / kChunks, ch = s % kChunks;
      v[i] = u32x4(0);
      if ((kExact || row < Rows) &&
          (RowBytes == ValidBytes || ch * 16 < ValidBytes)) {
        if constexpr (Gaps) {
          if (from[i])
            v[i] = *(Global<const u32x4>)(from[i] + ch * 16);
        } else {
          v[i] = *(Global<const u32x4>)(rowAt(row) + ch * 16);
        }
      }
    }
  }
  /// Rows at equal distances; those outside of the view are zeros.
  HK_MEM void issueTile(int thread, const TileView &view, u8 *) {
    HK_UNROLL for (int i = 0; i < kPerThread; ++i) {
      int s = i * Threads + thread, row = s / kChunks, ch = s % kChunks;
      if (kExact || row < Rows)
        v[i] = view.load<16>(row, u32(ch) * 16);
    }
  }
  HK_MEM void land(int thread, u8 *lds) {
    HK_UNROLL for (int i = 0; i < kPerThread; ++i) {
      int s = i * Threads + thread, row = s / kChunks, ch = s % kChunks;
      if (kExact || row < Rows)
        *reinterpret_cast<u32x4 *>(lds + row * RowBytes +
                                   swizzleChunk<RowBytes>(row, ch) * 16) = v[i];
    }
  }
};

HK_DEV void rowCopyWait() {}
HK_DEV void rowCopyCommit() {}
template <int PENDING> HK_DEV void rowCopyWaitBut() {}

} // namespace hk

#endif // HK_KERNELS_DEVICE_ATTENTION_COPYSTAGED_H
