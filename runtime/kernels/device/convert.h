//===- convert.h - Conversions between storage and carriers -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// pack: carrier -> storage, one rounding to nearest even. unpack: storage ->
// carrier, exact. roundTo: what unpack(pack(x)) gives, without the detour where
// there is a shorter way. fp8, fp4 and int8 saturate (int8: NaN becomes 0);
// f16 and bf16 overflow to inf. The same bytes on every target, except the
// payload of a f16 or bf16 NaN.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_CONVERT_H
#define HK_KERNELS_DEVICE_CONVERT_H

#include "kernels/device/arch.h"
#include "kernels/device/convert_small.h"
#include "kernels/device/types.h"

namespace hk {

constexpr bool isSmallFloat(DType d) {
  return d == DType::F8E4M3FN || d == DType::F8E4M3FNUZ || d == DType::F8E5M2 ||
         d == DType::F8E5M2FNUZ || d == DType::F4E2M1FN;
}

/// f32 bits whose upper half is the bf16 nearest to x, which is not NaN; the
/// lower half is noise.
template <int V> HK_DEV Vec<u32, V> nearestBf16(Vec<float, V> x) {
  auto u = bitCast<Vec<u32, V>>(x);
  return u + 0x7FFFu + ((u >> 16) & 1u);
}
/// x without payloads of NaN that the addition of nearestBf16 would carry into
/// the sign; for targets that vote.
template <int V> HK_DEV Vec<float, V> roundableToBf16(Vec<float, V> x) {
  if (__builtin_expect(waveHasNan<V>(x), false))
    HK_UNROLL for (int e = 0; e < V; ++e) {
      u32 bits = bitCast<u32>(x[e]);
      bits = x[e] != x[e] ? (bits | 0x00400000u) & 0xFFFF0000u : bits;
      x[e] = bitCast<float>(opaque(bits));
    }
  return x;
}
/// The bf16 nearest to x as a number, by arithmetic on pairs, for targets that
/// vote. x less its 2^-16th part is rounded to the last bit of x, so that what
/// it lacks is that part with 8 bits; where it is a tie the last bit of x is 0,
/// and the even one is taken. A tiny addend has the sign of x where that is all
/// that is left.
template <int V> HK_DEV Vec<float, V> roundedToBf16(Vec<float, V> x) {
  using F = Vec<float, V>;
  x = opaquePairs<V>(x);
  F most = __builtin_elementwise_fma(x, F(-0x1p-16f), x);
  F y = __builtin_elementwise_fma(difference<V>(most, x), F(-0x1p16f),
                                  x * 0x1p-40f);
  // Infinity becomes NaN on the way.
  if (__builtin_expect(waveHasNan<V>(y), false))
    HK_UNROLL for (int e = 0; e < V; ++e) {
      u32 bits = bitCast<u32>(x[e]);
      bits = x[e] != x[e] ? (bits | 0x00400000u) & 0xFFFF0000u : bits;
      y[e] = y[e] != y[e] ? bitCast<float>(opaque(bits)) : y[e];
    }
  return y;
}
/// f32 bits whose upper half is the bf16 nearest to x; the lower half is noise.
template <int V> HK_DEV Vec<u32, V> bf16InUpperHalf(Vec<float, V> x) {
  if constexpr (kVotes)
    return nearestBf16<V>(roundableToBf16<V>(x));
  auto u = bitCast<Vec<u32, V>>(x);
  return x != x ? (u | 0x00400000u) : nearestBf16<V>(x);
}

/// f32 -> bf16 bits.
template <int V> HK_DEV Vec<u16, V> toBf16Bits(Vec<float, V> x) {
  if constexpr (kNativeBf16)
    return bitCast<Vec<u16, V>>(convertTo<bf16, V>(x));
  else
    return convertTo<u16, V>(bf16InUpperHalf<V>(x) >> 16);
}
template <int V> HK_DEV Vec<bf16, V> toBf16(Vec<float, V> x) {
  return bitCast<Vec<bf16, V>>(toBf16Bits<V>(x));
}
template <int V> HK_DEV Vec<float, V> fromBf16Bits(Vec<u16, V> x) {
  if constexpr (kArch == Arch::Sm90a && V % 2 == 0) {
    // Whole words, so that each element is one instruction.
    Vec<float, V> r;
    HK_UNROLL for (int i = 0; i < V / 2; ++i) {
      u32 pair = bitCast<Vec<u32, V / 2>>(x)[i];
      r[2 * i] = bitCast<float>(pair << 16);
      r[2 * i + 1] = bitCast<float>(pair & 0xFFFF0000u);
    }
    return r;
  } else
    return bitCast<Vec<float, V>>(convertTo<u32, V>(x) << 16);
}
template <int V> HK_DEV Vec<float, V> fromBf16(Vec<bf16, V> x) {
  return fromBf16Bits<V>(bitCast<Vec<u16, V>>(x));
}

/// Codes of four elements by the chip's own instructions. MAY_BE_NAN, here and
/// below: whether NaN has to be looked for.
template <DType D, bool MAY_BE_NAN = true> HK_DEV u32 encodeWord(f32x4 x) {
  u32 word = encode4<D>(x);
  if constexpr (kVotes && MAY_BE_NAN)
    if (__builtin_expect(waveHasNan<4>(x), false))
      HK_UNROLL for (int e = 0; e < 4; ++e) {
        u32 nan = (word & ~(0xFFu << (8 * e))) | smallFloat<D>().nan << (8 * e);
        word = opaque(x[e] != x[e] ? nan : word);
      }
  return word;
}

/// fp8 bytes of x by the chip's own instructions.
template <DType D, int V, bool MAY_BE_NAN = true>
HK_DEV Vec<u8, V> encodeNative(Vec<float, V> x) {
  if constexpr (V >= 4) {
    Vec<u32, V / 4> w;
    HK_UNROLL for (int i = 0; i < V / 4; ++i) w[i] = encodeWord<D, MAY_BE_NAN>(
        f32x4{x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]});
    return bitCast<Vec<u8, V>>(w);
  } else {
    f32x4 t = 0;
    HK_UNROLL for (int e = 0; e < V; ++e) t[e] = x[e];
    u32 w = encodeWord<D, MAY_BE_NAN>(t);
    Vec<u8, V> r;
    HK_UNROLL for (int e = 0; e < V; ++e) r[e] = u8(w >> (8 * e));
    return r;
  }
}

