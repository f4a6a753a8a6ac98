//===- PullRowOps.cpp - Pulling operators that know their row -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Norms, softmax, gated activations. What they need of a whole row comes from
// statistic().
//
//===----------------------------------------------------------------------===//

#include "PullTable.h"

#include <cmath>

using namespace mlir;
using namespace mlir::hk;

static Type elementTypeOf(Value value) {
  return cast<ShapedType>(value.getType()).getElementType();
}

static Expr rowStatistic(Puller &p, Operation *op, Value input,
                         RowReduction kind, Puller::Args position, int vec) {
  return p.statistic(op, input, kind, 0, position.drop_back(), p.constant(0),
                     position, vec);
}

/// `value`, which depends on a statistic only: once per row or segment.
static Expr oncePerRow(Puller &p, const Expr &value) {
  return p.defineOnce("f", value);
}

/// `x` less a number of its row, by pairs where the target subtracts them. For
/// few elements copying the number to a pair costs more than that spares.
static Expr lessThat(const Expr &x, const Expr &ofRow) {
  constexpr int kLeastLanes = 8;
  if (x.type.lanes < kLeastLanes)
    return x - ofRow;
  return call("difference", {x, splat(x.type, ofRow)});
}

/// The mean of what was summed over the last dim of `input`.
static Expr meanOf(Puller &p, const Expr &sum, Value input) {
  int64_t last = cast<ShapedType>(input.getType()).getRank() - 1;
  return call("meanOf", {sum, {p.text(p.sizeOf(input, last)), {"i64"}}});
}

static Expr centre(Puller &p, Operation *op, Value input, Puller::Args position,
                   int vec) {
  return oncePerRow(
      p, meanOf(p, rowStatistic(p, op, input, RowReduction::Sum, position, vec),
                input));
}

Expr Puller::statisticTerm(Operation *op, Value input, RowReduction kind,
                           Args position, int vec) {
  std::string tag = key(input, position, vec, "exp");
  if (kind == RowReduction::SumOfExp)
    if (const Expr *known = out.recall(tag))
      return *known;
  Expr x = pull(input, position, vec);
  switch (kind) {
  case RowReduction::Sum:
  case RowReduction::Maximum:
  case RowReduction::Minimum:
    return x;
  case RowReduction::SumOfSquares:
    return x * x;
  case RowReduction::AbsMaximum:
    return call("abs", x);
  case RowReduction::SumOfCentredSquares:
    return call("square", lessThat(x, centre(*this, op, input, position, vec)));
  case RowReduction::SumOfExp: {
    Expr max =
        rowStatistic(*this, op, input, RowReduction::Maximum, position, vec);
    Expr e = call("expNegative", lessThat(x, max));
    e = out.define(placeOf(e, position, vec), "v", e);
    out.remember(tag, e);
    return e;
  }
  }
  llvm_unreachable("every statistic is listed");
}

/// `1 / sqrt(x + epsilon)` of a row.
static Expr rsqrtOf(Puller &p, const Expr &x, const APFloat &epsilon) {
  return oncePerRow(p, call("rsqrtOf", x + literal(epsilon.convertToDouble())));
}

static Expr pullRmsNorm(Puller &p, RmsNormOp op, Puller::Args position,
                        int vec) {
  Type type = elementTypeOf(op.getResult());
  Expr x = p.pull(op.getInput(), position, vec);
  Expr sum = rowStatistic(p, op, op.getInput(), RowReduction::SumOfSquares,
                          position, vec);
  Expr y = x * rsqrtOf(p, meanOf(p, sum, op.getInput()), op.getEpsilon());
  if (op.getRoundBeforeWeight())
    y = rounded(type, y);
  if (Value weight = op.getWeight()) {
    Expr w = p.pull(weight, position.take_back(), vec);
    double offset = op.getWeightOffset().convertToDouble();
    y = y * (offset == 0 ? w : literal(offset) + w);
  }
  return rounded(type, y);
}

static Expr pullL2Norm(Puller &p, L2NormOp op, Puller::Args position, int vec) {
  Expr x = p.pull(op.getInput(), position, vec);
  Expr sum = rowStatistic(p, op, op.getInput(), RowReduction::SumOfSquares,
                          position, vec);
  return rounded(elementTypeOf(op.getResult()),
                 x * rsqrtOf(p, sum, op.getEpsilon()));
}

