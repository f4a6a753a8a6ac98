//===- store.h - Results of a warpgroup -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The four lanes of a row hold two columns of every eight. They exchange words
// until each has eight neighbouring columns of 32, and store 16 bytes; rows
// behind the last query are not written, so a tile may end in the next
// sequence.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_SM90_STORE_H
#define HK_KERNELS_ATTENTION_SM90_STORE_H

#include "kernels/attention/sm90/rows.h"

namespace hk {

/// word j of lane i of a quad becomes word i of lane j.
HK_DEV void transposeQuad(u32 (&x)[4]) {
  int lane = laneId() % 4;
  auto exchange = [&]<int B>() __attribute__((always_inline)) {
    HK_UNROLL for (int j = 0; j < 4; ++j) {
      if (j & B)
        continue;
      bool upper = lane & B;
      u32 got = u32(laneXor<B>(int(upper ? x[j] : x[j | B])));
      x[j] = upper ? got : x[j];
      x[j | B] = upper ? x[j | B] : got;
    }
  };
  exchange.template operator()<1>();
  exchange.template operator()<2>();
}

/// Row r (0, 1) of the two that this thread has of an accumulator, columns
/// [BEGIN, SIZE), times `factor`, if it `exists`: store(column, eight columns).
template <DType OUT, int SIZE, int BEGIN = 0, int N, class Store>
HK_DEV void forAccumulatorRow(bool exists, const float (&sum)[N], int r,
                              float factor, Store store) {
  constexpr int wide = 32;
  HK_UNROLL for (int c = BEGIN; c < SIZE; c += wide) {
    u32 x[4];
    HK_UNROLL for (int j = 0; j < 4; ++j) {
      int i = c / 2 + j * 4 + 2 * r;
      x[j] = bitCast<u32>(
          pack<OUT, 2>(f32x2{sum[i] * factor, sum[i + 1] * factor}));
    }
    transposeQuad(x);
    int column = c + laneId() % 4 * 8;
    if (exists && (SIZE % wide == 0 || column < SIZE))
      store(column, bitCast<Packed<OUT, 8>>(u32x4{x[0], x[1], x[2], x[3]}));
  }
}

/// Stores such a row.
template <DType OUT, int SIZE, int N>
HK_DEV void storeAccumulatorRow(Global<Storage<OUT>> out, bool exists,
                                const float (&sum)[N], int r, float factor) {
  forAccumulatorRow<OUT, SIZE>(
      exists, sum, r, factor,
      [&](int column, auto eight) __attribute__((always_inline)) {
        storePacked<OUT, 8, 16>(out, column, eight);
      });
}

/// Statistics of all groups of a row.
template <class E, AttentionSpec S>
using RowStats = GroupStats<E, int(S.valueDim)>;

/// Those of such a row, as row `row` of the block, which exists: of the columns
/// as this thread has them, two of every eight.
template <class E, AttentionSpec S, int N>
HK_DEV RowStats<E, S> statsOfRow(const AttentionArgs<S> &a,
                                 const AttentionBlock &w, i64 row,
                                 const float (&sum)[N], int r, float factor) {
  RowStats<E, S> stats;
  if constexpr (kStatGroup<E> != 0) {
    static_assert(kStatGroup<E> % 8 == 0);
    HK_UNROLL for (int c = 0; c < S.valueDim; c += 8) {
      int i = c / 2 + 2 * r;
      f32x2 two = {sum[i] * factor, sum[i + 1] * factor};
      stats.add(c, epilogueStat<E, S, 2>(a, w, row, c + laneId() % 4 * 2, two));
    }
    groupReduce<Max, 4>(stats.of);
  }
  return stats;
}

/// What the epilogue E makes of columns [BEGIN, SIZE) of such a row, of which
/// the accumulator's first is number `first`.
template <class E, AttentionSpec S, int SIZE, int BEGIN = 0> class EpilogueRow {
public:
  /// Of row `row` of the block, which exists; `stats` of its groups.
  template <int N>
  HK_MEM void compute(const AttentionArgs<S> &a, const AttentionBlock &w,
                      i64 row, int first, const float (&sum)[N], int r,
                      float factor, const RowStats<E, S> &stats = {}) {
    int i = 0;
    forAccumulatorRow<S.outType, SIZE, BEGIN>(
        true, sum, r, factor,
        [&](int column, auto eight) __attribute__((always_inline)) {
          made[i++] = computeEpilogue<E, S, 8>(a, w, row, first + column,
                                               unpack<S.outType, 8>(eight),
                                               stats.get(column));
        });
  }
  HK_MEM void put(const AttentionArgs<S> &a, const AttentionBlock &w, i64 row,
                  int first) const {
    HK_UNROLL for (int i = 0; i < kCount; ++i) {
      int column = BEGIN + i * 32 + laneId() % 4 * 8;
      if (SIZE % 32 == 0 || column < SIZE)
        putEpilogue<E, S, 8>(a, w, row, first + column, made[i]);
    }
  }

private:
  static constexpr int kCount = (SIZE - BEGIN + 31) / 32;
  EpilogueResults<E, 8> made[kCount];
};

/// E: the epilogue, or NoEpilogue.
template <AttentionSpec S, AttentionTile T, class E> struct BulkAttentionStore {
  using Config = BulkAttentionConfig<S, T>;
  using Accumulators = typename Config::Values::Registers;
  static_assert(T.heads == 1);

  /// `row`: this thread's first of the tile, of one head.
  HK_MEM static void run(const AttentionArgs<S> &a,
                         const BulkAttentionTile &tile, int row,
                         const BulkAttentionRows<S, T> &rows,
                         const Accumulators &o) {
    AttentionBlock w = tile.block(S.group);
    if constexpr (kIsEpilogue<E>)
      return runEpilogue(a, tile, w, row, rows, o);
    HK_UNROLL for (int r = 0; r < 2; ++r) {
      RowEnd end = rows.finish(a, tile.head, r);
      int query = row + 8 * r;
      bool exists = query < tile.count;
      // The row of a (query, head) pair, as the other kernels number them.
      i64 pair = (w.first + query) * S.group + tile.head % S.group;
      if constexpr (S.storesLse() && !Config::kKeepsBase)
        if (exists && laneId() % 4 == 0)
          a.lse[lseOffset<S>(a, w, pair)] = end.lse;
      storeAccumulatorRow<S.outType, S.valueDim>(
          a.out + outOffset<S>(a, w, pair), exists, o, r, end.factor);
      // Registers do not hold both at once.
      if constexpr (S.storesLse() && Config::kKeepsBase) {
        float lse = rows.finish(a, tile.head, r).lse;
        if (exists && laneId() % 4 == 0)
          a.lse[lseOffset<S>(a, w, pair)] = lse;
      }
    }
  }

private:
  /// As much is computed before the first of it is stored as registers hold.
  static constexpr int kTogether = 64;

  HK_MEM static i64 pairOf(const BulkAttentionTile &tile,
                           const AttentionBlock &w, int query) {
    return i64(w.first + query) * S.group + tile.head % S.group;
  }
  /// The last row that exists in place of those that do not.
  HK_MEM static i64 someRow(const BulkAttentionTile &tile,
                            const AttentionBlock &w, int query) {
    return pairOf(tile, w, int(minOf(query, tile.count - 1)));
  }

  HK_MEM static void runEpilogue(const AttentionArgs<S> &a,
                                 const BulkAttentionTile &tile,
                                 const AttentionBlock &w, int row,
                                 const BulkAttentionRows<S, T> &rows,
                                 const Accumulators &o) {
    RowStats<E, S> stats[2];
    if constexpr (kStatGroup<E> != 0)
      HK_UNROLL for (int r = 0; r < 2; ++r) stats[r] =
          statsOfRow<E, S>(a, w, someRow(tile, w, row + 8 * r), o, r,
                           rows.finish(a, tile.head, r).factor);
    runColumns<0>(a, tile, w, row, rows, o, stats);
  }

  template <int BEGIN>
  HK_MEM static void
  runColumns(const AttentionArgs<S> &a, const BulkAttentionTile &tile,
             const AttentionBlock &w, int row,
             const BulkAttentionRows<S, T> &rows, const Accumulators &o,
             const RowStats<E, S> (&stats)[2]) {
    constexpr int end =
        S.valueDim - BEGIN > kTogether ? BEGIN + kTogether : S.valueDim;
    EpilogueRow<E, S, end, BEGIN> made[2];
    HK_UNROLL for (int r = 0; r < 2; ++r) made[r].compute(
        a, w, someRow(tile, w, row + 8 * r), 0, o, r,
        rows.finish(a, tile.head, r).factor, stats[r]);
    HK_UNROLL for (int r = 0; r < 2; ++r) {
      int query = row + 8 * r;
      if (query >= tile.count)
        continue;
      i64 pair = pairOf(tile, w, query);
      made[r].put(a, w, pair, 0);
      if constexpr (S.storesLse() && BEGIN == 0)
        if (laneId() % 4 == 0)
          a.lse[lseOffset<S>(a, w, pair)] = rows.finish(a, tile.head, r).lse;
    }
    if constexpr (end < S.valueDim)
      runColumns<end>(a, tile, w, row, rows, o, stats);
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_SM90_STORE_H
