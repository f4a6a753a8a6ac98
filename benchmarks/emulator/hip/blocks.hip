// Kernels as courses, blogs and benchmark suites have them: workgroups, LDS,
// constant and dynamic memory, host code beside them.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

#define HIP_CHECK(call)                                                        \
  do {                                                                         \
    hipError_t err = call;                                                     \
    if (err != hipSuccess) {                                                   \
      fprintf(stderr, "HIP error %s at %s:%d\n", hipGetErrorString(err),       \
              __FILE__, __LINE__);                                             \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

constexpr int TILE_DIM = 32;
constexpr int BLOCK_ROWS = 8;

template <typename T>
__global__ void transposeNoBankConflicts(T *odata, const T *idata, int width,
                                         int height) {
  __shared__ T tile[TILE_DIM][TILE_DIM + 1];
  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;
#pragma unroll
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
    if (x < width && y + j < height)
      tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * TILE_DIM + threadIdx.x;
  y = blockIdx.x * TILE_DIM + threadIdx.y;
#pragma unroll
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
    if (x < height && y + j < width)
      odata[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}
template __global__ void
transposeNoBankConflicts<double>(double *, const double *, int, int);

// Tree reduction in dynamic LDS, then one atomic of a double.
__global__ void __launch_bounds__(256)
    dotProduct(const double *__restrict__ a, const double *__restrict__ b,
               double *result, size_t n) {
  extern __shared__ double sdata[];
  unsigned int tid = threadIdx.x;
  double sum = 0.0;
  for (size_t i = blockIdx.x * (size_t)blockDim.x + tid; i < n;
       i += (size_t)gridDim.x * blockDim.x)
    sum += a[i] * b[i];
  sdata[tid] = sum;
  __syncthreads();
  for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (tid < s)
      sdata[tid] += sdata[tid + s];
    __syncthreads();
  }
  if (tid == 0)
    atomicAdd(result, sdata[0]);
}

__global__ void bitonicSortShared(unsigned int *keys, int *values) {
  extern __shared__ unsigned int s_mem[];
  unsigned int *s_key = s_mem;
  int *s_val = (int *)(s_mem + 2 * blockDim.x);
  int base = blockIdx.x * blockDim.x * 2;
  s_key[threadIdx.x] = keys[base + threadIdx.x];
  s_val[threadIdx.x] = values[base + threadIdx.x];
  s_key[threadIdx.x + blockDim.x] = keys[base + threadIdx.x + blockDim.x];
  s_val[threadIdx.x + blockDim.x] = values[base + threadIdx.x + blockDim.x];
  unsigned int length = blockDim.x * 2;
  for (unsigned int size = 2; size <= length; size <<= 1) {
    bool dir = ((threadIdx.x & (size / 2)) != 0);
    if (size == length)
      dir = false;
    for (unsigned int stride = size / 2; stride > 0; stride >>= 1) {
      __syncthreads();
      unsigned int pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
      if ((s_key[pos] > s_key[pos + stride]) != dir) {
        unsigned int t = s_key[pos];
        s_key[pos] = s_key[pos + stride];
        s_key[pos + stride] = t;
        int v = s_val[pos];
        s_val[pos] = s_val[pos + stride];
        s_val[pos + stride] = v;
      }
    }
  }
  __syncthreads();
  keys[base + threadIdx.x] = s_key[threadIdx.x];
  values[base + threadIdx.x] = s_val[threadIdx.x];
  keys[base + threadIdx.x + blockDim.x] = s_key[threadIdx.x + blockDim.x];
  values[base + threadIdx.x + blockDim.x] = s_val[threadIdx.x + blockDim.x];
}

#define RADIUS 4
__constant__ float c_coeff[RADIUS + 1] = {0.5f, 0.2f, 0.1f, 0.04f, 0.01f};
// A 3D stencil: planes in registers, a tile in LDS.
__global__ void stencil_3d(float *out, const float *in, int nx, int ny,
                           int nz) {
  __shared__ float tile[8 + 2 * RADIUS][32 + 2 * RADIUS];
  int ix = blockIdx.x * 32 + threadIdx.x, iy = blockIdx.y * 8 + threadIdx.y;
  int stride = nx * ny, tx = threadIdx.x + RADIUS, ty = threadIdx.y + RADIUS;
  float behind[RADIUS], front[RADIUS], current;
  int idx = iy * nx + ix;
  for (int i = 0; i < RADIUS; ++i)
    behind[i] = in[idx + (RADIUS - 1 - i) * stride];
  current = in[idx + RADIUS * stride];
  for (int i = 0; i < RADIUS; ++i)
    front[i] = in[idx + (RADIUS + 1 + i) * stride];
  for (int iz = RADIUS; iz < nz - RADIUS; ++iz) {
    const float *plane = in + iz * stride;
    __syncthreads();
    tile[ty][tx] = current;
    if (threadIdx.x < RADIUS) {
      tile[ty][threadIdx.x] = ix >= RADIUS ? plane[iy * nx + ix - RADIUS] : 0.f;
      tile[ty][tx + 32] = ix + 32 < nx ? plane[iy * nx + ix + 32] : 0.f;
    }
    if (threadIdx.y < RADIUS) {
      tile[threadIdx.y][tx] = iy >= RADIUS ? plane[(iy - RADIUS) * nx + ix] : 0;
      tile[ty + 8][tx] = iy + 8 < ny ? plane[(iy + 8) * nx + ix] : 0.f;
    }
    __syncthreads();
    float value = c_coeff[0] * current;
#pragma unroll
    for (int r = 1; r <= RADIUS; ++r)
      value +=
          c_coeff[r] * (tile[ty][tx - r] + tile[ty][tx + r] + tile[ty - r][tx] +
                        tile[ty + r][tx] + behind[r - 1] + front[r - 1]);
    out[iz * stride + idx] = value;
    for (int i = RADIUS - 1; i > 0; --i)
      behind[i] = behind[i - 1];
    behind[0] = current;
    current = front[0];
    for (int i = 0; i < RADIUS - 1; ++i)
      front[i] = front[i + 1];
    if (iz + RADIUS + 1 < nz)
      front[RADIUS - 1] = in[idx + (iz + RADIUS + 1) * stride];
  }
}

// CSR SpMV with a wave for each row.
__global__ void spmv_csr_vector(int num_rows, const int *__restrict__ row_ptr,
                                const int *__restrict__ col_idx,
                                const float *__restrict__ vals,
                                const float *__restrict__ x,
                                float *__restrict__ y) {
  int lane = threadIdx.x % warpSize;
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize;
  if (row >= num_rows)
    return;
  float sum = 0.0f;
  for (int j = row_ptr[row] + lane; j < row_ptr[row + 1]; j += warpSize)
    sum += vals[j] * x[col_idx[j]];
  for (int offset = warpSize / 2; offset > 0; offset /= 2)
    sum += __shfl_down(sum, offset);
  if (lane == 0)
    y[row] = sum;
}

// Work-efficient scan; the last element of each block goes to `sums`.
__global__ void blelloch_scan(const int *in, int *out, int *sums, int n) {
  __shared__ int temp[1024];
  int thid = threadIdx.x, offset = 1;
  int ai = blockIdx.x * 1024 + 2 * thid;
  temp[2 * thid] = ai < n ? in[ai] : 0;
  temp[2 * thid + 1] = ai + 1 < n ? in[ai + 1] : 0;
  for (int d = 1024 >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (thid < d)
      temp[offset * (2 * thid + 2) - 1] += temp[offset * (2 * thid + 1) - 1];
    offset *= 2;
  }
  if (thid == 0) {
    sums[blockIdx.x] = temp[1023];
    temp[1023] = 0;
  }
  for (int d = 1; d < 1024; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (thid < d) {
      int a = offset * (2 * thid + 1) - 1, b = offset * (2 * thid + 2) - 1;
      int t = temp[a];
      temp[a] = temp[b];
      temp[b] += t;
    }
  }
  __syncthreads();
  if (ai < n)
    out[ai] = temp[2 * thid];
  if (ai + 1 < n)
    out[ai + 1] = temp[2 * thid + 1];
}

struct Body {
  float4 pos;
  float4 vel;
};
__device__ float3 bodyBodyInteraction(float3 ai, float4 bi, float4 bj) {
  float3 r;
  r.x = bj.x - bi.x;
  r.y = bj.y - bi.y;
  r.z = bj.z - bi.z;
  float distSqr = r.x * r.x + r.y * r.y + r.z * r.z + 0.01f;
  float invDist = rsqrtf(distSqr);
  float s = bj.w * invDist * invDist * invDist;
  ai.x += r.x * s;
  ai.y += r.y * s;
  ai.z += r.z * s;
  return ai;
}
__global__ void nbody(const Body *bodies, Body *next, float dt, int n) {
  __shared__ float4 shPosition[64];
  int gtid = blockIdx.x * blockDim.x + threadIdx.x;
  Body me = bodies[gtid];
  float3 acc = {0.0f, 0.0f, 0.0f};
  for (int tile = 0; tile < n / 64; ++tile) {
    shPosition[threadIdx.x] = bodies[tile * 64 + threadIdx.x].pos;
    __syncthreads();
#pragma unroll 8
    for (int i = 0; i < 64; ++i)
      acc = bodyBodyInteraction(acc, me.pos, shPosition[i]);
    __syncthreads();
  }
  me.vel.x += acc.x * dt;
  me.vel.y += acc.y * dt;
  me.vel.z += acc.z * dt;
  me.pos.x += me.vel.x * dt;
  me.pos.y += me.vel.y * dt;
  me.pos.z += me.vel.z * dt;
  next[gtid] = me;
}

__global__ void mandelbrot(unsigned char *img, int w, int h, float x0, float y0,
                           float dx, float dy) {
  int px = blockIdx.x * blockDim.x + threadIdx.x;
  int py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= w || py >= h)
    return;
  float cr = x0 + px * dx, ci = y0 + py * dy, zr = 0, zi = 0;
  int it = 0;
  while (it < 255 && zr * zr + zi * zi < 4.0f) {
    float t = zr * zr - zi * zi + cr;
    zi = 2 * zr * zi + ci;
    zr = t;
    it++;
  }
  img[py * w + px] = (unsigned char)it;
}

// BabelStream's and others' one-liners.
template <typename T> __global__ void triad(T *a, const T *b, const T *c, T s) {
  const size_t i = threadIdx.x + blockIdx.x * blockDim.x;
  a[i] = b[i] + s * c[i];
}
template __global__ void triad<double>(double *, const double *, const double *,
                                       double);
__global__ void saxpy4(float4 *y, const float4 *x, float a, int n4) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n4) {
    float4 v = x[i], o = y[i];
    o.x = fmaf(a, v.x, o.x);
    o.y = fmaf(a, v.y, o.y);
    o.z = fmaf(a, v.z, o.z);
    o.w = fmaf(a, v.w, o.w);
    y[i] = o;
  }
}

