//===- Scan.cpp - Prefix sums ---------------------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One run after the other, element by element.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

#include "hk/Contract/DType.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;

namespace {
/// A float sum that grows, with the noise of f32, or an integer sum that wraps.
class RunningSum {
public:
  explicit RunningSum(::hk::DType dtype) : dtype(dtype) {}

  void add(Noisy v) {
    if (!::hk::info(dtype).isFloat) {
      open |= v.sigma > 0;
      integer += static_cast<uint64_t>(integerOf(v.value));
      return;
    }
    sum.add(v.value, v.sigma * v.sigma, v.jump);
  }
  Noisy value() const {
    if (::hk::info(dtype).isFloat)
      return sum.noisy();
    Noisy made = wrapped(dtype, integer);
    return {made.value, open ? kInf : made.sigma};
  }

private:
  ::hk::DType dtype;
  F32Sum sum;
  uint64_t integer = 0;
  bool open = false; // an integer is summed that noise decides
};
} // namespace

/// [begin, end) of every run of a line of `length` elements.
static FailureOr<SmallVector<std::pair<int64_t, int64_t>>>
runsOf(CumsumOp op, const Tensor *bounds, int64_t length) {
  SmallVector<std::pair<int64_t, int64_t>> sequences, runs;
  if (bounds) {
    int64_t last = 0;
    for (auto [i, bound] : llvm::enumerate(bounds->values)) {
      auto next = static_cast<int64_t>(bound);
      if (next < last || next > length || (i == 0 && next != 0))
        return op.emitOpError("expected bounds to start at 0, not to decrease "
                              "and to be at most ")
               << length << ", but bound " << i << " is " << next;
      if (i > 0)
        sequences.push_back({last, next});
      last = next;
    }
  } else {
    sequences.push_back({0, length});
  }
  int64_t chunk = op.getChunk().value_or(std::max<int64_t>(length, 1));
  for (auto [begin, end] : sequences)
    for (int64_t i = begin; i < end; i += chunk)
      runs.push_back({i, std::min(end, i + chunk)});
  return runs;
}

static LogicalResult evaluateCumsum(Operation *op, const Operands &in,
                                    Results &out) {
  auto cumsum = cast<CumsumOp>(op);
  const Tensor &x = in[0];
  auto dim = static_cast<int64_t>(cumsum.getDim());
  int64_t length = x.sizes[dim], inner = 1, outer = 1;
  for (int64_t size : ArrayRef(x.sizes).take_front(dim))
    outer *= size;
  for (int64_t size : ArrayRef(x.sizes).drop_front(dim + 1))
    inner *= size;
  auto runs = runsOf(cumsum, in.size() > 1 ? &in[1] : nullptr, length);
  if (failed(runs))
    return failure();

  bool offsets = cumsum.getKind() == ScanKind::offsets;
  bool inclusive = cumsum.getKind() == ScanKind::inclusive;
  SmallVector<int64_t> sizes(x.sizes);
  sizes[dim] += offsets;
  ::hk::DType dtype = resultDType(op);
  ResultBuilder result(dtype, sizes); // zeros, where no run sets them
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t c = 0; c < inner; ++c) {
      auto from = [&](int64_t i) { return (o * length + i) * inner + c; };
      auto to = [&](int64_t i) { return (o * sizes[dim] + i) * inner + c; };
      for (auto [begin, end] : *runs) {
        RunningSum sum(dtype);
        for (int64_t k = 0; k < end - begin; ++k) {
          int64_t i = cumsum.getReverse() ? end - 1 - k : begin + k;
          if (!inclusive)
            result.set(to(i), sum.value());
          sum.add(at(x, from(i)));
          if (inclusive)
            result.set(to(i), sum.value());
        }
        if (offsets)
          result.set(to(end), sum.value());
      }
    }
  out.push_back(result.take());
  return success();
}

void reference::addScans(EvaluatorTable &table) {
  table.add<CumsumOp>(evaluateCumsum);
}
