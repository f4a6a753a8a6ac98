//===- host_pairs.h - Rows of weights as pairs of bf16 -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Streams (host_stream.h) for CPUs that multiply pairs of bf16: a step is
// vectors of pairs, one instruction for 32 products. One serves any operand;
// the others decode what is narrower than bf16 and round it as the graph does:
//
//   4-bit codes      one lookup a code in a table of the 16 rounded values
//   8-bit floats     two lookups a code, the bytes of the unscaled value
//   8-bit integers   widened
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_HOSTPAIRS_H
#define HK_KERNELS_GEMM_HOSTPAIRS_H

#include "kernels/gemm/host_stream.h"

namespace hk {

/// Any operand whose elements are exact in bf16.
template <class L> struct PairStream : LaneStream<L, float> {
  using Base = LaneStream<L, float>;
  using typename Base::Block, typename Base::Source;
  using V = HostVec<Bf16Pair>;
  static constexpr int W = kHostLanes, kVectors = 1;

  HK_MEM static void load(const Source &b, const Block &, i64 row, i64 k,
                          V (&x)[1]) {
    x[0] = b.pairs(row, k, 2 * W);
  }
  HK_MEM static void order(V (&)[1]) {}
};

#if defined(__AVX512BF16__) && defined(__AVX512VBMI__)
using Halves = Vec<u16, 2 * kHostLanes>;

/// The scales of a row, and whether they can make a number below 2^-126, which
/// the conversion to bf16 takes for zero: codes are zero or at least 2^-16.
template <class L, int Depth>
struct PairScales : ScaledStream<L, float, Depth> {
  using Base = ScaledStream<L, float, Depth>;
  using typename Base::Source;
  struct Row : Base::Row {
    bool tiny;
  };
  struct Block : Base::Block {
    bool tiny;
  };
  template <int R>
  HK_MEM static void start(const Source &b, i64 row, i64 depth,
                           typename Base::template Room<R> &room,
                           Row (&to)[R]) {
    typename Base::Row rows[R];
    bool small =
        Base::template start<R, !kNeverTiny>(b, row, depth, room, rows);
    HK_UNROLL for (int r = 0; r < R; ++r)
        to[r] = {rows[r], !kSafeZeros || small};
  }
  HK_MEM static Block block(const Source &b, const Row &row, i64 k) {
    return {Base::block(b, row, k), !kNeverTiny && row.tiny};
  }

private:
  /// Whether what a code and its zero point leave, times a scale of 2^-100 or
  /// plus a multiple of 2^-123, is zero or at least 2^-126.
  static constexpr bool safeZeros() {
    if constexpr (L::Decode::kHasZeros)
      return !info(L::Decode::kZero).isFloat || L::Decode::kZero == DType::F16;
    constexpr float zero = L::Decode::kFixedZero;
    return zero >= -128 && zero <= 255 && float(int(zero)) == zero;
  }
  static constexpr bool kSafeZeros = safeZeros();
  /// f16 has no number below 2^-24 but zero.
  static constexpr bool kNeverTiny =
      kSafeZeros && L::Decode::kScale == DType::F16;
};

/// bf16 of two vectors of decoded elements, one behind the other.
HK_DEV HostVec<Bf16Pair> bf16Of(HostVec<float> low, HostVec<float> high,
                                bool tiny) {
  constexpr int W = kHostLanes;
  if (__builtin_expect(!tiny, true))
    return bitCast<HostVec<Bf16Pair>>(
        __builtin_ia32_cvtne2ps2bf16_512(high, low));
  Halves both;
  both.lo = convertTo<u16, W>(bf16InUpperHalf<W>(low) >> 16);
  both.hi = convertTo<u16, W>(bf16InUpperHalf<W>(high) >> 16);
  return bitCast<HostVec<Bf16Pair>>(both);
}

/// Codes of 4 bits with their scale and zero point, not rounded to bf16 yet: a
/// code times a scale of 16 bits is exact, so that a sum with an offset rounds
/// once, whether or not it is fused.
template <class L>
HK_DEV HostVec<float> valuesOf(HostVec<float> codes,
                               const ScaleOf<kHostLanes> &of) {
  using Decode = typename L::Decode;
  if constexpr (Decode::kOffset && info(Decode::kScale).bits == 16)
    return __builtin_elementwise_fma(codes, of.scale, of.zero);
  else
    return Decode::template value<kHostLanes>(codes, of);
}

/// Halves 2 e + First of a and b.
template <int First, int... J>
HK_DEV Halves everyOther(Halves a, Halves b, LaneSequence<int, J...>) {
  return __builtin_shufflevector(a, b, (2 * J + First)...);
}
using AllHalves = __make_integer_seq<LaneSequence, int, 2 * kHostLanes>;

/// Codes of 4 bits; rows begin at a byte. Base: PairScales or LaneStream. A
/// step is 32 bytes, one code of each in either vector, and has one scale or
/// two.
template <class L, class Base> struct NibblePairs : Base {
  using Decode = typename L::Decode;
  using typename Base::Row, typename Base::Source;
  using V = HostVec<Bf16Pair>;
  static constexpr int W = kHostLanes, kVectors = 2;
  static constexpr int kSpan = Base::kSpan == 2 * W ? 4 * W : Base::kSpan;
  /// The values of the 16 codes in each half of a step.
  struct Block {
    V table;
  };

  HK_MEM static Block block(const Source &b, const Row &row, i64 k) {
    Vec<u32, W> codes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    auto values = convertTo<float, W>(valuesOfCodes<L::kMem, W>(codes));
    if constexpr (Decode::kHasScales) {
      auto first = Base::block(b, row, k), second = first;
      if constexpr (kSpan != Base::kSpan)
        second = Base::block(b, row, k + Base::kSpan);
      return {bf16Of(valuesOf<L>(values, first.of),
                     valuesOf<L>(values, second.of), first.tiny)};
    } else
      return {bf16Of(values, values, false)};
  }
  HK_MEM static void load(const Source &b, const Block &block, i64 row, i64 k,
                          V (&x)[2]) {
    using Codes = typename Aligned<Vec<u8, 2 * W>, 1>::type;
    auto code = convertTo<u16, 2 * W>(
        *reinterpret_cast<const Codes *>(b.packedAt(row, k)));
    // The lookup takes the low 5 bits of its index; where both halves of the
    // table are the same it does not matter which.
    if constexpr (kSpan == Base::kSpan) {
      x[0] = lookUp(block, code);
      x[1] = lookUp(block, code >> 4);
      return;
    }
    Halves half;
    half.lo = u16(0);
    half.hi = u16(16);
    x[0] = lookUp(block, (code & u16(15)) | half);
    x[1] = lookUp(block, code >> 4 | half);
  }
  HK_MEM static void order(V (&x)[2]) {
    auto a = bitCast<Halves>(x[0]), b = bitCast<Halves>(x[1]);
    x[0] = bitCast<V>(everyOther<0>(a, b, AllHalves{}));
    x[1] = bitCast<V>(everyOther<1>(a, b, AllHalves{}));
  }

private:
  HK_MEM static V lookUp(const Block &block, Halves index) {
    using Words = Vec<i16, 2 * W>;
    return bitCast<V>(__builtin_ia32_permvarhi512(bitCast<Words>(block.table),
                                                  bitCast<Words>(index)));
  }
};

/// Floats of 8 bits.
template <class L, class Base> struct BytePairs : Base {
  using Decode = typename L::Decode;
  using typename Base::Block, typename Base::Source;
  using V = HostVec<Bf16Pair>;
  using Values = ByteValues<L::kMem>;
  static constexpr int W = kHostLanes, kVectors = 2;

  HK_MEM static void load(const Source &b, const Block &block, i64 row, i64 k,
                          V (&x)[2]) {
    Values values(ByteStream<L, float>::codesAt(b, row, k));
    x[0] = values.template pairs<0>();
    x[1] = values.template pairs<8>();
    if constexpr (Decode::kHasScales)
      HK_UNROLL for (int v = 0; v < 2; ++v) x[v] = bf16Of(
          Decode::template value<W>(evenOf<W>(x[v]), block.of),
          Decode::template value<W>(oddOf<W>(x[v]), block.of), block.tiny);
  }
  HK_MEM static void order(V (&x)[2]) {
    auto a = bitCast<Halves>(x[0]), b = bitCast<Halves>(x[1]);
    x[0] = ordered<0>(a, b, AllHalves{});
    x[1] = ordered<1>(a, b, AllHalves{});
  }

private:
  /// The element that half e of x[v] holds: those of scaled pairs are even ones
  /// first.
  static constexpr int elementAt(int v, int e) {
    if (Decode::kHasScales)
      return 2 * Values::wordAt(v, e % W) + e / W;
    return 2 * Values::wordAt(v, e / 2) + e % 2;
  }
  template <int Part, int... J>
  HK_MEM static V ordered(Halves a, Halves b, LaneSequence<int, J...>) {
    return bitCast<V>(__builtin_shufflevector(a, b, elementAt(Part, J)...));
  }
};

/// Integers of 8 bits.
template <class L, class Base> struct IntegerPairs : Base {
  using Decode = typename L::Decode;
  using typename Base::Block, typename Base::Source;
  using V = HostVec<Bf16Pair>;
  static constexpr int W = kHostLanes, kVectors = 1;

  HK_MEM static void load(const Source &b, const Block &block, i64 row, i64 k,
                          V (&x)[1]) {
    auto low = loadLanes<L::kMem, float>(b.data, b.offset(row, k), W);
    auto high = loadLanes<L::kMem, float>(b.data, b.offset(row, k + W), W);
    if constexpr (Decode::kHasScales)
      x[0] = bf16Of(Decode::template value<W>(low, block.of),
                    Decode::template value<W>(high, block.of), block.tiny);
    else
      x[0] = bf16Of(low, high, false);
  }
  HK_MEM static void order(V (&)[1]) {}
};

/// The quickest stream of pairs, of which `Depth` elements or fewer are read at
/// a time.
template <class L, int Depth, bool Scaled> constexpr auto pairsBase() {
  if constexpr (Scaled)
    return PairScales<L, Depth>{};
  else
    return LaneStream<L, float>{};
}
template <class L, int Depth> constexpr auto decodingPairs() {
  constexpr bool scaled = L::Decode::kHasScales;
  using Base = decltype(pairsBase<L, Depth, scaled>());
  // A step of 64 elements has one scale, of 4 bits also two.
  constexpr bool deep = !scaled || Base::kSpan % 64 == 0;
  constexpr bool two = Base::kSpan == 32;
  if constexpr (isPacked(L::kMem) && (deep || two))
    return NibblePairs<L, Base>{};
  else if constexpr (isFp8(L::kMem) && deep)
    return BytePairs<L, Base>{};
  else if constexpr (L::kMem == DType::I8)
    return IntegerPairs<L, Base>{};
  else
    return PairStream<L>{};
}
#else
template <class L, int Depth> constexpr auto decodingPairs() {
  return PairStream<L>{};
}
#endif

/// The quickest stream of words for an operand of which `Depth` elements of a
/// row, or fewer, are read at a time.
template <class L, class Word, int Depth> constexpr auto hostWords() {
  if constexpr (!__is_same(Word, Bf16Pair))
    return HostStream<L, Word, Depth>{};
  else if constexpr (scalesSteps<L>() ||
                     (!L::Decode::kDecodes && !L::kGathered))
    return decodingPairs<L, Depth>();
  else
    return PairStream<L>{};
}

} // namespace hk

#endif // HK_KERNELS_GEMM_HOSTPAIRS_H
