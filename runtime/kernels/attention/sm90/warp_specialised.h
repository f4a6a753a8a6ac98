//===- warp_specialised.h - Attention of sm_90a, many queries -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One warpgroup copies (one or two of its warps do all of it), the others have
// 64 rows each. A warpgroup's step asks for the scores of the
// next tile of keys and for the values' product of this one, computes the
// softmax of the first while the second runs, and releases both; the warpgroups
// drift apart, so that one's exponentials run under the other's products. Four
// of them keep what they subtract from scores (BulkAttentionRows::addToBase).
// Products are in flight within a step only: a copy of their registers, which a
// branch would make, would have to wait for them. The step that follows no
// product and the product that no scores follow stand outside of the loop, once
// for each segment of the keys.
//
//   BulkAttention<BulkSegment<spec, tile>...>::run(maps, block, shared,
//   args...) Grid: any number of blocks in x, or a cluster per tile. maps:
//   queries, then keys and values of each segment.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_SM90_WARP_SPECIALISED_H
#define HK_KERNELS_ATTENTION_SM90_WARP_SPECIALISED_H

#include "kernels/attention/sm90/cluster.h"
#include "kernels/attention/sm90/load.h"
#include "kernels/attention/sm90/rows.h"
#include "kernels/attention/sm90/schedule.h"
#include "kernels/attention/sm90/store.h"

namespace hk {

/// A warpgroup's walk over one segment of the keys; LAST: no other follows.
template <AttentionSpec S, AttentionTile T, bool FIRST, bool LAST>
class BulkAttentionWalk {
  using Config = BulkAttentionConfig<S, T>;
  using Layout = typename Config::Layout;
  using Rows = BulkAttentionRows<S, T>;
  using Accumulators = typename Config::Values::Registers;

public:
  HK_MEM BulkAttentionWalk(const AttentionArgs<S> &a, const Layout &lds,
                           int group, u32 &uses)
      : a(a), lds(lds), group(group), uses(uses) {}

  HK_MEM void run(const BulkAttentionTile &w, typename Config::Steps steps,
                  Rows &rows, Accumulators &o) {
    typename Config::Scores::Registers s;
    typename Rows::Words p;
    beginScores(s, uses);
    waitProducts<0>();
    settleProduct(s);
    u32 missing = missingKeys(uses);
    release(lds.keysEmpty(typename Config::Place(uses).stage));
    rows.softmax(a, s, (steps.end - 1) * Config::kKeys, missing);
    if constexpr (!FIRST)
      rescale(o, rows);
    Rows::pack(s, p);
    clearBehind(w, steps.end - 1);
    for (int n = steps.end - 2; n >= steps.first; --n, ++uses) {
      beginScores(s, uses + 1);
      beginValues(o, p, uses);
      missing = missingKeys(uses + 1);
      waitProducts<1>();
      settleProduct(s);
      release(lds.keysEmpty(typename Config::Place(uses + 1).stage));
      if constexpr (Config::kKeepsBase)
        rows.show(a, s, n * Config::kKeys, missing);
      else
        rows.softmax(a, s, n * Config::kKeys, missing);
      waitProducts<0>();
      settleProduct(o);
      release(lds.valuesEmpty(typename Config::Place(uses).stage));
      if constexpr (Config::kKeepsBase) {
        if (rows.addToBase(a, s, p))
          continue;
        rows.exponentiate(a, s);
      }
      Rows::pack(s, p);
      rescale(o, rows);
    }
    if constexpr (LAST)
      release(lds.queriesEmpty());
    beginValues(o, p, uses);
    waitProducts<0>();
    settleProduct(o);
    release(lds.valuesEmpty(typename Config::Place(uses++).stage));
  }

