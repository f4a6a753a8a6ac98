//===- products.h - The products of a warpgroup of gradients -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warpgroup has 64 of the rows that a block owns:
//
//   owned keys:    s = K Q^T, dp = V dO^T, dV += p dO, dK += ds Q
//   owned queries: s = Q K^T, dp = dO V^T,             dQ += ds K
//
// A step asks for both scores, makes p under the second product, and ds under
// the product that p is the left operand of; the other warpgroup's products
// run under what is left. Products are in flight within a step only, as a
// branch would copy their registers (wgmma.h).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_BACKWARD_SM90_PRODUCTS_H
#define HK_KERNELS_ATTENTION_BACKWARD_SM90_PRODUCTS_H

#include "kernels/attention/backward/sm90/config.h"
#include "kernels/attention/sm90/store.h"

namespace hk {

template <AttentionBackwardSpec S, AttentionBackwardTile T, Own O>
class BulkBackwardProducts {
protected:
  using Walk = BulkBackwardWalk<S, T, O>;
  using Layout = typename Walk::Layout;
  static constexpr bool kKeys = O == Own::Keys;
  using Scores = ScoreChain<S.type, Walk::kRows, Walk::kHeadDepth, T.rows>;
  using Dp = ScoreChain<S.type, Walk::kRows, Walk::kValueDepth, T.rows>;
  using Heads = ValueChain<S.type, Walk::kHeadColumns, Walk::kRows>;
  using Values = ValueChain<S.type, Walk::kValueColumns, Walk::kRows>;
  using Registers = typename Scores::Registers;
  using Words = u32[Heads::kWords];

public:
  HK_MEM BulkBackwardProducts(const Layout &lds, int head, int group)
      : lds(lds), head(head), group(group),
        row(group * kWarpgroupRows + waveId() % 4 * 16 + laneId() / 4) {}

  HK_MEM void run(const AttentionBackwardArgs<S> &a) {
    typename Heads::Registers heads;
    typename Values::Registers values;
    HK_UNROLL for (float &v : heads) v = 0;
    if constexpr (kKeys)
      HK_UNROLL for (float &v : values) v = 0;
    BackwardBlock w = lds.getBlock();
    start(a, w);
    typename Walk::Steps steps = Walk::stepsOf(w);
    steps = {sameInWarp(steps.first), sameInWarp(steps.end)};
    if (steps.count() > 0)
      walk(a, steps, kKeys ? w.queries : w.keys, heads, values);
    w = lds.getBlock();
    BackwardResults<S, O> results = resultsOf<S, O>(a, w);
    if constexpr (!kKeys || S.dk)
      store<S.headDim>(w, results.head, heads, a.scale);
    if constexpr (kKeys && S.dv)
      store<S.valueDim>(w, results.value, values, 1.f);
  }

protected:
  /// Which rows walked over all of the warpgroup's count with, and the numbers
  /// of the thread's two queries.
  HK_MEM void start(const AttentionBackwardArgs<S> &a, const BackwardBlock &w) {
    i64 first = i64(w.first) + group * kWarpgroupRows;
    fullBegin = int(Walk::rangeOf(w, first + kWarpgroupRows - 1).begin);
    fullEnd = int(Walk::rangeOf(w, first).end);
    if constexpr (!kKeys) {
      BackwardNumbers<S> numbers = numbersOf<S>(a, w);
      HK_UNROLL for (int r = 0; r < 2; ++r) {
        i64 at = ownedRow(w, minOf(row + 8 * r, w.count - 1));
        base[r] = backwardBase(*numbers.lse.at(at));
        delta[r] = *numbers.delta.at(at);
      }
    }
  }
  /// The number that views have for it of owned row i.
  HK_MEM i64 ownedRow(const BackwardBlock &w, i64 i) const {
    return kKeys ? w.first + i : (w.first + i) * S.group + head;
  }

