//===- Matmul.cpp - Matrix products ---------------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums in double over K or a slice of it, with the noise of f32 sums in any
// order; f32 scales are applied to whole sums or to the partial sum of each
// block along K, e8m0 scales to the elements. And the sum of slices.
//
//===----------------------------------------------------------------------===//

#include "Product.h"

#include "hk/Contract/Slices.h"
#include "llvm/Support/Parallel.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;
using ::hk::DType;
using ::hk::ScaleSpec;

namespace {
constexpr int64_t kTileRows = 8, kTileColumns = 128, kStep = 16;

/// Running sums of one row of a tile.
struct Sums {
  double sum[kTileColumns], squares[kTileColumns], partial[kTileColumns],
      inherited[kTileColumns], jump[kTileColumns];
  void clear() { *this = Sums(); }
};
} // namespace

Scale Scale::of(const Tensor *tensor, int64_t rows, ScaleSpec spec) {
  Scale scale;
  scale.tensor = tensor;
  if (!tensor || (tensor->numElements() == 1 && spec.type == DType::F32))
    return scale;
  size_t rank = tensor->sizes.size();
  int64_t have = tensor->sizes[rank - 2], blocks = tensor->sizes[rank - 1];
  scale.batchStride = rank > 2 ? have * blocks : 0;
  scale.rowStride = blocks;
  if (blocks == 1 && have == rows && spec.type == DType::F32)
    return scale;
  scale.rowBlock = spec.rows;
  scale.blockStride = 1;
  return scale;
}

/// sums += a[0..steps) * b[0..steps)[0..columns).
static void accumulate(Sums &s, const double *a, const double *aError,
                       const double *b, const double *bError, int64_t steps,
                       int64_t stride, int64_t columns) {
  for (int64_t k = 0; k < steps; ++k) {
    const double *row = b + k * stride;
    double x = a[k];
    for (int64_t j = 0; j < columns; ++j) {
      double product = x * row[j];
      s.sum[j] += product;
      s.squares[j] += product * product;
    }
    if (aError) {
      double variance = square(aError[k]);
      for (int64_t j = 0; j < columns; ++j)
        s.inherited[j] += variance * row[j] * row[j];
    }
    if (bError) {
      const double *error = bError + k * stride;
      for (int64_t j = 0; j < columns; ++j)
        s.inherited[j] += x * x * error[j] * error[j];
    }
  }
  // The partial sums of these steps are about as large as the last one.
  for (int64_t j = 0; j < columns; ++j)
    s.partial[j] += steps * s.sum[j] * s.sum[j];
}

/// jumps = the largest of what one flip in a or in b changes.
static void findJumps(Sums &s, const double *a, const double *aJump,
                      const double *b, const double *bJump, int64_t steps,
                      int64_t stride, int64_t columns) {
  for (int64_t k = 0; k < steps; ++k)
    for (int64_t j = 0; j < columns; ++j) {
      if (aJump)
        s.jump[j] =
            std::max(s.jump[j], aJump[k] * std::fabs(b[k * stride + j]));
      if (bJump)
        s.jump[j] =
            std::max(s.jump[j], std::fabs(a[k]) * bJump[k * stride + j]);
    }
}

/// A finished sum over `steps` elements, in the accumulator's type.
static Noisy finish(const Product &p, const Sums &s, int64_t j, int64_t steps) {
  double inherited = s.inherited[j];
  if (p.integer)
    return {static_cast<double>(
                static_cast<int32_t>(static_cast<int64_t>(s.sum[j]))),
            std::sqrt(inherited), s.jump[j]};
  if (orderDecides(s.sum[j], steps, s.squares[j]))
    return {inF32Range(s.sum[j]), kInf};
  double own = std::max(s.partial[j], steps * s.squares[j] / 2) + s.squares[j];
  // Sums below 2^-126 are rounded to multiples of the smallest subnormal.
  double spacing = s.squares[j] == 0 ? 0 : steps * square(0x1p-149) / 12;
  double sigma = std::sqrt(own * square(p.unit) + inherited + spacing);
  if (p.flushed != 0)
    sigma = hypot2(sigma, steps * p.flushed);
  return {inF32Range(s.sum[j]), sigma, s.jump[j]};
}

