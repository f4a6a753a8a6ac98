//===- ragged.h - Tiles of ragged sequences -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The grid of a launch is known before the lengths of its sequences. The rows
// behind the last offset, which belong to no sequence, count as one more: there
// are rows / size + sequences + 1 tiles of `size` rows, and every sequence gets
// at least as many as it needs, and at least one.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_RAGGED_H
#define HK_KERNELS_DEVICE_RAGGED_H

#include "kernels/device/types.h"

namespace hk {

/// The first tile of sequence `sequence`, which begins at `row`: leaves room
/// for the partly filled last tile of every sequence before it.
HK_DEV i64 raggedTile(i64 row, i64 size, i64 sequence) {
  return row / size + sequence;
}

/// The sequence that tile `tile` belongs to: the last one whose first tile is
/// not after it; `sequences` for the rows that belong to none. Rows count
/// `group` for each unit of `offsets`, which are sequences + 1.
HK_DEV i64 raggedSequence(Global<const i32> offsets, i64 sequences, i64 group,
                          i64 size, i64 tile) {
  i64 lo = 0, hi = sequences;
  while (lo < hi) {
    i64 mid = (lo + hi + 1) / 2;
    if (raggedTile(offsets[mid] * group, size, mid) <= tile)
      lo = mid;
    else
      hi = mid - 1;
  }
  return lo;
}

} // namespace hk

#endif // HK_KERNELS_DEVICE_RAGGED_H
