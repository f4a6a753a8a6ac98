// Functions of HIP's device code that kernels call: of a wave, atomics,
// mathematics. What clang's builtins compute, not what HIP's library does to
// the last bit.
#pragma once

static __device__ const int warpSize = 64;

namespace hkshim {
template <class T> static inline __device__ T fromLane(T v, int lane) {
  constexpr unsigned n = (sizeof(T) + 3) / 4;
  int words[n] = {};
  __builtin_memcpy(words, &v, sizeof(T));
  for (unsigned i = 0; i < n; ++i)
    words[i] = __builtin_amdgcn_ds_bpermute(lane << 2, words[i]);
  __builtin_memcpy(&v, words, sizeof(T));
  return v;
}
} // namespace hkshim

static inline __device__ int __lane_id() {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}
template <class T>
static inline __device__ T __shfl(T v, int from, int width = warpSize) {
  int lane = __lane_id();
  return hkshim::fromLane(v, (lane & -width) | (from & (width - 1)));
}
template <class T>
static inline __device__ T __shfl_xor(T v, int mask, int width = warpSize) {
  int lane = __lane_id(), from = lane ^ mask;
  return hkshim::fromLane(v, from < ((lane + width) & -width) ? from : lane);
}
template <class T>
static inline __device__ T __shfl_down(T v, unsigned delta,
                                       int width = warpSize) {
  int lane = __lane_id(), from = lane + int(delta);
  return hkshim::fromLane(v, (lane & (width - 1)) + int(delta) < width ? from
                                                                       : lane);
}
template <class T>
static inline __device__ T __shfl_up(T v, unsigned delta,
                                     int width = warpSize) {
  int lane = __lane_id(), from = lane - int(delta);
  return hkshim::fromLane(v, from < (lane & -width) ? lane : from);
}
// CUDA's spelling; the mask has to be all active lanes.
#define __shfl_sync(mask, ...) __shfl(__VA_ARGS__)
#define __shfl_xor_sync(mask, ...) __shfl_xor(__VA_ARGS__)
#define __shfl_down_sync(mask, ...) __shfl_down(__VA_ARGS__)
#define __shfl_up_sync(mask, ...) __shfl_up(__VA_ARGS__)

static inline __device__ unsigned long long __ballot(int predicate) {
  return __builtin_amdgcn_ballot_w64(predicate != 0);
}
static inline __device__ int __any(int predicate) {
  return __ballot(predicate) != 0;
}
static inline __device__ int __all(int predicate) {
  return __ballot(predicate) == __builtin_amdgcn_ballot_w64(true);
}
static inline __device__ unsigned long long __activemask() {
  return __builtin_amdgcn_ballot_w64(true);
}
/// The active lanes with the same value, and whether all have it.
template <class T>
static inline __device__ unsigned long long __match_any(T v) {
  unsigned long long left = __activemask(), mine = 0;
  while (left) {
    T first = __shfl(v, __builtin_ctzll(left));
    unsigned long long same = __ballot(v == first) & left;
    mine = v == first ? same : mine;
    left &= ~same;
  }
  return mine;
}
template <class T>
static inline __device__ unsigned long long __match_all(T v, int *all) {
  unsigned long long active = __activemask();
  *all = __all(v == __shfl(v, __builtin_ctzll(active)));
  return *all ? active : 0;
}
#define __match_any_sync(mask, v) __match_any(v)
#define __match_all_sync(mask, v, all) __match_all(v, all)
#define HK_REDUCE(name, expression)                                            \
  template <class T> static inline __device__ T name(T v) {                    \
    unsigned long long left = __activemask();                                  \
    T all = __shfl(v, __builtin_ctzll(left));                                  \
    for (left &= left - 1; left; left &= left - 1) {                           \
      T next = __shfl(v, __builtin_ctzll(left));                               \
      all = expression;                                                        \
    }                                                                          \
    return all;                                                                \
  }
