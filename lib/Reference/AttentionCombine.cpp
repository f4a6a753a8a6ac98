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

static LogicalResult evaluateAttentionCombine(Operation *operation,
                                              const Operands &in,
                                              Results &out) {
  auto op = cast<AttentionCombineOp>(operation);
  const Tensor &partials = in[0], &sliceLse = in[1];
  const Tensor *sink = in.find(op.getSink());
  ArrayRef<int64_t> sizes = ArrayRef<int64_t>(partials.sizes).drop_front();
  int64_t slices = partials.sizes[0], width = sizes.back();
  int64_t heads = sizes[sizes.size() - 2];
  int64_t rows = slices == 0 ? 0 : sliceLse.numElements() / slices;
  ResultBuilder result(resultDType(op), sizes);
  std::optional<ResultBuilder> lse;
  if (op.getLse())
    lse.emplace(DType::F32, sizes.drop_back());
  std::vector<double> weight(slices), relative(slices);
  for (int64_t row = 0; row < rows; ++row) {
    double top = sink ? sink->values[row % heads] : -kInf;
    for (int64_t s = 0; s < slices; ++s) {
      double v = sliceLse.values[s * rows + row];
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
    for (int64_t s = 0; s < slices; ++s) {
      double v = sliceLse.values[s * rows + row];
      weight[s] = std::exp(v - top);
      open |= std::isinf(sliceLse.errorAt(s * rows + row));
      double argument = std::isfinite(v) ? kUnit * std::fabs(v - top) : 0;
      relative[s] = hypot2(hypot2(sliceLse.errorAt(s * rows + row), argument),
                           noiseOfUlps(1, 2));
      total.add(weight[s], square(weight[s] * relative[s]));
    }
    double sumNoise = total.sigma() / total.value();
    if (lse)
      lse->set(row, {inF32Range(top + std::log(total.value())),
                     hypot2(sumNoise, 2 * kUnit * (std::fabs(top) + 1))});
    for (int64_t d = 0; d < width; ++d) {
      F32Sum sum;
      double mean = 0;
      bool openHere = open;
      for (int64_t s = 0; s < slices; ++s)
        mean += weight[s] / total.value() *
                partials.values[(s * rows + row) * width + d];
      for (int64_t s = 0; s < slices; ++s) {
        Noisy v = at(partials, (s * rows + row) * width + d);
        double w = weight[s] / total.value();
        openHere |= std::isinf(v.sigma);
        // A weight's noise moves the sum towards its value.
        sum.add(w * v.value,
                square(w * v.sigma) +
                    square(w * relative[s]) * square(v.value - mean) +
                    square(2 * kUnit * w * v.value),
                times(w, v.jump));
      }
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
