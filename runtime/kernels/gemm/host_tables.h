//===- host_tables.h - Codes as floats, looked up in tables -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Streams (host_stream.h) of codes for CPUs that round to bf16 by an
// instruction but multiply pairs slowly, as those with a matrix unit: there a
// product of pairs takes as long as four multiply-adds of floats. So what a
// code stands for is rounded once, in a table of floats, which the codes look
// up:
//
//   4-bit codes   16 values for each scale; lanes shift their code into place
//   8-bit codes   128 magnitudes for each row, bytes of bf16: two lookups a
//   code
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_HOSTTABLES_H
#define HK_KERNELS_GEMM_HOSTTABLES_H

#include "kernels/gemm/host_pairs.h"

namespace hk {

#if defined(__AVX512BF16__) && defined(__AVX512VBMI__)
/// Codes of 4 bits with a scale for 32 of them, or for whole steps; rows begin
/// at a byte. A step is 64 codes.
template <class L, int Depth> struct NibbleTables : PairScales<L, Depth> {
  using Base = PairScales<L, Depth>;
  using Decode = typename L::Decode;
  using typename Base::Row, typename Base::Source, typename Base::V;
  static constexpr int W = kHostLanes, kVectors = 4;
  static constexpr bool kTwo = Base::kSpan == 32, kSumsTwice = true;
  static constexpr int kSpan = kTwo ? 64 : Base::kSpan;
  static constexpr int kTables = kTwo ? 2 : 1;
  /// The rounded values of the codes, by scale.
  struct Block {
    V table[kTables];
  };

  HK_MEM static Block block(const Source &b, const Row &row, i64 k) {
    auto first = Base::block(b, row, k);
    ScaleOf<W> of = first.of;
    // Lanes in turn have the one scale and the other.
    if constexpr (kTwo) {
      i64 i = Base::scaleIndex(b, k);
      of.scale = inTurn(row.scale + i);
      if constexpr (Decode::kHasZeros)
        of.zero = inTurn(row.zero + i);
    }
    auto values = bf16Of(valuesOf<L>(codesTwice(0), of),
                         valuesOf<L>(codesTwice(W / 2), of), first.tiny);
    Block block;
    block.table[0] = evenOf<W>(values);
    if constexpr (kTwo)
      block.table[1] = oddOf<W>(values);
    return block;
  }
  HK_MEM static void load(const Source &b, const Block &block, i64 row, i64 k,
                          V (&x)[kVectors]) {
    auto data = reinterpret_cast<const u8 *>(b.packedAt(row, k));
    HK_UNROLL for (int v = 0; v < kVectors; ++v) {
      int table = v * kTables / kVectors;
      auto words = repeated(data + table * kWords * 4, AllLanes{});
      Vec<u32, W> by;
      HK_UNROLL for (int e = 0; e < W; ++e) by[e] = u32(4 * nibbleAt(v, e));
      // The lookup takes the low 4 bits of its index.
      x[v] = __builtin_ia32_permvarsf512(block.table[table],
                                         bitCast<Vec<i32, W>>(words >> by));
    }
  }
  HK_MEM static void order(V (&x)[kVectors]) {
    V in[kVectors] = {x[0], x[1], x[2], x[3]};
    HK_UNROLL for (int v = 0; v < kVectors; ++v)
        HK_UNROLL for (int e = 0; e < W; ++e) {
      int from =
          v * kTables / kVectors * kWords * 8 + e % kWords * 8 + nibbleAt(v, e);
      x[v][e] = in[from / W][from % W];
    }
  }

private:
  /// Words of 8 codes with a table.
  static constexpr int kWords = kVectors * W / 8 / kTables;
  /// The code of its word that lane `e` of vector `v` looks up.
  static constexpr int nibbleAt(int v, int e) {
    return e / kWords * (8 * kWords / W) + v % (8 * kWords / W);
  }
  template <int... J>
  HK_MEM static Vec<u32, W> repeated(const u8 *data, Lanes<J...>) {
    auto words =
        *reinterpret_cast<const typename Aligned<Vec<u32, kWords>, 1>::type *>(
            data);
    return __builtin_shufflevector(words, words, (J % kWords)...);
  }
  HK_MEM static V inTurn(const float *two) {
    V x;
    HK_UNROLL for (int e = 0; e < W; ++e) x[e] = two[e % 2];
    return x;
  }
  /// The unscaled values of eight codes from `first` on, each in two lanes.
  HK_MEM static V codesTwice(u32 first) {
    Vec<u32, W> codes = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7};
    return convertTo<float, W>(valuesOfCodes<L::kMem, W>(codes + first));
  }
};

