//===- Float.h - Float operations with the hardware's rules -----*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Minimum, maximum and other operations where the hardware's treatment of NaN
// and signed zero differs from C. Written without branches for vector loops.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_FLOAT_H
#define HK_LIB_EMULATOR_FLOAT_H

#include <cstdint>
#include <cstring>

namespace hk::emu {

inline uint32_t floatBits(float v) {
  uint32_t b;
  std::memcpy(&b, &v, 4);
  return b;
}
inline float bitsFloat(uint32_t b) {
  float v;
  std::memcpy(&v, &b, 4);
  return v;
}

/// The bits of v in bf16, rounded to nearest even; a NaN stays one, quiet.
inline uint16_t bf16Bits(float v) {
  uint32_t bits = floatBits(v);
  if (v != v)
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// The integer that holds T, and its quiet bit for NaNs.
template <class T> struct NanBits;
template <> struct NanBits<_Float16> {
  using Bits = uint16_t;
  static constexpr Bits quiet = 0x200;
};
template <> struct NanBits<float> {
  using Bits = uint32_t;
  static constexpr Bits quiet = 0x400000;
};
template <> struct NanBits<double> {
  using Bits = uint64_t;
  static constexpr Bits quiet = 1ull << 51;
};
template <class T> inline bool isSignaling(T v) {
  typename NanBits<T>::Bits bits;
  std::memcpy(&bits, &v, sizeof v);
  return __builtin_isnan(v) && !(bits & NanBits<T>::quiet);
}
template <class T> inline T quieted(T v) {
  typename NanBits<T>::Bits bits;
  std::memcpy(&bits, &v, sizeof v);
  bits |= NanBits<T>::quiet;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

/// IEEE 754-2008 minNum: a number wins over NaN, -0 is below +0; of two
/// NaNs the second is the result.
template <class T> inline T minNum(T a, T b) {
  T r = a < b ? a : b; // takes b when unordered or equal
  bool aNegativeZero = a == b && __builtin_signbit(double(a));
  r = aNegativeZero ? a : r;
  r = __builtin_isnan(b) && !__builtin_isnan(a) ? a : r;
  return r;
}
template <class T> inline T maxNum(T a, T b) {
  T r = a > b ? a : b;
  bool bNegativeZero = a == b && __builtin_signbit(double(b));
  r = bNegativeZero ? a : r;
  r = __builtin_isnan(b) && !__builtin_isnan(a) ? a : r;
  return r;
}
/// The same as with MODE.IEEE, where a signaling NaN wins.
template <class T> inline T minNumIeee(T a, T b) {
  return isSignaling(a)   ? quieted(a)
         : isSignaling(b) ? quieted(b)
                          : minNum(a, b);
}
template <class T> inline T maxNumIeee(T a, T b) {
  return isSignaling(a)   ? quieted(a)
         : isSignaling(b) ? quieted(b)
                          : maxNum(a, b);
}
/// IEEE 754-2019 minimum: NaN wins, quiet.
template <class T> inline T minimum(T a, T b) {
  return __builtin_isnan(a)   ? quieted(a)
         : __builtin_isnan(b) ? quieted(b)
                              : minNum(a, b);
}
template <class T> inline T maximum(T a, T b) {
  return __builtin_isnan(a)   ? quieted(a)
         : __builtin_isnan(b) ? quieted(b)
                              : maxNum(a, b);
}
template <class T> inline T med3(T a, T b, T c) {
  bool nan = __builtin_isnan(a) || __builtin_isnan(b) || __builtin_isnan(c);
  T low = minNum(minNum(a, b), c);
  T mid = maxNum(minNum(a, b), minNum(maxNum(a, b), c));
  return nan ? low : mid;
}
template <class T> inline T med3Ieee(T a, T b, T c) {
  bool nan = __builtin_isnan(a) || __builtin_isnan(b) || __builtin_isnan(c);
  return nan ? minNumIeee(minNumIeee(a, b), c) : med3(a, b, c);
}

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_FLOAT_H
