//===- GatedDeltaSteps.h - Operators that share a block -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block that has a chunk of a head can compute several operators on it, one
// after the other, each by its own kernel template. What one makes for another
// (a link) stays in LDS; it goes to memory only if something else reads it.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_GATEDDELTA_GATEDDELTASTEPS_H
#define HK_FAMILIES_GATEDDELTA_GATEDDELTASTEPS_H

#include "GatedDeltaPlan.h"

namespace mlir::hk {

/// Whether `op` can be one step more of the kernel of `group`.
Verdict joinsSteps(ArrayRef<Operation *> group, Operation *op);

/// A value in LDS: for every token of the chunk `columns` elements.
struct GatedDeltaLink {
  Value value;
  int64_t columns, place;
};

/// Links, and where each step has its own LDS.
struct GatedDeltaLayout {
  SmallVector<GatedDeltaLink> links;
  SmallVector<int64_t> places;
  int64_t bytes = 0;

  const GatedDeltaLink *linkOf(Value value) const;
};

/// The tile with which a step computes in blocks of tile `whole`.
::hk::GatedDeltaTile tileOfStep(const GatedDeltaPlan &step,
                                const ::hk::Target &target,
                                const ::hk::GatedDeltaTile &whole);

GatedDeltaLayout layoutOf(ArrayRef<GatedDeltaPlan> steps,
                          const ::hk::Target &target,
                          const ::hk::GatedDeltaTile &whole);

} // namespace mlir::hk

#endif // HK_FAMILIES_GATEDDELTA_GATEDDELTASTEPS_H