static Expr pullLayerNorm(Puller &p, LayerNormOp op, Puller::Args position,
                          int vec) {
  Value input = op.getInput();
  Expr x = p.pull(input, position, vec);
  Expr mean = centre(p, op, input, position, vec);
  Expr sum = rowStatistic(p, op, input, RowReduction::SumOfCentredSquares,
                          position, vec);
  Expr r = rsqrtOf(p, meanOf(p, sum, input), op.getEpsilon());
  Expr w = p.pull(op.getWeight(), position.take_back(), vec);
  Expr b = p.pull(op.getBias(), position.take_back(), vec);
  return rounded(elementTypeOf(op.getResult()), lessThat(x, mean) * r * w + b);
}

static Expr pullReduce(Puller &p, ReduceOp op, Puller::Args position, int vec) {
  Type type = elementTypeOf(op.getResult());
  Puller::Args leading = position.drop_back(op.getDims());
  auto reduce = [&](RowReduction kind) {
    return p.statistic(op, op.getInput(), kind, 0, leading, p.constant(0), {},
                       1);
  };
  Expr value;
  switch (op.getKind()) {
  case ReduceKind::sum:
    value = reduce(RowReduction::Sum);
    break;
  case ReduceKind::max:
    value = reduce(RowReduction::Maximum);
    break;
  case ReduceKind::min:
    value = reduce(RowReduction::Minimum);
    break;
  case ReduceKind::absmax:
    // 0 over no elements; the order keeps NaN.
    value = call("Max::apply",
                 {reduce(RowReduction::AbsMaximum), {"0.f", {"float"}}});
    break;
  }
  return rounded(type, splat(carrierOf(type, vec), value));
}

static Expr pullSoftmax(Puller &p, SoftmaxOp op, Puller::Args position,
                        int vec) {
  Value input = op.getInput();
  Expr sum = rowStatistic(p, op, input, RowReduction::SumOfExp, position, vec);
  Expr e = p.statisticTerm(op, input, RowReduction::SumOfExp, position, vec);
  Expr r = oncePerRow(p, Expr{"1.f", {"float"}} / sum);
  return rounded(elementTypeOf(op.getResult()), e * r);
}

/// The function of `runtime/kernels/device/math.h` that is the gate's
/// activation.
static StringRef activationName(GateKind kind) {
  switch (kind) {
  case GateKind::silu:
    return "silu";
  case GateKind::gelu:
    return "gelu";
  case GateKind::gelu_tanh:
    return "geluTanh";
  case GateKind::relu:
    return "relu";
  case GateKind::swiglu_oai:
    break; // not a factor of its own
  }
  llvm_unreachable("swiglu_oai is emitted whole");
}

static Expr pullGated(Puller &p, GatedActivationOp op, Puller::Args position,
                      int vec) {
  // Neighbours in the input are not neighbours in the result.
  if (op.getInterleaved() && vec > 1)
    return p.pullByElement(op.getResult(), position, vec);
  Position lower(position), upper(position);
  if (op.getInterleaved()) {
    lower.back() = p.simplify(lower.back() * 2);
    upper.back() = p.simplify(lower.back() + 1);
  } else {
    upper.back() = p.simplify(
        upper.back() + p.sizeOf(op.getResult(), int64_t(position.size()) - 1));
  }
  Expr gate = p.pull(op.getInput(), lower, vec);
  Expr up = p.pull(op.getInput(), upper, vec);
  if (auto bound = op.getLimit()) {
    Expr limit = literal(bound->convertToDouble());
    gate = call("limit", {gate, literal(-INFINITY), limit});
    up = call("limit", {up, -limit, limit});
  }
  Type type = elementTypeOf(op.getResult());
  if (op.getKind() == GateKind::swiglu_oai)
    return rounded(type, call("swigluOai", {gate, up}));
  Expr y = call(activationName(op.getKind()), gate);
  if (op.getRoundBeforeUp())
    y = rounded(elementTypeOf(op.getInput()), y);
  return rounded(type, y * up);
}

void mlir::hk::addRowPulls(PullTable &table) {
  table.add(pullRmsNorm);
  table.add(pullL2Norm);
  table.add(pullLayerNorm);
  table.add(pullReduce);
  table.add(pullSoftmax);
  table.add(pullGated);
}
