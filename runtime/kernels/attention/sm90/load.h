//===- load.h - Queries, keys and values by the copy engine -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One warp asks for everything, keys one stage ahead of values, as their
// product is; or one asks for queries and keys and another for values. Where
// the keys of a segment lie is a matter of its source; rows of ragged operands
// are those of the whole tensor: a box may end in the next sequence, whose rows
// the products mask.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_SM90_LOAD_H
#define HK_KERNELS_ATTENTION_SM90_LOAD_H

#include "kernels/attention/sm90/pages.h"
#include "kernels/attention/sm90/schedule.h"

namespace hk {

/// A tile of PANELS panels of PANEL_BYTES bytes, rows at equal distances.
template <int PANELS, int PANEL_BYTES>
HK_DEV void loadPanels(u32 to, const TensorMap &map, LdsBarrier full,
                       BatchedBoxPlace at) {
  full.expect(PANELS * PANEL_BYTES);
  HK_UNROLL for (int p = 0; p < PANELS; ++p) {
    at.column = p * 64;
    loadBox(to + p * PANEL_BYTES, map, full, at);
  }
}

/// A tile of HEADS heads: boxes of queries of each, one after the other in each
/// panel.
template <int PANELS, int PANEL_BYTES, int HEADS>
HK_DEV void loadHeads(u32 to, const TensorMap &map, LdsBarrier full,
                      BatchedBoxPlace at) {
  full.expect(PANELS * PANEL_BYTES);
  HK_UNROLL for (int p = 0; p < PANELS; ++p) {
    HK_UNROLL for (int h = 0; h < HEADS; ++h) {
      BatchedBoxPlace from = at;
      from.column = p * 64;
      from.matrix = at.matrix + h;
      loadBox(to + p * PANEL_BYTES + h * (PANEL_BYTES / HEADS), map, full,
              from);
    }
  }
}

/// Keys whose tiles are boxes.
template <AttentionSpec S, AttentionTile T> class BulkRowKeys {
  using Config = BulkAttentionConfig<S, T>;

public:
  using Place = int; // its first row

  HK_MEM BulkRowKeys(const AttentionArgs<S> &, const BulkAttentionTile &w)
      : start(w.keyStart), head(w.head / S.group),
        sequence(S.keys.layout == KeyLayout::Dense ? w.sequence : 0) {}
  HK_MEM Place find(int n) const { return start + n * Config::kKeys; }
  HK_MEM void announce(u32, Place) const {}
  template <int PANELS, int>
  HK_MEM void load(u32 to, const TensorMap &map, LdsBarrier full,
                   Place at) const {
    if (laneId() == 0)
      loadPanels<PANELS, Config::kKeyPanel>(to, map, full,
                                            {0, at, head, sequence});
    waveBarrier();
  }

private:
  int start, head, sequence;
};

/// The source of keys that lie in a certain way.
template <bool PAGED> struct PickKeySource {
  template <AttentionSpec S, AttentionTile T> using Type = BulkRowKeys<S, T>;
};
template <> struct PickKeySource<true> {
  template <AttentionSpec S, AttentionTile T> using Type = BulkPagedKeys<S, T>;
};

/// What a warp asks for.
enum class BulkRole { All, QueriesAndKeys, Values };

template <class Segments, BulkRole ROLE = BulkRole::All>
class BulkAttentionLoader {
  static constexpr bool kKeys = ROLE != BulkRole::Values;
  /// Boxes of a branch: registers hold less of them beside both operands.
  static constexpr int kAtOnce = ROLE == BulkRole::All ? 2 : 4;
  using First = typename Segments::First;
  static constexpr AttentionSpec S = First::kSpec;
  using Config = typename First::Config;

public:
  /// Maps: of queries, then of keys and values of each segment.
  HK_MEM BulkAttentionLoader(const Segments &segments,
                             const typename Config::Layout &lds,
                             const TensorMap *maps)
      : segments(segments), lds(lds), maps(maps) {}

  HK_MEM void run(AttentionTiles<Segments> &order) {
    for (BulkAttentionTile w; order.take(w);) {
      bool asked = false; // for queries
      segments.forEach(
          [&]<class Segment, int I>(const typename Segment::Args &a)
              __attribute__((always_inline)) {
                Segment::Config::locateKeys(a, w);
                auto steps = Segment::Config::stepsOf(w);
                if (steps.count() == 0)
                  return;
                if (kKeys && !asked)
                  loadQueries(w);
                asked = true;
                loadSegment<Segment, I>(a, w, steps.first, steps.end);
              });
    }
  }

private:
  HK_MEM void loadQueries(const BulkAttentionTile &w) {
    // The first round finds the place empty.
    lds.queriesEmpty().waitTogether((tiles++ & 1) ^ 1);
    if (laneId() == 0)
      loadHeads<Config::kKeyPanels, Config::kQueryPanel, First::kTile.heads>(
          lds.queries(), maps[0], lds.queriesFull(),
          {0, w.queryStart + w.first, w.head,
           S.queries == SequenceLayout::Dense ? w.sequence : 0});
    waveBarrier();
  }

  template <class Segment, int I>
  HK_MEM void loadSegment(const typename Segment::Args &a,
                          const BulkAttentionTile &w, int first, int end) {
    constexpr AttentionSpec spec = Segment::kSpec;
    using Source = typename PickKeySource<spec.keys.isPaged()>::template Type<
        spec, Segment::kTile>;
    Source source(a, w);
    typename Source::Place now = source.find(end - 1);
    if constexpr (ROLE != BulkRole::All) {
      for (int n = end - 1; n >= first; --n, ++uses) {
        typename Source::Place at = now;
        // Looked up before room is waited for.
        now = source.find(n - 1);
        if constexpr (kKeys)
          loadKeys<I>(source, at, uses);
        else
          loadValues<I>(source, at, uses);
      }
      return;
    }
    loadKeys<I>(source, now, uses);
    for (int n = end - 2; n >= first; --n, ++uses) {
      typename Source::Place next = source.find(n);
      loadKeys<I>(source, next, uses + 1);
      loadValues<I>(source, now, uses);
      now = next;
    }
    loadValues<I>(source, now, uses++);
  }
  template <int I, class Source>
  HK_MEM void loadKeys(const Source &source, const typename Source::Place &from,
                       u32 use) {
    typename Config::Place at(use);
    lds.keysEmpty(at.stage).waitTogether(at.phase ^ 1);
    source.announce(lds.missing(at.stage), from);
    source.template load<Config::kKeyPanels, kAtOnce>(
        lds.keys(at.stage), maps[1 + 2 * I], lds.keysFull(at.stage), from);
  }
  template <int I, class Source>
  HK_MEM void loadValues(const Source &source,
                         const typename Source::Place &from, u32 use) {
    typename Config::Place at(use);
    lds.valuesEmpty(at.stage).waitTogether(at.phase ^ 1);
    source.template load<Config::kValuePanels, kAtOnce>(
        lds.values(at.stage), maps[2 + 2 * I], lds.valuesFull(at.stage), from);
  }

  const Segments &segments;
  typename Config::Layout lds;
  const TensorMap *maps;
  /// Uses of stages, and of the place of queries, so far.
  u32 uses = 0, tiles = 0;
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_SM90_LOAD_H
