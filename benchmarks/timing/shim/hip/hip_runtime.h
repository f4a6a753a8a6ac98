// The part of HIP that public kernels need to be compiled for the device by
// clang alone: no ROCm headers, host code compiles and is left out. Values of
// conversions to fp8 are not those of HIP: only the time of a kernel is looked
// at.
#pragma once
// clang's own part of HIP: attributes, mathematics by its names, std:: too.
#include <__clang_hip_runtime_wrapper.h>

#include "hk_ocml.h"
#include <cstddef>
#include <cstdint>

#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define HK_BOUNDS1(threads)                                                    \
  __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define HK_BOUNDS2(threads, waves)                                             \
  __attribute__((amdgpu_flat_work_group_size(1, threads),                      \
                 amdgpu_waves_per_eu(waves)))
#define HK_CHOOSE(one, two, chosen, ...) chosen
#define __launch_bounds__(...)                                                 \
  HK_CHOOSE(__VA_ARGS__, HK_BOUNDS2, HK_BOUNDS1)(__VA_ARGS__)

#define HK_AXIS(name, value)                                                   \
  struct {                                                                     \
    __device__ operator unsigned() const { return value; }                     \
  } name
struct HkThread {
  HK_AXIS(x, __builtin_amdgcn_workitem_id_x());
  HK_AXIS(y, __builtin_amdgcn_workitem_id_y());
  HK_AXIS(z, __builtin_amdgcn_workitem_id_z());
};
struct HkBlock {
  HK_AXIS(x, __builtin_amdgcn_workgroup_id_x());
  HK_AXIS(y, __builtin_amdgcn_workgroup_id_y());
  HK_AXIS(z, __builtin_amdgcn_workgroup_id_z());
};
struct HkBlockSize {
  HK_AXIS(x, __builtin_amdgcn_workgroup_size_x());
  HK_AXIS(y, __builtin_amdgcn_workgroup_size_y());
  HK_AXIS(z, __builtin_amdgcn_workgroup_size_z());
};
struct HkGridSize {
  HK_AXIS(x,
          __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x());
  HK_AXIS(y,
          __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y());
  HK_AXIS(z,
          __builtin_amdgcn_grid_size_z() / __builtin_amdgcn_workgroup_size_z());
};
static __device__ const HkThread threadIdx{};
static __device__ const HkBlock blockIdx{};
static __device__ const HkBlockSize blockDim{};
static __device__ const HkGridSize gridDim{};
#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z

#include "hk_host.h"

static inline __device__ void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

struct __hip_bfloat16 {
  unsigned short bits;
  __hip_bfloat16() = default;
  __host__ __device__ __hip_bfloat16(float f)
      : bits(__builtin_bit_cast(unsigned short, (__bf16)f)) {}
  __host__ __device__ operator float() const {
    return (float)__builtin_bit_cast(__bf16, bits);
  }
#define HK_UPDATE(op)                                                          \
  __host__ __device__ __hip_bfloat16 &operator op## = (float f) {              \
    return *this = float(*this) op f;                                          \
  }
  HK_UPDATE(+)
  HK_UPDATE(-)
  HK_UPDATE(*)
  HK_UPDATE(/)
#undef HK_UPDATE
};
static inline __host__ __device__ __hip_bfloat16 __float2bfloat16(float f) {
  return __hip_bfloat16(f);
}

#include "hk_device.h"
#include "hk_vectors.h"
