//===- operand.h - The two sides of a matrix product -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operand is how it lies in memory and a decoder: what turns its elements
// into those that are multiplied, on their way into LDS (GPU) or into the
// packed rows (host). A decoder computes in f32 and rounds where the graph
// does.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_OPERAND_H
#define HK_KERNELS_GEMM_OPERAND_H

#include "hk/Contract/Scale.h"
#include "kernels/device/io.h"
#include "kernels/device/launch.h"
#include "kernels/device/quant.h"

namespace hk {

/// What memory says of V elements.
template <int V> struct ScaleOf {
  Vec<float, V> scale, zero;

  HK_MEM void set(int e, const ScaleOf<1> &one) {
    scale[e] = one.scale[0];
    zero[e] = one.zero[0];
  }
  /// One for all.
  HK_MEM static ScaleOf all(const ScaleOf<1> &one) {
    return {Vec<float, V>(one.scale[0]), Vec<float, V>(one.zero[0])};
  }
};

/// Multiplied as they are in memory.
struct AsStored {
  static constexpr bool kDecodes = false, kHasScales = false;
  static constexpr bool kHasZeros = false;
  static constexpr bool kMakesScales = false;
  static constexpr int kBlock = 1;
  template <DType Mem> static constexpr DType kResult = Mem;
};

/// Times the scale of their block of Rows x Depth elements (0: the whole
/// extent), rounded to Result.
template <DType ScaleT, int Rows, int Depth, DType Result> struct Scaled {
  static constexpr bool kDecodes = true, kHasScales = true;
  static constexpr bool kHasZeros = false, kMakesScales = false;
  static constexpr int kBlock = 1;
  static constexpr DType kScale = ScaleT;
  static constexpr int kRows = Rows, kDepth = Depth;
  /// Whether the zero point is added behind the scale; the one for all.
  static constexpr bool kOffset = false;
  static constexpr float kFixedZero = 0;
  template <DType> static constexpr DType kResult = Result;
  /// A power of two moves no bit of a small significand; f16 has too few
  /// exponents for all of them.
  static constexpr bool kExact =
      ScaleT == DType::F8E8M0FNU && Result != DType::F16;

  /// Before it is rounded.
  template <int V>
  HK_MEM static Vec<float, V> value(Vec<float, V> x, const ScaleOf<V> &of) {
    return x * of.scale;
  }
  template <int V>
  HK_MEM static Vec<float, V> decode(Vec<float, V> x, const ScaleOf<V> &of) {
    if constexpr (kExact)
      return value<V>(x, of);
    else
      return roundTo<Result, V>(value<V>(x, of));
  }
};

/// Values by their scale and zero point: (x - zero) * scale, or with Offset
/// x * scale + zero.
template <bool Offset, int V>
HK_DEV Vec<float, V> affine(Vec<float, V> x, Vec<float, V> scale,
                            Vec<float, V> zero) {
  return Offset ? x * scale + zero : (x - zero) * scale;
}

/// With the scale and zero point of their block, rounded to Result.
template <DType ZeroT, DType ScaleT, int Rows, int Depth, DType Result,
          bool Offset = false>
struct Affine : Scaled<ScaleT, Rows, Depth, Result> {
  static constexpr bool kHasZeros = true, kExact = false;
  static constexpr bool kOffset = Offset;
  static constexpr DType kZero = ZeroT;

  template <int V>
  HK_MEM static Vec<float, V> value(Vec<float, V> x, const ScaleOf<V> &of) {
    return affine<Offset, V>(x, of.scale, of.zero);
  }
  template <int V>
  HK_MEM static Vec<float, V> decode(Vec<float, V> x, const ScaleOf<V> &of) {
    return roundTo<Result, V>(value<V>(x, of));
  }
};

/// The same with one zero point for all.
template <float Zero, DType ScaleT, int Rows, int Depth, DType Result,
          bool Offset = false>
struct Shifted : Scaled<ScaleT, Rows, Depth, Result> {
  static constexpr bool kExact = false, kOffset = Offset;
  static constexpr float kFixedZero = Zero;

  template <int V>
  HK_MEM static Vec<float, V> value(Vec<float, V> x, const ScaleOf<V> &of) {
    return affine<Offset, V>(x, of.scale, Vec<float, V>(Zero));
  }
  template <int V>
  HK_MEM static Vec<float, V> decode(Vec<float, V> x, const ScaleOf<V> &of) {
    return roundTo<Result, V>(value<V>(x, of));
  }
};

/// What hk.quantize_mx makes of them, blocks of 32 along k, times its scale.
template <DType Code, MxRounding Rounding> struct MxQuantized {
  static constexpr bool kDecodes = true, kHasScales = false;
  static constexpr bool kHasZeros = false;
  static constexpr bool kMakesScales = false;
  /// Elements along k that are decoded together.
  static constexpr int kBlock = kMxScale.depth;
  template <DType> static constexpr DType kResult = DType::BF16;
  static constexpr bool kExact = true;

  /// V elements of a block whose largest magnitude is `amax`.
  template <int V>
  HK_MEM static Vec<float, V> decode(Vec<float, V> x, float amax) {
    i32 byte = mxScaleByte<Rounding, Code>(amax);
    float scale = decodeE8M0<1>(Vec<u32, 1>(u32(byte)))[0];
    return roundTo<Code, V>(mxScaled<V>(x, byte)) * Vec<float, V>(scale);
  }
};

/// The codes of hk.quantize in groups along k; their scales are those of A's
/// partial sums (KScale::A).
template <DType Code, float Limit, float Floor, bool PowerOfTwo>
struct GroupQuantized {
  static constexpr bool kDecodes = true, kHasScales = false;
  static constexpr bool kHasZeros = false;
  static constexpr bool kMakesScales = true;
  static constexpr int kBlock = kBlockScaleA.depth;
  template <DType> static constexpr DType kResult = Code;
  static constexpr bool kExact = true;

