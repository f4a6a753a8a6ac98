//===- Reduce.cpp - Meaning of reductions ---------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Extrema carry the largest noise of the elements that may be the extremum.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;

static Noisy sumOf(const Tensor &x, int64_t begin, int64_t end) {
  F32Sum sum;
  for (int64_t i = begin; i < end; ++i)
    sum.add(x.values[i], square(x.errorAt(i)), x.jumpAt(i));
  return sum.noisy();
}

static Noisy extremumOf(ReduceKind kind, const Tensor &x, int64_t begin,
                        int64_t end) {
  // Of the maximum of x, -x or |x|.
  auto term = [&](int64_t i) {
    double v = x.values[i];
    return kind == ReduceKind::absmax ? std::fabs(v)
           : kind == ReduceKind::min  ? -v
                                      : v;
  };
  Noisy most{kind == ReduceKind::absmax ? 0 : -kInf, 0};
  bool open = false, nan = false; // elements of which anything is right
  for (int64_t i = begin; i < end; ++i) {
    open |= std::isinf(x.errorAt(i));
    if (!std::isnan(term(i)))
      most.value = std::max(most.value, term(i));
    else if (std::isinf(x.errorAt(i)))
      nan = true;
    else
      return {kNaN, 0};
  }
  if (open)
    return {nan                       ? kNaN
            : kind == ReduceKind::min ? -most.value
                                      : most.value,
            kInf};
  for (int64_t i = begin; i < end; ++i)
    if (term(i) + at(x, i).reach() >= most.value) {
      most.sigma = std::max(most.sigma, x.errorAt(i));
      most.jump = std::max(most.jump, x.jumpAt(i));
    }
  if (kind == ReduceKind::min)
    most.value = -most.value;
  return most;
}

static LogicalResult evaluateReduce(Operation *op, const Operands &in,
                                    Results &out) {
  auto reduce = cast<ReduceOp>(op);
  const Tensor &x = in[0];
  int64_t dims = reduce.getDims();
  SmallVector<int64_t> sizes(x.sizes);
  std::fill(sizes.end() - dims, sizes.end(), 1);
  int64_t count = 1;
  for (int64_t size : ArrayRef<int64_t>(x.sizes).take_back(dims))
    count *= size;
  ResultBuilder result(resultDType(op), sizes);
  int64_t rows = 1;
  for (int64_t size : ArrayRef<int64_t>(x.sizes).drop_back(dims))
    rows *= size;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t begin = row * count, end = begin + count;
    result.set(row, reduce.getKind() == ReduceKind::sum
                        ? sumOf(x, begin, end)
                        : extremumOf(reduce.getKind(), x, begin, end));
  }
  out.push_back(result.take());
  return success();
}

void reference::addReductions(EvaluatorTable &table) {
  table.add<ReduceOp>(evaluateReduce);
}
