//===- box_epilogue.h - An epilogue that only rounds -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A result of 16-bit elements whose epilogue reads no other matrix is computed
// where the accumulators are, two columns at a time: each warp writes boxes of
// 16 rows and 64 columns to LDS, in turn into two places, and the copy engine
// stores them through the kernel's third map, which clips them at the edges.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_BOX_EPILOGUE_H
#define HK_KERNELS_GEMM_SM90_BOX_EPILOGUE_H

#include "kernels/gemm/sm90/rows.h"

namespace hk {

/// In place of an emitted epilogue: rounds the product to Out, bf16 or f16. An
/// emitted one for boxes has the same members.
template <class Out> struct StoreRounded {
  using BoxElement = Out;
  /// Two columns of the result, as f32 that Out holds or rounds.
  template <class In>
  HK_MEM Vec<float, 2> two(i64, i64, i64, const In &in) const {
    return convertTo<float, 2>(in.acc);
  }
};

/// A warp's 16 rows of a tile, rounded in boxes of 64 columns.
template <class Config, class Rows, class Total, class Epilogue>
struct RoundedBoxes {
  using P = typename Config::P;
  static constexpr int kColumns = kBulkRowBytes / 2;
  static constexpr int kBytes = 16 * kBulkRowBytes;
  static constexpr int kCount = P::kCols / kColumns;
  static_assert(2 * kBytes <= kBulkSlabBytes && P::kCols % kColumns == 0);

  const Total &d;
  const Rows &rows;
  int firstColumn;
  const GemmArgs &args;
  const Epilogue &epilogue;

  /// A lane's part of four 8x8 matrices, rows 0-7 and 8-15 of 16 columns, of
  /// box j.
  HK_MEM void compute(int j, u32 (&v)[kColumns / 16][4]) const {
    HK_UNROLL for (int c = 0; c < kColumns / 16;
                   ++c) HK_UNROLL for (int q = 0; q < 4; ++q) v[c][q] =
        get(j * 32 + c * 8 + q * 2, q % 2, j * kColumns + c * 16 + q / 2 * 8);
  }
  /// Writes them to the box.
  HK_MEM static void write(u32 box, const u32 (&v)[kColumns / 16][4]) {
    int l = laneId(), row = l / 8 % 2 * 8 + l % 8, side = l / 16;
    HK_UNROLL for (int c = 0; c < kColumns / 16; ++c) {
      u32 to = box + swizzled<kBulkRowBytes>(row, (c * 2 + side) * 16);
      storeMatrices(to, v[c]);
    }
  }

private:
  /// Columns col and col + 1 of row lane / 4, or 8 below, from registers i
  /// on. What is outside of the result is computed at its edge, and clipped.
  HK_MEM u32 get(int i, int half, int col) const {
    int r = rows.nearest(half * 8 + laneId() / 4);
    int column = firstColumn + col + laneId() % 4 * 2;
    GemmOutput<typename P::Acc, 2> out;
    out.acc = {d[i], d[i + 1]};
    out.pair = 0;
    if constexpr (P::kPair)
      out.pair = {d[i + Config::T.bn / 4], d[i + 1 + Config::T.bn / 4]};
    out.stat = 0;
    f32x2 v = epilogue.two(rows.matrix(r), rows.row(r),
                           column < args.n ? column : 0, out);
    return bitCast<u32>(convertTo<typename Epilogue::BoxElement, 2>(v));
  }
};

template <class Config> struct BoxEpilogue {
  template <class Total, class Rows, class Epilogue>
  HK_MEM static void run(const Total &d, const Rows &rows, int col,
                         const GemmArgs &args, const TensorMap *maps, u8 *slab,
                         const Epilogue &epilogue) {
    using Boxes = RoundedBoxes<Config, Rows, Total, Epilogue>;
    Boxes boxes = {d, rows, col, args, epilogue};
    HK_UNROLL for (int j = 0; j < Boxes::kCount; ++j) {
      u32 box = ldsAddress(slab) + j % 2 * Boxes::kBytes;
      u32 v[Boxes::kColumns / 16][4];
      boxes.compute(j, v);
      if (laneId() == 0)
        waitStoresRead<1>();
      waveBarrier();
      Boxes::write(box, v);
      publishToCopies();
      waveBarrier();
      if (laneId() == 0)
        storeBox(maps[2], box,
                 {col + j * Boxes::kColumns, rows.row(0), rows.matrix(0)});
    }
  }

  /// Before the block ends: the engine still reads its LDS.
  HK_MEM static void finish() {
    if (laneId() == 0)
      waitStoresRead<0>();
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_BOX_EPILOGUE_H
