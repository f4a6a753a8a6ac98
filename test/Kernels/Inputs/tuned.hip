// Kernels as people tune them who know nothing of hk: a softmax reduced over the block, a
// scan over blocks by flags, a transpose of bf16 in fours, a product by 32x32 matrix
// instructions, a histogram with a maximum by compare-and-swap, and sums that load two tiles
// ahead, by inline assembly with counted waits and straight into LDS.
#include <hip/hip_runtime.h>

template <typename T> __device__ __forceinline__ T warpReduceMax(T v) {
#pragma unroll
  for (int o = warpSize / 2; o > 0; o >>= 1)
    v = max(v, __shfl_xor(v, o));
  return v;
}
template <typename T> __device__ __forceinline__ T warpReduceSum(T v) {
#pragma unroll
  for (int o = warpSize / 2; o > 0; o >>= 1)
    v += __shfl_xor(v, o);
  return v;
}
template <bool MAX> __device__ float blockReduce(float v) {
  static __shared__ float shared[16];
  int lane = threadIdx.x % warpSize, wid = threadIdx.x / warpSize;
  v = MAX ? warpReduceMax(v) : warpReduceSum(v);
  __syncthreads();
  if (lane == 0)
    shared[wid] = v;
  __syncthreads();
  v = threadIdx.x < blockDim.x / warpSize ? shared[lane] : (MAX ? -INFINITY : 0.0f);
  if (wid == 0)
    v = MAX ? warpReduceMax(v) : warpReduceSum(v);
  if (threadIdx.x == 0)
    shared[0] = v;
  __syncthreads();
  return shared[0];
}
extern "C" __global__ __launch_bounds__(256) void block_softmax(const float4 *__restrict__ in, float4 *__restrict__ out, int n4) {
  const float4 *row = in + (size_t)blockIdx.x * n4;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < n4; i += blockDim.x) {
    float4 v = row[i];
    m = fmaxf(m, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
  }
  m = blockReduce<true>(m);
  float s = 0.f;
  for (int i = threadIdx.x; i < n4; i += blockDim.x) {
    float4 v = row[i];
    s += __expf(v.x - m) + __expf(v.y - m) + __expf(v.z - m) + __expf(v.w - m);
  }
  s = blockReduce<false>(s);
  float inv = 1.f / s;
  for (int i = threadIdx.x; i < n4; i += blockDim.x) {
    float4 v = row[i];
    out[(size_t)blockIdx.x * n4 + i] = make_float4(__expf(v.x - m) * inv, __expf(v.y - m) * inv, __expf(v.z - m) * inv, __expf(v.w - m) * inv);
  }
}

extern "C" __global__ void scan(const int *in, int *out, volatile int *sums, int *flags, int n) {
  __shared__ int warp_sums[1024 / 64];
  __shared__ int before;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x & (warpSize - 1), wid = threadIdx.x / warpSize;
  int v = i < n ? in[i] : 0;
#pragma unroll
  for (int d = 1; d < warpSize; d <<= 1) {
    int t = __shfl_up(v, d);
    if (lane >= d)
      v += t;
  }
  if (lane == warpSize - 1)
    warp_sums[wid] = v;
  __syncthreads();
  if (wid == 0) {
    int w = lane < blockDim.x / warpSize ? warp_sums[lane] : 0;
    for (int d = 1; d < blockDim.x / warpSize; d <<= 1) {
      int t = __shfl_up(w, d);
      if (lane >= d)
        w += t;
    }
    if (lane < blockDim.x / warpSize)
      warp_sums[lane] = w;
  }
  __syncthreads();
  if (wid > 0)
    v += warp_sums[wid - 1];
  if (threadIdx.x == blockDim.x - 1) {
    int own = v, prev = 0;
    if (blockIdx.x > 0) {
      while (atomicAdd(&flags[blockIdx.x - 1], 0) == 0)
        __builtin_amdgcn_s_sleep(1);
      __threadfence();
      prev = sums[blockIdx.x - 1];
    }
    sums[blockIdx.x] = prev + own;
    __threadfence();
    atomicExch(&flags[blockIdx.x], 1);
    before = prev;
  }
  __syncthreads();
  if (i < n)
    out[i] = v + before;
}

