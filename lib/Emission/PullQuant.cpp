//===- PullQuant.cpp - Pulling quantisation -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quantise with computed or given scales, microscaling formats, dequantise.
//
//===----------------------------------------------------------------------===//

#include "PullTable.h"

#include "hk/Analysis/LoopMaps.h"

#include <cmath>

using namespace mlir;
using namespace mlir::hk;

static Type elementTypeOf(Value value) {
  return cast<ShapedType>(value.getType()).getElementType();
}

static double largest(Type elementType) {
  ::hk::DType dtype = *dtypeOf(elementType);
  return dtype == ::hk::DType::I8 ? 127.0 : ::hk::info(dtype).maxFinite;
}

/// Up to here the quotients x / s stay in the range that Divisor is right in.
static constexpr double kLargestExactLimit = 1 << 20;

static std::string clampAndCast(Type type, std::optional<double> limit,
                                StringRef quotient, int vec,
                                bool round = true) {
  std::string v = std::to_string(vec), q = quotient.str();
  std::string l = floatText(limit.value_or(127.0)), bounds = "-" + l + ", " + l;
  if (type.isInteger(8) &&
      limit.value_or(127.0) == std::floor(limit.value_or(127.0)) &&
      limit.value_or(127.0) <= 127.0)
    return "roundToInt<" + v + ">(" + q + ", " + bounds + ")";
  // Casts saturate by themselves.
  if (limit)
    q = "limit<" + v + ">(" + q + ", " + bounds + ")";
  if (type.isInteger(8))
    return "roundToInt<" + v + ">(" + q + ", -128.f, 127.f)";
  return round ? roundText(type, vec, q) : q;
}

/// Whether quotients by a computed scale, which exceed the limit by a rounding
/// at most, are rounded to what the limit is.
static bool roundingLimits(Type type, double limit, double floor) {
  auto real = dyn_cast<FloatType>(type);
  if (!real || floor / limit < 0x1p-120)
    return false;
  auto rounded = [&](double value) {
    APFloat result(value);
    bool losesInfo;
    result.convert(real.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
    return result;
  };
  return rounded(limit).bitwiseIsEqual(rounded(limit * (1 + 0x1p-20)));
}

static std::optional<double> limitOf(QuantizeOp op) {
  if (op.getLimit())
    return op.getLimit()->convertToDouble();
  return std::nullopt;
}

StringRef mlir::hk::mxRoundingText(MxRounding rounding) {
  switch (rounding) {
  case MxRounding::even:
    return "MxRounding::Even";
  case MxRounding::ceil:
    return "MxRounding::Ceil";
  case MxRounding::floor:
    return "MxRounding::Floor";
  case MxRounding::ocp:
    return "MxRounding::Ocp";
  case MxRounding::ocp_ceil:
    return "MxRounding::OcpCeil";
  }
  llvm_unreachable("every rounding is listed");
}

Expr Puller::scaleOf(Operation *op, Puller::Args leading, AffineExpr segment,
                     Puller::Args position, int vec) {
  Expr amax = statistic(op, op->getOperand(0), RowReduction::AbsMaximum,
                        reductionGroupOf(op), leading, segment, position, vec);
  Type type = elementTypeOf(op->getResult(0));
  std::string expr, kind;
  if (auto mx = dyn_cast<QuantizeMxOp>(op)) {
    kind = "i32";
    expr = ("mxScaleByte<" + mxRoundingText(mx.getRounding()) + ", " +
            dtypeText(type) + ">(" + amax.text + ")")
               .str();
  } else {
    auto quantize = cast<QuantizeOp>(op);
    kind = "float";
    expr = "quantScale(" + amax.text + ", " +
           floatText(quantize.getAmaxFloor().convertToDouble()) + ", " +
           floatText(limitOf(quantize).value_or(largest(type))) + ")";
    if (quantize.getPowerOfTwo())
      expr = "powerOfTwoAbove(" + expr + ")";
  }
  return defineOnce(amax, kind, "scale", expr);
}

Expr Puller::scaleAt(Operation *op, Puller::Args position, int vec) {
  int64_t group = reductionGroupOf(op);
  AffineExpr segment =
      group ? simplify(position.back().floorDiv(group)) : constant(0);
  return scaleOf(op, position.drop_back(), segment, position, vec);
}

static std::string pullQuantize(Puller &p, QuantizeOp op, bool wantScale,
                                Puller::Args position, int vec) {
  int64_t group = reductionGroupOf(op);
  bool splits =
      group && !(group % vec == 0 && position.back().isMultipleOf(vec));
  if (vec > 1 && (wantScale || splits))
    return p.pullByElement(op->getResult(wantScale), position, vec);
  if (wantScale)
    return "Vec<float, 1>(" +
           p.scaleOf(op, position.drop_back(),
                     group ? AffineExpr(position.back()) : p.constant(0), {}, 1)
               .text +
           ")";
  bool unrounded = p.takeUnrounded();
  Expr scale = p.scaleAt(op, position, vec);
  std::string x = p.pull(op.getInput(), position, vec);
  Type type = elementTypeOf(op.getQuantized());
  double limit = limitOf(op).value_or(largest(type));
  std::string quotient = x + " / " + scale.text;
  if (limit <= kLargestExactLimit) {
    std::string expr = "divisorOf(" + scale.text + ", " +
                       floatText(op.getAmaxFloor().convertToDouble()) + ", " +
                       floatText(limit) + ")";
    quotient = "divideFor8Bits<" + std::to_string(vec) + ">(" + x + ", " +
               p.defineOnce(scale, "Divisor", "divisor", expr).text + ")";
  }
  std::optional<double> saturates = limitOf(op);
  if (saturates &&
      roundingLimits(type, limit, op.getAmaxFloor().convertToDouble()))
    saturates = std::nullopt;
  return clampAndCast(type, saturates, quotient, vec, !unrounded);
}

static std::string pullScale(Puller &p, Value scale, Value input, int64_t group,
                             Puller::Args position, int vec) {
  auto type = cast<RankedTensorType>(scale.getType());
  auto inputType = cast<RankedTensorType>(input.getType());
  Position own;
  bool single = type.hasStaticShape() && type.getNumElements() == 1;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    bool last = d + 1 == type.getRank();
    if (single || type.getDimSize(d) == 1)
      own.push_back(p.constant(0));
    else if (!last && (p.dimSymbols().equal(scale, d, input, d) ||
                       inputType.isDynamicDim(d)))
      own.push_back(position[d]);
    else
      own.push_back(p.simplify(position[d].floorDiv(group)));
  }
  bool perGroup = !single && type.getDimSize(type.getRank() - 1) != 1;
  if (vec > 1 && perGroup &&
      !(group % vec == 0 && position.back().isMultipleOf(vec)))
    return {};
  return p.pullScalar(scale, own);
}

