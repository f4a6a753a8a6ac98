//===- host_tiles.h - Products by a CPU's matrix unit -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AMX multiplies tiles of 16 rows of 64 bytes: rows of A as they are packed,
// and 16 words of a panel of B (device/mma/host.h), which is already how the
// unit wants its second operand. One instruction is 16 x 16 sums over 32
// elements of k, thirty times what a vector of pairs does in its time.
//
// The unit works by a configuration that belongs to the thread: HostTiles has
// it as long as a block multiplies. Numbers below 2^-126 are zero to it, as
// they may be to multiplyPairs.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_MMA_HOST_TILES_H
#define HK_KERNELS_DEVICE_MMA_HOST_TILES_H

#include "kernels/device/mma/host.h"

namespace hk {

#if defined(__AMX_BF16__)
inline constexpr bool kHasHostTiles = true;
#else
inline constexpr bool kHasHostTiles = false;
#endif

/// Whether products of words run in the matrix unit.
template <class Word>
inline constexpr bool kMultipliesTiles =
    kHasHostTiles && __is_same(Word, Bf16Pair);

/// Rows of a tile, and words of one of its rows.
inline constexpr int kHostTile = 16;
/// Rows that meet a panel at a time.
template <class Word>
inline constexpr int kPanelRows =
    kMultipliesTiles<Word> ? 2 * kHostTile : kHostMicroRows;

/// The unit is configured for whole tiles while this lives, if it is used.
template <bool Used> class HostTiles {
public:
  HK_MEM HostTiles() {}
};

#if defined(__AMX_BF16__)
/// What LDTILECFG reads: bytes of a row and rows of each tile.
struct alignas(64) HostTileShape {
  u8 palette = 1, startRow = 0;
  u8 reserved[14] = {};
  u16 rowBytes[16] = {};
  u8 rows[16] = {};

  /// Tiles 0 to 3 are sums, 4 and 5 rows of A, 6 and 7 a panel's columns; of
  /// the rows of A and of sums there are so many.
  constexpr explicit HostTileShape(int rowsOfA) {
    for (int t = 0; t < 8; ++t) {
      rowBytes[t] = 64;
      rows[t] = u8(t < 6 ? rowsOfA : kHostTile);
    }
  }
};
static_assert(sizeof(HostTileShape) == 64);
inline constexpr HostTileShape kWholeHostTiles{kHostTile};

template <> class HostTiles<true> {
public:
  HK_MEM HostTiles() { __builtin_ia32_tile_loadconfig(&kWholeHostTiles); }
  HK_MEM ~HostTiles() { __builtin_ia32_tilerelease(); }
  HostTiles(const HostTiles &) = delete;
};

/// c[16 RowTiles][kPanel] (+)= a * panel; of one tile of rows, as many rows as
/// are configured. `words`: a multiple of 16.
template <int RowTiles, bool Accumulate = true, class Asked = AsksNothing>
__attribute__((noinline)) void
tileKernel(const Bf16Pair *a, i64 strideA, const Bf16Pair *panel, i64 words,
           float *c, i64 strideC, Asked &&asked = {}) {
  constexpr i64 panelBytes = kPanel * sizeof(Bf16Pair);
  i64 bytesA = strideA * i64(sizeof(Bf16Pair)), bytesC = strideC * 4;
  const Bf16Pair *a1 = a + kHostTile * strideA;
  float *c1 = c + kHostTile * strideC;
  if constexpr (Accumulate) {
    __builtin_ia32_tileloadd64(0, c, bytesC);
    __builtin_ia32_tileloadd64(1, c + kHostTile, bytesC);
    if constexpr (RowTiles == 2) {
      __builtin_ia32_tileloadd64(2, c1, bytesC);
      __builtin_ia32_tileloadd64(3, c1 + kHostTile, bytesC);
    }
  } else {
    __builtin_ia32_tilezero(0);
    __builtin_ia32_tilezero(1);
    __builtin_ia32_tilezero(2);
    __builtin_ia32_tilezero(3);
  }
  _Pragma("nounroll") for (i64 w = 0; w < words; w += kHostTile) {
    static_assert(kHostTile == kAskedWords);
    if constexpr (Asked::kAsks)
      asked.ask();
    __builtin_ia32_tileloadd64(6, panel + w * kPanel, panelBytes);
    __builtin_ia32_tileloadd64(4, a + w, bytesA);
    __builtin_ia32_tdpbf16ps(0, 4, 6);
    __builtin_ia32_tileloadd64(7, panel + w * kPanel + kHostTile, panelBytes);
    __builtin_ia32_tdpbf16ps(1, 4, 7);
    if constexpr (RowTiles == 2) {
      __builtin_ia32_tileloadd64(5, a1 + w, bytesA);
      __builtin_ia32_tdpbf16ps(2, 5, 6);
      __builtin_ia32_tdpbf16ps(3, 5, 7);
    }
  }
  __builtin_ia32_tilestored64(0, c, bytesC);
  __builtin_ia32_tilestored64(1, c + kHostTile, bytesC);
  if constexpr (RowTiles == 2) {
    __builtin_ia32_tilestored64(2, c1, bytesC);
    __builtin_ia32_tilestored64(3, c1 + kHostTile, bytesC);
  }
}

/// c[rows][kPanel] (+)= a[rows][words] * panel[words][kPanel] while HostTiles
/// lives. `words`: a multiple of 16.
template <bool Accumulate = true, class Asked = AsksNothing>
HK_DEV void multiplyTiles(const Bf16Pair *a, i64 strideA, i64 rows,
                          const Bf16Pair *panel, i64 words, float *c,
                          i64 strideC, Asked asked = {}) {
  constexpr int two = 2 * kHostTile;
  for (; rows >= two; rows -= two, a += two * strideA, c += two * strideC)
    tileKernel<2, Accumulate>(a, strideA, panel, words, c, strideC,
                              asked.take());
  if (rows >= kHostTile) {
    tileKernel<1, Accumulate>(a, strideA, panel, words, c, strideC,
                              asked.take());
    rows -= kHostTile, a += kHostTile * strideA, c += kHostTile * strideC;
  }
  if (rows > 0) {
    HostTileShape few{int(rows)};
    __builtin_ia32_tile_loadconfig(&few);
    tileKernel<1, Accumulate>(a, strideA, panel, words, c, strideC,
                              asked.take());
    __builtin_ia32_tile_loadconfig(&kWholeHostTiles);
  }
}
#endif

/// c[rows][kPanel] (+)= a[rows][words] * panel[words][kPanel], zeros up to a
/// multiple of 16 words, by whatever multiplies such words fastest here;
/// `first`: c has nothing yet. HostTiles lives.
template <class Word, class Sum = typename HostWord<Word>::Sum,
          class Asked = AsksNothing>
HK_DEV void multiplyRows(const Word *a, i64 strideA, i64 rows,
                         const Word *panel, i64 words, Sum *c, i64 strideC,
                         Asked asked = {}, bool first = false) {
  if constexpr (kMultipliesTiles<Word>) {
    i64 padded = (words + kHostTile - 1) / kHostTile * kHostTile;
    if (first)
      multiplyTiles<false>(a, strideA, rows, panel, padded, c, strideC, asked);
    else
      multiplyTiles(a, strideA, rows, panel, padded, c, strideC, asked);
  } else
    multiplyPanel<Word>(a, strideA, rows, panel, words, c, strideC, asked,
                        first);
}

} // namespace hk

#endif // HK_KERNELS_DEVICE_MMA_HOST_TILES_H