extern "C" __global__ __launch_bounds__(256) void transpose_bf16(const ushort4 *in, ushort4 *out, int rows, int cols) {
  __shared__ unsigned short tile[64][64 + 4];
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  int r0 = blockIdx.y * 64, c0 = blockIdx.x * 64;
#pragma unroll
  for (int j = 0; j < 64; j += 16) {
    ushort4 v = in[((size_t)(r0 + ty + j) * cols + c0) / 4 + tx];
    *reinterpret_cast<ushort4 *>(&tile[ty + j][tx * 4]) = v;
  }
#ifndef PLANTED_TRANSPOSE
  __syncthreads();
#endif
#pragma unroll
  for (int j = 0; j < 64; j += 16) {
    ushort4 v;
    v.x = tile[tx * 4 + 0][ty + j];
    v.y = tile[tx * 4 + 1][ty + j];
    v.z = tile[tx * 4 + 2][ty + j];
    v.w = tile[tx * 4 + 3][ty + j];
    out[((size_t)(c0 + ty + j) * rows + r0) / 4 + tx] = v;
  }
}

typedef short bf16x4 __attribute__((ext_vector_type(4)));
typedef __bf16 bf16x8 __attribute__((ext_vector_type(8)));
typedef float floatx16 __attribute__((ext_vector_type(16)));
extern "C" __global__ __launch_bounds__(256) void gemm_bf16(const unsigned short *A, const unsigned short *B, float *C, int M, int N, int K) {
  constexpr int BK = 32, LD = BK + 8;
  __shared__ unsigned short As[128 * LD], Bs[128 * LD];
  int wave = threadIdx.x / 64, lane = threadIdx.x % 64;
  int wm = (wave / 2) * 64, wn = (wave % 2) * 64;
  int row0 = blockIdx.y * 128, col0 = blockIdx.x * 128;
  floatx16 acc[2][2] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = threadIdx.x; i < 128 * BK / 8; i += 256) {
      int r = i / (BK / 8), c = (i % (BK / 8)) * 8;
      *(uint4 *)&As[r * LD + c] = *(const uint4 *)&A[(size_t)(row0 + r) * K + k0 + c];
      *(uint4 *)&Bs[r * LD + c] = *(const uint4 *)&B[(size_t)(col0 + r) * K + k0 + c];
    }
    __syncthreads();
#if defined(__gfx950__)
    for (int kk = 0; kk < BK; kk += 16) {
      bf16x8 a[2], b[2];
      for (int i = 0; i < 2; ++i) {
        a[i] = *(const bf16x8 *)&As[(wm + i * 32 + lane % 32) * LD + kk + (lane / 32) * 8];
        b[i] = *(const bf16x8 *)&Bs[(wn + i * 32 + lane % 32) * LD + kk + (lane / 32) * 8];
      }
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
          acc[i][j] = __builtin_amdgcn_mfma_f32_32x32x16_bf16(a[i], b[j], acc[i][j], 0, 0, 0);
    }
#else
    for (int kk = 0; kk < BK; kk += 8) {
      bf16x4 a[2], b[2];
      for (int i = 0; i < 2; ++i) {
        a[i] = *(const bf16x4 *)&As[(wm + i * 32 + lane % 32) * LD + kk + (lane / 32) * 4];
        b[i] = *(const bf16x4 *)&Bs[(wn + i * 32 + lane % 32) * LD + kk + (lane / 32) * 4];
      }
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
          acc[i][j] = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a[i], b[j], acc[i][j], 0, 0, 0);
    }
#endif
#ifndef PLANTED_GEMM
    __syncthreads();
#endif
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      for (int r = 0; r < 16; ++r) {
        int row = row0 + wm + i * 32 + (r / 4) * 8 + (lane / 32) * 4 + r % 4;
        int col = col0 + wn + j * 32 + lane % 32;
        C[(size_t)row * N + col] = acc[i][j][r];
      }
}

