//===- matrix.h - Logits of an indexer on matrix fragments -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keys are the rows of the product and heads its columns: a lane then has many
// heads of a key, so that the weighted sum over heads stays in registers but
// for one exchange between the few lanes that share a row. Rows are copied a
// chunk at a time, each at an address of its own, with whatever alignment there
// is; a type that the chip does not multiply is widened on the way.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_MQALOGITS_MATRIX_H
#define HK_KERNELS_MQALOGITS_MATRIX_H

#include "kernels/device/mma.h"
#include "kernels/mqa_logits/spec.h"

namespace hk {

template <MqaLogitsSpec S, AttentionTile T> struct MqaLogitsMatrix {
  static constexpr DType kType = mqaLogitsOperandType(kTarget, S.type);
  static constexpr int kRowBytes = int(mqaLogitsRowBytes(kTarget, S.shape()));
  static constexpr int kColumns = int(mqaLogitsColumns(S.shape()));
  /// Elements of k in a row of LDS, and rows that a query or key is cut into.
  static constexpr int kDepth = kRowBytes * 8 / info(kType).bits;
  static constexpr int kPieces = (S.headDim + kDepth - 1) / kDepth;
  using Mma = BlockMma<kType, T.bk, kColumns, kDepth, T.waves, 1>;
  static constexpr int kThreads = Mma::kThreads;

  struct alignas(128) Shared {
    u8 keys[T.bk * kRowBytes];
    u8 queries[kColumns * kRowBytes];
    float weights[kColumns];
  };
  static_assert(sizeof(Shared) == mqaLogitsLds(kTarget, T, S.shape()));

  HK_DEV void run(const MqaLogitsArgs<S> &a, BlockId id, Shared &sh) {
    MqaLogitsBlock w = locate<S, T>(a, id);
    // No other keys are read.
    LogitRange all = seenByBlock(a, w);
    float scale[Mma::kRows];
    bool exists[Mma::kRows];
    HK_UNROLL for (int s = 0; s < Mma::kRows; ++s) {
      i64 j = w.firstKey + Mma::rowOf(s);
      exists[s] = j >= all.begin && j < all.end;
      scale[s] = 1.f;
      if (!exists[s])
        continue;
      LogitKey at = keyAt(a, w.sequence, j);
      exists[s] = at.exists;
      if (S.scales && at.exists)
        scale[s] = a.scales[at.scale];
    }
    bool keysLanded = false;
    for (i64 i = w.first; i < w.first + w.count; ++i) {
      LogitRange r = seenKeys(a, w.sequence, i);
      float logit[Mma::kRows] = {};
      if (r.begin < w.firstKey + T.bk && r.end > w.firstKey) {
        addHeads(a, w, i, all, scale, keysLanded, logit, sh);
        keysLanded = true;
      }
      if (!Mma::rowLead())
        continue;
      HK_UNROLL for (int s = 0; s < Mma::kRows; ++s) {
        i64 j = w.firstKey + Mma::rowOf(s);
        bool seen = exists[s] && j >= r.begin && j < r.end;
        if (j < a.keys)
          a.out[outOffset(a, w.sequence, i) + j] =
              seen ? logit[s] : -__builtin_inff();
      }
    }
  }

private:
  /// The logits of query i, for the rows of this lane.
  HK_DEV void addHeads(const MqaLogitsArgs<S> &a, const MqaLogitsBlock &w,
                       i64 i, LogitRange all, const float (&scale)[Mma::kRows],
                       bool keysLanded, float (&logit)[Mma::kRows],
                       Shared &sh) {
    i64 query = queryOffset(a, w.sequence, i);
    i64 weight = weightOffset(a, w.sequence, i);
    for (int head = 0; head < S.heads; head += kColumns) {
      Mma mma;
      mma.clear();
      for (int piece = 0; piece < kPieces; ++piece) {
        barrier(); // what was read of these rows before
        if (kPieces > 1 || !(keysLanded || head > 0))
          copyRows<T.bk>(sh.keys, piece * kDepth, a.k,
                         [&](int row, i64 &at) __attribute__((always_inline)) {
                           i64 j = w.firstKey + row;
                           if (j < all.begin || j >= all.end)
                             return false;
                           LogitKey key = keyAt(a, w.sequence, j);
                           at = key.key;
                           return key.exists;
                         });
        copyRows<kColumns>(sh.queries, piece * kDepth, a.q,
                           [&](int row, i64 &at)
                               __attribute__((always_inline)) {
                                 at = query + (head + row) * a.qHead;
                                 return head + row < S.heads;
                               });
        if (piece == 0 && threadId() < kColumns && head + threadId() < S.heads)
          sh.weights[threadId()] = a.weights[weight + head + threadId()];
        barrier();
        mma.mma(sh.keys, sh.queries);
      }
      mma.forEach([&](int slot, int, int column,
                      auto &x) __attribute__((always_inline)) {
        constexpr int V = int(sizeof(x) / sizeof(float));
        HK_UNROLL for (int e = 0; e < V; ++e) {
          if (S.heads % kColumns != 0 && head + column + e >= S.heads)
            continue;
          float y = maximum<float>(x[e] * scale[slot], 0.f);
          logit[slot] += y * sh.weights[column + e];
        }
      });
    }
    Mma::laneReduce(logit, [](float x, float y) __attribute__((always_inline)) {
      return x + y;
    });
  }

  /// Elements [from, from + kDepth) of Rows rows into LDS, zero where rowAt,
  /// which says where a row begins, is false, and behind a row's end.
  template <int Rows, class F>
  HK_DEV void copyRows(u8 *lds, int from, Global<const Storage<S.type>> memory,
                       F rowAt) {
    constexpr int chunks = kRowBytes / 16, total = Rows * chunks;
    auto copy = [&](int s) __attribute__((always_inline)) {
      int row = s / chunks, chunk = s % chunks;
      i64 at = 0;
      bool some = rowAt(row, at);
      *reinterpret_cast<u32x4 *>(lds +
                                 operandByte<kRowBytes>(row, chunk * 16)) =
          widened(load(memory, at, from + chunk * kElements, some));
    };
    // Chunks in pieces take a lane mask each: too many of them, unrolled.
    if constexpr (kWhole && S.align >= 4 && total % kThreads == 0)
      HK_UNROLL for (int s = 0; s < total; s += kThreads) copy(s + threadId());
    else
      _Pragma("nounroll") for (int s = threadId(); s < total; s += kThreads)
          copy(s);
  }

  /// Elements of a chunk, and whether a row ends with one.
  static constexpr int kElements = 16 * 8 / info(kType).bits;
  static constexpr bool kWhole = S.headDim % kElements == 0;
  using Raw = Packed<S.type, kElements>;

  /// The chunk at `element` of a row; zero where there is none.
  HK_DEV Raw load(Global<const Storage<S.type>> memory, i64 row, int element,
                  bool some) {
    constexpr int bytes = kBytes<S.type, kElements>;
    Raw raw = 0;
    if (!some || element >= S.headDim)
      return raw;
    if (kWhole || element + kElements <= S.headDim)
      return loadPacked<S.type, kElements, (S.align < bytes ? S.align : bytes)>(
          memory, row + element);
    for (int e = 0; element + e < S.headDim; ++e)
      raw[e] = memory[row + element + e];
    return raw;
  }

  HK_DEV u32x4 widened(Raw raw) {
    if constexpr (S.type == kType)
      return bitCast<u32x4>(raw);
    else
      return bitCast<u32x4>(
          packExact<kType, kElements>(unpack<S.type, kElements>(raw)));
  }
};

} // namespace hk

#endif // HK_KERNELS_MQALOGITS_MATRIX_H
