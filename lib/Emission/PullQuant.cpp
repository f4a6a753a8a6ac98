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

static Expr clampAndCast(Type type, std::optional<double> limit, Expr quotient,
                         bool round = true) {
  double bound = limit.value_or(127.0);
  Expr upper = literal(bound), lower = -upper;
  if (type.isInteger(8) && bound == std::floor(bound) && bound <= 127.0)
    return call("roundToInt", {quotient, lower, upper}, "i32");
  // Casts saturate by themselves.
  if (limit)
    quotient = call("limit", {quotient, lower, upper});
  if (type.isInteger(8))
    return call("roundToInt",
                {quotient, {"-128.f", {"float"}}, {"127.f", {"float"}}}, "i32");
  return round ? rounded(type, quotient) : quotient;
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

Expr mlir::hk::decodedScale(const Expr &byte) {
  return call("decodeE8M0", splat({"u32", 1}, scalarCast("u32", byte)),
              "float");
}

Expr Puller::scaleOf(Operation *op, Puller::Args leading, AffineExpr segment,
                     Puller::Args position, int vec) {
  Expr amax = statistic(op, op->getOperand(0), RowReduction::AbsMaximum,
                        reductionGroupOf(op), leading, segment, position, vec);
  Type type = elementTypeOf(op->getResult(0));
  if (auto mx = dyn_cast<QuantizeMxOp>(op))
    return defineOnce("scale", call((votes() ? "mxScaleOf<" : "mxScaleByte<") +
                                        mxRoundingText(mx.getRounding()) +
                                        ", " + dtypeText(type) + ">",
                                    amax, votes() ? "MxScale" : "i32"));
  auto quantize = cast<QuantizeOp>(op);
  Expr scale = call(votes() ? "quantScaleByVote" : "quantScale",
                    {amax, literal(quantize.getAmaxFloor().convertToDouble()),
                     literal(limitOf(quantize).value_or(largest(type)))});
  if (quantize.getPowerOfTwo())
    scale = call("powerOfTwoAbove", scale);
  return defineOnce("scale", scale);
}

Expr Puller::scaleAt(Operation *op, Puller::Args position, int vec) {
  int64_t group = reductionGroupOf(op);
  AffineExpr segment =
      group ? simplify(position.back().floorDiv(group)) : constant(0);
  return scaleOf(op, position.drop_back(), segment, position, vec);
}

/// Whether quotients exceed what the type holds by a rounding at most.
static bool isWithin(QuantizeOp op) {
  Type type = elementTypeOf(op.getQuantized());
  double limit = limitOf(op).value_or(largest(type));
  return limit <= largest(type) &&
         (!type.isInteger(8) || limit == std::floor(limit));
}

static Expr pullQuantize(Puller &p, QuantizeOp op, bool wantScale,
                         Puller::Args position, int vec) {
  int64_t group = reductionGroupOf(op);
  bool splits =
      group && !(group % vec == 0 && position.back().isMultipleOf(vec));
  if (vec > 1 && (wantScale || splits))
    return p.pullByElement(op->getResult(wantScale), position, vec);
  if (wantScale)
    return splat({"float", 1},
                 p.scaleOf(op, position.drop_back(),
                           group ? AffineExpr(position.back()) : p.constant(0),
                           {}, 1));
  bool unrounded = p.takeUnrounded();
  Expr scale = p.scaleAt(op, position, vec);
  Expr x = p.pull(op.getInput(), position, vec);
  Type type = elementTypeOf(op.getQuantized());
  double limit = limitOf(op).value_or(largest(type));
  double floor = op.getAmaxFloor().convertToDouble();
  Expr quotient;
  if (limit <= kLargestExactLimit)
    quotient =
        call("divideFor8Bits",
             {x, p.defineOnce("divisor",
                              call(p.votes() ? "divisorByVote" : "divisorOf",
                                   {scale, literal(floor), literal(limit)},
                                   "Divisor"))});
  else
    quotient = x / scale;
  std::optional<double> saturates = limitOf(op);
  if (saturates && roundingLimits(type, limit, floor))
    saturates = std::nullopt;
  if (p.votes() && isWithin(op) && type.isInteger(8))
    return call("roundQuotients", {quotient, scale, literal(limit)}, "i32");
  return clampAndCast(type, saturates, quotient, !unrounded);
}

/// The scale of a position as a scalar; null if vec elements have several.
static Expr pullScale(Puller &p, Value scale, Value input, int64_t group,
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

static Expr pullQuantizeStatic(Puller &p, QuantizeStaticOp op,
                               Puller::Args position, int vec) {
  bool unrounded = p.takeUnrounded();
  Expr scale = pullScale(p, op.getScale(), op.getInput(), op.getGroupSize(),
                         position, vec);
  if (!scale)
    return p.pullByElement(op.getQuantized(), position, vec);
  std::optional<double> limit;
  if (op.getLimit())
    limit = op.getLimit()->convertToDouble();
  Expr x = p.pull(op.getInput(), position, vec);
  Type type = elementTypeOf(op.getQuantized());
  double largestQuotient = limit.value_or(largest(type));
  Expr quotient;
  if (type.getIntOrFloatBitWidth() == 8 &&
      largestQuotient <= kLargestExactLimit)
    // Not further out than here: loads of a loop do not wait for the scale.
    quotient =
        call("divideFor8Bits",
             {x, p.code().defineOnce(p.code().depth(), "divisor",
                                     call("givenDivisorOf",
                                          {scale, literal(largestQuotient)},
                                          "GivenDivisor"))});
  else
    quotient = x / scale;
  return clampAndCast(type, limit, quotient, !unrounded);
}

static Expr pullDequantize(Puller &p, DequantizeOp op, Puller::Args position,
                           int vec) {
  // A scale that the kernel computes is known where its codes are: a group of
  // many lanes is then reduced by them all.
  int64_t group = op.getScaleGroup();
  if (op.getScale().getDefiningOp<QuantizeMxOp>() && group % vec == 0 &&
      position.back().isMultipleOf(vec))
    p.pull(op.getInput(), position, vec);
  Expr scale = pullScale(p, op.getScale(), op.getInput(), group, position, vec);
  if (!scale)
    return p.pullByElement(op.getResult(), position, vec);
  Expr x = toFloat(p.pull(op.getInput(), position, vec)), zero;
  if (Value zeroPoint = op.getZeroPoint())
    zero = scalarCast("float", pullScale(p, zeroPoint, op.getInput(),
                                         op.getScaleGroup(), position, vec));
  Expr y = op.getOffset() ? x * scale + zero
           : zero         ? (x - zero) * scale
                          : x * scale;
  return rounded(elementTypeOf(op.getResult()), y);
}

static Expr pullQuantizeMx(Puller &p, QuantizeMxOp op, bool wantScale,
                           Puller::Args position, int vec) {
  bool splits = kMxBlock % vec != 0 || !position.back().isMultipleOf(vec);
  if (vec > 1 && (wantScale || splits))
    return p.pullByElement(op->getResult(wantScale), position, vec);
  if (wantScale)
    return decodedScale(
        p.scaleOf(op, position.drop_back(), position.back(), {}, 1));
  bool unrounded = p.takeUnrounded();
  Expr byte = p.scaleAt(op, position, vec);
  Expr scaled = call("mxScaled", {p.pull(op.getInput(), position, vec), byte});
  Type type = elementTypeOf(op.getQuantized());
  if (unrounded)
    return scaled;
  // A block with NaN is zeros.
  bool isFp4 = isa<Float4E2M1FNType>(type);
  return p.votes() && isFp4 && vec > 1 ? call("roundedToFp4", scaled)
                                       : rounded(type, scaled);
}

static Expr pullReencode(Puller &p, ReencodeOp op, Puller::Args position,
                         int vec) {
  bool unrounded = p.takeUnrounded();
  bool halves = isa<Float8E4M3FNType>(elementTypeOf(op.getInput()));
  Expr x = p.pull(op.getInput(), position, vec) *
           Expr{halves ? "0.5f" : "2.0f", {"float"}};
  return unrounded ? x : rounded(elementTypeOf(op.getResult()), x);
}

/// What a cast makes the same codes of as of its operand: casts saturate, so
/// that limits which are no narrower change nothing.
static Value withoutLimits(CastOp cast) {
  double most = largest(elementTypeOf(cast.getResult()));
  Value value = cast.getInput();
  while (isa_and_nonnull<MinOp, MaxOp>(value.getDefiningOp())) {
    Operation *op = value.getDefiningOp();
    std::optional<double> limit = splatOf(op->getOperand(1));
    bool wide = limit && (isa<MinOp>(op) ? *limit >= most : *limit <= -most);
    if (!wide || op->getOperand(0).getType() != value.getType())
      break;
    value = op->getOperand(0);
  }
  return value;
}

Expr Puller::pullUnrounded(Value value, Args position, int vec,
                           Stored &stored) {
  Operation *op = value.getDefiningOp();
  Type type = elementTypeOf(value);
  if (!isa_and_nonnull<CastOp, QuantizeOp, QuantizeStaticOp, QuantizeMxOp,
                       ReencodeOp>(op) ||
      !isa<FloatType>(type) || type.getIntOrFloatBitWidth() > 8 ||
      isa<Float8E8M0FNUType>(type) || value != op->getResult(0) ||
      bound.contains(value) || out.recall(key(value, position, vec)))
    return {};
  if (auto cast = dyn_cast<CastOp>(op)) {
    stored.rounded = false;
    return toFloat(pull(withoutLimits(cast), position, vec));
  }
  leaveUnrounded = true;
  Expr made = emit(value, position, vec);
  leaveUnrounded = false;
  stored.rounded = false;
  if (!votes())
    return made;
  // A block with NaN is stored as zeros.
  stored.numbers = isa<QuantizeMxOp>(op);
  auto quantize = dyn_cast<QuantizeOp>(op);
  int64_t group = quantize ? reductionGroupOf(op) : 0;
  if (quantize &&
      (!group || (group % vec == 0 && position.back().isMultipleOf(vec))))
    stored.scale = scaleAt(op, position, vec);
  stored.within = stored.scale && isWithin(quantize);
  return made;
}

void Puller::storeUnrounded(unsigned operand, Value value, Args position,
                            int vec) {
  Stored stored;
  Expr made = pullUnrounded(value, position, vec, stored);
  if (stored.rounded)
    made = pull(value, position, vec);
  bool masked = getLaneCount() && getLaneCount().type.element != kTailLanes;
  stored.nearest =
      votes() && vec % 4 == 0 && !masked && elementTypeOf(value).isInteger(8) &&
      isa_and_nonnull<QuantizeOp, QuantizeStaticOp>(value.getDefiningOp());
  store(operand, position, vec, made, stored);
}

void mlir::hk::addQuantPulls(PullTable &table) {
  table.add(pullQuantize);
  table.add(pullQuantizeStatic);
  table.add(pullQuantizeMx);
  table.add(pullDequantize);
  table.add(pullReencode);
}
