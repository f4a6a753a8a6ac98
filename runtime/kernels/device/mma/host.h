//===- host.h - Matrix products of one host thread -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pieces of a host product: widening rows to 32-bit words, packing B into
// panels of kPanel columns that stay in L1, and the register-blocked
// microkernel that walks one panel. Everything is a vector as wide as the
// CPU's; a product of bytes accumulates in i32, everything else in f32. Where
// the CPU multiplies pairs of bf16, a word holds two elements along k.
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

template <class Word> using HostVec = Vec<Word, kHostLanes>;

/// Two bf16 along k, the first one in the lower half: a word of packed
/// operands, as float and i32 are, each of which is one element.
using Bf16Pair = u32;

/// Elements along k of a word, and what its products are summed in.
template <class Word> struct HostWord {
  static constexpr int kElements = 1;
  using Sum = Word;
};
template <> struct HostWord<Bf16Pair> {
  static constexpr int kElements = 2;
  using Sum = float;
};

/// Pairs of elements that are exact in bf16.
template <int V>
HK_DEV Vec<Bf16Pair, V> pairsOf(Vec<float, V> even, Vec<float, V> odd) {
  return bitCast<Vec<u32, V>>(even) >> 16 |
         (bitCast<Vec<u32, V>>(odd) & 0xFFFF0000u);
}
template <int V> HK_DEV Vec<float, V> evenOf(Vec<Bf16Pair, V> pairs) {
  return bitCast<Vec<float, V>>(pairs << 16);
}
template <int V> HK_DEV Vec<float, V> oddOf(Vec<Bf16Pair, V> pairs) {
  return bitCast<Vec<float, V>>(pairs & 0xFFFF0000u);
}

#if defined(__AVX512BF16__)
/// Whether the CPU multiplies pairs at twice the rate of floats.
inline constexpr bool kMultipliesPairs = true;
/// c + both products of each pair; may take what is below 2^-126 for zero.
HK_DEV HostVec<float> multiplyPairs(HostVec<Bf16Pair> a, HostVec<Bf16Pair> b,
                                    HostVec<float> c) {
  using Pairs = __attribute__((__vector_size__(64))) __bf16;
  return __builtin_ia32_dpbf16ps_512(c, bitCast<Pairs>(a), bitCast<Pairs>(b));
}
#else
inline constexpr bool kMultipliesPairs = false;
HK_DEV HostVec<float> multiplyPairs(HostVec<Bf16Pair> a, HostVec<Bf16Pair> b,
                                    HostVec<float> c) {
  constexpr int W = kHostLanes;
  c = __builtin_elementwise_fma(evenOf<W>(a), evenOf<W>(b), c);
  return __builtin_elementwise_fma(oddOf<W>(a), oddOf<W>(b), c);
}
#endif

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

/// Words [w, w + kHostLanes) of row `row`, of an operand whose k is contiguous;
/// zero from k = depth on.
template <class Word, class Source>
HK_DEV HostVec<Word> wordsAlongK(const Source &from, i64 row, i64 w,
                                 i64 depth) {
  if constexpr (HostWord<Word>::kElements == 2)
    return from.pairs(row, 2 * w, depth - 2 * w);
  else
    return from.lanes(row, w, depth - w);
}
/// Word `w` of rows [row, row + kHostLanes), of an operand whose rows are
/// contiguous; zero beyond `rows`.
template <class Word, class Source>
HK_DEV HostVec<Word> wordsAlongRows(const Source &from, i64 row, i64 w,
                                    i64 depth, i64 rows) {
  constexpr int E = HostWord<Word>::kElements;
  auto at = [&](i64 k) {
    return k < depth ? from.lanes(row, k, rows - row)
                     : HostVec<typename HostWord<Word>::Sum>(0);
  };
  if constexpr (E == 2)
    return pairsOf<kHostLanes>(at(2 * w), at(2 * w + 1));
  else
    return at(w);
}

/// Rows [0, rows) x k [0, depth) of an operand into to[row][word], `stride`
/// apart; zero up to `words` (a multiple of kHostLanes) and, when rows are
/// contiguous in memory, up to the next multiple of kHostLanes rows.
/// from.lanes(row, k, count) gives kHostLanes consecutive elements along the
/// dim contiguous in memory, from.pairs twice as many along k.
template <class Word, class Source>
void packRows(const Source &from, i64 rows, i64 depth, Word *to, i64 stride,
              i64 words) {
  constexpr int W = kHostLanes;
  if constexpr (Source::kKContiguous) {
    for (i64 r = 0; r < rows; ++r)
      for (i64 w = 0; w < words; w += W)
        *reinterpret_cast<HostVec<Word> *>(to + r * stride + w) =
            wordsAlongK<Word>(from, r, w, depth);
  } else {
    for (i64 r = 0; r < rows; r += W)
      for (i64 w = 0; w < words; w += W) {
        HostVec<Word> t[W];
        HK_UNROLL for (int e = 0; e < W; ++e) t[e] =
            wordsAlongRows<Word>(from, r, w + e, depth, rows);
        transposeLanes(t);
        for (int e = 0; e < W && r + e < rows; ++e)
          *reinterpret_cast<HostVec<Word> *>(to + (r + e) * stride + w) = t[e];
      }
  }
}

