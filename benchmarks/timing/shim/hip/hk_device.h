// Functions of HIP's device code that kernels call: of a wave, atomics,
// mathematics. What clang's builtins compute, not what HIP's library does to
// the last bit.
#pragma once

static __device__ const int warpSize = 64;

namespace hkshim {
template <class T> static inline __device__ T fromLane(T v, int lane) {
  static_assert(sizeof(T) % 4 == 0);
  union {
    T value;
    int words[sizeof(T) / 4];
  } from, to;
  from.value = v;
  for (unsigned i = 0; i < sizeof(T) / 4; ++i)
    to.words[i] = __builtin_amdgcn_ds_bpermute(lane << 2, from.words[i]);
  return to.value;
}
} // namespace hkshim

static inline __device__ int __lane_id() {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}
template <class T>
static inline __device__ T __shfl(T v, int from, int width = warpSize) {
  int lane = __lane_id();
  return hkshim::fromLane(v, (lane & -width) | (from & (width - 1)));
}
template <class T>
static inline __device__ T __shfl_xor(T v, int mask, int width = warpSize) {
  int lane = __lane_id(), from = lane ^ mask;
  return hkshim::fromLane(v, from < ((lane + width) & -width) ? from : lane);
}
template <class T>
static inline __device__ T __shfl_down(T v, unsigned delta,
                                       int width = warpSize) {
  int lane = __lane_id(), from = lane + int(delta);
  return hkshim::fromLane(v, (lane & (width - 1)) + int(delta) < width ? from
                                                                       : lane);
}
template <class T>
static inline __device__ T __shfl_up(T v, unsigned delta,
                                     int width = warpSize) {
  int lane = __lane_id(), from = lane - int(delta);
  return hkshim::fromLane(v, from < (lane & -width) ? lane : from);
}
// CUDA's spelling; the mask has to be all active lanes.
#define __shfl_sync(mask, ...) __shfl(__VA_ARGS__)
#define __shfl_xor_sync(mask, ...) __shfl_xor(__VA_ARGS__)
#define __shfl_down_sync(mask, ...) __shfl_down(__VA_ARGS__)
#define __shfl_up_sync(mask, ...) __shfl_up(__VA_ARGS__)

static inline __device__ unsigned long long __ballot(int predicate) {
  return __builtin_amdgcn_ballot_w64(predicate != 0);
}
static inline __device__ int __any(int predicate) {
  return __ballot(predicate) != 0;
}
static inline __device__ int __all(int predicate) {
  return __ballot(predicate) == __builtin_amdgcn_ballot_w64(true);
}
static inline __device__ int __popc(unsigned v) {
  return __builtin_popcount(v);
}
static inline __device__ int __popcll(unsigned long long v) {
  return __builtin_popcountll(v);
}
static inline __device__ int __clz(int v) { return v ? __builtin_clz(v) : 32; }
static inline __device__ int __ffs(int v) { return __builtin_ffs(v); }
static inline __device__ int __ffsll(long long v) { return __builtin_ffsll(v); }

static inline __device__ void __threadfence() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}
static inline __device__ void __threadfence_block() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
}
static inline __device__ void __syncwarp() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

#define HK_ATOMIC(name, builtin)                                               \
  template <class T>                                                           \
  static inline __device__ T name(T *p, decltype(T() + T()) v) {               \
    return builtin(p, T(v), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);       \
  }
HK_ATOMIC(atomicAdd, __hip_atomic_fetch_add)
HK_ATOMIC(atomicSub, __hip_atomic_fetch_sub)
HK_ATOMIC(atomicMin, __hip_atomic_fetch_min)
HK_ATOMIC(atomicMax, __hip_atomic_fetch_max)
HK_ATOMIC(atomicAnd, __hip_atomic_fetch_and)
HK_ATOMIC(atomicOr, __hip_atomic_fetch_or)
HK_ATOMIC(atomicXor, __hip_atomic_fetch_xor)
HK_ATOMIC(atomicExch, __hip_atomic_exchange)
#undef HK_ATOMIC
template <class T>
static inline __device__ T atomicCAS(T *p, decltype(T() + T()) expected,
                                     decltype(T() + T()) desired) {
  T old = T(expected);
  __hip_atomic_compare_exchange_strong(p, &old, T(desired), __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_AGENT);
  return old;
}
static inline __device__ unsigned atomicInc(unsigned *p, unsigned last) {
  return __builtin_amdgcn_atomic_inc32(p, last, __ATOMIC_RELAXED, "agent");
}

#define HK_MATH(name, builtin)                                                 \
  static inline __device__ float name(float x) { return builtin(x); }
HK_MATH(expf, __builtin_expf)
HK_MATH(exp2f, __builtin_exp2f)
HK_MATH(__expf, __builtin_expf)
HK_MATH(logf, __builtin_logf)
HK_MATH(log2f, __builtin_log2f)
HK_MATH(__logf, __builtin_logf)
HK_MATH(sqrtf, __builtin_sqrtf)
HK_MATH(sinf, __builtin_sinf)
HK_MATH(cosf, __builtin_cosf)
HK_MATH(__sinf, __builtin_sinf)
HK_MATH(__cosf, __builtin_cosf)
HK_MATH(fabsf, __builtin_fabsf)
HK_MATH(floorf, __builtin_floorf)
HK_MATH(ceilf, __builtin_ceilf)
HK_MATH(truncf, __builtin_truncf)
HK_MATH(rintf, __builtin_rintf)
HK_MATH(roundf, __builtin_roundf)
HK_MATH(__frcp_rn, 1.f /)
HK_MATH(rsqrtf, __builtin_amdgcn_rsqf)
HK_MATH(__frsqrt_rn, __builtin_amdgcn_rsqf)
#undef HK_MATH
static inline __device__ float fmaf(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
static inline __device__ float fmaxf(float a, float b) {
  return __builtin_fmaxf(a, b);
}
static inline __device__ float fminf(float a, float b) {
  return __builtin_fminf(a, b);
}
static inline __device__ float __fdividef(float a, float b) { return a / b; }
static inline __device__ float powf(float x, float y) {
  return __builtin_exp2f(y * __builtin_log2f(x));
}
static inline __device__ float tanhf(float x) {
  float e = __builtin_expf(-2.f * __builtin_fabsf(x));
  return __builtin_copysignf((1.f - e) / (1.f + e), x);
}
static inline __device__ float __int_as_float(int x) {
  return __builtin_bit_cast(float, x);
}
static inline __device__ int __float_as_int(float x) {
  return __builtin_bit_cast(int, x);
}
static inline __device__ unsigned __float_as_uint(float x) {
  return __builtin_bit_cast(unsigned, x);
}
static inline __device__ float __uint_as_float(unsigned x) {
  return __builtin_bit_cast(float, x);
}
#ifndef INFINITY
#define INFINITY __builtin_inff()
#endif
