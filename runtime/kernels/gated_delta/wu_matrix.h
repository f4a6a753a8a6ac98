//===- wu_matrix.h - Corrected keys and values by fragments -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block has a chunk of a head; its inverse is the left operand of a product
// with the keys and of one with the values, each times the factor of its token.
// Grid: x is (chunk, head).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_WU_MATRIX_H
#define HK_KERNELS_GATED_DELTA_WU_MATRIX_H

#include "kernels/gated_delta/matrix.h"
#include "kernels/gated_delta/wu.h"

namespace hk {

template <GatedDeltaSpec S, GatedDeltaTile TILE> struct ChunkWUMatrix {
  static constexpr int kThreads = TILE.threads, kChunk = S.chunk;
  static_assert(S.key == S.value);
  using Inverse = StagedRows<S.key, kChunk>;
  using OnVectors = ChunkWU<S, GatedDeltaTile{kThreads, 1, kStagedVector, 0}>;
  template <int COLUMNS>
  using Fragments = AttentionFragments<S.key, kChunk, kChunk,
                                       Inverse::kRowBytes, COLUMNS, TILE.waves>;
  static constexpr int kWidest = S.keys > S.values ? S.keys : S.values;

  struct Staged {
    union {
      alignas(16) u8 terms[kChunk * kWidest * 2];
      float results[kChunk * ResultRows<kWidest>::kRow];
    };
    u8 inverse[kChunk * Inverse::kRowBytes];
    float ofKeys[kChunk], ofValues[kChunk]; // factors of a token
    AllThreads<kThreads> finite;
  };
  using Shared = StagedOrVectors<Staged, OnVectors>;
  static_assert(kLdsBytes<Shared> == gatedDeltaLds(kTarget,
                                                   GatedDeltaKernel::WU,
                                                   chunkShape(S), TILE));

  template <class Io>
  HK_MEM static void run(const TokenArgs &tokens, const StateArgs &pool,
                         BlockId block, Shared &shared, const Io &io) {
    TokenSpan span = chunkSpan(tokens, kChunk, block.x / S.valueHeads);
    i64 head = block.x % S.valueHeads;
    if (span.begin >= span.end)
      return;
    if (!span.outside && compute(span, head, shared.staged, io))
      return;
    barrier();
    OnVectors::run(tokens, pool, block, shared.vectors, io);
  }

private:
  /// False where a term is not finite; what is stored then is stored again.
  template <class Io>
  HK_MEM static bool compute(const TokenSpan &span, i64 head, Staged &staged,
                             const Io &io) {
    int length = int(span.end - span.begin);
    i64 keyHead = head / (S.valueHeads / S.heads);
    stageInverse(span, head, length, staged, io);
    barrier();
    return correct<S.keys>(
               length, staged, staged.ofKeys,
               [&](int i, int c) {
                 return io.key(span.batch, span.begin + i, keyHead, c);
               },
               [&](int i, int c, Vec<float, kStagedVector> x) {
                 io.w(span.batch, span.begin + i, head, c, x);
               }) &&
           correct<S.values>(
               length, staged, staged.ofValues,
               [&](int i, int c) {
                 return io.value(span.batch, span.begin + i, head, c);
               },
               [&](int i, int c, Vec<float, kStagedVector> x) {
                 io.u(span.batch, span.begin + i, head, c, x);
               });
  }

  template <class Io>
  HK_MEM static void stageInverse(const TokenSpan &span, i64 head, int length,
                                  Staged &staged, const Io &io) {
    constexpr int vectors = kChunk / 4, each = kChunk * vectors / kThreads;
    static_assert(each * kThreads == kChunk * vectors);
    u8 *tile = staged.inverse;
    Vec<float, 4> rows[each];
    auto place = [](int n) { return n * kThreads + threadId(); };
    HK_UNROLL for (int n = 0; n < each; ++n) {
      int i = place(n) / vectors, j = place(n) % vectors * 4;
      rows[n] = io.inverse(span.batch,
                           span.begin + (i < length ? i : length - 1), head, j);
    }
    HK_UNROLL for (int n = 0; n < each; ++n) {
      int i = place(n) / vectors, j = place(n) % vectors * 4;
      HK_UNROLL for (int m = 0; m < 4; ++m) rows[n][m] =
          i < length && j + m <= i ? rows[n][m] : 0.f;
      *reinterpret_cast<u32x2 *>(tile +
                                 swizzled<Inverse::kRowBytes>(i, j * 2)) = {
          packPair<S.key>(rows[n][0], rows[n][1]),
          packPair<S.key>(rows[n][2], rows[n][3])};
    }
    for (int i = threadId(); i < kChunk; i += kThreads) {
      float beta = 0, grown = 0;
      if (i < length) {
        beta = betaOf<S>(io, span, span.begin + i, head);
        grown = decayBetween<S>(decayOf<S>(io, span, span.begin + i, head), 0);
      }
      staged.ofValues[i] = beta;
      staged.ofKeys[i] = beta * grown;
    }
  }

  template <int COLUMNS, class Load, class Store>
  HK_MEM static bool correct(int length, Staged &staged, const float *factors,
                             Load load, Store store) {
    using Terms = StagedRows<S.key, COLUMNS>;
    using Results = ResultRows<COLUMNS>;
    const int thread = threadId();
    staged.finite.put(Terms::template stage<kChunk, kThreads>(
        staged.terms, thread, length,
        [&](int i, int c) { return plainNaN(load(i, c) * factors[i]); }));
    barrier();
    if (!staged.finite.get())
      return false;
    Fragments<COLUMNS> f;
    f.forEachScore([&](int slot, int j, auto &x) {
      HK_UNROLL for (int e = 0; e < int(sizeof(x) / 4); ++e) x[e] =
          Inverse::element(staged.inverse, Fragments<COLUMNS>::rowOf(slot),
                           j + e);
    });
    f.clearOutput();
    f.values(staged.terms);
    barrier();
    Results::put(staged.results, f, 1.f);
    barrier();
    Results::template store<kThreads>(staged.results, thread, length, store);
    barrier();
    return true;
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_WU_MATRIX_H
