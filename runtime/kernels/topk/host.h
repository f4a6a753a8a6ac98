//===- host.h - Selection by one thread -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pass over the row with a sorted list of the best K keys. A whole vector
// is skipped where nothing in it can enter the list, which is nearly all of a
// long row.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_TOPK_HOST_H
#define HK_KERNELS_TOPK_HOST_H

#include "kernels/topk/row.h"

namespace hk {

template <int K, Ties TIES> class SortedKeys {
public:
  template <int V> HK_MEM void add(Vec<u32, V> keys, i64 first, i64 n) {
    if (count == K) {
      Vec<i32, V> enters = keys >= u32(list[K - 1] >> 32);
      if (!__builtin_reduce_or(enters))
        return;
    }
    for (int e = 0; e < V && first + e < n; ++e)
      insert(u64(keys[e]) << 32 | placeKey<TIES>(u32(first + e)));
  }

  template <Order ORDER> HK_MEM void store(TopkRow<K> &row) {
    if constexpr (ORDER == Order::ByIndex)
      sortByIndex();
    for (int j = 0; j < K; ++j)
      if (j < count)
        row.set(j, u32(list[j] >> 32), indexOfPlace<TIES>(u32(list[j])));
      else
        row.setMissing(j);
  }

private:
  HK_MEM void insert(u64 key) {
    if (count == K && key < list[K - 1])
      return;
    int j = count < K ? count++ : K - 1;
    for (; j > 0 && list[j - 1] < key; --j)
      list[j] = list[j - 1];
    list[j] = key;
  }

  /// Shell sort.
  HK_MEM void sortByIndex() {
    constexpr int gaps[] = {1750, 701, 301, 132, 57, 23, 10, 4, 1};
    for (int gap : gaps)
      for (int i = gap; i < count; ++i) {
        u64 key = list[i];
        int j = i;
        for (; j >= gap && indexOfPlace<TIES>(u32(list[j - gap])) >
                               indexOfPlace<TIES>(u32(key));
             j -= gap)
          list[j] = list[j - gap];
        list[j] = key;
      }
  }

  u64 list[K];
  int count = 0;
};

/// The K largest of the n elements of a row. score(slot, chunk) is chunk number
/// `chunk` of V elements, and slot the same number.
template <int V, int K, Ties TIES, Order ORDER, class Score>
HK_DEV void topkOnHost(Score score, i64 n, TopkRow<K> &row) {
  SortedKeys<K, TIES> keys;
  for (i64 c = 0; c * V < n; ++c)
    keys.template add<V>(orderedBits<V>(score(int(c), c)), c * V, n);
  keys.template store<ORDER>(row);
}

} // namespace hk

#endif // HK_KERNELS_TOPK_HOST_H
