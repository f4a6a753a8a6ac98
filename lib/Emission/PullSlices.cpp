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

static std::string pullSumSlices(Puller &p, SumSlicesOp op,
                                 Puller::Args position, int vec) {
  Value input = op.getInput();
  Type from = tensorOf(input).getElementType();
  Type to = tensorOf(op.getResult()).getElementType();
  std::string sum = p.code().freshName("v");
  p.code().line(vecText(from, vec) + " " + sum + " = 0;");
  forEachSlice(p, input, position, [&](Puller::Args inSlice) {
    p.code().line(sum + " += " + p.pull(input, inSlice, vec) + ";");
  });
  p.useDepth(p.code().depth());
  if (isa<FloatType>(to) && !isa<FloatType>(from))
    return roundText(to, vec,
                     "convertTo<float, " + Twine(vec) + ">(" + sum + ")");
  return isa<FloatType>(to) && !to.isF32() ? roundText(to, vec, sum) : sum;
}

static std::string pullAttentionCombine(Puller &p, AttentionCombineOp op,
                                        bool lse, Puller::Args position,
                                        int vec) {
  // The log-sum-exp has one element per row: neighbours are other rows.
  if (lse && vec > 1)
    return p.pullByElement(op.getLse(), position, vec);
  Puller::Args row = lse ? position : position.drop_back();
  std::string zero = "Vec<float, " + std::to_string(vec) + ">(0.f)";
  std::string sum = p.code().freshName("c");
  p.code().line("SliceCombine<" + Twine(vec) + "> " + sum + ";");
  if (op.getSink())
    p.code().line(sum + ".add(" + p.pullScalar(op.getSink(), row.take_back()) +
                  ", " + zero + ");");
  auto add = [&](unsigned pair, Puller::Args inPart) {
    std::string weight = p.pullScalar(op.getPartLses()[pair], inPart);
    std::string part = zero;
    if (!lse) {
      Position at(inPart);
      at.push_back(position.back());
      part = p.pull(op.getPartials()[pair], at, vec);
    }
    p.code().line(sum + ".add(" + weight + ", " + part + ");");
  };
  for (unsigned pair = 0; pair < op.getPartials().size(); ++pair) {
    if (op.isSliced(pair))
      forEachSlice(p, op.getPartLses()[pair], row,
                   [&](Puller::Args inSlice) { add(pair, inSlice); });
    else
      add(pair, row);
  }
  p.useDepth(p.code().depth());
  if (lse)
    return "Vec<float, 1>(" + sum + ".lse())";
  return roundText(tensorOf(op.getResult()).getElementType(), vec,
                   sum + ".value()");
}

void mlir::hk::addSlicePulls(PullTable &table) {
  table.add(pullSumSlices);
  table.add(pullAttentionCombine);
}
