//===- Noise.cpp - Rounding noise -----------------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rounding of a noisy value.
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
  return {value, noiseAfterRounding(v.sigma, ulpOf(dtype, value))};
}
