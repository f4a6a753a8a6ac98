//===- host.h - Host primitives -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A host block is one thread: no lanes, no barriers. Vectors are whatever width
// -march gives; what has no vector instruction is written as vector arithmetic.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_ARCH_HOST_H
#define HK_KERNELS_DEVICE_ARCH_HOST_H

#include "kernels/device/types.h"

namespace hk {

HK_DEV int threadId() { return 0; }
HK_DEV int laneId() { return 0; }
HK_DEV int waveId() { return 0; }
HK_DEV void barrier() {}
HK_DEV void waveBarrier() {}
/// See amdgcn.h: registers of rare ways do not count here.
HK_DEV void keepOrder() {}
HK_DEV u64 ballot(bool condition) { return condition; }
HK_DEV int fromLane(int v, int) { return v; }

inline constexpr bool kNativeMaximum = false;
inline constexpr bool kVotes = false;
template <int V> HK_DEV u32 encodeFp4(Vec<float, V> x);
template <int V>
HK_DEV Vec<float, V> limitNumber(Vec<float, V> x, float lo, float hi);
HK_DEV f32x2 opaquePair(f32x2 v) { return v; }
HK_DEV f32x2 differenceOfPairs(f32x2 a, f32x2 b) { return a - b; }
template <class T> HK_DEV T opaqueUniform(T v) { return v; }
HK_DEV u64 opaqueLane(u64 v) { return v; }
inline constexpr bool kNativeRsqrt = false;
template <int V> HK_DEV Vec<float, V> nearRsqrt(Vec<float, V> x);
inline constexpr bool kNativeLdexp = false;
inline constexpr bool kNativeTruncation = false;
HK_DEV i32 truncated(float x);

/// 1 / x within 1 ulp for x from 2^-126 to 2^126; above it may be 0. Infinity
/// gives 0 and NaN stays.
template <int V> HK_DEV Vec<float, V> nearReciprocal(Vec<float, V> x) {
  return 1.f / x;
}

/// Orders streamed stores before whatever tells other threads of them.
HK_DEV void finishStreams() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

/// 2^x for |x| <= 1, within 1 ulp for |x| <= 0.5.
template <int V> HK_DEV Vec<float, V> exp2Small(Vec<float, V> x) {
  using F = Vec<float, V>;
  F p = F(1.532890747e-04f);
  p = __builtin_elementwise_fma(p, x, F(1.339097624e-03f));
  p = __builtin_elementwise_fma(p, x, F(9.618500248e-03f));
  p = __builtin_elementwise_fma(p, x, F(5.550359562e-02f));
  p = __builtin_elementwise_fma(p, x, F(2.402264774e-01f));
  p = __builtin_elementwise_fma(p, x, F(6.931471825e-01f));
  return __builtin_elementwise_fma(p, x, F(1.f));
}

/// A group of lanes is one thread.
template <int G> inline constexpr bool kNativeLaneMax = false;
template <int G> inline constexpr bool kJoinsLaneMax = false;
HK_DEV u32 laneMax(u32 v) { return v; }
HK_DEV u32 joinLaneMax(u32 v) { return v; }

template <DType> inline constexpr bool kNativeDecode = false;
template <DType> inline constexpr bool kNativeEncode = false;
inline constexpr bool kNativeBf16 = false;

} // namespace hk

#endif // HK_KERNELS_DEVICE_ARCH_HOST_H
