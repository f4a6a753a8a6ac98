//===- Product.h - Matrix products with their bounds -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the evaluators of hk.matmul and hk.grouped_matmul share: a product of
// two packed matrices over a part of K, with the scales of either.
//
//===----------------------------------------------------------------------===//

#ifndef HK_LIB_REFERENCE_PRODUCT_H
#define HK_LIB_REFERENCE_PRODUCT_H

#include "Evaluators.h"

#include "hk/Contract/Scale.h"

#include <optional>

namespace mlir::hk::reference {

/// Values and variances of an operand as [rows][columns] of one batch.
struct Matrix {
  std::vector<double> values, errors, jumps;

  Matrix(const Tensor &t, int64_t batch, int64_t rows, int64_t columns,
         bool transposed) {
    int64_t base = batch * rows * columns;
    auto pack = [&](const std::vector<double> &from, std::vector<double> &to) {
      if (from.empty())
        return;
      to.resize(rows * columns);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c)
          to[r * columns + c] =
              from[base + (transposed ? c * rows + r : r * columns + c)];
    };
    pack(t.values, values);
    pack(t.error, errors);
    pack(t.jump, jumps);
  }
  /// Rows of another one.
  Matrix(const Matrix &all, ArrayRef<int64_t> rows, int64_t columns) {
    auto gather = [&](const std::vector<double> &from,
                      std::vector<double> &to) {
      if (!from.empty())
        for (int64_t row : rows)
          to.insert(to.end(), from.begin() + row * columns,
                    from.begin() + (row + 1) * columns);
    };
    gather(all.values, values);
    gather(all.errors, errors);
    gather(all.jumps, jumps);
  }
};

/// The scale of one row of A or column of B in one block along K.
struct Scale {
  const Tensor *tensor = nullptr;
  int64_t batchStride = 0, rowStride = 0, blockStride = 0, rowBlock = 1;
  /// The operand's row of each row of a group; empty: the same.
  ArrayRef<int64_t> rows;

  /// `rows` along M or N, cut as `spec` says where there are scales along K.
  static Scale of(const Tensor *tensor, int64_t rows, ::hk::ScaleSpec spec);
  bool perBlock() const { return blockStride != 0; }
  Noisy get(int64_t batch, int64_t row, int64_t block) const {
    if (!tensor)
      return {1, 0};
    row = rows.empty() ? row : rows[row];
    return at(*tensor, batch * batchStride + row / rowBlock * rowStride +
                           block * blockStride);
  }
};

struct Product {
  int64_t m = 0, n = 0, k = 0;
  bool integer = false;
  Scale lhsScale, rhsScale;
  /// Unit of the roundings of sums of `chunk` elements, and whether they all
  /// have one direction, so that those of several chunks add up.
  double unit = kUnit;
  bool truncates = false;
  /// K steps after which scales apply; elements of K that share one.
  int64_t chunk = 1, scaleDepth = ::hk::kBlockScaleA.depth;
  /// Row of the result of each row of a group; empty: they follow each other.
  ArrayRef<int64_t> resultRows;
  /// What a term or a partial sum may lose, as a deviation (flushedBy).
  double flushed = 0;
  /// A factor of finished sums, and what is added to those of column n; or
  /// null.
  const Noisy *factor = nullptr;
  const Noisy *bias = nullptr;

  /// After sizes and scales: which sums are made, and how exact they are.
  void chooseSums(ProductOpInterface op);
};

/// Elements [begin, end) of K.
struct Slice {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

/// An operand of the product and its scales along K or rows.
struct Side {
  const Tensor *elements;
  Scale scale;
  /// With e8m0 scales: the elements times them.
  std::optional<Tensor> scaled;

  const Tensor &values() const { return scaled ? *scaled : *elements; }
};

/// `rowDim` is that of M or N in `operand`; `spec` the form of f32 scales along
/// K. Elements times e8m0 scales are exact, or unspecified where f32 cannot
/// hold them.
Side sideOf(const Tensor &operand, const Tensor *scale, int64_t rowDim,
            ::hk::ScaleSpec spec);

/// What a term or a partial sum of a product of bf16, or of narrower types, may
/// lose where the target takes numbers below 2^-126 for zero: an eighth of it,
/// as the bound is eight deviations. 0 if there are no such numbers.
double flushedBy(const Side &a, const Side &b);

/// Whether every element of the type is exact in bf16.
bool fitsBf16(::hk::DType type);

/// What one product of two such elements may lose where the target takes
/// numbers below 2^-126 for zero: the operands, the product, a sum it is added
/// to, whose last bit is at most 2^-24 of its smallest term.
double flushedTerm(double a, double b);

/// Computes matrix number `at` of the result: the product of `slice` of `a` and
/// `b`, whose scales are those of batches `batchA` and `batchB`.
void computeMatrix(const Product &p, Slice slice, const Matrix &a,
                   const Matrix &b, int64_t batchA, int64_t batchB, int64_t at,
                   ResultBuilder &result);

} // namespace mlir::hk::reference

#endif // HK_LIB_REFERENCE_PRODUCT_H
