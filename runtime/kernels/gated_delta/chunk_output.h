//===- chunk_output.h - Results of a chunk -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block has a chunk of a head: first the weights of its tokens for each
// other, into LDS; then every thread has some values of all its tokens. Grid: x
// is (chunk, head).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_CHUNK_OUTPUT_H
#define HK_KERNELS_GATED_DELTA_CHUNK_OUTPUT_H

#include "kernels/gated_delta/products.h"

namespace hk {

template <GatedDeltaSpec S, GatedDeltaTile TILE> struct ChunkOutput {
  static constexpr int kThreads = TILE.threads, kColumns = TILE.columns;
  static constexpr int kChunk = S.chunk, kVec = S.keyVector;
  /// Tokens that a thread sums for at a time.
  static constexpr int kTokens = 8;
  using Columns = Vec<float, kColumns>;
  using Products = ChunkProducts<S, kThreads>;
  static constexpr int kRow = Products::kWeightRow;
  struct Shared {
    typename Products::Staged staged;
    float weights[kChunk * kRow];
  };
  static_assert(kLdsBytes<Shared> == gatedDeltaLds(kTarget,
                                                   GatedDeltaKernel::Output,
                                                   chunkShape(S), TILE));

  template <class Io>
  HK_MEM static void run(const TokenArgs &tokens, const StateArgs &,
                         BlockId block, Shared &shared, const Io &io) {
    i64 number = block.x / S.valueHeads, head = block.x % S.valueHeads;
    TokenSpan span = chunkSpan(tokens, kChunk, number);
    if (span.begin >= span.end)
      return;
    int length = int(span.end - span.begin);
    i64 keyHead = head / (S.valueHeads / S.heads);
    const int thread = kIsHost ? 0 : threadId();
    if (!span.outside)
      Products::weigh(shared.staged, span, head, io, shared.weights);
    barrier();
    i64 slot = tokens.offsets
                   ? number
                   : number % ((tokens.tokens + kChunk - 1) / kChunk);
    for (int c = thread * kColumns; c < S.values; c += kThreads * kColumns)
      for (int i = 0; i < length; i += kTokens)
        finish(span, slot, head, keyHead, length, i, c, shared, io);
  }

private:
  /// Tokens [first, first + kTokens) of the chunk.
  template <class Io>
  HK_MEM static void finish(const TokenSpan &span, i64 slot, i64 head,
                            i64 keyHead, int length, int first, int c,
                            const Shared &shared, const Io &io) {
    Columns sum[kTokens] = {};
    // After the last token the last one again; its sums are not stored.
    auto token = [&](int n) {
      int i = first + n < length ? first + n : length - 1;
      return span.begin + i;
    };
    if (!span.outside) {
      for (int k = 0; k < S.keys; k += kVec) {
        Columns state[kVec];
        HK_UNROLL for (int w = 0; w < kVec; ++w) state[w] =
            io.states(span.batch, slot, head, k + w, c);
        HK_UNROLL for (int n = 0; n < kTokens; ++n) {
          Vec<float, kVec> q = io.query(span.batch, token(n), keyHead, k);
          HK_UNROLL for (int w = 0; w < kVec; ++w) sum[n] =
              fma<kColumns>(Columns(q[w]), state[w], sum[n]);
        }
      }
      if constexpr (S.hasDecay)
        HK_UNROLL for (int n = 0; n < kTokens; ++n) sum[n] *=
            decayBetween<S>(decayOf<S>(io, span, token(n), head), 0.f);
      const float *rows = shared.weights + first * kRow;
      for (int j = 0; j < first; ++j) {
        Columns v = io.value(span.batch, span.begin + j, head, c);
        HK_UNROLL for (int n = 0; n < kTokens; ++n) sum[n] =
            fma<kColumns>(Columns(rows[n * kRow + j]), v, sum[n]);
      }
      // A later token does not count, whatever its value is.
      HK_UNROLL for (int m = 0; m < kTokens; ++m) {
        Columns v = io.value(span.batch, token(m), head, c);
        HK_UNROLL for (int n = m; n < kTokens; ++n) sum[n] =
            fma<kColumns>(Columns(rows[n * kRow + first + m]), v, sum[n]);
      }
    }
    HK_UNROLL for (int n = 0; n < kTokens; ++n) if (first + n < length)
        io.result(span.batch, span.begin + first + n, head, c,
                  sum[n] * S.scale);
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_CHUNK_OUTPUT_H
