//===- rowwise.h - What a row-wise kernel includes -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Row-wise kernels are straight-line code emitted by the compiler over the
// device layer; this header holds their shared memory, the statistic of a
// segment of a row and the softmax of rows that are read once.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ROWWISE_ROWWISE_H
#define HK_KERNELS_ROWWISE_ROWWISE_H

/// Rare lanes are found by votes (device/arch/amdgcn.h).
#define HK_VOTES

#include "hk/Contract/LdsRowwise.h"
#include "kernels/device/io.h"
#include "kernels/device/launch.h"
#include "kernels/device/ops.h"
#include "kernels/device/quant.h"
#include "kernels/device/quotients.h"
#include "kernels/device/reduce.h"
#include "kernels/rowwise/loops.h"
#include "kernels/rowwise/mx.h"
#include "kernels/rowwise/shifted.h"
#include "kernels/rowwise/slices.h"
#include "kernels/rowwise/tails.h"

namespace hk {

/// LDS of a row-wise kernel with REDUCTIONS statistics of whole rows by TPR of
/// THREADS threads, or by a cluster of blocks of THREADS.
template <int TPR, int THREADS, int REDUCTIONS> struct RowShared {
  static constexpr int kCluster = TPR > THREADS ? TPR / THREADS : 0;
  static constexpr RowTile kTile = {kCluster ? 1 : THREADS / TPR, THREADS, 1, 0,
                                    kCluster ? kCluster : 1};
  static constexpr i64 kBytes = rowwiseLds(kTarget, kTile, REDUCTIONS, 0);
  static_assert(kBytes == 4 * kRowReduceFloats<TPR, THREADS, REDUCTIONS>);
  float scratch[kBytes > 0 ? kBytes / 4 : 1];
};

/// One value per thread, combined over G neighbouring threads; CALLERS around
/// this one take part.
template <class Op, int G, int CALLERS = G>
HK_DEV float segmentReduce(float v) {
  float a[1] = {v};
  groupReduce<Op, G, CALLERS>(a);
  return a[0];
}

/// One value per thread, combined over the TPR threads of a row.
template <class Op, int TPR, int THREADS>
HK_DEV float wholeRowReduce(float v, float *scratch) {
  float a[1] = {v};
  rowReduce<Op, TPR, THREADS>(a, scratch);
  return a[0];
}

/// What a slot without a chunk holds.
template <class T, int N> HK_DEV void fillSlots(T (&slots)[N], float v) {
  HK_UNROLL_SLOTS for (int s = 0; s < N; ++s) slots[s] = v;
}

/// What to take off elements whose maximum is m. -inf - -inf is not 0: as long
/// as there is nothing else, e^x is 0.
HK_DEV float expBase(float m) { return m == -__builtin_inff() ? 0.f : m; }

/// Adds N vectors to a softmax's running maximum m and sum l of e^(x - m), four
/// at a time. Another maximum is rare after the first elements of a row.
template <int V, int N>
HK_DEV void onlineSoftmax(float &m, float &l, const Vec<float, V> (&v)[N]) {
  constexpr int some = N < 4 ? N : 4;
  HK_UNROLL for (int i = 0; i < N; i += some) {
    Vec<float, V> top = v[i];
    HK_UNROLL for (int j = i + 1; j < i + some && j < N; ++j) top =
        Max::apply(top, v[j]);
    float largest = reduceVec<Max, V>(top);
    if (!(largest <= m)) {
      l *= expNegative<1>(Vec<float, 1>(m - largest))[0];
      m = largest;
    }
    float from = expBase(m);
    Vec<float, V> sum = expNegative<V>(v[i] - from);
    HK_UNROLL for (int j = i + 1; j < i + some && j < N; ++j) sum +=
        expNegative<V>(v[j] - from);
    l += reduceVec<Sum, V>(sum);
  }
}

/// e^(from - to) for maxima from <= to or NaN. Equal ones, infinite ones too,
/// leave as it is what is scaled by it.
HK_DEV float expOfMaxima(float from, float to) {
  return from == to ? 1.f : expNegative<1>(Vec<float, 1>(from - to))[0];
}

/// Combines the maxima and sums that are those of each wave of a row of TPR >
/// kWave threads. `scratch` has two floats per wave.
template <int TPR, int THREADS>
HK_DEV void mergeWaves(float &m, float &l, float *scratch) {
  constexpr int waves = TPR / kWave;
  float own[2] = {m, l};
  const float *row = shareWaves<TPR, THREADS>(own, scratch);
  m = combineWaves<Max, waves, 2>(row, 0);
  if constexpr (waves > kWave) {
    float sum[1] = {0.f};
    HK_UNROLL for (int i = laneId(); i < waves; i += kWave) sum[0] +=
        row[2 * i + 1] * expOfMaxima(row[2 * i], m);
    reduceLanes<Sum, 1, kWave, kWave>(sum);
    l = sum[0];
  } else {
    l = 0.f;
    for (int i = 0; i < waves; ++i)
      l += row[2 * i + 1] * expOfMaxima(row[2 * i], m);
  }
}

/// Combines the maxima and sums of the TPR threads of a row. `scratch` has two
/// floats per wave.
template <int TPR, int THREADS>
HK_DEV void mergeSoftmax(float &m, float &l, [[maybe_unused]] float *scratch) {
  constexpr int group = TPR < kWave ? TPR : kWave;
  constexpr int callers = THREADS % kWave == 0 ? kWave : group;
  float own = m;
  m = segmentReduce<Max, group, callers>(m);
  l = segmentReduce<Sum, group, callers>(l * expOfMaxima(own, m));
  if constexpr (TPR > kWave)
    mergeWaves<TPR, THREADS>(m, l, scratch);
}

} // namespace hk

#endif // HK_KERNELS_ROWWISE_ROWWISE_H
