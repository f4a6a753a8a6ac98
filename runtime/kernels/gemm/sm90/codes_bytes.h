//===- codes_bytes.h - 8-bit codes as pairs of 16 bits -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Four codes of a word become two pairs of bf16 or f16 (H), neighbours in
// memory, and the words in LDS that say how, for a row of B and its groups of a
// block's k: the members of CodesWords (codes_words.h). Integers with scales of
// bf16 take two instructions of pairs behind the one that takes two bytes out
// of a word; all others run the operand's decoder in f32. What has no scales in
// the operand is only widened: those of sums along k are words, too (foldOf).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_CODES_BYTES_H
#define HK_KERNELS_GEMM_SM90_CODES_BYTES_H

#include "kernels/gemm/sm90/codes_words.h"

namespace hk {

/// Bytes 2 i and 2 i + 1 of a word, each in the low bits of a half.
HK_DEV u32 bytesApart(u32 word, int i) {
  return __nvvm_prmt(word, 0, i == 0 ? 0x4140 : 0x4342);
}

/// Integers as PairInPlace (code_pairs.h) takes them: below bit 8 the bits of
/// bf16 are those of an integer, times 2^-133. A multiply-add brings it up as
/// far as a factor can and subtracts the zero point; the 2^6 that are left to
/// do the scale has.
struct BytesInPlace {
  using Half = HalfPair<DType::BF16>;
  /// What turns two's complement into codes that count from -128.
  static constexpr u32 kTurn = 0x80808080;

  u32 scale, bias;