HK_REDUCE(hk_reduce_add, all + next)
HK_REDUCE(hk_reduce_min, next < all ? next : all)
HK_REDUCE(hk_reduce_max, next > all ? next : all)
#undef HK_REDUCE
#define __reduce_add_sync(mask, v) hk_reduce_add(v)
#define __reduce_min_sync(mask, v) hk_reduce_min(v)
#define __reduce_max_sync(mask, v) hk_reduce_max(v)
#define __ballot_sync(mask, predicate) __ballot(predicate)
#define __any_sync(mask, predicate) __any(predicate)
#define __all_sync(mask, predicate) __all(predicate)
static inline __device__ int __syncthreads_count(int predicate) {
  __shared__ int counts[16];
  int threads = __builtin_amdgcn_workgroup_size_x() *
                __builtin_amdgcn_workgroup_size_y() *
                __builtin_amdgcn_workgroup_size_z();
  int thread = __builtin_amdgcn_workitem_id_x() +
               __builtin_amdgcn_workgroup_size_x() *
                   (__builtin_amdgcn_workitem_id_y() +
                    __builtin_amdgcn_workgroup_size_y() *
                        __builtin_amdgcn_workitem_id_z());
  int mine = __builtin_popcountll(__ballot(predicate)), sum = 0;
  __syncthreads();
  counts[thread / warpSize] = mine;
  __syncthreads();
  for (int i = 0; i < (threads + warpSize - 1) / warpSize; ++i)
    sum += counts[i];
  return sum;
}
static inline __device__ int __syncthreads_or(int predicate) {
  return __syncthreads_count(predicate) != 0;
}
static inline __device__ int __syncthreads_and(int predicate) {
  return __syncthreads_count(!predicate) == 0;
}
static inline __device__ unsigned __brev(unsigned v) {
  return __builtin_bitreverse32(v);
}
static inline __device__ unsigned long long __brevll(unsigned long long v) {
  return __builtin_bitreverse64(v);
}
static inline __device__ int __clzll(long long v) {
  return v ? __builtin_clzll(v) : 64;
}
static inline __device__ unsigned __umulhi(unsigned a, unsigned b) {
  return (unsigned long long)a * b >> 32;
}
static inline __device__ int __mulhi(int a, int b) {
  return int((long long)a * b >> 32);
}
static inline __device__ unsigned long long __umul64hi(unsigned long long a,
                                                       unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline __device__ long long __mul64hi(long long a, long long b) {
  return (long long)((__int128)a * b >> 64);
}
static inline __device__ unsigned __umul24(unsigned a, unsigned b) {
  return (a & 0xffffff) * (b & 0xffffff);
}
static inline __device__ int __mul24(int a, int b) {
  return (int(unsigned(a) << 8) >> 8) * (int(unsigned(b) << 8) >> 8);
}
static inline __device__ unsigned __byte_perm(unsigned a, unsigned b,
                                              unsigned s) {
  return __builtin_amdgcn_perm(b, a, s & 0x07070707 & 0x0f0f0f0f);
}
static inline __device__ unsigned __funnelshift_l(unsigned lo, unsigned hi,
                                                  unsigned n) {
  return __builtin_elementwise_fshl(hi, lo, n & 31);
}
static inline __device__ unsigned __funnelshift_r(unsigned lo, unsigned hi,
                                                  unsigned n) {
  return __builtin_elementwise_fshr(hi, lo, n & 31);
}
static inline __device__ int __hadd(int a, int b) {
  return int(((long long)a + b) >> 1);
}
static inline __device__ int __rhadd(int a, int b) {
  return int(((long long)a + b + 1) >> 1);
}
static inline __device__ unsigned __uhadd(unsigned a, unsigned b) {
  return ((unsigned long long)a + b) >> 1;
}
static inline __device__ unsigned __urhadd(unsigned a, unsigned b) {
  return ((unsigned long long)a + b + 1) >> 1;
}
static inline __device__ unsigned __bitextract_u32(unsigned v, unsigned first,
                                                   unsigned width) {
  return __builtin_amdgcn_ubfe(v, first, width);
}
static inline __device__ unsigned
__bitinsert_u32(unsigned v, unsigned bits, unsigned first, unsigned width) {
  unsigned mask = ((1u << (width & 31)) - 1) << (first & 31);
  return (v & ~mask) | (bits << (first & 31) & mask);
}
static inline __device__ unsigned __sad(int a, int b, unsigned c) {
  return c + unsigned(a > b ? a - b : b - a);
}
static inline __device__ unsigned __usad(unsigned a, unsigned b, unsigned c) {
  return c + (a > b ? a - b : b - a);
}
static inline __device__ int __dp4a(int a, int b, int c) {
  return __builtin_amdgcn_sdot4(a, b, c, false);
}
static inline __device__ long long clock64() {
  return __builtin_readcyclecounter();
}
static inline __device__ long long clock() { return clock64(); }
static inline __device__ long long wall_clock64() {
  return __builtin_amdgcn_s_memrealtime();
}
static inline __device__ void __nanosleep(unsigned) {
  __builtin_amdgcn_s_sleep(1);
}
extern "C" {
__attribute__((noreturn, weak)) inline __device__ void
__assert_fail(const char *, const char *, unsigned, const char *) {
  __builtin_trap();
}
__attribute__((noreturn, weak)) inline __device__ void abort() {
  __builtin_trap();
}
}
static inline __device__ void __trap() { __builtin_trap(); }
// What a kernel prints, nobody reads.
template <class... A> static inline __device__ int printf(const char *, A...) {
  return 0;
}
template <class T> static inline __device__ T __ldg(const T *p) { return *p; }
template <class T> static inline __device__ T __ldcs(const T *p) { return *p; }
template <class T> static inline __device__ T __ldca(const T *p) { return *p; }
template <class T> static inline __device__ void __stcs(T *p, T v) { *p = v; }
template <class T> static inline __device__ void __stwt(T *p, T v) { *p = v; }

static inline __device__ int __popc(unsigned v) {
  return __builtin_popcount(v);
}
static inline __device__ int __popcll(unsigned long long v) {
  return __builtin_popcountll(v);
}
static inline __device__ int __clz(int v) { return v ? __builtin_clz(v) : 32; }
static inline __device__ int __ffs(int v) { return __builtin_ffs(v); }
static inline __device__ int __ffsll(long long v) { return __builtin_ffsll(v); }

static inline __device__ void __threadfence() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}
static inline __device__ void __threadfence_block() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
}
static inline __device__ void __threadfence_system() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
}
static inline __device__ void __syncwarp(unsigned long long = ~0ull) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

