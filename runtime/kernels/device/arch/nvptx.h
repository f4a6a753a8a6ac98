//===- nvptx.h - sm_90a primitives -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Thread indices, barriers, lane exchange and native conversions of sm_90a.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_ARCH_NVPTX_H
#define HK_KERNELS_DEVICE_ARCH_NVPTX_H

#include "kernels/device/types.h"

namespace hk {

HK_DEV int threadId() { return int(__nvvm_read_ptx_sreg_tid_x()); }
HK_DEV int laneId() { return threadId() & (kWave - 1); }
HK_DEV int waveId() { return threadId() / kWave; }

/// Lets blocks of the next kernel take places that become free, and waits until
/// the kernel before has ended and its writes are visible. Every thread of
/// every kernel begins with it: who waits for a kernel waits for those before.
HK_DEV void beginAfterLast() {
  asm volatile("griddepcontrol.launch_dependents;\n"
               "griddepcontrol.wait;" ::
                   : "memory");
}

/// Asks for `bytes` from p on to be in the L2 cache. They may be written
/// meanwhile, even by the kernel before: that goes through the same cache. p
/// and `bytes` are multiples of 16.
HK_DEV void prefetchL2(Global<const u8> p, u32 bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(p),
               "r"(bytes));
}
template <u32 BYTES> HK_DEV void prefetchL2(const void *p) {
  static_assert(BYTES % 16 == 0);
  prefetchL2((Global<const u8>)(p), BYTES);
}

/// Blocks of the grid in direction x.
HK_DEV u32 blockCountX() { return __nvvm_read_ptx_sreg_nctaid_x(); }

/// Waits for all threads of the block; LDS writes before it are visible after.
HK_DEV void barrier() { __syncthreads(); }

/// Says that this block has begun, or has no more to write to the others of its
/// cluster; waits until all of them have said so. What was written before the
/// one is visible after the other.
HK_DEV void clusterArrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
HK_DEV void clusterWait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

template <int BLOCKS, int WAVES, int K>
HK_DEV void clusterShare(const float (&v)[K], float *scratch) {
  u32 rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  // Lane i writes to block i.
  if (laneId() < BLOCKS)
    HK_UNROLL for (int k = 0; k < K; ++k) {
      u64 own = u64(scratch + (rank * WAVES + waveId()) * K + k), other;
      asm("mapa.u64 %0, %1, %2;" : "=l"(other) : "l"(own), "r"(laneId()));
      *(float *)other = v[k];
    }
  clusterArrive();
  clusterWait();
}

/// Orders LDS accesses of the threads of a wave, which all take part.
HK_DEV void waveBarrier() { __nvvm_bar_warp_sync(~0u); }

/// See amdgcn.h: ptxas orders loads as it likes.
HK_DEV void keepOrder() {}
HK_DEV i64 computeFromHere(i64 x) { return x; }
HK_DEV int computeLaneFromHere(int x) { return x; }

inline constexpr bool kNativeMaximum = true;
inline constexpr bool kVotes = false;
template <int V> HK_DEV u32 encodeFp4(Vec<float, V> x);
template <int V>
HK_DEV Vec<float, V> limitNumber(Vec<float, V> x, float lo, float hi);
HK_DEV f32x2 opaquePair(f32x2 v) { return v; }
HK_DEV f32x2 differenceOfPairs(f32x2 a, f32x2 b) { return a - b; }
template <class T> HK_DEV T opaqueUniform(T v) { return v; }
HK_DEV u64 opaqueLane(u64 v) { return v; }
inline constexpr bool kNativeLdexp = false;
inline constexpr bool kNativeTruncation = false;
HK_DEV i32 truncated(float x);

/// v, as a value that the compiler does not know to be v.
HK_DEV u32 opaqueWord(u32 v) {
  asm("" : "+r"(v));
  return v;
}

/// 1 / x within 1 ulp for x from 2^-126 to 2^126; above it may be 0. Infinity
/// gives 0 and NaN stays.
template <int V> HK_DEV Vec<float, V> nearReciprocal(Vec<float, V> x) {
  HK_UNROLL for (int e = 0; e < V; ++e) {
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x[e]));
    x[e] = r;
  }
  return x;
}

