//===- convert_small.h - f32 <-> fp8, fp4, e8m0 in integer arithmetic -----===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The software codecs: one definition for every target, so that a target with
// native instructions and one without give the same bytes. Encoders round to
// nearest even and saturate: +-inf becomes the largest finite value, NaN the
// format's NaN code (fp4, which has none, gets 0).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_CONVERTSMALL_H
#define HK_KERNELS_DEVICE_CONVERTSMALL_H

#include "kernels/device/types.h"

namespace hk {

/// Layout of a float of at most 8 bits.
struct SmallFloat {
  int exponentBits, mantissaBits, bias;
  /// The code NaN is encoded to.
  u32 nan;
  /// The sign bit with zero magnitude is NaN and there is no -0.
  bool fnuz;
  /// Codes whose magnitude is at least this are NaN; above all codes if none.
  u32 firstNan;
  /// The magnitude that means infinity; above all codes if none.
  u32 inf;
};

template <DType D> constexpr SmallFloat smallFloat() {
  if constexpr (D == DType::F8E4M3FN)
    return {4, 3, 7, 0x7F, false, 0x7F, 0x100};
  else if constexpr (D == DType::F8E4M3FNUZ)
    return {4, 3, 8, 0x80, true, 0x100, 0x100};
  else if constexpr (D == DType::F8E5M2)
    return {5, 2, 15, 0x7F, false, 0x7D, 0x7C};
  else if constexpr (D == DType::F8E5M2FNUZ)
    return {5, 2, 16, 0x80, true, 0x100, 0x100};
  else {
    static_assert(D == DType::F4E2M1FN);
    return {2, 1, 1, 0, false, 0x100, 0x100};
  }
}

/// Codes of x, one per 32-bit lane.
template <DType D, int V> HK_DEV Vec<u32, V> encodeSmall(Vec<float, V> x) {
  using F = Vec<float, V>;
  using U = Vec<u32, V>;
  constexpr SmallFloat f = smallFloat<D>();
  constexpr int drop = 23 - f.mantissaBits;
  constexpr float max = float(info(D).maxFinite);
  U sign = bitCast<U>(x) & 0x80000000u;
  F a = bitCast<F>(bitCast<U>(x) ^ sign);
  auto isNan = a != a;
  a = a > max ? F(max) : a;
  U bits = bitCast<U>(a);
  U normal = (bits + ((1u << (drop - 1)) - 1) + ((bits >> drop) & 1u) -
              (u32(127 - f.bias) << 23)) >>
             drop;
  // Adding 2^k aligns the last kept bit of a subnormal with the last bit of
  // the sum: the adder does the rounding.
  constexpr u32 magicBits = u32(127 + 1 - f.bias - f.mantissaBits + 23) << 23;
  F magic = bitCast<F>(U(magicBits));
  U subnormal = bitCast<U>(a + magic) - magicBits;
  U code = bits < (u32(128 - f.bias) << 23) ? subnormal : normal;
  U signBit = sign >> (31 - f.exponentBits - f.mantissaBits);
  if constexpr (f.fnuz)
    code = code != 0u ? (code | signBit) : code;
  else
    code |= signBit;
  return isNan ? U(f.nan) : code;
}

/// Values of codes; exact.
template <DType D, int V> HK_DEV Vec<float, V> decodeSmall(Vec<u32, V> code) {
  using F = Vec<float, V>;
  using U = Vec<u32, V>;
  constexpr SmallFloat f = smallFloat<D>();
  constexpr u32 signBit = 1u << (f.exponentBits + f.mantissaBits);
  constexpr u32 rebias = u32(127 - f.bias) << 23;
  U magnitude = code & (signBit - 1);
  U sign = (code & signBit) << (31 - f.exponentBits - f.mantissaBits);
  U shifted = magnitude << (23 - f.mantissaBits);
  // A subnormal is 2^(1-bias) too large when read with exponent 1.
  U one = U(rebias + (1u << 23));
  F subnormal = bitCast<F>(shifted | one) - bitCast<F>(one);
  F value = magnitude < (1u << f.mantissaBits) ? subnormal
                                               : bitCast<F>(shifted + rebias);
  U bits = bitCast<U>(value) | sign;
  if constexpr (f.inf < signBit)
    bits = magnitude == f.inf ? (sign | 0x7F800000u) : bits;
  if constexpr (f.firstNan < signBit)
    bits = magnitude >= f.firstNan ? U(0x7FC00000u) : bits;
  if constexpr (f.fnuz)
    bits = code == signBit ? U(0x7FC00000u) : bits;
  return bitCast<F>(bits);
}

/// Nearest power of two (a tie goes to the even exponent); NaN and negative
/// values become the NaN code, inf the largest power.
template <int V> HK_DEV Vec<u32, V> encodeE8M0(Vec<float, V> x) {
  using U = Vec<u32, V>;
  U bits = bitCast<U>(x);
  U exponent = bits >> 23, mantissa = bits & 0x7FFFFFu;
  U up = mantissa + (exponent & 1u) > 0x400000u ? U(1u) : U(0u);
  // Subnormals: 2^-127 has mantissa 0x400000, and nothing is below it.
  up = exponent == 0u ? (mantissa > 0x600000u ? U(1u) : U(0u)) : up;
  U code = exponent + up;
  code = code > 254u ? U(254u) : code;
  code = bits > 0x7F800000u ? U(255u) : code;
  return bits == 0x80000000u ? U(0u) : code;
}

template <int V> HK_DEV Vec<float, V> decodeE8M0(Vec<u32, V> code) {
  using U = Vec<u32, V>;
  U bits = code << 23;
  bits = code == 0u ? U(0x00400000u) : bits;
  bits = code == 255u ? U(0x7FC00000u) : bits;
  return bitCast<Vec<float, V>>(bits);
}

} // namespace hk

#endif // HK_KERNELS_DEVICE_CONVERTSMALL_H
