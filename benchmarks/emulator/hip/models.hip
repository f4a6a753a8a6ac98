// Kernels of language models as inference engines publish them.
#include <cfloat>
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float4v __attribute__((ext_vector_type(4)));
typedef float float16v __attribute__((ext_vector_type(16)));
typedef short short8 __attribute__((ext_vector_type(8)));

#define WARP 64

// Blocks of 32 weights of four bits with a scale, times activations of eight.
struct block_q4_0 {
  _Float16 d;
  uint8_t qs[16];
};
struct block_q8_1 {
  _Float16 d, s;
  int8_t qs[32];
};
static_assert(sizeof(block_q4_0) == 18 && sizeof(block_q8_1) == 36);

extern "C" __global__ void quantize_q8_1(const float *x, block_q8_1 *y,
                                         int kx) {
  const int ix = blockDim.x * blockIdx.x + threadIdx.x;
  if (ix >= kx)
    return;
  const int ib = ix / 32, iqs = ix % 32;
  const float xi = x[ix];
  float amax = fabsf(xi), sum = xi;
#pragma unroll
  for (int offset = 16; offset > 0; offset >>= 1) {
    amax = fmaxf(amax, __shfl_xor(amax, offset, 32));
    sum += __shfl_xor(sum, offset, 32);
  }
  const float d = amax / 127;
  y[ib].qs[iqs] = amax == 0.0f ? 0 : (int8_t)roundf(xi / d);
  if (iqs > 0)
    return;
  y[ib].d = d;
  y[ib].s = sum;
}

static __device__ __forceinline__ int get_int_b2(const void *x, int i32) {
  const uint16_t *x16 = (const uint16_t *)x;
  int v = x16[2 * i32 + 0] << 0;
  v |= x16[2 * i32 + 1] << 16;
  return v;
}
extern "C" __global__ void __launch_bounds__(128)
    mul_mat_vec_q4_0(const block_q4_0 *w, const block_q8_1 *y, float *dst,
                     int ncols) {
  const int row = blockIdx.x, lane = threadIdx.x, warp = threadIdx.y;
  const int blocks = ncols / 32;
  float tmp = 0;
  for (int kb = (warp * WARP + lane) / 4; kb < blocks; kb += 2 * WARP / 4) {
    const block_q4_0 *bq = w + (size_t)row * blocks + kb;
    const int k = lane % 4;
    int v = get_int_b2(bq->qs, k);
    const int *u = (const int *)y[kb].qs;
    int sumi = __builtin_amdgcn_sdot4(v & 0x0f0f0f0f, u[k], 0, false);
    sumi = __builtin_amdgcn_sdot4(v >> 4 & 0x0f0f0f0f, u[k + 4], sumi, false);
    tmp += (float)bq->d * (sumi * (float)y[kb].d - 8.f / 4 * (float)y[kb].s);
  }
  __shared__ float part[WARP];
  if (warp > 0)
    part[lane] = tmp;
  __syncthreads();
  if (warp > 0)
    return;
  tmp += part[lane];
  for (int m = 32; m > 0; m >>= 1)
    tmp += __shfl_xor(tmp, m);
  if (lane == 0)
    dst[row] = tmp;
}

// Weights of four bits with zeros and scales of groups (GPTQ, AWQ) to halves
// by the bits of 1024.
extern "C" __global__ void dequant_awq(const uint32_t *q, const __half *scales,
                                       const uint32_t *zeros, __half *out,
                                       int rows, int words, int group) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
  if (c >= words)
    return;
  auto unpack = [](uint32_t v, half2 *h) {
    uint32_t bits[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      bits[i] = (v >> (4 * i) & 0x000f000f) | 0x64006400;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      h[i] = __hsub2(*reinterpret_cast<half2 *>(&bits[i]),
                     __float2half2_rn(1024.f));
  };
  half2 w[4], z[4];
  unpack(q[r * words + c], w);
  unpack(zeros[r / group * words + c], z);
  const half2 *s = reinterpret_cast<const half2 *>(scales) +
                   ((size_t)(r / group) * words + c) * 4;
  half2 *o = reinterpret_cast<half2 *>(out) + ((size_t)r * words + c) * 4;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    o[i] = __hmul2(__hsub2(w[i], z[i]), s[i]);
}

