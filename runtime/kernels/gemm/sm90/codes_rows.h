//===- codes_rows.h - Rows of codes by the copy engine -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The codes of a block of GroupedSkinnyCodes on their way to LDS: fragments of
// 16 rows of B, whole rows of k, in the order of the tiles. One wave asks the
// copy engine for them, which keeps what is under way out of the path of the
// threads' own loads: copies of 16 bytes a lane held up the reads of LDS the
// more, the more of them were under way. A row is half a line of banks longer
// than it is, so that the rows of four neighbouring lanes each lie in banks of
// their own. What lies behind the end of k is old: codes are always finite, and
// A is 0 there.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_CODES_ROWS_H
#define HK_KERNELS_GEMM_SM90_CODES_ROWS_H

#include "kernels/device/copy/tma.h"
#include "kernels/gemm/sm90/skinny_codes.h"

namespace hk {

/// Base: the SkinnyCodes of a problem. Waves: those that read.
template <class Base, int Waves> class CodesRows {
  using B = typename Base::B;
  static constexpr u32 kStages = Base::kAhead;
  static constexpr int kPitch = skinnyCodesRow(Base::T);
  static constexpr int kFragment = 16 * kPitch;

public:
  using Place = RingPlace<kStages>;
  static constexpr int kBytes = int(kStages) * (kFragment + 16);

  HK_MEM explicit CodesRows(u8 *lds) : lds(ldsAddress(lds)) {}

  /// By one thread, before the block meets.
  HK_MEM void init() const {
    HK_UNROLL for (u32 s = 0; s < kStages; ++s) {
      full(s).init(1);
      empty(s).init(Waves);
    }
    publishBarriers();
  }
  /// Asks for fragment `tall` of a tile, once the place is free. A whole wave
  /// calls.
  HK_MEM void ask(const GemmArgs &args, u32 tile, int tall,
                  const Place &place) const {
    u32 bytes = u32(args.k) / 2;
    empty(place.stage).waitTogether(place.phase ^ 1);
    if (laneId() == 0)
      full(place.stage).expect(16 * bytes);
    waveBarrier();
    if (laneId() < 16)
      loadBytes(fragment(place.stage) + u32(laneId() * kPitch),
                rowOf(args, tile, tall * 16 + laneId()), bytes,
                full(place.stage));
  }
  HK_MEM void wait(const Place &place) const {
    full(place.stage).waitTogether(place.phase);
  }
  /// The lane's codes of unit `unit` of k.
  HK_MEM typename Base::Codes get(const Place &place, int unit) const {
    u32 from = fragment(place.stage) + u32(laneId() / 4 * kPitch) +
               u32(unit * 4 + laneId() % 4) * 16;
    return {{loadLds16(from), loadLds16(from + 8 * kPitch)}};
  }
  /// The wave has read a fragment.
  HK_MEM void release(const Place &place) const {
    waveBarrier();
    if (laneId() == 0)
      empty(place.stage).arrive();
  }

private:
  u32 lds;

  HK_MEM u32 fragment(u32 stage) const { return lds + stage * kFragment; }
  HK_MEM LdsBarrier full(u32 stage) const {
    return {fragment(kStages) + stage * 8};
  }
  HK_MEM LdsBarrier empty(u32 stage) const { return full(kStages + stage); }

  /// Of rows that do not exist the last one, whose sums nobody stores.
  HK_MEM static Global<const u8> rowOf(const GemmArgs &args, u32 tile, int r) {
    constexpr int columns = Base::kColumns;
    u32 column = tile * columns + u32(r % columns), last = u32(args.n) - 1;
    column = column < last ? column : last;
    u32 half = u32(r / columns);
    u32 row = B::kStep == 2 ? column * 2 + half : column + half * u32(args.n);
    return global<const u8>(args.b.data) + u64(row) * u32(args.b.stride / 2);
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_CODES_ROWS_H
