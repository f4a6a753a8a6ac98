//===- pages.h - Keys in pages of a cache by the copy engine -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A box is as many rows as divide a page and a tile of keys. Each lane of the
// copying warp looks up the page of one box of a tile, and asks for that box.
// Boxes that the table does not name, and those behind the last key, begin at
// page -1, which no cache has: the engine writes zeros there, so that 0 times a
// value stays 0, and the products are told whose scores to mask.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_SM90_PAGES_H
#define HK_KERNELS_ATTENTION_SM90_PAGES_H

#include "kernels/attention/sm90/config.h"

namespace hk {

template <AttentionSpec S, AttentionTile T> class BulkPagedKeys {
  using Config = BulkAttentionConfig<S, T>;
  static constexpr int kRows = Config::kBoxKeys;
  static constexpr int kBoxes = Config::kKeys / kRows;
  static_assert(kRows % 8 == 0 && kBoxes <= kWave,
                "boxes begin at multiples of 1024 bytes, one for each lane");

public:
  /// The box of this lane.
  struct Place {
    int row, page;
  };

  HK_MEM BulkPagedKeys(const AttentionArgs<S> &a, const BulkAttentionTile &w)
      : head(w.head / S.group), end(Config::keysEnd(w)) {
    AttentionBlock block = w.block(S.group);
    locateSequence<S>(a, block);
    table = a.blockTable + block.tableStart;
  }

  HK_MEM Place find(int n) const {
    int key = n * Config::kKeys + laneId() * kRows;
    Place at = {key % S.keys.pageRows, -1};
    if (laneId() < kBoxes && key < end)
      at.page = table[key / S.keys.pageRows];
    return at;
  }

  /// For the products; before keys are asked for.
  HK_MEM void announce(u32 word, const Place &at) const {
    u32 missing = u32(ballot(laneId() < kBoxes && at.page < 0));
    if (laneId() == 0)
      storeLds4(word, missing);
  }

  /// AT_ONCE: boxes whose operands are in registers at the same time, where
  /// they are asked for in straight code.
  template <int PANELS, int AT_ONCE>
  HK_MEM void load(u32 to, const TensorMap &map, LdsBarrier full,
                   const Place &at) const {
    if constexpr (kStraight) {
      loadStraight<PANELS, AT_ONCE>(to, map, full, at);
      return;
    }
    if (laneId() == 0)
      full.expect(PANELS * Config::kKeyPanel);
    if (laneId() < kBoxes)
      HK_UNROLL for (int p = 0; p < PANELS; ++p)
          loadBox(to + p * Config::kKeyPanel + laneId() * kRows * kBulkRowBytes,
                  map, full, BatchedBoxPlace{p * 64, at.row, head, at.page});
    waveBarrier();
  }

private:
  /// One lane asks in straight code, where registers hold the operands of
  /// several boxes at once.
  static constexpr bool kStraight = S.headDim <= 128 && S.valueDim <= 128;
  template <int PANELS, int AT_ONCE>
  HK_MEM void loadStraight(u32 to, const TensorMap &map, LdsBarrier full,
                           const Place &at) const {
    constexpr int some = kBoxes % AT_ONCE == 0 ? AT_ONCE
                         : kBoxes % 2 == 0     ? 2
                                               : 1;
    to = u32(sameInWarp(int(to)));
    full.at = u32(sameInWarp(int(full.at)));
    int own = sameInWarp(head);
    waveBarrier(); // the lane that asks may not be the one that announced
    HK_UNROLL for (int begin = 0; begin < kBoxes; begin += some) {
      int pages[some], rows[some];
      HK_UNROLL for (int b = 0; b < some; ++b) {
        pages[b] = fromLane(at.page, begin + b);
        rows[b] = S.keys.pageRows == kRows ? 0 : fromLane(at.row, begin + b);
      }
      if (isElected()) {
        if (begin == 0)
          full.expect(PANELS * Config::kKeyPanel);
        HK_UNROLL for (int b = 0; b < some; ++b) HK_UNROLL for (int p = 0;
                                                                p < PANELS; ++p)
            loadBox(to + p * Config::kKeyPanel +
                        (begin + b) * kRows * kBulkRowBytes,
                    map, full, BatchedBoxPlace{p * 64, rows[b], own, pages[b]});
      }
      waveBarrier();
    }
  }

  Global<const i32> table;
  int head, end;
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_SM90_PAGES_H
