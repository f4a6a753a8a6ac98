// Parallel primitives as GPU libraries have them: scans that look back, radix
// sort, selection, queues, locks, sparse sums, and what their tuning asks for.
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>

namespace cg = cooperative_groups;

// One word of a status and a value, so that both are seen at once.
struct TileState {
  unsigned status, value;
};
enum { kInvalid, kPartial, kInclusive };

__device__ void publish(unsigned long long *at, unsigned status, unsigned v) {
  __hip_atomic_store(at, (unsigned long long)v << 32 | status, __ATOMIC_RELEASE,
                     __HIP_MEMORY_SCOPE_AGENT);
}

template <int items>
__device__ unsigned block_exclusive_scan(unsigned (&v)[items], unsigned *waves,
                                         unsigned &total) {
  unsigned mine = 0;
#pragma unroll
  for (int i = 0; i < items; ++i) {
    unsigned old = v[i];
    v[i] = mine;
    mine += old;
  }
  unsigned inclusive = mine;
#pragma unroll
  for (int d = 1; d < 64; d *= 2) {
    unsigned from = __shfl_up(inclusive, d);
    if (__lane_id() >= d)
      inclusive += from;
  }
  int wave = threadIdx.x / 64, n = (blockDim.x + 63) / 64;
  if (__lane_id() == 63)
    waves[wave] = inclusive;
  __syncthreads();
  unsigned before = 0;
  total = 0;
  for (int w = 0; w < n; ++w) {
    if (w < wave)
      before += waves[w];
    total += waves[w];
  }
  __syncthreads();
  return before + inclusive - mine;
}

// Scan with decoupled look-back: a wave looks at 64 predecessors at a time.
extern "C" __global__ void __launch_bounds__(256)
    lookback_scan(const unsigned *in, unsigned *out, unsigned long long *states,
                  unsigned *counter, int n) {
  constexpr int kItems = 4;
  __shared__ unsigned tile_id, prefix, waves[4];
  if (threadIdx.x == 0)
    tile_id = atomicAdd(counter, 1u);
  __syncthreads();
  int tile = tile_id, base = (tile * 256 + threadIdx.x) * kItems;
  unsigned v[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i)
    v[i] = base + i < n ? in[base + i] : 0;
  unsigned own[kItems];
  for (int i = 0; i < kItems; ++i)
    own[i] = v[i];
  unsigned total, at = block_exclusive_scan(v, waves, total);
  if (threadIdx.x < 64) {
    int lane = threadIdx.x;
    if (tile == 0) {
      if (lane == 0) {
        publish(states, kInclusive, total);
        prefix = 0;
      }
    } else {
      if (lane == 0)
        publish(states + tile, kPartial, total);
      unsigned sum = 0;
      for (int look = tile - 1;; look -= 64) {
        unsigned status = kInclusive, value = 0;
        if (look - lane >= 0) {
          do {
            unsigned long long word =
                __hip_atomic_load(states + look - lane, __ATOMIC_ACQUIRE,
                                  __HIP_MEMORY_SCOPE_AGENT);
            status = (unsigned)word;
            value = word >> 32;
          } while (status == kInvalid);
        }
        unsigned long long done = __ballot(status == kInclusive);
        int last = done ? __ffsll(done) - 1 : 63;
        unsigned part = lane <= last ? value : 0;
        for (int d = 32; d; d /= 2)
          part += __shfl_xor(part, d);
        sum += part;
        if (done)
          break;
      }
      if (lane == 0) {
        publish(states + tile, kInclusive, sum + total);
        prefix = sum;
      }
    }
  }
  __syncthreads();
  for (int i = 0; i < kItems; ++i)
    if (base + i < n)
      out[base + i] = prefix + at + v[i] + own[i];
}