/// sum * a * b, the three in any order in f32.
static Noisy applyScales(Noisy sum, Noisy a, Noisy b) {
  double value = inF32Range(sum.value * a.value * b.value);
  double inherited = hypot2(
      sum.sigma * a.value * b.value,
      hypot2(a.sigma * sum.value * b.value, b.sigma * sum.value * a.value));
  double jump = std::max({times(a.value * b.value, sum.jump),
                          times(sum.value * b.value, a.jump),
                          times(sum.value * a.value, b.jump)});
  return {value, hypot2(inherited, 2 * kUnit * std::fabs(value)), jump};
}

/// Adds to `sums` the products of a tile's rows and columns, which begin at m0
/// and n0, over k from c0 to c1.
static void addProducts(const Product &p, const Matrix &a, const Matrix &b,
                        int64_t m0, int64_t n0, int64_t columns, int64_t c0,
                        int64_t c1, std::vector<Sums> &sums) {
  auto rows = int64_t(sums.size());
  for (int64_t k = c0; k < c1; k += kStep)
    for (int64_t r = 0; r < rows; ++r)
      accumulate(sums[r], &a.values[(m0 + r) * p.k + k],
                 a.errors.empty() ? nullptr : &a.errors[(m0 + r) * p.k + k],
                 &b.values[k * p.n + n0],
                 b.errors.empty() ? nullptr : &b.errors[k * p.n + n0],
                 std::min(kStep, c1 - k), p.n, columns);
  if (a.jumps.empty() && b.jumps.empty())
    return;
  for (int64_t r = 0; r < rows; ++r)
    findJumps(sums[r], &a.values[(m0 + r) * p.k + c0],
              a.jumps.empty() ? nullptr : &a.jumps[(m0 + r) * p.k + c0],
              &b.values[c0 * p.n + n0],
              b.jumps.empty() ? nullptr : &b.jumps[c0 * p.n + n0], c1 - c0, p.n,
              columns);
}

/// The result's matrix number `at` is the product of `slice` of batch `batch`.
static void computeTile(const Product &p, Slice slice, const Matrix &a,
                        const Matrix &b, int64_t batchA, int64_t batchB,
                        int64_t at, int64_t m0, int64_t n0,
                        ResultBuilder &result) {
  int64_t rows = std::min(kTileRows, p.m - m0);
  int64_t columns = std::min(kTileColumns, p.n - n0);
  bool scaled = p.lhsScale.tensor || p.rhsScale.tensor;
  bool perBlock = p.lhsScale.perBlock() || p.rhsScale.perBlock();
  auto scale = [&](Noisy sum, int64_t r, int64_t j, int64_t block) {
    return applyScales(sum, p.lhsScale.get(batchA, m0 + r, block),
                       p.rhsScale.get(batchB, n0 + j, block));
  };
  std::vector<Sums> sums(rows);
  std::vector<double> truncated(rows * columns);
  std::vector<F32Sum> totals(rows * columns);
  std::vector<Noisy> last(rows * columns);
  for (int64_t c0 = slice.begin; c0 < slice.end; c0 += p.chunk) {
    int64_t c1 = std::min(slice.end, c0 + p.chunk);
    for (Sums &s : sums)
      s.clear();
    addProducts(p, a, b, m0, n0, columns, c0, c1, sums);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < columns; ++j) {
        Noisy v = finish(p, sums[r], j, c1 - c0);
        if (perBlock)
          v = scale(v, r, j, c0 / p.scaleDepth);
        last[r * columns + j] = v;
        if (p.truncates) {
          truncated[r * columns + j] += v.sigma;
          v.sigma = 0;
        }
        totals[r * columns + j].add(v.value, square(v.sigma), v.jump);
      }
  }
  bool one = slice.size() <= p.chunk;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < columns; ++j) {
      int64_t row =
          p.resultRows.empty() ? at * p.m + m0 + r : p.resultRows[m0 + r];
      Noisy v = one ? last[r * columns + j] : totals[r * columns + j].noisy();
      if (!one && p.truncates && std::isfinite(v.value))
        v.sigma = hypot2(v.sigma, truncated[r * columns + j]);
      if (scaled && !perBlock)
        v = scale(v, r, j, 0);
      if (p.factor)
        v = timesF32(v, *p.factor);
      if (p.bias)
        v = plusF32(v, p.bias[n0 + j]);
      result.set(row * p.n + n0 + j, v);
    }
}

