//===- host.h - Logits of an indexer on the host -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The keys of a block are transposed once into panels of 32, in f32; eight
// heads of a query at a time walk over a panel, and their products go straight
// into the 32 logits.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_MQALOGITS_HOST_H
#define HK_KERNELS_MQALOGITS_HOST_H

#include "kernels/attention/host_tile.h"
#include "kernels/mqa_logits/spec.h"

namespace hk {

template <MqaLogitsSpec S, AttentionTile T> struct MqaLogitsHost {
  static constexpr int kPanel = kMqaLogitsPanel, kMicro = kMqaLogitsMicroRows;
  static constexpr int kDepth = int(mqaLogitsRoundUp(S.headDim, 16));
  static constexpr int kHeads = int(mqaLogitsRoundUp(S.heads, kMicro));
  static constexpr int kThreads = 1;
  static_assert(T.bk % kPanel == 0 && kPanel == 32 && kMicro == 8);

  struct alignas(64) Shared {
    float keys[T.bk / kPanel][kDepth][kPanel];
    float query[kHeads][kDepth];
    float products[kMicro][kPanel];
  };
  static_assert(sizeof(Shared) == mqaLogitsLds(kTarget, T, S.shape()));

  HK_DEV void run(const MqaLogitsArgs<S> &a, BlockId id, Shared &sh) {
    MqaLogitsBlock w = locate<S, T>(a, id);
    LogitRange all = seenByBlock(a, w);
    float scale[T.bk];
    bool exists[T.bk];
    for (int p = 0; p < T.bk; p += kPanel)
      packPanel(a, w, all, p, scale, exists, sh);
    __builtin_memset(sh.query, 0, sizeof sh.query);
    for (i64 i = w.first; i < w.first + w.count; ++i) {
      LogitRange r = seenKeys(a, w.sequence, i);
      bool some = r.begin < w.firstKey + T.bk && r.end > w.firstKey;
      if (some)
        loadQuery(a, w, i, sh);
      i64 left = a.keys - w.firstKey;
      Global<float> out = a.out + outOffset(a, w.sequence, i) + w.firstKey;
      for (int p = 0; p < T.bk && p < left; p += kPanel) {
        float logits[kPanel] = {};
        if (some)
          addHeads(a, w, i, p, scale, logits, sh);
        for (int e = 0; e < kPanel && p + e < left; ++e) {
          i64 j = w.firstKey + p + e;
          bool seen = exists[p + e] && j >= r.begin && j < r.end;
          out[p + e] = seen ? logits[e] : -__builtin_inff();
        }
      }
    }
  }

private:
  /// Keys [p, p + 32) of the block; zero where there is none.
  HK_DEV void packPanel(const MqaLogitsArgs<S> &a, const MqaLogitsBlock &w,
                        LogitRange all, int p, float *scale, bool *exists,
                        Shared &sh) {
    for (int half = p; half < p + kPanel; half += 16) {
      Global<const Storage<S.type>> rows[16];
      for (int e = half; e < half + 16; ++e) {
        i64 j = w.firstKey + e;
        LogitKey at = {};
        if (j >= all.begin && j < all.end)
          at = keyAt(a, w.sequence, j);
        exists[e] = at.exists;
        scale[e] = S.scales && at.exists ? a.scales[at.scale] : 1.f;
        rows[e - half] = a.k + at.key;
      }
      for (int c = 0; c < kDepth; c += 16) {
        f32x16 m[16];
        HK_UNROLL for (int e = 0; e < 16; ++e) m[e] =
            exists[half + e] ? load16<S.type, S.headDim>(rows[e], c)
                             : f32x16(0.f);
        transposeStage<1>(m);
        transposeStage<2>(m);
        transposeStage<4>(m);
        transposeStage<8>(m);
        HK_UNROLL for (int e = 0; e < 16; ++e) *
            (f32x16 *)&sh.keys[p / kPanel][c + e][half - p] = m[e];
      }
    }
  }

  HK_DEV void loadQuery(const MqaLogitsArgs<S> &a, const MqaLogitsBlock &w,
                        i64 i, Shared &sh) {
    for (int h = 0; h < S.heads; ++h) {
      auto row = a.q + (queryOffset(a, w.sequence, i) + h * a.qHead);
      for (int c = 0; c < kDepth; c += 16)
        *(f32x16 *)&sh.query[h][c] = load16<S.type, S.headDim>(row, c);
    }
  }

  HK_DEV void addHeads(const MqaLogitsArgs<S> &a, const MqaLogitsBlock &w,
                       i64 i, int p, const float *scale, float *logits,
                       Shared &sh) {
    auto weights = a.weights + weightOffset(a, w.sequence, i);
    for (int h = 0; h < S.heads; h += kMicro) {
      hostMicro<false>(sh.query[h], kDepth, sh.keys[p / kPanel], kDepth,
                       sh.products[0], kPanel);
      for (int r = 0; r < kMicro && h + r < S.heads; ++r)
        for (int e = 0; e < kPanel; ++e) {
          float x = sh.products[r][e] * scale[p + e];
          logits[e] += maximum<float>(x, 0.f) * weights[h + r];
        }
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_MQALOGITS_HOST_H
