//===- reduce.h - Reductions over the threads of a row -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collectives take whole per-thread arrays and every thread of the block calls
// them. On the host one thread owns a row, so they work on its array alone. The
// order of additions is fixed by the template arguments, so results repeat bit
// by bit.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_REDUCE_H
#define HK_KERNELS_DEVICE_REDUCE_H

#include "kernels/device/arch.h"
#include "kernels/device/types.h"

namespace hk {

struct Sum {
  static constexpr float kIdentity = 0.f;
  template <class T> HK_MEM static T apply(T a, T b) { return a + b; }
};
/// NaN if either is NaN.
struct Max {
  static constexpr float kIdentity = -__builtin_inff();
  template <class T> HK_MEM static T apply(T a, T b) { return maximum(a, b); }
};
/// NaN if either is NaN.
struct Min {
  static constexpr float kIdentity = __builtin_inff();
  template <class T> HK_MEM static T apply(T a, T b) { return minimum(a, b); }
};
/// Max of values without a sign: as bits, where NaN comes after infinity.
struct MagnitudeMax {
  static constexpr float kIdentity = 0.f;
  template <class T> HK_MEM static T apply(T a, T b) {
    if constexpr (kVotes && kArch == Arch::Gfx950 && sizeof(T) > 4) {
      // Three at a time and without their signs.
      return __builtin_elementwise_maximum(a, b);
    } else if constexpr (sizeof(T) == sizeof(float)) {
      u32 x = bitCast<u32>(a), y = bitCast<u32>(b);
      return bitCast<T>(x > y ? x : y);
    } else {
      using U = Vec<u32, int(sizeof(T) / sizeof(u32))>;
      return bitCast<T>(
          __builtin_elementwise_max(bitCast<U>(a), bitCast<U>(b)));
    }
  }
};

/// The elements of v combined, as a balanced tree.
template <class Op, int V> HK_DEV float reduceVec(Vec<float, V> v) {
  if constexpr (V == 1)
    return v[0];
  else
    return reduceVec<Op, V / 2>(
        Op::template apply<Vec<float, V / 2>>(v.lo, v.hi));
}

/// The largest |x|, NaN if there is one.
template <int V> HK_DEV float largestMagnitude(Vec<float, V> x) {
  if constexpr (kVotes && kArch == Arch::Gfx942 && V > 1) {
    // Three at a time: of what is positive the signed comparison finds the
    // largest, of what is negative the unsigned one.
    i32 up = bitCast<i32>(x[0]);
    u32 down = bitCast<u32>(x[0]);
    HK_UNROLL for (int e = 1; e < V; ++e) {
      up = __builtin_elementwise_max(up, bitCast<i32>(x[e]));
      down = __builtin_elementwise_max(down, bitCast<u32>(x[e]));
    }
    u32 a = u32(up) & 0x7FFFFFFFu, b = down & 0x7FFFFFFFu;
    return bitCast<float>(a > b ? a : b);
  }
  return reduceVec<MagnitudeMax, V>(__builtin_elementwise_abs(x));
}

/// Exchange steps FROM, 2 FROM, ... below TO over each entry of v. CALLERS
/// lanes around this one call it.
template <class Op, int FROM, int TO, int CALLERS, int K>
HK_DEV void reduceLanes(float (&v)[K]) {
  if constexpr (FROM < TO) {
    HK_UNROLL for (int k = 0; k < K; ++k) v[k] = Op::apply(
        v[k], bitCast<float>(laneXor<FROM, CALLERS>(bitCast<i32>(v[k]))));
    reduceLanes<Op, FROM * 2, TO, CALLERS>(v);
  }
}

/// Exchange steps of maxOfLanes. Lanes of a finished step agree, so that the
/// lane opposite in the group serves as well as the one at the same place.
template <int STEP, int TO> HK_DEV u32 maxLaneSteps(u32 v) {
  if constexpr (STEP < TO) {
    u32 other = u32(laneXor<2 * STEP - 1>(i32(v)));
    return maxLaneSteps<STEP * 2, TO>(v > other ? v : other);
  } else
    return v;
}

/// The largest v of the G lanes around this one, G a power of two, for all of
/// them. Every lane of the wave calls it.
template <int G> HK_DEV u32 maxOfLanes(u32 v) {
  static_assert((G & (G - 1)) == 0 && G <= kWave);
  if constexpr (G == 1)
    return v;
  else if constexpr (kNativeLaneMax<G>)
    return laneMax(v);
  else if constexpr (kJoinsLaneMax<G>)
    return joinLaneMax(maxLaneSteps<1, 16>(v));
  else
    return maxLaneSteps<1, G>(v);
}

/// LDS floats that rowReduce of K values uses in a block of THREADS.
template <int TPR, int THREADS, int K>
inline constexpr int
    kRowReduceFloats = TPR > kWave ? (TPR > THREADS ? TPR : THREADS) / kWave *K
                                   : 0;

/// Gives each thread the values that the waves of its row have in their first
/// lanes: K for each wave, in the order of the waves. `scratch` is that of
/// rowReduce. Every thread of the block calls it.
template <int TPR, int THREADS, int K>
HK_DEV const float *shareWaves(const float (&v)[K], float *scratch) {
  if constexpr (TPR > THREADS) {
    clusterShare<TPR / THREADS, THREADS / kWave>(v, scratch);
    return scratch;
  } else {
    int wave = waveId();
    if (laneId() == 0)
      HK_UNROLL for (int k = 0; k < K; ++k) scratch[wave * K + k] = v[k];
    barrier();
    constexpr int waves = TPR / kWave;
    return scratch + wave / waves * waves * K;
  }
}

/// Value k of K of all of a row's WAVES waves, combined. More of them than
/// lanes are combined by the lanes side by side.
template <class Op, int WAVES, int K>
HK_DEV float combineWaves(const float *row, int k) {
  if constexpr (WAVES > kWave) {
    static_assert(WAVES % kWave == 0);
    float v[1] = {row[laneId() * K + k]};
    HK_UNROLL for (int i = kWave; i < WAVES; i += kWave) v[0] =
        Op::apply(v[0], row[(i + laneId()) * K + k]);
    reduceLanes<Op, 1, kWave, kWave>(v);
    return v[0];
  } else {
    float v = row[k];
    HK_UNROLL for (int i = 1; i < WAVES; ++i) v = Op::apply(v, row[i * K + k]);
    return v;
  }
}

/// Combines each of v over the TPR consecutive threads that share a row; all of
/// them get the result. TPR is a power of two or a multiple of the wave; more
/// than THREADS: of the blocks of a cluster. Every thread of the block calls
/// it. `scratch` has kRowReduceFloats floats that no other collective of the
/// kernel uses.
template <class Op, int TPR, int THREADS, int K>
HK_DEV void rowReduce(float (&v)[K], [[maybe_unused]] float *scratch) {
  static_assert(TPR > THREADS ? TPR % THREADS == 0 : THREADS % TPR == 0);
  static_assert(TPR > kWave ? TPR % kWave == 0 : (TPR & (TPR - 1)) == 0);
  reduceLanes<Op, 1, (TPR < kWave ? TPR : kWave),
              (THREADS % kWave == 0 ? kWave : TPR)>(v);
  if constexpr (TPR > kWave) {
    const float *row = shareWaves<TPR, THREADS>(v, scratch);
    HK_UNROLL for (int k = 0; k < K; ++k) v[k] =
        combineWaves<Op, TPR / kWave, K>(row, k);
  }
}

/// Combines v over groups of G consecutive positions: lanes of a wave on a GPU,
/// entries of the array on the host. Every member gets its group's result.
/// CALLERS lanes around this one call it; other groups need not.
template <class Op, int G, int CALLERS = G, int K>
HK_DEV void groupReduce(float (&v)[K]) {
  static_assert((G & (G - 1)) == 0);
  if constexpr (!kIsHost) {
    static_assert(G <= kWave);
    reduceLanes<Op, 1, G, CALLERS>(v);
  } else if constexpr (G > 1) {
    for (int k = 0; k < K; k += G) {
      int end = k + G < K ? k + G : K;
      float m = v[k];
      for (int i = k + 1; i < end; ++i)
        m = Op::apply(m, v[i]);
      for (int i = k; i < end; ++i)
        v[i] = m;
    }
  }
}

} // namespace hk

#endif // HK_KERNELS_DEVICE_REDUCE_H
