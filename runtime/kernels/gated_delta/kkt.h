//===- kkt.h - Products of the keys of a chunk -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block has a chunk of a head. Grid: x is (chunk, head).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_KKT_H
#define HK_KERNELS_GATED_DELTA_KKT_H

#include "kernels/gated_delta/products.h"

namespace hk {

template <GatedDeltaSpec S, GatedDeltaTile TILE> struct ChunkKkt {
  static constexpr int kThreads = TILE.threads;
  using Products = ChunkProducts<S, kThreads>;
  using Shared = typename Products::Staged;
  static_assert(kLdsBytes<Shared> ==
                gatedDeltaLds(kTarget, GatedDeltaKernel::Kkt, S.chunk, S.keys));

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
    if (span.outside)
      return;
    Products::run(shared, length, key, key,
                  [&](int i, int j, const typename Products::Piece &piece) {
                    store(span, head, length, i, j, piece, io);
                  });
  }

private:
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
                           const Io &io) {
    float from[4];
    HK_UNROLL for (int m = 0; m < 4; ++m) from[m] =
        j + m < length ? decayOf<S>(io, span, span.begin + j + m, head) : 0.f;
    HK_UNROLL for (int n = 0; n < 4; ++n) {
      i64 t = span.begin + i + n;
      if (i + n >= length)
        continue;
      float to = decayOf<S>(io, span, t, head);
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
