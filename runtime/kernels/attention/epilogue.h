//===- epilogue.h - What follows the result of attention -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every path ends with vectors of columns of a row: the f32 results, divided by
// the sum of the row and scaled. Without an epilogue they are rounded and
// stored. Else the epilogue does all of it, with the functor that products have
// (gemm/problem.h): `batch` is the sequence, `row` the query (of ragged queries
// in all sequences), `col` the column in its head, which `in` names.
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
struct NoEpilogue {};
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

/// Columns [column, column + V) of row `row`, those that exist.
template <class E, AttentionSpec S, int V, class R>
HK_DEV void applyEpilogue(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                          i64 row, int column, Vec<float, V> x) {
  E epilogue = {a.words};
  AttentionOutput<V> out = {x, w.head * S.group + row % S.group};
  i64 query = w.queryStart + row / S.group;
  forColumns<V>(column, S.valueDim, out,
                [&]<int W>(i64 c, const auto &part)
                    __attribute__((always_inline)) {
                      epilogue.template apply<W>(w.sequence, query, c, part);
                    });
}

} // namespace hk

#endif // HK_KERNELS_ATTENTION_EPILOGUE_H
