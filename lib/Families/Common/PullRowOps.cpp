//===- PullRowOps.cpp - Pulling operators that know their row -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Norms, softmax, gated activations, rotary embedding. What they need of a
// whole row comes from statistic().
//
//===----------------------------------------------------------------------===//

#include "Puller.h"

using namespace mlir;
using namespace mlir::hk;

static Type elementTypeOf(Value value) {
  return cast<ShapedType>(value.getType()).getElementType();
}

std::string Puller::rowStatistic(Operation *op, Value input, StatKind kind,
                                 Args position, int vec) {
  return statistic(op, input, kind, 0, position.drop_back(), constant(0),
                   position, vec);
}

std::string Puller::statisticTerm(Operation *op, Value input, StatKind kind,
                                  Args position, int vec) {
  std::string v = std::to_string(vec);
  std::string x;
  if (kind != StatKind::SumOfExp)
    x = pull(input, position, vec);
  switch (kind) {
  case StatKind::Sum:
  case StatKind::Maximum:
    return x;
  case StatKind::SumOfSquares:
    return x + " * " + x;
  case StatKind::AbsMaximum:
    return "abs<" + v + ">(" + x + ")";
  case StatKind::SumOfCentredSquares: {
    std::string mean = centre(op, input, position, vec);
    return "square<" + v + ">(" + x + " - " + mean + ")";
  }
  case StatKind::SumOfExp: {
    std::string tag = key(input, position, vec, "exp");
    if (out.recall(tag).empty()) {
      x = pull(input, position, vec);
      std::string max =
          rowStatistic(op, input, StatKind::Maximum, position, vec);
      int depth = placeOf(position, vec);
      out.remember(depth, tag,
                   out.define(depth, "Vec<float, " + v + ">", "v",
                              "exp<" + v + ">(" + x + " - " + max + ")"));
    }
    return out.recall(tag).str();
  }
  }
  llvm_unreachable("every statistic is listed");
}

/// The value of `make`, computed once per row (or segment) of `position`.
static std::string oncePerRow(CodeWriter &out, const std::string &key,
                              int depth,
                              llvm::function_ref<std::string()> make) {
  if (out.recall(key).empty())
    out.remember(depth, key, out.define(depth, "float", "f", make()));
  return out.recall(key).str();
}

std::string Puller::centre(Operation *op, Value input, Args position, int vec) {
  std::string sum = rowStatistic(op, input, StatKind::Sum, position, vec);
  std::string n = text(sizeOf(input, int64_t(position.size()) - 1));
  return oncePerRow(out, "mean " + sum, depthOfScalar(sum),
                    [&] { return sum + " / float(" + n + ")"; });
}

std::string Puller::pullRmsNorm(RmsNormOp op, Args position, int vec) {
  Type type = elementTypeOf(op.getResult());
  std::string x = pull(op.getInput(), position, vec);
  std::string sum =
      rowStatistic(op, op.getInput(), StatKind::SumOfSquares, position, vec);
  std::string n = text(sizeOf(op.getInput(), int64_t(position.size()) - 1));
  double epsilon = op.getEpsilon().convertToDouble();
  std::string r = oncePerRow(out, "rms " + sum + floatText(epsilon),
                             depthOfScalar(sum), [&] {
                               return "rsqrtOf(" + sum + " / float(" + n +
                                      ") + " + floatText(epsilon) + ")";
                             });
  std::string y = x + " * " + r;
  if (op.getRoundBeforeWeight())
    y = roundText(type, vec, y);
  if (Value weight = op.getWeight()) {
    std::string w = pull(weight, position.take_back(), vec);
    double offset = op.getWeightOffset().convertToDouble();
    y = y + " * " +
        (offset == 0 ? w : "(" + floatText(offset) + " + " + w + ")");
  }
  return roundText(type, vec, y);
}

std::string Puller::pullL2Norm(L2NormOp op, Args position, int vec) {
  std::string x = pull(op.getInput(), position, vec);
  std::string sum =
      rowStatistic(op, op.getInput(), StatKind::SumOfSquares, position, vec);
  std::string epsilon = floatText(op.getEpsilon().convertToDouble());
  std::string r =
      oncePerRow(out, "l2 " + sum + epsilon, depthOfScalar(sum),
                 [&] { return "rsqrtOf(" + sum + " + " + epsilon + ")"; });
  return roundText(elementTypeOf(op.getResult()), vec, x + " * " + r);
}

