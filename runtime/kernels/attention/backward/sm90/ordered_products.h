//===- ordered_products.h - Five products of a warpgroup -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warpgroup has 64 of the keys that a block owns:
//
//   s = K Q^T, dp = V dO^T, dV += p dO, dK += ds Q
//
// and, of all keys of the block, half of the columns of a part of dq = ds^T K:
// ds goes through LDS once, where both warpgroups read it. A step begins where
// nothing is in flight, with p and dp: the values' product runs under ds and
// its way to LDS, the heads' under that of the part of dq to the thread that
// adds it, the scores of the next step behind the heads', and p of the next
// step is made under its dp. Blocks of other heads of the group, which own the
// same keys, add up dK and dV, one after the other.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_BACKWARD_SM90_ORDERED_PRODUCTS_H
#define HK_KERNELS_ATTENTION_BACKWARD_SM90_ORDERED_PRODUCTS_H

#include "kernels/attention/backward/sm90/ordered_sums.h"
#include "kernels/attention/backward/sm90/products.h"
#include "kernels/device/tile/wgmma_panels.h"

namespace hk {

template <AttentionBackwardSpec S, AttentionBackwardTile T, u32 KEYHEADS>
class OrderedBackwardProducts : BulkBackwardProducts<S, T, Own::Keys> {
  using Base = BulkBackwardProducts<S, T, Own::Keys>;
  using Walk = OrderedBackwardWalk<S, T>;
  using Layout = typename Walk::Layout;
  using Place = typename Walk::Place;
  using typename Base::Dp;
  using typename Base::Heads;
  using typename Base::Registers;
  using typename Base::Scores;
  using typename Base::Values;
  using typename Base::Words;
  using Sums = ColumnChain<S.type, S.headDim / Walk::kGroups, T.rows>;
  static constexpr u32 kParts = OrderedBackwardGrid<S, T, KEYHEADS>::kParts;
  static_assert(S.headDim == 128 && S.dk && S.dv);

public:
  HK_MEM OrderedBackwardProducts(const Layout &lds, int group, bool down)
      : Base(lds, 0, group), lds(lds), down(down) {}

  /// `part`: of the heads of the group.
  HK_MEM void run(const AttentionBackwardArgs<S> &a, u32 part) {
    typename Heads::Registers heads;
    typename Values::Registers values;
    HK_UNROLL for (float &v : heads) v = 0;
    HK_UNROLL for (float &v : values) v = 0;
    BackwardBlock w = lds.getBlock();
    this->start(a, w);
    // dq sums over all rows of the tile: those behind the last key are masked
    // in every step.
    if (w.count < T.rows)
      this->fullEnd = 0;
    typename Walk::Steps steps = Walk::stepsOf(w);
    steps = {sameInWarp(steps.first), sameInWarp(steps.end)};
    if (steps.count() > 0)
      walk(a, steps, heads, values);
    w = lds.getBlock();
    if constexpr (kParts > 1)
      if (!sumOfGroup(OrderedKeys<S, T>(a, w, KEYHEADS), part, heads, values))
        return;
    BackwardResults<S, Own::Keys> results = resultsOf<S, Own::Keys>(a, w);
    this->template store<S.headDim>(w, results.head, heads, a.scale);
    this->template store<S.valueDim>(w, results.value, values, 1.f);
  }

private:
  /// Adds what other heads of the group give the same keys, in their order.
  /// False: heads behind these go on.
  HK_MEM static bool sumOfGroup(const OrderedKeys<S, T> &keys, u32 part,
                                typename Heads::Registers &heads,
                                typename Values::Registers &values) {
    constexpr int threads = OrderedKeys<S, T>::kThreads;
    if (part > 0) {
      if (threadId() == 0)
        awaitWord(keys.turn, part);
      barrierOfSome<2, threads>();
      keys.add(0, heads);
      keys.add(Heads::kRegisters, values);
    }
    if (part + 1 == kParts)
      return true;
    keys.leave(0, heads);
    keys.leave(Heads::kRegisters, values);
    barrierOfSome<2, threads>();
    if (threadId() == 0)
      releaseWord(keys.turn, part + 1);
    return false;
  }