template <DType D, int V> HK_DEV Vec<float, V> decodeNative(Vec<u8, V> x) {
  Vec<float, V> r;
  HK_UNROLL for (int i = 0; i < V; i += 4) {
    u32 w = 0;
    HK_UNROLL for (int e = 0; e < 4 && i + e < V; ++e) w |= u32(x[i + e])
                                                            << (8 * e);
    f32x4 t = decode4<D>(w);
    HK_UNROLL for (int e = 0; e < 4 && i + e < V; ++e) r[i + e] = t[e];
  }
  return r;
}

/// The integer that roundeven(x) is, for |x| < 2^22; anything for NaN.
template <int V> HK_DEV Vec<i32, V> nearestInt(Vec<float, V> x) {
  constexpr float magic = 12582912.f; // 1.5 * 2^23
  return bitCast<Vec<i32, V>>(x + magic) - 0x4B400000;
}

/// x limited to [lo, hi] and 0 for NaN, which is rare; for targets that vote.
template <int V>
HK_DEV Vec<float, V> limitedNumbers(Vec<float, V> x, float lo, float hi) {
  Vec<float, V> limited = limitNumber<V>(x, lo, hi);
  if (__builtin_expect(waveHasNan<V>(x), false))
    HK_UNROLL for (int e = 0; e < V; ++e) limited[e] =
        opaque(x[e] != x[e] ? 0.f : limited[e]);
  return limited;
}

/// f32 -> integer in [lo, hi], nearest even, saturating, NaN becomes 0. The
/// limits are integers.
template <int V>
HK_DEV Vec<i32, V> roundToInt(Vec<float, V> x, float lo, float hi) {
  using F = Vec<float, V>;
  // The limits are integers: it is the same before and after rounding.
  if constexpr (kVotes)
    return nearestInt<V>(limitedNumbers<V>(x, lo, hi));
  x = __builtin_elementwise_roundeven(x);
  x = x < lo ? F(lo) : x;
  x = x > hi ? F(hi) : x;
  x = x != x ? F(0.f) : x;
  return convertTo<i32, V>(x);
}

