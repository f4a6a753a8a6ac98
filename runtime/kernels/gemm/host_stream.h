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
//   scaled         scales of a row widened at once, not with each element
//   bf16           a shift and a mask of each pair in place
//   4-bit codes    one lookup a code in a table of the 16 values that the
//                  block's scale and zero point leave, rounded as they must be
//   8-bit floats   two lookups a code: the bytes of its value in bf16
//
// Those that give pairs of bf16 are in host_pairs.h.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_HOSTSTREAM_H
#define HK_KERNELS_GEMM_HOSTSTREAM_H

#include "hk/Contract/Slices.h"
#include "kernels/gemm/host_source.h"

namespace hk {

/// Any operand: consecutive elements.
template <class L, class Acc> struct LaneStream {
  using Source = HostSource<L, Acc>;
  using V = HostVec<Acc>;
  static constexpr int W = kHostLanes, kVectors = 2;
  /// Elements along k that share what a Block holds; 0: the whole row does.
  static constexpr int kSpan = 0;
  /// Whether a single row's vectors go to two sums by turns.
  static constexpr bool kSumsTwice = false;
  struct Row {};
  struct Block {};
  /// Room for what R rows need.
  template <int R> struct Room {};

  /// What serves `depth` elements of each of R rows from `row` on, and those of
  /// a row from `k` on.
  template <int R>
  HK_MEM static void start(const Source &, i64, i64, Room<R> &, Row (&)[R]) {}
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

/// Elements whose steps have one scale each.
template <class L, class Acc, int Depth>
struct ScaledStream : LaneStream<L, Acc> {
  using Base = LaneStream<L, Acc>;
  using Decode = typename L::Decode;
  using typename Base::Source, typename Base::V;
  static constexpr int W = kHostLanes, kSpan = Decode::kDepth;
  static constexpr int kBlocks = kSpan ? Depth / kSpan + 1 : 1;

  template <int R> struct Room {
    float scale[R * kBlocks], zero[Decode::kHasZeros ? R * kBlocks : 1];
  };
  struct Row {
    const float *scale, *zero;
  };
  struct Block {
    ScaleOf<W> of;
  };

  /// Whether a scale other than 0 is below 2^-100. `PlainNaN`: what rounds the
  /// products does so by integers. Scales of rows that are one run in memory
  /// are widened as one.
  template <int R, bool PlainNaN = true>
  HK_MEM static bool start(const Source &b, i64 row, i64 depth, Room<R> &room,
                           Row (&to)[R]) {
    i64 first = 0, count = 1;
    if constexpr (kSpan != 0) {
      first = b.k0 / kSpan;
      count = (b.k0 + depth - 1) / kSpan - first + 1;
    }
    HK_UNROLL for (int r = 0; r < R; ++r)
        to[r] = {room.scale + r * count,
                 room.zero + (Decode::kHasZeros ? r * count : 0)};
    if (areRun(b, count))
      return widenRows<PlainNaN>(b, row, first, R * count, room.scale,
                                 room.zero);
    bool small = false;
    HK_UNROLL for (int r = 0; r < R; ++r) small |=
        widenRows<PlainNaN>(b, row + r, first, count, room.scale + r * count,
                            room.zero + (Decode::kHasZeros ? r * count : 0));
    return small;
  }

  /// Which of the scales of a row serves its elements from k on.
  HK_MEM static i64 scaleIndex(const Source &b, i64 k) {
    if constexpr (kSpan != 0) // k0 is at least 0, a cheaper division
      return i64((u64(b.k0) % kSpan + u64(k)) / u64(kSpan));
    return 0;
  }
  HK_MEM static Block block(const Source &b, const Row &row, i64 k) {
    i64 i = scaleIndex(b, k);
    ScaleOf<1> of = {row.scale[i], row.zero[Decode::kHasZeros ? i : 0]};
    if constexpr (!Decode::kHasZeros)
      of.zero = 0.f;
    return {ScaleOf<W>::all(of)};
  }

  HK_MEM static void load(const Source &b, const Block &block, i64 row, i64 k,
                          V (&x)[2]) {
    HK_UNROLL for (int v = 0; v < 2; ++v) x[v] = Decode::template decode<W>(
        loadLanes<L::kMem, Acc>(b.data, b.offset(row, k + v * W), W), block.of);
  }

private:
  /// Whether the scales, and the zero points, of rows that follow each other
  /// do so, too, `count` for each.
  HK_MEM static bool areRun(const Source &b, i64 count) {
    auto run = [&](const ScaleArgs &args) {
      return args.strideK == 1 && args.strideRow == count;
    };
    if constexpr (kSpan == 0 || Decode::kRows != 1 || L::kStep != 1 ||
                  isPacked(Decode::kScale))
      return false;
    if constexpr (Decode::kHasZeros)
      return !isPacked(Decode::kZero) && run(b.scales.scales) &&
             run(b.scales.zeros);
    return run(b.scales.scales);
  }

  /// Those from row `row` on.
  template <bool PlainNaN>
  HK_MEM static bool widenRows(const Source &b, i64 row, i64 first, i64 count,
                               float *scale, [[maybe_unused]] float *zero) {
    auto at = b.scales.rowAt(b.rowOf(row));
    auto next = b.scales.rowAt(b.rowOf(row + kRowsAhead));
    ask<Decode::kScale>(b.scales.scales, next.scale, first, count);
    bool small = widen<Decode::kScale, PlainNaN>(b.scales.scales, at.scale,
                                                 first, count, scale);
    if constexpr (Decode::kHasZeros) {
      ask<Decode::kZero>(b.scales.zeros, next.zero, first, count);
      widen<Decode::kZero, PlainNaN>(b.scales.zeros, at.zero, first, count,
                                     zero);
    }
    return small;
  }

  static constexpr u32 kSmall = (127 - 100) << 23; // the bits of 2^-100
  /// Rows whose codes take longer than memory needs for a scale.
  static constexpr i64 kRowsAhead = 16;

  /// Asks for the scales that `widen` reads: a few of each row, which the CPU's
  /// prefetchers do not see as a run.
  template <DType D>
  HK_MEM static void ask(const ScaleArgs &args, i64 index, i64 first,
                         i64 count) {
    constexpr i64 bytes = sizeof(Storage<D>);
    i64 step = kSpan ? args.strideK * bytes : 0, last = (count - 1) * step;
    u64 from = args.data + u64(index * bytes + first * step);
    for (i64 at = 0; at < last; at += 64)
      __builtin_prefetch(reinterpret_cast<const void *>(from + at));
    __builtin_prefetch(reinterpret_cast<const void *>(from + last));
  }

  /// NaN without the payload that a rounding could carry into the sign.
  template <int V, bool Wanted>
  HK_MEM static Vec<float, V> plain(Vec<float, V> x) {
    if constexpr (Wanted)
      return x != x ? Vec<float, V>(__builtin_nanf("")) : x;
    return x;
  }

  /// Bits of the magnitude, less 1.
  template <int V> HK_MEM static Vec<u32, V> magnitude(Vec<float, V> x) {
    return (bitCast<Vec<u32, V>>(x) & 0x7FFFFFFFu) - 1u;
  }

  /// As start; the last vector overlaps with the one in front of it.
  template <DType D, bool PlainNaN>
  HK_MEM static bool widen(const ScaleArgs &args, i64 index, i64 first,
                           i64 count, float *to) {
    auto data = (Global<const Storage<D>>)(args.data);
    i64 step = kSpan ? args.strideK : 0;
    index += first * step;
    if constexpr (!isPacked(D) && kBlocks >= W)
      if (step == 1 && count >= W) {
        Vec<u32, W> least = ~0u;
        auto vector = [&](i64 i) {
          auto x = plain<W, PlainNaN>(loadLanes<D, float>(data, index + i, W));
          *reinterpret_cast<typename Aligned<Vec<float, W>, 4>::type *>(to +
                                                                        i) = x;
          least = __builtin_elementwise_min(least, magnitude<W>(x));
        };
        for (i64 i = 0; i + W < count; i += W)
          vector(i);
        vector(count - W);
        return __builtin_reduce_or(least < kSmall) != 0;
      }
    u32 least = ~0u;
    for (i64 i = 0; i < count; ++i) {
      auto x = plain<1, PlainNaN>(
          Vec<float, 1>(float(loadScalar<D>(data, index + i * step))));
      to[i] = x[0];
      least = __builtin_elementwise_min(least, magnitude<1>(x)[0]);
    }
    return least < kSmall;
  }
};

/// Whether a step of a row has one scale.
template <class L> constexpr bool scalesSteps() {
  using Decode = typename L::Decode;
  if constexpr (!Decode::kHasScales || L::kGathered || !L::kKContiguous)
    return false;
  else
    return Decode::kDepth % (2 * kHostLanes) == 0;
}

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
/// Codes of 4 bits, of which a step has one scale (Base: ScaledStream) or which
/// are multiplied as stored (LaneStream). Rows begin at a byte.
template <class L, class Acc, class Base> struct NibbleStream : Base {
  using Decode = typename L::Decode;
  using typename Base::Row, typename Base::Source, typename Base::V;
  static constexpr int W = kHostLanes;
  /// The values of the 16 codes.
  struct Block {
    V table;
  };

  HK_MEM static Block block(const Source &b, const Row &row, i64 k) {
    Vec<u32, W> codes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    V values = convertTo<float, W>(valuesOfCodes<L::kMem, W>(codes));
    if constexpr (Decode::kHasScales)
      values = Decode::template decode<W>(values, Base::block(b, row, k).of);
    return {values};
  }
  HK_MEM static void load(const Source &b, const Block &block, i64 row, i64 k,
                          V (&x)[2]) {
    using Codes = typename Aligned<Vec<u8, W>, 1>::type;
    auto bytes = *reinterpret_cast<const Codes *>(b.packedAt(row, k));
    auto code = convertTo<i32, W>(convertTo<u32, W>(bytes));
    // The lookup takes the low 4 bits of its index.
    x[0] = __builtin_ia32_permvarsf512(block.table, code);
    x[1] = __builtin_ia32_permvarsf512(block.table, code >> 4);
  }
  HK_MEM static void order(V (&x)[2]) { splitPairs(x[0], x[1], AllLanes{}); }
};
#endif

#if defined(__AVX512VBMI__)
using ByteCodes = Vec<u8, 64>;

/// Floats of 8 bits, whose values are exact in bf16: its two bytes are looked
/// up by the magnitude.
template <DType D> struct ByteValues {
  ByteCodes low, high;

  HK_MEM explicit ByteValues(ByteCodes code)
      : low(lookUp<0>(code)), high(lookUp<8>(code) | (code & u8(0x80))) {
    if constexpr (kFloat.fnuz) { // no -0, a NaN in its place
      high = code == u8(0x80) ? ByteCodes(0x7F) : high;
      low = code == u8(0x80) ? ByteCodes(0xC0) : low;
    }
  }
  HK_MEM ByteValues(ByteCodes low, ByteCodes high) : low(low), high(high) {}
  /// Of each 16 codes the eight from First on, as pairs of bf16.
  template <int First> HK_MEM HostVec<Bf16Pair> pairs() const {
    return join<First>(__make_integer_seq<LaneSequence, int, 64>{});
  }
  /// The four vectors of a step, in the order that ByteStream::order says.
  HK_MEM void floats(HostVec<float> (&x)[4]) const {
    auto first = pairs<0>(), second = pairs<8>();
    x[0] = evenOf<kHostLanes>(first);
    x[1] = oddOf<kHostLanes>(first);
    x[2] = evenOf<kHostLanes>(second);
    x[3] = oddOf<kHostLanes>(second);
  }
  /// The word of consecutive pairs that becomes word `w` of pairs<8 * half>.
  static constexpr int wordAt(int half, int w) {
    return w / 4 * 8 + half * 4 + w % 4;
  }

  /// The bf16 that a magnitude stands for.
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

private:
  using Chars = Vec<char, 64>;
  static constexpr SmallFloat kFloat = smallFloat<D>();

  /// Byte `Shift` / 8 of the bf16 that each magnitude stands for.
  template <int Shift> struct Table {
    alignas(64) u8 bytes[128] = {};
    constexpr Table() {
      for (u32 code = 0; code < 128; ++code)
        bytes[code] = u8(bf16Of(code) >> Shift);
    }
  };
  template <int Shift> static constexpr Table<Shift> kTable = {};

  template <int Shift> HK_MEM static ByteCodes lookUp(ByteCodes code) {
    auto table = reinterpret_cast<const Chars *>(kTable<Shift>.bytes);
    return bitCast<ByteCodes>(__builtin_ia32_vpermi2varqi512(
        table[0], bitCast<Chars>(code), table[1]));
  }
  template <int First, int... J>
  HK_MEM HostVec<Bf16Pair> join(LaneSequence<int, J...>) const {
    return bitCast<HostVec<Bf16Pair>>(__builtin_shufflevector(
        low, high, (J % 2 * 64 + J / 16 * 16 + First + J % 16 / 2)...));
  }
};

/// Floats of 8 bits as stored.
template <class L, class Acc> struct ByteStream : LaneStream<L, Acc> {
  using Base = LaneStream<L, Acc>;
  using typename Base::Block, typename Base::Source, typename Base::V;
  using Values = ByteValues<L::kMem>;
  static constexpr int W = kHostLanes, kVectors = 4;

  HK_MEM static void load(const Source &b, const Block &, i64 row, i64 k,
                          V (&x)[kVectors]) {
    Values(codesAt(b, row, k)).floats(x);
  }
  HK_MEM static ByteCodes codesAt(const Source &b, i64 row, i64 k) {
    using Memory = typename Aligned<ByteCodes, 1>::type;
    return *reinterpret_cast<const Memory *>(b.data + b.offset(row, k));
  }

  HK_MEM static void order(V (&x)[kVectors]) {
    V in[kVectors] = {x[0], x[1], x[2], x[3]};
    HK_UNROLL for (int v = 0; v < kVectors; ++v)
        HK_UNROLL for (int e = 0; e < W; ++e) {
      int from = 2 * Values::wordAt(v / 2, e) + v % 2;
      x[v][e] = in[from / W][from % W];
    }
  }
};
#endif

/// The quickest stream for an operand of which `Depth` elements of a row, or
/// fewer, are read at a time.
template <class L, class Acc, int Depth> constexpr auto hostStream() {
  using Any = LaneStream<L, Acc>;
  [[maybe_unused]] constexpr bool stored =
      !L::Decode::kDecodes && !L::kGathered;
  if constexpr (!L::kKContiguous || !__is_same(Acc, float))
    return Any{};
  else if constexpr (L::kMem == DType::BF16 && !L::Decode::kDecodes)
    return Bf16Stream<L, Acc>{};
#if defined(__AVX512F__)
  else if constexpr (isPacked(L::kMem) && scalesSteps<L>())
    return NibbleStream<L, Acc, ScaledStream<L, Acc, Depth>>{};
  else if constexpr (isPacked(L::kMem) && stored)
    return NibbleStream<L, Acc, Any>{};
#endif
#if defined(__AVX512VBMI__)
  else if constexpr (isFp8(L::kMem) && stored)
    return ByteStream<L, Acc>{};
#endif
  else if constexpr (scalesSteps<L>())
    return ScaledStream<L, Acc, Depth>{};
  else
    return Any{};
}
template <class L, class Acc, int Depth>
using HostStream = decltype(hostStream<L, Acc, Depth>());

static_assert(kSliceUnit % (4 * kHostLanes) == 0,
              "k begins where a step and a block of scales do");

} // namespace hk

#endif // HK_KERNELS_GEMM_HOSTSTREAM_H
