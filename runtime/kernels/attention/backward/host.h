//===- host.h - Gradients of attention on the host -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is walked over is repacked, f32, twice: transposed into panels of 32
// rows for the products that make p and ds, and into panels of 32 columns for
// those that make gradients, so that all run in the 8 x 32 micro kernel. Groups
// of 8 owned rows touch only the panels that one of them walks. p and ds stay
// f32.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_BACKWARD_HOST_H
#define HK_KERNELS_ATTENTION_BACKWARD_HOST_H

#include "kernels/attention/backward/pairs.h"
#include "kernels/attention/host_tile.h"

namespace hk {

template <AttentionBackwardSpec S, AttentionBackwardTile T>
struct BackwardHostLayout {
  static constexpr int kHead = int(attentionBackwardColumns(S.headDim));
  static constexpr int kValue = int(attentionBackwardColumns(S.valueDim));
  static constexpr int kThreads = 1;
  static_assert(T.rows % 8 == 0 && T.walked % 32 == 0);

  struct alignas(64) Shared {
    // Owned: the query or key, the gradient or value, and their gradients.
    float head[T.rows][kHead], value[T.rows][kValue];
    float headSum[T.rows][kHead], valueSum[T.rows][kValue];
    // Walked: transposed, and in columns.
    float headT[T.walked / 32][kHead][32], valueT[T.walked / 32][kValue][32];
    float headC[kHead / 32][T.walked][32], valueC[kValue / 32][T.walked][32];
    // s, then p; dp, then ds.
    float p[T.rows][T.walked], ds[T.rows][T.walked];
    // Of the rows, whichever they are.
    float base[T.rows + T.walked], delta[T.rows + T.walked];
  };
  static_assert(sizeof(Shared) == attentionBackwardLdsBytes(Arch::Host, T,
                                                            S.type, S.headDim,
                                                            S.valueDim));
};

template <AttentionBackwardSpec S, AttentionBackwardTile T, Own O,
          class Regions = NoRegions>
struct AttentionBackwardHost : BackwardHostLayout<S, T> {
  using Layout = BackwardHostLayout<S, T>;
  using Args = AttentionBackwardArgs<S>;
  using Shared = typename Layout::Shared;
  using Element = Storage<S.type>;
  using Pairs = BackwardPairs<S, O, Regions>;
  static constexpr bool kKeys = O == Own::Keys;
  static constexpr Own kWalked = otherOwn(O);
  static constexpr int kHead = Layout::kHead, kValue = Layout::kValue;

  template <class Source>
  HK_DEV void run(Source args, i64 tile, i64 head, Shared &sh) {
    Args a = args();
    BackwardBlock w;
    if (!locateBackward<S, O>(a, tile, head, T.rows, w))
      return;
    BackwardRange walk[T.rows];
    int padded = (int(w.count) + 7) / 8 * 8;
    loadOwned(a, w, padded, sh, walk);
    BackwardRange all = walkOf<S, O>(w);
    for (i64 j = all.begin; j < all.end; j += T.walked) {
      int n = int(minOf(T.walked, all.end - j));
      loadWalked(a, w, j, n, sh);
      for (int g = 0; g < padded; g += 8)
        group(a, w, sh, g, walk, j, n);
    }
    for (int r = 0; r < int(w.count); ++r)
      storeOwned(a, w, r, sh);
  }

  /// A tile of dbias.
  template <class Source>
  HK_DEV void runBias(Source args, i64 tile, i64 head, Shared &sh) {
    static_assert(!kKeys);
    Args a = args();
    BackwardBias bias = locateBias<S>(a, tile, T);
    alignas(64) float sum[T.rows][T.walked] = {};
    for (i64 b = bias.first; b < bias.end; ++b) {
      BackwardBlock w;
      if (!findBiasRows<S>(a, bias, b, head, T.rows, w))
        continue;
      int n = int(minOf(T.walked, w.keys - bias.keys));
      int padded = (int(w.count) + 7) / 8 * 8;
      BackwardRange walk[T.rows];
      loadOwned(a, w, padded, sh, walk);
      loadWalked(a, w, bias.keys, n, sh);
      for (int g = 0; g < padded; g += 8) {
        BackwardRange panels = seenPanels(g, walk, bias.keys, n);
        scorePairs<true>(a, w, sh, g, walk, bias.keys, panels);
        for (int r = g; r < g + 8; ++r)
          for (int e = int(panels.begin); e < int(panels.end); ++e)
            sum[r][e] += sh.ds[r][e];
      }
    }
    BackwardBlock w = blockOfBias<S>(a, bias, head, T.rows);
    int n = int(minOf(T.walked, w.keys - bias.keys));
    auto rows = biasOf<S>(a, w);
    for (int r = 0; r < int(w.count); ++r)
      for (int e = 0; e < n; ++e)
        store<S.biasType, 1>(rows.at(w.first + r), bias.keys + e,
                             Vec<float, 1>(sum[r][e]));
  }

private:
  /// A row of Size elements as f32, zero behind them.
  template <int Size, int Columns>
  HK_DEV void unpackRow(Global<const Element> from, float *to) {
    for (int c = 0; c < Columns; c += 16)
      *(f32x16 *)(to + c) = load16<S.type, Size>(from, c);
  }

