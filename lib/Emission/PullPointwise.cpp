//===- PullPointwise.cpp - Pulling pointwise operators -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Unary, binary, compare, select, cast and constants, with broadcasting.
//
//===----------------------------------------------------------------------===//

#include "PullTable.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::hk;

static Type elementTypeOf(Value value) {
  return cast<ShapedType>(value.getType()).getElementType();
}

static Expr pullUnary(Puller &p, OpResult result, Puller::Args position,
                      int vec) {
  auto op = cast<UnaryOpInterface>(result.getOwner());
  Expr x = p.pull(op->getOperand(0), position, vec);
  Expr y = call(op.getDeviceFunction(), x);
  // Another sign is no other rounding.
  bool exact = isa<NegOp, AbsOp>(op) && p.votes() &&
               elementTypeOf(op->getOperand(0)) == elementTypeOf(result);
  return exact ? y : rounded(elementTypeOf(result), y);
}

/// How a binary operator is spelled for reals, an operator between blanks or a
/// function, and the function for integers.
struct BinarySpelling {
  StringRef real, integer;
};

/// Whether neighbours in a row have the same element of `operand`.
static bool isOne(Value operand) {
  auto type = cast<RankedTensorType>(operand.getType());
  return type.getRank() == 0 || type.getShape().back() == 1;
}

/// Whether all elements of a value are scales of f8E8M0FNU, whose type holds
/// them: powers of two or NaN.
static bool isPowerOfTwo(Value value) {
  while (!isa<Float8E8M0FNUType>(elementTypeOf(value))) {
    Operation *op = value.getDefiningOp();
    Type type = elementTypeOf(value);
    bool passes =
        isa_and_nonnull<CastOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                        tensor::ExtractSliceOp>(op);
    if (!passes || !(type.isF32() || type.isBF16()))
      return false;
    value = op->getOperand(0);
  }
  return true;
}

static Expr pullBinary(Puller &p, BinarySpelling spelling, OpResult result,
                       Puller::Args position, int vec) {
  Operation *op = result.getOwner();
  Type type = elementTypeOf(result);
  Expr a = p.pullBroadcast(op->getOperand(0), position, vec);
  Expr b = p.pullBroadcast(op->getOperand(1), position, vec);
  if (isa<FloatType>(type)) {
    StringRef real = spelling.real;
    // By pairs; what is constant LLVM adds so by itself.
    if (isa<SubOp>(op) && !op->getOperand(1).getDefiningOp<ConstantOp>())
      real = "difference";
    if (isa<DivOp>(op) && p.votes() && vec > 1 && isOne(op->getOperand(1)))
      real = isPowerOfTwo(op->getOperand(1)) ? "divideByPower" : "divideByOne";
    return rounded(type, real.starts_with(" ") ? infix(a, real, b)
                                               : call(real, {a, b}));
  }
  Expr y = call(spelling.integer + "<" + a.type.element + ">", {a, b});
  if (unsigned bits = type.getIntOrFloatBitWidth(); bits < 32)
    return call("wrapTo<i" + Twine(bits) + ">", y);
  return y;
}

template <class Op>
static void addBinary(PullTable &table, StringRef real, StringRef integer) {
  BinarySpelling spelling = {real, integer};
  table.add<Op>(
      [spelling](Puller &p, OpResult result, Puller::Args position, int vec) {
        return pullBinary(p, spelling, result, position, vec);
      });
}

static Expr pullClamp(Puller &p, ClampOp op, Puller::Args position, int vec) {
  return rounded(elementTypeOf(op.getResult()),
                 call("limit", {p.pull(op.getInput(), position, vec),
                                literal(op.getMin().convertToDouble()),
                                literal(op.getMax().convertToDouble())}));
}

