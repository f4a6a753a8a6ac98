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
