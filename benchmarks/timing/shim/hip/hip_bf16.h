// bf16, of the shim (hip_runtime.h).
#pragma once
#include "hip_runtime.h"

struct alignas(4) __hip_bfloat162 {
  __hip_bfloat16 x, y;
};
#define HK_BF16 static inline __host__ __device__
HK_BF16 float __bfloat162float(__hip_bfloat16 x) { return float(x); }
HK_BF16 __hip_bfloat16 __float2bfloat16_rn(float x) { return x; }
HK_BF16 __hip_bfloat16 __double2bfloat16(double x) { return float(x); }
HK_BF16 __hip_bfloat16 __ushort_as_bfloat16(unsigned short x) {
  return __builtin_bit_cast(__hip_bfloat16, x);
}
HK_BF16 unsigned short __bfloat16_as_ushort(__hip_bfloat16 x) { return x.bits; }
HK_BF16 __hip_bfloat162 make_bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) {
  return {x, y};
}
HK_BF16 __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) {
  return {x, y};
}
HK_BF16 __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 x) {
  return {x, x};
}
HK_BF16 __hip_bfloat162 __float2bfloat162_rn(float x) { return {x, x}; }
HK_BF16 __hip_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {x, y};
}
HK_BF16 __hip_bfloat162 __float22bfloat162_rn(float2 v) { return {v.x, v.y}; }
HK_BF16 float2 __bfloat1622float2(__hip_bfloat162 v) {
  return float2{float(v.x), float(v.y)};
}
HK_BF16 __hip_bfloat16 __low2bfloat16(__hip_bfloat162 v) { return v.x; }
HK_BF16 __hip_bfloat16 __high2bfloat16(__hip_bfloat162 v) { return v.y; }
HK_BF16 float __low2float(__hip_bfloat162 v) { return v.x; }
HK_BF16 float __high2float(__hip_bfloat162 v) { return v.y; }
HK_BF16 __hip_bfloat16 __hfma(__hip_bfloat16 a, __hip_bfloat16 b,
                              __hip_bfloat16 c) {
  return __builtin_fmaf(a, b, c);
}
HK_BF16 __hip_bfloat162 __hfma2(__hip_bfloat162 a, __hip_bfloat162 b,
                                __hip_bfloat162 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
#define HK_BINARY(name, expression)                                            \
  HK_BF16 __hip_bfloat16 name(__hip_bfloat16 a, __hip_bfloat16 b) {            \
    float x = a, y = b;                                                        \
    return expression;                                                         \
  }                                                                            \
  HK_BF16 __hip_bfloat162 name##2(__hip_bfloat162 a, __hip_bfloat162 b) {      \
    return {name(a.x, b.x), name(a.y, b.y)};                                   \
  }
HK_BINARY(__hadd, x + y)
HK_BINARY(__hsub, x - y)
HK_BINARY(__hmul, x *y)
HK_BINARY(__hdiv, x / y)
HK_BINARY(__hmax, __builtin_fmaxf(x, y))
HK_BINARY(__hmin, __builtin_fminf(x, y))
#undef HK_BINARY
HK_BF16 __hip_bfloat16 __habs(__hip_bfloat16 x) { return __builtin_fabsf(x); }
HK_BF16 __hip_bfloat16 __hneg(__hip_bfloat16 x) { return -float(x); }
#undef HK_BF16
#define HK_COMPARE(name, op)                                                   \
  static inline __host__ __device__ bool name(__hip_bfloat16 a,                \
                                              __hip_bfloat16 b) {              \
    return float(a) op float(b);                                               \
  }
HK_EACH_COMPARISON(HK_COMPARE)
#undef HK_COMPARE

static inline __device__ __hip_bfloat162 unsafeAtomicAdd(__hip_bfloat162 *p,
                                                         __hip_bfloat162 v) {
  typedef short Pair __attribute__((ext_vector_type(2)));
  return __builtin_bit_cast(__hip_bfloat162,
                            __builtin_amdgcn_flat_atomic_fadd_v2bf16(
                                (Pair *)p, __builtin_bit_cast(Pair, v)));
}
static inline __device__ __hip_bfloat162 atomicAdd(__hip_bfloat162 *p,
                                                   __hip_bfloat162 v) {
  return unsafeAtomicAdd(p, v);
}
