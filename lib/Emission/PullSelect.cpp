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

#include "PullTable.h"

using namespace mlir;
using namespace mlir::hk;

static Type elementTypeOf(Value value) {
  return cast<ShapedType>(value.getType()).getElementType();
}

static std::string pullGatherLast(Puller &p, GatherLastOp op,
                                  Puller::Args position, int vec) {
  if (vec > 1)
    return p.pullByElement(op.getResult(), position, vec);
  int depth = p.code().depth();
  std::string n = p.text(p.sizeOf(op.getInput(), int64_t(position.size()) - 1));
  std::string index = p.pullScalar(op.getIndices(), position);
  std::string place = p.code().define(depth, "i64", "at",
                                      index + " >= 0 && " + index + " < i64(" +
                                          n + ") ? i64(" + index + ") : -1");
  Position source(position);
  source.back() = p.symbol(place, depth);
  std::string name = p.code().freshName("v");
  p.code().line(vecText(elementTypeOf(op.getResult()), 1) + " " + name +
                " = 0;");
  p.code().openIf(place + " >= 0");
  p.code().line(name + " = " + p.pull(op.getInput(), source, 1) + ";");
  p.code().close();
  return name;
}

static std::string pullBitmatrix(Puller &p, BitmatrixOp op,
                                 Puller::Args position, int vec) {
  Expr saved = p.exchangeLanes({});
  std::string name = p.code().freshName("v"), j = p.code().freshName("j");
  p.code().line(vecText(elementTypeOf(op.getResult()), vec) + " " + name +
                " = 0;");
  int64_t k =
      cast<RankedTensorType>(op.getIndices().getType()).getShape().back();
  p.code().openEach("PLACE", j + ", " + Twine(k));
  Position source(position);
  source.back() = p.symbol(j);
  std::string index = p.pullScalar(op.getIndices(), source);
  p.code().line("setBit<" + Twine(vec) + ">(" + name + ", i64(" + index +
                "), i64(" + p.text(position.back()) + "));");
  p.code().close();
  p.exchangeLanes(std::move(saved));
  return name;
}

static std::string pullGroupLimit(Puller &p, GroupLimitOp op,
                                  Puller::Args position, int vec) {
  std::string kept = p.keptGroups(op), v = std::to_string(vec);
  int64_t n = cast<RankedTensorType>(op.getInput().getType()).getShape().back();
  auto keep = [&](const std::string &x) {
    return "keepGroups<" + v + ">(" + x + ", " + kept + ", u32(" +
           p.text(position.back()) + "), " +
           std::to_string(n / op.getGroups()) + ")";
  };
  std::string x = p.pull(op.getInput(), position, vec);
  if (op.getFill().isInfinity() && op.getFill().isNegative())
    return keep(x);
  // An element may be -inf: zeros tell which stay.
  std::string zero = "Vec<float, " + v + ">(0)";
  return "select<" + v + ">(convertTo<i32, " + v + ">(" + keep(zero) +
         " == " + zero + ") & 1, " + x + ", Vec<float, " + v + ">(" +
         floatText(op.getFill().convertToDouble()) + "))";
}

std::string Puller::keptGroups(GroupLimitOp) {
  llvm_unreachable("this family has no selections");
}

void mlir::hk::addSelectPulls(PullTable &table) {
  table.add(pullGatherLast);
  table.add(pullBitmatrix);
  table.add(pullGroupLimit);
}
