//===- Masks.h - Which keys a query sees ------------------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Masks as graphs write them, and as hk.attention has them: attributes for what
// follows from positions, a score region for what is read.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_RAISE_MASKS_H
#define HK_PASSES_RAISE_MASKS_H

#include "Raise/PlaceFormula.h"
#include "Raise/Rules.h"

namespace mlir::hk::raise {

/// The coordinates of scores: sequence, head, query and key.
enum Coordinate : int64_t { kSequence, kHead, kQuery, kKey };

/// One tensor that decides about scores.
struct Mask {
  enum class Kind { Added, Seen, Hidden }; // s + m, m ? s : fill, m ? fill : s
  Kind kind;
  Value value;               // broadcasts to `index`
  SmallVector<Affine> index; // of `value`, one coordinate or number per dim
  double fill = 0;           // of Seen and Hidden
};

/// `value`, of at most four dims, as it broadcasts to scores.
Mask maskOf(Mask::Kind kind, Value value, double fill);

/// What attributes say, and what is left for the score region.
struct MaskPlan {
  bool causal = false;
  std::optional<int64_t> windowLeft, windowRight;
  struct Entry {
    Mask::Kind kind;
    double fill = 0;            // Added: what is added
    SmallVector<Condition> all; // tables that must hold; Hidden: must not
    Value added;                // or a table that is added as it is
    SmallVector<Affine> index;
  };
  SmallVector<Entry> region;
  /// Operands that the region reads.
  SmallVector<Value> tables() const;
};

/// Plans masks over scores of these sizes (sequences, heads, queries, keys).
/// The last one is the first that is applied.
/// Refused where an element is none of a tensor that is there.
FailureOr<MaskPlan> planMasks(Raiser &raiser, ArrayRef<Mask> masks,
                              ArrayRef<DimName> sizes);

/// Writes the region of `op`, which reads `plan.tables()`.
void writeScore(OpBuilder &b, AttentionOp op, const MaskPlan &plan);

} // namespace mlir::hk::raise

#endif // HK_PASSES_RAISE_MASKS_H
