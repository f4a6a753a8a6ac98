//===- Rules.h - What a raising rule sees and says --------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rule looks at one operator, the last of a form, and says: nothing of mine,
// almost (with a reason), or this value is the same. It makes new operators and
// erases none: what nothing reads any more goes at the end.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_RAISE_RULES_H
#define HK_PASSES_RAISE_RULES_H

#include "hk/Analysis/DimSymbols.h"
#include "hk/Dialect/HK.h"
#include "hk/Families/Decision.h"

namespace mlir::hk::raise {

/// What a rule says of an operator.
struct Outcome {
  Value made;                     // in place of the root's result, or null
  std::optional<Verdict> refused; // a near miss

  static Outcome none() { return {}; }
  static Outcome raised(Value made) { return {made, std::nullopt}; }
  static Outcome miss(Reason reason, const Twine &detail) {
    return {Value(), Verdict::refuse(reason, detail)};
  }
};

/// What rules share: where they build, and which roundings count.
class Raiser {
public:
  Raiser(Block &block, bool dropRoundings)
      : b(block.getParentOp()->getContext()), block(block),
        dropRoundings(dropRoundings) {}

  OpBuilder b; // in front of the root

  /// Names of the sizes of all values of the block, as it is now.
  const DimSymbols &dims() {
    if (!known)
      known.emplace(block);
    return *known;
  }
  /// The block has new values.
  void invalidate() { known.reset(); }

  /// Whether the rounding of `value`, inside of a form, to its type does not
  /// count: f32, in which operators compute.
  bool mayDrop(Value value) const {
    return dropRoundings || elementOf(value).isF32();
  }
  static Type elementOf(Value value) {
    return cast<RankedTensorType>(value.getType()).getElementType();
  }

private:
  Block &block;
  std::optional<DimSymbols> known;
  bool dropRoundings;
};

struct Rule {
  const char *makes; // for records: "become hk.rms_norm"
  Outcome (*apply)(Raiser &, Operation *root);
  /// What it makes gives the same bits, whatever the values are.
  bool isExact = false;
};

// One list per family, in the order in which they are tried. Families are tried
// in this order, too, on every operator of the block from first to last.
ArrayRef<Rule> viewRules();
ArrayRef<Rule> normRules();
ArrayRef<Rule> activationRules();
ArrayRef<Rule> rotaryRules();
ArrayRef<Rule> quantisationRules();
ArrayRef<Rule> routingRules();
ArrayRef<Rule> softmaxRules();
ArrayRef<Rule> attentionRules();
ArrayRef<Rule> maskRules();

} // namespace mlir::hk::raise

#endif // HK_PASSES_RAISE_RULES_H
