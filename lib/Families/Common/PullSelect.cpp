//===- PullSelect.cpp - Pulling selections --------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What follows a selection: elements at selected places and their bit matrix.
// An element at an index is pulled there, so that what computes it runs for the
// selected places only.
//
//===----------------------------------------------------------------------===//

#include "Puller.h"

using namespace mlir;
using namespace mlir::hk;

static Type elementTypeOf(Value value) {
  return cast<ShapedType>(value.getType()).getElementType();
}

std::string Puller::pullGatherLast(GatherLastOp op, Args position, int vec) {
  if (vec > 1)
    return pullByElement(op.getResult(), position, vec);
  int depth = out.depth();
  std::string n = text(sizeOf(op.getInput(), int64_t(position.size()) - 1));
  std::string index = pullScalar(op.getIndices(), position);
  std::string place = out.define(depth, "i64", "at",
                                 index + " >= 0 && " + index + " < i64(" + n +
                                     ") ? i64(" + index + ") : -1");
  Position source(position);
  source.back() = symbol(place, depth);
  std::string name = out.freshName("v");
  out.line(vecText(elementTypeOf(op.getResult()), 1) + " " + name + " = 0;");
  out.open("if (" + place + " >= 0)", /*conditional=*/true);
  out.line(name + " = " + pull(op.getInput(), source, 1) + ";");
  out.close();
  return name;
}

std::string Puller::pullBitmatrix(BitmatrixOp op, Args position, int vec) {
  std::string saved = getLaneCount();
  setLaneCount("");
  std::string name = out.freshName("v"), j = out.freshName("j");
  out.line(vecText(elementTypeOf(op.getResult()), vec) + " " + name + " = 0;");
  int64_t k =
      cast<RankedTensorType>(op.getIndices().getType()).getShape().back();
  out.open("for (i32 " + j + " = 0; " + j + " < " + Twine(k) + "; ++" + j + ")",
           /*conditional=*/true);
  Position source(position);
  source.back() = symbol(j);
  std::string index = pullScalar(op.getIndices(), source);
  out.line("setBit<" + Twine(vec) + ">(" + name + ", i64(" + index + "), i64(" +
           text(position.back()) + "));");
  out.close();
  setLaneCount(saved);
  return name;
}

std::string Puller::pullGroupLimit(GroupLimitOp op, Args position, int vec) {
  std::string kept = keptGroups(op);
  int64_t n = cast<RankedTensorType>(op.getInput().getType()).getShape().back();
  return "keepGroups<" + std::to_string(vec) + ">(" +
         pull(op.getInput(), position, vec) + ", " + kept + ", u32(" +
         text(position.back()) + "), " + std::to_string(n / op.getGroups()) +
         ")";
}

std::string Puller::keptGroups(GroupLimitOp) {
  llvm_unreachable("this family has no selections");
}
