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

/// The selected elements of one row. Value and index share a word, so that a
/// kernel that reads one of them has the LDS it is said to have.
template <int K> struct TopkRow {
  u64 entry[K];

  HK_MEM float value(i64 rank) const {
    return bitCast<float>(u32(entry[rank] >> 32));
  }
  HK_MEM i32 index(i64 rank) const { return i32(u32(entry[rank])); }
  HK_MEM void set(i64 rank, u32 key, i32 index) {
    entry[rank] = u64(bitCast<u32>(valueOfKey(key))) << 32 | u32(index);
  }
  /// What stands behind the last element of a row that has less than K.
  HK_MEM void setMissing(i64 rank) {
    entry[rank] = u64(bitCast<u32>(-__builtin_inff())) << 32 | ~0u;
  }

  /// V values or indices from `first` on; those past the end are any.
  template <int V> HK_MEM Vec<float, V> values(i64 first) const {
    Vec<float, V> r;
    HK_UNROLL for (int e = 0; e < V; ++e) r[e] = value(clamp<V>(first + e));
    return r;
  }
  template <int V> HK_MEM Vec<i32, V> indices(i64 first) const {
    Vec<i32, V> r;
    HK_UNROLL for (int e = 0; e < V; ++e) r[e] = index(clamp<V>(first + e));
    return r;
  }

private:
  template <int V> HK_MEM static i64 clamp(i64 rank) {
    return K % V == 0 || rank < K ? rank : 0;
  }
};

} // namespace hk

#endif // HK_KERNELS_TOPK_KEYS_H
