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

using namespace mlir;
using namespace mlir::hk;

static Type elementTypeOf(Value value) {
  return cast<ShapedType>(value.getType()).getElementType();
}

static std::string pullUnary(Puller &p, OpResult result, Puller::Args position,
                             int vec) {
  auto op = cast<UnaryOpInterface>(result.getOwner());
  std::string x = p.pull(op->getOperand(0), position, vec);
  return roundText(elementTypeOf(result), vec,
                   op.getDeviceFunction() + "<" + Twine(vec) + ">(" + x + ")");
}

/// How a binary operator is spelled for reals, an operator between blanks or a
/// function, and the function for integers.
struct BinarySpelling {
  StringRef real, integer;
};

static std::string pullBinary(Puller &p, BinarySpelling spelling,
                              OpResult result, Puller::Args position, int vec) {
  Operation *op = result.getOwner();
  Type type = elementTypeOf(result);
  std::string a = p.pullBroadcast(op->getOperand(0), position, vec);
  std::string b = p.pullBroadcast(op->getOperand(1), position, vec);
  if (isa<FloatType>(type)) {
    StringRef real = spelling.real;
    if (real.starts_with(" "))
      return roundText(type, vec, a + real + b);
    return roundText(type, vec,
                     real + "<" + Twine(vec) + ">(" + a + ", " + b + ")");
  }
  StringRef carrier = type.isSignlessInteger(64) ? "i64" : "i32";
  std::string expr = (spelling.integer + "<" + carrier + ", " + Twine(vec) +
                      ">(" + a + ", " + b + ")")
                         .str();
  if (unsigned bits = type.getIntOrFloatBitWidth(); bits < 32)
    return ("wrapTo<i" + Twine(bits) + ", " + Twine(vec) + ">(" + expr + ")")
        .str();
  return expr;
}

template <class Op>
static void addBinary(PullTable &table, StringRef real, StringRef integer) {
  BinarySpelling spelling = {real, integer};
  table.add<Op>(
      [spelling](Puller &p, OpResult result, Puller::Args position, int vec) {
        return pullBinary(p, spelling, result, position, vec);
      });
}

static std::string pullClamp(Puller &p, ClampOp op, Puller::Args position,
                             int vec) {
  std::string x = p.pull(op.getInput(), position, vec);
  return roundText(elementTypeOf(op.getResult()), vec,
                   "limit<" + Twine(vec) + ">(" + x + ", " +
                       floatText(op.getMin().convertToDouble()) + ", " +
                       floatText(op.getMax().convertToDouble()) + ")");
}

static std::string pullCompare(Puller &p, CompareOp op, Puller::Args position,
                               int vec) {
  std::string a = p.pullBroadcast(op.getLhs(), position, vec);
  std::string b = p.pullBroadcast(op.getRhs(), position, vec);
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

static std::string pullSelect(Puller &p, SelectOp op, Puller::Args position,
                              int vec) {
  std::string c = p.pullBroadcast(op.getCondition(), position, vec);
  std::string a = p.pullBroadcast(op.getTrueValue(), position, vec);
  std::string b = p.pullBroadcast(op.getFalseValue(), position, vec);
  return ("select<" + Twine(vec) + ">(" + c + ", " + a + ", " + b + ")").str();
}

static std::string pullCast(Puller &p, CastOp op, Puller::Args position,
                            int vec) {
  Type from = elementTypeOf(op.getInput()), to = elementTypeOf(op.getResult());
  std::string x = p.pull(op.getInput(), position, vec);
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

static std::string pullPhilox(Puller &p, PhiloxOp op, Puller::Args position,
                              int vec) {
  std::string seed = p.pullBroadcast(op.getSeed(), position, vec);
  std::string counter = p.pullBroadcast(op.getCounter(), position, vec);
  return "philox<" + std::to_string(vec) + ">(" + seed + ", " + counter + ")";
}

/// Element `index` of a constant as a C++ literal of its carrier.
static std::string literal(ElementsAttr value, int64_t index) {
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

std::string Puller::tableOf(ConstantOp op) {
  std::string known = key(op.getResult(), {}, 1, "table");
  if (!out.recall(known)) {
    ElementsAttr value = op.getValue();
    std::string name = out.freshName("table"), elements;
    for (int64_t i = 0, e = value.getNumElements(); i < e; ++i)
      elements += (i ? ", " : "") + literal(value, i);
    StringRef carrier =
        isa<FloatType>(elementTypeOf(op.getResult())) ? "float" : "i64";
    out.lineAt(0, "static constexpr " + carrier + " " + name + "[] = {" +
                      elements + "};");
    out.remember(known, {name, 0});
  }
  return out.recall(known)->text;
}

static std::string pullConstant(Puller &p, ConstantOp op, Puller::Args position,
                                int vec) {
  ElementsAttr value = op.getValue();
  Type type = elementTypeOf(op.getResult());
  if (value.isSplat())
    return vecText(type, vec) + "(" + literal(value, 0) + ")";
  std::string table = p.tableOf(op);
  auto shaped = cast<ShapedType>(op.getResult().getType());
  AffineExpr flat = p.constant(0);
  for (auto [index, size] : llvm::zip(position, shaped.getShape()))
    flat = flat * size + index;
  if (vec > 1)
    return p.pullByElement(op.getResult(), position, vec);
  StringRef carrier = isa<FloatType>(type)         ? "float"
                      : type.isSignlessInteger(64) ? "i64"
                                                   : "i32";
  return vecText(type, 1) + "(" + carrier.str() + "(" + table + "[" +
         p.text(flat) + "]))";
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
  table.add(pullConstant);
}
