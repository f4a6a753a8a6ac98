//===- host_stream.h - Rows of weights as few rows meet them -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product with few rows reads each weight once and is over when the last one
// has come from memory, if widening and decoding keep up. A stream turns one
// step of a row into vectors of f32 (or i32) by whatever is quickest for how
// the row is stored, in whatever order that gives; the few rows of A are put
// into the same order once. One stream fits any operand, the others are:
//
//   bf16           a shift and a mask of each pair in place
//   4-bit codes    one lookup a code in a table of the 16 values that the
//                  block's scale and zero point leave, rounded as they must be
//   8-bit floats   two lookups a code: the bytes of its value in bf16
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_HOSTSTREAM_H
#define HK_KERNELS_GEMM_HOSTSTREAM_H

#include "hk/Contract/Slices.h"
#include "kernels/gemm/host_source.h"

namespace hk {

/// Consecutive elements (a, b) -> (even ones, odd ones).
template <class V, int... J> HK_DEV void splitPairs(V &a, V &b, Lanes<J...>) {
  V even = __builtin_shufflevector(a, b, (2 * J)...);
  b = __builtin_shufflevector(a, b, (2 * J + 1)...);
  a = even;
}

/// Any operand: consecutive elements.
template <class L, class Acc> struct LaneStream {
  using Source = HostSource<L, Acc>;
  using V = HostVec<Acc>;
  static constexpr int W = kHostLanes, kVectors = 2;
  /// Elements along k that share what a Block holds; 0: the whole row does.
  static constexpr int kSpan = 0;
  struct Row {};
  struct Block {};

  /// What serves row `row`, and in it the elements from `k` on.
  HK_MEM static Row row(const Source &, i64) { return {}; }
  HK_MEM static Block block(const Source &, const Row &, i64) { return {}; }
  /// A whole step of row `row` from `k` on.
  HK_MEM static void load(const Source &b, const Block &, i64 row, i64 k,
                          V (&x)[kVectors]) {
    x[0] = b.lanes(row, k, W);
    x[1] = b.lanes(row, k + W, W);
  }
  /// Consecutive elements into the order of load.
  HK_MEM static void order(V (&)[kVectors]) {}
};

/// bf16 as stored.
template <class L, class Acc> struct Bf16Stream : LaneStream<L, Acc> {
  using Base = LaneStream<L, Acc>;
  using typename Base::Block, typename Base::Source, typename Base::V;

  HK_MEM static void load(const Source &b, const Block &, i64 row, i64 k,
                          V (&x)[2]) {
    using Word = typename Aligned<Vec<u32, kHostLanes>, 2>::type;
    auto w = *reinterpret_cast<const Word *>(b.data + b.offset(row, k));
    x[0] = bitCast<V>(w << 16);
    x[1] = bitCast<V>(w & 0xFFFF0000u);
  }
  HK_MEM static void order(V (&x)[2]) { splitPairs(x[0], x[1], AllLanes{}); }
};

#if defined(__AVX512F__)
/// Codes of 4 bits with a scale for each so many of them, or none.
template <class L, class Acc> struct NibbleStream : LaneStream<L, Acc> {
  using Base = LaneStream<L, Acc>;
  using Decode = typename L::Decode;
  using typename Base::Source, typename Base::V;
  static constexpr int W = kHostLanes;
  static constexpr int kSpan = [] {
    if constexpr (Decode::kHasScales)
      return Decode::kDepth;
    else
      return 0;
  }();
  using Scales = DecodeScales<Decode>;
  using Row = typename Scales::Row;
  /// The values of the 16 codes.
  struct Block {
    V table;
  };

  HK_MEM static Row row(const Source &b, i64 row) {
    return b.scales.rowAt(b.rowOf(row));
  }
  HK_MEM static Block block(const Source &b, const Row &row, i64 k) {
    Vec<u32, W> codes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    V values = convertTo<float, W>(valuesOfCodes<L::kMem, W>(codes));
    if constexpr (Decode::kHasScales) {
      __builtin_assume(b.k0 + k >= 0);
      values = Decode::template decode<W>(
          values, ScaleOf<W>::all(b.scales.at(row, b.k0 + k)));
    }
    return {values};
  }
  HK_MEM static void load(const Source &b, const Block &block, i64 row, i64 k,
                          V (&x)[2]) {
    using Codes = typename Aligned<Vec<u8, W>, 1>::type;
    auto bytes =
        *reinterpret_cast<const Codes *>(b.data + (b.offset(row, k) >> 1));
    auto code = convertTo<i32, W>(convertTo<u32, W>(bytes));
    // The lookup takes the low 4 bits of its index.
    x[0] = __builtin_ia32_permvarsf512(block.table, code);
    x[1] = __builtin_ia32_permvarsf512(block.table, code >> 4);
  }
  HK_MEM static void order(V (&x)[2]) { splitPairs(x[0], x[1], AllLanes{}); }
};

/// Whether a row can be looked up block by block: a step has one scale, and
/// rows begin at a byte.
template <class L> constexpr bool looksUpNibbles() {
  using Decode = typename L::Decode;
  if constexpr (!isPacked(L::kMem) || L::kGathered)
    return false;
  else if constexpr (Decode::kHasScales)
    return Decode::kDepth % (2 * kHostLanes) == 0;
  else
    return !Decode::kDecodes;
}
#endif

#if defined(__AVX512VBMI__)
/// Floats of 8 bits as stored. Their values are exact in bf16, whose two bytes
/// are looked up by the magnitude.
template <class L, class Acc> struct ByteStream {
  using Source = HostSource<L, Acc>;
  using V = HostVec<Acc>;
  using Codes = Vec<u8, 64>;
  static constexpr int W = kHostLanes, kVectors = 4, kSpan = 0;
  static constexpr SmallFloat kFloat = smallFloat<L::kMem>();
  struct Row {};
  struct Block {};

  HK_MEM static Row row(const Source &, i64) { return {}; }
  HK_MEM static Block block(const Source &, const Row &, i64) { return {}; }

  HK_MEM static void load(const Source &b, const Block &, i64 row, i64 k,
                          V (&x)[kVectors]) {
    using Memory = typename Aligned<Codes, 1>::type;
    Codes code = *reinterpret_cast<const Memory *>(b.data + b.offset(row, k));
    Codes high = lookUp<8>(code) | (code & u8(0x80)), low = lookUp<0>(code);
    if constexpr (kFloat.fnuz) { // no -0, a NaN in its place
      high = code == u8(0x80) ? Codes(0x7F) : high;
      low = code == u8(0x80) ? Codes(0xC0) : low;
    }
    // The low half of each 16 codes, then the high half.
    HK_UNROLL for (int half = 0; half < 2; ++half) {
      using All = __make_integer_seq<LaneSequence, int, 64>;
      auto pairs = half ? join<8>(low, high, All{}) : join<0>(low, high, All{});
      x[2 * half] = bitCast<V>(pairs << 16);
      x[2 * half + 1] = bitCast<V>(pairs & 0xFFFF0000u);
    }
  }

  HK_MEM static void order(V (&x)[kVectors]) {
    V in[kVectors] = {x[0], x[1], x[2], x[3]};
    HK_UNROLL for (int v = 0; v < kVectors; ++v)
        HK_UNROLL for (int e = 0; e < W; ++e) x[v][e] =
            in[e / 4][v / 2 * 8 + e % 4 * 2 + v % 2];
  }

private:
  using Chars = Vec<char, 64>;
  /// Byte `Shift` / 8 of the bf16 that each magnitude stands for.
  template <int Shift> struct Table {
    alignas(64) u8 bytes[128] = {};
    constexpr Table() {
      for (u32 code = 0; code < 128; ++code)
        bytes[code] = u8(bf16Of(code) >> Shift);
    }
  };
  template <int Shift> static constexpr Table<Shift> kTable = {};

  static constexpr u32 bf16Of(u32 code) {
    if (code >= kFloat.firstNan)
      return 0x7FC0;
    if (code == kFloat.inf)
      return 0x7F80;
    u32 one = 1u << kFloat.mantissaBits, exponent = code / one;
    float value = float(exponent ? code % one + one : code);
    int power = int(exponent ? exponent : 1) - kFloat.bias;
    for (power -= kFloat.mantissaBits; power < 0; ++power)
      value /= 2;
    for (; power > 0; --power)
      value *= 2;
    return __builtin_bit_cast(u32, value) >> 16;
  }

  template <int Shift> HK_MEM static Codes lookUp(Codes code) {
    auto table = reinterpret_cast<const Chars *>(kTable<Shift>.bytes);
    return bitCast<Codes>(__builtin_ia32_vpermi2varqi512(
        table[0], bitCast<Chars>(code), table[1]));
  }

  /// Of each 16 codes the eight from First on, as bf16.
  template <int First, int... J>
  HK_MEM static Vec<u32, W> join(Codes low, Codes high,
                                 LaneSequence<int, J...>) {
    return bitCast<Vec<u32, W>>(__builtin_shufflevector(
        low, high, (J % 2 * 64 + J / 16 * 16 + First + J % 16 / 2)...));
  }
};
#endif

template <class L, class Acc> constexpr auto hostStream() {
  constexpr bool rows = L::kKContiguous && __is_same(Acc, float);
  if constexpr (rows && L::kMem == DType::BF16 && !L::Decode::kDecodes)
    return Bf16Stream<L, Acc>{};
#if defined(__AVX512F__)
  else if constexpr (rows && looksUpNibbles<L>())
    return NibbleStream<L, Acc>{};
#endif
#if defined(__AVX512VBMI__)
  else if constexpr (rows && isFp8(L::kMem) && !L::Decode::kDecodes &&
                     !L::kGathered)
    return ByteStream<L, Acc>{};
#endif
  else
    return LaneStream<L, Acc>{};
}
/// The quickest stream for an operand.
template <class L, class Acc> using HostStream = decltype(hostStream<L, Acc>());

static_assert(kSliceUnit % (4 * kHostLanes) == 0,
              "k begins where a step and a block of scales do");

} // namespace hk

#endif // HK_KERNELS_GEMM_HOSTSTREAM_H