  HK_MEM static void release(LdsBarrier empty) {
    if (laneId() == 0)
      empty.arrive();
  }
  HK_MEM static void rescale(Accumulators &o, const BulkRowSums &rows) {
    HK_UNROLL for (int i = 0; i < Config::Values::kRegisters; ++i) o[i] *=
        rows.factor[i / 2 % 2];
  }

private:
  /// Waits for keys, begins their product.
  HK_MEM void beginScores(typename Config::Scores::Registers &s,
                          u32 use) const {
    typename Config::Place at(use);
    lds.keysFull(at.stage).waitTogether(at.phase);
    Config::Scores::begin(
        s,
        operandDescriptor(lds.queries() +
                          group * kWarpgroupRows * kBulkRowBytes),
        operandDescriptor(lds.keys(at.stage)));
  }
  HK_MEM void beginValues(Accumulators &o, const typename Rows::Words &p,
                          u32 use) const {
    typename Config::Place at(use);
    lds.valuesFull(at.stage).waitTogether(at.phase);
    Config::Values::begin(
        o, p, transposedDescriptor(lds.values(at.stage), Config::kKeyPanel));
  }
  /// Boxes of keys that are missing, before their stage is released.
  HK_MEM u32 missingKeys(u32 use) const {
    if constexpr (Config::kGaps)
      return u32(sameInWarp(
          int(loadLds4(lds.missing(typename Config::Place(use).stage)))));
    return 0;
  }

  /// Values behind the sequence's last key belong to another sequence or to
  /// nobody; their probabilities are 0, but 0 * NaN is not. Where the operand
  /// itself ends, the engine has written zeros.
  HK_MEM void clearBehind(const BulkAttentionTile &w, int n) const {
    constexpr bool ends = S.keys.layout == KeyLayout::Ragged ||
                          S.keys.isPaged() || S.keys.hasCount() ||
                          S.window.own == OwnKeys::Elsewhere;
    if constexpr (!ends)
      return;
    int first = Config::keysEnd(w) - n * Config::kKeys;
    if (first >= Config::kKeys)
      return;
    typename Config::Place at(uses);
    lds.valuesFull(at.stage).waitTogether(at.phase);
    clearRowsBehind<Config::kValuePanels, Config::kKeys,
                    Config::kGroups * kWarpgroup>(lds.values(at.stage), first);
  }

