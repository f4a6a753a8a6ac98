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
Verdict joinsSteps(ArrayRef<Operation *> group, Operation *op,
                   const ::hk::Target &target);

/// Whether rows of all tensors are 16-bit elements of one type, and whole
/// fragments.
bool suitsMatrixUnits(const GatedDeltaPlan &plan, const ::hk::Target &target);

/// A value in LDS: for every token of the chunk `columns` elements.
struct GatedDeltaLink {
  Value value;
  int64_t columns, place;
};

/// Links, where each step has its own LDS, and where a template has it that
/// computes all of them at once, if there is one.
struct GatedDeltaLayout {
  SmallVector<GatedDeltaLink> links;
  SmallVector<int64_t> places;
  std::optional<int64_t> together;
  int64_t bytes = 0;

  const GatedDeltaLink *linkOf(Value value) const;
  /// The tile with which a step computes in blocks of tile `whole`: on vector
  /// units where it only stands by for what computes all steps at once.
  ::hk::GatedDeltaTile tileOf(const GatedDeltaPlan &step,
                              const ::hk::Target &target,
                              const ::hk::GatedDeltaTile &whole) const;
};

/// The same for blocks that compute one step after the other.
::hk::GatedDeltaTile tileOfStep(const GatedDeltaPlan &step,
                                const ::hk::Target &target,
                                const ::hk::GatedDeltaTile &whole);

GatedDeltaLayout layoutOf(ArrayRef<GatedDeltaPlan> steps,
                          const ::hk::Target &target,
                          const ::hk::GatedDeltaTile &whole);

} // namespace mlir::hk

#endif // HK_FAMILIES_GATEDDELTA_GATEDDELTASTEPS_H
