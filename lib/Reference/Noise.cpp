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
  double value = roundTo(dtype, v.value);
  if (std::isinf(v.sigma))
    return {value, kInf};
  if (v.sigma == 0 || !std::isfinite(v.value))
    return {value, 0};
  double ulp = ulpOf(dtype, value);
  return {value, noiseAfterRounding(v.sigma, ulp),
          jumpAfterRounding(v.sigma, v.jump, ulp)};
}

reference::Noisy reference::timesF32(Noisy a, Noisy b) {
  double value = inF32Range(a.value * b.value);
  double inherited = sigmaOf(a, b.value, b, a.value);
  return {value, hypot2(inherited, kUnit * std::fabs(value)),
          jumpOf(a, b.value, b, a.value)};
}

reference::Noisy reference::plusF32(Noisy a, Noisy b) {
  double value = inF32Range(a.value + b.value);
  return {value, hypot2(sigmaOf(a, 1, b, 1), kUnit * std::fabs(value)),
          jumpOf(a, 1, b, 1)};
}
