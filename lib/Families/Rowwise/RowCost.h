//===- RowCost.h - Modelled time of operators as one kernel -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What fusion asks before it makes one launch of two that nothing forces
// together: whether the kernel it would get is slower than both.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_ROWWISE_ROWCOST_H
#define HK_FAMILIES_ROWWISE_ROWCOST_H

#include "hk/Families/Family.h"

namespace mlir::hk {

class RowPlan;
struct RankedTile;

struct RowCost {
  /// Whether a block must hold whole rows.
  bool wholeRows = false;
  /// Rows, if that is static.
  std::optional<int64_t> rows;
  /// Up to this many rows get a tile of their own.
  int64_t fewRows = 0;
  struct Tile {
    double perRow = 0;  // microseconds, of many rows
    double latency = 0; // of a row, by the compute units that share it
    /// Per row that is alone in a block, of what it waits for: where a kernel
    /// has rows of several widths, for each but the widest.
    double wait = 0;
  } few, many;
  double launch = 0;

  double microseconds(int64_t numRows) const;
};

/// Time of `ops`, a valid group in topological order, as one row-wise kernel
/// with the tiles it would get; nullopt for widths that are not static.
std::optional<RowCost> costOf(ArrayRef<Operation *> ops,
                              const FusionContext &context);

/// Time of `rows` rows with a tile, but for the launch.
double rowMicroseconds(const RowPlan &plan, const ::hk::Target &target,
                       const RankedTile &ranked, int64_t rows);

/// Accepts `both`, the union of `a` and `b`, unless it is modelled to take
/// longer than one after the other: where the number of rows is not known,
/// both for one row and for many. `oneLaunch`: the two, of different widths,
/// may be problems of one launch, if both hold whole rows; then many rows
/// decide.
Verdict compareCosts(ArrayRef<Operation *> a, ArrayRef<Operation *> b,
                     ArrayRef<Operation *> both, const FusionContext &context,
                     bool oneLaunch = false);

/// Whether a kernel of `group` computes elements too often where `op`, which
/// reduces groups of a row, is added. Groups that end with the row, not with
/// lanes of a wave, are reduced by each thread for itself.
Verdict judgeRepeated(ArrayRef<Operation *> group, Operation *op,
                      const FusionContext &context);

} // namespace mlir::hk

#endif // HK_FAMILIES_ROWWISE_ROWCOST_H
