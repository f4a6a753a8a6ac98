//===- code_pairs.h - 4-bit codes as pairs of 16 bits -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Eight codes of a word become four pairs of bf16 or f16 (H): codes 0 and 4, 1
// and 5, 2 and 6, 3 and 7, because those lie 16 bits apart. CodePairs widens
// them to what is exact; PairScale applies the scale and zero point of a block
// to a pair, rounded once, as the decoder of the operand says. Where scale,
// zero point and result allow it that is two instructions for two codes;
// otherwise the decoder itself runs in f32.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_CODEPAIRS_H
#define HK_KERNELS_GEMM_SM90_CODEPAIRS_H

#include "kernels/device/arch/nvptx_pairs.h"
#include "kernels/gemm/operand.h"

namespace hk {

/// Both halves hold the bits of v rounded to H.
template <DType H> HK_DEV u32 bothHalves(float v) {
  u32 bits = bitCast<u16>(pack<H, 1>(Vec<float, 1>(v)));
  return bits | bits << 16;
}

/// The pairs of a word, kBias more than the codes (fp4: times 2^-126).
template <DType Mem, DType H> struct CodePairs {
  static_assert(Mem == DType::UI4 || Mem == DType::I4);
  /// Two's complement with its sign turned over counts from -8.
  static constexpr int kBias = HalfPair<H>::kBase + (Mem == DType::I4 ? 8 : 0);

  HK_MEM static u32 get(u32 word, int pair) {
    constexpr u32 turn = Mem == DType::I4 ? 0x00080008 : 0;
    return maskedXor<0x000F000F>(word >> 4 * pair,
                                 HalfPair<H>::kBaseBits | turn);
  }
};
/// 2^126, which the bits of fp4 lack as bf16.
inline constexpr u32 kUpPair = 0x7E807E80;
template <DType H> struct CodePairs<DType::F4E2M1FN, H> {
  static_assert(H == DType::BF16);
  HK_MEM static u32 get(u32 word, int pair) {
    // One product shifts a code to where its sign belongs and to where the rest
    // does: shifts and masks share a unit of half the rate, products have one
    // of their own.
    u32 from = pair < 2 ? word : word >> 8;
    int at = pair % 2 * 4;
    return ofAlone(from & (0x000F000Fu << at), at);
  }
  /// Of two codes alone in a word, from bits `at` and 16 + at on.
  HK_MEM static u32 ofAlone(u32 codes, int at = 0) {
    return codes * ((1u << (12 - at)) + (1u << (6 - at))) & 0x81C081C0u;
  }
};

/// One element of D in the aligned word around it.
template <DType D> struct ElementInWord {
  static_assert(info(D).bits <= 32);

  /// Where the word of element `index` is.
  HK_MEM static u64 wordAt(u64 data, i64 index) {
    constexpr int bits = info(D).bits;
    u64 at = data + u64(bits < 8 ? index >> 1 : index * (bits / 8));
    return at & ~u64(3);
  }
  /// How far up the element is in it, in bits; low bits say that.
  HK_MEM static u32 shiftOf(u32 data, u32 index) {
    constexpr u32 bits = info(D).bits;
    if constexpr (bits < 8)
      return ((data + (index >> 1)) & 3) * 8 + (index & 1) * 4;
    else
      return ((data + index * (bits / 8)) & 3) * 8;
  }
  HK_MEM static float value(u32 word, u32 shift) {
    u32 raw = word >> shift;
    if constexpr (isPacked(D))
      return float(valuesOfCodes<D, 1>(Vec<u32, 1>(raw & 15u))[0]);
    else if constexpr (info(D).bits == 8)
      return float(unpack<D, 1>(bitCast<Packed<D, 1>>(u8(raw)))[0]);
    else if constexpr (info(D).bits == 16)
      return float(unpack<D, 1>(bitCast<Packed<D, 1>>(u16(raw)))[0]);
    else
      return float(unpack<D, 1>(bitCast<Packed<D, 1>>(raw))[0]);
  }
};

/// A word of memory and where its element is.
struct WordAndShift {
  u32 word, shift;
};

/// fp4 whose blocks of 32 elements have a power of two each: a word of memory
/// has four of them.
template <DType Mem, class Decode>
inline constexpr bool kPowersOfCodes = [] {
  if constexpr (Mem == DType::F4E2M1FN && Decode::kHasScales)
    return Decode::kScale == DType::F8E8M0FNU && !Decode::kHasZeros &&
           Decode::kFixedZero == 0 && Decode::kDepth == 32 &&
           Decode::kRows == 1;
  else
    return false;
}();

/// The powers of 256 elements of a row as they lie in memory, whose loads cost
/// by their number: aligned words, so that rows may begin at any byte. Who
/// touches them waits for them.
struct EightPowers {
  static constexpr int kCount = 8;
  u32 words[3] = {0, 0, 0}, shift = 0;

