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

namespace hk::emu {

struct MiniFloat {
  int exponentBits, mantissaBits, bias;
  bool fnuz;   ///< no -0 and no infinity, 0x80 is NaN
  bool hasInf; ///< the largest exponent is infinity and NaN (e5m2)
  bool hasNan; ///< false: every code is finite (fp4, fp6)

  int bits() const { return 1 + exponentBits + mantissaBits; }
  uint32_t signMask() const { return 1u << (exponentBits + mantissaBits); }
  uint32_t maxCode() const; ///< largest finite magnitude
  uint32_t nanCode() const;
  float decode(uint32_t code) const;
  /// `saturate`: an overflow becomes the largest finite value.
  uint32_t encode(float value, bool saturate) const {
    return encodeWith(value, saturate, false, 0);
  }
  /// Adds `random` (32 bits, the top ones matter) below the last bit kept.
  uint32_t encodeStochastic(float value, bool saturate, uint32_t random) const {
    return encodeWith(value, saturate, true, random);
  }
  /// All codes decoded, for the table driven users.
  const float *table() const;

private:
  uint32_t encodeWith(float value, bool saturate, bool stochastic,
                      uint32_t random) const;
};

extern const MiniFloat kE4M3Fn, kE5M2, kE4M3Fnuz, kE5M2Fnuz, kE2M3, kE3M2,
    kE2M1;

/// fp8 (bf8) of the chip.
inline const MiniFloat &fp8Format(bool ocp, bool isBf8) {
  return ocp ? (isBf8 ? kE5M2 : kE4M3Fn) : (isBf8 ? kE5M2Fnuz : kE4M3Fnuz);
}

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_MINIFLOAT_H
