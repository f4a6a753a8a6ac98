//===- arch.h - The target of a translation unit -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Picks the architecture's own layer: thread indices, barriers, lane shuffles,
// native instructions; and what several of them spell alike. Nothing outside
// device/ uses these directly.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_ARCH_H
#define HK_KERNELS_DEVICE_ARCH_H

#include "kernels/device/types.h"

namespace hk {

#if defined(__gfx942__)
inline constexpr Arch kArch = Arch::Gfx942;
#elif defined(__gfx950__)
inline constexpr Arch kArch = Arch::Gfx950;
#elif defined(__gfx1100__)
inline constexpr Arch kArch = Arch::Gfx1100;
#elif defined(__AMDGCN__)
#error "hk kernels: this AMD target is not in hk/Contract/Target.h"
#elif defined(__NVPTX__)
inline constexpr Arch kArch = Arch::Sm90a;
#else
inline constexpr Arch kArch = Arch::Host;
#endif

inline constexpr const Target &kTarget = targetOf(kArch);
/// Lanes of a wave; 1 on the host.
inline constexpr int kWave = kTarget.waveSize;
inline constexpr bool kIsHost = kArch == Arch::Host;
inline constexpr bool kIsCdna = kArch == Arch::Gfx942 || kArch == Arch::Gfx950;

/// Gives each block of a cluster of BLOCKS the K values that the first lane of
/// each of its WAVES waves has, in the order of the waves. Every thread of the
/// cluster calls it after clusterArrive() and clusterWait(). Only on targets
/// whose maxCluster() is more than one.
template <int BLOCKS, int WAVES, int K>
HK_DEV void clusterShare(const float (&v)[K], float *scratch);
} // namespace hk

#if defined(__AMDGCN__)
#include "kernels/device/arch/amdgcn.h"
#elif defined(__NVPTX__)
#include "kernels/device/arch/nvptx.h"
#else
#include "kernels/device/arch/host.h"
#endif

namespace hk {

/// The larger or smaller of two, NaN if either is NaN.
template <class T> HK_DEV T maximum(T a, T b) {
  if constexpr (kNativeMaximum)
    return __builtin_elementwise_maximum(a, b);
  T m = a > b ? a : b;
  return a != a ? a : m;
}
template <class T> HK_DEV T minimum(T a, T b) {
  if constexpr (kNativeMaximum)
    return __builtin_elementwise_minimum(a, b);
  T m = a < b ? a : b;
  return a != a ? a : m;
}

/// v, as a value that the compiler does not know to be v: what was unpacked
/// from v is then not kept in registers beside it.
template <class T> HK_DEV T opaque(T v) {
  if constexpr (!kIsHost && sizeof(T) % 4 == 0) {
    auto words = bitCast<Vec<u32, int(sizeof(T) / 4)>>(v);
    HK_UNROLL for (int i = 0; i < int(sizeof(T) / 4); ++i) words[i] =
        opaqueWord(words[i]);
    v = bitCast<T>(words);
  }
  return v;
}

/// The same of floats for arithmetic on pairs: a sign is then changed by the
/// instruction that reads it, not where x was unpacked from an integer.
template <int V> HK_DEV Vec<float, V> opaquePairs(Vec<float, V> x) {
  if constexpr (kVotes && V % 2 == 0)
    HK_UNROLL for (int e = 0; e < V; e += 2) {
      f32x2 pair = opaquePair(f32x2{x[e], x[e + 1]});
      x[e] = pair[0];
      x[e + 1] = pair[1];
    }
  return x;
}

/// a - b; on targets that vote, of pairs at once.
template <int V>
HK_DEV Vec<float, V> difference(Vec<float, V> a, Vec<float, V> b) {
  if constexpr (kVotes && V % 2 == 0) {
    HK_UNROLL for (int e = 0; e < V; e += 2) {
      f32x2 pair =
          differenceOfPairs(f32x2{a[e], a[e + 1]}, f32x2{b[e], b[e + 1]});
      a[e] = pair[0];
      a[e + 1] = pair[1];
    }
    return a;
  }
  return a - b;
}

/// Whether a lane of the wave has a NaN.
template <int V> HK_DEV bool waveHasNan(Vec<float, V> x) {
  bool any = false;
  HK_UNROLL for (int e = 0; e < V; e += 2) any |=
      __builtin_isunordered(x[e], x[e + 1 < V ? e + 1 : e]);
  return ballot(any) != 0;
}

/// What nearly always holds, and the lanes of the wave where it does not.
struct Usual {
  bool here;
  u64 exceptions;
  HK_MEM operator bool() const { return here; }
};
HK_DEV Usual usually(bool condition) { return {condition, ballot(!condition)}; }
/// a where it holds and b elsewhere; opaque, so that it remains a branch.
template <int V, class ValueVec>
HK_DEV ValueVec mostly(Usual usual, ValueVec a, ValueVec b) {
  if (__builtin_expect(usual.exceptions != 0, false))
    a = usual.here ? a : opaque(b);
  return a;
}

/// x with `fill` in the place of NaN, rare where the target votes.
template <int V> HK_DEV Vec<float, V> replaceNan(Vec<float, V> x, float fill) {
  if constexpr (kVotes) {
    if (__builtin_expect(waveHasNan<V>(x), false))
      HK_UNROLL for (int e = 0; e < V; ++e) x[e] =
          opaque(x[e] != x[e] ? fill : x[e]);
    return x;
  }
  return x != x ? Vec<float, V>(fill) : x;
}

/// y, and x where that is NaN; for targets that vote.
template <int V>
HK_DEV Vec<float, V> restoreNan(Vec<float, V> y, Vec<float, V> x) {
  if (__builtin_expect(waveHasNan<V>(x), false))
    HK_UNROLL for (int e = 0; e < V; ++e) y[e] =
        opaque(x[e] != x[e] ? x[e] : y[e]);
  return y;
}

/// x * 2^n for -252 <= n <= 254, one rounding of subnormal results.
template <int V>
HK_DEV Vec<float, V> scaleByPow2(Vec<float, V> x, Vec<i32, V> n) {
  if constexpr (kNativeLdexp) {
    HK_UNROLL for (int e = 0; e < V; ++e) x[e] = __builtin_ldexpf(x[e], n[e]);
    return x;
  }
  Vec<i32, V> half = n >> 1;
  return x * bitCast<Vec<float, V>>((half + 127) << 23) *
         bitCast<Vec<float, V>>((n - half + 127) << 23);
}

} // namespace hk

#endif // HK_KERNELS_DEVICE_ARCH_H
