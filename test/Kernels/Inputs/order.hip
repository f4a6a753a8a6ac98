// Pairs whose order is known, by N, PAD and U: N chains of products and sums for the same number of them, columns of a
// tile that lie in one LDS bank or in all, U loads in flight.
#include <hip/hip_runtime.h>

extern "C" __global__ void chains(float *o, const float *x, int n) {
  float a = x[threadIdx.x], r[N], s = 0;
  for (int i = 0; i < N; ++i)
    r[i] = i;
  for (int k = 0; k < n / N; ++k)
#pragma unroll
    for (int i = 0; i < N; ++i)
      r[i] = r[i] * a + 1.f;
  for (int i = 0; i < N; ++i)
    s += r[i];
  o[blockIdx.x * blockDim.x + threadIdx.x] = s;
}

extern "C" __global__ void columns(float *o, const float *x, int n) {
  __shared__ float t[64 * (64 + PAD)];
  for (int i = 0; i < 64; ++i)
    t[i * (64 + PAD) + threadIdx.x] = x[i * 64 + threadIdx.x];
  __syncthreads();
  float s = 0;
  for (int k = 0; k < n; ++k)
#pragma unroll 8
    for (int j = 0; j < 64; ++j)
      s += t[threadIdx.x * (64 + PAD) + ((j + k) & 63)];
  o[blockIdx.x * 64 + threadIdx.x] = s;
}

// The same bytes whatever the number of threads.
extern "C" __global__ void loads(float *o, const float *x, int n) {
  const float4 *p = (const float4 *)x + (size_t)blockIdx.x * n * 256 + threadIdx.x;
  float s = 0;
#pragma unroll U
  for (int k = 0; k < n * 256 / (int)blockDim.x; ++k) {
    float4 v = p[(size_t)k * blockDim.x];
    s += v.x + v.y + v.z + v.w;
  }
  o[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
