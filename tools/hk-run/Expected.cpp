//===- Expected.cpp - Results against what is expected of them ------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every element within its bound; NaN only where one is expected, infinity only
// where one is or the bound reaches beyond the largest number.
//
//===----------------------------------------------------------------------===//

#include "Expected.h"

#include "Npy.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>

using namespace hk;
using namespace hk::run;

static constexpr size_t kKeptMismatches = 8;
static constexpr double kInf = std::numeric_limits<double>::infinity();

/// The difference that counts; infinite when NaN or infinity do not match.
static double difference(DType dtype, double expected, double actual) {
  if (std::isnan(expected) || std::isnan(actual))
    return std::isnan(expected) && std::isnan(actual) ? 0 : kInf;
  if (expected == actual)
    return 0;
  if (!std::isinf(expected) && !std::isinf(actual))
    return std::fabs(expected - actual);
  // Beyond the largest number lies infinity: measure to there.
  double largest = info(dtype).maxFinite;
  double ulp = std::scalbn(1.0, std::ilogb(largest) - info(dtype).mantissaBits);
  auto finite = [&](double v) {
    return std::isinf(v) ? std::copysign(largest, v) : v;
  };
  return std::fabs(finite(expected) - finite(actual)) + ulp / 2;
}

static std::vector<int64_t> indexOf(int64_t flat,
                                    const std::vector<int64_t> &sizes) {
  std::vector<int64_t> index(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    index[d] = flat % sizes[d];
    flat /= sizes[d];
  }
  return index;
}

static std::string shapeText(DType dtype, const std::vector<int64_t> &sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += std::to_string(size) + "x";
  return text + info(dtype).name;
}

Comparison hk::run::compare(const Expected &expected,
                            const HostTensor &actual) {
  Comparison result;
  result.numElements = static_cast<int64_t>(expected.values.size());
  if (expected.dtype != actual.dtype || expected.sizes != actual.sizes) {
    result.problem = "expected a tensor of " +
                     shapeText(expected.dtype, expected.sizes) + ", but got " +
                     shapeText(actual.dtype, actual.sizes);
    return result;
  }
  for (int64_t i = 0; i < result.numElements; ++i) {
    double value = actual.get(i), bound = expected.bounds[i];
    if (actual.dtype == DType::I1)
      value = value != 0;
    double error = difference(expected.dtype, expected.values[i], value);
    if (error == 0 || std::isinf(bound))
      continue;
    result.maxError = std::max(result.maxError, error);
    double ofBound = bound == 0 ? kInf : error / bound;
    result.maxErrorOfBound = std::max(result.maxErrorOfBound, ofBound);
    if (error <= bound)
      continue;
    ++result.numMismatches;
    if (result.mismatches.size() < kKeptMismatches)
      result.mismatches.push_back(
          {indexOf(i, expected.sizes), expected.values[i], value, bound});
  }
  return result;
}

std::string Comparison::text() const {
  if (!problem.empty())
    return problem;
  char line[256];
  std::snprintf(line, sizeof line,
                "%lld of %lld elements differ by more than their bound; "
                "largest error %.4g, %.3f of its bound",
                static_cast<long long>(numMismatches),
                static_cast<long long>(numElements), maxError, maxErrorOfBound);
  std::string text = line;
  for (const Mismatch &m : mismatches) {
    text += "\n  at [";
    for (size_t i = 0; i < m.index.size(); ++i)
      text += (i ? ", " : "") + std::to_string(m.index[i]);
    std::snprintf(line, sizeof line,
                  "]: expected %.9g, but got %.9g (bound %.3g)", m.expected,
                  m.actual, m.bound);
    text += line;
  }
  return text;
}

static std::string partFolder(const std::string &folder, const char *part) {
  return folder + "/" + part;
}

/// Towards zero.
static double toF32(double bound) {
  double rounded = static_cast<float>(
      std::min(bound, double(std::numeric_limits<float>::max())));
  if (std::isinf(bound))
    return bound;
  if (rounded > bound)
    rounded = std::nextafterf(static_cast<float>(rounded), 0.0f);
  return rounded;
}

void hk::run::writeExpected(const std::string &folder,
                            const std::vector<Expected> &expected) {
  for (const char *part : {"values", "bounds"}) {
    std::error_code error;
    std::filesystem::create_directories(partFolder(folder, part), error);
    if (error)
      throw Failure("cannot make the folder '" + partFolder(folder, part) +
                    "': " + error.message());
  }
  for (const Expected &tensor : expected) {
    HostTensor values, bounds;
    values.dtype = tensor.dtype;
    values.sizes = bounds.sizes = tensor.sizes;
    values.allocate();
    bounds.allocate();
    for (size_t i = 0; i < tensor.values.size(); ++i) {
      values.set(i, tensor.values[i]);
      bounds.set(i, toF32(tensor.bounds[i]));
    }
    writeNpy(resultFile(partFolder(folder, "values"), tensor.name), values);
    writeNpy(resultFile(partFolder(folder, "bounds"), tensor.name), bounds);
  }
}

Expected hk::run::readExpected(const std::string &folder,
                               const std::string &name, DType dtype) {
  HostTensor values =
      readNpy(resultFile(partFolder(folder, "values"), name), dtype);
  HostTensor bounds =
      readNpy(resultFile(partFolder(folder, "bounds"), name), DType::F32);
  if (values.sizes != bounds.sizes)
    throw Failure("'" + folder + "' holds " + typeText(values) +
                  " as the values of '" + name + "', but " + typeText(bounds) +
                  " as its bounds; write it anew with --write-expected");
  Expected expected{name, dtype, values.sizes, {}, {}};
  for (int64_t i = 0; i < values.numElements(); ++i) {
    expected.values.push_back(values.get(i));
    expected.bounds.push_back(bounds.get(i));
  }
  return expected;
}