// Paged attention of one query: a part of the keys for each workgroup.
template <int kHead, int kBlock, int kThreads>
__device__ void
paged(float *__restrict__ exp_sums, float *__restrict__ maxima,
      float *__restrict__ tmp_out, const __half *__restrict__ q,
      const __half *__restrict__ k_cache, const __half *__restrict__ v_cache,
      int kv_heads, float scale, const int *__restrict__ tables,
      const int *__restrict__ lens, int max_blocks, int partition) {
  const int head = blockIdx.x, seq = blockIdx.y, part = blockIdx.z;
  const int heads = gridDim.x, parts = gridDim.z;
  const int len = lens[seq];
  if (part * partition >= len)
    return;
  const int start = part * partition, end = min(start + partition, len);
  const int kv = head / (heads / kv_heads);
  extern __shared__ char memory[];
  float *logits = reinterpret_cast<float *>(memory);
  __shared__ float red[2 * kThreads / WARP];
  __shared__ __half qs[kHead];
  for (int i = threadIdx.x; i < kHead; i += kThreads)
    qs[i] = q[((size_t)seq * heads + head) * kHead + i];
  __syncthreads();
  float top = -FLT_MAX;
  // Four threads a key, keys in the layout [blocks, heads, head/8, block, 8].
  for (int t = start + threadIdx.x / 4; t < end; t += kThreads / 4) {
    const int64_t block = tables[seq * max_blocks + t / kBlock];
    const __half *k = k_cache + (block * kv_heads + kv) * kHead * kBlock;
    float dot = 0;
    for (int d = threadIdx.x % 4 * 8; d < kHead; d += 32) {
      half8 kk =
          *reinterpret_cast<const half8 *>(k + d * kBlock + t % kBlock * 8);
#pragma unroll
      for (int i = 0; i < 8; ++i)
        dot += (float)kk[i] * __half2float(qs[d + i]);
    }
    dot += __shfl_xor(dot, 2);
    dot += __shfl_xor(dot, 1);
    dot *= scale;
    if (threadIdx.x % 4 == 0)
      logits[t - start] = dot;
    top = fmaxf(top, dot);
  }
  for (int m = 32; m >= 4; m /= 2)
    top = fmaxf(top, __shfl_xor(top, m));
  if (threadIdx.x % WARP == 0)
    red[threadIdx.x / WARP] = top;
  __syncthreads();
  top =
      threadIdx.x % WARP < kThreads / WARP ? red[threadIdx.x % WARP] : -FLT_MAX;
  for (int m = kThreads / WARP / 2; m; m /= 2)
    top = fmaxf(top, __shfl_xor(top, m));
  top = __shfl(top, 0);
  float sum = 0;
  for (int i = threadIdx.x; i < end - start; i += kThreads) {
    float e = __expf(logits[i] - top);
    logits[i] = e;
    sum += e;
  }
  for (int m = 32; m; m /= 2)
    sum += __shfl_xor(sum, m);
  if (threadIdx.x % WARP == 0)
    red[kThreads / WARP + threadIdx.x / WARP] = sum;
  __syncthreads();
  sum = 0;
  for (int w = 0; w < kThreads / WARP; ++w)
    sum += red[kThreads / WARP + w];
  const size_t at = ((size_t)seq * heads + head) * parts + part;
  if (threadIdx.x == 0) {
    exp_sums[at] = sum;
    maxima[at] = top;
  }
  for (int d = threadIdx.x; d < kHead; d += kThreads) {
    float acc = 0;
    for (int t = start; t < end; ++t) {
      const int64_t block = tables[seq * max_blocks + t / kBlock];
      acc +=
          logits[t - start] *
          __half2float(v_cache[((block * kv_heads + kv) * kHead + d) * kBlock +
                               t % kBlock]);
    }
    tmp_out[at * kHead + d] = acc / (sum + 1e-6f);
  }
}
extern "C" __global__ void paged_attention(float *exp_sums, float *maxima,
                                           float *tmp_out, const __half *q,
                                           const __half *k, const __half *v,
                                           int kv_heads, float scale,
                                           const int *tables, const int *lens,
                                           int max_blocks, int partition) {
  paged<64, 16, 128>(exp_sums, maxima, tmp_out, q, k, v, kv_heads, scale,
                     tables, lens, max_blocks, partition);
}

