//===- ops.h - Vector helpers of generated code -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What emitted straight-line code calls besides the elementary functions:
// integer arithmetic that wraps, selection, lane masks, pair shuffles of rotary
// embedding.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_OPS_H
#define HK_KERNELS_DEVICE_OPS_H

#include "kernels/device/convert.h"
#include "kernels/device/math.h"
#include "kernels/device/philox.h"

namespace hk {

template <int V> HK_DEV Vec<float, V> neg(Vec<float, V> x) { return -x; }
template <int V> HK_DEV Vec<float, V> abs(Vec<float, V> x) {
  return __builtin_elementwise_abs(x);
}
template <int V> HK_DEV Vec<float, V> floor(Vec<float, V> x) {
  return __builtin_elementwise_floor(x);
}
template <int V> HK_DEV Vec<float, V> roundEven(Vec<float, V> x) {
  return __builtin_elementwise_roundeven(x);
}
template <int V> HK_DEV Vec<float, V> square(Vec<float, V> x) { return x * x; }
HK_DEV float rsqrtOf(float x) { return rsqrt<1>(Vec<float, 1>(x))[0]; }

/// sum / n, without the branches of a division by what is no power of two.
HK_DEV float meanOf(float sum, float n) {
  if constexpr (kIsHost)
    return sum / n;
  float inverse = 1 / n, q = sum * inverse;
  // Of a power of two that is all.
  if (kVotes && (bitCast<u32>(n) & 0x7FFFFFu) == 0)
    return q;
  float rest = __builtin_fmaf(-q, n, sum); // exact
  return rest == rest ? __builtin_fmaf(rest, inverse, q) : q;
}

template <class Int, int V>
HK_DEV Vec<Int, V> addInt(Vec<Int, V> a, Vec<Int, V> b) {
  using U = Vec<u64, V>;
  return convertTo<Int, V>(convertTo<u64, V>(a) + U(convertTo<u64, V>(b)));
}
template <class Int, int V>
HK_DEV Vec<Int, V> subInt(Vec<Int, V> a, Vec<Int, V> b) {
  return convertTo<Int, V>(convertTo<u64, V>(a) - convertTo<u64, V>(b));
}
template <class Int, int V>
HK_DEV Vec<Int, V> mulInt(Vec<Int, V> a, Vec<Int, V> b) {
  return convertTo<Int, V>(convertTo<u64, V>(a) * convertTo<u64, V>(b));
}
template <class Int, int V>
HK_DEV Vec<Int, V> maxInt(Vec<Int, V> a, Vec<Int, V> b) {
  return a > b ? a : b;
}
template <class Int, int V>
HK_DEV Vec<Int, V> minInt(Vec<Int, V> a, Vec<Int, V> b) {
  return a < b ? a : b;
}
/// The low bits, as a signed number: 8 and 16 bit arithmetic wraps.
template <class Small, int V> HK_DEV Vec<i32, V> wrapTo(Vec<i32, V> x) {
  return convertTo<i32, V>(convertTo<Small, V>(x));
}
/// Integer to a signed integer of BITS bits, saturating.
template <int BITS, int V, class FromVec> HK_DEV auto narrowInt(FromVec x) {
  constexpr i64 hi = i64(~u64(0) >> (65 - BITS)), lo = -hi - 1;
  Vec<i64, V> w = convertTo<i64, V>(x);
  w = w > hi ? Vec<i64, V>(hi) : w;
  w = w < lo ? Vec<i64, V>(lo) : w;
  if constexpr (BITS == 64)
    return w;
  else
    return convertTo<i32, V>(w);
}

/// x limited to [lo, hi].
template <int V> HK_DEV Vec<i32, V> limitInt(Vec<i32, V> x, i32 lo, i32 hi) {
  return __builtin_elementwise_min(
      __builtin_elementwise_max(x, Vec<i32, V>(lo)), Vec<i32, V>(hi));
}

/// Lane by lane c != 0 ? a : b.
template <int V, class ValueVec>
HK_DEV ValueVec select(Vec<i32, V> c, ValueVec a, ValueVec b) {
  if constexpr (sizeof(ValueVec) == sizeof(Vec<i64, V>))
    return convertTo<i64, V>(c) != 0 ? a : b;
  else
    return c != 0 ? a : b;
}

/// The first `count` lanes of v, `fill` in the others.
template <int V, class ValueVec, class Fill>
HK_DEV ValueVec keepFirst(ValueVec v, i64 count, Fill fill) {
  HK_UNROLL for (int e = 0; e < V; ++e) v[e] = e < count ? v[e] : fill;
  return v;
}

/// Sets bit `index` of the words of 32 bits from number `first` on, if it is in
/// one of them.
template <int V> HK_DEV void setBit(Vec<i32, V> &words, i64 index, i64 first) {
  HK_UNROLL for (int e = 0; e < V; ++e) if (index >> 5 == first + e) words[e] |=
      i32(1u << (index & 31));
}

/// (a, b, c, d) -> (-b, a, -d, c).
template <int V> HK_DEV Vec<float, V> rotatePairs(Vec<float, V> x) {
  Vec<float, V> r;
  r.even = -x.odd;
  r.odd = x.even;
  return r;
}
/// (a, b) -> (a, a, b, b).
template <int V> HK_DEV Vec<float, V> repeatPairs(Vec<float, V / 2> x) {
  if constexpr (V == 2)
    return Vec<float, 2>(x[0]);
  else {
    Vec<float, V> r;
    r.even = x;
    r.odd = x;
    return r;
  }
}

/// gate * sigmoid(1.702 gate) * (up + 1).
template <int V>
HK_DEV Vec<float, V> swigluOai(Vec<float, V> gate, Vec<float, V> up) {
  return gate * sigmoid<V>(1.702f * gate) * (up + 1.f);
}

} // namespace hk

#endif // HK_KERNELS_DEVICE_OPS_H
