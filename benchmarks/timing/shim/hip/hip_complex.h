// Complex numbers, of the shim (hip_runtime.h).
#pragma once
#include "hip_runtime.h"

#define HK_COMPLEX(T, C, pair, suffix)                                         \
  typedef pair C;                                                              \
  static inline __host__ __device__ C make_##C(T x, T y) { return C{x, y}; }   \
  static inline __host__ __device__ C hipCadd##suffix(C a, C b) {              \
    return C{a.x + b.x, a.y + b.y};                                            \
  }                                                                            \
  static inline __host__ __device__ C hipCsub##suffix(C a, C b) {              \
    return C{a.x - b.x, a.y - b.y};                                            \
  }                                                                            \
  static inline __host__ __device__ C hipCmul##suffix(C a, C b) {              \
    return C{a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};                    \
  }                                                                            \
  static inline __host__ __device__ C hipConj##suffix(C a) {                   \
    return C{a.x, -a.y};                                                       \
  }                                                                            \
  static inline __host__ __device__ T hipCreal##suffix(C a) { return a.x; }    \
  static inline __host__ __device__ T hipCimag##suffix(C a) { return a.y; }
HK_COMPLEX(float, hipFloatComplex, float2, f)
HK_COMPLEX(double, hipDoubleComplex, double2, )
#undef HK_COMPLEX
