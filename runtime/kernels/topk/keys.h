//===- keys.h - Keys of a selection -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An element's key is its value as an ordered integer above its place as one.
// All keys of a row differ, so "the k largest" has one answer whatever the
// data: indices are distinct and in range by construction. Key 0 is no element.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_TOPK_KEYS_H
#define HK_KERNELS_TOPK_KEYS_H

#include "kernels/device/arch.h"
#include "kernels/device/types.h"

namespace hk {

/// Larger values have larger numbers; NaN of any sign has the largest, both
/// zeros have one. None is 0.
template <int V> HK_DEV Vec<u32, V> orderedBits(Vec<float, V> x) {
  using U = Vec<u32, V>;
  U bits = bitCast<U>(x + 0.f); // -0 + 0 is +0
  U key = bits ^ (U(bitCast<Vec<i32, V>>(bits) >> 31) | 0x80000000u);
  return x != x ? U(0xFFC00000u) : key;
}

/// The value of a key.
HK_DEV float valueOfKey(u32 key) {
  return bitCast<float>(key & 0x80000000u ? key ^ 0x80000000u : ~key);
}

/// Which of equal elements is taken first.
enum class Ties { Lowest, Highest };
/// How the selected elements are arranged.
enum class Order { ByValue, ByIndex };

/// A place as a number that is larger for the element taken first; never 0.
template <Ties TIES> HK_DEV u32 placeKey(u32 index) {
  return TIES == Ties::Lowest ? ~index : index + 1;
}
template <Ties TIES> HK_DEV i32 indexOfPlace(u32 place) {
  return i32(TIES == Ties::Lowest ? ~place : place - 1);
}

} // namespace hk

#endif // HK_KERNELS_TOPK_KEYS_H