static Expr pullCompare(Puller &p, CompareOp op, Puller::Args position,
                        int vec) {
  Expr a = p.pullBroadcast(op.getLhs(), position, vec);
  Expr b = p.pullBroadcast(op.getRhs(), position, vec);
  StringRef symbol;
  switch (op.getPredicate()) {
  case ComparePredicate::eq:
    symbol = " == ";
    break;
  case ComparePredicate::ne:
    symbol = " != ";
    break;
  case ComparePredicate::lt:
    symbol = " < ";
    break;
  case ComparePredicate::le:
    symbol = " <= ";
    break;
  case ComparePredicate::gt:
    symbol = " > ";
    break;
  case ComparePredicate::ge:
    symbol = " >= ";
    break;
  }
  return flagOf(infix(a, symbol, b));
}

static Expr pullSelect(Puller &p, SelectOp op, Puller::Args position, int vec) {
  Expr c = p.pullBroadcast(op.getCondition(), position, vec);
  Expr a = p.pullBroadcast(op.getTrueValue(), position, vec);
  Expr b = p.pullBroadcast(op.getFalseValue(), position, vec);
  checkType(b, a.type, "what hk.select chooses");
  return call("select", {c, a, b}, a.type.element);
}

std::optional<double> mlir::hk::splatOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant || !constant.getValue().isSplat() ||
      !isa<FloatType>(elementTypeOf(value)))
    return std::nullopt;
  return constant.getValue().getSplatValue<APFloat>().convertToDouble();
}

namespace {
/// A value between integers, which limits of a graph put `inner` to.
struct Limited {
  Value inner;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};
} // namespace

/// What limits of `value` that are integers of 24 bits put between them, if
/// both are there.
static std::optional<Limited> limitsOf(Value value) {
  Limited limited{value};
  while (Operation *op = limited.inner.getDefiningOp()) {
    if (!isa<MinOp, MaxOp>(op) ||
        op->getOperand(0).getType() != limited.inner.getType())
      break;
    std::optional<double> limit = splatOf(op->getOperand(1));
    if (!limit || *limit != std::trunc(*limit) || std::abs(*limit) > 0x1p24)
      break;
    if (isa<MinOp>(op))
      limited.high = std::min(limited.high, *limit);
    else
      limited.low = std::max(limited.low, *limit);
    limited.inner = op->getOperand(0);
  }
  bool both = std::isfinite(limited.low) && std::isfinite(limited.high) &&
              limited.low <= limited.high;
  return both ? std::optional(limited) : std::nullopt;
}

/// A number that is rounded towards zero, limited as an integer: the limits are
/// integers, and NaN is 0 either way if that is between them.
static Expr truncatedByVotes(Puller &p, CastOp op, Puller::Args position,
                             int vec) {
  std::optional<Limited> limited =
      p.votes() && elementTypeOf(op.getResult()).isInteger(32)
          ? limitsOf(op.getInput())
          : std::nullopt;
  if (!limited || limited->low > 0 || limited->high < 0)
    return {};
  Expr x =
      call("truncToInt<i32>", p.pull(limited->inner, position, vec), "i32");
  auto bound = [](double limit) {
    return Expr{std::to_string(int64_t(limit)), {"i32"}};
  };
  return call("limitInt", {x, bound(limited->low), bound(limited->high)});
}

/// Whether an integer is a cast of a number that limits keep within `bits`
/// bits.
static bool fitsInto(Value integer, unsigned bits) {
  auto cast = integer.getDefiningOp<CastOp>();
  std::optional<Limited> limited =
      cast && isa<FloatType>(elementTypeOf(cast.getInput()))
          ? limitsOf(cast.getInput())
          : std::nullopt;
  double end = std::ldexp(1.0, int(bits) - 1);
  return limited && limited->low >= -end && limited->high < end;
}

static Expr pullCast(Puller &p, CastOp op, Puller::Args position, int vec) {
  Type from = elementTypeOf(op.getInput()), to = elementTypeOf(op.getResult());
  if (Expr made = truncatedByVotes(p, op, position, vec))
    return made;
  Expr x = p.pull(op.getInput(), position, vec);
  if (isa<FloatType>(to))
    return rounded(to, toFloat(x));
  unsigned bits = to.getIntOrFloatBitWidth();
  StringRef carrier = carrierOf(to, 1).element;
  if (isa<FloatType>(from)) {
    if (bits == 8)
      return call("roundToInt",
                  {x, {"-128.f", {"float"}}, {"127.f", {"float"}}}, carrier);
    if (bits == 1)
      return flagOf(infix(x, " != ", {"0.f", {"float"}}));
    x = call("truncToInt<" + carrier + ">", x, carrier);
    return bits == 16 ? call("narrowInt<16>", x) : x;
  }
  if (bits == 1)
    return flagOf(infix(x, " != ", {"0", {x.type.element}}));
  if (p.votes() && bits < 32 && x.type.element == "i32" &&
      fitsInto(op.getInput(), bits))
    return x;
  return call("narrowInt<" + Twine(bits) + ">", x, carrier);
}