  /// From power `first` on, which exists, of a row that has `all`.
  HK_MEM static EightPowers read(const ScaleArgs &from, u32 row, int first,
                                 int all) {
    EightPowers powers;
    int count = all - first < kCount ? all - first : kCount;
    u64 at = from.data + u64(row) * u64(from.strideRow) +
             u64(first) * u64(from.strideK);
    if (from.strideK == 1) {
      u64 word = at & ~u64(3), last = (at + u32(count) - 1) & ~u64(3);
      HK_UNROLL for (u32 i = 0; i < 3; ++i) if (word + i * 4 <= last)
          powers.words[i] = *global<const u32>(word + i * 4);
      powers.shift = u32(at & 3) * 8;
    } else {
      HK_UNROLL for (int i = 0; i < kCount; ++i) if (i < count)
          powers.words[i / 4] |=
          u32(*global<const u8>(at + u64(i) * u64(from.strideK))) << i % 4 * 8;
    }
    return powers;
  }
  /// The word with power i as its byte i % 4.
  HK_MEM u32 word(int i) const {
    bool isFirst = i < 4;
    u32 low = isFirst ? words[0] : words[1],
        high = isFirst ? words[1] : words[2];
    return u32((u64(high) << 32 | low) >> shift);
  }
};

/// What such a power makes of a pair. Usual powers are at most 2, so that they
/// have room for the 2^126 that the bits of fp4 lack as bf16.
template <bool Usual> struct PairPower {
  u32 power;

  /// Byte `lane` of `word`, as an e8m0.
  HK_MEM PairPower(u32 word, int lane) {
    set(__nvvm_prmt(word, 0, 0x4040u + u32(lane) * 0x0101u));
  }
  HK_MEM explicit PairPower(u32 byte) { set(byte * 0x00010001u); }
  HK_MEM void set(u32 both) {
    if constexpr (Usual) {
      power = both * 128 + (126u << 7) * 0x00010001u;
    } else {
      // 0 is 2^-127, which bf16 has as half of its smallest normal number, and
      // 255 is NaN.
      u32 bits = both & 255;
      power = both << 7 | (bits == 0 || bits == 255 ? 0x00400040u : 0);
    }
  }
  /// Whether all four powers of a word are usual; of 2 that is not said.
  HK_MEM static bool holds(u32 word) { return (word & 0x80808080u) == 0; }

  HK_MEM u32 pair(u32 word, int i) const { return times(Pairs::get(word, i)); }
  /// Of two codes alone in a word, from bits 0 and 16 on.
  HK_MEM u32 ofAlone(u32 codes) const { return times(Pairs::ofAlone(codes)); }

private:
  using Pairs = CodePairs<DType::F4E2M1FN, DType::BF16>;

  HK_MEM u32 times(u32 pair) const {
    using Half = HalfPair<DType::BF16>;
    return Half::mul(Usual ? pair : Half::mul(pair, kUpPair), power);
  }
};

/// What a block's scale and zero point make of a pair. Mem: dtype of the codes.
template <DType Mem, DType H, class Decode> struct PairScale {
  using Pairs = CodePairs<Mem, H>;
  static constexpr bool kFp4 = Mem == DType::F4E2M1FN;
  static constexpr bool kZeroCodes = [] {
    if constexpr (Decode::kHasZeros)
      return Decode::kZero == DType::UI4 || Decode::kZero == DType::I4;
    else
      return false;
  }();
  /// Integers and their differences are exact in H, and the product is rounded
  /// once.
  static constexpr bool kZeroFits = [] {
    if constexpr (Decode::kOffset || kFp4)
      return false;
    else if constexpr (Decode::kHasZeros)
      return kZeroCodes || (Decode::kZero == DType::I8 &&
                            (Mem == DType::UI4 || H == DType::F16));
    else
      return Decode::kFixedZero >= -100 && Decode::kFixedZero <= 100 &&
             Decode::kFixedZero == float(int(Decode::kFixedZero));
  }();
  static constexpr bool kIntegers = kZeroFits && Decode::kScale == H;

  /// What a pair takes: scale and bias of both halves, or the decoder's
  /// numbers.
  u32 scale = 0, bias = 0;

  HK_MEM PairScale(u32 scale, u32 bias) : scale(scale), bias(bias) {}
  HK_MEM PairScale(WordAndShift scaleIn, WordAndShift zeroIn) {
    if constexpr (kIntegers) {
      scale =
          __nvvm_prmt(scaleIn.word, 0, scaleIn.shift != 0 ? 0x3232 : 0x1010);
      bias = biasOf(zeroIn);
    } else {
      scale = bitCast<u32>(
          ElementInWord<Decode::kScale>::value(scaleIn.word, scaleIn.shift));
      if constexpr (Decode::kHasZeros)
        bias = bitCast<u32>(
            ElementInWord<Decode::kZero>::value(zeroIn.word, zeroIn.shift));
    }
  }

  HK_MEM u32 pair(u32 word, int i) const {
    using Half = HalfPair<H>;
    u32 codes = Pairs::get(word, i);
    if constexpr (kIntegers)
      return Half::mul(Half::sub(codes, bias), scale);
    else if constexpr (kFp4)
      return decoded(Half::mul(codes, kUpPair));
    else
      return decoded(Half::sub(codes, bothHalves<H>(float(Pairs::kBias))));
  }

private:
  HK_MEM static u32 biasOf([[maybe_unused]] WordAndShift zeroIn) {
    if constexpr (!Decode::kHasZeros) {
      return bothHalves<H>(float(Pairs::kBias) + Decode::kFixedZero);
    } else if constexpr (kZeroCodes &&
                         (Mem == DType::I4 || Decode::kZero == DType::UI4)) {
      // The code of the zero point, counted as those of the elements are: from
      // the base on integers follow each other in H.
      constexpr u32 turn = Decode::kZero == DType::I4 ? 8 : 0;
      constexpr u32 low = (Mem == DType::I4 ? 8 : 0) - turn;
      u32 code = ((zeroIn.word >> zeroIn.shift & 15u) ^ turn) + low;
      return HalfPair<H>::kBaseBits + code * 0x00010001u;
    } else {
      return bothHalves<H>(
          float(Pairs::kBias) +
          ElementInWord<Decode::kZero>::value(zeroIn.word, zeroIn.shift));
    }
  }
  HK_MEM u32 decoded(u32 exact) const {
    Vec<float, 2> values = unpack<H, 2>(bitCast<Packed<H, 2>>(exact));
    ScaleOf<1> of = {bitCast<float>(scale), bitCast<float>(bias)};
    return bitCast<u32>(
        pack<H, 2>(Decode::template decode<2>(values, ScaleOf<2>::all(of))));
  }
};

/// PairScale of integers in bf16 for fewer shifts. Below bit 8 the bits of bf16
/// are those of an integer, times 2^-133: numbers below 2^-126, which have no
/// leading one, and the first binade above go on in the same steps. So a pair
/// in bits 0 to 3 or 4 to 7 is taken where it lies, and only the other two are
/// shifted there. A multiply-add brings a code up as far as a factor can and
/// subtracts the zero point; the 2^6 that are left to do the scale has.
template <DType Mem> struct PairInPlace {
  static_assert(Mem == DType::UI4 || Mem == DType::I4);
  using Half = HalfPair<DType::BF16>;

  u32 scale, bias;

  /// `word`: of wordOf.
  HK_MEM explicit PairInPlace(u32 word)
      : scale(lowerTwice(word)), bias(upperTwice(word)) {}

  /// Whether there is room for 2^6 in a scale; that of inf and NaN is not said.
  HK_MEM static bool fits(u32 scale) { return (scale & 0x7FFF) < kLeastLarge; }
  /// Scale and bias of a PairScale as a word.
  template <class Scale> HK_MEM static u32 wordOf(const Scale &from) {
    static_assert(Scale::kIntegers);
    constexpr u32 up = 0x42804280, down = 0xBC80BC80; // 2^6, -2^-6
    constexpr u32 base = 0x40004000;                  // kBase * 2^-6
    static_assert(Half::kBase == 128);
    return __nvvm_prmt(Half::mul(from.scale, up),
                       Half::fma(from.bias, down, base), 0x5410);
  }

  HK_MEM u32 pair(u32 word, int i) const {
    // 2^127 and 2^123: the code times 2^-6.
    constexpr u32 factors[2] = {0x7F007F00, 0x7D007D00};
    u32 from = i < 2 ? word : word >> 8;
    u32 codes =
        i % 2 == 0 ? codesOf<0x000F000F>(from) : codesOf<0x00F000F0>(from);
    return Half::mul(Half::fma(codes, factors[i % 2], bias), scale);
  }

private:
  static constexpr u32 kLeastLarge = (122 + 127) << 7; // 2^122

  /// As CodePairs.
  template <u32 MASK> HK_MEM static u32 codesOf(u32 word) {
    if constexpr (Mem == DType::I4)
      return maskedXor<MASK>(word, MASK & 0x00880088);
    else
      return word & MASK;
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_CODEPAIRS_H
