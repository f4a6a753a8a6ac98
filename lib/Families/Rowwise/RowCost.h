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

struct RowCost {
  /// Of one launch, for the rows there are; for 4096 where that is unknown.
  double microseconds = 0;
  /// Whether a block must hold whole rows.
  bool wholeRows = false;
};

/// Time of `ops`, a valid group in topological order, as one row-wise kernel
/// with the tile it would get; nullopt for widths that are not static.
std::optional<RowCost> costOf(ArrayRef<Operation *> ops,
                              const FusionContext &context);

/// Accepts `both`, the union of `a` and `b`, unless it is modelled to take
/// longer than one after the other.
Verdict compareCosts(ArrayRef<Operation *> a, ArrayRef<Operation *> b,
                     ArrayRef<Operation *> both, const FusionContext &context);

} // namespace mlir::hk

#endif // HK_FAMILIES_ROWWISE_ROWCOST_H
