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

static Expr pullGatherLast(Puller &p, GatherLastOp op, Puller::Args position,
                           int vec) {
  if (vec > 1)
    return p.pullByElement(op.getResult(), position, vec);
  std::string n = p.text(p.sizeOf(op.getInput(), int64_t(position.size()) - 1));
  Expr index = p.pullScalar(op.getIndices(), position);
  Expr place = p.defineExisting("at", p.code().depth(), index, n);
  Position source(position);
  source.back() = p.symbol(place.text);
  Expr made =
      p.code().declare("v", carrierOf(elementTypeOf(op.getResult()), 1));
  p.code().openIf(place.text + " >= 0");
  p.code().assign(made, p.pull(op.getInput(), source, 1));
  p.code().close();
  return made;
}

static Expr pullBitmatrix(Puller &p, BitmatrixOp op, Puller::Args position,
                          int vec) {
  Expr saved = p.exchangeLanes({});
  Expr made =
      p.code().declare("v", carrierOf(elementTypeOf(op.getResult()), vec));
  std::string j = p.code().freshName("j");
  int64_t k =
      cast<RankedTensorType>(op.getIndices().getType()).getShape().back();
  p.code().openEach("PLACE", j + ", " + Twine(k));
  Position source(position);
  source.back() = p.symbol(j);
  Expr index = scalarCast("i64", p.pullScalar(op.getIndices(), source));
  Expr first = {"i64(" + p.text(position.back()) + ")", {"i64"}};
  p.code().line(call("setBit", {made, index, first}).text + ";");
  p.code().close();
  p.exchangeLanes(std::move(saved));
  return made;
}

static Expr pullGroupLimit(Puller &p, GroupLimitOp op, Puller::Args position,
                           int vec) {
  Expr kept = p.keptGroups(op);
  int64_t n = cast<RankedTensorType>(op.getInput().getType()).getShape().back();
  Expr first = {"u32(" + p.text(position.back()) + ")", {"u32"}};
  Expr width = {std::to_string(n / op.getGroups()), {"i32"}};
  auto keep = [&](const Expr &x) {
    return call("keepGroups", {x, kept, first, width});
  };
  Expr x = p.pull(op.getInput(), position, vec);
  if (op.getFill().isInfinity() && op.getFill().isNegative())
    return keep(x);
  // An element may be -inf: zeros tell which stay.
  Expr zero = splat(x.type, literal(0));
  Expr fill = splat(x.type, literal(op.getFill().convertToDouble()));
  return call("select", {flagOf(infix(keep(zero), " == ", zero)), x, fill},
              x.type.element);
}

Expr Puller::keptGroups(GroupLimitOp) {
  llvm_unreachable("this family has no selections");
}

void mlir::hk::addSelectPulls(PullTable &table) {
  table.add(pullGatherLast);
  table.add(pullBitmatrix);
  table.add(pullGroupLimit);
}