// Black-Scholes with erff.
__device__ inline float cnd(float d) {
  return 0.5f * erfcf(-d * 0.70710678118654752440f);
}
__global__ void black_scholes(float *call, float *put, const float *s,
                              const float *x, const float *t, float r, float v,
                              int n) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i >= n)
    return;
  float sqrtT = sqrtf(t[i]);
  float d1 = (__logf(s[i] / x[i]) + (r + 0.5f * v * v) * t[i]) / (v * sqrtT);
  float d2 = d1 - v * sqrtT;
  float expRT = __expf(-r * t[i]);
  call[i] = s[i] * cnd(d1) - x[i] * expRT * cnd(d2);
  put[i] = x[i] * expRT * cnd(-d2) - s[i] * cnd(-d1);
}

// Loops over unsigned bytes with clamping, as in image filters.
__global__ void box_blur(const uchar4 *src, uchar4 *dst, int w, int h, int r) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h)
    return;
  uint4 sum = make_uint4(0, 0, 0, 0);
  for (int j = -r; j <= r; ++j)
    for (int i = -r; i <= r; ++i) {
      int u = min(max(x + i, 0), w - 1), v = min(max(y + j, 0), h - 1);
      uchar4 p = src[v * w + u];
      sum.x += p.x;
      sum.y += p.y;
      sum.z += p.z;
      sum.w += p.w;
    }
  unsigned area = (2 * r + 1) * (2 * r + 1);
  dst[y * w + x] = make_uchar4(sum.x / area, sum.y / area, sum.z / area, 255);
}

