// Cooperative groups of threads of one workgroup, and of the grid by a barrier
// in memory; of the shim (hip_runtime.h).
#pragma once
#include "hip_runtime.h"

namespace cooperative_groups {
class thread_group {
protected:
  unsigned threads, rank;
  bool isBlock;

public:
  __device__ thread_group(unsigned threads, unsigned rank, bool isBlock)
      : threads(threads), rank(rank), isBlock(isBlock) {}
  __device__ unsigned size() const { return threads; }
  __device__ unsigned num_threads() const { return threads; }
  __device__ unsigned thread_rank() const { return rank; }
  __device__ void sync() const {
    if (isBlock)
      __syncthreads();
    else
      __syncwarp();
  }
  __device__ bool is_valid() const { return true; }
};

class thread_block : public thread_group {
public:
  __device__ thread_block()
      : thread_group(blockDim.x * blockDim.y * blockDim.z,
                     threadIdx.x +
                         blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z),
                     true) {}
  static __device__ void sync() { __syncthreads(); }
  static __device__ dim3 group_index() {
    return dim3(blockIdx.x, blockIdx.y, blockIdx.z);
  }
  static __device__ dim3 thread_index() {
    return dim3(threadIdx.x, threadIdx.y, threadIdx.z);
  }
  static __device__ dim3 group_dim() {
    return dim3(blockDim.x, blockDim.y, blockDim.z);
  }
  static __device__ dim3 dim_threads() { return group_dim(); }
};
static inline __device__ thread_block this_thread_block() { return {}; }

namespace detail {
static __device__ unsigned arrived, left;
} // namespace detail

/// All threads of a launch whose workgroups are all on the chip at once.
class grid_group {
  unsigned long long threads, rank;

  static __device__ unsigned blocks() {
    return gridDim.x * gridDim.y * gridDim.z;
  }

public:
  __device__ grid_group()
      : threads((unsigned long long)blocks() * thread_block().size()),
        rank((unsigned long long)(blockIdx.x +
                                  gridDim.x *
                                      (blockIdx.y + gridDim.y * blockIdx.z)) *
                 thread_block().size() +
             thread_block().thread_rank()) {}
  __device__ unsigned long long size() const { return threads; }
  __device__ unsigned long long num_threads() const { return threads; }
  __device__ unsigned long long thread_rank() const { return rank; }
  __device__ unsigned num_blocks() const { return blocks(); }
  __device__ unsigned block_rank() const {
    return rank / thread_block().size();
  }
  __device__ dim3 group_dim() const {
    return dim3(gridDim.x, gridDim.y, gridDim.z);
  }
  __device__ bool is_valid() const { return true; }
  /// The last workgroup to arrive lets all go on; arrivals are never taken
  /// back, so that the next barrier needs no other counter.
  __device__ void sync() const {
    __threadfence();
    __syncthreads();
    if (thread_block().thread_rank() == 0) {
      unsigned before = __hip_atomic_fetch_add(
          &detail::arrived, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
      unsigned round = before / blocks();
      if (before % blocks() == blocks() - 1)
        __hip_atomic_store(&detail::left, round + 1, __ATOMIC_RELEASE,
                           __HIP_MEMORY_SCOPE_AGENT);
      else
        while (__hip_atomic_load(&detail::left, __ATOMIC_ACQUIRE,
                                 __HIP_MEMORY_SCOPE_AGENT) <= round)
          __builtin_amdgcn_s_sleep(1);
    }
    __syncthreads();
    __threadfence();
  }
};
static inline __device__ grid_group this_grid() { return {}; }

template <unsigned N, class Parent = void>
class thread_block_tile : public thread_group {
  static_assert(N <= 64 && (N & (N - 1)) == 0);
  unsigned meta;

public:
  __device__ explicit thread_block_tile(unsigned parentRank)
      : thread_group(N, parentRank % N, false), meta(parentRank / N) {}
  template <class Other>
  __device__ thread_block_tile(const thread_block_tile<N, Other> &tile)
      : thread_group(tile), meta(tile.meta_group_rank()) {}
  static constexpr __device__ unsigned size() { return N; }
  static constexpr __device__ unsigned num_threads() { return N; }
  __device__ unsigned meta_group_rank() const { return meta; }
  __device__ void sync() const { __syncwarp(); }
  template <class T> __device__ T shfl(T v, int from) const {
    return __shfl(v, from, N);
  }
  template <class T> __device__ T shfl_down(T v, unsigned d) const {
    return __shfl_down(v, d, N);
  }
  template <class T> __device__ T shfl_up(T v, unsigned d) const {
    return __shfl_up(v, d, N);
  }
  template <class T> __device__ T shfl_xor(T v, unsigned mask) const {
    return __shfl_xor(v, mask, N);
  }
  __device__ unsigned long long ballot(int predicate) const {
    unsigned first = unsigned(__lane_id()) & ~(N - 1);
    unsigned long long mine = N == 64 ? ~0ull : (1ull << N % 64) - 1;
    return __ballot(predicate) >> first & mine;
  }
  __device__ int any(int predicate) const { return ballot(predicate) != 0; }
  __device__ int all(int predicate) const { return ballot(!predicate) == 0; }
};
template <unsigned N, class Group>
static inline __device__ thread_block_tile<N, Group>
tiled_partition(const Group &group) {
  return thread_block_tile<N, Group>(group.thread_rank());
}

/// The active lanes of a wave.
class coalesced_group : public thread_group {
  unsigned long long mask;

public:
  __device__ explicit coalesced_group(unsigned long long mask)
      : thread_group(__popcll(mask),
                     __builtin_amdgcn_mbcnt_hi(
                         mask >> 32, __builtin_amdgcn_mbcnt_lo(mask, 0)),
                     false),
        mask(mask) {}
  template <class T> __device__ T shfl(T v, int from) const {
    unsigned long long left = mask;
    for (int i = 0; i < from; ++i)
      left &= left - 1;
    return hkshim::fromLane(v, __builtin_ctzll(left));
  }
};
static inline __device__ coalesced_group coalesced_threads() {
  return coalesced_group(__activemask());
}

template <class T> struct plus {
  __device__ T operator()(T a, T b) const { return a + b; }
};
template <class T> struct less {
  __device__ T operator()(T a, T b) const { return a < b ? a : b; }
};
template <class T> struct greater {
  __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};
template <unsigned N, class P, class T, class F>
static inline __device__ T reduce(const thread_block_tile<N, P> &tile, T v,
                                  F f) {
  for (unsigned d = N / 2; d; d /= 2)
    v = f(v, tile.shfl_xor(v, d));
  return v;
}
static inline __device__ void sync(const thread_group &group) { group.sync(); }
static inline __device__ void sync(const grid_group &group) { group.sync(); }
} // namespace cooperative_groups