/// f32 -> integer, towards zero, saturating, NaN becomes 0.
template <class Int, int V> HK_DEV Vec<Int, V> truncToInt(Vec<float, V> x) {
  constexpr Int lo = Int(u64(1) << (8 * sizeof(Int) - 1)), hi = ~lo;
  constexpr float limit = -float(lo);
  using F = Vec<float, V>;
  if constexpr (kNativeTruncation && sizeof(Int) == sizeof(i32)) {
    Vec<Int, V> r;
    HK_UNROLL for (int e = 0; e < V; ++e) r[e] = Int(truncated(x[e]));
    return r;
  }
  F safe = x < limit ? x : F(0.f);
  safe = x >= -limit ? safe : F(0.f);
  Vec<Int, V> r = convertTo<Int, V>(safe);
  HK_UNROLL for (int e = 0; e < V; ++e) {
    r[e] = x[e] >= limit ? hi : r[e];
    r[e] = x[e] < -limit ? lo : r[e];
  }
  return r;
}

/// Codes of 4 bits, one per lane, as they lie in memory.
template <int V> HK_DEV Vec<u8, V / 2> packCodes(Vec<u8, V> c) {
  return c.even | (c.odd << 4);
}
template <int V> HK_DEV Vec<u32, V> unpackCodes(Vec<u8, V / 2> x) {
  Vec<u8, V> c;
  if constexpr (V == 2) { // the halves of a vector of two are no vectors
    c[0] = x[0] & 15;
    c[1] = x[0] >> 4;
  } else {
    c.even = x & u8(15);
    c.odd = x >> 4;
  }
  return convertTo<u32, V>(c);
}
/// What codes of 4 bits stand for.
template <DType D, int V> HK_DEV Carrier<D, V> valuesOfCodes(Vec<u32, V> code) {
  static_assert(isPacked(D));
  if constexpr (D == DType::F4E2M1FN)
    return decodeSmall<D, V>(code);
  else if constexpr (D == DType::I4)
    return bitCast<Vec<i32, V>>(code << 28) >> 28;
  else
    return bitCast<Vec<i32, V>>(code);
}

/// f32 -> f4E2M1FN as it lies in memory, by the chip; NaN becomes 0.
template <int V, bool MAY_BE_NAN = true>
HK_DEV Vec<u8, V / 2> packFp4(Vec<float, V> x) {
  if constexpr (MAY_BE_NAN)
    x = replaceNan<V>(x, 0.f);
  if constexpr (V > 8) {
    Vec<u32, V / 8> words;
    HK_UNROLL for (int i = 0; i < V / 8; ++i) {
      Vec<float, 8> part;
      HK_UNROLL for (int e = 0; e < 8; ++e) part[e] = x[8 * i + e];
      words[i] = encodeFp4<8>(part);
    }
    return bitCast<Vec<u8, V / 2>>(words);
  } else if constexpr (V == 8)
    return bitCast<Vec<u8, 4>>(encodeFp4<8>(x));
  else if constexpr (V == 4)
    return bitCast<Vec<u8, 2>>(u16(encodeFp4<4>(x)));
  else
    return Vec<u8, 1>(u8(encodeFp4<2>(x)));
}

template <DType D, int V> HK_DEV Packed<D, V> pack(Carrier<D, V> x) {
  if constexpr (D == DType::F32 || D == DType::I32 || D == DType::I64)
    return x;
  else if constexpr (D == DType::BF16)
    return toBf16Bits<V>(x);
  else if constexpr (D == DType::F16 || D == DType::I8 || D == DType::I16)
    return convertTo<Storage<D>, V>(x);
  else if constexpr (D == DType::I1)
    return convertTo<u8, V>(x & 1);
  else if constexpr (D == DType::F8E8M0FNU)
    return convertTo<u8, V>(encodeE8M0<V>(x));
  else if constexpr (D == DType::I4 || D == DType::UI4)
    return packCodes<V>(convertTo<u8, V>(x & 15));
  else if constexpr (D == DType::F4E2M1FN && kVotes)
    return packFp4<V>(x);
  else if constexpr (D == DType::F4E2M1FN)
    return packCodes<V>(convertTo<u8, V>(encodeSmall<D, V>(x)));
  else if constexpr (kNativeEncode<D>)
    return encodeNative<D, V>(x);
  else
    return convertTo<u8, V>(encodeSmall<D, V>(x));
}

