//===- best.h - The largest column of a row of a product -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An epilogue may end in the choice of one column of a row whose columns are
// all in one tile, kGroup of them (a router that takes one expert). Lanes that
// have columns of the row exchange keys (topk/keys.h), so the answer is that of
// a top-k of one element: NaN is the largest, of equal ones the place decides.
//
//   struct MyEpilogue { // beside kVec, kGroup and apply() of problem.h
//     static constexpr bool kSelects = true;
//     // The key of these columns; kVec divides kGroup.
//     template <int V, class In>
//     u64 key(i64 batch, i64 row, i64 col, const In &in) const;
//     // Once a row, with its largest key.
//     void applyBest(i64 batch, i64 row, u64 best) const;
//   };
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_BEST_H
#define HK_KERNELS_GEMM_BEST_H

#include "kernels/topk/keys.h"

namespace hk {

template <class Epilogue>
inline constexpr bool kSelectsBest = requires { Epilogue::kSelects; };

HK_DEV u64 largerKey(u64 a, u64 b) { return a > b ? a : b; }

/// The largest key of columns col, col + 1, ...
template <Ties TIES, int V> HK_DEV u64 bestKey(Vec<float, V> x, i64 col) {
  Vec<u32, V> bits = orderedBits<V>(x);
  u64 best = 0;
  HK_UNROLL for (int e = 0; e < V; ++e) best =
      largerKey(best, u64(bits[e]) << 32 | placeKey<TIES>(u32(col) + u32(e)));
  return best;
}
HK_DEV float valueOfBest(u64 best) { return valueOfKey(u32(best >> 32)); }
template <Ties TIES> HK_DEV i32 indexOfBest(u64 best) {
  return indexOfPlace<TIES>(u32(best));
}

} // namespace hk

#endif // HK_KERNELS_GEMM_BEST_H
