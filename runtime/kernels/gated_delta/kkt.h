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
  struct Staged {
    typename Products::Staged keys;
  };
  struct StagedAndSums {
    typename Products::Staged keys;
    float decays[S.chunk], sums[S.chunk];
  };
  template <bool SUMS, class A, class B> struct Choose {
    using Type = A;
  };
  template <class A, class B> struct Choose<false, A, B> {
    using Type = B;
  };
  using Shared = typename Choose<S.sumsDecay, StagedAndSums, Staged>::Type;
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
    if constexpr (S.sumsDecay)
      sumUp(span, head, length, shared, io);
    if (span.outside)
      return;
    Products::run(shared.keys, length, key, key,
                  [&](int i, int j, const typename Products::Piece &piece) {
                    store(span, head, length, i, j, piece, shared, io);
                  });
  }

private:
  /// The sums of the decays of the chunk, each over the tokens up to its own.
  template <class Io>
  HK_MEM static void sumUp(const TokenSpan &span, i64 head, int length,
                           Shared &shared, const Io &io) {
    const int thread = kIsHost ? 0 : threadId();
    for (int i = thread; i < length; i += kThreads)
      shared.decays[i] = io.decay(span.batch, span.begin + i, head);
    barrier();
    for (int i = thread; i < length; i += kThreads) {
      float sum = 0;
      for (int j = 0; j <= i && !span.outside; ++j)
        sum += shared.decays[j];
      shared.sums[i] = sum;
      io.sums(span.batch, span.begin + i, head, Vec<float, 1>(sum));
    }
    barrier();
  }
  /// The sum of the decays of token i of the chunk.
  template <class Io>
  HK_MEM static float sumOf(const TokenSpan &span, i64 head, int i,
                            const Shared &shared, const Io &io) {
    if constexpr (S.sumsDecay)
      return shared.sums[i];
    else
      return decayOf<S>(io, span, span.begin + i, head);
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

  template <class Io>
  HK_MEM static void store(const TokenSpan &span, i64 head, int length, int i,
                           int j, const typename Products::Piece &piece,
                           const Shared &shared, const Io &io) {
    float from[4];
    HK_UNROLL for (int m = 0; m < 4; ++m) from[m] =
        j + m < length ? sumOf(span, head, j + m, shared, io) : 0.f;
    HK_UNROLL for (int n = 0; n < 4; ++n) {
      i64 t = span.begin + i + n;
      if (i + n >= length)
        continue;
      float to = sumOf(span, head, i + n, shared, io);
      float beta = betaOf<S>(io, span, t, head);
      Vec<float, 4> row;
      HK_UNROLL for (int m = 0; m < 4; ++m) {
        // Not computed where the difference may be positive.
        bool before = j + m < i + n;
        float e = decayBetween<S>(before ? to : 0.f, before ? from[m] : 0.f);
        row[m] = before ? piece.sum[n][m] * e * beta : 0.f;
      }
      io.result(span.batch, t, head, j, row);
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_KKT_H
