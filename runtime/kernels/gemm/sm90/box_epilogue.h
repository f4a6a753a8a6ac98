//===- box_epilogue.h - An epilogue that only rounds -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The result is the product, rounded to 16 bits: each warp writes boxes of 16
// rows and 64 columns to LDS, in turn into two places, and the copy engine
// stores them through the kernel's third map, which clips them at the edges.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_BOX_EPILOGUE_H
#define HK_KERNELS_GEMM_SM90_BOX_EPILOGUE_H

#include "kernels/gemm/sm90/config.h"

namespace hk {

/// In place of an emitted epilogue. Out: bf16 or f16.
template <class Out> struct StoreRounded {};

template <class Config> struct BoxEpilogue {
  static constexpr int kRows = 16, kColumns = kBulkRowBytes / 2;
  static constexpr int kBoxBytes = kRows * kBulkRowBytes;
  static_assert(2 * kBoxBytes <= kBulkSlabBytes);

  template <class Total, class Out>
  HK_MEM static void run(const Total &d, const WarpPlace &at, const GemmArgs &,
                         const TensorMap *maps, u8 *slab,
                         const StoreRounded<Out> &) {
    u32 place = ldsAddress(slab);
    // A lane's part of four 8x8 matrices: rows 0-7 and 8-15 of 16 columns.
    int l = laneId(), row = l / 8 % 2 * 8 + l % 8, side = l / 16;
    HK_UNROLL for (int j = 0; j < Config::T.bn / kColumns; ++j) {
      u32 box = place + j % 2 * kBoxBytes;
      if (l == 0)
        waitStoresRead<1>();
      waveBarrier();
      HK_UNROLL for (int c = 0; c < 4; ++c) {
        const auto *v = d + j * (kColumns / 2) + c * 8;
        u32 to = box + swizzled<kBulkRowBytes>(row, (c * 2 + side) * 16);
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], "
                     "{%1, %2, %3, %4};" ::"r"(to),
                     "r"(pack<Out>(v[0], v[1])), "r"(pack<Out>(v[2], v[3])),
                     "r"(pack<Out>(v[4], v[5])), "r"(pack<Out>(v[6], v[7]))
                     : "memory");
      }
      publishToCopies();
      waveBarrier();
      if (l == 0)
        storeBox(maps[2], box,
                 {int(at.col) + j * kColumns, int(at.row), int(at.matrix)});
    }
  }

  /// Before the block ends: the engine still reads its LDS.
  HK_MEM static void finish() {
    if (laneId() == 0)
      waitStoresRead<0>();
  }

private:
  template <class Out> HK_MEM static u32 pack(float a, float b) {
    return bitCast<u32>(convertTo<Out, 2>(f32x2{a, b}));
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_BOX_EPILOGUE_H