// Flash attention with matrix instructions of 32 x 32: S transposed, so that
// P is B of the next product after an exchange between halves of the wave.
extern "C" __global__ void __launch_bounds__(256)
    flash_fwd(const half8 *Q, const half8 *K, const _Float16 *V, float *O,
              int n, float scale) {
  __shared__ __attribute__((aligned(16))) _Float16 ks[32 * 72], vs[64 * 40];
  const int wave = threadIdx.x >> 6, lane = threadIdx.x & 63;
  const int l32 = lane & 31, hi = lane >> 5;
  const int row = (blockIdx.x * 4 + wave) * 32 + l32;
  half8 qf[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    qf[i] = Q[row * 8 + i * 2 + hi];
  float16v acc[2] = {};
  float m = -INFINITY, l = 0;
  for (int j = 0; j < n; j += 32) {
    __syncthreads();
    {
      int r = threadIdx.x >> 3, c = threadIdx.x & 7;
      *(half8 *)&ks[r * 72 + c * 8] = K[(j + r) * 8 + c];
      half8 v = *(const half8 *)&V[(j + r) * 64 + c * 8];
#pragma unroll
      for (int i = 0; i < 8; ++i)
        vs[(c * 8 + i) * 40 + r] = v[i];
    }
    __syncthreads();
    float16v s = {};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      half8 kf = *(const half8 *)&ks[l32 * 72 + i * 16 + hi * 8];
      half4 k0 = kf.lo, k1 = kf.hi, q0 = qf[i].lo, q1 = qf[i].hi;
      s = __builtin_amdgcn_mfma_f32_32x32x8f16(k0, q0, s, 0, 0, 0);
      s = __builtin_amdgcn_mfma_f32_32x32x8f16(k1, q1, s, 0, 0, 0);
    }
    float top = m;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      s[i] *= scale;
      top = fmaxf(top, s[i]);
    }
    top = fmaxf(top, __shfl_xor(top, 32));
    float alpha = __builtin_amdgcn_exp2f(m - top), sum = 0;
    m = top;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      s[i] = __builtin_amdgcn_exp2f(s[i] - m);
      sum += s[i];
    }
    l = l * alpha + sum + __shfl_xor(sum, 32);
    acc[0] *= alpha;
    acc[1] *= alpha;
#pragma unroll
    for (int g = 0; g < 4; ++g) {
      half4 p;
#pragma unroll
      for (int i = 0; i < 4; ++i)
        p[i] = (_Float16)s[g * 4 + i];
#pragma unroll
      for (int d = 0; d < 2; ++d) {
        half4 v = *(const half4 *)&vs[(d * 32 + l32) * 40 + g * 8 + hi * 4];
        acc[d] = __builtin_amdgcn_mfma_f32_32x32x8f16(v, p, acc[d], 0, 0, 0);
      }
    }
  }
#pragma unroll
  for (int d = 0; d < 2; ++d)
#pragma unroll
    for (int i = 0; i < 16; ++i)
      O[row * 64 + d * 32 + (i / 4) * 8 + hi * 4 + i % 4] = acc[d][i] / l;
}

// Rotary embedding of both styles with a cache of cosines and sines.
template <typename T, bool neox>
__device__ void apply_rotary(T *x, const T *cs, int i, int half_dim) {
  int a = neox ? i : 2 * i, b = neox ? half_dim + i : 2 * i + 1;
  float c = cs[i], s = cs[half_dim + i], u = x[a], v = x[b];
  x[a] = u * c - v * s;
  x[b] = v * c + u * s;
}
extern "C" __global__ void rotary(const int64_t *positions, _Float16 *q,
                                  _Float16 *k, const _Float16 *cache, int dim,
                                  int64_t q_stride, int64_t k_stride, int heads,
                                  int kv_heads, int head_size, int neox) {
  const int token = blockIdx.x;
  const _Float16 *cs = cache + positions[token] * dim;
  const int half_dim = dim / 2;
  for (int i = threadIdx.x; i < heads * half_dim; i += blockDim.x) {
    _Float16 *x = q + token * q_stride + i / half_dim * head_size;
    neox ? apply_rotary<_Float16, true>(x, cs, i % half_dim, half_dim)
         : apply_rotary<_Float16, false>(x, cs, i % half_dim, half_dim);
  }
  for (int i = threadIdx.x; i < kv_heads * half_dim; i += blockDim.x) {
    _Float16 *x = k + token * k_stride + i / half_dim * head_size;
    neox ? apply_rotary<_Float16, true>(x, cs, i % half_dim, half_dim)
         : apply_rotary<_Float16, false>(x, cs, i % half_dim, half_dim);
  }
}

