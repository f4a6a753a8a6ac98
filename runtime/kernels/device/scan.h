//===- scan.h - Prefix sums, maxima and equal lanes -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums over the threads before this one, the largest number of some lanes, and
// which lanes of a wave hold the same number. Every thread calls them. On the
// host a block is one thread, so that nothing comes before it. The order of
// additions is fixed by the template arguments, so results repeat bit by bit.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_SCAN_H
#define HK_KERNELS_DEVICE_SCAN_H

#include "kernels/device/arch.h"
#include "kernels/device/types.h"

namespace hk {

/// laneXor of any 32 or 64-bit number.
template <int M, int GROUP, class T> HK_DEV T exchangeLanes(T v) {
  if constexpr (sizeof(T) == 4) {
    return bitCast<T>(laneXor<M, GROUP>(bitCast<i32>(v)));
  } else {
    Vec<i32, 2> parts = bitCast<Vec<i32, 2>>(v);
    parts[0] = laneXor<M, GROUP>(parts[0]);
    parts[1] = laneXor<M, GROUP>(parts[1]);
    return bitCast<T>(parts);
  }
}

/// The largest v of LANES neighbouring lanes. Whole waves call.
template <int LANES, class T, int STEP = 1> HK_DEV T largestOfLanes(T v) {
  if constexpr (STEP < LANES) {
    T other = exchangeLanes<STEP, kWave>(v);
    return largestOfLanes<LANES, T, STEP * 2>(v > other ? v : other);
  } else {
    return v;
  }
}

/// Over lanes that differ in the bits from FROM to below TO: adds the totals of
/// those before this lane to `before`, and makes `total` the sum of all.
template <int FROM, int TO, class T>
HK_DEV void scanLanes(T &before, T &total) {
  if constexpr (FROM < TO) {
    T other = exchangeLanes<FROM, TO>(total);
    bool second = laneId() & FROM;
    before = second ? before + other : before;
    // The earlier lanes first, in both of the pair.
    total = second ? other + total : total + other;
    scanLanes<FROM * 2, TO>(before, total);
  }
}

/// Prefix sums over those of THREADS threads that share threadId() % COLUMNS.
template <class T, int THREADS, int COLUMNS = 1> struct BlockScan {
  static constexpr int kWaves = THREADS > kWave ? THREADS / kWave : 1;
  static_assert(kIsHost || (COLUMNS & (COLUMNS - 1)) == 0);
  static_assert(kIsHost || (COLUMNS <= kWave && THREADS >= COLUMNS));
  /// Elements of the scratch that run() takes; none is live between two runs.
  static constexpr int kScratch = kWaves * COLUMNS;

  /// `before`: the sum of v of earlier threads; `total`: of all.
  HK_MEM static void run(T v, T &before, T &total, T *scratch) {
    before = T(0);
    total = v;
    if constexpr (!kIsHost) {
      scanLanes<COLUMNS, (THREADS < kWave ? THREADS : kWave)>(before, total);
      if constexpr (kWaves > 1) {
        int wave = waveId(), column = laneId() % COLUMNS;
        if (laneId() < COLUMNS)
          scratch[wave * COLUMNS + column] = total;
        barrier();
        T earlier = T(0), all = T(0);
        HK_UNROLL for (int w = 0; w < kWaves; ++w) {
          earlier = w == wave ? all : earlier;
          all = all + scratch[w * COLUMNS + column];
        }
        before = earlier + before;
        total = all;
        barrier();
      }
    }
  }
};

/// How the lanes of a wave share a number.
struct SameLanes {
  int rank;  // lanes before this one with the same number
  int count; // lanes with the same number
};

constexpr int bitsBelow(int n) {
  return n <= 1 ? 0 : 1 + bitsBelow((n + 1) / 2);
}

/// The lanes with the same `number` in [0, LIMIT); only lanes with `valid`
/// count.
template <int LIMIT>
HK_DEV SameLanes sameLanes([[maybe_unused]] int number, bool valid) {
  if constexpr (kIsHost) {
    return {0, valid};
  } else {
    u64 same = ballot(valid);
    HK_UNROLL for (int bit = 0; bit < bitsBelow(LIMIT); ++bit) {
      bool set = (number >> bit) & 1;
      u64 lanes = ballot(set);
      same &= set ? lanes : ~lanes;
    }
    u64 earlier = (u64(1) << laneId()) - 1;
    return {__builtin_popcountll(same & earlier), __builtin_popcountll(same)};
  }
}

} // namespace hk

#endif // HK_KERNELS_DEVICE_SCAN_H
