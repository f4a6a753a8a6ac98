//===- Expected.h - Results against what is expected of them ----*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the reference interpreter says of a state or output, and how a result
// differs from it. Neither needs the compiler: expectations can be written to
// files and read where there is none.
//
//===----------------------------------------------------------------------===//

#ifndef HK_TOOLS_HK_RUN_EXPECTED_H
#define HK_TOOLS_HK_RUN_EXPECTED_H

#include "Values.h"

namespace hk::run {

/// Dense and row-major. Each value is a number of `dtype`, infinity or NaN;
/// each bound is the largest difference allowed there: 0 where the value is
/// exact, infinite where any result, NaN too, is right.
struct Expected {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> sizes;
  std::vector<double> values, bounds;
};

struct Mismatch {
  std::vector<int64_t> index;
  double expected, actual, bound;
};

/// How a result differs from what is expected.
struct Comparison {
  /// Empty, or why the two cannot be compared: different type or shape.
  std::string problem;
  int64_t numElements = 0;
  int64_t numMismatches = 0;
  double maxError = 0;
  /// Largest error in units of its bound; infinite for a mismatch whose bound
  /// is zero.
  double maxErrorOfBound = 0;
  /// The first few.
  std::vector<Mismatch> mismatches;

  bool agrees() const { return problem.empty() && numMismatches == 0; }
  /// One line, and one per mismatch kept.
  std::string text() const;
};

Comparison compare(const Expected &expected, const HostTensor &actual);

/// Writes FOLDER/values/NAME.npy, in the tensor's element type, and
/// FOLDER/bounds/NAME.npy, as f32 rounded towards zero, so that no bound grows
/// (none but 0 becomes 0: each is at least the smallest f32).
void writeExpected(const std::string &folder,
                   const std::vector<Expected> &expected);

/// What `writeExpected` wrote of a tensor of this name and type.
Expected readExpected(const std::string &folder, const std::string &name,
                      DType dtype);

} // namespace hk::run

#endif // HK_TOOLS_HK_RUN_EXPECTED_H
