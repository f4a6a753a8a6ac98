//===- rows.h - Rows and where they lie -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emitted code multiplies each coordinate of a row by a stride of 64 bits, for
// each operand. Where the vector unit bounds a kernel (kVotes) a row is the
// first one of its block, which all lanes share, and a small number of rows
// behind it: what depends on the first is then computed once for a wave, and a
// lane's own part takes two instructions for a coordinate.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_ROWS_H
#define HK_KERNELS_DEVICE_ROWS_H

#include "kernels/device/arch.h"

namespace hk {

/// A row: the first one of its block, which is the same in all lanes, and how
/// many follow until it.
struct RowOfBlock {
  i64 first;
  u32 after; // less than 2^23
  HK_MEM operator i64() const { return first + after; }
};

/// A row below 2^23, as LLVM may not find out.
HK_DEV RowOfBlock nearRow(i64 row) { return {0, u32(row) & 0x7FFFFF}; }

/// An offset: a part that is the same in all lanes, and a lane's own. The upper
/// halves of products are apart, because they are products of 24 bits.
struct LaneOffset {
  i64 uniform;
  u64 low;
  u32 high;
  HK_MEM operator i64() const {
    // As a whole: LLVM adds what it sees the parts of to an address one by one.
    u32 upper = u32(low >> 32) + high;
    return uniform + i64(opaqueLane(u64(upper) << 32 | u32(low)));
  }
};
HK_DEV LaneOffset operator+(LaneOffset a, LaneOffset b) {
  return {a.uniform + b.uniform, a.low + b.low, a.high + b.high};
}

/// What index times stride is, in elements.
HK_DEV i64 strided(i64 index, i64 stride) { return index * stride; }
HK_DEV LaneOffset strided(RowOfBlock row, i64 stride) {
  // A stride has less than 2^55 elements: 24 bits are enough for its upper
  // half, and products of 24 bits are cheap.
  i32 upper = i32(u32(stride >> 32) << 8) >> 8;
  return {row.first * stride, u64(row.after) * u32(stride),
          u32(i32(row.after) * upper)};
}

/// Row / N and row % N; rows have less than 32 bits.
template <u32 N> HK_DEV i64 outerRow(i64 row) { return i64(u32(row) / N); }
template <u32 N> HK_DEV i64 innerRow(i64 row) { return i64(u32(row) % N); }
template <u32 N> HK_DEV RowOfBlock outerRow(RowOfBlock row) {
  u32 first = u32(row.first);
  return {i64(first / N), (first % N + row.after) / N};
}
template <u32 N> HK_DEV auto innerRow(RowOfBlock row) {
  u32 inner = (u32(row.first) % N + row.after) % N;
  if constexpr (N < (1u << 23))
    return RowOfBlock{0, inner};
  else
    return i64(inner);
}

} // namespace hk

#endif // HK_KERNELS_DEVICE_ROWS_H
