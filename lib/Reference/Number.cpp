//===- Number.cpp - Numbers of each element type --------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rounding, spacing and the bit patterns of every element type, from its
// exponent range and significand alone. Nothing here is shared with the
// kernels.
//
//===----------------------------------------------------------------------===//

#include "Number.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

using namespace mlir::hk;
using ::hk::DType;

namespace {
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

/// How the codes above the largest finite number are used.
enum class Special {
  Ieee,      // infinities and NaN in the last exponent
  NanAtTop,  // all ones is NaN, no infinity
  NanAtZero, // the code of -0 is NaN, no infinity (fnuz)
  None       // numbers only
};

struct Format {
  int exponentBits, mantissaBits, bias;
  Special special;
};

/// Formats of the signed float types.
Format formatOf(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return {8, 23, 127, Special::Ieee};
  case DType::BF16:
    return {8, 7, 127, Special::Ieee};
  case DType::F16:
    return {5, 10, 15, Special::Ieee};
  case DType::F8E4M3FN:
    return {4, 3, 7, Special::NanAtTop};
  case DType::F8E4M3FNUZ:
    return {4, 3, 8, Special::NanAtZero};
  case DType::F8E5M2:
    return {5, 2, 15, Special::Ieee};
  case DType::F8E5M2FNUZ:
    return {5, 2, 16, Special::NanAtZero};
  default:
    assert(dtype == DType::F4E2M1FN && "an integer or a scale");
    return {2, 1, 1, Special::None};
  }
}

bool isScale(DType dtype) { return dtype == DType::F8E8M0FNU; }

/// Power of two below which all numbers have one spacing.
int minExponent(const Format &f) { return 1 - f.bias; }

double largest(DType dtype) { return ::hk::info(dtype).maxFinite; }

/// Types whose conversions saturate instead of giving infinity.
bool saturates(DType dtype) {
  return dtype != DType::F32 && dtype != DType::BF16 && dtype != DType::F16;
}

double roundInteger(DType dtype, double value) {
  if (dtype == DType::I1)
    return value != 0;
  if (std::isnan(value))
    return 0;
  if (dtype == DType::I8)
    return std::clamp(std::nearbyint(value), -128.0, 127.0);
  if (dtype == DType::I4)
    return std::clamp(std::nearbyint(value), -8.0, 7.0);
  if (dtype == DType::UI4)
    return std::clamp(std::nearbyint(value), 0.0, 15.0);
  if (dtype == DType::I16)
    return std::clamp(std::trunc(value), -0x1p15, 0x1p15 - 1);
  if (dtype == DType::I32)
    return std::clamp(std::trunc(value), -0x1p31, 0x1p31 - 1);
  return std::clamp(std::trunc(value), -0x1p63, 0x1p63);
}

/// The nearest power of two that has a code, upward in a tie.
double roundScale(double value) {
  if (!(value > 0) || std::isinf(value))
    return std::isnan(value) || value < 0 || std::isinf(value) ? kNaN
                                                               : 0x1p-127;
  int exponent = std::ilogb(value);
  exponent += std::scalbn(value, -exponent) >= 1.5;
  return std::scalbn(1.0, std::clamp(exponent, -127, 127));
}
} // namespace

double reference::roundTo(DType dtype, double value) {
  if (!::hk::info(dtype).isFloat)
    return roundInteger(dtype, value);
  if (isScale(dtype))
    return roundScale(value);
  if (dtype == DType::F32)
    return static_cast<float>(value);
  Format f = formatOf(dtype);
  if (std::isnan(value))
    return f.special == Special::None ? 0 : kNaN;
  double rounded = value;
  if (!std::isinf(value)) {
    double spacing = ulpOf(dtype, value);
    rounded = std::nearbyint(value / spacing) * spacing;
  }
  if (std::fabs(rounded) > largest(dtype))
    rounded = std::copysign(saturates(dtype) ? largest(dtype) : kInf, value);
  if (f.special == Special::NanAtZero)
    rounded += 0.0; // There is no -0.
  return rounded;
}