  HK_DEV void loadOwned(const Args &a, const BackwardBlock &w, int padded,
                        Shared &sh, BackwardRange *walk) {
    BackwardSide<S, O> own = sideOf<S, O>(a, w);
    BackwardNumbers<S> numbers = numbersOf<S>(a, w);
    for (int r = 0; r < padded; ++r) {
      // Behind the last one: that again, with nothing to walk.
      i64 i = w.first + minOf(r, w.count - 1);
      unpackRow<S.headDim, kHead>(own.head.at(i), sh.head[r]);
      unpackRow<S.valueDim, kValue>(own.value.at(i), sh.value[r]);
      clearRow<kHead>(sh.headSum[r]);
      clearRow<kValue>(sh.valueSum[r]);
      walk[r] = r < w.count ? walkOf<S, O>(w, i) : BackwardRange{0, 0};
      if constexpr (!kKeys)
        loadNumbers(numbers, i, r, sh);
    }
  }
  HK_DEV void loadNumbers(const BackwardNumbers<S> &numbers, i64 row, int r,
                          Shared &sh) {
    sh.base[r] = Pairs::base(numbers, row);
    sh.delta[r] = Pairs::delta(numbers, row);
  }

  /// Rows [j, j + n) and, up to a whole panel, the last one again.
  HK_DEV void loadWalked(const Args &a, const BackwardBlock &w, i64 j, int n,
                         Shared &sh) {
    BackwardSide<S, kWalked> walked = sideOf<S, kWalked>(a, w);
    BackwardNumbers<S> numbers = numbersOf<S>(a, w);
    for (int e0 = 0; e0 < (n + 31) / 32 * 32; e0 += 16) {
      Global<const Element> heads[16], values[16];
      for (int e = 0; e < 16; ++e) {
        i64 i = j + minOf(e0 + e, n - 1);
        heads[e] = walked.head.at(i);
        values[e] = walked.value.at(i);
        if constexpr (kKeys)
          loadNumbers(numbers, i, e0 + e, sh);
      }
      pack<S.headDim, kHead>(heads, sh.headT[e0 / 32], e0 % 32, sh.headC, e0);
      pack<S.valueDim, kValue>(values, sh.valueT[e0 / 32], e0 % 32, sh.valueC,
                               e0);
    }
  }
  /// 16 rows into lanes [lane, lane + 16) of a panel, and into columns from
  /// place e0 on.
  template <int Size, int Columns>
  HK_DEV void pack(const Global<const Element> *rows, float (*panel)[32],
                   int lane, float (*columns)[T.walked][32], int e0) {
    for (int c = 0; c < Columns; c += 16) {
      f32x16 m[16];
      HK_UNROLL for (int e = 0; e < 16; ++e) {
        m[e] = load16<S.type, Size>(rows[e], c);
        *(f32x16 *)&columns[c / 32][e0 + e][c % 32] = m[e];
      }
      transposeStage<1>(m);
      transposeStage<2>(m);
      transposeStage<4>(m);
      transposeStage<8>(m);
      HK_UNROLL for (int e = 0; e < 16; ++e) * (f32x16 *)&panel[c + e][lane] =
          m[e];
    }
  }

