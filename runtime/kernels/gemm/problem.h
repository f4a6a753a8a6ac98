//===- problem.h - What one matrix product kernel computes -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compile-time description of a product (GemmProblem), its launch-time
// arguments (GemmArgs) and what an epilogue receives.
//
// An epilogue is called with kVec (at the right edge: 1) consecutive columns of
// one row, in row-major order over the lanes, and stores the results itself:
//
//   struct MyEpilogue {
//     static constexpr int kVec = 8;     // power of two, <= 8 GPU, <= 16 host
//     static constexpr int kGroup = 0;   // or 128: see stat()
//     // kGroup only: this part's share of the statistic of 128 columns; the
//     // largest one (NaN if any is) arrives as in.stat. Never below 0.
//     template <int V, class In>
//     float stat(i64 batch, i64 row, i64 col, const In &in) const;
//     template <int V, class In>
//     void apply(i64 batch, i64 row, i64 col, const In &in) const;
//   };
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_PROBLEM_H
#define HK_KERNELS_GEMM_PROBLEM_H

#include "hk/Contract/Grid.h"
#include "hk/Contract/Lds.h"
#include "hk/Contract/Slices.h"
#include "hk/Contract/Tile.h"
#include "kernels/device/columns.h"
#include "kernels/device/io.h"
#include "kernels/device/launch.h"
#include "kernels/gemm/operand.h"

namespace hk {

/// Which operands have f32 scales along k (kBlockScaleA, kBlockScaleB), which
/// multiply partial sums. Those that multiply elements belong to the operand's
/// decoder, those of whole sums to the epilogue.
enum class KScale { None, A, B, Both };

/// A and B are Operands. Pair: B has 2n rows; column c of the result is
/// computed with its partner c + n, both reach the epilogue.
template <class AT, class BT, bool PairT, KScale ScaleT, int BMT, int BNT,
          int BKT, int WMT, int WNT, int StagesT, int SplitKT>
struct GemmProblem {
  using A = AT;
  using B = BT;
  static constexpr GemmTile kTile = {BMT, BNT, BKT, WMT, WNT, StagesT, SplitKT};
  static constexpr bool kPair = PairT;
  static constexpr KScale kScale = ScaleT;
  static constexpr DType kOperand =
      gemmOperandType(kTarget, A::kResult, B::kResult);
  /// Columns of the result one block computes.
  static constexpr int kCols = kPair ? BNT / 2 : BNT;
  static constexpr int kRows = BMT;
  static constexpr bool kScaleA = kScale == KScale::A || kScale == KScale::Both;
  static constexpr bool kScaleB = kScale == KScale::B || kScale == KScale::Both;
  /// What products of the operands are summed in, and what reaches the
  /// epilogue.
  using Sum =
      typename Traits<kOperand == DType::I8 ? DType::I32 : DType::F32>::Carrier;
  using Acc = typename Traits<kOperand == DType::I8 && kScale == KScale::None
                                  ? DType::I32
                                  : DType::F32>::Carrier;
};

/// n is the number of columns of the result.
struct GemmArgs {
  OperandArgs a, b;
  i64 m, n, k;
  /// splitK > 1: the number of batches. Matrix s * batches + b of the result is
  /// the product of slice s of k of batch b.
  i64 batches;
};

/// The block with its matrix as z, where a batch may have more matrices than a
/// grid's z; `rows` is the number of tiles of one matrix along y. z may come
/// out as `matrices` or more: such a block has nothing to do.
HK_DEV BlockId blockOfMatrix(BlockId block, i64 rows, i64 matrices) {
  if (i64(block.y) < rows)
    return block;
  u32 part = block.y / u32(rows);
  return {block.x, block.y % u32(rows),
          block.z + part * u32(gridDepth(matrices))};
}

/// `work(block)` of a block with its matrix, where there is one.
template <class Work>
HK_DEV void runOfMatrix(BlockId block, i64 rows, i64 matrices,
                        const Work &work) {
  BlockId own = blockOfMatrix(block, rows, matrices);
  if (own.z < matrices)
    work(own);
}

/// The elements of k that the blocks of one matrix of the result sum.
struct KRange {
  i64 begin, end;
};
template <class Problem>
HK_DEV KRange rangeOfK(const GemmArgs &args, i64 matrix) {
  constexpr int slices = Problem::kTile.splitK;
  if constexpr (slices == 1)
    return {0, args.k};
  i64 each = sliceLength(args.k, slices), begin = matrix / args.batches * each;
  begin = begin < args.k ? begin : args.k;
  return {begin, begin + each < args.k ? begin + each : args.k};
}

/// Where the rows of a tile go: rows `first`, ... of a matrix of the result,
/// those below `end`.
struct TileRows {
  i64 batch, first, end;

  HK_MEM bool exists(int r) const { return first + r < end; }
  HK_MEM i64 row(int r) const { return first + r; }
  HK_MEM i64 matrix(int) const { return batch; }
};

/// Accumulators of V consecutive columns; `pair` those of the partner columns.
template <class Acc, int V> struct GemmOutput {
  Vec<Acc, V> acc, pair;
  float stat;
};

template <int E, class Acc, int V>
HK_DEV GemmOutput<Acc, 1> elementOf(const GemmOutput<Acc, V> &in) {
  return {Vec<Acc, 1>(in.acc[E]), Vec<Acc, 1>(in.pair[E]), in.stat};
}

} // namespace hk

#endif // HK_KERNELS_GEMM_PROBLEM_H