int64_t reference::integerOf(double value) {
  return value >= 0x1p63 ? std::numeric_limits<int64_t>::max()
                         : static_cast<int64_t>(value);
}

double reference::ulpOf(DType dtype, double value) {
  if (!::hk::info(dtype).isFloat)
    return 1;
  if (isScale(dtype))
    return value > 0 ? value : 0x1p-127;
  Format f = formatOf(dtype);
  double magnitude = std::min(std::fabs(value), largest(dtype));
  int exponent = magnitude > 0 ? std::ilogb(magnitude) : minExponent(f);
  if (std::isnan(value))
    exponent = minExponent(f);
  return std::scalbn(1.0, std::max(exponent, minExponent(f)) - f.mantissaBits);
}

double reference::decodeFloat(DType dtype, uint32_t code) {
  if (isScale(dtype))
    return code == 255 ? kNaN : std::scalbn(1.0, static_cast<int>(code) - 127);
  Format f = formatOf(dtype);
  uint32_t mantissaMask = (1u << f.mantissaBits) - 1;
  uint32_t exponentMask = (1u << f.exponentBits) - 1;
  uint32_t mantissa = code & mantissaMask;
  uint32_t exponent = (code >> f.mantissaBits) & exponentMask;
  bool negative = (code >> (f.mantissaBits + f.exponentBits)) & 1;
  switch (f.special) {
  case Special::Ieee:
    if (exponent == exponentMask)
      return mantissa ? kNaN : negative ? -kInf : kInf;
    break;
  case Special::NanAtTop:
    if (exponent == exponentMask && mantissa == mantissaMask)
      return kNaN;
    break;
  case Special::NanAtZero:
    if (negative && exponent == 0 && mantissa == 0)
      return kNaN;
    break;
  case Special::None:
    break;
  }
  double magnitude =
      exponent == 0
          ? std::scalbn(mantissa, minExponent(f) - f.mantissaBits)
          : std::scalbn(mantissa + (mantissaMask + 1.0),
                        static_cast<int>(exponent) - f.bias - f.mantissaBits);
  return negative ? -magnitude : magnitude;
}

uint32_t reference::encodeFloat(DType dtype, double value) {
  if (isScale(dtype))
    return std::isnan(value) ? 255 : std::ilogb(value) + 127;
  Format f = formatOf(dtype);
  uint32_t sign =
      std::signbit(value) ? 1u << (f.mantissaBits + f.exponentBits) : 0;
  uint32_t exponentMask = (1u << f.exponentBits) - 1;
  if (std::isnan(value)) {
    switch (f.special) {
    case Special::Ieee: // The quiet NaN.
      return exponentMask << f.mantissaBits | 1u << (f.mantissaBits - 1);
    case Special::NanAtTop:
      return (exponentMask << f.mantissaBits) | ((1u << f.mantissaBits) - 1);
    case Special::NanAtZero:
      return 1u << (f.mantissaBits + f.exponentBits);
    case Special::None:
      return 0;
    }
  }
  if (std::isinf(value))
    return sign | exponentMask << f.mantissaBits;
  double magnitude = std::fabs(value);
  if (magnitude == 0)
    return f.special == Special::NanAtZero ? 0 : sign;
  int exponent = std::max(std::ilogb(magnitude), minExponent(f));
  auto significand =
      static_cast<uint32_t>(std::scalbn(magnitude, f.mantissaBits - exponent));
  // A subnormal lacks the leading bit, and has exponent code 0.
  uint32_t leading = 1u << f.mantissaBits;
  uint32_t exponentCode =
      significand < leading ? 0 : static_cast<uint32_t>(exponent + f.bias);
  return sign | exponentCode << f.mantissaBits | (significand & (leading - 1));
}
