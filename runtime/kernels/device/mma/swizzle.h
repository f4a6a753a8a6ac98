//===- swizzle.h - Where a 16-byte chunk of a tile lies in LDS -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles lie in LDS as rows of RowBytes without padding (copies straight into
// LDS leave no choice), so chunks are permuted within a row by an XOR with the
// row. Lanes that read one chunk of consecutive rows then hit all banks; after
// how many rows chunks come to the same banks again is a fact of the target and
// of the odd factor of the row. The map is its own inverse: it may be applied
// to the LDS address or to the global one.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_MMA_SWIZZLE_H
#define HK_KERNELS_DEVICE_MMA_SWIZZLE_H

#include "kernels/device/arch.h"

namespace hk {

/// How rows of RowBytes meet the banks.
template <int RowBytes> struct RowBanks {
  static constexpr int kChunks = RowBytes / 16;
  /// Chunks in one line of all banks.
  static constexpr int kLine = kTarget.ldsBanks * 4 / 16;
  /// The largest power of two that divides the row bounds the XOR.
  static constexpr int kPower = kChunks & -kChunks;
  static constexpr int kMask = (kPower < kLine ? kPower : kLine) - 1;
  /// Consecutive rows whose chunks 0 lie in different banks.
  static constexpr int kApart = kLine / (kMask + 1);
};

template <int RowBytes> HK_DEV int swizzleChunk(int row, int chunk) {
  using Banks = RowBanks<RowBytes>;
  // Of the 16 lanes that gfx950 serves together those in even rows differ in
  // bits 1, 2 and 4 of the row as they do in bits 1 to 3; reads across long
  // rows of a fragment, whose bit 3 is a constant, need fewer addresses so.
  if constexpr (Banks::kApart == 2 && Banks::kMask == 7 &&
                Banks::kChunks > Banks::kLine)
    return chunk ^ ((row / 2 % 4) | (row / 16 % 2 * 4));
  return chunk ^ ((row / Banks::kApart) & Banks::kMask);
}

/// Rows of an operand tile that a wave's fragment spans; other fragments begin
/// at multiples of it.
inline constexpr int kFragmentRows = kTarget.waveSize == 64 ? 32 : 8;

/// Where a chunk of an operand tile of a product lies. A transposing copy
/// writes rows that are 8 or 16 apart at a time, which swizzleChunk alone puts
/// into one bank: rows of a fragment beyond the first ones are permuted
/// further. Not beyond the fragment, so that one address serves all fragments
/// of a wave.
template <int RowBytes> HK_DEV int operandChunk(int row, int chunk) {
  // Rows after which swizzleChunk begins anew.
  constexpr int cycle = RowBanks<RowBytes>::kLine;
  if constexpr (cycle >= kFragmentRows)
    return swizzleChunk<RowBytes>(row, chunk);
  return swizzleChunk<RowBytes>(row, chunk) ^
         (row / cycle % (kFragmentRows / cycle) & RowBanks<RowBytes>::kMask);
}

/// Byte offset of `byte` of `row` of an operand tile.
template <int RowBytes> HK_DEV int operandByte(int row, int byte) {
  return row * RowBytes + operandChunk<RowBytes>(row, byte / 16) * 16 +
         byte % 16;
}

/// Byte offset of `byte` of `row`, both within the tile.
template <int RowBytes> HK_DEV int swizzled(int row, int byte) {
  return row * RowBytes + swizzleChunk<RowBytes>(row, byte / 16) * 16 +
         byte % 16;
}

} // namespace hk

#endif // HK_KERNELS_DEVICE_MMA_SWIZZLE_H
