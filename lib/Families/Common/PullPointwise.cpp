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

#include "Puller.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::hk;

static Type elementTypeOf(Value value) {
  return cast<ShapedType>(value.getType()).getElementType();
}

/// The device function of a unary operator; see device/math.h.
static StringRef unaryFunction(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](NegOp) { return "neg"; })
      .Case([](AbsOp) { return "abs"; })
      .Case([](ExpOp) { return "exp"; })
      .Case([](Exp2Op) { return "exp2"; })
      .Case([](LogOp) { return "log"; })
      .Case([](Log2Op) { return "log2"; })
      .Case([](SqrtOp) { return "sqrt"; })
      .Case([](RsqrtOp) { return "rsqrt"; })
      .Case([](ReciprocalOp) { return "reciprocal"; })
      .Case([](SinOp) { return "sin"; })
      .Case([](CosOp) { return "cos"; })
      .Case([](TanhOp) { return "tanh"; })
      .Case([](ErfOp) { return "erf"; })
      .Case([](SigmoidOp) { return "sigmoid"; })
      .Case([](SiluOp) { return "silu"; })
      .Case([](GeluOp) { return "gelu"; })
      .Case([](GeluTanhOp) { return "geluTanh"; })
      .Case([](ReluOp) { return "relu"; })
      .Case([](FloorOp) { return "floor"; })
      .Case([](RoundOp) { return "roundEven"; })
      .DefaultUnreachable("not a unary operator");
}

std::string Puller::pullUnary(Operation *op, Args position, int vec) {
  std::string x = pull(op->getOperand(0), position, vec);
  return roundText(elementTypeOf(op->getResult(0)), vec,
                   unaryFunction(op) + "<" + Twine(vec) + ">(" + x + ")");
}

std::string Puller::pullBinary(Operation *op, Args position, int vec) {
  Value result = op->getResult(0);
  Type type = elementTypeOf(result);
  std::string a = pullBroadcast(op->getOperand(0), position, vec);
  std::string b = pullBroadcast(op->getOperand(1), position, vec);
  if (isa<FloatType>(type)) {
    std::string call = "<" + std::to_string(vec) + ">(" + a + ", " + b + ")";
    std::string expr = llvm::TypeSwitch<Operation *, std::string>(op)
                           .Case([&](AddOp) { return a + " + " + b; })
                           .Case([&](SubOp) { return a + " - " + b; })
                           .Case([&](MulOp) { return a + " * " + b; })
                           .Case([&](DivOp) { return a + " / " + b; })
                           .Case([&](MaxOp) { return "maxNan" + call; })
                           .Case([&](MinOp) { return "minNan" + call; });
    return roundText(type, vec, expr);
  }
  StringRef function = llvm::TypeSwitch<Operation *, StringRef>(op)
                           .Case([](AddOp) { return "addInt"; })
                           .Case([](SubOp) { return "subInt"; })
                           .Case([](MulOp) { return "mulInt"; })
                           .Case([](DivOp) { return "divInt"; })
                           .Case([](MaxOp) { return "maxInt"; })
                           .Case([](MinOp) { return "minInt"; });
  StringRef carrier = type.isSignlessInteger(64) ? "i64" : "i32";
  std::string expr =
      (function + "<" + carrier + ", " + Twine(vec) + ">(" + a + ", " + b + ")")
          .str();
  if (unsigned bits = type.getIntOrFloatBitWidth(); bits < 32)
    return ("wrapTo<i" + Twine(bits) + ", " + Twine(vec) + ">(" + expr + ")")
        .str();
  return expr;
}

std::string Puller::pullCompare(CompareOp op, Args position, int vec) {
  std::string a = pullBroadcast(op.getLhs(), position, vec);
  std::string b = pullBroadcast(op.getRhs(), position, vec);
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
  return ("convertTo<i32, " + Twine(vec) + ">(" + a + symbol + b + ") & 1")
      .str();
}

std::string Puller::pullSelect(SelectOp op, Args position, int vec) {
  std::string c = pullBroadcast(op.getCondition(), position, vec);
  std::string a = pullBroadcast(op.getTrueValue(), position, vec);
  std::string b = pullBroadcast(op.getFalseValue(), position, vec);
  return ("select<" + Twine(vec) + ">(" + c + ", " + a + ", " + b + ")").str();
}

std::string Puller::pullCast(CastOp op, Args position, int vec) {
  Type from = elementTypeOf(op.getInput()), to = elementTypeOf(op.getResult());
  std::string x = pull(op.getInput(), position, vec);
  std::string v = std::to_string(vec);
  if (isa<FloatType>(to)) {
    if (!isa<FloatType>(from))
      x = "convertTo<float, " + v + ">(" + x + ")";
    return roundText(to, vec, x);
  }
  unsigned bits = to.getIntOrFloatBitWidth();
  if (isa<FloatType>(from)) {
    if (bits == 64)
      return "truncToInt<i64, " + v + ">(" + x + ")";
    if (bits == 32)
      return "truncToInt<i32, " + v + ">(" + x + ")";
    if (bits == 16)
      return "narrowInt<16, " + v + ">(truncToInt<i32, " + v + ">(" + x + "))";
    if (bits == 8)
      return "roundToInt<" + v + ">(" + x + ", -128.f, 127.f)";
    return "convertTo<i32, " + v + ">(" + x + " != 0.f) & 1";
  }
  if (bits == 1)
    return "convertTo<i32, " + v + ">(" + x + " != 0) & 1";
  return ("narrowInt<" + Twine(bits) + ", " + v + ">(" + x + ")").str();
}

/// Element `index` of a constant as a C++ literal of its carrier.
static std::string literal(ElementsAttr value, int64_t index) {
  if (isa<FloatType>(value.getElementType()))
    return floatText(value.getValues<APFloat>()[index].convertToDouble());
  APInt bits = value.getValues<APInt>()[index];
  if (bits.getBitWidth() == 1)
    return bits.isZero() ? "0" : "1";
  return "i64(" + std::to_string(bits.getSExtValue()) + "ll)";
}

std::string Puller::tableOf(ConstantOp op) {
  std::string known = key(op.getResult(), {}, 1, "table");
  if (out.recall(known).empty()) {
    ElementsAttr value = op.getValue();
    std::string name = out.freshName("table"), elements;
    for (int64_t i = 0, e = value.getNumElements(); i < e; ++i)
      elements += (i ? ", " : "") + literal(value, i);
    StringRef carrier =
        isa<FloatType>(elementTypeOf(op.getResult())) ? "float" : "i64";
    out.lineAt(0, "static constexpr " + carrier + " " + name + "[] = {" +
                      elements + "};");
    out.remember(0, known, name);
  }
  return out.recall(known).str();
}

std::string Puller::pullConstant(ConstantOp op, Args position, int vec) {
  ElementsAttr value = op.getValue();
  Type type = elementTypeOf(op.getResult());
  if (value.isSplat())
    return vecText(type, vec) + "(" + literal(value, 0) + ")";
  std::string table = tableOf(op);
  auto shaped = cast<ShapedType>(op.getResult().getType());
  AffineExpr flat = constant(0);
  for (auto [index, size] : llvm::zip(position, shaped.getShape()))
    flat = flat * size + index;
  if (vec > 1)
    return pullByElement(op.getResult(), position, vec);
  StringRef carrier = isa<FloatType>(type)         ? "float"
                      : type.isSignlessInteger(64) ? "i64"
                                                   : "i32";
  return vecText(type, 1) + "(" + carrier.str() + "(" + table + "[" +
         text(flat) + "]))";
}
