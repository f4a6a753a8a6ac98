//===- Values.h - Numbers in every element type -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Encoding and decoding of single values, for making inputs and describing
// results. Plain and slow on purpose; no kernel shares it.
//
//===----------------------------------------------------------------------===//

#ifndef HK_TOOLS_HK_RUN_VALUES_H
#define HK_TOOLS_HK_RUN_VALUES_H

#include "Options.h"

#include "hk/Contract/DType.h"

#include <vector>

namespace hk::run {

/// A dense tensor on the host; two elements of a packed type per byte.
struct HostTensor {
  DType dtype = DType::F32;
  std::vector<int64_t> sizes;
  std::vector<uint8_t> bytes;

  int64_t numElements() const;
  /// Gives it room for `sizes`.
  void allocate();
  /// Integers and booleans too.
  double get(int64_t index) const;
  /// Rounds to nearest even; beyond the largest number: infinity, or the
  /// largest number for types without infinity.
  void set(int64_t index, double value);
  void setInteger(int64_t index, int64_t value);
  /// The 4 bits of an element of a packed type.
  void setCode(int64_t index, uint32_t code);
};

/// Fills an input with random data that depend on seed and name only.
void fillRandom(HostTensor &tensor, const std::string &name, uint64_t seed,
                Data data, const IntegerRange &range);

/// "min -1.5 max 2 mean 0.01", with counts of NaN and infinities if any.
std::string summarize(const HostTensor &tensor);

/// "bf16 [2, 3]".
std::string typeText(const HostTensor &tensor);

} // namespace hk::run

#endif // HK_TOOLS_HK_RUN_VALUES_H
