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

#include "Puller.h"

using namespace mlir;
using namespace mlir::hk;

static RankedTensorType tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

void Puller::forEachSlice(Value input, Args position,
                          llvm::function_ref<void(Args inSlice)> body) {
  std::string s = out.freshName("s");
  out.open("HK_UNROLL_BY_8 for (i32 " + s + " = 0; " + s + " < " +
               Twine(tensorOf(input).getDimSize(0)) + "; ++" + s + ")",
           /*conditional=*/true);
  Position inSlice = {symbol(s)};
  llvm::append_range(inSlice, position);
  body(inSlice);
  out.close();
}

std::string Puller::pullSumSlices(SumSlicesOp op, Args position, int vec) {
  Value input = op.getInput();
  Type from = tensorOf(input).getElementType();
  Type to = tensorOf(op.getResult()).getElementType();
  std::string sum = out.freshName("v");
  out.line(vecText(from, vec) + " " + sum + " = 0;");
  forEachSlice(input, position, [&](Args inSlice) {
    out.line(sum + " += " + pull(input, inSlice, vec) + ";");
  });
  useDepth(out.depth());
  if (isa<FloatType>(to) && !isa<FloatType>(from))
    return roundText(to, vec,
                     "convertTo<float, " + Twine(vec) + ">(" + sum + ")");
  return isa<FloatType>(to) && !to.isF32() ? roundText(to, vec, sum) : sum;
}

std::string Puller::pullAttentionCombine(AttentionCombineOp op, bool lse,
                                         Args position, int vec) {
  // The log-sum-exp has one element per row: neighbours are other rows.
  if (lse && vec > 1)
    return pullByElement(op.getLse(), position, vec);
  Args row = lse ? position : position.drop_back();
  std::string zero = "Vec<float, " + std::to_string(vec) + ">(0.f)";
  std::string sum = out.freshName("c");
  out.line("SliceCombine<" + Twine(vec) + "> " + sum + ";");
  if (op.getSink())
    out.line(sum + ".add(" + pullScalar(op.getSink(), row.take_back()) + ", " +
             zero + ");");
  forEachSlice(op.getSliceLse(), row, [&](Args inSlice) {
    std::string weight = pullScalar(op.getSliceLse(), inSlice);
    std::string part = zero;
    if (!lse) {
      Position at(inSlice);
      at.push_back(position.back());
      part = pull(op.getPartials(), at, vec);
    }
    out.line(sum + ".add(" + weight + ", " + part + ");");
  });
  useDepth(out.depth());
  if (lse)
    return "Vec<float, 1>(" + sum + ".lse())";
  return roundText(tensorOf(op.getResult()).getElementType(), vec,
                   sum + ".value()");
}