/// pack of values of which none is NaN.
template <DType D, int V> HK_DEV Packed<D, V> packNumbers(Carrier<D, V> x) {
  if constexpr (D == DType::F4E2M1FN && kVotes)
    return packFp4<V, false>(x);
  else if constexpr (kVotes && kNativeEncode<D>)
    return encodeNative<D, V, false>(x);
  else
    return pack<D, V>(x);
}

/// pack of values that are rounded to D already. For bf16 the inverse of what
/// fromBf16Bits does, so that both vanish where the value goes nowhere else.
template <DType D, int V> HK_DEV Packed<D, V> packExact(Carrier<D, V> x) {
  if constexpr (D == DType::BF16 && kArch == Arch::Sm90a && V % 2 == 0) {
    Vec<u32, V> bits = bitCast<Vec<u32, V>>(x);
    Vec<u32, V / 2> words;
    HK_UNROLL for (int i = 0; i < V / 2; ++i) words[i] =
        bits[2 * i] >> 16 | (bits[2 * i + 1] & 0xFFFF0000u);
    return bitCast<Packed<D, V>>(words);
  } else if constexpr (D == DType::BF16)
    return convertTo<u16, V>(bitCast<Vec<u32, V>>(x) >> 16);
  else if constexpr (D == DType::F8E8M0FNU) // what decodeE8M0 makes
    return convertTo<u8, V>(bitCast<Vec<u32, V>>(x) >> 23);
  else if constexpr (D == DType::F8E5M2) { // the upper half of an f16
    // An infinity stays one, which pack would take for a number out of range.
    Vec<f16, V> halves = convertTo<f16, V>(x);
    return convertTo<u8, V>(bitCast<Vec<u16, V>>(halves) >> 8);
  } else
    return pack<D, V>(x);
}

template <DType D, int V> HK_DEV Carrier<D, V> unpack(Packed<D, V> x) {
  if constexpr (D == DType::F32 || D == DType::I32 || D == DType::I64)
    return x;
  else if constexpr (D == DType::BF16)
    return fromBf16Bits<V>(x);
  else if constexpr (D == DType::F16)
    return convertTo<float, V>(x);
  else if constexpr (D == DType::I8 || D == DType::I16 || D == DType::I1)
    return convertTo<i32, V>(x);
  else if constexpr (D == DType::F8E8M0FNU)
    return decodeE8M0<V>(convertTo<u32, V>(x));
  else if constexpr (isPacked(D))
    return valuesOfCodes<D, V>(unpackCodes<V>(x));
  else if constexpr (kNativeDecode<D>)
    return decodeNative<D, V>(x);
  else
    return decodeSmall<D, V>(convertTo<u32, V>(x));
}

/// mostly of what is rounded to D, chosen as it lies in memory: behind a choice
/// of floats LLVM 22 rounds them one by one.
template <DType D, int V>
HK_DEV Vec<float, V> mostlyRounded(Usual usual, Vec<float, V> a,
                                   Vec<float, V> b) {
  Packed<D, V> made = packExact<D, V>(a);
  if (__builtin_expect(usual.exceptions != 0, false))
    made = usual.here ? made : opaque(packExact<D, V>(b));
  return unpack<D, V>(made);
}

/// x rounded to D, still in a carrier.
template <DType D, int V> HK_DEV Vec<float, V> roundTo(Vec<float, V> x) {
  if constexpr (D == DType::F32)
    return x;
  else if constexpr (D == DType::BF16 && kVotes && !kNativeBf16)
    return roundedToBf16<V>(x);
  else if constexpr (D == DType::BF16 && !kNativeBf16) {
    using F = Vec<float, V>;
    // x + x is a quiet NaN, and keeps this a choice of floats: LLVM 22 takes x
    // for -x where both are used and x is a choice of integers (gfx942).
    return x != x ? x + x : bitCast<F>(nearestBf16<V>(x) & 0xFFFF0000u);
  } else if constexpr (D == DType::F4E2M1FN)
    return decodeSmall<D, V>(encodeSmall<D, V>(x));
  else
    return unpack<D, V>(pack<D, V>(x));
}

} // namespace hk

#endif // HK_KERNELS_DEVICE_CONVERT_H
