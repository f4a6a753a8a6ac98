//===- wave.h - Selection in the registers of a wave -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The TPR threads of a row, at most a wave, hold its keys and take the largest
// K times. A round finds the largest value first and then the first place that
// has it, two 32-bit reductions.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_TOPK_WAVE_H
#define HK_KERNELS_TOPK_WAVE_H

#include "kernels/device/reduce.h"
#include "kernels/topk/row.h"

namespace hk {

/// Rounds are unrolled while the code stays small.
constexpr bool unrollRounds(int rounds, int keys) {
  return rounds * keys <= 128;
}

template <int TPR, int V, int SLOTS, Ties TIES> class WaveKeys {
public:
  static_assert(TPR <= kWave || kIsHost);

  /// score(slot, chunk) is chunk number slot * TPR + thread of V elements.
  template <class Score> HK_MEM void load(Score score, i64 n, i32 thread) {
    origin = placeKey<TIES>(u32(thread * V));
    HK_UNROLL for (int s = 0; s < SLOTS; ++s) {
      Vec<u32, V> key = 0;
      i32 chunk = s * TPR + thread;
      if (i64(chunk) * V < n)
        key = orderedBits<V>(score(s, chunk));
      HK_UNROLL for (int e = 0; e < V; ++e) keys[s * V + e] =
          n % V == 0 || i64(chunk) * V + e < n ? key[e] : 0;
    }
  }

  /// Removes the first of the largest; its key and its place.
  HK_MEM void take(u32 &key, u32 &place) {
    u32 best = keys[0];
    HK_UNROLL for (int i = 1; i < COUNT; ++i) best =
        best > keys[i] ? best : keys[i];
    key = maxOfLanes<TPR>(best);
    // The last match stands: go from the place taken last to that taken first.
    u32 offset = NONE;
    HK_UNROLL for (int j = 0; j < COUNT; ++j) {
      int i = TIES == Ties::Lowest ? COUNT - 1 - j : j;
      offset = keys[i] == key ? offsetOf(i) : offset;
    }
    place = maxOfLanes<TPR>(offset == NONE ? 0 : away(origin, offset));
    // Places grow or shrink with offsets: the distance says which it is.
    u32 taken = TIES == Ties::Lowest ? origin - place : place - origin;
    HK_UNROLL for (int i = 0; i < COUNT; ++i) keys[i] =
        offsetOf(i) == taken ? 0 : keys[i];
  }

private:
  static constexpr int COUNT = SLOTS * V;
  static constexpr u32 NONE = ~0u;

  /// From the first element of the thread to its element number i.
  static constexpr u32 offsetOf(int i) {
    return u32(i / V * (TPR * V) + i % V);
  }
  HK_MEM static u32 away(u32 from, u32 offset) {
    return TIES == Ties::Lowest ? from - offset : from + offset;
  }

  u32 keys[COUNT];
  u32 origin; // place of the thread's first element
};

/// The K largest of the n >= K elements of a row into `row`, for all threads of
/// the row to read.
template <int TPR, int V, int SLOTS, int K, Ties TIES, Order ORDER, class Score>
HK_DEV void topkInWave(Score score, i64 n, i32 thread, TopkRow<K> &row) {
  WaveKeys<TPR, V, SLOTS, TIES> keys;
  keys.load(score, n, thread);
  auto round = [&](int j) {
    u32 key, place;
    keys.take(key, place);
    if (thread == j % TPR)
      row.set(j, key, indexOfPlace<TIES>(place));
  };
  if constexpr (unrollRounds(K, SLOTS * V))
    HK_UNROLL for (int j = 0; j < K; ++j) round(j);
  else
    for (int j = 0; j < K; ++j)
      round(j);
  waveBarrier();
  if constexpr (ORDER == Order::ByIndex)
    sortByIndex<TPR>(row, thread);
}

} // namespace hk

#endif // HK_KERNELS_TOPK_WAVE_H
