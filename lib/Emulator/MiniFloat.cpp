//===- MiniFloat.cpp - Small float formats --------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One description per format (OCP OFP8 and MX specifications; the fnuz
// variants as in the CDNA3 ISA).
//
//===----------------------------------------------------------------------===//

#include "MiniFloat.h"
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>

namespace hk::emu {

const MiniFloat kE4M3Fn = {4, 3, 7, false, false, true};
const MiniFloat kE5M2 = {5, 2, 15, false, true, true};
const MiniFloat kE4M3Fnuz = {4, 3, 8, true, false, true};
const MiniFloat kE5M2Fnuz = {5, 2, 16, true, false, true};
const MiniFloat kE2M3 = {2, 3, 1, false, false, false};
const MiniFloat kE3M2 = {3, 2, 3, false, false, false};
const MiniFloat kE2M1 = {2, 1, 1, false, false, false};

uint32_t MiniFloat::maxCode() const {
  uint32_t all = signMask() - 1;
  if (fnuz || !hasNan)
    return all;
  return hasInf ? all - (1u << mantissaBits) : all - 1;
}

uint32_t MiniFloat::nanCode() const {
  return fnuz ? signMask() : signMask() - 1;
}

float MiniFloat::decode(uint32_t code) const {
  uint32_t magnitude = code & (signMask() - 1);
  bool negative = (code & signMask()) != 0;
  if (fnuz && negative && !magnitude)
    return std::numeric_limits<float>::quiet_NaN();
  uint32_t exponent = magnitude >> mantissaBits;
  uint32_t mantissa = magnitude & ((1u << mantissaBits) - 1);
  if (hasNan && !fnuz && magnitude > maxCode()) {
    bool isInf = hasInf && mantissa == 0;
    float v = isInf ? std::numeric_limits<float>::infinity()
                    : std::numeric_limits<float>::quiet_NaN();
    return negative ? -v : v;
  }
  float v = exponent ? std::ldexp(float(mantissa + (1u << mantissaBits)),
                                  int(exponent) - bias - mantissaBits)
                     : std::ldexp(float(mantissa), 1 - bias - mantissaBits);
  return negative ? -v : v;
}

uint32_t MiniFloat::encodeWith(float value, bool saturate, bool stochastic,
                               uint32_t random) const {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  uint32_t sign = bits >> 31 ? signMask() : 0;
  if (value != value)
    return hasNan ? (fnuz ? nanCode() : nanCode() | sign) : maxCode() | sign;
  if (std::isinf(value)) {
    if (hasInf)
      return sign | (maxCode() + 1);
    return hasNan ? (fnuz ? nanCode() : nanCode() | sign) : maxCode() | sign;
  }
  // The magnitude is m * 2^(e - 150), the result q * 2^(unit - 150).
  int e = int(bits >> 23 & 0xff);
  uint64_t m = bits & 0x7fffff;
  if (e)
    m |= 1u << 23;
  else
    e = 1;
  int code0 = e - 127 + bias; // exponent field of a normal result
  bool normal = code0 > 0 && m >> 23;
  int shift = normal ? 23 - mantissaBits : 23 - mantissaBits + 1 - code0;
  if (shift > 40)
    shift = 40; // nothing is left of the value but its sign
  uint64_t q = m >> shift, rest = m & ((1ull << shift) - 1);
  uint64_t halfUnit = 1ull << (shift - 1);
  bool up;
  if (stochastic)
    up = rest + (uint64_t(random) << 8 >> (40 - shift)) >= (1ull << shift);
  else
    up = rest > halfUnit || (rest == halfUnit && (q & 1));
  q += up;
  // A carry out of the mantissa moves on to the next exponent by itself.
  uint64_t code =
      normal ? (uint64_t(code0) << mantissaBits) + q - (1ull << mantissaBits)
             : q;
  if (code > maxCode()) {
    if (saturate || !hasNan)
      return maxCode() | sign;
    if (hasInf)
      return sign | (maxCode() + 1);
    return fnuz ? nanCode() : nanCode() | sign;
  }
  if (code == 0)
    return fnuz ? 0 : sign;
  return uint32_t(code) | sign;
}

const float *MiniFloat::table() const {
  static std::mutex mutex;
  static std::map<const MiniFloat *, std::array<float, 256>> tables;
  std::lock_guard<std::mutex> lock(mutex);
  auto it = tables.find(this);
  if (it == tables.end()) {
    it = tables.emplace(this, std::array<float, 256>()).first;
    for (uint32_t code = 0; code < 256; ++code)
      it->second[code] = decode(code & (2 * signMask() - 1));
  }
  return it->second.data();
}

} // namespace hk::emu
