//===- kkt.h - Products of the keys of a chunk -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block has a chunk of a head. It may sum up the decays of the chunk itself.
// Grid: x is (chunk, head).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_KKT_H
#define HK_KERNELS_GATED_DELTA_KKT_H

#include "kernels/gated_delta/matrix.h"

namespace hk {

template <GatedDeltaSpec S, GatedDeltaTile TILE> struct ChunkKkt {
  static constexpr int kThreads = TILE.threads;
  using Products = typename PickProducts<S, TILE>::Type;
  struct Shared {
    typename Products::Staged keys;
    float decays[S.chunk], sums[S.chunk], betas[S.chunk];
  };
  static_assert(kLdsBytes<Shared> ==
                gatedDeltaLds(kTarget,
                              S.sumsDecay ? GatedDeltaKernel::SumsAndKkt
                                          : GatedDeltaKernel::Kkt,
                              chunkShape(S), TILE));

  template <class Io>
  HK_MEM static void run(const TokenArgs &tokens, const StateArgs &,
                         BlockId block, Shared &shared, const Io &io) {
    TokenSpan span = chunkSpan(tokens, S.chunk, block.x / S.valueHeads);
    i64 head = block.x % S.valueHeads;
    if (span.begin >= span.end)
      return;
    int length = int(span.end - span.begin);
    i64 keyHead = head / (S.valueHeads / S.heads);
    auto key = [&](int token, int k) {
      return io.key(span.batch, span.begin + token, keyHead, k);
    };
    clear(span, head, length, io);
    stageFactors(span, head, length, shared, io);
    if (span.outside)
      return;
    Products::square(
        shared.keys, length, key,
        [&](int i, int j, float sum) { return weigh(i, j, sum, shared); },
        [&](int i, int j, const typename Products::Piece &piece) {
          HK_UNROLL for (int n = 0; n < 4; ++n) if (i + n < length) {
            Vec<float, 4> row;
            HK_UNROLL for (int m = 0; m < 4; ++m) row[m] = piece.sum[n][m];
            io.result(span.batch, span.begin + i + n, head, j, row);
          }
        });
  }

private:
  /// Betas, and the sums of the decays of the chunk, each over the tokens up to
  /// its own, unless the decays are sums already.
  template <class Io>
  HK_MEM static void stageFactors(const TokenSpan &span, i64 head, int length,
                                  Shared &shared, const Io &io) {
    const int thread = kIsHost ? 0 : threadId();
    for (int i = thread; i < S.chunk; i += kThreads) {
      float decay = 0, beta = 0;
      if (i < length) {
        decay = decayOf<S>(io, span, span.begin + i, head);
        beta = betaOf<S>(io, span, span.begin + i, head);
      }
      shared.betas[i] = beta;
      shared.decays[i] = span.outside ? 0.f : decay;
      if constexpr (!S.sumsDecay)
        shared.sums[i] = decay;
    }
    barrier();
    if constexpr (S.sumsDecay) {
      for (int i = thread; i < S.chunk; i += kThreads) {
        float sum = 0;
        for (int j = 0; j <= i; ++j)
          sum += shared.decays[j];
        shared.sums[i] = sum;
        if (i < length)
          io.sums(span.batch, span.begin + i, head, Vec<float, 1>(sum));
      }
      barrier();
    }
  }

  /// Zeros above the pieces that are computed, or everywhere.
  template <class Io>
  HK_MEM static void clear(const TokenSpan &span, i64 head, int length,
                           const Io &io) {
    constexpr int pieces = S.chunk / 4;
    for (int n = kIsHost ? 0 : threadId(); n < length * pieces; n += kThreads) {
      int i = n / pieces, j = n % pieces * 4;
      if (span.outside || j > i / 4 * 4)
        io.result(span.batch, span.begin + i, head, j, Vec<float, 4>(0));
    }
  }

  /// The product of tokens i and j of the chunk; 0 unless j comes before i.
  HK_MEM static float weigh(int i, int j, float sum, const Shared &shared) {
    bool before = j < i;
    // Not of where the difference may be positive. On matrix units of all
    // others, as a branch would take longer; on vector units that would take
    // registers for all exponentials at a time.
    if (TILE.waves == 0 && !before)
      return 0;
    float to = shared.sums[before ? i : 0], from = shared.sums[before ? j : 0];
    float product = sum * decayBetween<S>(to, from) * shared.betas[i];
    return before ? product : 0.f;
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_KKT_H
