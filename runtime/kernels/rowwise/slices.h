//===- slices.h - Attention from slices of the keys -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sum of partial attentions weighted by e^lse, in one pass: a larger
// log-sum-exp rescales what was summed before. Slices without keys have an lse
// of -inf and count nothing.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ROWWISE_SLICES_H
#define HK_KERNELS_ROWWISE_SLICES_H

#include "kernels/device/math.h"

namespace hk {

/// V columns of one row.
template <int V> struct SliceCombine {
  float top = -__builtin_inff(), sum = 0.f;
  Vec<float, V> total = Vec<float, V>(0.f);

  HK_MEM static float weight(float x) { return exp<1>(Vec<float, 1>(x))[0]; }
  /// Finite where nothing was seen, so that no inf - inf arises.
  HK_MEM float base() const { return top == -__builtin_inff() ? 0.f : top; }

  /// The sum; NaN where a log-sum-exp was infinite, beside which others have no
  /// weight that a number could say.
  HK_MEM float weights() const { return sum + (top - base()); }

  HK_MEM void add(float lse, Vec<float, V> part) {
    // A part that is not there may hold anything.
    part = lse == -__builtin_inff() ? Vec<float, V>(0.f) : part;
    float before = top;
    top = __builtin_fmaxf(top, lse);
    // The larger one weighs 1.
    bool rises = lse > before;
    float less = weight((rises ? before : lse) - base());
    float old = rises ? less : 1.f, own = rises ? 1.f : less;
    sum = sum * old + own;
    total = total * old + part * own;
  }
  HK_MEM Vec<float, V> value() const {
    return sum == 0.f ? Vec<float, V>(0.f) : total / weights();
  }
  HK_MEM float lse() const {
    return sum == 0.f ? -__builtin_inff()
                      : base() + log<1>(Vec<float, 1>(weights()))[0];
  }
};

} // namespace hk

#endif // HK_KERNELS_ROWWISE_SLICES_H
