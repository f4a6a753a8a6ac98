// Half precision, of the shim (hip_runtime.h).
#pragma once
#include "hip_runtime.h"

typedef _Float16 __half;
typedef _Float16 half;
typedef _Float16 __half2 __attribute__((ext_vector_type(2)));
typedef __half2 half2;

static inline __host__ __device__ float __half2float(__half x) {
  return float(x);
}
static inline __host__ __device__ __half __float2half(float x) {
  return __half(x);
}
static inline __host__ __device__ __half __float2half_rn(float x) {
  return __half(x);
}
static inline __host__ __device__ __half2 __floats2half2_rn(float a, float b) {
  return __half2{__half(a), __half(b)};
}
static inline __host__ __device__ __half2 make_half2(__half a, __half b) {
  return __half2{a, b};
}
static inline __host__ __device__ __half2 __half2half2(__half x) {
  return __half2{x, x};
}
static inline __host__ __device__ float2 __half22float2(__half2 x) {
  return float2{float(x[0]), float(x[1])};
}
static inline __host__ __device__ __half __low2half(__half2 x) { return x[0]; }
static inline __host__ __device__ __half __high2half(__half2 x) { return x[1]; }
static inline __host__ __device__ __half __hadd(__half a, __half b) {
  return a + b;
}
static inline __host__ __device__ __half __hmul(__half a, __half b) {
  return a * b;
}
static inline __host__ __device__ __half2 __hadd2(__half2 a, __half2 b) {
  return a + b;
}
static inline __host__ __device__ __half2 __hmul2(__half2 a, __half2 b) {
  return a * b;
}
static inline __host__ __device__ __half __hfma(__half a, __half b, __half c) {
  return __builtin_fmaf16(a, b, c);
}
static inline __host__ __device__ __half2 __hfma2(__half2 a, __half2 b,
                                                  __half2 c) {
  return __builtin_elementwise_fma(a, b, c);
}

#define HK_HALF static inline __host__ __device__
#define HK_BINARY(name, expression)                                            \
  HK_HALF __half name(__half x, __half y) { return expression; }
HK_BINARY(__hsub, x - y)
HK_BINARY(__hdiv, x / y)
HK_BINARY(__hmax, __builtin_fmaxf16(x, y))
HK_BINARY(__hmin, __builtin_fminf16(x, y))
HK_BINARY(__hadd_rn, x + y)
HK_BINARY(__hmul_rn, x *y)
#undef HK_BINARY
HK_HALF __half2 __hsub2(__half2 x, __half2 y) { return x - y; }
HK_HALF __half2 __h2div(__half2 x, __half2 y) { return x / y; }
HK_HALF __half2 __hmax2(__half2 x, __half2 y) {
  return __builtin_elementwise_max(x, y);
}
HK_HALF __half2 __hmin2(__half2 x, __half2 y) {
  return __builtin_elementwise_min(x, y);
}
#define HK_COMPARE(name, op)                                                   \
  HK_HALF bool name(__half x, __half y) { return x op y; }
HK_EACH_COMPARISON(HK_COMPARE)
#undef HK_COMPARE
HK_HALF bool __hisnan(__half x) { return x != x; }
HK_HALF __half __hneg(__half x) { return -x; }
HK_HALF __half __habs(__half x) { return __builtin_fabsf16(x); }
HK_HALF __half2 __hneg2(__half2 x) { return -x; }
HK_HALF __half2 __habs2(__half2 x) { return __builtin_elementwise_abs(x); }
HK_HALF __half2 __float2half2_rn(float x) {
  return __half2{__half(x), __half(x)};
}
HK_HALF __half2 __float22half2_rn(float2 v) {
  return __half2{__half(v.x), __half(v.y)};
}
HK_HALF __half2 __halves2half2(__half x, __half y) { return __half2{x, y}; }
HK_HALF __half2 __lowhigh2highlow(__half2 v) { return __half2{v[1], v[0]}; }
HK_HALF __half2 __low2half2(__half2 v) { return __half2{v[0], v[0]}; }
HK_HALF __half2 __high2half2(__half2 v) { return __half2{v[1], v[1]}; }
HK_HALF float __low2float(__half2 v) { return v[0]; }
HK_HALF float __high2float(__half2 v) { return v[1]; }
HK_HALF unsigned short __half_as_ushort(__half x) {
  return __builtin_bit_cast(unsigned short, x);
}
HK_HALF short __half_as_short(__half x) { return __builtin_bit_cast(short, x); }
HK_HALF __half __ushort_as_half(unsigned short x) {
  return __builtin_bit_cast(__half, x);
}
HK_HALF __half __short_as_half(short x) {
  return __builtin_bit_cast(__half, x);
}
HK_HALF __half __int2half_rn(int x) { return __half(x); }
HK_HALF __half __uint2half_rn(unsigned x) { return __half(x); }
HK_HALF int __half2int_rz(__half x) { return int(x); }
HK_HALF int __half2int_rn(__half x) { return int(__builtin_rintf(x)); }
#undef HK_HALF
#define HK_MATH(name, expression)                                              \
  static inline __device__ __half name(__half x) { return expression; }
HK_MATH(hexp, __half(__builtin_expf(x)))
HK_MATH(hexp2, __half(__builtin_exp2f(x)))
HK_MATH(hlog, __half(__builtin_logf(x)))
HK_MATH(hlog2, __half(__builtin_log2f(x)))
HK_MATH(hsqrt, __builtin_sqrtf16(x))
HK_MATH(hrsqrt, __half(__builtin_amdgcn_rsqf(x)))
HK_MATH(hrcp, __half(1.f / x))
HK_MATH(hfloor, __builtin_floorf16(x))
HK_MATH(hceil, __builtin_ceilf16(x))
HK_MATH(hsin, __half(sinf(x)))
HK_MATH(hcos, __half(cosf(x)))
HK_MATH(htanh, __half(tanhf(x)))
#undef HK_MATH
static inline __device__ __half2 h2exp(__half2 x) {
  return __half2{hexp(x[0]), hexp(x[1])};
}
static inline __device__ __half2 unsafeAtomicAdd(__half2 *p, __half2 v) {
  return __builtin_amdgcn_flat_atomic_fadd_v2f16(p, v);
}
static inline __device__ __half2 atomicAdd(__half2 *p, __half2 v) {
  return unsafeAtomicAdd(p, v);
}
