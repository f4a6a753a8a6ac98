//===- host.h - Matrix products of one host thread -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pieces of a host product: widening rows to 32-bit carriers, packing B
// into panels of kPanel columns that stay in L1, and the register-blocked
// microkernel that walks one panel. Everything is a vector as wide as the
// CPU's; a product of bytes accumulates in i32, everything else in f32.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_MMA_HOST_H
#define HK_KERNELS_DEVICE_MMA_HOST_H

#include "kernels/device/io.h"

namespace hk {

#if defined(__AVX512F__)
inline constexpr int kHostLanes = 16;
/// Rows of the widest microkernel: accumulators, two panel vectors and one
/// broadcast fill the register file.
inline constexpr int kHostMicroRows = 12;
#else
inline constexpr int kHostLanes = 8;
inline constexpr int kHostMicroRows = 6;
#endif
/// Columns of B packed together.
inline constexpr int kPanel = 2 * kHostLanes;

template <class Acc> using HostVec = Vec<Acc, kHostLanes>;

/// Up to kHostLanes elements from `p + i`, zero beyond `count`.
template <DType D, class Acc>
HK_DEV HostVec<Acc> loadLanes(const Storage<D> *p, i64 i, i64 count) {
  constexpr int size = int(sizeof(Storage<D>));
  if (count >= kHostLanes)
    return convertTo<Acc, kHostLanes>(load<D, kHostLanes, size>(p, i));
  if (count <= 0)
    return HostVec<Acc>(0);
  return convertTo<Acc, kHostLanes>(
      loadMasked<D, kHostLanes, size>(p, i, count));
}

template <int... J> struct Lanes {};
template <class T, T... J> struct LaneSequence {
  using Type = Lanes<int(J)...>;
};
using AllLanes = __make_integer_seq<LaneSequence, int, kHostLanes>::Type;

/// One step of a transposition: swaps the off-diagonal blocks of S lanes.
template <int S, class V, int... J>
HK_DEV void swapBlocks(V &a, V &b, Lanes<J...>) {
  V lo = __builtin_shufflevector(a, b, ((J & S) ? kHostLanes + J - S : J)...);
  V hi = __builtin_shufflevector(a, b, ((J & S) ? kHostLanes + J : J + S)...);
  a = lo;
  b = hi;
}
template <int S, class V> HK_DEV void transposeStep(V (&r)[kHostLanes]) {
  HK_UNROLL for (int i = 0; i < kHostLanes; ++i) if (!(i & S))
      swapBlocks<S>(r[i], r[i + S], AllLanes{});
  if constexpr (S > 1)
    transposeStep<S / 2>(r);
}
/// Square transposition in registers.
template <class V> HK_DEV void transposeLanes(V (&r)[kHostLanes]) {
  transposeStep<kHostLanes / 2>(r);
}

/// Rows [0, rows) x k [0, depth) of an operand into to[row][k], `stride` apart;
/// zero up to Depth (a multiple of kHostLanes) and, when rows are contiguous in
/// memory, up to the next multiple of kHostLanes rows. from.lanes(row, k,
/// count) gives kHostLanes consecutive elements along the dim contiguous in
/// memory.
template <class Source, class Acc>
void packRows(const Source &from, i64 rows, i64 depth, Acc *to, i64 stride,
              i64 paddedDepth) {
  constexpr int W = kHostLanes;
  if constexpr (Source::kKContiguous) {
    for (i64 r = 0; r < rows; ++r)
      for (i64 k = 0; k < paddedDepth; k += W)
        *reinterpret_cast<HostVec<Acc> *>(to + r * stride + k) =
            from.lanes(r, k, depth - k);
  } else {
    for (i64 r = 0; r < rows; r += W)
      for (i64 k = 0; k < paddedDepth; k += W) {
        HostVec<Acc> t[W];
        HK_UNROLL for (int e = 0; e < W; ++e) t[e] =
            k + e < depth ? from.lanes(r, k + e, rows - r) : HostVec<Acc>(0);
        transposeLanes(t);
        for (int e = 0; e < W && r + e < rows; ++e)
          *reinterpret_cast<HostVec<Acc> *>(to + (r + e) * stride + k) = t[e];
      }
  }
}

/// The same into a panel: to[k][kPanel columns], zero beyond `rows` and
/// `depth`.
template <class Source, class Acc>
void packPanel(const Source &from, i64 rows, i64 depth, Acc *to,
               i64 paddedDepth) {
  constexpr int W = kHostLanes;
  HK_UNROLL for (int half = 0; half < 2; ++half) {
    i64 first = half * W, live = rows - first;
    if constexpr (Source::kKContiguous) {
      for (i64 k = 0; k < paddedDepth; k += W) {
        HostVec<Acc> t[W];
        if (live >= W && depth - k >= W)
          HK_UNROLL for (int e = 0; e < W; ++e) t[e] =
              from.lanes(first + e, k, W);
        else
          HK_UNROLL for (int e = 0; e < W; ++e) t[e] =
              e < live ? from.lanes(first + e, k, depth - k) : HostVec<Acc>(0);
        transposeLanes(t);
        HK_UNROLL for (int e = 0; e < W; ++e) *
            reinterpret_cast<HostVec<Acc> *>(to + (k + e) * kPanel + first) =
            t[e];
      }
    } else {
      for (i64 k = 0; k < paddedDepth; ++k)
        *reinterpret_cast<HostVec<Acc> *>(to + k * kPanel + first) =
            k < depth ? from.lanes(first, k, live) : HostVec<Acc>(0);
    }
  }
}

template <class Acc>
HK_DEV HostVec<Acc> multiplyAdd(HostVec<Acc> a, HostVec<Acc> b,
                                HostVec<Acc> c) {
  if constexpr (__is_same(Acc, float))
    return __builtin_elementwise_fma(a, b, c);
  else
    return a * b + c;
}

/// c[R][kPanel] += a[R][depth] * panel[depth][kPanel].
template <int R, class Acc>
__attribute__((noinline)) void microKernel(const Acc *a, i64 strideA,
                                           const Acc *panel, i64 depth, Acc *c,
                                           i64 strideC) {
  using V = HostVec<Acc>;
  constexpr int W = kHostLanes;
  V acc[R][2];
  HK_UNROLL for (int r = 0; r < R; ++r) {
    acc[r][0] = *reinterpret_cast<const V *>(c + r * strideC);
    acc[r][1] = *reinterpret_cast<const V *>(c + r * strideC + W);
  }
  _Pragma("nounroll") for (i64 k = 0; k < depth; ++k) {
    V b0 = *reinterpret_cast<const V *>(panel + k * kPanel);
    V b1 = *reinterpret_cast<const V *>(panel + k * kPanel + W);
    HK_UNROLL for (int r = 0; r < R; ++r) {
      V x = V(a[r * strideA + k]);
      acc[r][0] = multiplyAdd<Acc>(x, b0, acc[r][0]);
      acc[r][1] = multiplyAdd<Acc>(x, b1, acc[r][1]);
    }
  }
  HK_UNROLL for (int r = 0; r < R; ++r) {
    *reinterpret_cast<V *>(c + r * strideC) = acc[r][0];
    *reinterpret_cast<V *>(c + r * strideC + W) = acc[r][1];
  }
}

/// c[rows][kPanel] += a[rows][depth] * panel[depth][kPanel] for any number of
/// rows.
template <class Acc, int R = kHostMicroRows>
HK_DEV void multiplyPanel(const Acc *a, i64 strideA, i64 rows, const Acc *panel,
                          i64 depth, Acc *c, i64 strideC) {
  for (; rows >= R; rows -= R, a += R * strideA, c += R * strideC)
    microKernel<R, Acc>(a, strideA, panel, depth, c, strideC);
  if constexpr (R > 1)
    if (rows > 0)
      multiplyPanel<Acc, (R > 8   ? 8
                          : R > 4 ? 4
                                  : R / 2)>(a, strideA, rows, panel, depth, c,
                                            strideC);
}

/// Sum of the lanes, pairwise.
template <class Acc, int V> HK_DEV Acc sumLanes(Vec<Acc, V> x) {
  if constexpr (V == 1)
    return x[0];
  else
    return sumLanes<Acc, V / 2>(Vec<Acc, V / 2>(x.lo) + Vec<Acc, V / 2>(x.hi));
}

} // namespace hk

#endif // HK_KERNELS_DEVICE_MMA_HOST_H
