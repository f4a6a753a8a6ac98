//===- ShardFactors.h - How operators are cut between ranks -----*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator names its factors: things that its tensors count along their dims
// and that ranks may share among them. The columns of a product are a factor,
// in its right operand and in its result; k is one, in both operands, over
// which results are summed. A factor may lie in a part of a dim only, as in a
// concatenation, and each of its steps may be several elements, as a head is.
// A dim that is in no factor is needed whole.
//
//===----------------------------------------------------------------------===//

#ifndef HK_DIALECT_SHARDFACTORS_H
#define HK_DIALECT_SHARDFACTORS_H

#include "hk/Dialect/HK.h"
#include "hk/Dialect/ShapeRelations.h"

namespace mlir::hk {

enum class FactorKind {
  Parallel, // steps are computed by themselves
  Sum,      // the result is the sum over the steps
  Rows,     // an operand of numbers says which steps are read
  Groups,   // the same, and the steps are matrices of a grouped product
};

/// Where a factor lies: elements [offset, offset + steps * unit) of a dim.
struct FactorPlace {
  Value value; // an operand or a result
  int64_t dim = 0;
  int64_t offset = 0, unit = 1;
  /// Where there are fewer steps than ranks, neighbouring ranks have copies of
  /// one; other places of the factor are then cut inside of a step.
  bool mayCopy = false;
};

struct ShardFactor {
  FactorKind kind = FactorKind::Parallel;
  std::string what;  // what is counted, for people: "heads"
  int64_t steps = 0; // or dynamic
  SmallVector<FactorPlace> places;
  /// What the first place counts, for people, where others may be copies.
  std::string readers = "queries'";
  /// Of Rows and Groups: the numbers of steps.
  Value numbers{};
  /// Of Groups: they are bounds of places instead, places are the rows of the
  /// result, and `order`, if there is one, says which rows they read.
  bool numbersAreBounds = false;
  Value order{};
  /// Of Groups: an operand whose rows have groups as those of the result do.
  Value groupedRows{};
};

class ShardFactors {
public:
  /// Adds a factor and returns it. What has no value (an absent operand) is
  /// left out.
  ShardFactor &add(FactorKind kind, StringRef what, int64_t steps,
                   ArrayRef<FactorPlace> places);
  ArrayRef<ShardFactor> get() const { return factors; }

private:
  std::vector<ShardFactor> factors;
};

} // namespace mlir::hk

#endif // HK_DIALECT_SHARDFACTORS_H
