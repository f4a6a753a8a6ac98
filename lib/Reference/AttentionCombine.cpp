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
  std::vector<double> weight(parts.size()), relative(parts.size());
  for (int64_t row = 0; row < rows; ++row) {
    double top = sink ? sink->values[row % heads] : -kInf;
    for (const Part &part : parts) {
      double v = part.lseOf(row);
      top = std::isnan(v) || std::isnan(top) ? kNaN : std::max(top, v);
    }
    if (top == -kInf) { // The result stays zero.
      if (lse)
        lse->set(row, {-kInf, 0});
      continue;
    }
    // Noise of each weight, relative to it: of the argument and of exp.
    F32Sum total;
    bool open = false; // anything is right for an LSE, so for all
    if (sink)
      total.add(std::exp(sink->values[row % heads] - top));
    for (size_t s = 0; s < parts.size(); ++s) {
      double v = parts[s].lseOf(row);
      weight[s] = std::exp(v - top);
      open |= std::isinf(parts[s].noiseOf(row));
      double argument = std::isfinite(v) ? kUnit * std::fabs(v - top) : 0;
      relative[s] =
          hypot2(hypot2(parts[s].noiseOf(row), argument), noiseOfUlps(1, 2));
      total.add(weight[s], square(weight[s] * relative[s]));
    }
    double sumNoise = total.sigma() / total.value();
    if (lse)
      lse->set(row, {inF32Range(top + std::log(total.value())),
                     hypot2(sumNoise, 2 * kUnit * (std::fabs(top) + 1))});
    for (int64_t d = 0; d < width; ++d) {
      F32Sum sum;
      double mean = 0, reach = 0;
      bool openHere = open;
      for (size_t s = 0; s < parts.size(); ++s)
        if (parts[s].lseOf(row) != -kInf)
          mean +=
              weight[s] / total.value() * parts[s].value(row, width, d).value;
      for (size_t s = 0; s < parts.size(); ++s) {
        if (parts[s].lseOf(row) == -kInf)
          continue;
        Noisy v = parts[s].value(row, width, d);
        double w = weight[s] / total.value();
        openHere |= std::isinf(v.sigma);
        // Kernels divide at the end; until then a weight is up to 1.
        reach += std::isfinite(v.value) ? std::fabs(v.value) : 0;
        // A weight's noise moves the sum towards its value.
        sum.add(w * v.value,
                square(w * v.sigma) +
                    square(w * relative[s]) * square(v.value - mean) +
                    square(2 * kUnit * w * v.value),
                times(w, v.jump));
      }
      openHere |= std::isinf(inF32Range(reach));
      double sigma = hypot2(sum.sigma(), 3 * kUnit * mean);
      result.set(row * width + d, {inF32Range(mean),
                                   openHere               ? kInf
                                   : std::isfinite(sigma) ? sigma
                                                          : 0,
                                   sum.noisy().jump});
    }
  }
  out.push_back(result.take());
  if (lse)
    out.push_back(lse->take());
  return success();
}

void reference::addAttentionCombine(EvaluatorTable &table) {
  table.add<AttentionCombineOp>(evaluateAttentionCombine);
}