static std::string pullQuantizeStatic(Puller &p, QuantizeStaticOp op,
                                      Puller::Args position, int vec) {
  bool unrounded = p.takeUnrounded();
  std::string scale = pullScale(p, op.getScale(), op.getInput(),
                                op.getGroupSize(), position, vec);
  if (scale.empty())
    return p.pullByElement(op.getQuantized(), position, vec);
  std::optional<double> limit;
  if (op.getLimit())
    limit = op.getLimit()->convertToDouble();
  std::string x = p.pull(op.getInput(), position, vec);
  Type type = elementTypeOf(op.getQuantized());
  std::string quotient = x + " / " + scale;
  double largestQuotient = limit.value_or(largest(type));
  if (type.getIntOrFloatBitWidth() == 8 &&
      largestQuotient <= kLargestExactLimit)
    quotient =
        "divideFor8Bits<" + std::to_string(vec) + ">(" + x + ", " +
        p.defineOnce({scale, p.code().depth()}, "GivenDivisor", "divisor",
                     "givenDivisorOf(" + scale + ", " +
                         floatText(largestQuotient) + ")")
            .text +
        ")";
  return clampAndCast(type, limit, quotient, vec, !unrounded);
}

static std::string pullDequantize(Puller &p, DequantizeOp op,
                                  Puller::Args position, int vec) {
  std::string scale = pullScale(p, op.getScale(), op.getInput(),
                                op.getScaleGroup(), position, vec);
  if (scale.empty())
    return p.pullByElement(op.getResult(), position, vec);
  Type from = elementTypeOf(op.getInput());
  std::string x = p.pull(op.getInput(), position, vec);
  if (!isa<FloatType>(from))
    x = "convertTo<float, " + std::to_string(vec) + ">(" + x + ")";
  std::string zero;
  if (Value zeroPoint = op.getZeroPoint())
    zero = "float(" +
           pullScale(p, zeroPoint, op.getInput(), op.getScaleGroup(), position,
                     vec) +
           ")";
  if (op.getOffset())
    x = x + " * " + scale + " + " + zero;
  else if (!zero.empty())
    x = "(" + x + " - " + zero + ") * " + scale;
  else
    x = x + " * " + scale;
  return roundText(elementTypeOf(op.getResult()), vec, x);
}

static std::string pullQuantizeMx(Puller &p, QuantizeMxOp op, bool wantScale,
                                  Puller::Args position, int vec) {
  bool splits = kMxBlock % vec != 0 || !position.back().isMultipleOf(vec);
  if (vec > 1 && (wantScale || splits))
    return p.pullByElement(op->getResult(wantScale), position, vec);
  if (wantScale)
    return "decodeE8M0<1>(Vec<u32, 1>(u32(" +
           p.scaleOf(op, position.drop_back(), position.back(), {}, 1).text +
           ")))";
  bool unrounded = p.takeUnrounded();
  std::string byte = p.scaleAt(op, position, vec).text;
  std::string x = p.pull(op.getInput(), position, vec);
  std::string scaled =
      "mxScaled<" + std::to_string(vec) + ">(" + x + ", " + byte + ")";
  return unrounded ? scaled
                   : roundText(elementTypeOf(op.getQuantized()), vec, scaled);
}

static std::string pullReencode(Puller &p, ReencodeOp op, Puller::Args position,
                                int vec) {
  bool unrounded = p.takeUnrounded();
  bool halves = isa<Float8E4M3FNType>(elementTypeOf(op.getInput()));
  std::string x =
      p.pull(op.getInput(), position, vec) + (halves ? " * 0.5f" : " * 2.0f");
  return unrounded ? x : roundText(elementTypeOf(op.getResult()), vec, x);
}

std::string Puller::pullUnrounded(Value value, Args position, int vec) {
  Operation *op = value.getDefiningOp();
  Type type = elementTypeOf(value);
  if (!isa_and_nonnull<QuantizeOp, QuantizeStaticOp, QuantizeMxOp, ReencodeOp>(
          op) ||
      !isa<FloatType>(type) || type.getIntOrFloatBitWidth() > 8 ||
      value != op->getResult(0) || bound.contains(value) ||
      out.recall(key(value, position, vec)))
    return {};
  leaveUnrounded = true;
  std::string expr = emit(value, position, vec);
  leaveUnrounded = false;
  return expr;
}

void mlir::hk::addQuantPulls(PullTable &table) {
  table.add(pullQuantize);
  table.add(pullQuantizeStatic);
  table.add(pullQuantizeMx);
  table.add(pullDequantize);
  table.add(pullReencode);
}
