//===- inverse_blocks.h - Inverse of I + A by fragments -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// I + A of 64 rows in blocks of 16 x 16. Four waves: each inverts a block of
// the diagonal by substitution, a column a lane; then each has 16 columns of
// the inverse and goes down the blocks of rows,
//   X[r, c] = D[r] (-A[r, c] X[c, c] - ... - A[r, r - 1] X[r - 1, c]).
// It has them transposed: the layout of a product's result is then that of the
// left operand of the next one, if k is counted in another order, so nothing of
// a column leaves its wave.
//
// Elements are sums of two numbers that the matrix unit takes whole; of the
// product of two only that of the smaller parts is left out, 2^-22 of it.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_INVERSE_BLOCKS_H
#define HK_KERNELS_GATED_DELTA_INVERSE_BLOCKS_H

#include "kernels/device/arch/nvptx_async.h"
#include "kernels/gated_delta/matrix.h"

namespace hk {

/// The matrix `a` in LDS holds -A below its diagonal, at first; then inverses
/// of blocks are where the blocks of its diagonal were.
struct InverseBlocks {
  static constexpr int kRow = int(kInverseBlockRow), kSize = 16, kBlocks = 4;

  /// A block of 16 rows of the inverse and 16 columns, transposed: x[h][e] is
  /// of row h * 8 + lane % 4 * 2 + e % 2 and column e / 2 * 8 + lane / 4.
  struct Block {
    float x[2][4];
  };
  /// The blocks of this wave's columns: at [d] that d below the diagonal.
  using Columns = Block[kBlocks];

  /// Block `number` of the diagonal becomes its inverse; by one wave, which has
  /// stored it.
  HK_MEM static void invertDiagonal(float *a, int number) {
    float *block = a + number * kSize * (kRow + 1);
    const int j = laneId() % kSize;
    waveBarrier();
    float x[kSize];
    HK_UNROLL for (int i = 0; i < kSize; ++i) {
      float sum = 0;
      HK_UNROLL for (int l = 0; l < i; l += 4) {
        f32x4 row = *reinterpret_cast<const f32x4 *>(block + i * kRow + l);
        HK_UNROLL for (int e = 0; e < 4; ++e) if (l + e < i) sum =
            __builtin_fmaf(row[e], x[l + e], sum);
      }
      x[i] = i == j ? 1.f : sum;
    }
    waveBarrier();
    if (laneId() < kSize)
      HK_UNROLL for (int i = 0; i < kSize; ++i) block[i * kRow + j] = x[i];
  }

  /// The blocks of columns `number` on and below the diagonal, when all
  /// diagonals are inverted.
  HK_MEM static void solveColumns(const float *a, int number, Columns &x) {
    const float *corner = a + number * kSize * (kRow + 1);
    x[0] = transposed(corner);
    Parts parts[kBlocks];
    HK_UNROLL for (int d = 1; d < kBlocks; ++d) {
      if (number + d >= kBlocks)
        break;
      parts[d - 1] = split(x[d - 1]);
      const float *row = corner + d * kSize * kRow;
      Sum sum = {};
      HK_UNROLL for (int e = 0; e < d; ++e) sum.add(parts[e], row + e * kSize);
      Sum result = {};
      result.add(split(sum.block()), row + d * kSize);
      x[d] = result.block();
    }
  }

private:
  /// What the matrix unit takes whole of x.
  HK_MEM static float upperPart(float x) {
    return bitCast<float>(bitCast<u32>(x) & 0xFFFFE000u);
  }
  /// Both parts of a block.
  struct Parts {
    Block high, low;
  };
  HK_MEM static Parts split(const Block &b) {
    Parts parts;
    HK_UNROLL for (int h = 0; h < 2; ++h)
        HK_UNROLL for (int e = 0; e < 4; ++e) {
      parts.high.x[h][e] = upperPart(b.x[h][e]);
      parts.low.x[h][e] = b.x[h][e] - parts.high.x[h][e];
    }
    return parts;
  }
  HK_MEM static Block transposed(const float *block) {
    const int row = laneId() % 4 * 2, column = laneId() / 4;
    Block b;
    HK_UNROLL for (int h = 0; h < 2; ++h) HK_UNROLL for (int e = 0; e < 4; ++e)
        b.x[h][e] = block[(h * 8 + row + e % 2) * kRow + e / 2 * 8 + column];
    return b;
  }

  /// A sum of products of transposed blocks: of high parts, and the rest.
  struct Sum {
    Block high, low;

    /// Adds left times the transposed block of 16 rows at `right`.
    HK_MEM void add(const Parts &left, const float *right) {
      const int row = laneId() / 4, column = laneId() % 4 * 2;
      HK_UNROLL for (int n = 0; n < 2; ++n)
          HK_UNROLL for (int k = 0; k < 2; ++k) {
        f32x2 b = *reinterpret_cast<const f32x2 *>(
            right + (n * 8 + row) * kRow + k * 8 + column);
        f32x2 up = {upperPart(b[0]), upperPart(b[1])}, rest = b - up;
        multiply(low.x[n], left.high.x[k], rest);
        multiply(high.x[n], left.high.x[k], up);
        multiply(low.x[n], left.low.x[k], up);
      }
    }
    HK_MEM Block block() const {
      Block b;
      HK_UNROLL for (int h = 0; h < 2; ++h)
          HK_UNROLL for (int e = 0; e < 4; ++e)
              b.x[h][e] = high.x[h][e] + low.x[h][e];
      return b;
    }
  };
  /// d += a b of 8 of k: those that a lane has beside one another in a result
  /// are k = lane % 4 and four more.
  HK_MEM static void multiply(float (&d)[4], const float (&a)[4], f32x2 b) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, "
        "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(bitCast<u32>(a[0])), "r"(bitCast<u32>(a[2])),
          "r"(bitCast<u32>(a[1])), "r"(bitCast<u32>(a[3])),
          "r"(bitCast<u32>(b[0])), "r"(bitCast<u32>(b[1])));
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_INVERSE_BLOCKS_H
