//===- PullSlices.cpp - Pulling the combination of partial results --------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Partial results have the slices in front; a position of the result is read in
// each of them, by a loop that keeps several loads in flight.
//
//===----------------------------------------------------------------------===//

#include "PullTable.h"

using namespace mlir;
using namespace mlir::hk;

static RankedTensorType tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static void forEachSlice(Puller &p, Value input, Puller::Args position,
                         llvm::function_ref<void(Puller::Args inSlice)> body) {
  std::string s = p.code().freshName("s");
  p.code().openEach("SLICE", s + ", " + Twine(tensorOf(input).getDimSize(0)));
  Position inSlice = {p.symbol(s)};
  llvm::append_range(inSlice, position);
  body(inSlice);
  p.code().close();
}

static Expr pullSumSlices(Puller &p, SumSlicesOp op, Puller::Args position,
                          int vec) {
  Value input = op.getInput();
  Type to = tensorOf(op.getResult()).getElementType();
  Expr sum =
      p.code().declare("v", carrierOf(tensorOf(input).getElementType(), vec));
  forEachSlice(p, input, position, [&](Puller::Args inSlice) {
    p.code().line(sum.text + " += " + p.pull(input, inSlice, vec).text + ";");
  });
  return isa<FloatType>(to) ? rounded(to, toFloat(sum)) : sum;
}

static Expr pullAttentionCombine(Puller &p, AttentionCombineOp op, bool lse,
                                 Puller::Args position, int vec) {
  // The log-sum-exp has one element per row: neighbours are other rows.
  if (lse && vec > 1)
    return p.pullByElement(op.getLse(), position, vec);
  Puller::Args row = lse ? position : position.drop_back();
  CType type = {"float", vec};
  Expr zero = splat(type, {"0.f", {"float"}});
  std::string sum = p.code().freshName("c");
  p.code().line("SliceCombine<" + Twine(vec) + "> " + sum + ";");
  auto addTo = [&](const Expr &weight, const Expr &part) {
    checkType(part, type, "a part that is combined");
    p.code().line(sum + ".add(" + weight.text + ", " + part.text + ");");
  };
  if (op.getSink())
    addTo(p.pullScalar(op.getSink(), row.take_back()), zero);
  auto add = [&](unsigned pair, Puller::Args inPart) {
    Expr weight = p.pullScalar(op.getPartLses()[pair], inPart);
    if (lse)
      return addTo(weight, zero);
    Position at(inPart);
    at.push_back(position.back());
    addTo(weight, p.pull(op.getPartials()[pair], at, vec));
  };
  for (unsigned pair = 0; pair < op.getPartials().size(); ++pair) {
    if (op.isSliced(pair))
      forEachSlice(p, op.getPartLses()[pair], row,
                   [&](Puller::Args inSlice) { add(pair, inSlice); });
    else
      add(pair, row);
  }
  int depth = p.code().depth();
  if (lse)
    return splat(type, {sum + ".lse()", {"float"}, depth});
  return rounded(tensorOf(op.getResult()).getElementType(),
                 {sum + ".value()", type, depth});
}

void mlir::hk::addSlicePulls(PullTable &table) {
  table.add(pullSumSlices);
  table.add(pullAttentionCombine);
}
