//===- load.h - Operands of gradients by the copy engine -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One warp asks for what a block owns and for what it walks over. Its lanes
// bring what queries have besides, a step ahead of its use.
// Rows of ragged operands are those of the whole tensor: a box may end in the
// next sequence.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_BACKWARD_SM90_LOAD_H
#define HK_KERNELS_ATTENTION_BACKWARD_SM90_LOAD_H

#include "kernels/attention/backward/sm90/config.h"

namespace hk {

/// Queries and gradients come in boxes of T.walked rows, keys and values of
/// twice as many.
template <AttentionBackwardSpec S, AttentionBackwardTile T, Own O,
          class Layout = typename BulkBackwardWalk<S, T, O>::Layout>
struct BulkBackwardLoader {
  using Walk = BulkBackwardWalk<S, T, O>;
  using Step = typename Walk::Step;
  static constexpr bool kKeys = O == Own::Keys;
  /// Where dq is summed in order too many products are in flight for those who
  /// multiply to clear what boxes bring from behind a sequence, and keys that
  /// are not there add to dq. This warp does it, before it says that they came.
  static constexpr bool kClears =
      sumsInOrder(T) && S.sequence == SequenceLayout::Ragged;

  Layout lds;
  /// Of queries, gradients, keys, values.
  const TensorMap *maps;
  /// Of the group, that of owned queries.
  int head;
  /// From the last step to the first.
  bool down = false;
  BackwardBlock w = {};
  /// Boxes that ended behind the sequence so far.
  u32 partial = 0;

  HK_MEM void run(const AttentionBackwardArgs<S> &a) {
    w = lds.getBlock();
    typename Walk::Steps steps = Walk::stepsOf(w);
    if (steps.count() == 0)
      return;
    loadOwned();
    Step at = steps.begin(down);
    at.head = head;
    Numbers numbers = numbersAt(a, at);
    for (u32 use = 0; int(use) < steps.count(); ++use) {
      typename Walk::Place place(use);
      lds.empty(place.stage).waitTogether(place.phase ^ 1);
      if constexpr (kKeys) {
        storeNumbers(lds.bases(place.stage), numbers.base);
        storeNumbers(lds.deltas(place.stage), numbers.delta);
        waveBarrier();
      }
      loadWalked(place.stage, at);
      at = steps.next(at);
      if (int(use) + 1 < steps.count())
        numbers = numbersAt(a, at);
    }
  }

private:
  /// Queries of a step that the lane brings numbers of.
  static constexpr int kEach = kKeys ? Walk::kRows / kWave : 1;
  struct Numbers {
    float base[kEach], delta[kEach];
  };
  HK_MEM static void storeNumbers(u32 to, const float (&n)[kEach]) {
    to += laneId() * sizeof(n);
    if constexpr (kEach == 2)
      storeLds8(to, bitCast<u32>(n[0]), bitCast<u32>(n[1]));
    else
      storeLds4(to, bitCast<u32>(n[0]));
  }

  HK_MEM Numbers numbersAt(const AttentionBackwardArgs<S> &a, Step at) const {
    Numbers n = {};
    if constexpr (kKeys) {
      BackwardNumbers<S> rows = numbersOf<S>(a, w);
      HK_UNROLL for (int e = 0; e < kEach; ++e) {
        // Behind the last one: that again, masked later.
        int query = at.tile * Walk::kRows + laneId() * kEach + e;
        i64 row =
            i64(query < w.queries ? query : w.queries - 1) * S.group + at.head;
        n.base[e] = backwardBase(*rows.lse.at(row));
        n.delta[e] = *rows.delta.at(row);
      }
    }
    return n;
  }

  HK_MEM int batch() const {
    return S.sequence == SequenceLayout::Dense ? w.sequence : 0;
  }
  /// ROWS rows of all panels of an operand, in boxes of BOX rows.
  template <int PANELS, int ROWS, int BOX>
  HK_MEM void load(u32 to, const TensorMap &map, LdsBarrier full,
                   BatchedBoxPlace at) const {
    HK_UNROLL for (int p = 0; p < PANELS; ++p)
        HK_UNROLL for (int r = 0; r < ROWS; r += BOX)
            loadBox(to + (p * ROWS + r) * kBulkRowBytes, map, full,
                    {p * 64, at.row + r, at.matrix, at.batch});
  }
  /// Both operands: of queries of a head, or of keys.
  template <Own SIDE, int ROWS>
  HK_MEM void loadSide(u32 heads, u32 values, LdsBarrier full, int first,
                       int headOfGroup) const {
    constexpr bool keys = SIDE == Own::Keys;
    constexpr int box = keys ? 2 * T.walked : T.walked, side = keys ? 2 : 0;
    BatchedBoxPlace at = {0, (keys ? w.keyStart : w.queryStart) + first,
                          keys ? w.head : w.head * S.group + headOfGroup,
                          batch()};
    full.expect(Walk::kPanels * ROWS * kBulkRowBytes);
    load<Walk::kHeadPanels, ROWS, box>(heads, maps[side], full, at);
    load<Walk::kValuePanels, ROWS, box>(values, maps[side + 1], full, at);
  }
  /// By all lanes: `left` rows of the side's sequence are ROWS or fewer.
  template <Own SIDE, int ROWS>
  HK_MEM void bring(u32 heads, u32 values, LdsBarrier full, int first,
                    int headOfGroup, int left) {
    if constexpr (kClears) {
      if (left < ROWS) {
        LdsBarrier come = lds.partial();
        if (laneId() == 0)
          loadSide<SIDE, ROWS>(heads, values, come, first, headOfGroup);
        come.waitTogether(partial++ & 1);
        clear<Walk::kPanels, ROWS>(heads, left);
        if (laneId() == 0)
          full.arrive();
        return;
      }
    }
    if (laneId() == 0)
      loadSide<SIDE, ROWS>(heads, values, full, first, headOfGroup);
  }
  /// Rows from `first` on of PANELS panels.
  template <int PANELS, int ROWS> HK_MEM static void clear(u32 at, int first) {
    constexpr int unit = 16, inRow = kBulkRowBytes / unit;
    HK_UNROLL for (int panel = 0; panel < PANELS;
                   ++panel) for (int i = first * inRow + laneId();
                                 i < ROWS * inRow; i += kWave)
        clearLds16(at + panel * ROWS * kBulkRowBytes + i * unit);
    publishToCopies();
    waveBarrier();
  }
  HK_MEM void loadOwned() {
    bring<O, Walk::kOwned>(lds.ownedHead(), lds.ownedValue(), lds.ownedFull(),
                           w.first, head, w.count);
  }
  HK_MEM void loadWalked(u32 stage, Step at) {
    int first = at.tile * Walk::kRows;
    bring<otherOwn(O), Walk::kRows>(lds.head(stage), lds.value(stage),
                                    lds.full(stage), first, at.head,
                                    (kKeys ? w.queries : w.keys) - first);
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_BACKWARD_SM90_LOAD_H