  /// `walked`: how many rows there are.
  HK_MEM void walk(const AttentionBackwardArgs<S> &a,
                   typename Walk::Steps steps, int walked,
                   typename Heads::Registers &heads,
                   typename Values::Registers &values) {
    u64 ownedHead = operandDescriptor(lds.ownedHead() + groupBytes());
    u64 ownedValue = operandDescriptor(lds.ownedValue() + groupBytes());
    lds.ownedFull().waitTogether(0);
    int n = steps.first;
    for (u32 use = 0; int(use) < steps.count(); ++use) {
      typename Walk::Place at(use);
      Registers s, dp;
      Words p, ds;
      lds.full(at.stage).waitTogether(at.phase);
      clearBehind(at.stage, walked - n * Walk::kRows);
      Scores::begin(s, ownedHead, operandDescriptor(lds.head(at.stage)));
      Dp::begin(dp, ownedValue, operandDescriptor(lds.value(at.stage)));
      waitProducts<1>();
      settleProduct(s);
      weigh(a, s, at.stage);
      if (n * Walk::kRows < fullBegin || (n + 1) * Walk::kRows > fullEnd)
        mask(s, n * Walk::kRows);
      if constexpr (kKeys)
        packProbabilities(a, s, at.stage, p);
      waitProducts<0>();
      settleProduct(dp);
      if constexpr (kKeys && S.dv)
        Values::begin(values, p,
                      transposedDescriptor(lds.value(at.stage), Walk::kPanel));
      differentiate(a, s, dp, at.stage);
      pack(s, ds);
      if constexpr (!kKeys || S.dk)
        Heads::begin(heads, ds,
                     transposedDescriptor(lds.head(at.stage), Walk::kPanel));
      waitProducts<0>();
      settleProduct(heads);
      if constexpr (kKeys)
        settleProduct(values);
      if (laneId() == 0)
        lds.empty(at.stage).arrive();
      if (++n == steps.end)
        n = steps.first;
    }
  }
  HK_MEM u32 groupBytes() const {
    return u32(group) * kWarpgroupRows * kBulkRowBytes;
  }

  /// Of each accumulator in four from i on what is subtracted: `own` of owned
  /// queries, of those walked over what the array in LDS has.
  HK_MEM static f32x4 subtracted(const float (&own)[2], u32 walked, int i) {
    if constexpr (!kKeys)
      return {own[0], own[0], own[1], own[1]};
    f32x2 v = loadLds8(walked + (i / 4 * 8 + laneId() % 4 * 2) * 4);
    return {v[0], v[1], v[0], v[1]};
  }

