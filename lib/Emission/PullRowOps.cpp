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

#include "PullTable.h"

#include "llvm/Support/MathExtras.h"

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

/// `text`, which depends on the statistic `of` only: once per row or segment.
static std::string oncePerRow(Puller &p, const Expr &of,
                              const std::string &text) {
  return p.defineOnce(of, "float", "f", text).text;
}

static std::string centre(Puller &p, Operation *op, Value input,
                          Puller::Args position, int vec) {
  Expr sum = rowStatistic(p, op, input, RowReduction::Sum, position, vec);
  std::string n = p.text(p.sizeOf(input, int64_t(position.size()) - 1));
  return oncePerRow(p, sum, "meanOf(" + sum.text + ", " + n + ")");
}

std::string Puller::statisticTerm(Operation *op, Value input, RowReduction kind,
                                  Puller::Args position, int vec) {
  std::string v = std::to_string(vec);
  std::string x;
  if (kind != RowReduction::SumOfExp)
    x = pull(input, position, vec);
  switch (kind) {
  case RowReduction::Sum:
  case RowReduction::Maximum:
  case RowReduction::Minimum:
    return x;
  case RowReduction::SumOfSquares:
    return x + " * " + x;
  case RowReduction::AbsMaximum:
    return "abs<" + v + ">(" + x + ")";
  case RowReduction::SumOfCentredSquares: {
    std::string mean = centre(*this, op, input, position, vec);
    return "square<" + v + ">(" + x + " - " + mean + ")";
  }
  case RowReduction::SumOfExp: {
    std::string tag = key(input, position, vec, "exp");
    if (const Expr *known = out.recall(tag)) {
      useDepth(known->depth);
      return known->text;
    }
    // As in pull: a row of one value has a position without the row.
    int outer = std::exchange(usedDepth, 0);
    x = pull(input, position, vec);
    Expr max =
        rowStatistic(*this, op, input, RowReduction::Maximum, position, vec);
    int depth =
        std::min(out.depth(), std::max(placeOf(position, vec), usedDepth));
    std::string e =
        out.define(depth, "Vec<float, " + v + ">", "v",
                   "expNegative<" + v + ">(" + x + " - " + max.text + ")");
    out.remember(tag, {e, depth});
    usedDepth = std::max(outer, depth);
    return e;
  }
  }
  llvm_unreachable("every statistic is listed");
}

static std::string pullRmsNorm(Puller &p, RmsNormOp op, Puller::Args position,
                               int vec) {
  Type type = elementTypeOf(op.getResult());
  std::string x = p.pull(op.getInput(), position, vec);
  Expr sum = rowStatistic(p, op, op.getInput(), RowReduction::SumOfSquares,
                          position, vec);
  std::string n = p.text(p.sizeOf(op.getInput(), int64_t(position.size()) - 1));
  std::string epsilon = floatText(op.getEpsilon().convertToDouble());
  std::string r = oncePerRow(
      p, sum, "rsqrtOf(meanOf(" + sum.text + ", " + n + ") + " + epsilon + ")");
  std::string y = x + " * " + r;
  if (op.getRoundBeforeWeight())
    y = roundText(type, vec, y);
  if (Value weight = op.getWeight()) {
    std::string w = p.pull(weight, position.take_back(), vec);
    double offset = op.getWeightOffset().convertToDouble();
    y = y + " * " +
        (offset == 0 ? w : "(" + floatText(offset) + " + " + w + ")");
  }
  return roundText(type, vec, y);
}

static std::string pullL2Norm(Puller &p, L2NormOp op, Puller::Args position,
                              int vec) {
  std::string x = p.pull(op.getInput(), position, vec);
  Expr sum = rowStatistic(p, op, op.getInput(), RowReduction::SumOfSquares,
                          position, vec);
  std::string epsilon = floatText(op.getEpsilon().convertToDouble());
  std::string r =
      oncePerRow(p, sum, "rsqrtOf(" + sum.text + " + " + epsilon + ")");
  return roundText(elementTypeOf(op.getResult()), vec, x + " * " + r);
}

static std::string pullLayerNorm(Puller &p, LayerNormOp op,
                                 Puller::Args position, int vec) {
  Value input = op.getInput();
  std::string x = p.pull(input, position, vec);
  std::string mean = centre(p, op, input, position, vec);
  Expr sum = rowStatistic(p, op, input, RowReduction::SumOfCentredSquares,
                          position, vec);
  std::string n = p.text(p.sizeOf(input, int64_t(position.size()) - 1));
  std::string epsilon = floatText(op.getEpsilon().convertToDouble());
  std::string r = oncePerRow(
      p, sum, "rsqrtOf(meanOf(" + sum.text + ", " + n + ") + " + epsilon + ")");
  std::string w = p.pull(op.getWeight(), position.take_back(), vec);
  std::string b = p.pull(op.getBias(), position.take_back(), vec);
  return roundText(elementTypeOf(op.getResult()), vec,
                   "(" + x + " - " + mean + ") * " + r + " * " + w + " + " + b);
}

