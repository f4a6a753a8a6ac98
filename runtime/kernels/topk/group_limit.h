//===- group_limit.h - The best groups of a row -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The row goes through LDS (the host's stack), a thread scores a group, and
// every thread of the row learns which groups stay as the bits of one word.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_TOPK_GROUP_LIMIT_H
#define HK_KERNELS_TOPK_GROUP_LIMIT_H

#include "hk/Contract/LdsTopk.h"
#include "kernels/topk/row.h"

namespace hk {

enum class GroupScore { Maximum, Top2Sum };

template <int N, int GROUPS> struct GroupRow {
  float x[N + N % 2];
  u32 score[GROUPS];
  u32 keep[GROUPS];
};

template <int N, int GROUPS, GroupScore SCORE>
HK_DEV float scoreOfGroup(const GroupRow<N, GROUPS> &row, int group) {
  constexpr int SIZE = N / GROUPS;
  u32 first = 0, second = 0;
  for (int i = 0; i < SIZE; ++i) {
    // Neighbouring threads start at different banks.
    int at = i + group < SIZE ? i + group : (i + group) % SIZE;
    u32 key = orderedBits<1>(Vec<float, 1>(row.x[group * SIZE + at]))[0];
    second = key > first ? first : key > second ? key : second;
    first = key > first ? key : first;
  }
  return SCORE == GroupScore::Maximum ? valueOfKey(first)
                                      : valueOfKey(first) + valueOfKey(second);
}

/// Bit g is set iff group g is among the TOP best. score(slot, chunk) is chunk
/// number slot * TPR + thread of V elements, of N in all.
template <int TPR, int V, int N, int GROUPS, int TOP, GroupScore SCORE,
          class Score>
HK_DEV u64 bestGroups(Score score, i32 thread, GroupRow<N, GROUPS> &row) {
  constexpr int CHUNKS = (N + V - 1) / V;
  HK_UNROLL for (int s = 0; s < (CHUNKS + TPR - 1) / TPR; ++s) {
    i32 chunk = s * TPR + thread;
    if (chunk >= CHUNKS)
      continue;
    Vec<float, V> x = score(s, chunk);
    HK_UNROLL for (int e = 0; e < V; ++e) if (N % V == 0 || chunk * V + e < N)
        row.x[chunk * V + e] = x[e];
  }
  rowBarrier<TPR>();
  for (int g = thread; g < GROUPS; g += TPR) {
    Vec<float, 1> own = scoreOfGroup<N, GROUPS, SCORE>(row, g);
    row.score[g] = orderedBits<1>(own)[0];
  }
  rowBarrier<TPR>();
  for (int g = thread; g < GROUPS; g += TPR) {
    u32 own = row.score[g], better = 0;
    for (int other = 0; other < GROUPS; ++other)
      better +=
          row.score[other] > own || (row.score[other] == own && other < g);
    row.keep[g] = better < TOP;
  }
  rowBarrier<TPR>();
  u64 bits = 0;
  for (int g = 0; g < GROUPS; ++g)
    bits |= u64(row.keep[g]) << g;
  return bits;
}

/// x where the groups of `size` elements that the elements from `first` on are
/// in have their bits set, -inf elsewhere.
template <int V>
HK_DEV Vec<float, V> keepGroups(Vec<float, V> x, u64 bits, u32 first,
                                u32 size) {
  HK_UNROLL for (int e = 0; e < V; ++e) x[e] =
      bits >> (first + e) / size & 1 ? x[e] : -__builtin_inff();
  return x;
}

} // namespace hk

#endif // HK_KERNELS_TOPK_GROUP_LIMIT_H
