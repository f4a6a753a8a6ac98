// fp8 types of HIP by their storage; see hip_runtime.h.
#pragma once
#include <hip/hip_runtime.h>

typedef unsigned char __hip_fp8_storage_t;
struct __hip_fp8_e4m3 {
  unsigned char __x;
  __hip_fp8_e4m3() = default;
  __host__ __device__ explicit __hip_fp8_e4m3(float f)
      : __x((unsigned char)f) {}
  __device__ operator float() const {
    return __builtin_amdgcn_cvt_f32_fp8(__x, 0);
  }
};
struct __hip_fp8x4_e4m3 {
  unsigned __x;
};