static std::string pullReduce(Puller &p, ReduceOp op, Puller::Args position,
                              int vec) {
  Type type = elementTypeOf(op.getResult());
  Puller::Args leading = position.drop_back(op.getDims());
  auto reduce = [&](RowReduction kind) {
    return p
        .statistic(op, op.getInput(), kind, 0, leading, p.constant(0), {}, 1)
        .text;
  };
  std::string value;
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
    value = "Max::apply(" + reduce(RowReduction::AbsMaximum) + ", 0.f)";
    break;
  }
  return roundText(type, vec, vecText(type, vec) + "(" + value + ")");
}

static std::string pullSoftmax(Puller &p, SoftmaxOp op, Puller::Args position,
                               int vec) {
  Value input = op.getInput();
  Expr sum = rowStatistic(p, op, input, RowReduction::SumOfExp, position, vec);
  std::string e =
      p.statisticTerm(op, input, RowReduction::SumOfExp, position, vec);
  std::string r = oncePerRow(p, sum, "1.f / " + sum.text);
  return roundText(elementTypeOf(op.getResult()), vec, e + " * " + r);
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

static std::string pullGated(Puller &p, GatedActivationOp op,
                             Puller::Args position, int vec) {
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
  std::string gate = p.pull(op.getInput(), lower, vec);
  std::string up = p.pull(op.getInput(), upper, vec);
  std::string v = std::to_string(vec);
  if (auto limit = op.getLimit()) {
    std::string l = floatText(limit->convertToDouble());
    std::string infinity = "-__builtin_inff()";
    gate = "limit<" + v + ">(" + gate + ", " + infinity + ", " + l + ")";
    up = "limit<" + v + ">(" + up + ", -" + l + ", " + l + ")";
  }
  if (op.getKind() == GateKind::swiglu_oai)
    return roundText(elementTypeOf(op.getResult()), vec,
                     "swigluOai<" + v + ">(" + gate + ", " + up + ")");
  std::string y =
      activationName(op.getKind()).str() + "<" + v + ">(" + gate + ")";
  if (op.getRoundBeforeUp())
    y = roundText(elementTypeOf(op.getInput()), vec, y);
  return roundText(elementTypeOf(op.getResult()), vec, y + " * " + up);
}

/// `index * scale`.
static std::pair<AffineExpr, int64_t> splitScale(AffineExpr expr) {
  auto product = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!product || expr.getKind() != AffineExprKind::Mul)
    return {expr, 1};
  auto scale = dyn_cast<AffineConstantExpr>(product.getRHS());
  return scale ? std::pair(product.getLHS(), scale.getValue())
               : std::pair(expr, int64_t(1));
}

/// The m of `(a mod m) * s`, which is simplified to
/// `a * s + (a floordiv m) * (-m * s)`; also gives s.
static std::optional<std::pair<int64_t, int64_t>>
scaledModulus(AffineExpr lhs, AffineExpr rhs) {
  auto [index, scale] = splitScale(lhs);
  auto [quotient, back] = splitScale(rhs);
  auto division = dyn_cast<AffineBinaryOpExpr>(quotient);
  if (!division || quotient.getKind() != AffineExprKind::FloorDiv ||
      division.getLHS() != index)
    return std::nullopt;
  auto modulus = dyn_cast<AffineConstantExpr>(division.getRHS());
  if (!modulus || modulus.getValue() * scale != -back)
    return std::nullopt;
  return std::pair(modulus.getValue(), scale);
}

/// The values that an index takes, for any value of its symbols.
static std::optional<std::pair<int64_t, int64_t>> rangeOf(AffineExpr expr) {
  if (auto c = dyn_cast<AffineConstantExpr>(expr))
    return std::pair(c.getValue(), c.getValue());
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    if (auto modulus = scaledModulus(binary.getLHS(), binary.getRHS()))
      return std::pair(int64_t(0), (modulus->first - 1) * modulus->second);
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  auto range = rangeOf(binary.getLHS());
  if (!constant)
    return std::nullopt;
  int64_t c = constant.getValue();
  if (expr.getKind() == AffineExprKind::Mod)
    return range && range->first >= 0 && range->second < c
               ? range
               : std::optional(std::pair(int64_t(0), c - 1));
  if (!range)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return std::pair(range->first + c, range->second + c);
  if (expr.getKind() == AffineExprKind::Mul && c >= 0)
    return std::pair(range->first * c, range->second * c);
  return std::nullopt;
}

/// Whether an index below `end` is at least `bound`, if that is always so or
/// never.
static std::optional<bool> isAtLeast(AffineExpr index, int64_t bound,
                                     int64_t end) {
  auto range = rangeOf(index);
  if (range && range->first >= bound && range->second < end)
    return true;
  if (range && range->first >= 0 && range->second < bound)
    return false;
  return std::nullopt;
}

