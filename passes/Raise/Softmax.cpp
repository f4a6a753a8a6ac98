//===- Softmax.cpp - Softmax out of exp, sums and quotients ---------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written by hand, a softmax is e / sum(e) of e = exp(x - max(x)).
//
//===----------------------------------------------------------------------===//

#include "Raise/Forms.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::raise;

/// e of e / sum(e) or e * (1 / sum(e)), and the sum; nullopt if `root` is none.
static std::optional<std::pair<Value, ReduceOp>> quotientOf(Operation *root) {
  for (unsigned i : {0, 1}) {
    Value sum = isa<DivOp, MulOp>(root) ? root->getOperand(1 - i) : Value();
    if (!sum || (isa<DivOp>(root) && i == 1))
      return std::nullopt;
    if (isa<MulOp>(root)) {
      auto reciprocal = sum.getDefiningOp<ReciprocalOp>();
      if (!reciprocal || !Raiser::elementOf(sum).isF32())
        continue;
      sum = reciprocal.getInput();
    }
    ReduceOp reduce = reducedBy(sum, ReduceKind::sum);
    if (reduce && reduce.getInput() == root->getOperand(i))
      return std::pair(root->getOperand(i), reduce);
  }
  return std::nullopt;
}

static Outcome softmax(Raiser &raiser, Operation *root) {
  auto quotient = quotientOf(root);
  auto exp = quotient ? quotient->first.getDefiningOp<ExpOp>() : ExpOp();
  if (!exp)
    return Outcome::none();
  auto sub = exp.getInput().getDefiningOp<SubOp>();
  ReduceOp maximum =
      sub ? reducedBy(sub.getRhs(), ReduceKind::max) : ReduceOp();
  if (!maximum || maximum.getInput() != sub.getLhs())
    return Outcome::miss(Reason::OtherFormula,
                         "exp is not of x - max(x), and exceeds f32 where x is "
                         "large");
  for (Value between : {exp.getResult(), quotient->second.getResult(),
                        sub.getResult(), maximum.getResult()})
    if (!raiser.mayDrop(between))
      return Outcome::miss(Reason::RoundsBetween, "its parts are rounded");
  return Outcome::raised(SoftmaxOp::create(
      raiser.b, root->getLoc(), root->getResult(0).getType(), sub.getLhs()));
}

ArrayRef<Rule> raise::softmaxRules() {
  static const Rule rules[] = {{"hk.softmax", softmax}};
  return rules;
}
