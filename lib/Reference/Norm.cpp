//===- Norm.cpp - Normalisations ------------------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Statistics in f32 along the last dim, then one factor per row.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;

Noisy reference::rsqrt(Noisy v) {
  double value = f32(1 / std::sqrt(v.value));
  if (!std::isfinite(v.value))
    return {value, v.sigma};
  double slope = 0.5 * value / v.value;
  return {value, hypot2(times(slope, v.sigma), noiseOfUlps(value, 2)),
          times(slope, v.jump)};
}

/// Sum of the squares of a row, after subtracting `mean`.
static Noisy sumOfSquares(const Tensor &x, int64_t row, Noisy mean) {
  F32Sum sum;
  for (int64_t j = 0; j < rowSize(x); ++j) {
    Noisy v = at(x, row * rowSize(x) + j);
    double d = v.value - mean.value;
    bool open = std::isinf(v.sigma) || std::isinf(mean.sigma);
    double sigma = 2 * d * hypot2(v.sigma, mean.sigma);
    double jump = times(2 * d, v.jump);
    double variance = std::isfinite(d) ? square(sigma) : 0;
    double term = square(d) > kLargest ? square(d) : inF32Range(square(d));
    sum.add(term, open ? kInf : variance, std::isfinite(jump) ? jump : 0);
  }
  return sum.noisy();
}

static Noisy scaled(Noisy v, double factor) {
  if (!std::isfinite(v.value))
    return {v.value, v.sigma};
  return {f32(v.value * factor),
          hypot2(v.sigma * factor, kUnit * std::fabs(v.value * factor)),
          times(factor, v.jump)};
}

static LogicalResult evaluateRmsNorm(Operation *op, const Operands &in,
                                     Results &out) {
  auto norm = cast<RmsNormOp>(op);
  const Tensor &x = in[0];
  const Tensor *weight = norm.getWeight() ? &in[1] : nullptr;
  int64_t n = rowSize(x);
  double epsilon = norm.getEpsilon().convertToFloat();
  double offset = norm.getWeightOffset().convertToFloat();
  ResultBuilder result(resultDType(op), x.sizes);
  for (int64_t row = 0; row < numRows(x); ++row) {
    Noisy mean = scaled(sumOfSquares(x, row, {}), 1.0 / n);
    Noisy factor = rsqrt(plusF32(mean, {epsilon, 0}));
    for (int64_t j = 0; j < n; ++j) {
      Noisy y = timesF32(at(x, row * n + j), factor);
      if (norm.getRoundBeforeWeight())
        y = rounded(resultDType(op), y);
      if (weight) {
        Noisy w = at(*weight, j);
        y = timesF32(y, offset == 0 ? w : plusF32({offset, 0}, w));
      }
      result.set(row * n + j, y);
    }
  }
  out.push_back(result.take());
  return success();
}

static LogicalResult evaluateLayerNorm(Operation *op, const Operands &in,
                                       Results &out) {
  auto norm = cast<LayerNormOp>(op);
  const Tensor &x = in[0], &weight = in[1], &bias = in[2];
  int64_t n = rowSize(x);
  double epsilon = norm.getEpsilon().convertToFloat();
  ResultBuilder result(resultDType(op), x.sizes);
  for (int64_t row = 0; row < numRows(x); ++row) {
    F32Sum sum;
    for (int64_t j = 0; j < n; ++j)
      sum.add(x.values[row * n + j], square(x.errorAt(row * n + j)),
              x.jumpAt(row * n + j));
    Noisy mean = scaled(sum.noisy(), 1.0 / n);
    Noisy variance = scaled(sumOfSquares(x, row, mean), 1.0 / n);
    // All deviations share the mean's noise: around the true mean it is only
    // of second order.
    variance.sigma = hypot2(variance.sigma, square(mean.sigma));
    Noisy factor = rsqrt(plusF32(variance, {epsilon, 0}));
    for (int64_t j = 0; j < n; ++j) {
      Noisy v = at(x, row * n + j);
      Noisy y =
          timesF32(plusF32(v, {-mean.value, mean.sigma, mean.jump}), factor);
      result.set(row * n + j, plusF32(timesF32(y, at(weight, j)), at(bias, j)));
    }
  }
  out.push_back(result.take());
  return success();
}

static LogicalResult evaluateL2Norm(Operation *op, const Operands &in,
                                    Results &out) {
  const Tensor &x = in[0];
  double epsilon = cast<L2NormOp>(op).getEpsilon().convertToFloat();
  int64_t n = rowSize(x);
  ResultBuilder result(resultDType(op), x.sizes);
  for (int64_t row = 0; row < numRows(x); ++row) {
    Noisy factor = rsqrt(plusF32(sumOfSquares(x, row, {}), {epsilon, 0}));
    for (int64_t j = 0; j < n; ++j)
      result.set(row * n + j, timesF32(at(x, row * n + j), factor));
  }
  out.push_back(result.take());
  return success();
}

static LogicalResult evaluateSoftmax(Operation *op, const Operands &in,
                                     Results &out) {
  const Tensor &x = in[0];
  int64_t n = rowSize(x);
  ResultBuilder result(resultDType(op), x.sizes);
  std::vector<double> weight(n), relative(n), jump(n);
  for (int64_t row = 0; row < numRows(x); ++row) {
    double top = -kInf;
    for (int64_t j = 0; j < n; ++j) {
      double v = x.values[row * n + j];
      top = std::isnan(v) ? kNaN : std::isnan(top) ? top : std::max(top, v);
    }
    F32Sum sum;
    bool open = false; // anything is right for an element, so for all
    for (int64_t j = 0; j < n; ++j) {
      double v = x.values[row * n + j];
      open |= std::isinf(x.errorAt(row * n + j));
      weight[j] = std::exp(v - top);
      // Noise of the argument and of exp, relative to the weight.
      double argument = std::isfinite(v) ? kUnit * std::fabs(v - top) : 0;
      relative[j] = hypot2(hypot2(x.errorAt(row * n + j), argument),
                           2 * 2 * kUnit / std::sqrt(3.0));
      jump[j] = x.jumpAt(row * n + j);
      sum.add(weight[j], square(weight[j] * relative[j]), weight[j] * jump[j]);
    }
    double total = sum.value();
    for (int64_t j = 0; j < n; ++j) {
      double y = inF32Range(weight[j] / total);
      if (open) {
        result.set(row * n + j, {y, kInf});
        continue;
      }
      double sigma = hypot2(relative[j], sum.sigma() / total) * y;
      sigma = hypot2(sigma, kUnit * y) +
              (weight[j] < kSmallest ? kSmallest / 8 : 0);
      result.set(row * n + j,
                 {y, std::isfinite(y) && weight[j] > 0 ? sigma : 0,
                  std::max(jump[j], sum.noisy().jump / total) * y});
    }
  }
  out.push_back(result.take());
  return success();
}

void reference::addNorms(EvaluatorTable &table) {
  table.add<RmsNormOp>(evaluateRmsNorm);
  table.add<LayerNormOp>(evaluateLayerNorm);
  table.add<L2NormOp>(evaluateL2Norm);
  table.add<SoftmaxOp>(evaluateSoftmax);
}
