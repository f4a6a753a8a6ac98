//===- mx.h - Scales of microscaling formats -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The scale of a block where the vector unit bounds a kernel: what it takes to
// multiply by is made with it, and blocks with NaN are left to a vote. Values
// are those of device/quant.h.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ROWWISE_MX_H
#define HK_KERNELS_ROWWISE_MX_H

#include "kernels/device/quant.h"

namespace hk {

/// The e8m0 byte of a block, and the power of two that brings its elements into
/// the format's range.
struct MxScale {
  i32 byte;
  float inverse;
  bool anyNan; ///< a block of the wave has byte 255
  HK_MEM operator u32() const { return u32(byte); }
};

/// mxScaleByte of the largest magnitude of a block.
template <MxRounding R, DType D> HK_DEV MxScale mxScaleOf(float amax) {
  bool isNumber = amax <= 3.40282347e38f;
  bool anyNan = ballot(!isNumber) != 0;
  if constexpr (R == MxRounding::Ceil || R == MxRounding::Floor) {
    i32 byte = mxScaleByte<R, D>(amax);
    i32 bits = i32(u32(254 - byte) << 23);
    return {byte, bitCast<float>(bits > 0x00400000 ? bits : 0x00400000),
            anyNan};
  }
  // With the largest exponent e of the format, the exponent bits of amax,
  // rounded, are those of 2^e times the scale, of which the byte is at least 0.
  constexpr u32 exponent = D == DType::F4E2M1FN   ? 2
                           : D == DType::F8E4M3FN ? 8
                                                  : 15;
  constexpr u32 up = R == MxRounding::OcpCeil ? 0x7FFFFFu
                     : R == MxRounding::Ocp   ? 0u
                     : D == DType::F4E2M1FN   ? 1u << 21
                     : D == DType::F8E4M3FN   ? 1u << 19
                                              : 1u << 20;
  u32 bits = bitCast<u32>(amax) + up;
  bits = (bits > exponent << 23 ? bits : exponent << 23) & 0x7F800000u;
  i32 byte = i32(bits >> 23) - i32(exponent);
  float inverse = bitCast<float>(((254 + exponent) << 23) - bits);
  if (__builtin_expect(anyNan, false))
    byte = opaque(isNumber ? byte : 255);
  return {byte, inverse, anyNan};
}

/// x over the scale, and zeros in a block whose scale is NaN.
template <int V>
HK_DEV Vec<float, V> mxScaled(Vec<float, V> x, const MxScale &scale) {
  x = x * scale.inverse;
  if (__builtin_expect(scale.anyNan, false))
    HK_UNROLL for (int e = 0; e < V; ++e) x[e] =
        opaque(scale.byte == 255 ? 0.f : x[e]);
  return x;
}

} // namespace hk

#endif // HK_KERNELS_ROWWISE_MX_H