/// Codes of 8 bits, floats or integers, with one scale for a row.
template <class L, int Depth> struct ByteTables : PairScales<L, Depth> {
  using Base = PairScales<L, Depth>;
  using Decode = typename L::Decode;
  using Unscaled = ByteStream<L, float>;
  using typename Base::Source, typename Base::V;
  static constexpr int W = kHostLanes, kVectors = 4;
  static constexpr bool kSumsTwice = true, kInteger = L::kMem == DType::I8;
  /// The bytes of the rounded values of magnitudes 0 to 127, and of what stands
  /// for no magnitude below 128: the integer -128, the NaN of fnuz.
  struct Row {
    ByteCodes low[2], high[2];
    u8 lowOfLast, highOfLast;
  };
  using Block = Row;

  template <int R>
  HK_MEM static void start(const Source &b, i64 row, i64 depth,
                           typename Base::template Room<R> &room,
                           Row (&to)[R]) {
    typename Base::Row scales[R];
    Base::template start<R>(b, row, depth, room, scales);
    HK_UNROLL for (int r = 0; r < R; ++r)
        makeTables(Base::block(b, scales[r], 0), to[r]);
  }
  HK_MEM static Block block(const Source &, const Row &row, i64) { return row; }
  HK_MEM static void load(const Source &b, const Block &block, i64 row, i64 k,
                          V (&x)[kVectors]) {
    ByteCodes code = codesAt(b, row, k), magnitude = code;
    if constexpr (kInteger)
      magnitude = bitCast<ByteCodes>(
          __builtin_elementwise_abs(bitCast<Vec<i8, 64>>(code)));
    ByteCodes low = lookUp(block.low, magnitude),
              high = lookUp(block.high, magnitude) ^ (code & u8(0x80));
    if constexpr (kHasLast) {
      low = code == u8(0x80) ? ByteCodes(block.lowOfLast) : low;
      high = code == u8(0x80) ? ByteCodes(block.highOfLast) : high;
    }
    Values(low, high).floats(x);
  }
  HK_MEM static void order(V (&x)[kVectors]) { Unscaled::order(x); }

private:
  using Chars = Vec<char, 64>;
  using AllBytes = __make_integer_seq<LaneSequence, int, 64>;
  /// Of any type: only bytes are put together.
  using Values = ByteValues<kInteger ? DType::F8E4M3FN : L::kMem>;
  static constexpr bool kHasLast = [] {
    if constexpr (kInteger)
      return true;
    else
      return smallFloat<L::kMem>().fnuz;
  }();

  HK_MEM static void makeTables(const typename Base::Block &block, Row &to) {
    auto rounded = [&](V low, V high) {
      return bf16Of(Decode::template value<W>(low, block.of),
                    Decode::template value<W>(high, block.of), block.tiny);
    };
    HK_UNROLL for (int half = 0; half < 2; ++half) {
      auto at = reinterpret_cast<const V *>(kMagnitudes.value) + 4 * half;
      auto first = rounded(at[0], at[1]), second = rounded(at[2], at[3]);
      to.low[half] = bytesOf<0>(first, second, AllBytes{});
      to.high[half] = bytesOf<1>(first, second, AllBytes{});
    }
    u32 last = rounded(V(-128.f), V(-128.f))[0];
    to.lowOfLast = u8(kInteger ? last : 0xC0);
    to.highOfLast = u8(kInteger ? last >> 8 : 0x7F);
  }

  struct Magnitudes {
    alignas(64) float value[128] = {};
    constexpr Magnitudes() {
      for (u32 code = 0; code < 128; ++code)
        value[code] =
            kInteger ? float(code)
                     : __builtin_bit_cast(float, Values::bf16Of(code) << 16);
    }
  };
  static constexpr Magnitudes kMagnitudes = {};

  HK_MEM static ByteCodes codesAt(const Source &b, i64 row, i64 k) {
    using Memory = typename Aligned<ByteCodes, 1>::type;
    return *reinterpret_cast<const Memory *>(b.data + b.offset(row, k));
  }
  HK_MEM static ByteCodes lookUp(const ByteCodes (&table)[2], ByteCodes code) {
    return bitCast<ByteCodes>(__builtin_ia32_vpermi2varqi512(
        bitCast<Chars>(table[0]), bitCast<Chars>(code),
        bitCast<Chars>(table[1])));
  }
  /// The lower bytes of 64 halves, or the upper ones.
  template <int Part, class T, int... J>
  HK_MEM static ByteCodes bytesOf(T first, T second, LaneSequence<int, J...>) {
    return __builtin_shufflevector(bitCast<ByteCodes>(first),
                                   bitCast<ByteCodes>(second),
                                   (2 * J + Part)...);
  }
};

/// Whether few rows meet such codes by tables of floats.
template <class L> constexpr bool readsTables() {
#if defined(__AMX_BF16__)
  using Decode = typename L::Decode;
  if constexpr (scalesSteps<L>() && L::kResult == DType::BF16) {
    if constexpr (isPacked(L::kMem))
      return Decode::kDepth == 32 || Decode::kDepth % 64 == 0;
    else if constexpr (isFp8(L::kMem) || L::kMem == DType::I8)
      return Decode::kDepth == 0 && !Decode::kHasZeros &&
             Decode::kFixedZero == 0;
  }
#endif
  return false;
}
template <class L, class Word, int Depth> constexpr auto tableWords() {
  if constexpr (!__is_same(Word, float) || !readsTables<L>())
    return hostWords<L, Word, Depth>();
  else if constexpr (isPacked(L::kMem))
    return NibbleTables<L, Depth>{};
  else
    return ByteTables<L, Depth>{};
}
#else
template <class L> constexpr bool readsTables() { return false; }
template <class L, class Word, int Depth> constexpr auto tableWords() {
  return hostWords<L, Word, Depth>();
}
#endif

/// The quickest stream for few rows of A.
template <class L, class Word, int Depth>
using SkinnyWords = decltype(tableWords<L, Word, Depth>());

} // namespace hk

#endif // HK_KERNELS_GEMM_HOSTTABLES_H
