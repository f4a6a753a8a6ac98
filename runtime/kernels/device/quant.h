//===- quant.h - Scales of quantised formats -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scale arithmetic of hk.quantize and hk.quantize_mx; the codecs themselves are
// in convert.h.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_QUANT_H
#define HK_KERNELS_DEVICE_QUANT_H

#include "kernels/device/ops.h"

namespace hk {

/// max(amax, floor) / limit, or 1 when that is 0. NaN stays NaN.
HK_DEV float quantScale(float amax, float floor, float limit) {
  float m = amax < floor ? floor : amax;
  float scale = m / limit;
  return scale == 0.f ? 1.f : scale;
}

/// The least power of two that is not below `scale`; at least 2^-126.
HK_DEV float powerOfTwoAbove(float scale) {
  u32 bits = bitCast<u32>(scale) + 0x7FFFFFu;
  return scale == scale ? bitCast<float>(bits & 0x7F800000u) : scale;
}

enum class MxRounding { Even, Ceil, Floor };

/// The e8m0 byte of a block with this largest magnitude; 255 for NaN and inf.
template <MxRounding R, DType D> HK_DEV i32 mxScaleByte(float amax) {
  constexpr i32 largestExponent = D == DType::F4E2M1FN   ? 2
                                  : D == DType::F8E4M3FN ? 8
                                                         : 15;
  constexpr u32 roundUpFrom = D == DType::F4E2M1FN   ? 1u << 21
                              : D == DType::F8E4M3FN ? 1u << 19
                                                     : 1u << 20;
  if (!(amax <= 3.40282347e38f))
    return 255;
  i32 byte;
  if constexpr (R == MxRounding::Even)
    byte = i32((bitCast<u32>(amax) + roundUpFrom) >> 23) - largestExponent;
  else {
    u32 bits = bitCast<u32>(amax / float(info(D).maxFinite));
    byte = i32((bits + (R == MxRounding::Ceil ? 0x7FFFFFu : 0u)) >> 23);
  }
  return byte < 0 ? 0 : byte > 254 ? 254 : byte;
}

/// x / 2^(byte - 127), and zeros in a block whose scale is NaN.
template <int V> HK_DEV Vec<float, V> mxScaled(Vec<float, V> x, i32 byte) {
  Vec<float, V> y = scaleByPow2<V>(x, Vec<i32, V>(127 - byte));
  return byte == 255 ? Vec<float, V>(0.f) : y;
}

} // namespace hk

#endif // HK_KERNELS_DEVICE_QUANT_H