  const AttentionArgs<S> &a;
  Layout lds;
  int group;
  u32 &uses;
};

/// What a warpgroup of 64 queries does.
template <class Segments> class BulkAttentionConsumer {
  using First = typename Segments::First;
  using Config = typename First::Config;
  using Layout = typename Config::Layout;
  using Accumulators = typename Config::Values::Registers;

public:
  HK_MEM BulkAttentionConsumer(const Segments &segments, const Layout &lds,
                               int group)
      : segments(segments), lds(lds), group(group),
        row(group * kWarpgroupRows + waveId() % 4 * 16 + laneId() / 4) {}

  HK_MEM void run(AttentionTiles<Segments> &order) {
    for (BulkAttentionTile w; order.take(w);) {
      Accumulators o;
      HK_UNROLL for (float &v : o) v = 0;
      BulkRowSums sums;
      // What makes scores of the segment before logarithms of base 2.
      float last = 0;
      bool asked = false; // for queries
      tiles = u32(sameInWarp(int(tiles)));
      segments.forEach(
          [&]<class Segment, int I>(const typename Segment::Args &a)
              __attribute__((always_inline)) {
                walk<Segment, I>(a, w, sums, last, asked, o);
              });
      tiles += asked;
    }
  }

private:
  template <class Segment, int I>
  HK_MEM void walk(const typename Segment::Args &a, BulkAttentionTile &w,
                   BulkRowSums &sums, float &last, bool &asked,
                   Accumulators &o) {
    constexpr AttentionSpec spec = Segment::kSpec;
    constexpr AttentionTile tile = Segment::kTile;
    constexpr bool first = I == 0, final = I + 1 == Segments::kCount;
    using Walk = BulkAttentionWalk<spec, tile, first, final>;
    using Epilogue = typename Segment::Epilogue;
    Segment::Config::locateKeys(a, w);
    BulkAttentionRows<spec, tile> rows;
    static_cast<BulkRowSums &>(rows) = sums;
    // What depends on it does not stay in registers from tile to tile.
    if constexpr (Segment::Config::kKeepsBase)
      settleWord(row);
    rows.start(w, group * kWarpgroupRows, row);
    if constexpr (!first) {
      rows.goOn(a, last);
      Walk::rescale(o, rows);
    }
    last = rows.baseTwo(a);
    typename Segment::Config::Steps steps = Segment::Config::stepsOf(w);
    // What the assembler does not see for itself behind branches.
    steps = {sameInWarp(steps.first), sameInWarp(steps.end)};
    uses = u32(sameInWarp(int(uses)));
    if (steps.count() > 0) {
      if (!asked)
        lds.queriesFull().waitTogether(tiles & 1);
      asked = true;
      Walk(a, lds, group, uses).run(w, steps, rows, o);
    } else if (final && asked) {
      Walk::release(lds.queriesEmpty());
    }
    if constexpr (final && Segment::Config::kKeepsBase)
      settleWord(row);
    if constexpr (final)
      rows.clearUnseen(o);
    if constexpr (final && tile.cluster > 1)
      BulkAttentionCluster<spec, tile, Epilogue>::run(a, w, lds.queries(), row,
                                                      rows, o);
    else if constexpr (final)
      BulkAttentionStore<spec, tile, Epilogue>::run(a, w, row, rows, o);
    sums = rows;
  }

  const Segments &segments;
  Layout lds;
  int group, row;
  u32 uses = 0, tiles = 0;
};

template <class... All> struct BulkAttention {
  using Segments = BulkSegments<0, All...>;
  using Config = typename Segments::First::Config;
  using Shared = typename Config::Shared;
  static constexpr int kThreads = Config::kThreads;
  static constexpr int kMaps = 1 + 2 * Segments::kCount;
  /// Boxes of few rows take longer to ask for than to bring: two warps do, but
  /// where segments of ragged queries would make them spill.
  static constexpr bool kTwoWarps =
      (Segments::kCount == 1 ||
       Segments::First::kSpec.queries != SequenceLayout::Ragged) &&
      ((All::Config::kGaps && All::Config::kKeys / All::Config::kBoxKeys > 2) ||
       ...);

  HK_MEM static void run(const TensorMap *maps, BlockId block, Shared &shared,
                         const typename All::Args &...args) {
    Segments segments(args...);
    constexpr int cluster = Segments::First::kTile.cluster;
    if constexpr (cluster > 1)
      attend(maps, segments, shared,
             AttentionTiles<Segments>(segments, block.x / cluster));
    else
      attend(maps, segments, shared,
             AttentionTiles<Segments>(segments, block.x, blockCountX()));
  }
  /// A block per tile, where they share a launch with blocks of other problems.
  HK_MEM static void runTile(const TensorMap *maps, BlockId block,
                             Shared &shared,
                             const typename All::Args &...args) {
    Segments segments(args...);
    attend(maps, segments, shared, AttentionTiles<Segments>(segments, block.x));
  }

private:
  HK_MEM static void attend(const TensorMap *maps, const Segments &segments,
                            Shared &shared, AttentionTiles<Segments> order) {
    typename Config::Layout lds(shared.bytes);
    begin(maps, lds);
    int group = sameInWarp(threadId() / kWarpgroup);
    if (group == Config::kGroups) {
      if constexpr (Config::kGroups > 1)
        giveRegisters<Config::kCopyRegisters>();
      int warp = sameInWarp(threadId() % kWarpgroup / kWave);
      if constexpr (kTwoWarps) {
        if (warp == 0)
          BulkAttentionLoader<Segments, BulkRole::QueriesAndKeys>(segments, lds,
                                                                  maps)
              .run(order);
        else if (warp == 1)
          BulkAttentionLoader<Segments, BulkRole::Values>(segments, lds, maps)
              .run(order);
      } else if (warp == 0) {
        BulkAttentionLoader<Segments>(segments, lds, maps).run(order);
      }
    } else {
      if constexpr (Config::kGroups > 1)
        takeRegisters<Config::kProductRegisters>();
      BulkAttentionConsumer<Segments>(segments, lds, group).run(order);
    }
  }
  HK_MEM static void begin(const TensorMap *maps,
                           const typename Config::Layout &lds) {
    if (threadId() == 0) {
      HK_UNROLL for (int i = 0; i < kMaps; ++i) maps[i].prefetch();
      constexpr u32 warps = Config::kGroups * kGroupWarps;
      lds.queriesFull().init(1);
      lds.queriesEmpty().init(warps);
      HK_UNROLL for (u32 s = 0; s < Config::kStages; ++s) {
        lds.keysFull(s).init(1);
        lds.keysEmpty(s).init(warps);
        lds.valuesFull(s).init(1);
        lds.valuesEmpty(s).init(warps);
      }
      publishBarriers();
    }
    barrier();
    beginAfterLast();
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_SM90_WARP_SPECIALISED_H
