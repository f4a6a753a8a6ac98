//===- Compare.cpp - Comparison with the reference ------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every element within its bound; NaN only where the reference has NaN,
// infinity only where it has one or the bound reaches beyond the largest
// number.
//
//===----------------------------------------------------------------------===//

#include "hk/Reference/Interpreter.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;

static constexpr size_t kKeptMismatches = 8;

/// The difference that counts; infinite when NaN or infinity do not match.
static double difference(const Tensor &reference, int64_t i, double actual) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  double expected = reference.values[i];
  if (std::isnan(expected) || std::isnan(actual))
    return std::isnan(expected) && std::isnan(actual) ? 0 : kInf;
  if (expected == actual)
    return 0;
  if (!std::isinf(expected) && !std::isinf(actual))
    return std::fabs(expected - actual);
  // Beyond the largest number lies infinity: measure to there.
  double largest = ::hk::info(reference.dtype).maxFinite;
  auto finite = [&](double v) {
    return std::isinf(v) ? std::copysign(largest, v) : v;
  };
  return std::fabs(finite(expected) - finite(actual)) +
         ulpOf(reference.dtype, largest) / 2;
}

static SmallVector<int64_t> indexOf(int64_t flat, ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> index(sizes.size());
  for (int64_t d = sizes.size() - 1; d >= 0; --d) {
    index[d] = flat % sizes[d];
    flat /= sizes[d];
  }
  return index;
}

static std::string shapeText(const Tensor &tensor) {
  std::string text;
  for (int64_t size : tensor.sizes)
    text += std::to_string(size) + "x";
  return text + ::hk::info(tensor.dtype).name;
}

Comparison reference::compare(const Tensor &reference, const Tensor &actual) {
  Comparison result;
  result.numElements = reference.numElements();
  if (reference.dtype != actual.dtype || reference.sizes != actual.sizes) {
    result.problem = "expected a tensor of " + shapeText(reference) +
                     ", but got " + shapeText(actual);
    return result;
  }
  for (int64_t i = 0; i < result.numElements; ++i) {
    double bound = reference.boundAt(i);
    double error = difference(reference, i, actual.values[i]);
    if (error == 0 || std::isinf(bound))
      continue;
    result.maxError = std::max(result.maxError, error);
    double ofBound =
        bound == 0 ? std::numeric_limits<double>::infinity() : error / bound;
    result.maxErrorOfBound = std::max(result.maxErrorOfBound, ofBound);
    if (error <= bound)
      continue;
    ++result.numMismatches;
    if (result.mismatches.size() < kKeptMismatches)
      result.mismatches.push_back({indexOf(i, reference.sizes),
                                   reference.values[i], actual.values[i],
                                   bound});
  }
  return result;
}

std::string Comparison::text() const {
  if (!problem.empty())
    return problem;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << numMismatches << " of " << numElements
     << " elements differ by more than their bound; largest error "
     << llvm::format("%.4g", maxError) << ", "
     << llvm::format("%.3f", maxErrorOfBound) << " of its bound";
  for (const Mismatch &m : mismatches)
    os << "\n  at ["
       << llvm::join(llvm::map_range(
                         m.index, [](int64_t i) { return std::to_string(i); }),
                     ", ")
       << "]: expected " << llvm::format("%.9g", m.expected) << ", but got "
       << llvm::format("%.9g", m.actual) << " (bound "
       << llvm::format("%.3g", m.bound) << ")";
  return text;
}