__device__ __forceinline__ float atomicMaxFloat(float *addr, float value) {
  int *a = (int *)addr;
  int old = *a, assumed;
  while (value > __int_as_float(old)) {
    assumed = old;
    old = atomicCAS(a, assumed, __float_as_int(value));
    if (old == assumed)
      break;
  }
  return __int_as_float(old);
}
extern "C" __global__ void hist_max(const float *in, unsigned *bins, float *largest, int n) {
  __shared__ unsigned local[64];
  __shared__ float block_max;
  if (threadIdx.x < 64)
    local[threadIdx.x] = 0;
  if (threadIdx.x == 0)
    block_max = -INFINITY;
  __syncthreads();
  float m = -INFINITY;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float v = in[i];
    m = fmaxf(m, v);
    int b = min(63, max(0, (int)(v * 64.f)));
    // one atomic for all lanes with the first one's bin
    unsigned long long active = __ballot(1);
    int leader = __ffsll(active) - 1;
    int first = __shfl(b, leader);
    unsigned long long same = __ballot(b == first);
    int lane = threadIdx.x & 63;
    if (b == first) {
      if (lane == __ffsll(same) - 1)
        atomicAdd(&local[first], (unsigned)__popcll(same));
    } else {
      atomicAdd(&local[b], 1u);
    }
  }
  atomicMaxFloat(&block_max, m);
  __syncthreads();
  if (threadIdx.x < 64)
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
  if (threadIdx.x == 0)
    atomicMaxFloat(largest, block_max);
}

typedef float floatx4 __attribute__((ext_vector_type(4)));
__device__ __forceinline__ floatx4 load_asm(const float4 *p) {
  floatx4 v;
  asm volatile("global_load_dwordx4 %0, %1, off" : "=v"(v) : "v"(p) : "memory");
  return v;
}
template <int N> __device__ __forceinline__ void wait_vm(floatx4 &v) {
  asm volatile("s_waitcnt vmcnt(%1)" : "+v"(v) : "n"(N) : "memory");
}
extern "C" __global__ __launch_bounds__(256) void stream_sum(const float4 *in, float *out, int tiles) {
  __shared__ floatx4 buf[2][256];
  const float4 *p = in + (size_t)blockIdx.x * tiles * 256 + threadIdx.x;
  floatx4 next = load_asm(p);
  float4 acc = make_float4(0, 0, 0, 0);
  wait_vm<0>(next);
  buf[0][threadIdx.x] = next;
  asm volatile("s_waitcnt lgkmcnt(0)\n s_barrier" ::: "memory");
  for (int t = 0; t < tiles; ++t) {
    if (t + 1 < tiles)
      next = load_asm(p + (t + 1) * 256);
    floatx4 v = buf[t & 1][(threadIdx.x + 64) & 255];
    acc.x += v.x; acc.y += v.y; acc.z += v.z; acc.w += v.w;
    if (t + 1 < tiles) {
#ifndef PLANTED_STREAM
      wait_vm<0>(next);
#else
      wait_vm<1>(next);
#endif
      buf[(t + 1) & 1][threadIdx.x] = next;
    }
    asm volatile("s_waitcnt lgkmcnt(0)\n s_barrier" ::: "memory");
  }
  float s = warpReduceSum(acc.x + acc.y + acc.z + acc.w);
  if ((threadIdx.x & 63) == 0)
    atomicAdd(out, s);
}
// the same with loads straight into LDS
extern "C" __global__ __launch_bounds__(256) void stream_lds(const float *in, float *out, int tiles) {
  __shared__ float buf[2][256];
  const float *p = in + (size_t)blockIdx.x * tiles * 256 + threadIdx.x;
  int wave = threadIdx.x / 64;
  auto load = [&](int t) {
    __builtin_amdgcn_global_load_lds((__attribute__((address_space(1))) void *)(p + t * 256),
                                     (__attribute__((address_space(3))) void *)&buf[t & 1][wave * 64], 4, 0, 0);
  };
  float acc = 0;
  load(0);
  for (int t = 0; t < tiles; ++t) {
    if (t + 1 < tiles)
      load(t + 1);
#ifndef PLANTED_LDS
    if (t + 1 < tiles)
      asm volatile("s_waitcnt vmcnt(1)" ::: "memory");
    else
      asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
#endif
    __builtin_amdgcn_s_barrier();
    acc += buf[t & 1][(threadIdx.x + 64) & 255];
    asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");
    __builtin_amdgcn_s_barrier();
  }
  float s = warpReduceSum(acc);
  if ((threadIdx.x & 63) == 0)
    atomicAdd(out, s);
}