  HK_MEM static float scaleOf(float amax) {
    float scale = quantScale(amax, Floor, Limit);
    return PowerOfTwo ? powerOfTwoAbove(scale) : scale;
  }
  /// V elements of a group with this scale.
  template <int V>
  HK_MEM static Vec<float, V> decode(Vec<float, V> x, float scale) {
    using F = Vec<float, V>;
    F q = divideFor8Bits<V>(x, divisorOf(scale, Floor, Limit));
    q = q < F(-Limit) ? F(-Limit) : q;
    q = q > F(Limit) ? F(Limit) : q;
    if constexpr (Code == DType::I8)
      return convertTo<float, V>(roundToInt<V>(q, -128.f, 127.f));
    else
      return roundTo<Code, V>(q);
  }
};

/// MemT, KContiguousT, AlignT: OperandLayout of the matrix layer. GatheredT: a
/// table names the rows of a tile. StepT: a tile has every so manieth row, as
/// where the rows of a pair alternate.
template <DType MemT, bool KContiguousT, int AlignT, class DecodeT = AsStored,
          bool GatheredT = false, int StepT = 1>
struct Operand {
  static constexpr bool kGathered = GatheredT;
  static constexpr int kStep = StepT;
  static_assert((!kGathered && kStep == 1) || KContiguousT);
  static constexpr DType kMem = MemT;
  static constexpr bool kKContiguous = KContiguousT;
  static constexpr int kAlign = AlignT;
  using Decode = DecodeT;
  /// Holds the decoded elements exactly.
  static constexpr DType kResult = Decode::template kResult<MemT>;
};

/// Scales of an operand in memory; strides count scales and are 0 where one
/// serves all rows or all of k.
struct ScaleArgs {
  u64 data;
  i64 strideRow, strideK;
};

/// Strides count elements.
struct OperandArgs {
  u64 data;
  i64 stride;
  /// Of the decoder, and along k for the sums (KScale).
  ScaleArgs decode, fold;
  /// Zero points of the decoder.
  ScaleArgs zeros;
};

/// The scales and zero points of an operand, read at its rows (from `row0` on)
/// and k.
template <class Decode, bool = Decode::kHasScales> struct DecodeScales {
  HK_MEM DecodeScales(const OperandArgs &, i64, i64) {}
  HK_MEM void moveBy(i64) {}
  struct Row {};
  HK_MEM Row rowAt(i64) const { return {}; }
};
template <class Decode> struct DecodeScales<Decode, true> {
  ScaleArgs scales, zeros;
  i64 row0, lastRow;

  HK_MEM DecodeScales(const OperandArgs &args, i64 row0, i64 rows)
      : scales(args.decode), zeros(args.zeros), row0(row0), lastRow(rows - 1) {}

  HK_MEM void moveBy(i64 rows) { row0 += rows; }

  /// Of row0 + row and k < kEnd; what lies outside has the scale of the edge,
  /// as its elements are zeros.
  HK_MEM ScaleOf<1> at(i64 row, i64 k, i64 kEnd) const {
    return at(rowAt(row), k < kEnd ? k : kEnd - 1);
  }

  /// Where the scales of a row begin.
  struct Row {
    i64 scale, zero;
  };
  HK_MEM Row rowAt(i64 row) const {
    i64 r = row0 + row;
    r = r < lastRow ? r : lastRow;
    if constexpr (Decode::kRows == 0)
      return {0, 0};
    return {r / Decode::kRows * scales.strideRow,
            r / Decode::kRows * zeros.strideRow};
  }
  HK_MEM ScaleOf<1> at(const Row &row, i64 k) const {
    ScaleOf<1> of = {read<Decode::kScale>(scales, row.scale, k), 0.f};
    if constexpr (Decode::kHasZeros)
      of.zero = read<Decode::kZero>(zeros, row.zero, k);
    return of;
  }

private:
  template <DType D>
  HK_MEM static float read(const ScaleArgs &args, i64 index, i64 k) {
    if constexpr (Decode::kDepth != 0)
      index += k / Decode::kDepth * args.strideK;
    return float(loadScalar<D>((Global<const Storage<D>>)(args.data), index));
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_OPERAND_H
