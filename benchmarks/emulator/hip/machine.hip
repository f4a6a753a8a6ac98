// What tuned kernels take from the machine: descriptors, direct loads to LDS,
// DPP, swizzles, inline assembly, scheduling hints, scalar pieces.
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

typedef int int32x4_t __attribute__((ext_vector_type(4)));
typedef float float4v __attribute__((ext_vector_type(4)));
typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef _Float16 half4 __attribute__((ext_vector_type(4)));

struct buffer_resource {
  const void *ptr;
  uint32_t range;
  uint32_t config;
};
__device__ inline int32x4_t make_srsrc(const void *ptr, uint32_t range) {
  buffer_resource r{ptr, range, 0x110000};
  return __builtin_bit_cast(int32x4_t, r);
}
__device__ float
llvm_amdgcn_raw_buffer_load_fp32(int32x4_t, int, int,
                                 int) __asm("llvm.amdgcn.raw.buffer.load.f32");
__device__ void llvm_amdgcn_raw_buffer_store_fp32(
    float, int32x4_t, int, int, int) __asm("llvm.amdgcn.raw.buffer.store.f32");
__device__ float llvm_amdgcn_raw_buffer_atomic_add_fp32(
    float, int32x4_t, int, int,
    int) __asm("llvm.amdgcn.raw.buffer.atomic.fadd.f32");

// Out of range loads give zero: no branch at the edge.
__global__ void buffer_scale(const float *in, float *out, int n, float s) {
  int32x4_t src = make_srsrc(in, n * 4), dst = make_srsrc(out, n * 4);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a = llvm_amdgcn_raw_buffer_load_fp32(src, i * 4, 0, 0);
  float b = llvm_amdgcn_raw_buffer_load_fp32(src, i * 4, 4, 0);
  llvm_amdgcn_raw_buffer_store_fp32(s * a + b, dst, i * 4, 0, 0);
}
__global__ void buffer_builtin(const void *in, void *out, int n) {
  __amdgpu_buffer_rsrc_t a =
      __builtin_amdgcn_make_buffer_rsrc((void *)in, 0, n, 0x00027000);
  __amdgpu_buffer_rsrc_t b =
      __builtin_amdgcn_make_buffer_rsrc(out, 0, n, 0x00027000);
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * 16;
  auto v = __builtin_amdgcn_raw_buffer_load_b128(a, i, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b128(v, b, i, 0, 0);
}
__global__ void buffer_atomic(float *sum, const float *in) {
  llvm_amdgcn_raw_buffer_atomic_add_fp32(in[threadIdx.x], make_srsrc(sum, 4), 0,
                                         0, 0);
}

// Sum over a wave by DPP, as rocPRIM and CK do.
template <int ctrl> __device__ inline float dpp_add(float v) {
  int moved =
      __builtin_amdgcn_update_dpp(0, __float_as_int(v), ctrl, 0xf, 0xf, false);
  return v + __int_as_float(moved);
}
__global__ void dpp_reduce(const float *in, float *out) {
  float v = in[blockIdx.x * 64 + threadIdx.x];
  v = dpp_add<0x111>(v); // row_shr:1
  v = dpp_add<0x112>(v);
  v = dpp_add<0x114>(v);
  v = dpp_add<0x118>(v);
  v = dpp_add<0x142>(v); // row_bcast:15
  v = dpp_add<0x143>(v); // row_bcast:31
  float total =
      __int_as_float(__builtin_amdgcn_readlane(__float_as_int(v), 63));
  if (threadIdx.x == 0)
    out[blockIdx.x] = total;
}
__global__ void swizzles(const int *in, int *out) {
  int v = in[threadIdx.x];
  int a = __builtin_amdgcn_ds_swizzle(v, 0x041f);            // swap neighbours
  int b = __builtin_amdgcn_mov_dpp(v, 0x1b, 0xf, 0xf, true); // quad reversed
  int c = __builtin_amdgcn_perm(v, a, 0x01020304);
  int d = __builtin_amdgcn_ubfe(v, 4, 12) + __builtin_amdgcn_sbfe(v, 8, 7);
  int e =
      __builtin_amdgcn_alignbyte(v, a, 1) ^ __builtin_amdgcn_sad_u8(v, a, b);
  int f = __builtin_amdgcn_readfirstlane(v) + __builtin_amdgcn_mbcnt_lo(~0u, 0);
  out[threadIdx.x] = a + 3 * b + 5 * c + 7 * d + 11 * e + 13 * f;
}

// Global memory straight to LDS, double buffered behind inline waits.
__global__ void __launch_bounds__(256)
    direct_copy(const float *in, float *out, int tiles) {
  __shared__ float lds[2][256];
  auto issue = [&](int t) {
    auto *to =
        (__attribute__((address_space(3))) void
             *)(&lds[t & 1][__builtin_amdgcn_readfirstlane(threadIdx.x) & ~63]);
    __builtin_amdgcn_global_load_lds(
        (__attribute__((address_space(1))) void *)(in + t * 256 + threadIdx.x),
        to, 4, 0, 0);
  };
  issue(0);
  for (int t = 0; t < tiles; ++t) {
    if (t + 1 < tiles) {
      issue(t + 1);
      asm volatile("s_waitcnt vmcnt(1)" ::: "memory");
    } else {
      asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    }
    asm volatile("s_barrier" ::: "memory");
    float v = lds[t & 1][255 - threadIdx.x];
    asm volatile("s_waitcnt lgkmcnt(0)" : "+v"(v)::"memory");
    // The store counts in vmcnt, too: it must not take the load's place.
    out[t * 256 + threadIdx.x] = v * 2.0f;
    asm volatile("s_waitcnt vmcnt(0)\n s_barrier" ::: "memory");
  }
}

// A 64x64 product of halves with 16x16x16 matrix instructions from LDS and
// scheduling hints.
__global__ void __launch_bounds__(256, 2)
    hgemm_mfma(const _Float16 *A, const _Float16 *B, float *C, int M, int N,
               int K) {
  __shared__ _Float16 sa[64][32 + 8], sb[64][32 + 8];
  int wave = threadIdx.x / 64, lane = threadIdx.x % 64;
  int row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
  float4v acc[4] = {};
  for (int k0 = 0; k0 < K; k0 += 32) {
    int r = threadIdx.x / 4, c = threadIdx.x % 4 * 8;
    *(half8 *)&sa[r][c] = *(const half8 *)&A[(row0 + r) * K + k0 + c];
    *(half8 *)&sb[r][c] = *(const half8 *)&B[(col0 + r) * K + k0 + c];
    __syncthreads();
    __builtin_amdgcn_s_setprio(1);
#pragma unroll
    for (int kk = 0; kk < 32; kk += 16) {
      half4 a = *(half4 *)&sa[wave * 16 + lane % 16][kk + lane / 16 * 4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        half4 b = *(half4 *)&sb[j * 16 + lane % 16][kk + lane / 16 * 4];
        acc[j] = __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, acc[j], 0, 0, 0);
      }
    }
    __builtin_amdgcn_sched_group_barrier(0x008, 4, 0);
    __builtin_amdgcn_sched_group_barrier(0x100, 2, 0);
    __builtin_amdgcn_s_setprio(0);
    __syncthreads();
  }
  for (int j = 0; j < 4; ++j)
    for (int i = 0; i < 4; ++i)
      C[(row0 + wave * 16 + lane / 16 * 4 + i) * N + col0 + j * 16 +
        lane % 16] = acc[j][i];
}