static Expr pullPhilox(Puller &p, PhiloxOp op, Puller::Args position, int vec) {
  Expr seed = p.pullBroadcast(op.getSeed(), position, vec);
  Expr counter = p.pullBroadcast(op.getCounter(), position, vec);
  return call("philox", {seed, counter},
              carrierOf(elementTypeOf(op.getResult()), vec).element);
}

static Expr pullIota(Puller &p, IotaOp op, Puller::Args position, int vec) {
  if (vec > 1)
    return p.pullByElement(op.getResult(), position, vec);
  CType type = carrierOf(elementTypeOf(op.getResult()), vec);
  Expr index = {"i64(" + p.text(position.front()) + ")", {"i64"}};
  return splat(type, scalarCast(type.element, index));
}

/// Element `index` of a constant as a C++ literal of its carrier.
static std::string literalOf(ElementsAttr value, int64_t index) {
  if (isa<FloatType>(value.getElementType()))
    return floatText(value.getValues<APFloat>()[index].convertToDouble());
  APInt bits = value.getValues<APInt>()[index];
  if (bits.getBitWidth() == 1)
    return bits.isZero() ? "0" : "1";
  int64_t number = value.getElementType().isUnsignedInteger()
                       ? int64_t(bits.getZExtValue())
                       : bits.getSExtValue();
  return "i64(" + std::to_string(number) + "ll)";
}

Expr Puller::tableOf(ConstantOp op) {
  std::string known = key(op.getResult(), {}, 1, "table");
  if (!out.recall(known)) {
    ElementsAttr value = op.getValue();
    std::string name = out.freshName("table"), elements;
    for (int64_t i = 0, e = value.getNumElements(); i < e; ++i)
      elements += (i ? ", " : "") + literalOf(value, i);
    StringRef carrier =
        isa<FloatType>(elementTypeOf(op.getResult())) ? "float" : "i64";
    out.lineAt(0, "static constexpr " + carrier + " " + name + "[] = {" +
                      elements + "};");
    out.remember(known, {name, {carrier}});
  }
  return *out.recall(known);
}

static Expr pullConstant(Puller &p, ConstantOp op, Puller::Args position,
                         int vec) {
  ElementsAttr value = op.getValue();
  CType type = carrierOf(elementTypeOf(op.getResult()), vec);
  if (value.isSplat())
    return splat(type, {literalOf(value, 0), {type.element}});
  Expr table = p.tableOf(op);
  auto shaped = cast<ShapedType>(op.getResult().getType());
  AffineExpr flat = p.constant(0);
  for (auto [index, size] : llvm::zip(position, shaped.getShape()))
    flat = flat * size + index;
  if (vec > 1)
    return p.pullByElement(op.getResult(), position, vec);
  return splat(type, scalarCast(type.element, laneOf(table, p.text(flat))));
}

void mlir::hk::addPointwisePulls(PullTable &table) {
  table.addUnary(pullUnary);
  addBinary<AddOp>(table, " + ", "addInt");
  addBinary<SubOp>(table, " - ", "subInt");
  addBinary<MulOp>(table, " * ", "mulInt");
  addBinary<DivOp>(table, " / ", "divInt");
  addBinary<MaxOp>(table, "maxNan", "maxInt");
  addBinary<MinOp>(table, "minNan", "minInt");
  table.add(pullClamp);
  table.add(pullCompare);
  table.add(pullSelect);
  table.add(pullCast);
  table.add(pullPhilox);
  table.add(pullIota);
  table.add(pullConstant);
}
