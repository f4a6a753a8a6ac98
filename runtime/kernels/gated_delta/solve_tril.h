//===- solve_tril.h - Inverse of I + A of a chunk -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Forward substitution, A in LDS. On the host a thread has some columns of the
// inverse in registers. On a GPU it has a column, alone or with its neighbour,
// and takes 16 rows at a time: first what earlier rows add to them, half of the
// rows each, then the rows one after the other, both. The inverse, transposed,
// lies above the diagonal, where A has nothing that counts, so that a column's
// threads find its earlier rows; no wave waits for another. Grid: x is (chunk,
// head).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_SOLVE_TRIL_H
#define HK_KERNELS_GATED_DELTA_SOLVE_TRIL_H

#include "kernels/gated_delta/state.h"

namespace hk {

template <GatedDeltaSpec S, GatedDeltaTile TILE> struct SolveTril {
  static constexpr int kThreads = TILE.threads, kColumns = TILE.columns;
  static constexpr int kChunk = S.chunk;
  /// Threads that share a column, rows at a time, and of these each one's.
  static constexpr int kParts = !kIsHost && kThreads >= 2 * kChunk ? 2 : 1;
  static constexpr int kRows = 16, kOwn = kRows / kParts;
  static constexpr int kRow = int(solveTrilRow(kTarget, kChunk));
  using Columns = Vec<float, kColumns>;
  using Ints = Vec<i32, kColumns>;
  struct Shared {
    alignas(16) float a[kChunk * kRow];
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
    stage(span, head, length, shared, io);
    barrier();
#if HK_GPU
    if (threadId() < kChunk * kParts)
      solveColumn(span, head, length, shared, io);
#else
    for (int j = 0; j < kChunk; j += kColumns)
      solve(span, head, length, j, shared, io);
#endif
  }

private:
  /// A, 1 on its diagonal and zeros above, so that the inverse begins there.
  template <class Io>
  HK_MEM static void stage(const TokenSpan &span, i64 head, int length,
                           Shared &shared, const Io &io) {
    const int thread = kIsHost ? 0 : threadId();
    for (int n = thread; n < kChunk * kChunk / 4; n += kThreads) {
      int i = n / (kChunk / 4), j = n % (kChunk / 4) * 4;
      Vec<float, 4> row = 0;
      if (i < length && !span.outside)
        row = io.input(span.batch, span.begin + i, head, j);
      HK_UNROLL for (int m = 0; m < 4; ++m) row[m] =
          j + m < i ? row[m] : (j + m == i ? 1.f : 0.f);
      four(shared, i, j) = row;
    }
  }
  HK_MEM static Vec<float, 4> &four(Shared &shared, int row, int column) {
    return *reinterpret_cast<Vec<float, 4> *>(shared.a + row * kRow + column);
  }

#if HK_GPU

  //===--------------------------------------------------------------------===//
  // GPU
  //===--------------------------------------------------------------------===//

  template <class Io>
  HK_MEM static void solveColumn(const TokenSpan &span, i64 head, int length,
                                 Shared &shared, const Io &io) {
    const int thread = threadId(), j = thread / kParts, part = thread % kParts;
    // The columns of this wave: [from, mixed) and a few more. Rows up to
    // `mixed` are above the diagonal for some lanes.
    constexpr int inWave = kWave / kParts;
    int from = thread / kWave * inWave / kRows * kRows;
    int mixed = thread / kWave * inWave + (inWave > kRows ? inWave : kRows);
    mixed = mixed < kChunk ? mixed : kChunk;
    for (int i = part; i < from; i += kParts)
      if (i < length)
        store(span, head, i, j, 0.f, io);
    for (int begin = from; begin < length; begin += kRows) {
      float x[kRows];
      float sum[kOwn] = {};
      int first = begin + part * kOwn; // row of its sums
      int middle = begin < mixed ? begin : mixed;
      addRows<true>(sum, first, j, from, middle, shared);
      addRows<false>(sum, first, j, middle, begin, shared);
      allRows(sum, part, x);
      if (begin < mixed)
        substitute<true>(x, begin, j, shared);
      else
        substitute<false>(x, begin, j, shared);
      // Neighbours take rows by turns: which of x is a constant then.
      HK_UNROLL for (int n = 0; n < kRows; ++n) {
        if (n % kParts != part)
          continue;
        if (j < begin + n)
          shared.a[j * kRow + begin + n] = x[n];
        if (begin + n < length)
          store(span, head, begin + n, j, x[n], io);
      }
      waveBarrier();
    }
  }

  /// What comes after the last token is no column of the matrix; its rows are
  /// not stored.
  template <class Io>
  HK_MEM static void store(const TokenSpan &span, i64 head, int i, int j,
                           float x, const Io &io) {
    io.result(span.batch, span.begin + i, head, j,
              Columns(span.outside ? 0.f : x));
  }

  /// sum += A x of rows [first, first + kOwn) and columns [from, to). MIXED:
  /// x is 0 above the diagonal, where A may be infinite.
  template <bool MIXED>
  HK_MEM static void addRows(float (&sum)[kOwn], int first, int j, int from,
                             int to, Shared &shared) {
    for (int l = from; l < to; l += 4) {
      Vec<float, 4> x = four(shared, j, l);
      HK_UNROLL for (int e = 0; e < 4; ++e) if (MIXED && l + e < j) x[e] = 0;
      HK_UNROLL for (int n = 0; n < kOwn; ++n) {
        Vec<float, 4> a = four(shared, first + n, l);
        HK_UNROLL for (int e = 0; e < 4; ++e) sum[n] =
            __builtin_fmaf(MIXED && l + e < j ? 0.f : a[e], x[e], sum[n]);
      }
    }
  }

  /// The sums of all rows, of which a neighbour may have half.
  HK_MEM static void allRows(const float (&sum)[kOwn], int part,
                             float (&x)[kRows]) {
    HK_UNROLL for (int n = 0; n < kOwn; ++n) {
      float own = sum[n];
      x[n] = own;
      if constexpr (kParts == 2) {
        float other = bitCast<float>(laneXor<1>(bitCast<int>(own)));
        x[n] = part ? other : own;
        x[n + kOwn] = part ? own : other;
      }
    }
  }

  /// The first `count` of four elements; what is behind them may belong to
  /// another column.
  HK_MEM static Vec<float, 4> before(Shared &shared, int row, int column,
                                     int count) {
    if (count >= 4)
      return four(shared, row, column);
    Vec<float, 4> a = 0;
    HK_UNROLL for (int e = 0; e < 3; ++e) if (e < count) a[e] =
        shared.a[row * kRow + column + e];
    return a;
  }

  /// Sums of earlier rows become rows [begin, begin + kRows) of the inverse.
  template <bool MIXED>
  HK_MEM static void substitute(float (&x)[kRows], int begin, int j,
                                Shared &shared) {
    HK_UNROLL for (int i = 0; i < kRows; ++i) {
      float sum = x[i];
      // Comparisons that every row repeats would each take a pair of scalar
      // registers.
      int above =
          opaque(j - begin - i); // this row is so far above the diagonal
      HK_UNROLL for (int l = 0; l < kRows; l += 4) {
        if (l >= i)
          continue;
        Vec<float, 4> a = before(shared, begin + i, begin + l, i - l);
        HK_UNROLL for (int e = 0; e < 4; ++e) if (l + e < i) sum =
            __builtin_fmaf(MIXED && l + e - i < above ? 0.f : a[e], x[l + e],
                           sum);
      }
      x[i] = -sum;
      if (MIXED && above >= 0)
        x[i] = above == 0 ? 1.f : 0.f;
    }
  }

#else

  //===--------------------------------------------------------------------===//
  // Host
  //===--------------------------------------------------------------------===//

  template <class Io>
  HK_MEM static void solve(const TokenSpan &span, i64 head, int length, int j,
                           const Shared &shared, const Io &io) {
    Ints column;
    HK_UNROLL for (int c = 0; c < kColumns; ++c) column[c] = j + c;
    Columns x[kChunk];
    HK_UNROLL for (int i = 0; i < kChunk; ++i) {
      Columns sum = 0;
      // Above the diagonal x is 0; A there may be infinite.
      HK_UNROLL for (int l = 0; l < i; ++l) {
        Columns a = shared.a[i * kRow + l];
        sum = fma<kColumns>(column <= l ? a : Columns(0), x[l], sum);
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

#endif
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_SOLVE_TRIL_H
