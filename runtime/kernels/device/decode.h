//===- decode.h - Codes of 4 and 8 bits as f32 -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a kernel that the vector unit bounds reads, where the chip has no
// conversion of its own that unpack (device/convert.h) takes: fp4 by tables of
// bytes on gfx942 and by its instruction on gfx950, OCP's fp8 by f16 on gfx942.
// Values are those of unpack; only kernels that read such codes include this.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_DECODE_H
#define HK_KERNELS_DEVICE_DECODE_H

#include "kernels/device/convert.h"

namespace hk {

#if defined(__gfx942__) || defined(__gfx950__)
namespace detail {

/// Eight codes of f4E2M1FN, the first one in the lowest bits.
HK_DEV Vec<float, 8> decodeFp4(u32 codes) {
  Vec<float, 8> x;
#if defined(__gfx950__)
  HK_UNROLL for (int e = 0; e < 8; e += 2) {
    // Which byte is an immediate.
    f32x2 pair =
        e == 0   ? __builtin_amdgcn_cvt_scalef32_pk_f32_fp4(codes, 1.f, 0)
        : e == 2 ? __builtin_amdgcn_cvt_scalef32_pk_f32_fp4(codes, 1.f, 1)
        : e == 4 ? __builtin_amdgcn_cvt_scalef32_pk_f32_fp4(codes, 1.f, 2)
                 : __builtin_amdgcn_cvt_scalef32_pk_f32_fp4(codes, 1.f, 3);
    x[e] = pair[0];
    x[e + 1] = pair[1];
  }
#else
  HK_UNROLL for (int odd = 0; odd < 2; ++odd) {
    u32 four = codes >> (4 * odd); // every other code, in the low halves
    u32 places = four & 0x07070707u;
    // The two upper bytes of 0, 0.5, 1, 1.5, 2, 3, 4 and 6.
    u32 upper = __builtin_amdgcn_perm(0x40404040u, 0x3f3f3f00u, places);
    u32 lower = __builtin_amdgcn_perm(0xc0804000u, 0xc0800000u, places);
    upper |= (four & 0x08080808u) << 4;
    // 12 is a byte of zeros.
    x[odd] = bitCast<float>(__builtin_amdgcn_perm(upper, lower, 0x04000c0cu));
    x[2 + odd] =
        bitCast<float>(__builtin_amdgcn_perm(upper, lower, 0x05010c0cu));
    x[4 + odd] =
        bitCast<float>(__builtin_amdgcn_perm(upper, lower, 0x06020c0cu));
    x[6 + odd] =
        bitCast<float>(__builtin_amdgcn_perm(upper, lower, 0x07030c0cu));
  }
#endif
  return x;
}

/// Four codes of fp8 as f16: OCP's e5m2 is its upper byte, e4m3 with one bit of
/// mantissa more is 2^8 times as large, that of FNUZ 2^7 times.
template <DType D> HK_DEV f32x4 decodeByHalf(u32 codes) {
  typedef _Float16 Halves __attribute__((ext_vector_type(2)));
  f32x4 x;
  u32 largest = 0;
  HK_UNROLL for (int e = 0; e < 4; e += 2) {
    u32 pair = __builtin_amdgcn_perm(0, codes, e ? 0x030c020cu : 0x010c000cu);
    if constexpr (D != DType::F8E5M2) {
      u32 magnitudes = (pair >> 1) & 0x3f803f80u;
      if constexpr (D == DType::F8E4M3FN) {
        largest = __builtin_elementwise_max(largest, magnitudes);
        largest = __builtin_elementwise_max(largest, magnitudes << 16);
      }
      pair = (pair & 0x80008000u) | magnitudes;
    }
    auto halves = bitCast<Halves>(pair);
    x[e] = float(halves[0]);
    x[e + 1] = float(halves[1]);
  }
  if constexpr (D == DType::F8E4M3FN) {
    x *= 256.f;
    // The largest code is NaN.
    if (__builtin_expect(ballot(largest >= 0x3f800000u) != 0, false))
      HK_UNROLL for (int e = 0; e < 4; ++e) x[e] =
          opaque((codes >> (8 * e) & 127) == 127 ? __builtin_nanf("") : x[e]);
  }
  if constexpr (D == DType::F8E4M3FNUZ) {
    x *= 128.f;
    // -0 is NaN; it is the least of signed integers.
    i32 least = 0;
    HK_UNROLL for (int e = 0; e < 4; ++e) least =
        __builtin_elementwise_min(least, bitCast<i32>(x[e]));
    if (__builtin_expect(ballot(u32(least) == 0x80000000u) != 0, false))
      HK_UNROLL for (int e = 0; e < 4; ++e) x[e] =
          opaque((codes >> (8 * e) & 255) == 128 ? __builtin_nanf("") : x[e]);
  }
  return x;
}

} // namespace detail

/// Whether decodeByHalf is what the chip's own conversions are not.
template <DType D>
inline constexpr bool kDecodesByHalf =
    kArch == Arch::Gfx942 ? D == DType::F8E4M3FN || D == DType::F8E5M2
                          : D == DType::F8E4M3FNUZ;

/// unpack.
template <DType D, int V> HK_DEV Carrier<D, V> unpackCodesOf(Packed<D, V> raw) {
  if constexpr (D == DType::F4E2M1FN && V % 8 == 0) {
    auto words = bitCast<Vec<u32, V / 8>>(raw);
    Vec<float, V> x;
    HK_UNROLL for (int w = 0; w < V / 8; ++w) {
      Vec<float, 8> part = detail::decodeFp4(words[w]);
      HK_UNROLL for (int e = 0; e < 8; ++e) x[8 * w + e] = part[e];
    }
    return x;
  } else if constexpr (D == DType::F4E2M1FN) {
    u32 word = 0;
    HK_UNROLL for (int e = 0; e < V / 2; ++e) word |= u32(raw[e]) << (8 * e);
    Vec<float, 8> whole = detail::decodeFp4(word);
    Vec<float, V> x;
    HK_UNROLL for (int e = 0; e < V; ++e) x[e] = whole[e];
    return x;
  } else if constexpr (kDecodesByHalf<D> && V % 4 == 0) {
    auto words = bitCast<Vec<u32, V / 4>>(raw);
    Vec<float, V> x;
    HK_UNROLL for (int w = 0; w < V / 4; ++w) {
      f32x4 part = detail::decodeByHalf<D>(words[w]);
      HK_UNROLL for (int e = 0; e < 4; ++e) x[4 * w + e] = part[e];
    }
    return x;
  } else
    return unpack<D, V>(raw);
}

/// roundTo of numbers to f4E2M1FN.
template <int V> HK_DEV Vec<float, V> roundedToFp4(Vec<float, V> x) {
  return unpackCodesOf<DType::F4E2M1FN, V>(packFp4<V, false>(x));
}
#endif

} // namespace hk

#endif // HK_KERNELS_DEVICE_DECODE_H