template <typename T, int BM, int BN, int BK, int TM, int TN>
__global__ void __launch_bounds__((BM / TM) * (BN / TN))
    gemm_register_tiled(int M, int N, int K, T alpha, const T *A, const T *B,
                        T beta, T *C) {
  __shared__ T As[BK][BM];
  __shared__ T Bs[BK][BN];
  const int threads = (BM / TM) * (BN / TN);
  int tr = threadIdx.x / (BN / TN), tc = threadIdx.x % (BN / TN);
  A += blockIdx.y * BM * K;
  B += blockIdx.x * BN;
  C += blockIdx.y * BM * N + blockIdx.x * BN;
  T acc[TM][TN] = {};
  T ra[TM], rb[TN];
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = threadIdx.x; i < BM * BK; i += threads)
      As[i % BK][i / BK] = A[(i / BK) * K + i % BK];
    for (int i = threadIdx.x; i < BK * BN; i += threads)
      Bs[i / BN][i % BN] = B[(i / BN) * N + i % BN];
    __syncthreads();
    A += BK;
    B += BK * N;
    for (int k = 0; k < BK; ++k) {
      for (int i = 0; i < TM; ++i)
        ra[i] = As[k][tr * TM + i];
      for (int j = 0; j < TN; ++j)
        rb[j] = Bs[k][tc * TN + j];
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j)
          acc[i][j] += ra[i] * rb[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < TM; ++i)
    for (int j = 0; j < TN; ++j) {
      T &c = C[(tr * TM + i) * N + tc * TN + j];
      c = alpha * acc[i][j] + beta * c;
    }
}
template __global__ void
gemm_register_tiled<float, 64, 64, 8, 8, 8>(int, int, int, float, const float *,
                                            const float *, float, float *);

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
  std::vector<float> h(n, 1.0f);
  float *d_a = nullptr, *d_b = nullptr;
  HIP_CHECK(hipMalloc(&d_a, n * sizeof(float)));
  HIP_CHECK(hipMalloc((void **)&d_b, n * sizeof(float)));
  HIP_CHECK(hipMemcpy(d_a, h.data(), n * sizeof(float), hipMemcpyHostToDevice));
  HIP_CHECK(hipMemcpyToSymbol(HIP_SYMBOL(c_coeff), h.data(), sizeof(c_coeff)));
  hipEvent_t start, stop;
  HIP_CHECK(hipEventCreate(&start));
  HIP_CHECK(hipEventCreate(&stop));
  HIP_CHECK(hipEventRecord(start));
  saxpy4<<<(n / 4 + 255) / 256, 256>>>((float4 *)d_a, (float4 *)d_b, 2.0f,
                                       n / 4);
  hipLaunchKernelGGL(mandelbrot, dim3(1), dim3(64), 0, 0, nullptr, 0, 0, 0.f,
                     0.f, 0.f, 0.f);
  HIP_CHECK(hipEventRecord(stop, 0));
  HIP_CHECK(hipEventSynchronize(stop));
  float ms = 0;
  HIP_CHECK(hipEventElapsedTime(&ms, start, stop));
  std::cout << "time " << ms << " ms" << std::endl;
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipFree(d_a));
  printf("%f\n", std::sqrt(ms));
  return 0;
}
