// Wave-level programming, cooperative groups, atomics and calls.
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>
#include <stdint.h>
#include <stdio.h>

namespace cg = cooperative_groups;

__inline__ __device__ float warpReduceSum(float val) {
#pragma unroll
  for (int mask = warpSize / 2; mask > 0; mask >>= 1)
    val += __shfl_xor(val, mask, warpSize);
  return val;
}
__inline__ __device__ float blockReduceSum(float val) {
  static __shared__ float shared[16];
  int lane = threadIdx.x % warpSize, wid = threadIdx.x / warpSize;
  val = warpReduceSum(val);
  if (lane == 0)
    shared[wid] = val;
  __syncthreads();
  val = (threadIdx.x < blockDim.x / warpSize) ? shared[lane] : 0.0f;
  if (wid == 0)
    val = warpReduceSum(val);
  return val;
}
__global__ void reduce_rows(const float *in, float *out, int cols) {
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    sum += in[(size_t)blockIdx.x * cols + c];
  sum = blockReduceSum(sum);
  if (threadIdx.x == 0)
    out[blockIdx.x] = sum;
}

__global__ void warp_scan(const int *in, int *out, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int value = in[i];
  for (int d = 1; d < width; d *= 2) {
    int n = __shfl_up(value, d, width);
    if ((threadIdx.x & (width - 1)) >= d)
      value += n;
  }
  out[i] = value;
}

// Stream compaction by ballots and an aggregated atomic.
__global__ void compact(const int *in, int *out, int *count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = i < n ? in[i] : -1;
  bool keep = v >= 0;
  unsigned long long mask = __ballot(keep);
  int lane = __lane_id();
  int rank = __popcll(mask & ((1ull << lane) - 1));
  int base = 0;
  if (lane == 0)
    base = atomicAdd(count, __popcll(mask));
  base = __shfl(base, 0);
  if (keep)
    out[base + rank] = v;
}

__global__ void cg_reduce(const int *in, int *out, int n) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
  int i = block.group_index().x * block.size() + block.thread_rank();
  int v = i < n ? in[i] : 0;
  for (int d = tile.size() / 2; d > 0; d /= 2)
    v += tile.shfl_down(v, d);
  __shared__ int partial[32];
  if (tile.thread_rank() == 0)
    partial[block.thread_rank() / 32] = v;
  block.sync();
  if (block.thread_rank() == 0) {
    int sum = 0;
    for (unsigned k = 0; k < block.size() / 32; ++k)
      sum += partial[k];
    atomicAdd(out, sum);
  }
}

// Every kind of atomic on global memory: one word each.
struct Results {
  int add, sub, mn, mx, bits_and, bits_or, bits_xor, exch;
  unsigned inc, dec;
  unsigned long long ladd, lmax;
  float fadd, fmx;
  double dadd, dmin;
  int cas;
};
__global__ void all_atomics(Results *r, const int *in) {
  int v = in[blockIdx.x * blockDim.x + threadIdx.x];
  atomicAdd(&r->add, v);
  atomicSub(&r->sub, v);
  atomicMin(&r->mn, v);
  atomicMax(&r->mx, v);
  atomicAnd(&r->bits_and, v | 0x10);
  atomicOr(&r->bits_or, v);
  atomicXor(&r->bits_xor, v);
  atomicExch(&r->exch, 77);
  atomicInc(&r->inc, 99u);
  atomicDec(&r->dec, 99u);
  atomicAdd(&r->ladd, (unsigned long long)v);
  atomicMax(&r->lmax, (unsigned long long)v);
  atomicAdd(&r->fadd, (float)v);
  atomicMax(&r->fmx, (float)v);
  unsafeAtomicAdd(&r->dadd, (double)v);
  atomicMin(&r->dmin, (double)v);
  int assumed, old = r->cas;
  do {
    assumed = old;
    old = atomicCAS(&r->cas, assumed, assumed * 3 + 1);
  } while (assumed != old);
}

// The same in LDS, and a lock.
__global__ void shared_atomics(int *out, const int *in) {
  __shared__ int sum, top;
  __shared__ float fsum;
  __shared__ double dsum;
  __shared__ unsigned long long bits;
  __shared__ int lock, guarded;
  if (threadIdx.x == 0) {
    sum = 0;
    top = -1000;
    fsum = 0;
    dsum = 0;
    bits = 0;
    lock = 0;
    guarded = 0;
  }
  __syncthreads();
  int v = in[threadIdx.x];
  atomicAdd(&sum, v);
  atomicMax(&top, v);
  atomicAdd(&fsum, (float)v);
  atomicAdd(&dsum, (double)v);
  atomicOr(&bits, 1ull << (v & 63));
  __syncthreads();
  if (threadIdx.x == 0) {
    out[0] = sum;
    out[1] = top;
    out[2] = (int)fsum;
    out[3] = (int)dsum;
    out[4] = (int)bits;
    out[5] = (int)(bits >> 32);
  }
}

