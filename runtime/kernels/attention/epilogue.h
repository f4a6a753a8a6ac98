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
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_EPILOGUE_H
#define HK_KERNELS_ATTENTION_EPILOGUE_H

#include "kernels/attention/spec.h"
#include "kernels/device/columns.h"

namespace hk {

/// V consecutive columns of query head `head`.
template <int V> struct AttentionOutput {
  Vec<float, V> acc;
  i64 head;
};
template <int E, int V>
HK_DEV AttentionOutput<1> elementOf(const AttentionOutput<V> &in) {
  return {Vec<float, 1>(in.acc[E]), in.head};
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

/// What an epilogue stores of V columns.
template <class E, int V>
using EpilogueResults = typename E::template Results<V>;
template <class Results> struct AttentionStored {
  Results made;
  i64 head;
};

/// Of columns [column, column + V) of row `row`, all of which exist. Where all
/// are computed before the first is stored, no read waits for a store.
template <class E, AttentionSpec S, int V, class R>
HK_DEV EpilogueResults<E, V> computeEpilogue(const AttentionArgs<S, R> &a,
                                             const AttentionBlock &w, i64 row,
                                             int column, Vec<float, V> x) {
  AttentionOutput<V> out = {x, w.head * S.group + row % S.group};
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
                          i64 row, int column, Vec<float, V> x) {
  AttentionOutput<V> out = {x, 0};
  forColumns<V>(
      column, S.valueDim, out,
      [&]<int W>(i64 c, const auto &part) __attribute__((always_inline)) {
        auto made = computeEpilogue<E, S, W>(a, w, row, int(c), part.acc);
        putEpilogue<E, S, W>(a, w, row, int(c), made);
      });
}

} // namespace hk

#endif // HK_KERNELS_ATTENTION_EPILOGUE_H
