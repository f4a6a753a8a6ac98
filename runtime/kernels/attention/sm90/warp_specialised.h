//===- warp_specialised.h - Attention of sm_90a, many queries -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One warpgroup copies (one of its threads does all of it), the others have 64
// queries of one head each. A warpgroup's step asks for the scores of the next
// tile of keys and for the values' product of this one, computes the softmax of
// the first while the second runs, and releases both; the warpgroups drift
// apart, so that one's exponentials run under the other's products. Products
// are in flight within a step only: a copy of their registers, which a branch
// would make, would have to wait for them. The step that follows no product
// and the product that no scores follow stand outside of the loop.
//
//   BulkAttention<spec, tile>::run(args, maps, block, shared)
//   Grid: any number of blocks in x. maps: queries, keys, values.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_SM90_WARP_SPECIALISED_H
#define HK_KERNELS_ATTENTION_SM90_WARP_SPECIALISED_H

#include "kernels/attention/sm90/load.h"
#include "kernels/attention/sm90/rows.h"
#include "kernels/attention/sm90/schedule.h"
#include "kernels/attention/sm90/store.h"

namespace hk {

/// What a warpgroup of 64 queries does.
template <AttentionSpec S, AttentionTile T> class BulkAttentionConsumer {
  using Config = BulkAttentionConfig<S, T>;
  using Layout = typename Config::Layout;
  using Rows = BulkAttentionRows<S, T>;

public:
  HK_MEM BulkAttentionConsumer(const AttentionArgs<S> &a, const Layout &lds,
                               int group)
      : a(a), lds(lds), group(group),
        row(group * kWarpgroupRows + waveId() % 4 * 16 + laneId() / 4) {}

  HK_MEM void run(AttentionTiles<S, T> &order) {
    for (BulkAttentionTile w; order.take(w);) {
      typename Config::Values::Registers o;
      HK_UNROLL for (float &v : o) v = 0;
      Rows rows;
      rows.start(w, group * kWarpgroupRows, row);
      typename Config::Steps steps = Config::stepsOf(w);
      // What the assembler does not see for itself behind branches.
      steps = {sameInWarp(steps.first), sameInWarp(steps.end)};
      uses = u32(sameInWarp(int(uses)));
      tiles = u32(sameInWarp(int(tiles)));
      if (steps.count() > 0)
        walk(w, steps, rows, o);
      BulkAttentionStore<S, T>::run(a, w, row, rows, o);
    }
  }

private:
  HK_MEM void release(LdsBarrier empty) const {
    if (laneId() == 0)
      empty.arrive();
  }
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
  HK_MEM void beginValues(typename Config::Values::Registers &o,
                          const typename Rows::Words &p, u32 use) const {
    typename Config::Place at(use);
    lds.valuesFull(at.stage).waitTogether(at.phase);
    Config::Values::begin(
        o, p, transposedDescriptor(lds.values(at.stage), Config::kKeyPanel));
  }

  HK_MEM void walk(const BulkAttentionTile &w, typename Config::Steps steps,
                   Rows &rows, typename Config::Values::Registers &o) {
    typename Config::Scores::Registers s;
    typename Rows::Words p;
    lds.queriesFull().waitTogether(tiles++ & 1);
    beginScores(s, uses);
    waitProducts<0>();
    settleProduct(s);
    release(lds.keysEmpty(typename Config::Place(uses).stage));
    rows.softmax(a, s, (steps.end - 1) * Config::kKeys);
    Rows::pack(s, p);
    clearBehind(w, steps.end - 1);
    for (int n = steps.end - 2; n >= steps.first; --n, ++uses) {
      beginScores(s, uses + 1);
      beginValues(o, p, uses);
      waitProducts<1>();
      settleProduct(s);
      release(lds.keysEmpty(typename Config::Place(uses + 1).stage));
      rows.softmax(a, s, n * Config::kKeys);
      waitProducts<0>();
      settleProduct(o);
      release(lds.valuesEmpty(typename Config::Place(uses).stage));
      Rows::pack(s, p);
      HK_UNROLL for (int i = 0; i < Config::Values::kRegisters; ++i) o[i] *=
          rows.factor[i / 2 % 2];
    }
    release(lds.queriesEmpty());
    beginValues(o, p, uses);
    waitProducts<0>();
    settleProduct(o);
    release(lds.valuesEmpty(typename Config::Place(uses++).stage));
  }

  /// Values behind the sequence's last key belong to another sequence or to
  /// nobody; their probabilities are 0, but 0 * NaN is not. Where the operand
  /// itself ends, the engine has written zeros.
  HK_MEM void clearBehind(const BulkAttentionTile &w, int n) const {
    if constexpr (S.keys != SequenceLayout::Ragged && !S.kvLens)
      return;
    int first = w.keys - n * Config::kKeys;
    if (first >= Config::kKeys)
      return;
    typename Config::Place at(uses);
    lds.valuesFull(at.stage).waitTogether(at.phase);
    clearRowsBehind<Config::kValuePanels, Config::kKeys,
                    Config::kGroups * kWarpgroup>(lds.values(at.stage), first);
  }

  const AttentionArgs<S> &a;
  Layout lds;
  int group, row;
  u32 uses = 0, tiles = 0;
};

template <AttentionSpec S, AttentionTile T> struct BulkAttention {
  using Config = BulkAttentionConfig<S, T>;
  using Shared = typename Config::Shared;
  static constexpr int kThreads = Config::kThreads;

  HK_MEM static void run(const AttentionArgs<S> &a, const TensorMap *maps,
                         BlockId block, Shared &shared) {
    typename Config::Layout lds(shared);
    begin(maps, lds);
    AttentionTiles<S, T> order(a, block.x);
    int group = sameInWarp(threadId() / kWarpgroup);
    if (group == Config::kGroups) {
      giveRegisters<Config::kCopyRegisters>();
      if (threadId() % kWarpgroup == 0)
        BulkAttentionLoader<S, T>{lds, maps}.run(order);
    } else {
      takeRegisters<Config::kProductRegisters>();
      BulkAttentionConsumer<S, T>(a, lds, group).run(order);
    }
  }

private:
  HK_MEM static void begin(const TensorMap *maps,
                           const typename Config::Layout &lds) {
    if (threadId() == 0) {
      HK_UNROLL for (int i = 0; i < 3; ++i) maps[i].prefetch();
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
