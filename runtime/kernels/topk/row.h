//===- row.h - The selected elements of a row -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where every selection leaves its result: LDS on a GPU, an array on the host.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_TOPK_ROW_H
#define HK_KERNELS_TOPK_ROW_H

#include "kernels/topk/keys.h"

namespace hk {

/// For the TPR threads of a row.
template <int TPR> HK_DEV void rowBarrier() {
  if constexpr (TPR > kWave)
    barrier();
  else
    waveBarrier();
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

/// Sorts the entries of a row by index, missing ones last; every thread of the
/// row calls it.
template <int TPR, int K> HK_DEV void sortByIndex(TopkRow<K> &row, i32 thread) {
  constexpr int OWN = (K + TPR - 1) / TPR;
  u64 entry[OWN];
  i32 rank[OWN];
  HK_UNROLL for (int i = 0; i < OWN; ++i) {
    int j = i * TPR + thread;
    if (j >= K)
      continue;
    entry[i] = row.entry[j];
    rank[i] = 0;
    for (int r = 0; r < K; ++r) {
      u32 own = u32(entry[i]), other = u32(row.index(r));
      rank[i] += other < own || (other == own && r < j);
    }
  }
  rowBarrier<TPR>();
  HK_UNROLL for (int i = 0; i < OWN; ++i) if (i * TPR + thread < K)
      row.entry[rank[i]] = entry[i];
  rowBarrier<TPR>();
}

} // namespace hk

#endif // HK_KERNELS_TOPK_ROW_H
