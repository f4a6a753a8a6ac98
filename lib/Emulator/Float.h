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

/// IEEE 754-2008 minNum: a number wins over NaN, -0 is below +0.
template <class T> inline T minNum(T a, T b) {
  T r = a < b ? a : b; // takes b when unordered or equal
  bool aNegativeZero = a == b && __builtin_signbit(double(a));
  r = aNegativeZero ? a : r;
  r = __builtin_isnan(b) ? a : r;
  return r;
}
template <class T> inline T maxNum(T a, T b) {
  T r = a > b ? a : b;
  bool bNegativeZero = a == b && __builtin_signbit(double(b));
  r = bNegativeZero ? a : r;
  r = __builtin_isnan(b) ? a : r;
  return r;
}
/// IEEE 754-2019 minimum: NaN wins.
template <class T> inline T minimum(T a, T b) {
  return __builtin_isnan(a) ? a : __builtin_isnan(b) ? b : minNum(a, b);
}
template <class T> inline T maximum(T a, T b) {
  return __builtin_isnan(a) ? a : __builtin_isnan(b) ? b : maxNum(a, b);
}
template <class T> inline T med3(T a, T b, T c) {
  bool nan = __builtin_isnan(a) || __builtin_isnan(b) || __builtin_isnan(c);
  T low = minNum(minNum(a, b), c);
  T mid = maxNum(minNum(a, b), minNum(maxNum(a, b), c));
  return nan ? low : mid;
}

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_FLOAT_H
