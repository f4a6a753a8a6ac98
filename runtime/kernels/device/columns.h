//===- columns.h - Columns that an epilogue takes -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Epilogues take vectors of columns. Where a row ends within one, what is left
// of it goes column by column.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_COLUMNS_H
#define HK_KERNELS_DEVICE_COLUMNS_H

#include "kernels/device/types.h"

namespace hk {

/// Calls f(columns, part, count) for the whole vector or, at the right edge,
/// for the columns below n one by one.
template <int V, int E = 0, class In, class F>
HK_DEV void forColumns(i64 col, i64 n, const In &in, F f) {
  if constexpr (E == 0)
    if (col + V <= n)
      return f.template operator()<V>(col, in);
  if constexpr (V > 1 && E < V) {
    if (col + E < n)
      f.template operator()<1>(col + E, elementOf<E>(in));
    forColumns<V, E + 1>(col, n, in, f);
  }
}

} // namespace hk

#endif // HK_KERNELS_DEVICE_COLUMNS_H
