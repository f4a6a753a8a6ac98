// Narrow types: half2, bfloat16, fp8, packed atomics, dot products, matrix
// builtins of every shape that both chips have, or the newer one alone.
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_fp8.h>
#include <hip/hip_runtime.h>

__global__ void haxpy(half2 *y, const half2 *x, float a, int n2) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  half2 s = __float2half2_rn(a);
  if (i < n2)
    y[i] = __hfma2(s, x[i], y[i]);
}
__global__ void half_ops(const __half *a, const __half *b, __half *o, int n) {
  int i = threadIdx.x;
  if (i >= n)
    return;
  __half x = a[i], y = b[i];
  o[i] = __hadd(x, y);
  o[n + i] = __hsub(x, y);
  o[2 * n + i] = __hmul(x, y);
  o[3 * n + i] = __hdiv(x, y);
  o[4 * n + i] = __hmax(x, y);
  o[5 * n + i] = __hgt(x, y) ? __hneg(x) : __habs(y);
  o[6 * n + i] = hsqrt(__habs(x));
  o[7 * n + i] = __float2half(expf(__half2float(x)));
  o[8 * n + i] = __ushort_as_half(__half_as_ushort(x) ^ 0x8000);
  o[9 * n + i] = __int2half_rn(__half2int_rz(y));
}
__global__ void rmsnorm_bf16(const __hip_bfloat16 *x, const __hip_bfloat16 *w,
                             __hip_bfloat16 *o, int n, float eps) {
  const __hip_bfloat162 *x2 = (const __hip_bfloat162 *)(x + blockIdx.x * n);
  const __hip_bfloat162 *w2 = (const __hip_bfloat162 *)w;
  __hip_bfloat162 *o2 = (__hip_bfloat162 *)(o + blockIdx.x * n);
  float ss = 0;
  for (int i = threadIdx.x; i < n / 2; i += 64) {
    float2 v = __bfloat1622float2(x2[i]);
    ss += v.x * v.x + v.y * v.y;
  }
  for (int m = 32; m; m >>= 1)
    ss += __shfl_xor(ss, m);
  float s = rsqrtf(ss / n + eps);
  for (int i = threadIdx.x; i < n / 2; i += 64) {
    float2 v = __bfloat1622float2(x2[i]), u = __bfloat1622float2(w2[i]);
    o2[i] = __float22bfloat162_rn(make_float2(v.x * s * u.x, v.y * s * u.y));
  }
}
__global__ void packed_atomics(half2 *h, __hip_bfloat162 *b, float *f,
                               double *d, const float *in) {
  float v = in[threadIdx.x];
  unsafeAtomicAdd(h, __floats2half2_rn(v, 2 * v));
  unsafeAtomicAdd(b, __float22bfloat162_rn(make_float2(v, -v)));
  unsafeAtomicAdd(f, v);
  unsafeAtomicAdd(d, (double)v);
}
__global__ void int8_dot(const int *a, const int *b, int *c, int k) {
  int row = blockIdx.x, col = threadIdx.x, sum = 0;
  for (int i = 0; i < k; ++i)
    sum = __builtin_amdgcn_sdot4(a[row * k + i], b[col * k + i], sum, false);
  c[row * blockDim.x + col] = sum;
}
__global__ void quantise_fp8(const float *x, unsigned *q, float scale) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 v = ((const float4 *)x)[i];
  int w = __builtin_amdgcn_cvt_pk_fp8_f32(v.x * scale, v.y * scale, 0, false);
  q[i] = __builtin_amdgcn_cvt_pk_fp8_f32(v.z * scale, v.w * scale, w, true);
}

typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef float f32x32 __attribute__((ext_vector_type(32)));
typedef double f64x4 __attribute__((ext_vector_type(4)));
typedef int i32x4 __attribute__((ext_vector_type(4)));
typedef int i32x8 __attribute__((ext_vector_type(8)));
typedef int i32x16 __attribute__((ext_vector_type(16)));
typedef int i32x32 __attribute__((ext_vector_type(32)));
typedef _Float16 f16x4 __attribute__((ext_vector_type(4)));
typedef _Float16 f16x8 __attribute__((ext_vector_type(8)));
typedef short s16x4 __attribute__((ext_vector_type(4)));
typedef __bf16 bf16x8 __attribute__((ext_vector_type(8)));

// One wave, all lanes' operands loaded, all lanes' results stored.
#define MFMA(name, AT, CT, builtin)                                            \
  __global__ void name(const AT *a, const AT *b, CT *c) {                      \
    CT acc = {};                                                               \
    acc = builtin(a[threadIdx.x], b[threadIdx.x], acc, 0, 0, 0);               \
    c[threadIdx.x] = acc;                                                      \
  }
