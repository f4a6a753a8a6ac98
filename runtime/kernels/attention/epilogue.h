//===- epilogue.h - What follows the result of attention -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every path ends with vectors of columns of a row: the f32 results, divided by
// the sum of the row and scaled. Without an epilogue they are rounded and
// stored. Else the epilogue does all of it, as the functor that products have
// (gemm/problem.h), in two steps: `compute` and `put`. `batch` is the sequence,
// `row` the query (of ragged queries in all sequences), `col` the column in its
// head, which `in` names.
//
// An epilogue that ends in a quantisation has, as those of products, kGroup and
// stat(): the largest of what stat() gives of the kGroup columns of a head that
// share a scale (NaN if any is) arrives as in.stat. kGroup divides the head, so
// whoever has a row has its groups.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_EPILOGUE_H
#define HK_KERNELS_ATTENTION_EPILOGUE_H

#include "kernels/attention/block.h"
#include "kernels/device/columns.h"
#include "kernels/device/reduce.h"

namespace hk {

/// V consecutive columns of query head `head`; `stat` of their group.
template <int V> struct AttentionOutput {
  Vec<float, V> acc;
  i64 head;
  float stat = 0;
};
template <int E, int V>
HK_DEV AttentionOutput<1> elementOf(const AttentionOutput<V> &in) {
  return {Vec<float, 1>(in.acc[E]), in.head, in.stat};
}

/// No results are stored but by the kernel.
struct NoEpilogue {
  template <int V> struct Results {};
};
template <class R> struct PickEpilogue {
  using Type = NoEpilogue;
};
template <class R>
  requires requires { typename R::Epilogue; }
struct PickEpilogue<R> {
  using Type = typename R::Epilogue;
};
template <class R> using EpilogueOf = typename PickEpilogue<R>::Type;

template <class E> inline constexpr bool kIsEpilogue = true;
template <> inline constexpr bool kIsEpilogue<NoEpilogue> = false;
template <class R>
inline constexpr bool kHasEpilogue = kIsEpilogue<EpilogueOf<R>>;

/// Columns that share a statistic; 0: there is none.
template <class E> inline constexpr int kStatGroup = 0;
template <class E>
  requires requires { E::kGroup; }
inline constexpr int kStatGroup<E> = E::kGroup;
/// Of a path that has V columns at a time, those that it hands over at a time:
/// none of them has two groups.
template <class E, int V>
inline constexpr int kEpilogueVec = [] {
  int together = V;
  while (kStatGroup<E> % together != 0)
    together = kIsHost ? 1 : together / 2;
  return together;
}();

/// The statistics of groups of the columns from `kFirst` on that a lane has,
/// which lanes of a row then put together. Groups are told apart by compares,
/// as what a lane picks by an index lies in memory.
template <class E, int Columns> struct GroupStats {
  static constexpr int kColumns = kStatGroup<E>;
  static constexpr int kCount =
      kColumns == 0 ? 0 : (Columns + kColumns - 1) / kColumns;
  float of[kCount == 0 ? 1 : kCount] = {};

  /// `stat` is that of some columns from `column` on.
  HK_MEM void add(int column, float stat) {
    HK_UNROLL for (int g = 0; g < kCount; ++g) of[g] =
        column / kColumns == g ? Max::apply(of[g], stat) : of[g];
  }
  HK_MEM float get(int column) const {
    float stat = of[0];
    if constexpr (kCount > 1)
      HK_UNROLL for (int g = 1; g < kCount; ++g) stat =
          column / kColumns == g ? of[g] : stat;
    return stat;
  }
};

/// What an epilogue stores of V columns.
template <class E, int V>
using EpilogueResults = typename E::template Results<V>;
template <class Results> struct AttentionStored {
  Results made;
  i64 head;
};

/// The share of columns [column, column + V) of row `row` in the statistic of
/// their group, which has all of them.
template <class E, AttentionSpec S, int V, class R>
HK_DEV float epilogueStat(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                          i64 row, int column, Vec<float, V> x) {
  AttentionOutput<V> out = {x, w.head * S.group + row % S.group};
  return E{a.words}.template stat<V>(w.sequence, w.queryStart + row / S.group,
                                     column, out);
}

/// Of columns [column, column + V) of row `row`, all of which exist. Where all
/// are computed before the first is stored, no read waits for a store.
template <class E, AttentionSpec S, int V, class R>
HK_DEV EpilogueResults<E, V>
computeEpilogue(const AttentionArgs<S, R> &a, const AttentionBlock &w, i64 row,
                int column, Vec<float, V> x, float stat = 0) {
  AttentionOutput<V> out = {x, w.head * S.group + row % S.group, stat};
  return E{a.words}.template compute<V>(
      w.sequence, w.queryStart + row / S.group, column, out);
}
template <class E, AttentionSpec S, int V, class R>
HK_DEV void putEpilogue(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                        i64 row, int column,
                        const EpilogueResults<E, V> &made) {
  AttentionStored<EpilogueResults<E, V>> out = {made, w.head * S.group +
                                                          row % S.group};
  E{a.words}.template put<V>(w.sequence, w.queryStart + row / S.group, column,
                             out);
}

/// Columns [column, column + V) of row `row`, those that exist.
template <class E, AttentionSpec S, int V, class R>
HK_DEV void applyEpilogue(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                          i64 row, int column, Vec<float, V> x,
                          float stat = 0) {
  AttentionOutput<V> out = {x, 0};
  forColumns<V>(
      column, S.valueDim, out,
      [&]<int W>(i64 c, const auto &part) __attribute__((always_inline)) {
        auto made = computeEpilogue<E, S, W>(a, w, row, int(c), part.acc, stat);
        putEpilogue<E, S, W>(a, w, row, int(c), made);
      });
}

/// A whole row with groups, of which `columns(c)` gives V columns from c on.
template <class E, int V, AttentionSpec S, class R, class Columns>
HK_DEV void applyToGroups(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                          i64 row, Columns columns) {
  constexpr int group = kStatGroup<E>;
  static_assert(S.valueDim % group == 0 && group % V == 0);
  for (int first = 0; first < S.valueDim; first += group) {
    float stat = 0;
    for (int c = first; c < first + group; c += V)
      stat = Max::apply(stat, epilogueStat<E, S, V>(a, w, row, c, columns(c)));
    for (int c = first; c < first + group; c += V)
      applyEpilogue<E, S, V>(a, w, row, c, columns(c), stat);
  }
}

} // namespace hk

#endif // HK_KERNELS_ATTENTION_EPILOGUE_H
