//===- Noise.h - Rounding noise ---------------------------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First-order propagation of the standard deviation of independent rounding
// errors, and the noise that f32 arithmetic adds. The rules are stated in
// docs/numerics.md.
//
//===----------------------------------------------------------------------===//

#ifndef HK_REFERENCE_NOISE_H
#define HK_REFERENCE_NOISE_H

#include "hk/Reference/Interpreter.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlir::hk::reference {

/// Unit roundoff of f32: the largest relative error of one rounding.
inline constexpr double kUnit = 0x1p-24;
/// Magnitudes below this may be flushed to zero inside elementary functions.
inline constexpr double kSmallest = 0x1p-126;
inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// A value and the standard deviation of its noise; infinite where any result
/// is right. `jump` is what one flip of a rounding before it may change, where
/// flips are so rare that the standard deviation does not cover one.
struct Noisy {
  double value = 0;
  double sigma = 0;
  double jump = 0;
  /// The part of `sigma` that stands for a likely flip of the last rounding.
  double flip = 0;

  /// How far the noise reaches, either way.
  double reach() const { return 8 * sigma + 2 * jump; }
};

/// The largest number of f32.
inline constexpr double kLargest = 0x1.fffffep127;

/// `v` in f32.
inline double f32(double v) { return static_cast<float>(v); }

/// `v` unless f32 would overflow or lose bits to underflow there: then what f32
/// has. Keeps double's accuracy elsewhere.
inline double inF32Range(double v) {
  double magnitude = std::fabs(v);
  return magnitude > kLargest || magnitude < kSmallest ? f32(v) : v;
}

/// Spacing of f32 around `v`.
inline double f32Ulp(double v) { return ulpOf(::hk::DType::F32, v); }

inline double square(double v) { return v * v; }
inline double hypot2(double a, double b) { return std::sqrt(a * a + b * b); }

/// Noise of a function that is within `ulps` of the true value: uniform there.
inline double noiseOfUlps(double value, double ulps) {
  return ulps * f32Ulp(value) / std::sqrt(3.0);
}

/// Whether a rounding to a grid of spacing `ulp` flips rarely.
inline bool flipsRarely(double sigma, double ulp) {
  return sigma > 0 && sigma < ulp / 16;
}

/// The deviation of what a value becomes that lies on the boundary of such a
/// rounding, `offset` away from its neighbour on the grid: either side is as
/// likely. 0: it lies elsewhere.
inline double likelyFlip(double sigma, double ulp, double offset) {
  bool there = std::fabs(offset - ulp / 2) <= sigma;
  return flipsRarely(sigma, ulp) && there ? ulp / 2 : 0;
}

/// Noise after rounding: what was there, plus the chance that it moves the
/// value across a boundary.
inline double noiseAfterRounding(double sigma, double ulp, double offset) {
  if (sigma == 0)
    return 0;
  double flip = likelyFlip(sigma, ulp, offset);
  double flips = flip > 0 ? flip * flip : std::min(sigma * ulp, ulp * ulp / 6);
  return std::sqrt(sigma * sigma + flips);
}

/// The jump after the same rounding. With little noise before it a rounding
/// flips rarely, and then by a whole `ulp`; what follows a flip rounds anew.
inline double jumpAfterRounding(double sigma, double jump, double ulp) {
  return flipsRarely(sigma, ulp) ? hypot2(jump, ulp) : jump;
}

/// `slope` * noise, where no noise times infinity is none.
inline double times(double slope, double noise) {
  return noise == 0 ? 0 : std::fabs(slope) * noise;
}
/// Noise of a function of two values with these slopes.
inline double sigmaOf(Noisy a, double slopeA, Noisy b, double slopeB) {
  return hypot2(times(slopeA, a.sigma), times(slopeB, b.sigma));
}
inline double jumpOf(Noisy a, double slopeA, Noisy b, double slopeB) {
  return std::max(times(slopeA, a.jump), times(slopeB, b.jump));
}

/// A result that f32 holds. What overflows for certain is infinite without
/// noise; where noise may carry it across the largest number, anything is
/// right.
Noisy inF32Range(Noisy v);
/// a * b in f32, one rounding.
Noisy timesF32(Noisy a, Noisy b);
/// a + b in f32, one rounding.
Noisy plusF32(Noisy a, Noisy b);

/// One rounding to `dtype`.
Noisy rounded(::hk::DType dtype, Noisy v);

/// Whether finite terms, `count` of them with this sum and sum of squares, may
/// overflow f32 before they cancel: the order decides between a number,
/// infinities and NaN, so that anything is right.
inline bool orderDecides(double sum, int64_t count, double squares) {
  return std::isfinite(sum) && count * squares > square(0x1p128);
}

/// A sum in f32, in any order, of terms that were rounded to f32 themselves.
/// Its noise is that of partial sums in order, or of a random order if that is
/// more.
class F32Sum {
public:
  /// `variance` is infinite where anything is right for the term.
  void add(double term, double variance = 0, double jump = 0) {
    sum += term;
    squares += term * term;
    partial += sum * sum;
    inherited += variance;
    largestJump = std::max(largestJump, jump);
    integers &= term == std::nearbyint(term);
    if (std::isfinite(term))
      (term < 0 ? negative : positive) += std::fabs(term);
    ++count;
  }
  double value() const { return f32(sum); }
  double sigma() const {
    // Of integers below 2^24 every partial sum is one.
    if (integers && inherited == 0 && positive + negative <= 0x1p24)
      return 0;
    double own = std::max(partial, count * squares / 2) + squares;
    return std::sqrt(own * kUnit * kUnit + inherited);
  }
  Noisy noisy() const {
    if (std::isinf(inherited) || orderDecides())
      return {value(), kInf};
    return std::isfinite(sum) ? inF32Range({sum, sigma(), largestJump})
                              : Noisy{sum, 0};
  }

private:
  /// Whether partial sums overflow in some order only, or to either side: they
  /// are between -negative and positive.
  bool orderDecides() const {
    if (std::isnan(sum) || std::max(negative, positive) <= kLargest)
      return false;
    return std::fabs(sum) <= kLargest ||
           (sum > 0 ? negative : positive) > kLargest;
  }

  double sum = 0, squares = 0, partial = 0, inherited = 0;
  double positive = 0, negative = 0; // magnitudes of finite terms
  double largestJump = 0;
  bool integers = true;
  int64_t count = 0;
};

} // namespace mlir::hk::reference

#endif // HK_REFERENCE_NOISE_H
