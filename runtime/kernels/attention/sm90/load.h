//===- load.h - Queries, keys and values by the copy engine -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread asks for everything. Keys run one stage ahead of values, as their
// product does. Rows of ragged operands are those of the whole tensor: a box
// may end in the next sequence, whose rows the products mask.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_SM90_LOAD_H
#define HK_KERNELS_ATTENTION_SM90_LOAD_H

#include "kernels/attention/sm90/config.h"
#include "kernels/attention/sm90/schedule.h"

namespace hk {

template <AttentionSpec S, AttentionTile T> struct BulkAttentionLoader {
  using Config = BulkAttentionConfig<S, T>;

  typename Config::Layout lds;
  /// Of queries, keys, values.
  const TensorMap *maps;
  /// Uses of stages, and of the place of queries, so far.
  u32 uses = 0, tiles = 0;

  HK_MEM void run(AttentionTiles<S, T> &order) {
    for (BulkAttentionTile w; order.take(w);) {
      typename Config::Steps steps = Config::stepsOf(w);
      if (steps.count() == 0)
        continue;
      loadQueries(w);
      loadKeys(w, steps.end - 1, uses);
      for (int n = steps.end - 2; n >= steps.first; --n, ++uses) {
        loadKeys(w, n, uses + 1);
        loadValues(w, n + 1, uses);
      }
      loadValues(w, steps.first, uses++);
    }
  }

private:
  template <int PANELS, int PANEL_BYTES>
  HK_MEM void load(u32 to, const TensorMap &map, LdsBarrier full,
                   BatchedBoxPlace at) {
    full.expect(PANELS * PANEL_BYTES);
    HK_UNROLL for (int p = 0; p < PANELS; ++p) {
      at.column = p * 64;
      loadBox(to + p * PANEL_BYTES, map, full, at);
    }
  }
  HK_MEM static int batchOf(SequenceLayout layout, const BulkAttentionTile &w) {
    return layout == SequenceLayout::Dense ? w.sequence : 0;
  }

  HK_MEM void loadQueries(const BulkAttentionTile &w) {
    // The first round finds the place empty.
    lds.queriesEmpty().wait((tiles++ & 1) ^ 1);
    load<Config::kKeyPanels, Config::kQueryPanel>(
        lds.queries(), maps[0], lds.queriesFull(),
        {0, w.queryStart + w.first, w.head, batchOf(S.queries, w)});
  }
  HK_MEM BatchedBoxPlace placeOf(const BulkAttentionTile &w, int n) {
    return {0, w.keyStart + n * Config::kKeys, w.head / S.group,
            batchOf(S.keys, w)};
  }
  HK_MEM void loadKeys(const BulkAttentionTile &w, int n, u32 use) {
    typename Config::Place at(use);
    lds.keysEmpty(at.stage).wait(at.phase ^ 1);
    load<Config::kKeyPanels, Config::kKeyPanel>(
        lds.keys(at.stage), maps[1], lds.keysFull(at.stage), placeOf(w, n));
  }
  HK_MEM void loadValues(const BulkAttentionTile &w, int n, u32 use) {
    typename Config::Place at(use);
    lds.valuesEmpty(at.stage).wait(at.phase ^ 1);
    load<Config::kValuePanels, Config::kKeyPanel>(
        lds.values(at.stage), maps[2], lds.valuesFull(at.stage), placeOf(w, n));
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_SM90_LOAD_H
