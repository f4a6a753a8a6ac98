//===- AttentionCombine.cpp - Attention from slices of the keys -----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The mean of partial results, weighted by their sums of exponentials.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;
using ::hk::DType;

namespace {
/// One slice or segment: element 0 of its partial results and log-sum-exps.
struct Part {
  const Tensor &partials, &lse;
  int64_t first; // row

  double lseOf(int64_t row) const { return lse.values[first + row]; }
  double noiseOf(int64_t row) const { return lse.errorAt(first + row); }
  Noisy value(int64_t row, int64_t width, int64_t d) const {
    return at(partials, (first + row) * width + d);
  }
};
} // namespace

static std::vector<Part> partsOf(AttentionCombineOp op, const Operands &in,
                                 int64_t rows) {
  std::vector<Part> parts;
  for (auto [index, pair] :
       llvm::enumerate(llvm::zip(op.getPartials(), op.getPartLses()))) {
    const Tensor &partials = in.of(std::get<0>(pair));
    int64_t slices = op.isSliced(index) ? partials.sizes[0] : 1;
    for (int64_t s = 0; s < slices; ++s)
      parts.push_back({partials, in.of(std::get<1>(pair)), s * rows});
  }
  return parts;
}

namespace {
/// The weights of the parts of a row.
struct RowWeights {
  std::vector<double> weight;   // of each part, before they are normalised
  std::vector<double> relative; // noise of each, relative to it
  double top;                   // the largest LSE; -inf: nothing has a weight
  double total = 0, totalNoise = 0; // of their sum; noise relative to it
  bool open = false;                // anything is right for an LSE, so for all
};
} // namespace

static RowWeights weightsOf(ArrayRef<Part> parts, int64_t row,
                            std::optional<double> sink) {
  RowWeights w;
  w.top = sink.value_or(-kInf);
  for (const Part &part : parts) {
    double v = part.lseOf(row);
    w.top = std::isnan(v) || std::isnan(w.top) ? kNaN : std::max(w.top, v);
  }
  if (w.top == -kInf)
    return w;
  F32Sum total;
  if (sink)
    total.add(std::exp(*sink - w.top));
  for (const Part &part : parts) {
    double v = part.lseOf(row);
    double weight = std::exp(v - w.top);
    w.open |= std::isinf(part.noiseOf(row));
    // Of the argument and of exp.
    double argument = std::isfinite(v) ? kUnit * std::fabs(v - w.top) : 0;
    double relative =
        hypot2(hypot2(part.noiseOf(row), argument), noiseOfUlps(1, 2));
    total.add(weight, square(weight * relative));
    w.weight.push_back(weight);
    w.relative.push_back(relative);
  }
  w.total = total.value();
  w.totalNoise = total.sigma() / total.value();
  return w;
}

/// Column `d` of a row: the weighed sum of the parts that have a weight.
static Noisy combine(ArrayRef<Part> parts, const RowWeights &weights,
                     int64_t row, int64_t width, int64_t d) {
  F32Sum sum;
  double mean = 0, reach = 0;
  bool open = weights.open;
  for (auto [s, part] : llvm::enumerate(parts))
    if (part.lseOf(row) != -kInf)
      mean +=
          weights.weight[s] / weights.total * part.value(row, width, d).value;
  for (auto [s, part] : llvm::enumerate(parts)) {
    if (part.lseOf(row) == -kInf)
      continue;
    Noisy v = part.value(row, width, d);
    double w = weights.weight[s] / weights.total;
    open |= std::isinf(v.sigma);
    // Kernels divide at the end; until then a weight is up to 1.
    reach += std::isfinite(v.value) ? std::fabs(v.value) : 0;
    // A weight's noise moves the sum towards its value.
    sum.add(w * v.value,
            square(w * v.sigma) +
                square(w * weights.relative[s]) * square(v.value - mean) +
                square(2 * kUnit * w * v.value),
            times(w, v.jump));
  }
  open |= std::isinf(inF32Range(reach));
  double sigma = hypot2(sum.sigma(), 3 * kUnit * mean);
  return {inF32Range(mean),
          open                   ? kInf
          : std::isfinite(sigma) ? sigma
                                 : 0,
          sum.noisy().jump};
}

static LogicalResult evaluateAttentionCombine(Operation *operation,
                                              const Operands &in,
                                              Results &out) {
  auto op = cast<AttentionCombineOp>(operation);
  const Tensor *sink = in.find(op.getSink());
  ArrayRef<int64_t> sizes =
      ArrayRef<int64_t>(in[0].sizes).drop_front(op.isSliced(0) ? 1 : 0);
  int64_t width = sizes.back(), heads = sizes[sizes.size() - 2], rows = 1;
  for (int64_t size : sizes.drop_back())
    rows *= size;
  std::vector<Part> parts = partsOf(op, in, rows);
  ResultBuilder result(resultDType(op), sizes);
  std::optional<ResultBuilder> lse;
  if (op.getLse())
    lse.emplace(DType::F32, sizes.drop_back());
  for (int64_t row = 0; row < rows; ++row) {
    std::optional<double> ofSink;
    if (sink)
      ofSink = sink->values[row % heads];
    RowWeights weights = weightsOf(parts, row, ofSink);
    if (weights.top == -kInf) { // The result stays zero.
      if (lse)
        lse->set(row, {-kInf, 0});
      continue;
    }
    if (lse)
      lse->set(row, {inF32Range(weights.top + std::log(weights.total)),
                     hypot2(weights.totalNoise,
                            2 * kUnit * (std::fabs(weights.top) + 1))});
    for (int64_t d = 0; d < width; ++d)
      result.set(row * width + d, combine(parts, weights, row, width, d));
  }
  out.push_back(result.take());
  if (lse)
    out.push_back(lse->take());
  return success();
}

void reference::addAttentionCombine(EvaluatorTable &table) {
  table.add<AttentionCombineOp>(evaluateAttentionCombine);
}