  HK_MEM void walk(const AttentionBackwardArgs<S> &a,
                   typename Walk::Steps steps, typename Heads::Registers &heads,
                   typename Values::Registers &values) {
    lds.ownedFull().waitTogether(0);
    Registers s, dp;
    Words p;
    typename Sums::Registers dq;
    auto step = steps.begin(down);
    Place at(0);
    beginScores(s, at);
    beginDp(dp, at);
    probabilities(a, s, at, step.tile, p);
    waitProducts<0>();
    settleProduct(dp);
    u32 use = 0;
    while (int(use) + 1 < steps.count()) {
      beginGradients(a, s, dp, p, at, use, heads, values, dq);
      waitProducts<1>();
      settleProduct(values);
      settleProduct(dq);
      give(dq, use);
      u32 last = at.stage;
      step = steps.next(step);
      at = Place(++use);
      beginScores(s, at);
      waitProducts<1>();
      settleProduct(heads);
      if (laneId() == 0)
        lds.empty(last).arrive();
      beginDp(dp, at);
      probabilities(a, s, at, step.tile, p);
      waitProducts<0>();
      settleProduct(dp);
    }
    // Not under a condition in the loop: what is in flight there would have to
    // be waited for.
    beginGradients(a, s, dp, p, at, use, heads, values, dq);
    waitProducts<0>();
    settleProduct(values);
    settleProduct(heads);
    settleProduct(dq);
    give(dq, use);
  }

  HK_MEM void beginScores(Registers &s, Place at) const {
    lds.full(at.stage).waitTogether(at.phase);
    Scores::begin(s, operandDescriptor(lds.ownedHead() + this->groupBytes()),
                  operandDescriptor(lds.head(at.stage)));
  }
  HK_MEM void beginDp(Registers &dp, Place at) const {
    Dp::begin(dp, operandDescriptor(lds.ownedValue() + this->groupBytes()),
              operandDescriptor(lds.value(at.stage)));
  }
  /// Scores to p and its words; dp is in flight.
  HK_MEM void probabilities(const AttentionBackwardArgs<S> &a, Registers &s,
                            Place at, int n, Words &p) const {
    waitProducts<1>();
    settleProduct(s);
    this->weigh(a, s, at.stage);
    if (n * Walk::kRows < this->fullBegin ||
        (n + 1) * Walk::kRows > this->fullEnd)
      this->mask(s, n * Walk::kRows);
    this->packProbabilities(a, s, at.stage, p);
  }
  /// The products of the values, of the part of dq and of the heads.
  HK_MEM void beginGradients(const AttentionBackwardArgs<S> &a, Registers &s,
                             const Registers &dp, const Words &p, Place at,
                             u32 use, typename Heads::Registers &heads,
                             typename Values::Registers &values,
                             typename Sums::Registers &dq) const {
    Words ds;
    Values::begin(values, p,
                  transposedDescriptor(lds.value(at.stage), Walk::kPanel));
    this->differentiate(a, s, dp, at.stage);
    this->pack(s, ds);
    // Both warpgroups have read what lay there before they came to the barrier
    // of the step between.
    u32 slopes = lds.slopes(use % Walk::kSlopeStages);
    static_assert(Walk::kSlopeStages == 2);
    storeSlopes(slopes, ds);
    publishToCopies();
    barrierOfSome<2, Walk::kGroups * kWarpgroup>();
    Sums::begin(dq, transposedDescriptor(slopes, 0),
                transposedDescriptor(
                    lds.ownedHead() + this->group * Walk::kOwnedPanel, 0));
    Heads::begin(heads, ds,
                 transposedDescriptor(lds.head(at.stage), Walk::kPanel));
  }

  /// ds of the warpgroup's keys, a row of queries each.
  HK_MEM void storeSlopes(u32 to, const Words &ds) const {
    int lane = laneId();
    int row =
        this->group * kWarpgroupRows + waveId() % kGroupWarps * 16 + lane % 16;
    u32 first = to + row * kBulkRowBytes + u32(lane / 16 ^ row % 8) * 16;
    HK_UNROLL for (int i = 0; i < 4; ++i) {
      // Rows and 8 below of columns 16 i, then of 16 i + 8.
      u32 v[4] = {ds[4 * i], ds[4 * i + 1], ds[4 * i + 2], ds[4 * i + 3]};
      storeMatrices(first ^ i * 32, v);
    }
  }

  /// The warpgroup's columns of a part of dq, to the thread that adds it.
  HK_MEM void give(const typename Sums::Registers &dq, u32 use) const {
    RingPlace<Walk::kSumStages> at(use);
    lds.sumsEmpty(at.stage).waitTogether(at.phase ^ 1);
    u32 to = lds.sums(at.stage) +
             this->group * (Walk::kSumBytes / Walk::kGroups) +
             threadId() % kWarpgroup * 16;
    HK_UNROLL for (int i = 0; i < Sums::kRegisters; i += 4)
        storeLds16(to + i / 4 * kWarpgroup * 16,
                   f32x4{dq[i], dq[i + 1], dq[i + 2], dq[i + 3]});
    publishToCopies();
    waveBarrier();
    if (laneId() == 0)
      lds.sumsFull(at.stage).arrive();
  }

  Layout lds;
  bool down;
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_BACKWARD_SM90_ORDERED_PRODUCTS_H