// Calls through pointers and a virtual function; recursion.
typedef float (*op_func_t)(float, float);
__device__ __noinline__ float op_add(float a, float b) { return a + b; }
__device__ __noinline__ float op_mul(float a, float b) { return a * b; }
__device__ __noinline__ float op_max(float a, float b) { return fmaxf(a, b); }
__device__ op_func_t op_table[] = {op_add, op_mul, op_max};
__global__ void apply_ops(const float *a, const float *b, float *c,
                          const int *which, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] = op_table[which[i]](a[i], b[i]);
}
__device__ __noinline__ int ackermann(int m, int n) {
  if (m == 0)
    return n + 1;
  if (n == 0)
    return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}
__global__ void recurse(int *out) {
  out[threadIdx.x] = ackermann(threadIdx.x & 1, threadIdx.x & 3);
}

class Shape {
public:
  __device__ virtual float area() const = 0;
};
class Circle : public Shape {
  float r;

public:
  __device__ Circle(float r) : r(r) {}
  __device__ float area() const override { return 3.0f * r * r; }
};
class Square : public Shape {
  float s;

public:
  __device__ Square(float s) : s(s) {}
  __device__ float area() const override { return s * s; }
};
__global__ void areas(float *out, const float *size) {
  Circle c(size[threadIdx.x]);
  Square s(size[threadIdx.x]);
  const Shape *shape = threadIdx.x % 3 ? (const Shape *)&c : (const Shape *)&s;
  out[threadIdx.x] = shape->area();
}

// A last block that sums, by a counter and a fence.
__device__ unsigned int retirement_count = 0;
__global__ void reduce_single_pass(const float *in, volatile float *partial,
                                   float *out, int n) {
  __shared__ bool am_last;
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x)
    sum += in[i];
  sum = blockReduceSum(sum);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    unsigned int ticket = atomicInc(&retirement_count, gridDim.x);
    am_last = ticket == gridDim.x - 1;
  }
  __syncthreads();
  if (am_last) {
    float total = 0;
    for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x)
      total += partial[i];
    __syncthreads();
    total = blockReduceSum(total);
    if (threadIdx.x == 0) {
      *out = total;
      retirement_count = 0;
    }
  }
}

// Random numbers: xorshift and Monte Carlo; integers of 64 bits and division.
__global__ void monte_carlo_pi(unsigned long long *hits, uint64_t seed,
                               int samples) {
  uint64_t s = seed + blockIdx.x * blockDim.x + threadIdx.x;
  s = s * 6364136223846793005ull + 1442695040888963407ull;
  unsigned long long count = 0;
  for (int i = 0; i < samples; ++i) {
    s ^= s >> 12;
    s ^= s << 25;
    s ^= s >> 27;
    uint64_t r = s * 0x2545F4914F6CDD1Dull;
    float x = (r >> 40) * (1.0f / 16777216.0f);
    float y = ((r >> 8) & 0xffffff) * (1.0f / 16777216.0f);
    count += x * x + y * y < 1.0f;
  }
  atomicAdd(hits, count);
}
__global__ void integer_math(const long long *a, const long long *b,
                             long long *q, long long *m, int *bits, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  q[i] = a[i] / b[i];
  m[i] = a[i] % b[i];
  unsigned u = (unsigned)a[i];
  bits[i] = __popc(u) + 100 * __clz((int)u) + 10000 * __ffs((int)u) +
            (int)(__brev(u) & 0xff) * 1000000 + (int)__umulhi(u, 0x10001u);
}

__global__ void timers(unsigned long long *out) {
  long long start = clock64();
  long long wall = wall_clock64();
  __builtin_amdgcn_s_sleep(2);
  __builtin_amdgcn_s_setprio(2);
  long long end = clock64();
  __builtin_amdgcn_s_setprio(0);
  out[threadIdx.x] = end >= start && wall_clock64() >= wall;
}
__global__ void vote(const int *in, int *out) {
  int v = in[threadIdx.x];
  int r = __all(v > 0) + 2 * __any(v > 90);
  r += 4 * __syncthreads_count(v > 50);
  r += 4096 * __syncthreads_or(v == 77) + 8192 * __syncthreads_and(v > -1);
  out[threadIdx.x] = r;
}

// A barrier of the whole grid: every workgroup counts, then looks until all
// have.
__global__ void grid_barrier(const float *in, float *part, float *out,
                             int *arrived) {
  float sum = blockReduceSum(in[blockIdx.x * blockDim.x + threadIdx.x]);
  if (threadIdx.x == 0) {
    part[blockIdx.x] = sum;
    __threadfence();
    atomicAdd(arrived, 1);
    while (__hip_atomic_load(arrived, __ATOMIC_ACQUIRE,
                             __HIP_MEMORY_SCOPE_AGENT) < (int)gridDim.x)
      ;
  }
  __syncthreads();
  float total = 0;
  for (int i = 0; i < gridDim.x; ++i)
    total +=
        __hip_atomic_load(part + i, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}