void Product::chooseSums(ProductOpInterface op) {
  truncates = op.getAccumulation() == Accumulation::tensor_core;
  if (truncates)
    unit = ::hk::kFp8SumUnit;
  bool perBlock = lhsScale.perBlock() || rhsScale.perBlock();
  chunk = perBlock || truncates ? scaleDepth : std::max<int64_t>(k, 1);
}

void reference::computeMatrix(const Product &p, Slice slice, const Matrix &a,
                              const Matrix &b, int64_t batchA, int64_t batchB,
                              int64_t at, ResultBuilder &result) {
  int64_t tilesM = (p.m + kTileRows - 1) / kTileRows;
  int64_t tilesN = (p.n + kTileColumns - 1) / kTileColumns;
  llvm::parallelFor(0, tilesM * tilesN, [&](size_t t) {
    computeTile(p, slice, a, b, batchA, batchB, at, t / tilesN * kTileRows,
                t % tilesN * kTileColumns, result);
  });
}

static_assert(::hk::kBlockScaleA.depth == ::hk::kBlockScaleB.depth,
              "both operands' scales apply to the same partial sums");

Side reference::sideOf(const Tensor &operand, const Tensor *scale,
                       int64_t rowDim, ScaleSpec spec) {
  size_t rank = operand.sizes.size();
  bool kContiguous = rowDim == int64_t(rank) - 2;
  int64_t rows = operand.sizes[rowDim];
  int64_t k = operand.sizes[kContiguous ? rank - 1 : rank - 2];
  bool mx = scale && scale->dtype == DType::F8E8M0FNU;
  Scale found = Scale::of(scale, rows, mx ? ::hk::kMxScale : spec);
  if (!mx)
    return Side{&operand, found, std::nullopt};
  ResultBuilder builder(DType::F32, operand.sizes);
  int64_t matrix = rows * k;
  for (int64_t i = 0, end = operand.numElements(); i < end; ++i) {
    int64_t in = i % matrix;
    int64_t row = kContiguous ? in / k : in % rows;
    int64_t depth = kContiguous ? in % k : in / rows;
    Noisy x = at(operand, i),
          s = found.get(i / matrix, row, depth / ::hk::kMxScale.depth);
    double value = x.value * s.value;
    double sigma = sigmaOf(x, s.value, s, x.value);
    if (std::isfinite(value) && std::fabs(value) >= 0x1p128)
      sigma = kInf;
    builder.setExact(i, {value, sigma, jumpOf(x, s.value, s, x.value)});
  }
  return Side{&operand, Scale(), builder.take()};
}

bool reference::fitsBf16(DType type) {
  const auto &i = ::hk::info(type);
  return i.isFloat ? i.mantissaBits <= ::hk::info(DType::BF16).mantissaBits
                   : i.bits <= 8;
}

double reference::flushedTerm(double a, double b) {
  double product = std::fabs(a * b);
  if (product == 0 || !std::isfinite(product))
    return 0;
  bool operandLost = std::min(std::fabs(a), std::fabs(b)) < kSmallest;
  return (operandLost ? product : 0) +
         (product < kSmallest * 0x1p24 ? 2 * kSmallest : 0);
}

