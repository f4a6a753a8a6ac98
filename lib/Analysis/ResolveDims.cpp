//===- ResolveDims.cpp - Sizes as values ----------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns the expressions of DimSymbols into arith on tensor.dim of arguments.
//
//===----------------------------------------------------------------------===//

#include "hk/Analysis/ResolveDims.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::hk;

DimResolver::DimResolver(OpBuilder builder, Location loc,
                         const DimSymbols &dims, ArgumentSize argumentSize)
    : builder(builder), loc(loc), dims(dims),
      argumentSize(std::move(argumentSize)) {
  if (!this->argumentSize)
    this->argumentSize = [this](OpBuilder &b, Location l, Value argument,
                                int64_t dim) -> Value {
      return tensor::DimOp::create(b, l, argument, constant(dim));
    };
}

Value DimResolver::constant(int64_t value) {
  Value &made = constants[value];
  if (!made)
    made = arith::ConstantIndexOp::create(builder, loc, value);
  return made;
}

OpFoldResult DimResolver::get(DimName name) {
  if (name >= 0)
    return builder.getIndexAttr(name);
  return getValue(name);
}

Value DimResolver::getValue(DimName name) {
  if (name >= 0)
    return constant(name);
  int64_t symbol = -1 - name;
  if (Value known = symbols.lookup(symbol))
    return known;
  auto it = bound.find(symbol);
  Value made = it == bound.end() ? materialize(dims.definition(symbol))
                                 : argumentSize(builder, loc, it->second.first,
                                                it->second.second);
  symbols[symbol] = made;
  return made;
}

void DimResolver::bind(DimName name, Value tensor, int64_t dim) {
  if (name < 0)
    bound.try_emplace(-1 - name, tensor, dim);
}

SmallVector<OpFoldResult> DimResolver::getShape(Value tensor) {
  SmallVector<OpFoldResult> sizes;
  for (DimName name : dims.shape(tensor))
    sizes.push_back(get(name));
  return sizes;
}

Value DimResolver::materialize(const SizeExpr &expr) {
  switch (expr.kind) {
  case SizeExpr::Kind::Constant:
    return constant(expr.constant);
  case SizeExpr::Kind::Argument:
    return argumentSize(builder, loc, expr.value, expr.dim);
  case SizeExpr::Kind::Index:
    return indexSource ? indexSource(expr.value) : expr.value;
  case SizeExpr::Kind::Product: {
    Value product;
    for (DimName name : expr.operands) {
      Value factor = getValue(name);
      product = product ? arith::MulIOp::create(builder, loc, product, factor)
                        : factor;
    }
    if (expr.constant == 1)
      return product;
    return arith::MulIOp::create(builder, loc, product,
                                 constant(expr.constant));
  }
  case SizeExpr::Kind::FloorDiv:
    return arith::DivUIOp::create(builder, loc, getValue(expr.operands[0]),
                                  constant(expr.constant));
  case SizeExpr::Kind::CeilDiv:
    return arith::CeilDivUIOp::create(builder, loc, getValue(expr.operands[0]),
                                      constant(expr.constant));
  case SizeExpr::Kind::Sum: {
    Value sum;
    for (DimName name : expr.operands) {
      Value addend = getValue(name);
      sum = sum ? arith::AddIOp::create(builder, loc, sum, addend) : addend;
    }
    if (expr.constant == 0)
      return sum;
    return arith::AddIOp::create(builder, loc, sum, constant(expr.constant));
  }
  case SizeExpr::Kind::Opaque:
    return tensor::DimOp::create(builder, loc, expr.value, constant(expr.dim));
  }
  return Value();
}