#define HK_ATOMIC(name, builtin)                                               \
  template <class T>                                                           \
  static inline __device__ T name(T *p, decltype(T() + T()) v) {               \
    return builtin(p, T(v), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);       \
  }
HK_ATOMIC(atomicAdd, __hip_atomic_fetch_add)
HK_ATOMIC(atomicSub, __hip_atomic_fetch_sub)
HK_ATOMIC(atomicMin, __hip_atomic_fetch_min)
HK_ATOMIC(atomicMax, __hip_atomic_fetch_max)
HK_ATOMIC(atomicAnd, __hip_atomic_fetch_and)
HK_ATOMIC(atomicOr, __hip_atomic_fetch_or)
HK_ATOMIC(atomicXor, __hip_atomic_fetch_xor)
HK_ATOMIC(atomicExch, __hip_atomic_exchange)
#undef HK_ATOMIC
template <class T>
static inline __device__ T atomicCAS(T *p, decltype(T() + T()) expected,
                                     decltype(T() + T()) desired) {
  T old = T(expected);
  __hip_atomic_compare_exchange_strong(p, &old, T(desired), __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_AGENT);
  return old;
}
#define HK_ATOMIC(name, plain)                                                 \
  template <class T>                                                           \
  static inline __device__ T name(T *p, decltype(T() + T()) v) {               \
    return plain(p, v);                                                        \
  }
HK_ATOMIC(atomicAdd_block, atomicAdd)
HK_ATOMIC(atomicAdd_system, atomicAdd)
HK_ATOMIC(atomicAddNoRet, atomicAdd)
HK_ATOMIC(safeAtomicAdd, atomicAdd)
HK_ATOMIC(atomicMax_block, atomicMax)
HK_ATOMIC(atomicMin_block, atomicMin)
#undef HK_ATOMIC
// As of -munsafe-fp-atomics: the memory is fine-grained nowhere.
static inline __device__ float unsafeAtomicAdd(float *p, float v) {
  [[clang::atomic(no_remote_memory, no_fine_grained_memory,
                  ignore_denormal_mode)]] {
    return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED,
                                  __HIP_MEMORY_SCOPE_AGENT);
  }
}
static inline __device__ double unsafeAtomicAdd(double *p, double v) {
  [[clang::atomic(no_remote_memory, no_fine_grained_memory)]] {
    return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED,
                                  __HIP_MEMORY_SCOPE_AGENT);
  }
}
static inline __device__ unsigned atomicDec(unsigned *p, unsigned last) {
  return __builtin_amdgcn_atomic_dec32(p, last, __ATOMIC_RELAXED, "agent");
}
static inline __device__ unsigned atomicInc(unsigned *p, unsigned last) {
  return __builtin_amdgcn_atomic_inc32(p, last, __ATOMIC_RELAXED, "agent");
}

// Of one type as bits of another, and with a rounding of its own.
#define HK_BITS(name, to, from)                                                \
  static inline __device__ to name(from x) { return __builtin_bit_cast(to, x); }
HK_BITS(__int_as_float, float, int)
HK_BITS(__float_as_int, int, float)
HK_BITS(__float_as_uint, unsigned, float)
HK_BITS(__uint_as_float, float, unsigned)
HK_BITS(__double_as_longlong, long long, double)
HK_BITS(__longlong_as_double, double, long long)
#undef HK_BITS
#define HK_ROUND(name, to, from, value)                                        \
  static inline __device__ to name(from x) { return static_cast<to>(value); }
HK_ROUND(__float2int_rn, int, float, __builtin_rintf(x))
HK_ROUND(__float2int_rz, int, float, x)
HK_ROUND(__float2int_rd, int, float, __builtin_floorf(x))
HK_ROUND(__float2int_ru, int, float, __builtin_ceilf(x))
HK_ROUND(__float2uint_rn, unsigned, float, __builtin_rintf(x))
HK_ROUND(__float2uint_rz, unsigned, float, x)
HK_ROUND(__float2ll_rn, long long, float, __builtin_rintf(x))
HK_ROUND(__int2float_rn, float, int, x)
HK_ROUND(__uint2float_rn, float, unsigned, x)
HK_ROUND(__ll2float_rn, float, long long, x)
HK_ROUND(__double2int_rn, int, double, __builtin_rint(x))
HK_ROUND(__double2int_rz, int, double, x)
HK_ROUND(__double2float_rn, float, double, x)
HK_ROUND(__int2double_rn, double, int, x)
#undef HK_ROUND
#ifndef INFINITY
#define INFINITY __builtin_inff()
#endif
