//===- amdgcn.h - CDNA and RDNA primitives -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Thread indices, barriers, lane exchange and native conversions of AMD GPUs.
// Exchange distances are template arguments because DPP controls and swizzle
// patterns are immediates.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_ARCH_AMDGCN_H
#define HK_KERNELS_DEVICE_ARCH_AMDGCN_H

#include "kernels/device/types.h"

namespace hk {

HK_DEV int threadId() { return int(__builtin_amdgcn_workitem_id_x()); }
HK_DEV int laneId() { return threadId() & (kWave - 1); }
HK_DEV int waveId() {
  return __builtin_amdgcn_readfirstlane(threadId() / kWave);
}

/// Waits for all threads of the block; LDS writes before it are visible after.
HK_DEV void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

/// Orders LDS accesses of the threads of a wave, which all take part.
HK_DEV void waveBarrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront", "local");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront", "local");
}

inline constexpr bool kNativeMaximum = false;
inline constexpr bool kNativeRsqrt = false;
template <int V> HK_DEV Vec<float, V> nearRsqrt(Vec<float, V> x);
inline constexpr bool kNativeLdexp = true;

/// v, as a value that the compiler does not know to be v.
HK_DEV u32 opaqueWord(u32 v) {
  asm("" : "+v"(v));
  return v;
}

/// 1 / x within 1 ulp for x from 2^-126 to 2^126; above it may be 0. Infinity
/// gives 0 and NaN stays.
template <int V> HK_DEV Vec<float, V> nearReciprocal(Vec<float, V> x) {
  HK_UNROLL for (int e = 0; e < V; ++e) x[e] = __builtin_amdgcn_rcpf(x[e]);
  return x;
}

/// What lane `lane` of the wave, the same one for all, holds.
HK_DEV int fromLane(int v, int lane) {
  return __builtin_amdgcn_readlane(v, lane);
}

/// The value that lane (lane ^ M) holds. Only the GROUP lanes around this one
/// need to take part.
template <int M, int GROUP = kWave> HK_DEV int laneXor(int v) {
  static_assert(M > 0 && M < kWave);
  if constexpr (M == 1)
    return __builtin_amdgcn_mov_dpp(v, 0xB1, 0xf, 0xf, true);
  else if constexpr (M == 2)
    return __builtin_amdgcn_mov_dpp(v, 0x4E, 0xf, 0xf, true);
  else if constexpr (M == 3) // a quad backwards, then half a row and a row
    return __builtin_amdgcn_mov_dpp(v, 0x1B, 0xf, 0xf, true);
  else if constexpr (M == 7)
    return __builtin_amdgcn_mov_dpp(v, 0x141, 0xf, 0xf, true);
  else if constexpr (M == 15)
    return __builtin_amdgcn_mov_dpp(v, 0x140, 0xf, 0xf, true);
  else if constexpr (M < 32)
    return __builtin_amdgcn_ds_swizzle(v, (M << 10) | 0x1f);
  else {
    int lane =
        int(__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)));
    return __builtin_amdgcn_ds_bpermute((lane ^ M) << 2, v);
  }
}

/// Whether joinLaneMax finishes the largest over G lanes from the largest over
/// each row of 16.
template <int G> inline constexpr bool kJoinsLaneMax = G == 64;
HK_DEV u32 joinLaneMax(u32 v) {
  u32 a = u32(__builtin_amdgcn_readlane(int(v), 0));
  u32 b = u32(__builtin_amdgcn_readlane(int(v), 16));
  u32 c = u32(__builtin_amdgcn_readlane(int(v), 32));
  u32 d = u32(__builtin_amdgcn_readlane(int(v), 48));
  a = a > b ? a : b;
  c = c > d ? c : d;
  return a > c ? a : c;
}
/// Whether laneMax is the largest over G lanes.
template <int G> inline constexpr bool kNativeLaneMax = false;
HK_DEV u32 laneMax(u32 v) { return v; }

/// One bit per lane of the wave: whether its `condition` holds.
HK_DEV u64 ballot(bool condition) {
  if constexpr (kWave == 64)
    return __builtin_amdgcn_ballot_w64(condition);
  else
    return __builtin_amdgcn_ballot_w32(condition);
}

/// 2^x for |x| <= 1, within 1 ulp.
template <int V> HK_DEV Vec<float, V> exp2Small(Vec<float, V> x) {
  HK_UNROLL for (int e = 0; e < V; ++e) x[e] = __builtin_amdgcn_exp2f(x[e]);
  return x;
}

/// |x| clamped to m; NaN becomes +NaN.
HK_DEV float clampKeepNan(float x, float m) {
  return x != x ? __builtin_nanf("") : __builtin_amdgcn_fmed3f(x, -m, m);
}

#if defined(__gfx942__)
inline constexpr DType kNativeE4M3 = DType::F8E4M3FNUZ;
inline constexpr DType kNativeE5M2 = DType::F8E5M2FNUZ;
#else
inline constexpr DType kNativeE4M3 = DType::F8E4M3FN;
inline constexpr DType kNativeE5M2 = DType::F8E5M2;
#endif

#if defined(__gfx942__) || defined(__gfx950__)
template <DType D>
inline constexpr bool kNativeDecode = D == kNativeE4M3 || D == kNativeE5M2;
// The NaN code of the native e5m2 encoder is not the one fixed in convert.h.
template <DType D> inline constexpr bool kNativeEncode = D == kNativeE4M3;

template <DType D> HK_DEV f32x4 decode4(u32 bytes) {
  f32x2 lo, hi;
  if constexpr (D == kNativeE4M3) {
    lo = __builtin_amdgcn_cvt_pk_f32_fp8(bytes, false);
    hi = __builtin_amdgcn_cvt_pk_f32_fp8(bytes, true);
  } else {
    lo = __builtin_amdgcn_cvt_pk_f32_bf8(bytes, false);
    hi = __builtin_amdgcn_cvt_pk_f32_bf8(bytes, true);
  }
  return f32x4{lo[0], lo[1], hi[0], hi[1]};
}

template <DType D> HK_DEV u32 encode4(f32x4 v) {
  constexpr float max = float(info(D).maxFinite);
  HK_UNROLL for (int e = 0; e < 4; ++e) v[e] = clampKeepNan(v[e], max);
  int r = __builtin_amdgcn_cvt_pk_fp8_f32(v[0], v[1], 0, false);
  return u32(__builtin_amdgcn_cvt_pk_fp8_f32(v[2], v[3], r, true));
}
#else
template <DType> inline constexpr bool kNativeDecode = false;
template <DType> inline constexpr bool kNativeEncode = false;
#endif

/// Whether __builtin_convertvector(f32 -> bf16) is one instruction.
#if defined(__gfx950__)
inline constexpr bool kNativeBf16 = true;
#else
inline constexpr bool kNativeBf16 = false;
#endif

} // namespace hk

#endif // HK_KERNELS_DEVICE_ARCH_AMDGCN_H