// One pass of a stable radix sort by four bits, one workgroup: ranks by
// matching lanes, as onesweep does.
extern "C" __global__ void __launch_bounds__(512)
    radix_sort_block(unsigned *keys, unsigned *values, int n) {
  __shared__ unsigned histogram[8][16], base[16], sk[2048], sv[2048];
  int wave = threadIdx.x >> 6, lane = threadIdx.x & 63;
  for (int i = threadIdx.x; i < 2048; i += 512) {
    sk[i] = i < n ? keys[i] : 0xffffffffu;
    sv[i] = i < n ? values[i] : 0;
  }
  __syncthreads();
  for (int bit = 0; bit < 32; bit += 4) {
    if (lane < 16)
      histogram[wave][lane] = 0;
    __syncthreads();
    unsigned k[4], v[4], rank[4];
    for (int i = 0; i < 4; ++i) {
      int at = wave * 256 + i * 64 + lane;
      k[i] = sk[at];
      v[i] = sv[at];
      unsigned digit = k[i] >> bit & 15;
      unsigned long long same = ~0ull;
#pragma unroll
      for (int b = 0; b < 4; ++b) {
        unsigned long long set = __ballot(digit >> b & 1);
        same &= digit >> b & 1 ? set : ~set;
      }
      unsigned before = __builtin_amdgcn_mbcnt_hi(
          same >> 32, __builtin_amdgcn_mbcnt_lo((unsigned)same, 0));
      unsigned old = histogram[wave][digit];
      __builtin_amdgcn_wave_barrier();
      if (before == 0)
        histogram[wave][digit] = old + __popcll(same);
      __builtin_amdgcn_wave_barrier();
      rank[i] = old + before;
    }
    __syncthreads();
    if (threadIdx.x < 16) {
      unsigned sum = 0;
      for (int w = 0; w < 8; ++w) {
        unsigned mine = histogram[w][threadIdx.x];
        histogram[w][threadIdx.x] = sum;
        sum += mine;
      }
      unsigned inclusive = sum;
      for (int d = 1; d < 16; d *= 2) {
        unsigned up = __shfl_up(inclusive, d, 16);
        if ((threadIdx.x & 15) >= d)
          inclusive += up;
      }
      base[threadIdx.x] = inclusive - sum;
    }
    __syncthreads();
    for (int i = 0; i < 4; ++i) {
      unsigned digit = k[i] >> bit & 15;
      unsigned to = base[digit] + histogram[wave][digit] + rank[i];
      sk[to] = k[i];
      sv[to] = v[i];
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < n; i += 512) {
    keys[i] = sk[i];
    values[i] = sv[i];
  }
}

// The k-th largest by bits of the key, then all that reach it.
extern "C" __global__ void __launch_bounds__(1024)
    radix_topk(const float *x, float *out, int *where, int n, int k) {
  __shared__ int bins[256], found, remaining, count;
  __shared__ unsigned prefix;
  auto key = [](float f) {
    unsigned b = __float_as_uint(f);
    return b & 0x80000000u ? ~b : b | 0x80000000u;
  };
  x += (size_t)blockIdx.x * n;
  if (threadIdx.x == 0) {
    prefix = 0;
    remaining = k;
    count = 0;
  }
  for (int shift = 24; shift >= 0; shift -= 8) {
    if (threadIdx.x < 256)
      bins[threadIdx.x] = 0;
    __syncthreads();
    unsigned high = prefix;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
      unsigned u = key(x[i]);
      if (shift == 24 || u >> (shift + 8) == high >> (shift + 8))
        atomicAdd(&bins[u >> shift & 255], 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      int left = remaining, b = 255;
      for (; b > 0 && bins[b] < left; --b)
        left -= bins[b];
      remaining = left;
      prefix = high | (unsigned)b << shift;
    }
    __syncthreads();
  }
  unsigned bound = prefix;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    if (key(x[i]) > bound) {
      int at = atomicAdd(&count, 1);
      out[blockIdx.x * k + at] = x[i];
      where[blockIdx.x * k + at] = i;
    }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    if (key(x[i]) == bound) {
      int at = atomicAdd(&count, 1);
      if (at < k) {
        out[blockIdx.x * k + at] = x[i];
        where[blockIdx.x * k + at] = i;
      }
    }
}

// Bytes counted in private parts of LDS, one for each half wave; then global.
extern "C" __global__ void histogram256(const uchar4 *in, unsigned *out,
                                        int n) {
  extern __shared__ unsigned bins[];
  int copies = blockDim.x / 32, mine = threadIdx.x / 32;
  for (int i = threadIdx.x; i < 256 * copies; i += blockDim.x)
    bins[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) {
    uchar4 v = in[i];
    atomicAdd(&bins[mine * 256 + v.x], 1u);
    atomicAdd(&bins[mine * 256 + v.y], 1u);
    atomicAdd(&bins[mine * 256 + v.z], 1u);
    atomicAdd(&bins[mine * 256 + v.w], 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x) {
    unsigned sum = 0;
    for (int c = 0; c < copies; ++c)
      sum += bins[c * 256 + b];
    if (sum)
      atomicAdd(out + b, sum);
  }
}

// A product of rows of a sparse matrix by pieces of equal length, merged.
extern "C" __global__ void merge_path(const int *a, int na, const int *b,
                                      int nb, int *out, int per) {
  int diagonal = (blockIdx.x * blockDim.x + threadIdx.x) * per;
  int total = na + nb;
  if (diagonal >= total)
    return;
  int lo = max(0, diagonal - nb), hi = min(diagonal, na);
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (a[mid] <= b[diagonal - 1 - mid])
      lo = mid + 1;
    else
      hi = mid;
  }
  int i = lo, j = diagonal - lo;
  for (int s = 0; s < per && diagonal + s < total; ++s) {
    bool first = j >= nb || (i < na && a[i] <= b[j]);
    out[diagonal + s] = first ? a[i++] : b[j++];
  }
}

// Sums by key of equal neighbours with flags, as reduce_by_key.
struct Pair {
  float sum;
  int flag;
};
extern "C" __global__ void segmented_sum(const float *x, const int *keys,
                                         float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int key = i < n ? keys[i] : -1;
  Pair p{i < n ? x[i] : 0.f, 0};
  int prev = __shfl_up(key, 1);
  p.flag = __lane_id() == 0 || prev != key;
  for (int d = 1; d < warpSize; d <<= 1) {
    Pair up = __shfl_up(p, d);
    if (__lane_id() >= d) {
      if (!p.flag)
        p.sum += up.sum;
      p.flag |= up.flag;
    }
  }
  int next = __shfl_down(key, 1);
  if (key >= 0 && (__lane_id() == 63 || next != key))
    atomicAdd(out + key, p.sum);
}

// A breadth-first step: newly found vertices go to a queue.
extern "C" __global__ void bfs_step(const int *ptr, const int *adj,
                                    const int *frontier, int size, int *level,
                                    int depth, int *next, int *length) {
  __shared__ int local[512], held, first;
  if (threadIdx.x == 0)
    held = 0;
  __syncthreads();
  int f = blockIdx.x * blockDim.x + threadIdx.x;
  if (f < size) {
    int v = frontier[f];
    for (int e = ptr[v]; e < ptr[v + 1]; ++e)
      if (atomicCAS(level + adj[e], -1, depth) == -1) {
        int at = atomicAdd(&held, 1);
        if (at < 512)
          local[at] = adj[e];
        else
          next[atomicAdd(length, 1)] = adj[e];
      }
  }
  __syncthreads();
  int many = min(held, 512);
  if (threadIdx.x == 0)
    first = atomicAdd(length, many);
  __syncthreads();
  for (int i = threadIdx.x; i < many; i += blockDim.x)
    next[first + i] = local[i];
}

// Insertion into a hash table of 64-bit slots with linear probing.
extern "C" __global__ void hash_insert(unsigned long long *table, unsigned mask,
                                       const unsigned *keys, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned k = keys[i], h = k * 2654435761u;
  unsigned long long entry = (unsigned long long)k << 32 | 1;
  for (unsigned slot = h & mask;; slot = (slot + 1) & mask) {
    unsigned long long old = atomicCAS(table + slot, 0ull, entry);
    if (old == 0)
      return;
    if (old >> 32 == k) {
      atomicAdd(table + slot, 1ull);
      return;
    }
  }
}

// Tickets: each workgroup adds to a sum that no atomic is used for.
extern "C" __global__ void ticket_lock(unsigned *next, unsigned *serving,
                                       double *data, const double *x) {
  __shared__ double sum;
  if (threadIdx.x == 0)
    sum = 0;
  __syncthreads();
  atomicAdd(&sum, x[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned mine = atomicAdd(next, 1u);
    while (__hip_atomic_load(serving, __ATOMIC_ACQUIRE,
                             __HIP_MEMORY_SCOPE_AGENT) != mine)
      __builtin_amdgcn_s_sleep(2);
    data[0] += sum;
    data[1] = data[1] < sum ? sum : data[1];
    __hip_atomic_store(serving, mine + 1, __ATOMIC_RELEASE,
                       __HIP_MEMORY_SCOPE_AGENT);
  }
}

// Tiles of threads and those that are active together.
extern "C" __global__ void groups(const int *in, int *sums, int *ranks,
                                  int *counter) {
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  int v = in[block.thread_rank()];
  for (int d = tile.size() / 2; d; d /= 2)
    v += tile.shfl_down(v, d);
  if (tile.thread_rank() == 0)
    sums[block.thread_rank() / 16] = v;
  ranks[block.thread_rank()] = -1;
  if (in[block.thread_rank()] & 1) {
    auto active = cg::coalesced_threads();
    int base = 0;
    if (active.thread_rank() == 0)
      base = atomicAdd(counter, (int)active.size());
    ranks[block.thread_rank()] = active.shfl(base, 0) + active.thread_rank();
  }
}

// The classic reduction whose last wave needs no barrier.
template <unsigned size>
__device__ void last_wave(volatile float *s, unsigned t) {
  if (size >= 128)
    s[t] += s[t + 64];
  s[t] += s[t + 32];
  s[t] += s[t + 16];
  s[t] += s[t + 8];
  s[t] += s[t + 4];
  s[t] += s[t + 2];
  s[t] += s[t + 1];
}
extern "C" __global__ void reduce6(const float *x, float *out, int n) {
  extern __shared__ float sdata[];
  unsigned t = threadIdx.x, i = blockIdx.x * 512 + t;
  sdata[t] = 0;
  if (t < 64)
    sdata[256 + t] = 0;
  while (i < n) {
    sdata[t] += x[i] + (i + 256 < n ? x[i + 256] : 0.f);
    i += 512 * gridDim.x;
  }
  __syncthreads();
  if (t < 128)
    sdata[t] += sdata[t + 128];
  __syncthreads();
  if (t < 64)
    last_wave<256>(sdata, t);
  if (t == 0)
    out[blockIdx.x] = sdata[0];
}