__global__ void inline_asm(const float *a, const float *b, float *o) {
  float x = a[threadIdx.x], y = b[threadIdx.x], r, m;
  asm volatile("v_fma_f32 %0, %1, %2, %2" : "=v"(r) : "v"(x), "v"(y));
  asm("v_max3_f32 %0, %1, %2, %3" : "=v"(m) : "v"(x), "v"(y), "v"(r));
  unsigned id, mode;
  asm volatile("s_getreg_b32 %0, hwreg(HW_REG_HW_ID)" : "=s"(id));
  asm volatile("s_getreg_b32 %0, hwreg(HW_REG_MODE, 0, 4)" : "=s"(mode));
  float2 p = make_float2(x, y), q;
  asm volatile("v_pk_mul_f32 %0, %1, %1" : "=v"(q) : "v"(p));
  asm volatile("s_nop 0\n\ts_sleep 1\n\ts_memtime %0\n\ts_waitcnt lgkmcnt(0)"
               : "=s"(*(unsigned long long *)&p));
  o[threadIdx.x] = m + q.x + q.y + (id & 0) + (mode & 0);
}

// Streams with cache hints.
__global__ void stream_copy(const float4v *in, float4v *out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) {
    float4v v = __builtin_nontemporal_load(in + i);
    __builtin_nontemporal_store(v * 3.0f, out + i);
  }
}
#ifdef __gfx950__
// A wider direct load, a transposing read and the halves' swaps.
typedef short short4v __attribute__((ext_vector_type(4)));
__global__ void __launch_bounds__(64)
    wide_direct(const float4v *in, float4v *out) {
  __shared__ float4v lds[64];
  __builtin_amdgcn_global_load_lds(
      (__attribute__((address_space(1))) void *)(in + threadIdx.x),
      (__attribute__((address_space(3))) void *)lds, 16, 0, 0);
  __builtin_amdgcn_s_waitcnt(0x0f70);
  __syncthreads();
  out[threadIdx.x] = lds[threadIdx.x ^ 21];
}
__global__ void __launch_bounds__(64)
    wide_buffer_direct(const float4v *in, float4v *out, int n) {
  __shared__ float4v lds[64];
  __amdgpu_buffer_rsrc_t a =
      __builtin_amdgcn_make_buffer_rsrc((void *)in, 0, n, 0x00027000);
  __builtin_amdgcn_raw_ptr_buffer_load_lds(
      a, (__attribute__((address_space(3))) void *)lds, 16, threadIdx.x * 16, 0,
      0, 0);
  __builtin_amdgcn_s_waitcnt(0x0f70);
  __syncthreads();
  out[threadIdx.x] = lds[threadIdx.x ^ 21];
}
__global__ void __launch_bounds__(64)
    transposing(const short4v *in, short4v *out) {
  __shared__ short4v lds[64];
  lds[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = __builtin_amdgcn_ds_read_tr16_b64_v4i16(
      (__attribute__((address_space(3))) short4v *)&lds[threadIdx.x]);
}
__global__ void __launch_bounds__(64) swaps(const unsigned *in, unsigned *out) {
  unsigned v = in[threadIdx.x], u = in[threadIdx.x + 64];
  auto a = __builtin_amdgcn_permlane32_swap(v, u, false, false);
  auto b = __builtin_amdgcn_permlane16_swap(v, u, false, false);
  out[threadIdx.x] = a[0] + 3 * a[1] + 5 * b[0] + 7 * b[1];
}
#endif
