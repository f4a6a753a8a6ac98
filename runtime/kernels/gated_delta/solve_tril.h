//===- solve_tril.h - Inverse of I + A of a chunk -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A is in LDS; every thread solves for some columns of the inverse, which it
// keeps in registers. Grid: x is (chunk, head).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_SOLVE_TRIL_H
#define HK_KERNELS_GATED_DELTA_SOLVE_TRIL_H

#include "kernels/gated_delta/state.h"

namespace hk {

template <GatedDeltaSpec S, GatedDeltaTile TILE> struct SolveTril {
  static constexpr int kThreads = TILE.threads, kColumns = TILE.columns;
  static constexpr int kChunk = S.chunk;
  using Columns = Vec<float, kColumns>;
  using Ints = Vec<i32, kColumns>;
  struct Shared {
    float a[kChunk * kChunk];
  };
  static_assert(kLdsBytes<Shared> == gatedDeltaLds(kTarget,
                                                   GatedDeltaKernel::SolveTril,
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
    for (int n = thread; n < kChunk * kChunk / 4; n += kThreads) {
      int i = n / (kChunk / 4), j = n % (kChunk / 4) * 4;
      Vec<float, 4> row = 0;
      if (i < length && !span.outside)
        row = io.input(span.batch, span.begin + i, head, j);
      HK_UNROLL for (int m = 0; m < 4; ++m) shared.a[i * kChunk + j + m] =
          row[m];
    }
    barrier();
    for (int j = thread * kColumns; j < kChunk; j += kThreads * kColumns)
      solve(span, head, length, j, shared, io);
  }

private:
  template <class Io>
  HK_MEM static void solve(const TokenSpan &span, i64 head, int length, int j,
                           const Shared &shared, const Io &io) {
    Ints column;
    HK_UNROLL for (int c = 0; c < kColumns; ++c) column[c] = j + c;
    Columns x[kChunk];
    HK_UNROLL for (int i = 0; i < kChunk; ++i) {
      Columns sum = 0;
      // Above the diagonal x is 0; A there may be infinite. Comparisons that
      // every row repeats would each take a pair of scalar registers.
      Ints own = opaque(column);
      HK_UNROLL for (int l = 0; l < i; ++l) {
        Columns a = shared.a[i * kChunk + l];
        sum = fma<kColumns>(own <= l ? a : Columns(0), x[l], sum);
      }
      x[i] = column < i ? -sum : column == i ? Columns(1) : Columns(0);
      Columns y = x[i];
      if (span.outside)
        y = 0;
      // What comes after the last token is no column of the matrix; its rows
      // are not stored.
      if (i < length)
        io.result(span.batch, span.begin + i, head, j, y);
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_SOLVE_TRIL_H