MFMA(m_f32_32x32x1, float, f32x32, __builtin_amdgcn_mfma_f32_32x32x1f32)
MFMA(m_f32_16x16x1, float, f32x16, __builtin_amdgcn_mfma_f32_16x16x1f32)
MFMA(m_f32_4x4x1, float, f32x4, __builtin_amdgcn_mfma_f32_4x4x1f32)
MFMA(m_f32_32x32x2, float, f32x16, __builtin_amdgcn_mfma_f32_32x32x2f32)
MFMA(m_f32_16x16x4, float, f32x4, __builtin_amdgcn_mfma_f32_16x16x4f32)
MFMA(m_f16_32x32x4, f16x4, f32x32, __builtin_amdgcn_mfma_f32_32x32x4f16)
MFMA(m_f16_16x16x4, f16x4, f32x16, __builtin_amdgcn_mfma_f32_16x16x4f16)
MFMA(m_f16_4x4x4, f16x4, f32x4, __builtin_amdgcn_mfma_f32_4x4x4f16)
MFMA(m_f16_32x32x8, f16x4, f32x16, __builtin_amdgcn_mfma_f32_32x32x8f16)
MFMA(m_f16_16x16x16, f16x4, f32x4, __builtin_amdgcn_mfma_f32_16x16x16f16)
MFMA(m_bf16_32x32x4, s16x4, f32x32, __builtin_amdgcn_mfma_f32_32x32x4bf16_1k)
MFMA(m_bf16_16x16x4, s16x4, f32x16, __builtin_amdgcn_mfma_f32_16x16x4bf16_1k)
MFMA(m_bf16_4x4x4, s16x4, f32x4, __builtin_amdgcn_mfma_f32_4x4x4bf16_1k)
MFMA(m_bf16_32x32x8, s16x4, f32x16, __builtin_amdgcn_mfma_f32_32x32x8bf16_1k)
MFMA(m_bf16_16x16x16, s16x4, f32x4, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k)
MFMA(m_i8_32x32x4, int, i32x32, __builtin_amdgcn_mfma_i32_32x32x4i8)
MFMA(m_i8_16x16x4, int, i32x16, __builtin_amdgcn_mfma_i32_16x16x4i8)
MFMA(m_i8_4x4x4, int, i32x4, __builtin_amdgcn_mfma_i32_4x4x4i8)
MFMA(m_i8_32x32x16, long, i32x16, __builtin_amdgcn_mfma_i32_32x32x16_i8)
MFMA(m_i8_16x16x32, long, i32x4, __builtin_amdgcn_mfma_i32_16x16x32_i8)
MFMA(m_f64_16x16x4, double, f64x4, __builtin_amdgcn_mfma_f64_16x16x4f64)
MFMA(m_f64_4x4x4, double, double, __builtin_amdgcn_mfma_f64_4x4x4f64)
MFMA(m_fp8_16x16x32, long, f32x4, __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8)
MFMA(m_bf8_fp8_16x16x32, long, f32x4,
     __builtin_amdgcn_mfma_f32_16x16x32_bf8_fp8)
MFMA(m_fp8_bf8_16x16x32, long, f32x4,
     __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8)
MFMA(m_bf8_16x16x32, long, f32x4, __builtin_amdgcn_mfma_f32_16x16x32_bf8_bf8)
MFMA(m_fp8_32x32x16, long, f32x16, __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8)
#ifdef __gfx942__
typedef float f32x2 __attribute__((ext_vector_type(2)));
MFMA(m_xf32_16x16x8, f32x2, f32x4, __builtin_amdgcn_mfma_f32_16x16x8_xf32)
MFMA(m_xf32_32x32x4, f32x2, f32x16, __builtin_amdgcn_mfma_f32_32x32x4_xf32)
#endif
#ifdef __gfx950__
MFMA(m_f16_16x16x32, f16x8, f32x4, __builtin_amdgcn_mfma_f32_16x16x32_f16)
MFMA(m_f16_32x32x16, f16x8, f32x16, __builtin_amdgcn_mfma_f32_32x32x16_f16)
MFMA(m_bf16_16x16x32, bf16x8, f32x4, __builtin_amdgcn_mfma_f32_16x16x32_bf16)
MFMA(m_bf16_32x32x16, bf16x8, f32x16, __builtin_amdgcn_mfma_f32_32x32x16_bf16)
MFMA(m_i8_16x16x64, i32x4, i32x4, __builtin_amdgcn_mfma_i32_16x16x64_i8)
MFMA(m_i8_32x32x32, i32x4, i32x16, __builtin_amdgcn_mfma_i32_32x32x32_i8)
__global__ void m_scale_fp4(const i32x8 *a, const i32x8 *b, f32x4 *c,
                            const int *sa, const int *sb) {
  f32x4 acc = {};
  acc = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(
      a[threadIdx.x], b[threadIdx.x], acc, 4, 4, 0, sa[threadIdx.x], 0,
      sb[threadIdx.x]);
  c[threadIdx.x] = acc;
}
__global__ void m_scale_fp8(const i32x8 *a, const i32x8 *b, f32x16 *c,
                            const int *sa, const int *sb) {
  f32x16 acc = {};
  acc = __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(
      a[threadIdx.x], b[threadIdx.x], acc, 0, 0, 0, sa[threadIdx.x], 0,
      sb[threadIdx.x]);
  c[threadIdx.x] = acc;
}
#endif
