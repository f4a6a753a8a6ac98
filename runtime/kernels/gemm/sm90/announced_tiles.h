//===- announced_tiles.h - One warpgroup finds a block's tiles -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where sums take nearly all registers of those who multiply, none are left for
// a walk over groups. So the warpgroup that copies walks, and tells the others
// of each tile through LDS, some tiles ahead.
//
// A layout has barriers placeFull(slot) and placeEmpty(slot), and place(slot),
// kTilePlaceBytes at a multiple of 16.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_ANNOUNCED_TILES_H
#define HK_KERNELS_GEMM_SM90_ANNOUNCED_TILES_H

#include "kernels/gemm/sm90/config.h"

namespace hk {

/// Makes the barriers; `readers` warps take each tile.
template <class Layout> HK_DEV void initPlaces(const Layout &lds, u32 readers) {
  HK_UNROLL for (u32 slot = 0; slot < kTilePlaces; ++slot) {
    lds.placeFull(slot).init(1);
    lds.placeEmpty(slot).init(readers);
  }
}

/// Tiles as `Tiles` finds them, each of which the first thread of the warpgroup
/// announces; whole warps call. One with -1 steps is behind the last.
template <class Tiles, class Layout> struct AnnouncingTiles {
  Tiles tiles;
  Layout lds;
  u32 count = 0;

  HK_MEM bool take(WarpPlace &at) {
    bool more = tiles.take(at);
    if (threadId() % kWarpgroup == 0)
      announce(at, more);
    waveBarrier();
    ++count;
    return more;
  }

private:
  HK_MEM void announce(const WarpPlace &at, bool more) const {
    // Opaque, as addresses would be kept for all tiles.
    Layout own = lds;
    own.base = opaqueWord(own.base);
    u32 slot = count % kTilePlaces;
    // The first round finds all places empty.
    own.placeEmpty(slot).wait(count / kTilePlaces % 2 ^ 1);
    int words[] = {at.matrix, at.row, at.end,
                   at.col,    at.k0,  more ? at.steps : -1};
    static_assert(sizeof(words) <= kTilePlaceBytes);
    HK_UNROLL for (u32 i = 0; i < 6; ++i)
        storeLds4(own.place(slot) + i * 4, u32(words[i]));
    own.placeFull(slot).arrive();
  }
};

/// The next stage of a warp that multiplies and the number of its next tile, in
/// a register less than both would take.
template <int STAGES> struct TileRing {
  u32 stage = 0;

  HK_MEM u32 phase() const { return bits & 1; }
  HK_MEM void advance() {
    if (++stage == STAGES) {
      stage = 0;
      bits ^= 1;
    }
  }

  /// The next tile that is announced. Whole warps call.
  template <class Layout> HK_MEM bool take(const Layout &lds, WarpPlace &at) {
    u32 count = bits / 2, slot = count % kTilePlaces;
    lds.placeFull(slot).wait(count / kTilePlaces % 2);
    u32x4 first = loadLds16(lds.place(slot)),
          second = loadLds16(lds.place(slot) + 16);
    at = {int(first[0]), int(first[1]),  int(first[2]),
          int(first[3]), int(second[0]), int(second[1])};
    waveBarrier();
    lds.placeEmpty(slot).template arriveEverywhere<1>();
    bits += 2;
    return at.steps >= 0;
  }

private:
  u32 bits = 0;
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_ANNOUNCED_TILES_H