/// 1 / sqrt(x) within 3 ulp.
inline constexpr bool kNativeRsqrt = true;
template <int V> HK_DEV Vec<float, V> nearRsqrt(Vec<float, V> x) {
  HK_UNROLL for (int e = 0; e < V; ++e) {
    float r;
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(r) : "f"(x[e]));
    x[e] = r;
  }
  return x;
}

/// The value that lane (lane ^ M) holds. Only the GROUP lanes around this one
/// need to take part; that costs, a whole wave does not.
template <int M, int GROUP = kWave> HK_DEV int laneXor(int v) {
  static_assert(M > 0 && M < GROUP && GROUP <= kWave);
  u32 members = ~0u;
  if constexpr (GROUP < kWave)
    members = ((1u << GROUP) - 1) << (u32(laneId()) & ~u32(GROUP - 1));
  return __nvvm_shfl_sync_bfly_i32(members, v, M, 31);
}

/// What lane `lane` of the wave holds.
HK_DEV int fromLane(int v, int lane) {
  return __nvvm_shfl_sync_idx_i32(~0u, v, lane, 31);
}

/// Whether laneMax is the largest over G lanes.
template <int G> inline constexpr bool kNativeLaneMax = G == 32;
HK_DEV u32 laneMax(u32 v) {
  u32 r;
  asm volatile("redux.sync.max.u32 %0, %1, 0xffffffff;" : "=r"(r) : "r"(v));
  return r;
}
template <int G> inline constexpr bool kJoinsLaneMax = false;
HK_DEV u32 joinLaneMax(u32 v) { return v; }

/// One bit per lane of the wave: whether its `condition` holds.
HK_DEV u64 ballot(bool condition) {
  return u32(__nvvm_vote_ballot_sync(~0u, condition));
}

/// 2^x for |x| <= 1, within 2 ulp.
template <int V> HK_DEV Vec<float, V> exp2Small(Vec<float, V> x) {
  HK_UNROLL for (int e = 0; e < V; ++e) {
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x[e]));
    x[e] = r;
  }
  return x;
}

template <DType D>
inline constexpr bool kNativeDecode =
    D == DType::F8E4M3FN || D == DType::F8E5M2;
template <DType D> inline constexpr bool kNativeEncode = kNativeDecode<D>;

/// Two elements as f16, which holds them exactly.
template <DType D> HK_DEV u32 decodeHalves(u16 bytes) {
  u32 halves;
  if constexpr (D == DType::F8E4M3FN)
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(bytes));
  else
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(bytes));
  return halves;
}
template <DType D> HK_DEV f32x2 decode2(u16 bytes) {
  return __builtin_convertvector(bitCast<Vec<f16, 2>>(decodeHalves<D>(bytes)),
                                 f32x2);
}
template <DType D> HK_DEV f32x4 decode4(u32 bytes) {
  f32x2 lo = decode2<D>(u16(bytes)), hi = decode2<D>(u16(bytes >> 16));
  return f32x4{lo[0], lo[1], hi[0], hi[1]};
}

template <DType D> HK_DEV u16 encode2(float a, float b) {
  u16 r;
  if constexpr (D == DType::F8E4M3FN)
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(r) : "f"(b), "f"(a));
  else
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(r) : "f"(b), "f"(a));
  return r;
}
template <DType D> HK_DEV u32 encode4(f32x4 v) {
  return encode2<D>(v[0], v[1]) | u32(encode2<D>(v[2], v[3])) << 16;
}

/// Whether __builtin_convertvector(f32 -> bf16) is one instruction.
inline constexpr bool kNativeBf16 = true;
template <DType D, DType To> inline constexpr bool kNativeScaled = false;
template <DType D, class Codes>
HK_DEV u32x4 scaledToBf16(const Codes &codes, float scale);

} // namespace hk

#endif // HK_KERNELS_DEVICE_ARCH_NVPTX_H
