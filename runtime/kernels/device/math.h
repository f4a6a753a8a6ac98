//===- math.h - Elementary functions on vectors -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Own implementations for every target: device libraries are not linked, and
// the fast native sine reduces no range. Errors are the largest seen against
// double over all of f32 (or the range given), in ulp of the f32 result:
//   exp 3, exp2 3, log 2, log2 2, log1p 3, expm1 3, tanh 3, erf 2, sigmoid 4,
//   silu 4, softplus 6, rsqrt 2, sin and cos 3 for |x| <= 2^22 (beyond: some
//   value in [-1, 1]).
// The targets' native exp2 differs in the last bits, so results may differ by
// that between targets: on an H200 exp has 2.07, exp2 2.06, sigmoid 3.44,
// silu 3.92, sin 2.23 and cos 2.32. Each function returns NaN for NaN.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_MATH_H
#define HK_KERNELS_DEVICE_MATH_H

#include "kernels/device/arch.h"
#include "kernels/device/convert.h"
#include "kernels/device/types.h"

namespace hk {

/// a * b + c with one rounding.
template <int V>
HK_DEV Vec<float, V> fma(Vec<float, V> a, Vec<float, V> b, Vec<float, V> c) {
  return __builtin_elementwise_fma(a, b, c);
}

/// c0 + x * (c1 + x * (c2 + ...)).
template <int V, class... Rest>
HK_DEV Vec<float, V> horner(Vec<float, V> x, float c0, Rest... rest) {
  if constexpr (sizeof...(Rest) == 0)
    return Vec<float, V>(c0);
  else
    return fma<V>(horner<V>(x, rest...), x, Vec<float, V>(c0));
}

/// x limited to [lo, hi]; NaN stays NaN.
template <int V>
HK_DEV Vec<float, V> limit(Vec<float, V> x, float lo, float hi) {
  using F = Vec<float, V>;
  if constexpr (kVotes && kArch == Arch::Gfx942) {
    F limited = limitNumber<V>(x, lo, hi);
    return x != x ? x : limited;
  } else if constexpr (kNativeMaximum)
    return minimum(maximum(x, F(lo)), F(hi));
  x = x < lo ? F(lo) : x;
  return x > hi ? F(hi) : x;
}

template <int V> HK_DEV Vec<float, V> exp2(Vec<float, V> x) {
  x = limit<V>(x, -152.f, 129.f);
  Vec<float, V> n = __builtin_elementwise_roundeven(x);
  return scaleByPow2<V>(exp2Small<V>(x - n), nearestInt<V>(x));
}

/// e^x from -104 to 89 and of NaN.
template <int V> HK_DEV Vec<float, V> expWithin(Vec<float, V> x) {
  using F = Vec<float, V>;
  constexpr float log2e = 1.44269502f, log2eLow = 1.92596299e-8f;
  F n = __builtin_elementwise_roundeven(x * log2e);
  F f = fma<V>(x, F(log2eLow), fma<V>(x, F(log2e), -n));
  return scaleByPow2<V>(exp2Small<V>(f), nearestInt<V>(n));
}

/// e^(x * factor), FACTOR 1 or -1, for |x| <= 20; beyond, any number or NaN,
/// and of NaN NaN. The chip's power takes any exponent: what the rounded one
/// lacks, r, is put in as 1 + r behind it. The f32 of ln 2 is so close that it
/// costs less than half an ulp up to 20. For targets that vote.
template <int V, int FACTOR>
HK_DEV Vec<float, V> expWithinNormal(Vec<float, V> x) {
  static_assert(FACTOR == 1 || FACTOR == -1);
  using F = Vec<float, V>;
  F exponent = x * (1.44269502f * FACTOR);
  F power = exp2Small<V>(exponent);
  if constexpr (FACTOR > 0)
    return fma<V>(power, fma<V>(exponent, F(-0.693147182f), x), power);
  // Negated are pairs, by the instruction that reads them: not x, which may be
  // unpacked from an integer.
  power = opaquePairs<V>(power);
  return fma<V>(-power, fma<V>(exponent, F(0.693147182f), x), power);
}

namespace detail {
/// How large arguments of expWithinNormal are.
inline constexpr float kMostOfPower = 20.f;

/// Whether a lane of the wave has an element beyond that, or NaN. Squares are
/// added two at a time, where the largest of both signs takes an instruction
/// for each element.
template <int V> HK_DEV bool waveIsBeyondPowers(Vec<float, V> x) {
  f32x2 squares = 0.f;
  HK_UNROLL for (int e = 0; e < V; e += 2) {
    f32x2 pair = {x[e], e + 1 < V ? x[e + 1] : 0.f};
    squares = __builtin_elementwise_fma(pair, pair, squares);
  }
  return ballot(!(squares[0] + squares[1] <= kMostOfPower * kMostOfPower)) != 0;
}

/// Of how many elements whereBeyond asks at a time.
template <int V> inline constexpr int kBeyond = V % 2 == 0 ? 2 : 1;

/// y, and f(x) where not keeps(x). Of two elements after the other: where it is
/// rarely so, registers count and time does not.
template <int V, class F, class Keeps>
HK_DEV Vec<float, V> whereNot(Vec<float, V> x, Vec<float, V> y, F f,
                              Keeps keeps) {
  constexpr int most = kBeyond<V>;
  HK_UNROLL for (int e = 0; e < V; e += most) {
    Vec<float, most> part;
    HK_UNROLL for (int i = 0; i < most; ++i) part[i] = x[e + i];
    part = f(part);
    HK_UNROLL for (int i = 0; i < most; ++i) y[e + i] =
        opaque(keeps(x[e + i]) ? y[e + i] : part[i]);
    keepOrder();
  }
  return y;
}

/// y, and f(x) where x is beyond powers.
template <int V, class F>
HK_DEV Vec<float, V> whereBeyond(Vec<float, V> x, Vec<float, V> y, F f) {
  return whereNot<V>(
      x, y, f, [](float e) { return __builtin_fabsf(e) <= kMostOfPower; });
}

template <int V> HK_DEV Vec<float, V> expOfAny(Vec<float, V> x) {
  return expWithin<V>(limit<V>(x, -104.f, 89.f));
}
} // namespace detail

template <int V> HK_DEV Vec<float, V> exp(Vec<float, V> x) {
  if constexpr (kVotes) {
    // Not an alternative of the other: what is computed twice is then found.
    Vec<float, V> y = expWithinNormal<V, 1>(x);
    if (__builtin_expect(detail::waveIsBeyondPowers<V>(x), false))
      y = detail::whereBeyond<V>(x, y, detail::expOfAny<detail::kBeyond<V>>);
    return y;
  }
  return detail::expOfAny<V>(x);
}

/// e^x 2^SHIFT where that is from 2^-126 to 2^127.5; up to 2^-1 below it is 0
/// and up to 2 above infinite, and further away it is not defined. Half as long
/// as exp: the power of two is a shift of the rounded exponent.
template <int V, int SHIFT = 0>
HK_DEV Vec<float, V> expScaled(Vec<float, V> x) {
  using F = Vec<float, V>;
  using U = Vec<u32, V>;
  constexpr float log2e = 1.44269502f, log2eLow = 1.92596299e-8f;
  // 1.5 * 2^23 and the exponent's bias: the low bits of t are the exponent.
  constexpr float magic = 12582912.f + 127 + SHIFT;
  F t = fma<V>(x, F(log2e), F(magic));
  F n = t - magic;
  F f = fma<V>(x, F(log2eLow), fma<V>(x, F(log2e), -n));
  return exp2Small<V>(f) * bitCast<F>(bitCast<U>(t) << 23);
}
/// e^x for x <= 0 and NaN; below -87.3 it is 0.
template <int V> HK_DEV Vec<float, V> expNegative(Vec<float, V> x) {
  using F = Vec<float, V>;
  if constexpr (kVotes) {
    // As expWithinNormal, with the rest of ln 2, as exponents are larger. Of
    // what has the power 0, r may be NaN, which the limit takes for -1.
    F exponent = x * 1.44269502f;
    F power = exp2Small<V>(exponent);
    F r = fma<V>(exponent, F(-0.693147182f), x);
    r = fma<V>(exponent, F(1.90465421e-9f), r);
    return fma<V>(power, limitNumber<V>(r, -1.f, 1.f), power);
  }
  return expScaled<V>(maximum(x, F(-88.f)));
}

template <int V> HK_DEV Vec<float, V> expm1(Vec<float, V> x) {
  using F = Vec<float, V>;
  constexpr float log2e = 1.44269502f;
  F c = limit<V>(x, -18.f, 88.8f);
  F n = __builtin_elementwise_roundeven(c * log2e);
  F r = fma<V>(n, F(-0.693145752f), c);
  r = fma<V>(n, F(-1.42860677e-6f), r);
  F p = horner<V>(r, 5.000000000e-01f, 1.666666567e-01f, 4.166649282e-02f,
                  8.333543316e-03f, 1.393234706e-03f, 1.976425701e-04f);
  p = fma<V>(p * r, r, r);
  // 2^n (p + 1) - 1, halved so that 2^128 does not overflow on the way.
  F half = scaleByPow2<V>(F(0.5f), nearestInt<V>(n));
  F y = fma<V>(p, half, half - 0.5f) * 2.f;
  return x > 88.8f ? F(__builtin_inff()) : (x == 0.f ? x : y);
}

namespace detail {
/// x = m * 2^(e * kExponentUnit) with m in [sqrt(1/2), sqrt(2)), for positive
/// finite x. Targets that vote leave e where its integer lies in that of x.
template <int V> struct Split {
  Vec<float, V> m, e;
};
inline constexpr float kExponentUnit = kVotes ? 0x1p-23f : 1.f;
template <int V> HK_DEV Split<V> splitNormal(Vec<float, V> x) {
  using F = Vec<float, V>;
  using I = Vec<i32, V>;
  I bits = bitCast<I>(x), e = bits - 0x3F3504F3;
  if constexpr (kVotes) {
    e &= ~0x7FFFFF;
    return {bitCast<F>(bits - e), convertTo<float, V>(e)};
  }
  e >>= 23;
  return {bitCast<F>(bits - (e << 23)), convertTo<float, V>(e)};
}
template <int V> HK_DEV Split<V> splitPow2(Vec<float, V> x) {
  using F = Vec<float, V>;
  auto tiny = x < 1.17549435e-38f;
  Split<V> s = splitNormal<V>(tiny ? x * 8388608.f : x);
  return {s.m, tiny ? s.e - 23.f / kExponentUnit : F(s.e)};
}
/// Whether x is a positive normal number.
HK_DEV bool hasLogarithm(float x) {
  return x >= 1.17549435e-38f && x < __builtin_inff();
}
/// Whether a lane of the wave has an element that is none.
/// Such are the largest of signed integers, or negative ones.
template <int V> HK_DEV bool waveHasNoLogarithm(Vec<float, V> x) {
  i32 least = bitCast<i32>(x[0]), most = least;
  HK_UNROLL for (int e = 1; e < V; ++e) {
    least = __builtin_elementwise_min(least, bitCast<i32>(x[e]));
    most = __builtin_elementwise_max(most, bitCast<i32>(x[e]));
  }
  return ballot(least < 0x00800000 || most >= 0x7F800000) != 0;
}
/// ln(1 + f) - f for 1 + f in [sqrt(1/2), sqrt(2)).
template <int V> HK_DEV Vec<float, V> logTail(Vec<float, V> f) {
  using F = Vec<float, V>;
  F p = horner<V>(f, 3.333333135e-01f, -2.500081956e-01f, 2.000124156e-01f,
                  -1.662340909e-01f, 1.420158148e-01f, -1.315961331e-01f,
                  1.276219785e-01f, -7.636395097e-02f);
  F f2 = f * f;
  return fma<V>(p * f, f2, f2 * -0.5f);
}
template <int V>
HK_DEV Vec<float, V> logSpecial(Vec<float, V> x, Vec<float, V> y) {
  using F = Vec<float, V>;
  y = x == __builtin_inff() ? x : y;
  y = x == 0.f ? F(-__builtin_inff()) : y;
  y = x < 0.f ? F(__builtin_nanf("")) : y;
  return x != x ? x : y;
}
} // namespace detail

namespace detail {
template <int V> HK_DEV Vec<float, V> logOf(Split<V> s) {
  using F = Vec<float, V>;
  F f = s.m - 1.f;
  F y = fma<V>(s.e, F(1.42860677e-6f * kExponentUnit), logTail<V>(f)) + f;
  return fma<V>(s.e, F(0.693145752f * kExponentUnit), y);
}
template <int V> HK_DEV Vec<float, V> log2Of(Split<V> s) {
  using F = Vec<float, V>;
  constexpr float log2e = 1.44269502f, log2eLow = 1.92596299e-8f;
  F f = s.m - 1.f, t = logTail<V>(f);
  F hi = f + t, lo = difference<V>(f, hi) + t;
  F p = hi * log2e;
  F y = fma<V>(hi, F(log2e), -p) + fma<V>(lo, F(log2e), hi * log2eLow);
  if constexpr (!kVotes)
    return s.e == 0.f ? p + y : (s.e + p) + y;
  return fma<V>(s.e, F(kExponentUnit), p) + y;
}
template <int V> HK_DEV Vec<float, V> logOfAny(Vec<float, V> x) {
  return logSpecial<V>(x, logOf<V>(splitPow2<V>(x)));
}
template <int V> HK_DEV Vec<float, V> log2OfAny(Vec<float, V> x) {
  return logSpecial<V>(x, log2Of<V>(splitPow2<V>(x)));
}
/// y, which is the logarithm of x where that is a positive normal number, and
/// any(x) where it is not: of positive ones below them, which are rarest, as
/// that says, and of others without it.
template <int V, class Any>
HK_DEV Vec<float, V> withOtherLogarithms(Vec<float, V> x, Vec<float, V> y,
                                         Any any) {
  if (__builtin_expect(waveHasNoLogarithm<V>(x), false)) {
    u32 least = ~0u;
    HK_UNROLL for (int e = 0; e < V; ++e) least =
        __builtin_elementwise_min(least, bitCast<u32>(x[e]) - 1u);
    if (__builtin_expect(ballot(least < 0x007FFFFFu) != 0, false))
      y = whereNot<V>(x, y, any, hasLogarithm);
    y = opaque(logSpecial<V>(x, y));
  }
  return y;
}
} // namespace detail

template <int V> HK_DEV Vec<float, V> log(Vec<float, V> x) {
  if constexpr (kVotes) {
    Vec<float, V> y = detail::logOf<V>(detail::splitNormal<V>(x));
    return detail::withOtherLogarithms<V>(x, y,
                                          detail::logOfAny<detail::kBeyond<V>>);
  }
  return detail::logOfAny<V>(x);
}

template <int V> HK_DEV Vec<float, V> log2(Vec<float, V> x) {
  if constexpr (kVotes) {
    Vec<float, V> y = detail::log2Of<V>(detail::splitNormal<V>(x));
    return detail::withOtherLogarithms<V>(
        x, y, detail::log2OfAny<detail::kBeyond<V>>);
  }
  return detail::log2OfAny<V>(x);
}

namespace detail {
/// ln(1 + x) of u = 1 + x, rounded, which lacks x - d where d = u - 1.
template <int V> HK_DEV Vec<float, V> log1pOfAny(Vec<float, V> x) {
  using F = Vec<float, V>;
  F u = x + 1.f, d = u - 1.f;
  F y = logOfAny<V>(u) * (x / d);
  y = d == 0.f ? x : y;
  y = u == 0.f ? F(-__builtin_inff()) : y;
  return x == __builtin_inff() ? x : y;
}
} // namespace detail

template <int V> HK_DEV Vec<float, V> log1p(Vec<float, V> x) {
  using F = Vec<float, V>;
  if constexpr (kVotes) {
    // What u lacks is small beside it, so that the chip's reciprocal serves.
    F u = x + 1.f, d = u - 1.f;
    F y = fma<V>(difference<V>(x, d), nearReciprocal<V>(u),
                 detail::logOf<V>(detail::splitNormal<V>(u)));
    y = d == 0.f ? x : y; // -0
    if (__builtin_expect(detail::waveHasNoLogarithm<V>(u), false))
      y = detail::whereNot<V>(
          x, y, detail::log1pOfAny<detail::kBeyond<V>>,
          [](float e) { return detail::hasLogarithm(e + 1.f); });
    return y;
  }
  return detail::log1pOfAny<V>(x);
}

/// y, which is not negative, or has the sign of x, with the sign of x.
template <int V>
HK_DEV Vec<float, V> withSignOf(Vec<float, V> y, Vec<float, V> x) {
  using U = Vec<u32, V>;
  U bits = bitCast<U>(kVotes ? y : __builtin_elementwise_abs(y)) |
           (bitCast<U>(x) & 0x80000000u);
  // Of one that is rounded to bf16 LLVM 22 makes a copysign of bf16 and the f16
  // that the sign may come from, which it cannot select.
  if constexpr (kArch == Arch::Gfx950)
    bits = opaque(bits);
  return bitCast<Vec<float, V>>(bits);
}

/// tanh of |x| below 0.55; x2 is x * x.
template <int V>
HK_DEV Vec<float, V> smallTanh(Vec<float, V> x, Vec<float, V> x2) {
  return fma<V>(horner<V>(x2, -3.333331645e-01f, 1.333254576e-01f,
                          -5.384785309e-02f, 2.105250582e-02f,
                          -6.246064790e-03f) *
                    x2,
                x, x);
}

template <int V> HK_DEV Vec<float, V> tanh(Vec<float, V> x) {
  using F = Vec<float, V>;
  F a = __builtin_elementwise_abs(x);
  // Packed products negate what they read, but take no magnitudes.
  F small = smallTanh<V>(kVotes ? x : a, x * x);
  // NaN becomes 0, or stays: it is the result in both ways. That of a
  // comparison would wait in two scalar registers for each element on AMD, so
  // the limits take none, and the power, known late, chooses: above e^1.1, a is
  // above 0.55.
  F within =
      __builtin_elementwise_min(__builtin_elementwise_max(a, F(0.f)), F(10.f));
  F y;
  // The quotient is at most 1/2, so that the last bit of the reciprocal is
  // worth one of the result's. Divisions of sm_90a call a function, those of
  // AMD take a dozen instructions.
  if constexpr (kVotes) {
    // The power and half of its sum with 1, as expWithinNormal has it.
    F exponent = within * 2.88539004f;
    F e = exp2Small<V>(exponent);
    F r = fma<V>(exponent, F(-0.346573591f), within);
    F half = fma<V>(e, r, fma<V>(e, F(0.5f), F(0.5f)));
    y = e < 3.00416613f ? small
                        : difference<V>(F(1.f), nearReciprocal<V>(half));
    return withSignOf<V>(y, x);
  }
  F e = expWithin<V>(within * 2.f);
  if constexpr (kArch == Arch::Sm90a)
    y = e < 3.00416613f ? small : 1.f - 2.f * nearReciprocal<V>(e + 1.f);
  else
    y = e < 3.00416613f ? small : 1.f - 2.f / (e + 1.f);
  return withSignOf<V>(y, x);
}

/// KEEP_NAN: or some number for NaN.
template <int V, bool KEEP_NAN = true>
HK_DEV Vec<float, V> erf(Vec<float, V> x) {
  using F = Vec<float, V>;
  F a = __builtin_elementwise_abs(x);
  if constexpr (KEEP_NAN || !kVotes)
    a = limit<V>(a, 0.f, 4.f);
  else
    a = limitNumber<V>(a, 0.f, 4.f);
  F x2 = a * a;
  F small = fma<V>(horner<V>(x2, 1.283791512e-01f, -3.761248887e-01f,
                             1.128173098e-01f, -2.676296607e-02f,
                             4.987352528e-03f, -5.959583796e-04f),
                   a, a);
  F large = horner<V>(a, 1.128510714e+00f, 6.357311010e-01f, 1.052444279e-01f,
                      -2.287845686e-02f, 3.211270086e-03f, -2.135274699e-04f) *
            a;
  F power;
  if constexpr (kVotes)
    power = expWithinNormal<V, -1>(large);
  else
    power = expWithin<V>(-large);
  F y = a < 0.925f ? small
        : KEEP_NAN ? F(1.f - power)
                   : difference<V>(F(1.f), power);
  return withSignOf<V>(y, x);
}

namespace detail {
/// sin(x + QUARTER * pi / 2).
template <int V, int QUARTER>
HK_DEV Vec<float, V> sinQuadrant(Vec<float, V> x) {
  using F = Vec<float, V>;
  using I = Vec<i32, V>;
  // pi/2 in three parts; n * first is exact to the last bit of the difference.
  F n = __builtin_elementwise_roundeven(x * 0.636619747f);
  // Of a large x the nearest multiple may be the next one.
  F rest = fma<V>(n, F(-1.57079637f), x);
  n += __builtin_elementwise_roundeven(rest * 0.636619747f);
  F r = fma<V>(n, F(-1.57079637f), x);
  r = fma<V>(n, F(4.37113883e-8f), r);
  r = fma<V>(n, F(1.71512466e-15f), r);
  // Within pi/4 unless |x| > 2^22, where only a result in [-1, 1] is promised.
  F unlimited = r;
  if constexpr (kVotes) // NaN, also of infinity, comes back below.
    r = limitNumber<V>(r, -1.f, 1.f);
  else
    r = r > 1.f ? F(1.f) : r < -1.f ? F(-1.f) : r;
  F r2 = r * r;
  F s = fma<V>(horner<V>(r2, -1.666666716e-01f, 8.333379403e-03f,
                         -1.985306881e-04f, 2.832629434e-06f) *
                   r2,
               r, r);
  F c = fma<V>(
      horner<V>(r2, 4.166664556e-02f, -1.388730947e-03f, 2.443233643e-05f) * r2,
      r2, fma<V>(r2, F(-0.5f), F(1.f)));
  // Both of an angle ask the same of it.
  I q = nearestInt<V>(n);
  F y = (q & 1) != 0 ? (QUARTER ? s : c) : (QUARTER ? c : s);
  q += QUARTER;
  if constexpr (kVotes) {
    // What is added to a sign turns it.
    using U = Vec<u32, V>;
    y = bitCast<F>((opaque(bitCast<U>(q & 2)) << 30) + bitCast<U>(y));
    return restoreNan<V>(y, unlimited);
  }
  return (q & 2) != 0 ? -y : y;
}
} // namespace detail

template <int V> HK_DEV Vec<float, V> sin(Vec<float, V> x) {
  return detail::sinQuadrant<V, 0>(x);
}
template <int V> HK_DEV Vec<float, V> cos(Vec<float, V> x) {
  return detail::sinQuadrant<V, 1>(x);
}

/// Correctly rounded.
template <int V> HK_DEV Vec<float, V> sqrt(Vec<float, V> x) {
  return __builtin_elementwise_sqrt(x);
}
namespace detail {
/// 1 / sqrt(x), each of the two correctly rounded, of the root's reciprocal
/// within 2 ulps, for numbers from 2^-96 on. The reciprocal goes by an ulp too
/// far at first: where the root is 1 - 2^-24, one that begins at 1 stays there.
template <int V>
HK_DEV Vec<float, V> reciprocalOfRoot(Vec<float, V> x, Vec<float, V> near) {
  using F = Vec<float, V>;
  F root = x * near, half = near * 0.5f;
  F rest = fma<V>(-half, root, F(0.5f));
  half = fma<V>(half, rest, half);
  root = fma<V>(root, rest, root);
  root = fma<V>(fma<V>(-root, root, x), half, root);
  F y = half * 0x1.000002p1f;
  y = fma<V>(fma<V>(-y, root, F(1.f)), y, y);
  y = fma<V>(fma<V>(-y, root, F(1.f)), y, y);
  // 0, infinity, negative numbers and NaN have no rest.
  return rest == rest ? y : near;
}
} // namespace detail

template <int V> HK_DEV Vec<float, V> rsqrt(Vec<float, V> x) {
  using F = Vec<float, V>;
  if constexpr (kVotes) {
    // Half of the instructions that a root and a division take.
    auto small = x < 0x1p-96f;
    x = small ? x * 0x1p64f : x;
    F y = detail::reciprocalOfRoot<V>(x, nearRsqrt<V>(x));
    return small ? y * 0x1p32f : y;
  } else if constexpr (kNativeRsqrt) {
    // Half of what y * y * x lacks to 1 goes into y; 0 and infinity have no
    // lack that could be computed.
    F y = nearRsqrt<V>(x);
    F lack = __builtin_elementwise_fma(-x * y, y, F(1));
    F better = __builtin_elementwise_fma(0.5f * y, lack, y);
    return lack == lack ? better : y;
  } else
    return 1.f / sqrt<V>(x);
}
template <int V> HK_DEV Vec<float, V> reciprocal(Vec<float, V> x) {
  return 1.f / x;
}

/// ln(1 + e^x); x itself above 20, where the two are the same f32.
template <int V> HK_DEV Vec<float, V> softplus(Vec<float, V> x) {
  return x > 20.f ? x : log1p<V>(exp<V>(x));
}

namespace detail {
template <int V> HK_DEV Vec<float, V> sigmoidOfAny(Vec<float, V> x) {
  if constexpr (kVotes) { // as in siluOfAny
    Vec<float, V> power = expScaled<V, -7>(limitNumber<V>(-x, -83.f, 93.5f));
    return restoreNan<V>(nearReciprocal<V>(power + 0x1p-7f) * 0x1p-7f, x);
  }
  // From 88.4 on the power is infinite.
  return 1.f / (1.f + expScaled<V>(limit<V>(-x, -88.f, 88.5f)));
}

template <int V> HK_DEV Vec<float, V> siluOfAny(Vec<float, V> x) {
  // The sum is taken in 1/128 so that its reciprocal is a normal number until
  // the result is below 2^-126. From 93.3 on the power is infinite.
  using F = Vec<float, V>;
  F power;
  if constexpr (kVotes) // The product with NaN is NaN.
    power = expScaled<V, -7>(limitNumber<V>(-x, -83.f, 93.5f));
  else
    power = expScaled<V, -7>(limit<V>(-x, -83.f, 93.5f));
  F y = x * nearReciprocal<V>(power + 0x1p-7f) * 0x1p-7f;
  // Beyond, the first product would overflow.
  return x > 0x1p100f ? x : y;
}
} // namespace detail

template <int V> HK_DEV Vec<float, V> sigmoid(Vec<float, V> x) {
  if constexpr (kVotes) {
    // Not an alternative of the other: what is computed twice is then found.
    Vec<float, V> y = nearReciprocal<V>(expWithinNormal<V, -1>(x) + 1.f);
    if (__builtin_expect(detail::waveIsBeyondPowers<V>(x), false))
      y = detail::whereBeyond<V>(x, y,
                                 detail::sigmoidOfAny<detail::kBeyond<V>>);
    return y;
  }
  return detail::sigmoidOfAny<V>(x);
}
/// NaN at -inf, as x * sigmoid(x) is.
template <int V> HK_DEV Vec<float, V> silu(Vec<float, V> x) {
  if constexpr (kVotes) {
    Vec<float, V> y = x * nearReciprocal<V>(expWithinNormal<V, -1>(x) + 1.f);
    if (__builtin_expect(detail::waveIsBeyondPowers<V>(x), false))
      y = detail::whereBeyond<V>(x, y, detail::siluOfAny<detail::kBeyond<V>>);
    return y;
  }
  return detail::siluOfAny<V>(x);
}
template <int V> HK_DEV Vec<float, V> gelu(Vec<float, V> x) {
  // The product with NaN is NaN.
  return x * 0.5f * (1.f + erf<V, false>(x * 0.707106781f));
}
template <int V> HK_DEV Vec<float, V> geluTanh(Vec<float, V> x) {
  Vec<float, V> t = tanh<V>(0.797884561f * (x + 0.044715f * (x * x * x)));
  return x * 0.5f * (1.f + t);
}
template <int V> HK_DEV Vec<float, V> relu(Vec<float, V> x) {
  return x < 0.f ? Vec<float, V>(0.f) : x;
}
/// NaN if either is NaN.
template <int V> HK_DEV Vec<float, V> maxNan(Vec<float, V> a, Vec<float, V> b) {
  return maximum(a, b);
}
template <int V> HK_DEV Vec<float, V> minNan(Vec<float, V> a, Vec<float, V> b) {
  return minimum(a, b);
}
/// Integer division toward zero; x / 0 is 0, and the one overflow wraps.
template <class Int, int V>
HK_DEV Vec<Int, V> divInt(Vec<Int, V> a, Vec<Int, V> b) {
  HK_UNROLL for (int e = 0; e < V; ++e) a[e] = b[e] == 0 ? 0
                                               : b[e] == -1
                                                   ? Int(u64(0) - u64(a[e]))
                                                   : a[e] / b[e];
  return a;
}

} // namespace hk

#endif // HK_KERNELS_DEVICE_MATH_H
