//===- wu.h - Corrected keys and values of a chunk -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The inverse is in LDS, by columns; every thread has some columns of w or u
// and sums for kRows tokens at a time. Grid: x is (chunk, head).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_WU_H
#define HK_KERNELS_GATED_DELTA_WU_H

#include "kernels/gated_delta/products.h"

namespace hk {

template <GatedDeltaSpec S, GatedDeltaTile TILE> struct ChunkWU {
  static constexpr int kThreads = TILE.threads, kColumns = TILE.columns;
  static constexpr int kChunk = S.chunk;
  /// Tokens that a thread sums for at a time.
  static constexpr int kRows = 8;
  using Columns = Vec<float, kColumns>;
  struct Shared {
    float x[kChunk * kChunk];               // [j][i]
    float ofKeys[kChunk], ofValues[kChunk]; // factors of a token
  };
  static_assert(kLdsBytes<Shared> == gatedDeltaLds(kTarget,
                                                   GatedDeltaKernel::WU,
                                                   chunkShape(S), TILE));

  template <class Io>
  HK_MEM static void run(const TokenArgs &tokens, const StateArgs &,
                         BlockId block, Shared &shared, const Io &io) {
    TokenSpan span = chunkSpan(tokens, kChunk, block.x / S.valueHeads);
    i64 head = block.x % S.valueHeads;
    if (span.begin >= span.end)
      return;
    int length = int(span.end - span.begin);
    const int thread = kIsHost ? 0 : threadId();
    stage(span, head, length, thread, shared, io);
    barrier();
    i64 keyHead = head / (S.valueHeads / S.heads);
    for (int c = thread * kColumns; c < S.keys; c += kThreads * kColumns)
      correct<S.key>(
          span, length, shared, shared.ofKeys,
          [&](i64 t) { return io.key(span.batch, t, keyHead, c); },
          [&](i64 t, Columns y) { io.w(span.batch, t, head, c, y); });
    for (int c = thread * kColumns; c < S.values; c += kThreads * kColumns)
      correct<S.value>(
          span, length, shared, shared.ofValues,
          [&](i64 t) { return io.value(span.batch, t, head, c); },
          [&](i64 t, Columns y) { io.u(span.batch, t, head, c, y); });
  }

private:
  template <class Io>
  HK_MEM static void stage(const TokenSpan &span, i64 head, int length,
                           int thread, Shared &shared, const Io &io) {
    for (int n = thread; n < kChunk * kChunk / 4; n += kThreads) {
      int i = n / (kChunk / 4), j = n % (kChunk / 4) * 4;
      Vec<float, 4> row = 0;
      if (i < length && !span.outside)
        row = io.inverse(span.batch, span.begin + i, head, j);
      HK_UNROLL for (int m = 0; m < 4; ++m) shared.x[(j + m) * kChunk + i] =
          row[m];
    }
    for (int i = thread; i < kChunk; i += kThreads) {
      if (i >= length)
        continue;
      float beta = betaOf<S>(io, span, span.begin + i, head);
      shared.ofValues[i] = beta;
      shared.ofKeys[i] =
          beta *
          decayBetween<S>(decayOf<S>(io, span, span.begin + i, head), 0.f);
    }
  }

  template <DType D, class Load, class Store>
  HK_MEM static void correct(const TokenSpan &span, int length,
                             const Shared &shared, const float *factors,
                             Load load, Store store) {
    auto term = [&](int j) {
      return roundTo<D, kColumns>(load(span.begin + j) * factors[j]);
    };
    for (int first = 0; first < length; first += kRows) {
      Columns sum[kRows] = {};
      const float *rows = shared.x + first;
      if (!span.outside) {
        for (int j = 0; j < first; ++j) {
          Columns x = term(j);
          HK_UNROLL for (int n = 0; n < kRows; ++n) sum[n] =
              fma<kColumns>(Columns(rows[j * kChunk + n]), x, sum[n]);
        }
        // A later token does not count, whatever its term is.
        HK_UNROLL for (int m = 0; m < kRows; ++m) {
          int j = first + m;
          Columns x = term(j < length ? j : length - 1);
          HK_UNROLL for (int n = m; n < kRows; ++n) sum[n] =
              fma<kColumns>(Columns(rows[j * kChunk + n]), x, sum[n]);
        }
      }
      HK_UNROLL for (int n = 0; n < kRows; ++n) if (first + n < length)
          store(span.begin + first + n, sum[n]);
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_WU_H