std::string Puller::pullLayerNorm(LayerNormOp op, Args position, int vec) {
  Value input = op.getInput();
  std::string x = pull(input, position, vec);
  std::string mean = centre(op, input, position, vec);
  std::string sum =
      rowStatistic(op, input, StatKind::SumOfCentredSquares, position, vec);
  std::string n = text(sizeOf(input, int64_t(position.size()) - 1));
  std::string epsilon = floatText(op.getEpsilon().convertToDouble());
  std::string r =
      oncePerRow(out, "ln " + sum + epsilon, depthOfScalar(sum), [&] {
        return "rsqrtOf(" + sum + " / float(" + n + ") + " + epsilon + ")";
      });
  std::string w = pull(op.getWeight(), position.take_back(), vec);
  std::string b = pull(op.getBias(), position.take_back(), vec);
  return roundText(elementTypeOf(op.getResult()), vec,
                   "(" + x + " - " + mean + ") * " + r + " * " + w + " + " + b);
}

std::string Puller::pullReduce(ReduceOp op, Args position) {
  StatKind kind =
      op.getKind() == ReduceKind::sum ? StatKind::Sum : StatKind::Maximum;
  std::string value =
      statistic(op, op.getInput(), kind, 0, position.drop_back(), constant(0),
                /*position=*/{}, /*vec=*/1);
  return roundText(elementTypeOf(op.getResult()), 1,
                   "Vec<float, 1>(" + value + ")");
}

std::string Puller::pullSoftmax(SoftmaxOp op, Args position, int vec) {
  Value input = op.getInput();
  std::string sum = rowStatistic(op, input, StatKind::SumOfExp, position, vec);
  std::string e = statisticTerm(op, input, StatKind::SumOfExp, position, vec);
  std::string r = oncePerRow(out, "inverse " + sum, depthOfScalar(sum),
                             [&] { return "1.f / " + sum; });
  return roundText(elementTypeOf(op.getResult()), vec, e + " * " + r);
}

std::string Puller::pullGated(GatedActivationOp op, Args position, int vec) {
  Position upper(position);
  upper.back() = simplify(upper.back() +
                          sizeOf(op.getResult(), int64_t(position.size()) - 1));
  std::string gate = pull(op.getInput(), position, vec);
  std::string up = pull(op.getInput(), upper, vec);
  std::string v = std::to_string(vec);
  if (auto limit = op.getLimit()) {
    std::string l = floatText(limit->convertToDouble());
    std::string infinity = "-__builtin_inff()";
    gate = "limit<" + v + ">(" + gate + ", " + infinity + ", " + l + ")";
    up = "limit<" + v + ">(" + up + ", -" + l + ", " + l + ")";
  }
  std::string y;
  switch (op.getKind()) {
  case GateKind::silu:
    y = "silu<" + v + ">(" + gate + ") * " + up;
    break;
  case GateKind::gelu:
    y = "gelu<" + v + ">(" + gate + ") * " + up;
    break;
  case GateKind::gelu_tanh:
    y = "geluTanh<" + v + ">(" + gate + ") * " + up;
    break;
  case GateKind::relu:
    y = "relu<" + v + ">(" + gate + ") * " + up;
    break;
  case GateKind::swiglu_oai:
    y = "swigluOai<" + v + ">(" + gate + ", " + up + ")";
    break;
  }
  return roundText(elementTypeOf(op.getResult()), vec, y);
}

