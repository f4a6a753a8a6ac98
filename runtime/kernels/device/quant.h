//===- quant.h - Scales of quantised formats -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scale arithmetic of hk.quantize and hk.quantize_mx; the codecs themselves are
// in convert.h.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_QUANT_H
#define HK_KERNELS_DEVICE_QUANT_H

#include "kernels/device/ops.h"

namespace hk {

/// What x / d is computed from for many x without a division for each.
struct Divisor {
  /// A power of two that brings the divisor where remainders are exact.
  float scale;
  /// The reciprocal is within 2^-24 and a little.
  float value, reciprocal;
  /// Whether the scale of a lane of the wave may be another one than 1.
  bool anyScaled = true;
};

/// The divisor d >= floor / limit of values of at most limit * d. The bounds
/// are constants: with the usual ones nothing is scaled.
HK_DEV Divisor divisorOf(float d, float floor, float limit) {
  using F1 = Vec<float, 1>;
  float scale = 1.f;
  if (floor / limit < 0x1p-60f)
    scale = d < 0x1p-60f ? 0x1p80f : scale;
  if (limit < 8.f)
    scale = d > 0x1p60f ? 0x1p-64f : scale;
  float value = d * scale;
  float near = nearReciprocal<1>(F1(value))[0];
  float rest = fma<1>(F1(near), F1(value), F1(-1.f))[0];
  float reciprocal = fma<1>(F1(-rest), F1(near), F1(near))[0];
  // x / inf is 0, or NaN if x is infinite, as x * 0 is.
  bool infinite = value == __builtin_inff();
  return {scale, infinite ? 1.f : value, infinite ? 0.f : reciprocal};
}

namespace detail {
/// One step of Newton's towards x / d. The remainder is negated so that -0
/// stays -0.
template <int V>
HK_DEV Vec<float, V> refineQuotient(Vec<float, V> q, Vec<float, V> x,
                                    Vec<float, V> d, Vec<float, V> reciprocal) {
  return fma<V>(-fma<V>(q, d, -x), reciprocal, q);
}
} // namespace detail

/// x / d where it is going to be rounded to 8 bits, for quotients of at least
/// 2^-18; smaller ones stay smaller. The error before the rounding to f32 is
/// below 2^-46, and no quotient of two floats is so close to the middle of two
/// floats that it could change the 8 bits (DeviceTest.cpp tries all that are).
template <int V>
HK_DEV Vec<float, V> divideFor8Bits(Vec<float, V> x, Divisor d) {
  if constexpr (kVotes && V % 2 == 0) {
    if (__builtin_expect(d.anyScaled, false))
      HK_UNROLL for (int e = 0; e < V; ++e) x[e] = opaque(x[e] * d.scale);
    // By pairs: the divisor in each lane of a longer vector would be copied for
    // what stands behind a branch.
    f32x2 value = d.value, reciprocal = d.reciprocal;
    HK_UNROLL for (int e = 0; e < V; e += 2) {
      f32x2 pair = opaquePair(f32x2{x[e], x[e + 1]});
      pair =
          detail::refineQuotient<2>(pair * reciprocal, pair, value, reciprocal);
      x[e] = pair[0];
      x[e + 1] = pair[1];
    }
    return x;
  }
  Vec<float, V> value = d.value, reciprocal = d.reciprocal;
  x = opaquePairs<V>(x * d.scale);
  return detail::refineQuotient<V>(x * reciprocal, x, value, reciprocal);
}

/// A divisor that was given, of which nothing is known, and how large a
/// quotient may be before it is rounded to the largest value.
struct GivenDivisor {
  float value, reciprocal, bound;
  /// It is positive, and remainders by it are exact.
  bool usual;
};

HK_DEV GivenDivisor givenDivisorOf(float d, float limit) {
  using F1 = Vec<float, 1>;
  float near = nearReciprocal<1>(F1(d))[0];
  float rest = fma<1>(F1(near), F1(d), F1(-1.f))[0];
  float reciprocal = fma<1>(F1(-rest), F1(near), F1(near))[0];
  return {d, reciprocal, 2.f * limit, d >= 0x1p-60f && d <= 0x1p60f};
}

/// x / d where it is going to be saturated and rounded to 8 bits.
template <int V>
HK_DEV Vec<float, V> divideFor8Bits(Vec<float, V> x, GivenDivisor d) {
  if constexpr (kVotes) {
    if (__builtin_expect(ballot(!d.usual) == 0, true)) {
      Vec<float, V> value = d.value, reciprocal = d.reciprocal;
      x = opaquePairs<V>(x);
      Vec<float, V> q = x * d.reciprocal;
      Vec<float, V> y = detail::refineQuotient<V>(q, x, value, reciprocal);
      // The remainder of an infinite quotient is none. Beyond the bound it
      // stays there; that of NaN is NaN.
      if (__builtin_expect(waveHasNan<V>(y), false))
        y = opaque(detail::refineQuotient<V>(
            limitNumber<V>(q, -d.bound, d.bound), x, value, reciprocal));
      return y;
    }
  }
  return x / d.value;
}

/// max(amax, floor) / limit, or 1 when that is 0. NaN stays NaN.
HK_DEV float quantScale(float amax, float floor, float limit) {
  using F1 = Vec<float, 1>;
  float m = amax < floor ? floor : amax;
  // With the correctly rounded reciprocal, a quotient within an ulp and its
  // exact remainder, one more step rounds correctly (Markstein, 1990).
  F1 reciprocal = 1.f / limit;
  F1 q = detail::refineQuotient<1>(m * reciprocal, m, limit, reciprocal);
  q = detail::refineQuotient<1>(q, m, limit, reciprocal);
  if (floor >= 0x1p-60f)
    return m == __builtin_inff() ? m : q[0];
  if (m >= 0x1p-60f && m <= 3.40282347e38f)
    return q[0];
  float scale = m / limit;
  return scale == 0.f ? 1.f : scale;
}

/// The least power of two that is not below `scale`; at least 2^-126.
HK_DEV float powerOfTwoAbove(float scale) {
  u32 bits = bitCast<u32>(scale) + 0x7FFFFFu;
  return scale == scale ? bitCast<float>(bits & 0x7F800000u) : scale;
}

enum class MxRounding { Even, Ceil, Floor, Ocp, OcpCeil };

/// 127 + k of the power of two 2^k next to amax / `limit`, which is above 1 and
/// has few bits: the least one that is not below it (UP), or the largest one
/// that is not above it; 0 below 2^-126. The quotient is rounded as a division
/// does: only where amax is `limit` times a power of two does it become one, as
/// otherwise amax is an ulp away and a rounding by half an ulp of the quotient
/// is less than that. `amax` is finite.
template <bool UP> HK_DEV i32 quotientExponent(float amax, float limit) {
  u32 bits = bitCast<u32>(amax), ofLimit = bitCast<u32>(limit);
  u32 exponent = (ofLimit >> 23) - 127, fraction = ofLimit & 0x7FFFFFu;
  u32 carry = UP ? 0x7FFFFFu - fraction : 0x800000u - fraction;
  i32 byte = i32((bits + carry) >> 23) - i32(exponent) - (UP ? 0 : 1);
  // Upwards, a quotient that is not rounded to 0 is at least 2^-126.
  i32 least = UP && bits > u32(limit * 0.5f) ? 1 : 0;
  return byte < least ? least : byte;
}

/// The e8m0 byte of a block with this largest magnitude; 255 for NaN and inf.
template <MxRounding R, DType D> HK_DEV i32 mxScaleByte(float amax) {
  constexpr i32 largestExponent = D == DType::F4E2M1FN   ? 2
                                  : D == DType::F8E4M3FN ? 8
                                                         : 15;
  constexpr u32 roundUpFrom = D == DType::F4E2M1FN   ? 1u << 21
                              : D == DType::F8E4M3FN ? 1u << 19
                                                     : 1u << 20;
  if (!(amax <= 3.40282347e38f))
    return 255;
  i32 byte;
  if constexpr (R == MxRounding::Even)
    byte = i32((bitCast<u32>(amax) + roundUpFrom) >> 23) - largestExponent;
  else if constexpr (R == MxRounding::Ocp || R == MxRounding::OcpCeil) {
    u32 up = R == MxRounding::OcpCeil ? 0x7FFFFFu : 0u;
    byte = i32((bitCast<u32>(amax) + up) >> 23) - largestExponent;
  } else if constexpr (kVotes) {
    constexpr float limit = float(info(D).maxFinite);
    byte = quotientExponent<R == MxRounding::Ceil>(amax, limit);
  } else {
    constexpr float limit = float(info(D).maxFinite);
    u32 bits = bitCast<u32>(amax / limit);
    byte = i32((bits + (R == MxRounding::Ceil ? 0x7FFFFFu : 0u)) >> 23);
  }
  return byte < 0 ? 0 : byte > 254 ? 254 : byte;
}

/// x / 2^(byte - 127), and zeros in a block whose scale is NaN.
template <int V> HK_DEV Vec<float, V> mxScaled(Vec<float, V> x, i32 byte) {
  if constexpr (kVotes) {
    // One product of pairs for each ldexp; 2^-127 is a subnormal number, which
    // has the larger bits than what the shift gives for 254 and 255.
    i32 bits = i32(u32(254 - byte) << 23);
    x = x * bitCast<float>(bits > 0x00400000 ? bits : 0x00400000);
    if (__builtin_expect(ballot(byte == 255) != 0, false))
      HK_UNROLL for (int e = 0; e < V; ++e) x[e] =
          opaque(byte == 255 ? 0.f : x[e]);
    return x;
  }
  Vec<float, V> y = scaleByPow2<V>(x, Vec<i32, V>(127 - byte));
  return byte == 255 ? Vec<float, V>(0.f) : y;
}

} // namespace hk

#endif // HK_KERNELS_DEVICE_QUANT_H