/// The same into a panel: to[word][kPanel columns], zero beyond `rows` and
/// `depth`.
template <class Word, class Source>
void packPanel(const Source &from, i64 rows, i64 depth, Word *to, i64 words) {
  constexpr int W = kHostLanes, E = HostWord<Word>::kElements;
  auto put = [&](i64 w, i64 first, HostVec<Word> x) {
    *reinterpret_cast<HostVec<Word> *>(to + w * kPanel + first) = x;
  };
  HK_UNROLL for (int half = 0; half < 2; ++half) {
    i64 first = half * W, live = rows - first;
    if constexpr (Source::kKContiguous) {
      for (i64 w = 0; w < words; w += W) {
        HostVec<Word> t[W];
        // The whole square without a test of each row.
        i64 end = depth - E * w >= E * W ? E * (w + W) : depth;
        if (live >= W)
          HK_UNROLL for (int e = 0; e < W; ++e) t[e] =
              wordsAlongK<Word>(from, first + e, w, end);
        else
          HK_UNROLL for (int e = 0; e < W; ++e) t[e] =
              e < live ? wordsAlongK<Word>(from, first + e, w, end)
                       : HostVec<Word>(0);
        transposeLanes(t);
        HK_UNROLL for (int e = 0; e < W; ++e) put(w + e, first, t[e]);
      }
    } else {
      for (i64 w = 0; w < words; ++w)
        put(w, first, wordsAlongRows<Word>(from, first, w, depth, rows));
    }
  }
}

/// c + a * b; of pairs, the sum of both products.
template <class Word>
HK_DEV HostVec<typename HostWord<Word>::Sum>
multiplyAdd(HostVec<Word> a, HostVec<Word> b,
            HostVec<typename HostWord<Word>::Sum> c) {
  if constexpr (__is_same(Word, Bf16Pair))
    return multiplyPairs(a, b, c);
  else if constexpr (__is_same(Word, float))
    return __builtin_elementwise_fma(a, b, c);
  else
    return a * b + c;
}

/// Rows of memory that a product asks for while it multiplies, `each` of them
/// by a micro kernel: as many bytes of each as the words it has passed stand
/// for.
struct AskedRows {
  static constexpr bool kAsks = true;
  u64 from;
  i64 stride, rows, each;
  /// Bytes of kAskedWords words.
  i64 step;

  /// The rows of the next micro kernel.
  HK_MEM AskedRows take() {
    AskedRows taken = *this;
    taken.rows = rows < each ? rows : each;
    from += u64(taken.rows * stride);
    rows -= taken.rows;
    return taken;
  }
  HK_MEM void ask() {
    u64 row = from;
    _Pragma("nounroll") for (i64 r = 0; r < rows; ++r, row += u64(stride))
        __builtin_prefetch(reinterpret_cast<const void *>(row), 0, 3);
    from += u64(step);
  }
};
struct AsksNothing {
  static constexpr bool kAsks = false;
  HK_MEM AsksNothing take() { return {}; }
};
/// Words between two times that a micro kernel asks.
inline constexpr i64 kAskedWords = 16;

/// c[R][kPanel] (+)= a[R][words] * panel[words][kPanel]; `first`: c has nothing
/// yet.
template <int R, class Word, class Sum = typename HostWord<Word>::Sum,
          class Asked = AsksNothing>
__attribute__((noinline)) void
microKernel(const Word *a, i64 strideA, const Word *panel, i64 words, Sum *c,
            i64 strideC, Asked asked = {}, bool first = false) {
  using V = HostVec<Sum>;
  constexpr int W = kHostLanes;
  V acc[R][2];
  HK_UNROLL for (int r = 0; r < R; ++r) {
    acc[r][0] = first ? V(0) : *reinterpret_cast<const V *>(c + r * strideC);
    acc[r][1] =
        first ? V(0) : *reinterpret_cast<const V *>(c + r * strideC + W);
  }
  for (i64 w = 0; w < words;) {
    i64 end = words;
    if constexpr (Asked::kAsks) {
      end = w + kAskedWords < words ? w + kAskedWords : words;
      asked.ask();
    }
    _Pragma("nounroll") for (; w < end; ++w) {
      auto b0 = *reinterpret_cast<const HostVec<Word> *>(panel + w * kPanel);
      auto b1 =
          *reinterpret_cast<const HostVec<Word> *>(panel + w * kPanel + W);
      HK_UNROLL for (int r = 0; r < R; ++r) {
        auto x = HostVec<Word>(a[r * strideA + w]);
        acc[r][0] = multiplyAdd<Word>(x, b0, acc[r][0]);
        acc[r][1] = multiplyAdd<Word>(x, b1, acc[r][1]);
      }
    }
  }
  HK_UNROLL for (int r = 0; r < R; ++r) {
    *reinterpret_cast<V *>(c + r * strideC) = acc[r][0];
    *reinterpret_cast<V *>(c + r * strideC + W) = acc[r][1];
  }
}

/// c[rows][kPanel] (+)= a[rows][words] * panel[words][kPanel] for any number of
/// rows, while `asked` is asked for.
template <class Word, int R = kHostMicroRows,
          class Sum = typename HostWord<Word>::Sum, class Asked = AsksNothing>
HK_DEV void multiplyPanel(const Word *a, i64 strideA, i64 rows,
                          const Word *panel, i64 words, Sum *c, i64 strideC,
                          Asked asked = {}, bool first = false) {
  for (; rows >= R; rows -= R, a += R * strideA, c += R * strideC)
    microKernel<R, Word>(a, strideA, panel, words, c, strideC, asked.take(),
                         first);
  if constexpr (R > 1)
    if (rows > 0)
      multiplyPanel<Word, (R > 8   ? 8
                           : R > 4 ? 4
                                   : R / 2)>(a, strideA, rows, panel, words, c,
                                             strideC, asked, first);
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