double reference::flushedBy(const Side &a, const Side &b) {
  if (!fitsBf16(a.elements->dtype) || !fitsBf16(b.elements->dtype))
    return 0;
  struct Extent {
    double least = kInf, most = 0;
  };
  auto extentOf = [](const Tensor &t) {
    Extent e;
    for (double v : t.values)
      if (v != 0 && std::isfinite(v)) {
        e.least = std::min(e.least, std::fabs(v));
        e.most = std::max(e.most, std::fabs(v));
      }
    return e;
  };
  Extent x = extentOf(a.values()), y = extentOf(b.values());
  // The last bit of a f32 sum is at most 2^-24 of its smallest term.
  if (std::min(x.least, y.least) >= kSmallest &&
      x.least * y.least >= kSmallest * 0x1p24)
    return 0;
  double lost = 2 * kSmallest;
  if (x.least < kSmallest)
    lost += kSmallest * y.most;
  if (y.least < kSmallest)
    lost += kSmallest * x.most;
  return lost / 8;
}

static LogicalResult evaluateMatmul(Operation *op, const Operands &in,
                                    Results &out) {
  auto matmul = cast<MatmulOp>(op);
  const Tensor &a = in[0], &b = in[1];
  Product p;
  p.m = a.sizes[matmul.getLhsDim(MatmulDim::M)];
  p.k = a.sizes[matmul.getLhsDim(MatmulDim::K)];
  p.n = b.sizes[matmul.getRhsDim(MatmulDim::N)];
  p.integer = a.dtype == DType::I8;
  SmallVector<int64_t> sizes =
      llvm::to_vector(ArrayRef<int64_t>(a.sizes).drop_back(2));
  bool sharedB = b.sizes.size() == 2;
  Side lhs = sideOf(a, in.find(matmul.getLhsScale()),
                    matmul.getLhsDim(MatmulDim::M), ::hk::kBlockScaleA);
  Side rhs = sideOf(b, in.find(matmul.getRhsScale()),
                    matmul.getRhsDim(MatmulDim::N), ::hk::kBlockScaleB);
  p.lhsScale = lhs.scale;
  p.rhsScale = rhs.scale;
  p.flushed = flushedBy(lhs, rhs);
  p.chooseSums(matmul);

  int64_t batches = 1;
  for (int64_t size : sizes)
    batches *= size;
  sizes.append({p.m, p.n});
  int64_t slices = matmul.getNumSlices();
  int64_t sliceSize = ::hk::sliceLength(p.k, slices);
  if (matmul.getKSlices())
    sizes.insert(sizes.begin(), slices);
  else
    sliceSize = p.k;
  ResultBuilder result(resultDType(op), sizes);
  std::optional<Matrix> packedB;
  for (int64_t batch = 0; batch < batches; ++batch) {
    Matrix packedA(lhs.values(), batch, p.m, p.k, matmul.getTransposeA());
    if (!sharedB || batch == 0)
      packedB.emplace(rhs.values(), sharedB ? 0 : batch, p.k, p.n,
                      matmul.getTransposeB());
    for (int64_t i = 0; i < slices; ++i)
      computeMatrix(
          p, {std::min(p.k, i * sliceSize), std::min(p.k, (i + 1) * sliceSize)},
          packedA, *packedB, batch, batch, i * batches + batch, result);
  }
  out.push_back(result.take());
  return success();
}

static LogicalResult evaluateSumSlices(Operation *op, const Operands &in,
                                       Results &out) {
  const Tensor &x = in[0];
  SmallVector<int64_t> sizes(ArrayRef<int64_t>(x.sizes).drop_front());
  ResultBuilder result(resultDType(op), sizes);
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  bool integer = x.dtype == DType::I32;
  for (int64_t i = 0; i < count; ++i) {
    F32Sum sum;
    int64_t exact = 0;
    double variance = 0;
    for (int64_t s = 0; s < x.sizes[0]; ++s) {
      Noisy v = at(x, s * count + i);
      sum.add(v.value, square(v.sigma), v.jump);
      variance += square(v.sigma);
      if (integer)
        exact += static_cast<int64_t>(v.value);
    }
    Noisy one = x.sizes[0] == 1 ? at(x, i) : sum.noisy();
    result.set(i, integer ? Noisy{double(static_cast<int32_t>(exact)),
                                  std::sqrt(variance)}
                          : one);
  }
  out.push_back(result.take());
  return success();
}

void reference::addProducts(EvaluatorTable &table) {
  table.add<MatmulOp>(evaluateMatmul);
  table.add<SumSlicesOp>(evaluateSumSlices);
}
