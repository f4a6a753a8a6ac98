//===- Slices.h - How a reduction is cut into slices -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The k of a matrix product and the keys of an attention may be cut into slices
// that different blocks work on. The operators, the interpreter, the cost model
// and the kernels agree on where a slice begins.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_SLICES_H
#define HK_CONTRACT_SLICES_H

#include <cstdint>

namespace hk {

/// Slices are whole multiples of this: of the elements that share a scale along
/// k, of a K tile of nearly every gemm tile, of every tile of keys.
inline constexpr int64_t kSliceUnit = 128;

/// Elements of each of `count` slices of n elements; the last ones may have
/// fewer, or none.
constexpr int64_t sliceLength(int64_t n, int64_t count) {
  int64_t each = (n + count - 1) / count;
  return (each + kSliceUnit - 1) / kSliceUnit * kSliceUnit;
}

/// How many of `count` slices of n elements have any.
constexpr int64_t filledSlices(int64_t n, int64_t count) {
  int64_t each = sliceLength(n, count);
  return each == 0 ? 0 : (n + each - 1) / each;
}

/// The first of a sequence's keys that a slice may hold: keys before the window
/// of its first query are in none.
constexpr int64_t firstSlicedKey(int64_t keys, int64_t queries,
                                 int64_t windowLeft) {
  int64_t seen = windowLeft < 0 ? 0 : keys - queries - windowLeft;
  return seen <= 0 ? 0 : seen / kSliceUnit * kSliceUnit;
}

} // namespace hk

#endif // HK_CONTRACT_SLICES_H
