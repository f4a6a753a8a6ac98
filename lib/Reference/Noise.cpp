//===- Noise.cpp - Rounding noise -----------------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rounding, product and sum of noisy values.
//
//===----------------------------------------------------------------------===//

#include "Noise.h"

using namespace mlir::hk;

reference::Noisy reference::rounded(::hk::DType dtype, Noisy v) {
  double value = roundTo(dtype, v.value), magnitude = std::fabs(v.value);
  if (std::isinf(v.sigma))
    return {value, kInf};
  if (v.sigma == 0 || !std::isfinite(v.value))
    return {value, 0};
  if (std::isinf(roundTo(dtype, magnitude + v.reach()))) {
    double least = std::max(magnitude - v.reach(), 0.0);
    return {value, std::isinf(roundTo(dtype, least)) ? 0 : kInf};
  }
  double ulp = ulpOf(dtype, value), offset = std::fabs(v.value - value);
  return {value, noiseAfterRounding(v.sigma, ulp, offset),
          jumpAfterRounding(v.sigma, v.jump, ulp),
          likelyFlip(v.sigma, ulp, offset)};
}

reference::Noisy reference::inF32Range(Noisy v) {
  double value = inF32Range(v.value), magnitude = std::fabs(v.value);
  if (std::isinf(v.sigma) || std::isnan(v.sigma))
    return {value, kInf};
  if (!std::isfinite(v.value))
    return {value, 0};
  if (magnitude + v.reach() <= kLargest)
    return {value, v.sigma, v.jump};
  bool open = v.reach() > 0 && magnitude - v.reach() <= kLargest;
  return {value, open ? kInf : 0};
}

/// Infinity or NaN of two operands: without noise, unless anything is right for
/// one of them.
static reference::Noisy special(double value, reference::Noisy a,
                                reference::Noisy b) {
  bool nan = (std::isnan(a.value) && !std::isinf(a.sigma)) ||
             (std::isnan(b.value) && !std::isinf(b.sigma));
  bool open = std::isinf(a.sigma) || std::isinf(b.sigma);
  return {value, open && !nan ? reference::kInf : 0};
}

reference::Noisy reference::timesF32(Noisy a, Noisy b) {
  double value = a.value * b.value;
  if (!std::isfinite(value)) {
    // Noise may change the sign of what an infinity is multiplied by.
    for (auto [infinity, other] : {std::pair(a, b), std::pair(b, a)})
      if (std::isinf(infinity.value) && other.reach() > 0 &&
          std::fabs(other.value) <= other.reach())
        return {value, kInf};
    return special(value, a, b);
  }
  double inherited = sigmaOf(a, b.value, b, a.value);
  return inF32Range({value, hypot2(inherited, kUnit * std::fabs(value)),
                     jumpOf(a, b.value, b, a.value)});
}

reference::Noisy reference::plusF32(Noisy a, Noisy b) {
  double value = a.value + b.value;
  if (!std::isfinite(value))
    return special(value, a, b);
  return inF32Range({value,
                     hypot2(sigmaOf(a, 1, b, 1), kUnit * std::fabs(value)),
                     jumpOf(a, 1, b, 1)});
}
