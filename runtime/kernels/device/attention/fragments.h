//===- fragments.h - Matrix fragments of attention -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AttentionFragments<type, rows, keys, headBytes, columns, waves, valueBytes>
// holds what one thread has of a tile: queries, scores S[rows, keys] and result
// O[rows, columns]; a row of values takes valueBytes in LDS, by default those
// of its columns. Waves share no row, so a row's statistics need only a
// reduction over the lanes of one wave, and the scores become the left operand
// of the second product without leaving registers. Its methods:
//
// loadQueries(f): f.load<T>(slot, row, byte) is T of that query, else zero.
//
// scores(k): S = Q K^T, K in LDS as RowCopy left it.
//
// rows(r): O += Q R^T, R in LDS as K, a row for each column of O.
//
// values(v, first): O += round(S) V, V as stored in LDS, its columns from byte
// `first` of a row on. On sm_90a both products may be told the number of the
// lane, behind the rest: one that is not known in front of a loop keeps what
// follows from it out of registers there.
//
// forEachScore(f): f(slot, key, Vec<float, n> &); slot counts the lane's rows.
//
// forEachOutput(f): f(slot, column, Vec<float, kOutputVec>).
//
// fillOutput(f), addOutput(f): the result becomes f(slot, column) everywhere,
// or more by it.
//
// eachOutput(f): f(slot, index, float &) over the result's registers.
//
// laneReduce(r, op): combines, per row, what the lanes of the wave hold.
//
// rowOf(slot): the row of the tile; rowLead(): one lane of each row's.
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

/// How values lie in LDS and are read: as stored, and transposed by each lane
/// or by the instruction that reads them (16-bit elements, gfx950), or as
/// columns (ColumnCopy).
enum class ValueLayout { Rows, TransposingReads, Columns };

/// Two probabilities as two adjacent 16-bit elements. A NaN may become an
/// infinity here: the row's sum is NaN then, and so is its result.
template <DType D> HK_DEV u32 packPair(float a, float b) {
  if constexpr (D == DType::F16) {
    return bitCast<u32>(Vec<f16, 2>{f16(a), f16(b)});
  } else if constexpr (kNativeBf16) {
    return bitCast<u32>(toBf16Bits<2>(f32x2{a, b}));
  } else {
    u32 x = bitCast<u32>(a), y = bitCast<u32>(b);
    x += 0x7FFFu + ((x >> 16) & 1u);
    y += 0x7FFFu + ((y >> 16) & 1u);
    return (x >> 16) | (y & 0xFFFF0000u);
  }
}

} // namespace hk

#if defined(__gfx1100__)
#include "kernels/device/attention/rdna.h"
#elif defined(__AMDGCN__)
#include "kernels/device/attention/cdna.h"
#elif defined(__NVPTX__)
#include "kernels/device/attention/sm90.h"
#include "kernels/device/attention/sm90_narrow.h"
#endif

#if defined(__AMDGCN__) || defined(__NVPTX__)
namespace hk {

/// The fragments of keys of type From and values of type FromValue in memory
/// that are multiplied as D, and whether they lie in LDS as in memory: else
/// they become elements of D on their way there. KeyBytes and ValueBytes are
/// those of rows of D. `Sharing` waves have the same rows; they may each
/// multiply a part of the head.
template <DType D, DType From, DType FromValue, int Rows, int Keys,
          int KeyBytes, int Columns, int Waves, int ValueBytes, int Sharing,
          ValueLayout Layout = ValueLayout::Rows>
struct PickAttentionFragments {
  static constexpr bool kNarrow = false;
#if defined(__NVPTX__)
  static constexpr int kShares = KeyBytes / 32 % Sharing == 0 ? Sharing : 1;
  using Type = AttentionFragments<D, Rows, Keys, KeyBytes, Columns, Waves,
                                  ValueBytes, kShares>;
#else
#if defined(__gfx1100__)
  using Type =
      AttentionFragments<D, Rows, Keys, KeyBytes, Columns, Waves, ValueBytes>;
#else
  using Type = AttentionFragments<D, Rows, Keys, KeyBytes, Columns, Waves,
                                  ValueBytes, Layout>;
#endif
#endif
};
#if defined(__NVPTX__)
template <DType D, DType From, DType FromValue, int Rows, int Keys,
          int KeyBytes, int Columns, int Waves, int ValueBytes>
  requires(info(D).bits == 16 && info(From).bits == 8 &&
           info(FromValue).bits == 8)
struct PickAttentionFragments<D, From, FromValue, Rows, Keys, KeyBytes, Columns,
                              Waves, ValueBytes, 1, ValueLayout::Rows> {
  static constexpr bool kNarrow = true;
  using Type = NarrowAttentionFragments<D, From, FromValue, Rows, Keys,
                                        KeyBytes / 2, Columns, Waves>;
};
#endif

} // namespace hk
#endif

#endif // HK_KERNELS_DEVICE_ATTENTION_FRAGMENTS_H