// Layer norm by Welford, vectors of four and a tail, block of any size.
struct Welford {
  float mean, m2, n;
};
__device__ Welford combine(Welford a, Welford b) {
  float n = a.n + b.n;
  if (n == 0)
    return a;
  float d = b.mean - a.mean, f = b.n / n;
  return {a.mean + d * f, a.m2 + b.m2 + d * d * a.n * f, n};
}
extern "C" __global__ void layer_norm(const float *x, const float *g,
                                      const float *b, float *out, int n,
                                      float eps) {
  extern __shared__ float shared[];
  const float *row = x + (size_t)blockIdx.x * n;
  Welford w{0, 0, 0};
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    w = combine(w, {row[i], 0, 1});
  for (int d = 32; d; d /= 2)
    w = combine(
        w, {__shfl_down(w.mean, d), __shfl_down(w.m2, d), __shfl_down(w.n, d)});
  int waves = (blockDim.x + 63) / 64;
  float3 *all = reinterpret_cast<float3 *>(shared);
  if (threadIdx.x % 64 == 0)
    all[threadIdx.x / 64] = make_float3(w.mean, w.m2, w.n);
  __syncthreads();
  w = {0, 0, 0};
  for (int i = 0; i < waves; ++i)
    w = combine(w, {all[i].x, all[i].y, all[i].z});
  float r = rsqrtf(w.m2 / w.n + eps);
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    out[(size_t)blockIdx.x * n + i] = (row[i] - w.mean) * r * g[i] + b[i];
}

// Product by stream-K: workgroups take equal shares of all steps of all tiles,
// those in the middle of a tile hand their part on.
extern "C" __global__ void __launch_bounds__(256)
    stream_k(const _Float16 *A, const _Float16 *B, float *C, float *parts,
             int *flags, int M, int N, int K, int steps_each) {
  __shared__ __attribute__((aligned(16))) _Float16 sa[2][64 * 40],
      sb[2][64 * 40];
  const int per_tile = K / 32, tiles = M / 64 * (N / 64);
  int step = blockIdx.x * steps_each;
  const int last = min(step + steps_each, per_tile * tiles);
  const int wave = threadIdx.x / 64, lane = threadIdx.x % 64;
  while (step < last) {
    const int tile = step / per_tile, first = step % per_tile;
    const int until = min(per_tile, first + last - step);
    const int row0 = tile / (N / 64) * 64, col0 = tile % (N / 64) * 64;
    const int r = threadIdx.x / 4, c = threadIdx.x % 4 * 8;
    float4v acc[4] = {};
    half8 a = *(const half8 *)&A[(row0 + r) * K + first * 32 + c];
    half8 b = *(const half8 *)&B[(col0 + r) * K + first * 32 + c];
    for (int k = first; k < until; ++k) {
      _Float16 *ta = sa[k & 1], *tb = sb[k & 1];
      *(half8 *)&ta[r * 40 + c] = a;
      *(half8 *)&tb[r * 40 + c] = b;
      __syncthreads();
      if (k + 1 < until) {
        a = *(const half8 *)&A[(row0 + r) * K + (k + 1) * 32 + c];
        b = *(const half8 *)&B[(col0 + r) * K + (k + 1) * 32 + c];
      }
#pragma unroll
      for (int kk = 0; kk < 32; kk += 16) {
        half4 fa =
            *(half4 *)&ta[(wave * 16 + lane % 16) * 40 + kk + lane / 16 * 4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          half4 fb =
              *(half4 *)&tb[(j * 16 + lane % 16) * 40 + kk + lane / 16 * 4];
          acc[j] =
              __builtin_amdgcn_mfma_f32_16x16x16f16(fa, fb, acc[j], 0, 0, 0);
        }
      }
    }
    __syncthreads();
    if (first != 0) { // somebody else finishes this tile
      float *mine = parts + (size_t)blockIdx.x * 64 * 64;
      for (int j = 0; j < 4; ++j)
        for (int i = 0; i < 4; ++i)
          mine[(j * 4 + i) * 256 + threadIdx.x] = acc[j][i];
      __threadfence();
      __syncthreads();
      if (threadIdx.x == 0)
        __hip_atomic_store(flags + blockIdx.x, 1, __ATOMIC_RELEASE,
                           __HIP_MEMORY_SCOPE_AGENT);
    } else {
      int done = until;
      for (int peer = blockIdx.x + 1; done < per_tile; ++peer) {
        if (threadIdx.x == 0)
          while (!__hip_atomic_load(flags + peer, __ATOMIC_ACQUIRE,
                                    __HIP_MEMORY_SCOPE_AGENT))
            __builtin_amdgcn_s_sleep(1);
        __syncthreads();
        __threadfence();
        const float *theirs = parts + (size_t)peer * 64 * 64;
        for (int j = 0; j < 4; ++j)
          for (int i = 0; i < 4; ++i)
            acc[j][i] += theirs[(j * 4 + i) * 256 + threadIdx.x];
        done += steps_each;
      }
      for (int j = 0; j < 4; ++j)
        for (int i = 0; i < 4; ++i)
          C[(row0 + wave * 16 + lane / 16 * 4 + i) * N + col0 + j * 16 +
            lane % 16] = acc[j][i];
    }
    step += until - first;
  }
}