static std::string pullRope(Puller &p, RopeOp op, Puller::Args position,
                            int vec) {
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
    return p.pullByElement(op.getResult(), position, vec);

  // Loads that need nothing else come first.
  Type type = elementTypeOf(op.getResult());
  std::string v = std::to_string(vec);
  std::string x = p.pull(op.getInput(), position, vec);
  AffineExpr j = p.simplify(d - first);
  std::string other, sign;
  Position partner(position);
  if (neox || vec == 1) {
    int64_t distance = neox ? half : 1;
    // -1 in the first element of a pair, whose partner comes later.
    if (std::optional<bool> second = isAtLeast(j, distance, 2 * distance)) {
      sign = *second ? "" : "-";
      partner.back() = p.simplify(d + (*second ? -distance : distance));
    } else {
      // An element outside of the rotated ones gets some partner inside.
      int64_t periods = llvm::alignTo(first, rotary) - first;
      AffineExpr own = p.simplify((d + periods) % rotary);
      AffineExpr pair = p.simplify(own.floorDiv(2 * distance)) * (2 * distance);
      AffineExpr inPair = p.simplify(own % (2 * distance));
      sign = "(" + p.text(inPair) + " < " + std::to_string(distance) +
             " ? -1.f : 1.f) * ";
      partner.back() =
          p.simplify(pair + (inPair + distance) % (2 * distance) + first);
    }
    other = p.pull(op.getInput(), partner, vec);
  }

  // The row of the tables, once per token; -1 if there is none.
  ArrayRef<AffineExpr> token = position.take_front(rank - 2);
  int depth = p.depthOf(token);
  std::string rows = p.text(p.sizeOf(op.getCos(), 0));
  std::string at = "i64(" + p.text(token[op.getPositionDim()]) + ")";
  if (op.getPositions())
    at = "i64(" + p.pullScalar(op.getPositions(), token) + ")";
  if (Value bounds = op.getBounds()) {
    // Matching admits constants and operands of the kernel only.
    auto constant = bounds.getDefiningOp<ConstantOp>();
    std::string list =
        constant
            ? p.tableOf(constant)
            : "p" + std::to_string(cast<BlockArgument>(bounds).getArgNumber());
    at = "placeInSequence(" + list + ", i64(" + p.text(p.sizeOf(bounds, 0)) +
         "), " + at + ")";
  }
  if (op.getOffsets())
    at += " + i64(" + p.pullScalar(op.getOffsets(), token) + ")";
  // Operators that look up the same row share it.
  std::string rowKey = "rope row " + at + " of " + rows;
  if (!p.code().recall(rowKey)) {
    std::string sum = p.code().define(depth, "i64", "at", at);
    std::string row = p.code().define(depth, "i64", "row",
                                      sum + " >= 0 && " + sum + " < i64(" +
                                          rows + ") ? " + sum + " : -1");
    p.code().remember(rowKey, {row, depth});
  }
  std::string row = p.code().recall(rowKey)->text;
  AffineExpr rowSymbol = p.sharedSymbol(row, depth);
  std::string inside = row + " >= 0";
  if (first > 0)
    inside += " && " + p.text(d) + " >= " + std::to_string(first);
  if (first + rotary < head)
    inside += " && " + p.text(d) + " < " + std::to_string(first + rotary);

  Position angle = {rowSymbol, j};
  auto pullAngle = [&](Value table) {
    if (perElement)
      return p.pull(table, angle, vec);
    Position own(angle);
    if (neox) {
      own.back() = p.simplify(j % half);
      return p.pull(table, own, vec);
    }
    own.back() = p.simplify(j.floorDiv(2));
    if (vec == 1)
      return p.pull(table, own, 1);
    std::string shared = p.pull(table, own, vec / 2);
    return "repeatPairs<" + v + ">(" + shared + ")";
  };
  // The gradient takes the sine of the partner; only own angles tell.
  bool partnerSine = op.getInverse() && perElement;
  p.guardLoads({inside, rotary < head ? std::max(depth, p.depthOf(d)) : depth});
  std::string cos = pullAngle(op.getCos());
  if (partnerSine && !other.empty())
    angle.back() = p.simplify(partner.back() - first);
  std::string sin = pullAngle(op.getSin());
  p.guardLoads({});

  std::string term;
  if (neox || vec == 1)
    term = "(" + sign + other + ") * " + sin;
  else
    term = partnerSine ? "rotatePairs<" + v + ">(" + x + " * " + sin + ")"
                       : "(rotatePairs<" + v + ">(" + x + ")) * " + sin;
  std::string turned = p.code().define(
      std::min(p.code().depth(),
               std::max(p.placeOf(position, vec), p.getUsedDepth())),
      vecText(type, vec), "v",
      roundText(type, vec,
                x + " * " + cos + (op.getInverse() ? " - " : " + ") + term));
  return inside + " ? " + turned + " : " + x;
}

void mlir::hk::addRowPulls(PullTable &table) {
  table.add(pullRmsNorm);
  table.add(pullL2Norm);
  table.add(pullLayerNorm);
  table.add(pullReduce);
  table.add(pullSoftmax);
  table.add(pullGated);
  table.add(pullRope);
}
