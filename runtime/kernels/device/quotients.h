//===- quotients.h - Quotients by the scale of their group -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computed scales where the vector unit bounds a kernel. Scales that are no
// numbers are left to votes, which all ask the same and are one comparison;
// quotients by another scale exceed their limit by a rounding at most, so that
// nothing limits them before they are rounded to 8 bits. Values are those of
// device/quant.h.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_QUOTIENTS_H
#define HK_KERNELS_DEVICE_QUOTIENTS_H

#include "kernels/device/io.h"
#include "kernels/device/quant.h"

namespace hk {

/// Whether all scales of the wave are numbers, as nearly always, and none is so
/// small that its own rounding takes quotients past their limit: of a largest
/// element of 671 * 2^-149 and a limit of 448 the scale is 2^-149, not 1.5
/// times that. One comparison of bits; a scale has no sign.
HK_DEV bool areNumbers(float scale) {
  constexpr u32 least = 0x00800000u, end = 0x7F800000u; // 2^-126, infinity
  return __builtin_expect(
      ballot(bitCast<u32>(scale) - least >= end - least) == 0, true);
}

namespace detail {
/// Whether all positive numbers of the wave are finite and, where they may be
/// smaller or larger than remainders are exact for, are not. One comparison of
/// their bits.
HK_DEV bool areUsual(float x, bool maySmall, bool mayLarge) {
  u32 least = maySmall ? 0x21800000u : 0u;        // 2^-60
  u32 end = mayLarge ? 0x5D800001u : 0x7F800000u; // 2^60
  return __builtin_expect(ballot(bitCast<u32>(x) - least >= end - least) == 0,
                          true);
}
} // namespace detail

/// quantScale.
HK_DEV float quantScaleByVote(float amax, float floor, float limit) {
  using F1 = Vec<float, 1>;
  // Neither has a sign: NaN is the largest of bits.
  u32 a = bitCast<u32>(amax), b = bitCast<u32>(floor);
  float m = bitCast<float>(a > b ? a : b);
  F1 reciprocal = 1.f / limit;
  F1 q = detail::refineQuotient<1>(m * reciprocal, m, limit, reciprocal);
  q = detail::refineQuotient<1>(q, m, limit, reciprocal);
  if (!detail::areUsual(m, floor < 0x1p-60f, false))
    q = opaque(quantScale(amax, floor, limit));
  return q[0];
}

/// divisorOf.
HK_DEV Divisor divisorByVote(float d, float floor, float limit) {
  using F1 = Vec<float, 1>;
  bool maySmall = floor / limit < 0x1p-60f, mayLarge = limit < 8.f;
  float near = nearReciprocal<1>(F1(d))[0];
  float rest = fma<1>(F1(near), F1(d), F1(-1.f))[0];
  Divisor divisor{1.f, d, fma<1>(F1(-rest), F1(near), F1(near))[0], false};
  if (!detail::areUsual(d, maySmall, mayLarge)) {
    Divisor any = divisorOf(d, floor, limit);
    divisor = {opaque(any.scale), opaque(any.value), opaque(any.reciprocal),
               maySmall || mayLarge};
  }
  return divisor;
}

/// x / d, correctly rounded, for one d of all elements: by its reciprocal and
/// exact remainders (Markstein, 1990), unless one of the wave is not exact. The
/// first quotient that is corrected is half an ulp and a little from x / d, and
/// the reciprocal as much from 1 / d; the second one is then right where the
/// fraction of d is at most 2 - 2^-15 (x of 1 and d of 2 - 2^-23 would not be).
template <int V>
HK_DEV Vec<float, V> divideByOne(Vec<float, V> x, Vec<float, V> divisors) {
  if constexpr (!kVotes || V % 2 != 0)
    return x / divisors;
  float d = divisors[0], near = nearReciprocal<1>(Vec<float, 1>(d))[0];
  float rest = __builtin_fmaf(near, d, -1.f);
  float reciprocal = __builtin_fmaf(-rest, near, near);
  x = opaquePairs<V>(x);
  Vec<float, V> q;
  u32 least = ~0u; // of magnitudes; 0 is the largest
  HK_UNROLL for (int e = 0; e < V; e += 2) {
    f32x2 pair = {x[e], x[e + 1]}, value = d, inverse = reciprocal;
    f32x2 y = detail::refineQuotient<2>(pair * inverse, pair, value, inverse);
    y = detail::refineQuotient<2>(y, pair, value, inverse);
    HK_UNROLL for (int i = 0; i < 2; ++i) {
      q[e + i] = y[i];
      least =
          __builtin_elementwise_min(least, bitCast<u32>(x[e + i]) * 2u - 1u);
    }
  }
  // An overflow on the way, infinity and NaN make NaN.
  constexpr u32 exact = 0x21800000u * 2u - 1u; // 2^-60
  bool any = !(d >= 0x1p-60f && d <= 0x1p60f) || least < exact ||
             (bitCast<u32>(d) & 0x7FFFFFu) > 0x7FFF00u;
  HK_UNROLL for (int e = 0; e < V; e += 2) any |=
      __builtin_isunordered(q[e], q[e + 1]);
  if (__builtin_expect(ballot(any) != 0, false))
    q = detail::whereNot<V>(
        x, q, [d](auto part) { return part / d; }, [](float) { return false; });
  return q;
}

/// x / d for one d of all elements that decodeE8M0 made, a power of two or NaN:
/// a product with its reciprocal is rounded as the quotient is.
template <int V>
HK_DEV Vec<float, V> divideByPower(Vec<float, V> x, Vec<float, V> divisors) {
  if constexpr (!kVotes)
    return x / divisors;
  constexpr i32 least = 0x00400000, most = 0x7F000000; // 2^-127 and 2^127
  float d = divisors[0];
  i32 bits = bitCast<i32>(d), inverse = most - bits;
  inverse = inverse > least ? inverse : least;
  inverse = bits == least ? most : inverse;
  return x * (d == d ? bitCast<float>(inverse) : d);
}

/// roundToInt of such quotients; the limits are integers.
template <int V>
HK_DEV Vec<i32, V> roundQuotients(Vec<float, V> q, float scale, float limit) {
  if (!areNumbers(scale))
    q = opaque(limitedNumbers<V>(q, -limit, limit));
  return nearestInt<V>(q);
}

/// Defined where generated code stores so: on gfx942 and gfx950.
namespace detail {
/// pack of what exceeds no limit of D but by a rounding.
template <DType D, int V> HK_DEV Packed<D, V> packWithin(Carrier<D, V> v);
/// pack of integers that nearestInt made.
template <DType D, int V> HK_DEV Packed<D, V> packNearest(Vec<i32, V> x);
} // namespace detail

#if defined(__gfx942__) || defined(__gfx950__)
namespace detail {
/// encode4 of what is within the limits of D.
template <DType D> HK_DEV u32 encodeWithin(f32x4 v) {
  constexpr bool e4m3 = D == DType::F8E4M3FN || D == DType::F8E4M3FNUZ;
  if constexpr (kNativeDecode<D>)
    return convert4<e4m3>(v);
  else if constexpr (kArch == Arch::Gfx942) {
    u32 signs = upperBytes(bitCast<Vec<u32, 4>>(v)) & 0x80808080u;
    return convert4<e4m3>(v * 0.5f) | signs;
  } else
    return encode4<D>(v);
}
template <DType D, int V> HK_DEV Packed<D, V> packWithin(Carrier<D, V> v) {
  Vec<u32, V / 4> words;
  HK_UNROLL for (int w = 0; w < V / 4; ++w) words[w] = encodeWithin<D>(
      f32x4{v[4 * w], v[4 * w + 1], v[4 * w + 2], v[4 * w + 3]});
  return bitCast<Packed<D, V>>(words);
}
/// What nearestInt took off is put back.
template <DType D, int V> HK_DEV Packed<D, V> packNearest(Vec<i32, V> x) {
  static_assert(D == DType::I8 && V % 4 == 0);
  auto bits = bitCast<Vec<u32, V>>(x) + 0x4B400000u;
  Vec<u32, V / 4> words;
  HK_UNROLL for (int w = 0; w < V / 4; ++w) words[w] =
      __builtin_amdgcn_perm(bits[4 * w + 1], bits[4 * w], 0x0c0c0400u) |
      __builtin_amdgcn_perm(bits[4 * w + 3], bits[4 * w + 2], 0x04000c0cu);
  return bitCast<Packed<D, V>>(words);
}
} // namespace detail

/// store of integers that nearestInt made.
template <DType D, int V, int ALIGN = kBytes<D, V>>
HK_DEV void storeNearest(Global<Storage<D>> p, i64 i, Carrier<D, V> v) {
  storePacked<D, V, ALIGN>(p, i, detail::packNearest<D, V>(v));
}

/// storeQuotients of quotients that exceed no limit of D but by a rounding.
template <DType D, int V, int ALIGN = kBytes<D, V>>
HK_DEV void storeWithin(Global<Storage<D>> p, i64 i, Carrier<D, V> v,
                        float scale) {
  if constexpr (V >= 4 && kNativeEncode<D>)
    if (areNumbers(scale))
      return storePacked<D, V, ALIGN>(p, i, detail::packWithin<D, V>(v));
  store<D, V, ALIGN>(p, i, v);
}
#endif

} // namespace hk

#endif // HK_KERNELS_DEVICE_QUOTIENTS_H
