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

namespace hk::emu {

const MiniFloat kE4M3Fn = {4, 3, 7, false, false, true, 0};
const MiniFloat kE5M2 = {5, 2, 15, false, true, true, 1};
const MiniFloat kE4M3Fnuz = {4, 3, 8, true, false, true, 2};
const MiniFloat kE5M2Fnuz = {5, 2, 16, true, false, true, 3};
const MiniFloat kE2M3 = {2, 3, 1, false, false, false, 4};
const MiniFloat kE3M2 = {3, 2, 3, false, false, false, 5};
const MiniFloat kE2M1 = {2, 1, 1, false, false, false, 6};

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

uint32_t MiniFloat::encodeStochastic(float value, bool saturate,
                                     uint32_t random) const {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  uint32_t sign = bits >> 31 ? signMask() : 0;
  int e = int(bits >> 23 & 0xff);
  if (e == 255)
    return encode(value, saturate); // nothing to round
  // As in encode, but the random bits are added below the last bit kept.
  uint64_t m = bits & 0x7fffff;
  if (e)
    m |= 1u << 23;
  else
    e = 1;
  int field = e - 127 + bias;
  bool normal = field > 0 && m >> 23;
  int shift = 23 - mantissaBits + (normal ? 0 : 1 - field);
  shift = shift > 40 ? 40 : shift;
  uint64_t q = m >> shift, rest = m & ((1ull << shift) - 1);
  q += rest + (uint64_t(random) << 8 >> (40 - shift)) >= (1ull << shift);
  uint64_t code = normal ? (uint64_t(field - 1) << mantissaBits) + q : q;
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
  static const std::array<std::array<float, 256>, kFormats> tables = [] {
    std::array<std::array<float, 256>, kFormats> all;
    for (const MiniFloat *format :
         {&kE4M3Fn, &kE5M2, &kE4M3Fnuz, &kE5M2Fnuz, &kE2M3, &kE3M2, &kE2M1})
      for (uint32_t code = 0; code < 256; ++code)
        all[format->index][code] =
            format->decode(code & (2 * format->signMask() - 1));
    return all;
  }();
  return tables[index].data();
}

} // namespace hk::emu