  /// What owned rows [g, g + 8) walk of [j, j + n), in whole panels of the
  /// tile.
  HK_DEV BackwardRange seenPanels(int g, const BackwardRange *walk, i64 j,
                                  int n) {
    BackwardRange seen = {n, 0};
    for (int r = g; r < g + 8; ++r) {
      if (walk[r].begin >= walk[r].end)
        continue;
      seen.begin = minOf(seen.begin, maxOf(walk[r].begin - j, 0));
      seen.end = maxOf(seen.end, minOf(walk[r].end - j, n));
    }
    if (seen.begin >= seen.end)
      return {0, 0};
    return {seen.begin / 32 * 32, (seen.end + 31) / 32 * 32};
  }
  /// p w and ds, or what dbias takes of it, of those pairs.
  template <bool ForBias = false>
  HK_DEV void scorePairs(const Args &a, const BackwardBlock &w, Shared &sh,
                         int g, const BackwardRange *walk, i64 j,
                         BackwardRange panels) {
    int from = int(panels.begin), to = int(panels.end);
    for (int e = from; e < to; e += 32) {
      hostMicro<false>(sh.head[g], kHead, sh.headT[e / 32], S.headDim,
                       &sh.p[g][e], T.walked);
      hostMicro<false>(sh.value[g], kValue, sh.valueT[e / 32], S.valueDim,
                       &sh.ds[g][e], T.walked);
    }
    for (int r = g; r < g + 8; ++r)
      weigh<ForBias>(a, w, sh, r, j, panels, walk[r].begin - j,
                     walk[r].end - j);
  }
  /// Owned rows [g, g + 8) and walked ones [j, j + n) of the tile.
  HK_DEV void group(const Args &a, const BackwardBlock &w, Shared &sh, int g,
                    const BackwardRange *walk, i64 j, int n) {
    BackwardRange panels = seenPanels(g, walk, j, n);
    int from = int(panels.begin), to = int(panels.end);
    if (from >= to)
      return;
    scorePairs(a, w, sh, g, walk, j, panels);
    for (int c = 0; c < kHead; c += 32)
      hostMicro<true>(&sh.ds[g][from], T.walked, &sh.headC[c / 32][from],
                      to - from, &sh.headSum[g][c], kHead);
    if constexpr (kKeys)
      for (int c = 0; c < kValue; c += 32)
        hostMicro<true>(&sh.p[g][from], T.walked, &sh.valueC[c / 32][from],
                        to - from, &sh.valueSum[g][c], kValue);
  }

  /// Scores of row r to p w, dp to ds; 0 outside [begin, end).
  template <bool ForBias>
  HK_DEV void weigh(const Args &a, const BackwardBlock &w, Shared &sh, int r,
                    i64 j, BackwardRange panels, i64 begin, i64 end) {
    using I = Vec<i32, 16>;
    I lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    i32 lo = i32(minOf(maxOf(begin, 0), T.walked));
    i32 hi = i32(minOf(maxOf(end, 0), T.walked));
    Pairs pairs(a, w);
    for (int e = int(panels.begin); e < int(panels.end); e += 16) {
      f32x16 base = f32x16(sh.base[r]), delta = f32x16(sh.delta[r]);
      if constexpr (kKeys) {
        __builtin_memcpy(&base, &sh.base[e], sizeof base);
        __builtin_memcpy(&delta, &sh.delta[e], sizeof delta);
      }
      f32x16 &x = *(f32x16 *)&sh.p[r][e], &y = *(f32x16 *)&sh.ds[r][e];
      f32x16 slope;
      x = backwardScore<S, 16, Regions>(a, x, slope);
      f32x16 own;
      if constexpr (Pairs::kFactors) {
        pairs.template weigh<16>(x, own, w.first + r, i32(j) + e);
      } else {
        x = pairs.template scores<16>(x, w.first + r, i32(j) + e);
        x = Pairs::template weigh<16>(x, base);
      }
      I at = lane + e;
      x = at >= lo ? x : f32x16(0.f);
      x = at < hi ? x : f32x16(0.f);
      f32x16 &factor = Pairs::kFactors ? own : x;
      if constexpr (Pairs::kFactors) {
        own = at >= lo ? own : f32x16(0.f);
        own = at < hi ? own : f32x16(0.f);
      }
      f32x16 weight = pairs.template weights<16>(Pairs::counts(x, factor),
                                                 w.first + r, i32(j) + e);
      if constexpr (Pairs::kNumbers)
        y = factor * (y * weight - delta) * (ForBias ? f32x16(1.f) : slope);
      else
        y = factor * (y * weight) * slope;
      // dp of a pair that a region hides may be anything.
      if constexpr (Regions::kScore)
        y = factor == f32x16(0.f) ? f32x16(0.f) : y;
      x *= weight;
      y = at >= lo ? y : f32x16(0.f);
      y = at < hi ? y : f32x16(0.f);
    }
  }

  HK_DEV void storeOwned(const Args &a, const BackwardBlock &w, int r,
                         Shared &sh) {
    i64 i = w.first + r;
    BackwardResults<S, O> results = resultsOf<S, O>(a, w);
    if constexpr (!kKeys || S.dk)
      storeRow<S.headDim>(results.head.at(i), sh.headSum[r], a.scale);
    if constexpr (kKeys && S.dv)
      storeRow<S.valueDim>(results.value.at(i), sh.valueSum[r], 1.f);
  }
  template <int Size>
  HK_DEV void storeRow(Global<Storage<S.outType>> out, const float *sum,
                       float factor) {
    constexpr int align = int(sizeof(Storage<S.outType>));
    for (int c = 0; c < Size; c += 16)
      storeMasked<S.outType, 16, align>(out, c, Size - c,
                                        *(const f32x16 *)(sum + c) * factor);
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_BACKWARD_HOST_H
