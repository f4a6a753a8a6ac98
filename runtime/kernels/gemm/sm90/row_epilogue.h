//===- row_epilogue.h - An epilogue that only rounds, by rows -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same as box_epilogue.h where the rows of a tile may end anywhere, which
// the copy engine does not know: from the boxes in LDS neighbouring lanes take
// 16 bytes of a row each and store them, if the row is there.
//
// An emitted epilogue has the members of one for boxes, and
//   void storeEight(i64 row, i64 col, const u32x4 &elements) const;
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_ROW_EPILOGUE_H
#define HK_KERNELS_GEMM_SM90_ROW_EPILOGUE_H

#include "kernels/gemm/sm90/box_epilogue.h"

namespace hk {

template <class Config> struct RowEpilogue : StoresItself {
  using StoresItself::StoresItself;

  template <class Total, class Rows, class Epilogue>
  HK_MEM static void run(const Total &d, const Rows &rows, int col,
                         const GemmArgs &args, u8 *slab,
                         const Epilogue &epilogue) {
    using Boxes = RoundedBoxes<Config, Rows, Total, Epilogue>;
    Boxes boxes(d, rows, col, args, epilogue);
    HK_UNROLL for (int j = 0; j < Boxes::kCount; ++j) {
      // Of a tile that is wider than the result.
      if (col + j * Boxes::kColumns >= args.n)
        continue;
      u8 *box = slab + j % 2 * Boxes::kBytes;
      typename Boxes::Part v[1];
      boxes.compute(j, v);
      waveBarrier();
      Boxes::write(ldsAddress(box), v[0]);
      waveBarrier();
      store(box, rows, col + j * Boxes::kColumns, args, epilogue);
    }
  }

private:
  template <class Rows, class Epilogue>
  HK_MEM static void store(const u8 *box, const Rows &rows, int col,
                           const GemmArgs &args, const Epilogue &epilogue) {
    constexpr int perRow = kBulkRowBytes / 16, atOnce = kWave / perRow;
    HK_UNROLL for (int i = 0; i < 16; i += atOnce) {
      int row = i + laneId() / perRow, chunk = laneId() % perRow;
      u32x4 v = *reinterpret_cast<const u32x4 *>(
          box + swizzled<kBulkRowBytes>(row, chunk * 16));
      // Lanes that hold a row of others take part.
      bool exists = rows.exists(row);
      i64 to = rows.row(row);
      // Rows are whole chunks.
      if (exists && col + chunk * 8 < args.n)
        epilogue.storeEight(to, col + chunk * 8, v);
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_ROW_EPILOGUE_H
