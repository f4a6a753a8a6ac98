//===- swizzle.h - Where a 16-byte chunk of a tile lies in LDS -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles lie in LDS as rows of RowBytes without padding (copies straight into
// LDS leave no choice), so chunks are permuted within a row by an XOR with the
// row. Lanes that read one chunk of consecutive rows then hit all banks; how
// many rows share one line of banks is a fact of the target. The map is its own
// inverse: it may be applied to the LDS address or to the global one.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_MMA_SWIZZLE_H
#define HK_KERNELS_DEVICE_MMA_SWIZZLE_H

#include "kernels/device/arch.h"

namespace hk {

template <int RowBytes> HK_DEV int swizzleChunk(int row, int chunk) {
  constexpr int chunks = RowBytes / 16;
  constexpr int bankChunks = kTarget.ldsBanks * 4 / 16;
  constexpr int rowsPerLine = chunks < bankChunks ? bankChunks / chunks : 1;
  // The largest power of two that divides the row bounds the XOR.
  constexpr int pow2 = chunks & -chunks;
  constexpr int mask = (pow2 < bankChunks ? pow2 : bankChunks) - 1;
  return chunk ^ ((row / rowsPerLine) & mask);
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
  constexpr int chunks = RowBytes / 16;
  constexpr int bankChunks = kTarget.ldsBanks * 4 / 16;
  constexpr int rowsPerLine = chunks < bankChunks ? bankChunks / chunks : 1;
  constexpr int pow2 = chunks & -chunks;
  constexpr int mask = (pow2 < bankChunks ? pow2 : bankChunks) - 1;
  // Rows after which swizzleChunk begins anew.
  constexpr int cycle = rowsPerLine * (mask + 1);
  if constexpr (cycle >= kFragmentRows)
    return swizzleChunk<RowBytes>(row, chunk);
  return swizzleChunk<RowBytes>(row, chunk) ^
         (row / cycle % (kFragmentRows / cycle) & mask);
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