  HK_MEM explicit BytesInPlace(u32 word)
      : scale(lowerTwice(word)), bias(upperTwice(word)) {}
  /// Of bf16's bits; the scale is below 2^122, or it has no room for 2^6.
  HK_MEM static bool fits(u32 scale) {
    return (scale & 0x7FFF) < (122 + 127) << 7;
  }
  HK_MEM static u32 wordOf(u32 scale, float zero) {
    constexpr u32 up = 0x42804280; // 2^6
    u32 bias = bothHalves<DType::BF16>(-(zero + 128.f) * 0x1p-6f);
    return __nvvm_prmt(Half::mul(scale, up), bias, 0x5410);
  }
  HK_MEM u32 pair(u32 word, int i) const {
    constexpr u32 factor = 0x7F007F00; // 2^127: the code times 2^-6
    u32 codes = bytesApart(word ^ kTurn, i);
    return Half::mul(Half::fma(codes, factor, bias), scale);
  }
};

/// Values of two codes, exactly.
template <DType Mem> HK_DEV Vec<float, 2> valuesOfBytes(u32 word, int i) {
  if constexpr (Mem == DType::I8) {
    // 2^23 + 128 more than the code.
    u32 turned = word ^ BytesInPlace::kTurn;
    Vec<float, 2> x;
    HK_UNROLL for (int e = 0; e < 2; ++e) x[e] =
        bitCast<float>(__nvvm_prmt(turned, 0x4B000000, 0x7440 + i * 2 + e)) -
        (0x1p23f + 128.f);
    return x;
  } else {
    return unpack<Mem, 2>(bitCast<Packed<Mem, 2>>(u16(word >> i * 16)));
  }
}

/// By the operand's decoder.
template <DType Mem, DType H, class Decode> struct BytesInF32 {
  float scale, zero;

  HK_MEM u32 pair(u32 word, int i) const {
    Vec<float, 2> x = valuesOfBytes<Mem>(word, i);
    if constexpr (Decode::kHasScales)
      x = Decode::template decode<2>(
          x, ScaleOf<2>{Vec<float, 2>(scale), Vec<float, 2>(zero)});
    return bitCast<u32>(pack<H, 2>(x));
  }
};

/// Groups of 128 where sums have the scales, else as the operand has them.
template <class P>
inline constexpr int kGroupOfBytes = [] {
  if constexpr (P::B::Decode::kHasScales)
    return P::B::Decode::kDepth;
  return P::kScaleB ? kBlockScaleB.depth : 0;
}();

template <class P, GemmTile T, int Threads>
class ByteWords
    : public WordsOfRows<P, T, Threads,
                         groupsIn(kGroupOfBytes<P>, T.bk,
                                  T.cluster > 1 ? streamedDepth(8) : 0)> {
  using B = typename P::B;
  using Decode = typename B::Decode;
  static constexpr DType Mem = B::kMem, H = P::kOperand;
  static constexpr int kGroup = kGroupOfBytes<P>, kDepth = kGroup ? kGroup : 1;
  using Base =
      WordsOfRows<P, T, Threads,
                  groupsIn(kGroup, T.bk, T.cluster > 1 ? streamedDepth(8) : 0)>;
  static constexpr bool kHasZeros = Decode::kHasZeros;
  /// Whether the rule of BytesInPlace is the operand's.
  static constexpr bool kInPlace = [] {
    if constexpr (!Decode::kHasScales || Mem != DType::I8 || H != DType::BF16)
      return false;
    else if constexpr (Decode::kScale != H || Decode::kOffset)
      return false;
    else if constexpr (kHasZeros)
      return Decode::kZero == DType::I8;
    else
      return Decode::kFixedZero >= -128 && Decode::kFixedZero <= 127 &&
             Decode::kFixedZero == float(int(Decode::kFixedZero));
  }();
  static_assert([] {
    if constexpr (!kHasZeros)
      return true;
    else
      return info(Decode::kScale).bits == 16 && Decode::kZero == DType::I8;
  }());

public:
  HK_MEM ByteWords(const GemmArgs &args, u8 *lds, PartOfK part)
      : Base(args, lds, part), group0(kGroup == 0 ? 0 : part.begin / kDepth) {}

  template <bool Usual> HK_MEM void read(i64 col0) const {
    if constexpr (Decode::kHasScales || P::kScaleB) {
      u32 scales[Base::kEach] = {};
      i32 zeros[Base::kEach] = {};
      u32 group = u32(group0 + this->word);
      bool usual = true;
      if (i64(group) * kGroup < this->k1)
        this->forEach(col0, [&](int i, u32 row) {
          scales[i] = scaleOf(row, group);
          if constexpr (kHasZeros)
            zeros[i] = i32(
                *global<const i8>(placeOf(this->args.b.zeros, row, group, 1)));
        });
      HK_UNROLL for (int i = 0; i < Base::kEach; ++i) this->keep(
          i, wordOf<Usual>(scales[i], zeros[i], usual));
      this->say(usual);
    }
  }
  HK_MEM bool isUsual() const { return !kInPlace || Base::isUsual(); }

  /// Of row r, for the lane's codes of unit u, a half of a stage.
  template <bool Usual> HK_MEM auto of(int unit, int r) const {
    if constexpr (Decode::kHasScales) {
      // A scale does not end with k, and may be infinite.
      int k = unit * (streamedDepth(8) / 2) + laneId() % 4 * 16;
      u32 word = k < this->args.k ? wordAt(k, r) : 0;
      if constexpr (Usual && kInPlace)
        return BytesInPlace(word);
      else
        return expanded(word);
    } else {
      return BytesInF32<Mem, H, Decode>{1, 0};
    }
  }
  /// The scale of sums over the group of unit u.
  HK_MEM float foldOf(int unit, int r) const {
    return bitCast<float>(wordAt(unit * (streamedDepth(8) / 2), r));
  }

private:
  int group0;

  HK_MEM u32 wordAt(int k, int r) const {
    if constexpr (kGroup == 0)
      return *this->entry(r, 0);
    else
      return *this->entry(r, k / kDepth - group0);
  }
  HK_MEM u64 placeOf(const ScaleArgs &from, u32 row, u32 group, u32 bytes)
      const {
    return from.data +
           (u64(row) * u64(from.strideRow) + u64(group) * u64(from.strideK)) *
               bytes;
  }
  /// f32 as it is, 16 bits in the lower half.
  HK_MEM u32 scaleOf(u32 row, u32 group) const {
    if constexpr (!Decode::kHasScales) {
      return *global<const u32>(
          placeOf(this->args.b.fold, row / kBlockScaleB.rows, group, 4));
    } else {
      constexpr u32 bytes = info(Decode::kScale).bits / 8;
      u64 at = placeOf(this->args.b.decode, row, group, bytes);
      if constexpr (bytes == 4)
        return *global<const u32>(at);
      else
        return *global<const u16>(at);
    }
  }
  template <bool Usual>
  HK_MEM static u32 wordOf(u32 scale, i32 zero, [[maybe_unused]] bool &usual) {
    if constexpr (Usual && kInPlace) {
      usual = usual && BytesInPlace::fits(scale);
      return BytesInPlace::wordOf(scale,
                                  kHasZeros ? float(zero) : Decode::kFixedZero);
    } else if constexpr (kHasZeros) {
      return scale | u32(zero) << 16;
    } else {
      return scale;
    }
  }
  HK_MEM static BytesInF32<Mem, H, Decode> expanded(u32 word) {
    if constexpr (info(Decode::kScale).bits == 32)
      return {bitCast<float>(word), 0};
    else
      return {float(unpack<Decode::kScale, 1>(
                  bitCast<Packed<Decode::kScale, 1>>(u16(word)))[0]),
              kHasZeros ? float(i32(word) >> 16) : 0};
  }
};

/// The words of a block's codes.
template <class P, GemmTile T, int Threads, int Bits = info(P::B::kMem).bits,
          bool Powers = kPowersOfCodes<P::B::kMem, typename P::B::Decode>>
struct PickCodesWords {
  using Type = CodesWords<P, T, Threads>;
};
template <class P, GemmTile T, int Threads>
struct PickCodesWords<P, T, Threads, 4, true> {
  using Type = PowerWords<P, T, Threads>;
};
template <class P, GemmTile T, int Threads>
struct PickCodesWords<P, T, Threads, 8, false> {
  using Type = ByteWords<P, T, Threads>;
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_CODES_BYTES_H
