// Kernels as people write them who know nothing of hk, with the host code beside them: a
// transpose by tiles, a histogram by LDS atomics, a sum split over blocks, a plain product of
// matrices, a softmax by shuffles, steps between barriers of the grid, and votes by value.
#include <cmath>
#include <cstdio>
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#include <vector>

#define TILE 32

__global__ void transpose(const float *in, float *out, int width, int height) {
  __shared__ float tile[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += 8)
    if (x < width && y + j < height)
      tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x;
  y = blockIdx.x * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += 8)
    if (x < height && y + j < width)
      out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void histogram(const unsigned char *data, unsigned *bins, int n) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    local[i] = 0;
#ifndef PLANTED
  __syncthreads();
#endif
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[data[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    atomicAdd(&bins[i], local[i]);
}

template <int N> __global__ void sum(const float *in, float *out, int n) {
  extern __shared__ float waves[];
  float v = 0;
  for (int i = blockIdx.x * N + threadIdx.x; i < n; i += gridDim.x * N)
    v += in[i];
  for (int d = warpSize / 2; d > 0; d /= 2)
    v += __shfl_down(v, d);
  if (threadIdx.x % warpSize == 0)
    waves[threadIdx.x / warpSize] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0;
    for (int w = 0; w < N / warpSize; ++w)
      total += waves[w];
    atomicAdd(out, total);
  }
}
template __global__ void sum<256>(const float *, float *, int);

__global__ void product(const __half *a, const __half *b, float *c, int m, int n, int k) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || col >= n)
    return;
  float acc = 0;
  for (int i = 0; i < k; ++i)
    acc += __half2float(a[row * k + i]) * __half2float(b[i * n + col]);
  c[row * n + col] = acc;
}

__global__ void softmax(const float *x, float *y, int n) {
  const float *row = x + size_t(blockIdx.x) * n;
  float m = -INFINITY, s = 0;
  for (int i = threadIdx.x; i < n; i += warpSize)
    m = fmaxf(m, row[i]);
  for (int o = 32; o; o >>= 1)
    m = fmaxf(m, __shfl_xor(m, o));
  for (int i = threadIdx.x; i < n; i += warpSize)
    s += expf(row[i] - m);
  for (int o = 32; o; o >>= 1)
    s += __shfl_xor(s, o);
  for (int i = threadIdx.x; i < n; i += warpSize)
    y[size_t(blockIdx.x) * n + i] = expf(row[i] - m) / s;
}

/// Steps over a ring, all workgroups at once.
__global__ void relax(float *x, float *y, int n, int steps) {
  cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  for (int s = 0; s < steps; ++s) {
    float *from = s % 2 ? y : x, *to = s % 2 ? x : y;
    for (int i = grid.thread_rank(); i < n; i += grid.size())
      to[i] = from[i ? i - 1 : n - 1] + from[i + 1 < n ? i + 1 : 0];
    grid.sync();
  }
}

/// Of the lanes below `n`: who has the same value, sums, what a half-sum rounds
/// to and a field of bits.
__global__ void alike(const int *x, int *y, int n) {
  int i = threadIdx.x;
  if (i >= n)
    return;
  unsigned long long same = __match_any(x[i]);
  int all;
  __match_all(x[i] >> 8, &all);
  y[i] = int(same) ^ int(same >> 32);
  y[64 + i] = __reduce_add_sync(~0ull, x[i]) + all;
  y[128 + i] =
      __reduce_min_sync(~0ull, x[i]) - 1000 * __reduce_max_sync(~0ull, x[i]);
  y[192 + i] = __hadd(x[i], -3) + 100 * __rhadd(x[i], -3) +
               __bitextract_u32(x[i], 1, 2) + __bitinsert_u32(0x700, 5, 9, 2);
}

int main() {
  int n = 1 << 20;
  std::vector<float> ones(n, 1.f);
  float *in, *out;
  hipMalloc(&in, n * sizeof(float));
  hipMalloc((void **)&out, sizeof(float));
  hipMemcpy(in, ones.data(), n * sizeof(float), hipMemcpyHostToDevice);
  sum<256><<<dim3(256), 256, 16>>>(in, out, n);
  hipLaunchKernelGGL(softmax, dim3(16), dim3(64), 0, nullptr, in, out, 4096);
  hipDeviceSynchronize();
  std::printf("%f %s\n", std::sqrt(2.0), hipGetErrorString(hipGetLastError()));
  hipFree(in);
}