// Convolution of images: weights in constant memory, a tile with its border.
__constant__ float kernel5[25] = {1,  4, 6,  4,  1,  4, 16, 24, 16,
                                  4,  6, 24, 36, 24, 6, 4,  16, 24,
                                  16, 4, 1,  4,  6,  4, 1};
__device__ unsigned long long visits;
extern "C" __global__ void conv5x5(const float *in, float *out, int w, int h,
                                   unsigned long long *seen) {
  __shared__ float tile[20][20 + 1];
  const int x0 = blockIdx.x * 16 - 2, y0 = blockIdx.y * 16 - 2;
  for (int i = threadIdx.y * 16 + threadIdx.x; i < 400; i += 256) {
    int x = min(max(x0 + i % 20, 0), w - 1),
        y = min(max(y0 + i / 20, 0), h - 1);
    tile[i / 20][i % 20] = in[y * w + x];
  }
  __syncthreads();
  const int x = blockIdx.x * 16 + threadIdx.x,
            y = blockIdx.y * 16 + threadIdx.y;
  if (x < w && y < h) {
    float sum = 0;
    for (int j = 0; j < 5; ++j)
      for (int i = 0; i < 5; ++i)
        sum += kernel5[j * 5 + i] * tile[threadIdx.y + j][threadIdx.x + i];
    out[y * w + x] = sum / 256;
  }
  if (threadIdx.x == 0 && threadIdx.y == 0)
    seen[blockIdx.y * gridDim.x + blockIdx.x] = atomicAdd(&visits, 1ull);
}

// Softmax over a row in registers of a wave, logits of bf16, online.
extern "C" __global__ void __launch_bounds__(256)
    online_softmax(const __hip_bfloat16 *x, __hip_bfloat16 *y, int rows,
                   int n) {
  int row = blockIdx.x * 4 + threadIdx.x / 64, lane = threadIdx.x % 64;
  if (row >= rows)
    return;
  x += (size_t)row * n;
  y += (size_t)row * n;
  float m = -INFINITY, s = 0;
  for (int i = lane; i < n; i += 64) {
    float v = __bfloat162float(x[i]), top = fmaxf(m, v);
    s = s * __expf(m - top) + __expf(v - top);
    m = top;
  }
#pragma unroll
  for (int d = 1; d < 64; d *= 2) {
    float om = __shfl_xor(m, d), os = __shfl_xor(s, d), top = fmaxf(m, om);
    s = (m == -INFINITY ? 0 : s * __expf(m - top)) +
        (om == -INFINITY ? 0 : os * __expf(om - top));
    m = top;
  }
  for (int i = lane; i < n; i += 64)
    y[i] = __float2bfloat16(__expf(__bfloat162float(x[i]) - m) / s);
}
