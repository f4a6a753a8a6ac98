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
    return call("square", x - centre(*this, op, input, position, vec));
  case RowReduction::SumOfExp: {
    Expr max =
        rowStatistic(*this, op, input, RowReduction::Maximum, position, vec);
    Expr e = call("expNegative", x - max);
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
  return rounded(elementTypeOf(op.getResult()), (x - mean) * r * w + b);
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

/// The angles of pairs for their elements.
static Expr repeatPairs(Expr angles) {
  angles.type.lanes *= 2;
  angles.text = "repeatPairs<" + std::to_string(angles.type.lanes) + ">(" +
                angles.text + ")";
  return angles;
}

static Expr pullRope(Puller &p, RopeOp op, Puller::Args position, int vec) {
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
  Expr x = p.pull(op.getInput(), position, vec), other;
  AffineExpr j = p.simplify(d - first);
  Position partner(position);
  if (neox || vec == 1) {
    int64_t distance = neox ? half : 1;
    // The partner of the first element of a pair comes later, and is negated.
    if (std::optional<bool> second = isAtLeast(j, distance, 2 * distance)) {
      partner.back() = p.simplify(d + (*second ? -distance : distance));
      other = p.pull(op.getInput(), partner, vec);
      other = *second ? other : -other;
    } else {
      // An element outside of the rotated ones gets some partner inside.
      int64_t periods = llvm::alignTo(first, rotary) - first;
      AffineExpr own = p.simplify((d + periods) % rotary);
      AffineExpr pair = p.simplify(own.floorDiv(2 * distance)) * (2 * distance);
      AffineExpr inPair = p.simplify(own % (2 * distance));
      partner.back() =
          p.simplify(pair + (inPair + distance) % (2 * distance) + first);
      Expr isFirst = {p.text(inPair) + " < " + std::to_string(distance),
                      {"bool"},
                      p.depthOf(inPair)};
      Expr sign = choice(isFirst, {"-1.f", {"float"}}, {"1.f", {"float"}});
      other = sign * p.pull(op.getInput(), partner, vec);
    }
  }

  // The row of the tables, once per token; -1 if there is none.
  ArrayRef<AffineExpr> token = position.take_front(rank - 2);
  int depth = p.depthOf(token);
  std::string rows = p.text(p.sizeOf(op.getCos(), 0));
  Expr at = {"i64(" + p.text(token[op.getPositionDim()]) + ")", {"i64"}};
  if (op.getPositions())
    at = scalarCast("i64", p.pullScalar(op.getPositions(), token));
  if (Value bounds = op.getBounds()) {
    // Matching admits constants and operands of the kernel only.
    auto constant = bounds.getDefiningOp<ConstantOp>();
    std::string list =
        constant
            ? p.tableOf(constant).text
            : "p" + std::to_string(cast<BlockArgument>(bounds).getArgNumber());
    at.text = "placeInSequence(" + list + ", i64(" +
              p.text(p.sizeOf(bounds, 0)) + "), " + at.text + ")";
  }
  if (op.getOffsets())
    at = at + scalarCast("i64", p.pullScalar(op.getOffsets(), token));
  // Operators that look up the same row share it.
  std::string rowKey = "rope row " + at.text + " of " + rows;
  if (!p.code().recall(rowKey))
    p.code().remember(
        rowKey,
        p.defineExisting("row", depth, p.code().define(depth, "at", at), rows));
  std::string row = p.code().recall(rowKey)->text;
  AffineExpr rowSymbol = p.sharedSymbol(row, depth);
  Expr inside = {row + " >= 0", {"bool"}, depth};
  if (first > 0)
    inside.text += " && " + p.text(d) + " >= " + std::to_string(first);
  if (first + rotary < head)
    inside.text += " && " + p.text(d) + " < " + std::to_string(first + rotary);
  if (rotary < head)
    inside.depth = std::max(depth, p.depthOf(d));

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
    return repeatPairs(p.pull(table, own, vec / 2));
  };
  // The gradient takes the sine of the partner; only own angles tell.
  bool partnerSine = op.getInverse() && perElement;
  p.guardLoads(inside);
  Expr cos = pullAngle(op.getCos());
  if (partnerSine && other)
    angle.back() = p.simplify(partner.back() - first);
  Expr sin = pullAngle(op.getSin());
  p.guardLoads({});

  Expr term = other         ? other * sin
              : partnerSine ? call("rotatePairs", x * sin)
                            : call("rotatePairs", x) * sin;
  Expr turned =
      rounded(type, op.getInverse() ? x * cos - term : x * cos + term);
  turned = p.code().define(p.placeOf(turned, position, vec), "v", turned);
  return choice(inside, turned, x);
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