std::string Puller::pullRope(RopeOp op, Args position, int vec) {
  int64_t rank = position.size();
  int64_t head =
      cast<RankedTensorType>(op.getInput().getType()).getDimSize(rank - 1);
  int64_t rotary = op.getRotarySize(), half = rotary / 2;
  int64_t first = op.getNopeFirst() ? head - rotary : 0;
  bool neox = op.getStyle() == RopeStyle::neox;
  bool perElement = op.getAnglePerElement();
  AffineExpr d = position.back();
  bool wholeChunks = d.isMultipleOf(vec) && first % vec == 0 &&
                     rotary % vec == 0 && (!neox || half % vec == 0);
  if (vec > 1 && !wholeChunks)
    return pullByElement(op.getResult(), position, vec);

  // The row of the tables, once per token; -1 if there is none.
  ArrayRef<AffineExpr> token = position.take_front(rank - 2);
  int depth = depthOf(token);
  std::string rows = text(sizeOf(op.getCos(), 0));
  std::string rowKey = key(op.getResult(), token, 1, "rope row");
  if (out.recall(rowKey).empty()) {
    std::string at = "i64(" + text(token[op.getPositionDim()]) + ")";
    if (op.getPositions())
      at = "i64(" + pullScalar(op.getPositions(), token) + ")";
    if (Value bounds = op.getBounds()) {
      // Matching admits constants and operands of the kernel only.
      auto constant = bounds.getDefiningOp<ConstantOp>();
      std::string list =
          constant
              ? tableOf(constant)
              : "p" +
                    std::to_string(cast<BlockArgument>(bounds).getArgNumber());
      at = "placeInSequence(" + list + ", i64(" + text(sizeOf(bounds, 0)) +
           "), " + at + ")";
    }
    if (op.getOffsets())
      at += " + i64(" + pullScalar(op.getOffsets(), token) + ")";
    std::string sum = out.define(depth, "i64", "at", at);
    out.remember(depth, rowKey,
                 out.define(depth, "i64", "row",
                            sum + " >= 0 && " + sum + " < i64(" + rows +
                                ") ? " + sum + " : -1"));
  }
  std::string row = out.recall(rowKey).str();

  Type type = elementTypeOf(op.getResult());
  std::string x = pull(op.getInput(), position, vec);
  std::string name = out.freshName("v");
  out.line(vecText(type, vec) + " " + name + " = " + x + ";");
  AffineExpr j = simplify(d - first);
  std::string inside = row + " >= 0";
  if (first > 0)
    inside += " && " + text(d) + " >= " + std::to_string(first);
  if (first + rotary < head)
    inside += " && " + text(d) + " < " + std::to_string(first + rotary);
  out.open("if (" + inside + ")", /*conditional=*/true);
  std::string v = std::to_string(vec);

  Position angle = {symbol(row, depth), j};
  auto pullAngle = [&](Value table) {
    if (perElement)
      return pull(table, angle, vec);
    Position own(angle);
    if (neox) {
      own.back() = simplify(j % half);
      return pull(table, own, vec);
    }
    own.back() = simplify(j.floorDiv(2));
    if (vec == 1)
      return pull(table, own, 1);
    std::string shared = pull(table, own, vec / 2);
    return "repeatPairs<" + v + ">(" + shared + ")";
  };
  std::string cos = pullAngle(op.getCos());
  // The gradient takes the sine of the partner; only own angles tell.
  bool partnerSine = op.getInverse() && perElement;
  std::string sin, term;
  if (neox || vec == 1) {
    // sign = -1 in the first element of a pair, whose partner comes later.
    AffineExpr sign =
        neox ? defineIndex(out.depth(), "sign",
                           text(j) + " < " + Twine(half) + " ? -1 : 1")
             : defineIndex(out.depth(), "sign",
                           "(" + text(j) + " % 2) == 0 ? -1 : 1");
    AffineExpr step = sign * (neox ? half : 1);
    Position partner(position);
    partner.back() = simplify(d - step);
    std::string other = pull(op.getInput(), partner, vec);
    if (partnerSine)
      angle.back() = simplify(j - step);
    sin = pullAngle(op.getSin());
    term = "(float(" + text(sign) + ") * " + other + ") * " + sin;
  } else {
    sin = pullAngle(op.getSin());
    term = partnerSine ? "rotatePairs<" + v + ">(" + x + " * " + sin + ")"
                       : "(rotatePairs<" + v + ">(" + x + ")) * " + sin;
  }
  out.line(
      name + " = " +
      roundText(type, vec,
                x + " * " + cos + (op.getInverse() ? " - " : " + ") + term) +
      ";");
  out.close();
  return name;
}
