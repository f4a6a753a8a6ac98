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

#include "Puller.h"

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

std::string Puller::clampAndCast(Type type, std::optional<double> limit,
                                 StringRef quotient, int vec, bool round) {
  std::string v = std::to_string(vec), q = quotient.str();
  // Casts saturate by themselves.
  if (limit || type.isInteger(8)) {
    std::string l = floatText(limit.value_or(127.0));
    q = "limit<" + v + ">(" + q + ", -" + l + ", " + l + ")";
  }
  if (type.isInteger(8))
    return "roundToInt<" + v + ">(" + q + ", -128.f, 127.f)";
  return round ? roundText(type, vec, q) : q;
}

/// The group size of a quantisation; 0: the whole last dim.
static int64_t groupOf(Operation *op) {
  if (isa<QuantizeMxOp>(op))
    return 32;
  auto quantize = cast<QuantizeOp>(op);
  return quantize.getGranularity() == Granularity::per_group
             ? quantize.getGroupSize()
             : 0;
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

std::string Puller::scaleOf(Operation *op, Args leading, AffineExpr segment,
                            Args position, int vec) {
  std::string amax = statistic(op, op->getOperand(0), StatKind::AbsMaximum,
                               groupOf(op), leading, segment, position, vec);
  Type type = elementTypeOf(op->getResult(0));
  std::string expr, kind;
  if (auto mx = dyn_cast<QuantizeMxOp>(op)) {
    kind = "i32";
    expr = ("mxScaleByte<" + mxRoundingText(mx.getRounding()) + ", " +
            dtypeText(type) + ">(" + amax + ")")
               .str();
  } else {
    auto quantize = cast<QuantizeOp>(op);
    kind = "float";
    expr = "quantScale(" + amax + ", " +
           floatText(quantize.getAmaxFloor().convertToDouble()) + ", " +
           floatText(limitOf(quantize).value_or(largest(type))) + ")";
    if (quantize.getPowerOfTwo())
      expr = "powerOfTwoAbove(" + expr + ")";
  }
  if (out.recall(expr).empty()) {
    int depth = depthOfScalar(amax);
    std::string name = out.define(depth, kind, "scale", expr);
    scalarDepth[name] = depth;
    out.remember(depth, expr, name);
  }
  return out.recall(expr).str();
}

std::string Puller::scaleAt(Operation *op, Args position, int vec) {
  int64_t group = groupOf(op);
  AffineExpr segment =
      group ? simplify(position.back().floorDiv(group)) : constant(0);
  return scaleOf(op, position.drop_back(), segment, position, vec);
}

std::string Puller::pullQuantize(QuantizeOp op, bool wantScale, Args position,
                                 int vec) {
  int64_t group = groupOf(op);
  bool splits =
      group && !(group % vec == 0 && position.back().isMultipleOf(vec));
  if (vec > 1 && (wantScale || splits))
    return pullByElement(op->getResult(wantScale), position, vec);
  if (wantScale)
    return "Vec<float, 1>(" +
           scaleOf(op, position.drop_back(),
                   group ? AffineExpr(position.back()) : constant(0), {}, 1) +
           ")";
  bool unrounded = std::exchange(leaveUnrounded, false);
  std::string scale = scaleAt(op, position, vec);
  std::string x = pull(op.getInput(), position, vec);
  Type type = elementTypeOf(op.getQuantized());
  double limit = limitOf(op).value_or(largest(type));
  std::string quotient = x + " / " + scale;
  if (limit <= kLargestExactLimit) {
    std::string expr = "divisorOf(" + scale + ", " +
                       floatText(op.getAmaxFloor().convertToDouble()) + ", " +
                       floatText(limit) + ")";
    if (out.recall(expr).empty()) {
      int depth = depthOfScalar(scale);
      out.remember(depth, expr, out.define(depth, "Divisor", "divisor", expr));
    }
    quotient = "divideFor8Bits<" + std::to_string(vec) + ">(" + x + ", " +
               out.recall(expr).str() + ")";
  }
  return clampAndCast(type, limitOf(op), quotient, vec, !unrounded);
}

std::string Puller::pullScale(Value scale, Value input, int64_t group,
                              Args position, int vec) {
  auto type = cast<RankedTensorType>(scale.getType());
  auto inputType = cast<RankedTensorType>(input.getType());
  Position own;
  bool single = type.hasStaticShape() && type.getNumElements() == 1;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    bool last = d + 1 == type.getRank();
    if (single || type.getDimSize(d) == 1)
      own.push_back(constant(0));
    else if (!last &&
             (dims.equal(scale, d, input, d) || inputType.isDynamicDim(d)))
      own.push_back(position[d]);
    else
      own.push_back(simplify(position[d].floorDiv(group)));
  }
  bool perGroup = !single && type.getDimSize(type.getRank() - 1) != 1;
  if (vec > 1 && perGroup &&
      !(group % vec == 0 && position.back().isMultipleOf(vec)))
    return {};
  return pullScalar(scale, own);
}

std::string Puller::pullQuantizeStatic(QuantizeStaticOp op, Args position,
                                       int vec) {
  std::string scale =
      pullScale(op.getScale(), op.getInput(), op.getGroupSize(), position, vec);
  if (scale.empty())
    return pullByElement(op.getQuantized(), position, vec);
  std::optional<double> limit;
  if (op.getLimit())
    limit = op.getLimit()->convertToDouble();
  std::string x = pull(op.getInput(), position, vec);
  return clampAndCast(elementTypeOf(op.getQuantized()), limit,
                      x + " / " + scale, vec);
}

std::string Puller::pullDequantize(DequantizeOp op, Args position, int vec) {
  bool isMx = isa<Float8E8M0FNUType>(elementTypeOf(op.getScale()));
  std::string scale = pullScale(op.getScale(), op.getInput(),
                                isMx ? 32 : op.getGroupSize(), position, vec);
  if (scale.empty())
    return pullByElement(op.getResult(), position, vec);
  Type from = elementTypeOf(op.getInput());
  std::string x = pull(op.getInput(), position, vec);
  if (!isa<FloatType>(from))
    x = "convertTo<float, " + std::to_string(vec) + ">(" + x + ")";
  return roundText(elementTypeOf(op.getResult()), vec, x + " * " + scale);
}

std::string Puller::pullQuantizeMx(QuantizeMxOp op, bool wantScale,
                                   Args position, int vec) {
  bool splits = 32 % vec != 0 || !position.back().isMultipleOf(vec);
  if (vec > 1 && (wantScale || splits))
    return pullByElement(op->getResult(wantScale), position, vec);
  if (wantScale)
    return "decodeE8M0<1>(Vec<u32, 1>(u32(" +
           scaleOf(op, position.drop_back(), position.back(), {}, 1) + ")))";
  std::string byte = scaleAt(op, position, vec);
  std::string x = pull(op.getInput(), position, vec);
  return roundText(elementTypeOf(op.getQuantized()), vec,
                   "mxScaled<" + std::to_string(vec) + ">(" + x + ", " + byte +
                       ")");
}

std::string Puller::pullReencode(ReencodeOp op, Args position, int vec) {
  bool halves = isa<Float8E4M3FNType>(elementTypeOf(op.getInput()));
  return roundText(elementTypeOf(op.getResult()), vec,
                   pull(op.getInput(), position, vec) +
                       (halves ? " * 0.5f" : " * 2.0f"));
}
