//===- offsets.h - Offsets that lanes count in 32 bits -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AMD chips add 32 bits of a lane to an address of 64 bits that all lanes
// share. Where the strides of an operand are known to the compiler, as those of
// whole tensors are, types say how far behind the first row of its block a lane
// may access; what is near enough is accessed so, and an offset is two
// instructions for all operands of a shape in place of five for each.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ROWWISE_OFFSETS_H
#define HK_KERNELS_ROWWISE_OFFSETS_H

#include "kernels/device/rows.h"

namespace hk {

/// A stride of N elements.
template <i64 N> struct Stride {
  HK_MEM constexpr operator i64() const { return N; }
};

/// A row less than BELOW rows behind the first one of its block.
template <u32 BELOW> struct NextRow : RowOfBlock {};

/// The row of a block that has one.
HK_DEV NextRow<1> onlyRow(i64 row) { return {{row, 0}}; }

/// The offset of an element less than BELOW elements behind one that is the
/// same for all lanes.
template <u64 BELOW> struct NearOffset {
  i64 uniform;
  u32 lane;
  HK_MEM operator i64() const { return uniform + i64(lane); }
};
/// So that 32 bits count bytes, too.
inline constexpr u64 kNear = u64(1) << 28;

/// An index, which is below BELOW where it is used; 0: nothing is known.
template <u64 BELOW, class I> HK_DEV auto nearIndex(I index) {
  if constexpr (BELOW > 0)
    return NearOffset<BELOW>{0, u32(index)};
  else
    return i64(index);
}
template <u64, u32 BELOW>
HK_DEV NearOffset<BELOW> nearIndex(NextRow<BELOW> row) {
  return {row.first, row.after};
}

template <u64 A, u64 B>
HK_DEV auto operator+(NearOffset<A> a, NearOffset<B> b) {
  if constexpr (A + B <= kNear)
    return NearOffset<A + B>{a.uniform + b.uniform, a.lane + b.lane};
  else
    return i64(a) + i64(b);
}
template <u64 B, i64 N> HK_DEV auto operator*(NearOffset<B> index, Stride<N>) {
  if constexpr (N >= 0 && B <= kNear && u64(N) <= kNear && B * N <= kNear)
    return NearOffset<B * u64(N)>{index.uniform * N, index.lane * u32(N)};
  else
    return i64(index) * N;
}

template <u32 BELOW, i64 N>
HK_DEV auto strided(NextRow<BELOW> row, Stride<N> stride) {
  if constexpr (N >= 0 && u64(N) <= kNear && BELOW * u64(N) <= kNear)
    return NearOffset<BELOW>{row.first, row.after} * stride;
  else
    return strided(RowOfBlock(row), i64(N));
}
/// The only row of a block needs no stride for its lanes.
HK_DEV NearOffset<1> strided(NextRow<1> row, i64 stride) {
  return {row.first * stride, 0};
}

template <u32 N, u32 BELOW> HK_DEV auto outerRow(NextRow<BELOW> row) {
  constexpr u32 below = u32((u64(BELOW) + 2 * u64(N) - 2) / N);
  RowOfBlock outer = outerRow<N>(RowOfBlock(row));
  return NextRow<below>{{outer.first, outer.after}};
}
template <u32 N, u32 BELOW> HK_DEV auto innerRow(NextRow<BELOW> row) {
  if constexpr (BELOW == 1)
    return onlyRow(i64(u32(row.first) % N));
  else if constexpr (N < (1u << 23)) {
    RowOfBlock inner = innerRow<N>(RowOfBlock(row));
    return NextRow<N>{{0, inner.after}};
  } else
    return innerRow<N>(RowOfBlock(row));
}

/// A row of a table of ROWS.
template <u32 ROWS> HK_DEV NextRow<ROWS> rowOfTable(i64 row) {
  static_assert(ROWS < (1u << 23));
  // What bounds it is a mask that LLVM sees.
  constexpr u32 mask = ~0u >> (ROWS > 1 ? __builtin_clz(ROWS - 1) : 31);
  return {{0, u32(row) & mask}};
}

/// A row's offset in an operand, which several accesses share.
template <u64 BELOW>
HK_DEV NearOffset<BELOW> offsetOfRow(NearOffset<BELOW> at) {
  return at;
}
HK_DEV i64 offsetOfRow(i64 at) { return at; }

/// The address of an element.
template <DType D, class S, u64 BELOW>
HK_DEV Global<S> addressOf(Global<S> p, NearOffset<BELOW> at) {
  static_assert(BELOW <= kNear);
  if constexpr (isPacked(D))
    return p + (at.uniform >> 1) + u64(at.lane >> 1);
  // Bytes as 32 bits: LLVM multiplies 64 otherwise.
  auto first = (Global<const char>)(p + at.uniform);
  return (Global<S>)(first + u64(u32(at.lane * u32(sizeof(S)))));
}

template <DType D, class S> HK_DEV Global<S> addressOf(Global<S> p, i64 at) {
  return p + (isPacked(D) ? at >> 1 : at);
}

} // namespace hk

#endif // HK_KERNELS_ROWWISE_OFFSETS_H
