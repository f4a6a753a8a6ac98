//===- fragments.h - Matrix fragments of attention -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AttentionFragments<type, rows, keys, headBytes, columns, waves> holds what
// one thread has of a tile: queries, scores S[rows, keys] and result O[rows,
// columns]. Waves share no row, so a row's statistics need only a reduction
// over the lanes of one wave, and the scores become the left operand of the
// second product without leaving registers.
//
//   loadQueries(f)    f.load<T>(row, byte): T of the query of `row`, else zero
//   scores(k)         S = Q K^T, K in LDS as copyRows() left it
//   values(v)         O += round(S) V, V as stored in LDS
//   forEachScore(f)   f(slot, key, Vec<float, n> &), slot counts the lane's
//   rows forEachOutput(f)  f(slot, column, Vec<float, n> &) laneReduce(r, op)
//   combines, per row, what the lanes of the wave hold rowOf(slot), rowLead()
//
// RowCopy moves rows of keys or values, each at an address of its own (a cache
// block may be anywhere), from global memory into LDS.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_ATTENTION_FRAGMENTS_H
#define HK_KERNELS_DEVICE_ATTENTION_FRAGMENTS_H

#include "kernels/device/arch.h"
#include "kernels/device/convert.h"
#include "kernels/device/mma/swizzle.h"

namespace hk {

/// Two f32 as two adjacent 16-bit elements.
template <DType D> HK_DEV u32 packPair(float a, float b) {
  if constexpr (D == DType::F16)
    return bitCast<u32>(Vec<f16, 2>{f16(a), f16(b)});
  else
    return bitCast<u32>(toBf16Bits<2>(f32x2{a, b}));
}

} // namespace hk

#if defined(__gfx1100__)
#include "kernels/device/attention/rdna.h"
#elif defined(__AMDGCN__)
#include "kernels/device/attention/cdna.h"
#elif defined(__NVPTX__)
#include "kernels/device/attention/sm90.h"
#endif

#endif // HK_KERNELS_DEVICE_ATTENTION_FRAGMENTS_H
