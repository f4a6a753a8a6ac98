//===- MiniFloat.h - Small float formats ------------------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// fp8, bf8, fp6, bf6 and fp4 in their OCP and fnuz flavours: exact decoding and
// encoding with round to nearest even or stochastic rounding.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_MINIFLOAT_H
#define HK_LIB_EMULATOR_MINIFLOAT_H

#include <cstdint>
#include <cstring>

namespace hk::emu {

struct MiniFloat {
  int exponentBits, mantissaBits, bias;
  bool fnuz;      ///< no -0 and no infinity, 0x80 is NaN
  bool hasInf;    ///< the largest exponent is infinity and NaN (e5m2)
  bool hasNan;    ///< false: every code is finite (fp4, fp6)
  unsigned index; ///< of the format, for tables
  static constexpr unsigned kFormats = 7;

  int bits() const { return 1 + exponentBits + mantissaBits; }
  uint32_t signMask() const { return 1u << (exponentBits + mantissaBits); }
  /// The largest finite magnitude.
  uint32_t maxCode() const {
    uint32_t all = signMask() - 1;
    if (fnuz || !hasNan)
      return all;
    return hasInf ? all - (1u << mantissaBits) : all - 1;
  }
  uint32_t nanCode() const { return fnuz ? signMask() : signMask() - 1; }
  float decode(uint32_t code) const;
  /// Round to nearest even; `saturate`: an overflow, and infinity, becomes the
  /// largest finite value. Without branches, so that loops vectorise.
  [[gnu::always_inline]] uint32_t encode(float value, bool saturate) const {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t sign = bits >> 31 ? signMask() : 0;
    // The magnitude is m * 2^(e - 150); m is cut where the result's unit is.
    int32_t e = int32_t(magnitude >> 23);
    uint32_t m = (magnitude & 0x7fffffu) | (e ? 1u << 23 : 0u);
    int32_t field = (e ? e : 1) - 127 + bias; // exponent of a normal result
    bool normal = field > 0 && e;
    int32_t shift = 23 - mantissaBits + (normal ? 0 : 1 - field);
    shift = shift > 25 ? 25 : shift; // nothing is left of the value
    uint32_t q = (m + (1u << (shift - 1)) - 1 + (m >> shift & 1)) >> shift;
    // A carry out of the mantissa moves on to the next exponent by itself.
    uint32_t code = normal ? (uint32_t(field - 1) << mantissaBits) + q : q;
    uint32_t overflow = saturate || !hasNan ? maxCode()
                        : hasInf            ? maxCode() + 1
                                            : nanCode();
    code = code > maxCode() ? overflow : code;
    code = magnitude > 0x7f800000u ? (hasNan ? nanCode() : maxCode()) : code;
    return fnuz && (code == 0 || code == nanCode()) ? code : code | sign;
  }
  /// Adds `random` (32 bits, the top ones matter) below the last bit kept.
  uint32_t encodeStochastic(float value, bool saturate, uint32_t random) const;
  /// All codes decoded, for the table driven users.
  const float *table() const;
};

extern const MiniFloat kE4M3Fn, kE5M2, kE4M3Fnuz, kE5M2Fnuz, kE2M3, kE3M2,
    kE2M1;

/// fp8 (bf8) of the chip.
inline const MiniFloat &fp8Format(bool ocp, bool isBf8) {
  return ocp ? (isBf8 ? kE5M2 : kE4M3Fn) : (isBf8 ? kE5M2Fnuz : kE4M3Fnuz);
}

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_MINIFLOAT_H
