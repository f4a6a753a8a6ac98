// The surface of HIP that sources lean on without a thought: old names, vector
// operators of every size, lambdas, asserts, prints, managed and constant
// memory, complex numbers, mathematics with and without std::.
#include "hip/hip_runtime.h"
#include "hip/hip_runtime_api.h"
#include <algorithm>
#include <array>
#include <assert.h>
#include <chrono>
#include <cstring>
#include <functional>
#include <hip/hip_complex.h>
#include <hip/hip_vector_types.h>
#include <hip/math_functions.h>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
template <typename T, int N> struct alignas(sizeof(T) * N) vec_t {
  T data[N];
  __device__ T &operator[](int i) { return data[i]; }
};
template <typename F> __global__ void map_kernel(F f, float *x, int n) {
  for (int i = hipBlockIdx_x * hipBlockDim_x + hipThreadIdx_x; i < n;
       i += hipGridDim_x * hipBlockDim_x)
    x[i] = f(x[i]);
}
template <typename T, int N> __global__ void fill(vec_t<T, N> *x, T value) {
  x[threadIdx.x][threadIdx.y] = value;
}
void host(float *x, vec_t<float, 4> *y) {
  map_kernel<<<1, 64>>>([=] __device__(float v) { return v * 2.0f; }, x, 10);
  hipLaunchKernelGGL(HIP_KERNEL_NAME(fill<float, 4>), dim3(1), dim3(64, 4), 0,
                     nullptr, y, 3.0f);
}
__global__ __launch_bounds__(256, 1) void ops(float4 *a, int4 *b, uint2 *c,
                                              float3 *d, long *e, longlong2 *g,
                                              ulonglong2 *h, char4 *q) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  assert(i >= 0);
  float4 v = a[i];
  v = 2.0f * v + v * 3.0f - make_float4(1, 2, 3, 4);
  v = -v;
  float *p = reinterpret_cast<float *>(&v);
  float s = 0;
  for (int k = 0; k < 4; ++k)
    s += p[k];
  v.x += std::max(s, 1.0f) + std::numeric_limits<float>::epsilon();
  int4 w = b[i];
  int *wp = &w.x;
  w.y += wp[2];
  w.z ^= abs(w.w) + min(w.x, 3) + max(3u, (unsigned)w.y);
  b[i] = w;
  c[i] = make_uint2(c[i].x + 1, __float_as_uint(s));
  float3 f = d[i];
  f = make_float3(f.y, f.z, f.x);
  f += make_float3(1.f, 2.f, 3.f);
  d[i] = f * 2.0f;
  e[i] = labs(e[i]);
  g[i].x += g[i].y;
  h[i] = make_ulonglong2(h[i].y, h[i].x);
  q[i].x = -q[i].y;
  a[i] = v;
}
__global__ void dyn(float *x) {
  extern __shared__ __align__(16) char smem[];
  float *s = reinterpret_cast<float *>(smem);
  double *dd = (double *)(smem + 1024);
  s[threadIdx.x] = x[threadIdx.x];
  dd[threadIdx.x] = 1.0;
  __syncthreads();
  x[threadIdx.x] = s[63 - threadIdx.x] + (float)dd[0];
  if (x[0] == 12345.f)
    printf("value %f %d\n", x[0], 3);
}
__global__ void tmpl(hipFloatComplex *z) {
  hipFloatComplex a = z[threadIdx.x];
  z[threadIdx.x] = hipCmulf(a, make_hipFloatComplex(0.f, 1.f));
}
__managed__ int counter;
__global__ void count() {
  atomicAdd(&counter, 1);
  if (threadIdx.x == 1000)
    abort();
  __builtin_assume(threadIdx.x < 1024);
}
static __device__ __constant__ float lut[4] = {1, 2, 3, 4};
__device__ __forceinline__ float lookup(int i) { return lut[i & 3]; }
extern "C" __global__ void pows(double *d, float *f) {
  int i = threadIdx.x;
  d[i] = pow(d[i], 2.5) + log1p(d[i]) + fmin(d[i], 2.0) + fma(d[i], 2., 1.) +
         rsqrt(d[i]) + std::abs(d[i]);
  f[i] = __powf(f[i], 2.f) + __sinf(f[i]) + exp2f(f[i]) + __fmul_rn(f[i], 2.f) +
         lookup(i) + fabs(f[i]) + isnan(f[i]) + std::isinf(f[i]) +
         ldexpf(f[i], 2) + roundf(f[i]) + lrintf(f[i]) + __fdividef(f[i], 3.f) +
         __saturatef(f[i]) + copysignf(f[i], -1.f) + sqrt(f[i]) + exp(f[i]) +
         pow(f[i], 2) + max(f[i], 0.f);
  sincosf(f[i], &f[i + 64], &f[i + 128]);
}