  /// Products to p, or, under a soft cap, to the capped score in units of the
  /// cap, of which p and the cap's slope are made when they are needed.
  HK_MEM void weigh(const AttentionBackwardArgs<S> &a, Registers &s,
                    u32 stage) const {
    float scale = a.scale * kBackwardLog2E;
    HK_UNROLL for (int i = 0; i < Scores::kRegisters; i += 4) {
      if constexpr (S.softcap) {
        HK_UNROLL for (int e = 0; e < 4; e += 2) {
          f32x2 t =
              tanh<2>(f32x2{s[i + e], s[i + e + 1]} * (a.scale / a.softcap));
          s[i + e] = t[0];
          s[i + e + 1] = t[1];
        }
      } else {
        f32x4 x = subtracted(base, lds.bases(stage), i);
        HK_UNROLL for (int e = 0; e < 4; ++e) s[i + e] =
            exp2Of(__builtin_fmaf(s[i + e], scale, -x[e]));
      }
    }
  }
  HK_MEM static float exp2Of(float x) {
    return backwardExp2<1>(Vec<float, 1>(x))[0];
  }
  /// p of four accumulators from i on.
  HK_MEM f32x4 probabilities(const AttentionBackwardArgs<S> &a,
                             const Registers &s, u32 stage, int i) const {
    f32x4 p = {s[i], s[i + 1], s[i + 2], s[i + 3]};
    if constexpr (S.softcap) {
      f32x4 x = subtracted(base, lds.bases(stage), i);
      HK_UNROLL for (int e = 0; e < 4; ++e) p[e] =
          exp2Of(__builtin_fmaf(p[e], a.softcap * kBackwardLog2E, -x[e]));
    }
    return p;
  }
  /// p and dp to ds.
  HK_MEM void differentiate(const AttentionBackwardArgs<S> &a, Registers &s,
                            const Registers &dp, u32 stage) const {
    HK_UNROLL for (int i = 0; i < Scores::kRegisters; i += 4) {
      f32x4 x = subtracted(delta, lds.deltas(stage), i);
      f32x4 p = probabilities(a, s, stage, i);
      HK_UNROLL for (int e = 0; e < 4; ++e) {
        float ds = p[e] * (dp[i + e] - x[e]);
        if constexpr (S.softcap)
          ds *= __builtin_fmaf(-s[i + e], s[i + e], 1.f);
        s[i + e] = ds;
      }
    }
  }
  /// Of a pair that does not count. Under a soft cap a score so low that p is 0
  /// and its slope is finite.
  static constexpr float kHidden = S.softcap ? -0x1p60f : 0.f;
  /// p is selected, whatever e^(s - lse) is of a pair that does not count.
  HK_MEM void mask(Registers &s, int first) const {
    BackwardBlock w = lds.getBlock();
    first += laneId() % 4 * 2;
    int begin[2], end[2];
    HK_UNROLL for (int r = 0; r < 2; ++r) {
      Walk::rangeOf(w, row + 8 * r, begin[r], end[r]);
      begin[r] -= first;
      end[r] -= first;
    }
    HK_UNROLL for (int i = 0; i < Scores::kRegisters; ++i) {
      int walked = i / 4 * 8 + i % 2, r = i / 2 % 2;
      s[i] = walked >= begin[r] && walked < end[r] ? s[i] : kHidden;
    }
  }
  /// As the left operand of a product.
  HK_MEM static void pack(const Registers &s, Words &words) {
    HK_UNROLL for (int i = 0; i < Heads::kWords; ++i) words[i] =
        packed(s[2 * i], s[2 * i + 1]);
  }
  HK_MEM static u32 packed(float first, float second) {
    return bitCast<u32>(hk::pack<S.type, 2>(f32x2{first, second}));
  }
  HK_MEM void packProbabilities(const AttentionBackwardArgs<S> &a,
                                const Registers &s, u32 stage,
                                Words &words) const {
    HK_UNROLL for (int i = 0; i < Scores::kRegisters; i += 4) {
      f32x4 p = probabilities(a, s, stage, i);
      words[i / 2] = packed(p[0], p[1]);
      words[i / 2 + 1] = packed(p[2], p[3]);
    }
  }

  /// What a box brings from behind the sequence belongs to another or to
  /// nobody: p and ds are 0 there, but 0 * NaN is not.
  /// `left`: rows until there.
  HK_MEM void clearBehind(u32 stage, int left) const {
    if constexpr (S.sequence == SequenceLayout::Ragged) {
      if (left < Walk::kRows)
        clearRowsBehind<Walk::kPanels, Walk::kRows, Walk::kGroups * kWarpgroup>(
            lds.head(stage), left);
    }
  }

  template <int Size, class View, int N>
  HK_MEM void store(const BackwardBlock &w, const View &results,
                    const float (&sum)[N], float factor) const {
    HK_UNROLL for (int r = 0; r < 2; ++r) {
      i64 i = row + 8 * r;
      storeAccumulatorRow<S.outType, Size>(
          results.at(ownedRow(w, minOf(i, w.count - 1))), i < w.count, sum, r,
          factor);
    }
  }

  Layout lds;
  int head, group, row;
  int fullBegin, fullEnd;
  /// Of owned queries.
  float base[2], delta[2];
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_BACKWARD_SM90_PRODUCTS_H
