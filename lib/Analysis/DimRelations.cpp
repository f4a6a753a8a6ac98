//===- DimRelations.cpp - Sizes that operators state ----------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Unites the dims that an operator's shape relations make equal, and notes how
// the others are computed.
//
//===----------------------------------------------------------------------===//

#include "DimSymbolsBuilder.h"

using namespace mlir;
using namespace mlir::hk;

using Node = DimSymbolsBuilder::Node;

static SizeExpr::Kind exprKindOf(SizeTerm::Kind kind) {
  switch (kind) {
  case SizeTerm::Kind::Sum:
    return SizeExpr::Kind::Sum;
  case SizeTerm::Kind::Product:
    return SizeExpr::Kind::Product;
  case SizeTerm::Kind::CeilDiv:
    return SizeExpr::Kind::CeilDiv;
  case SizeTerm::Kind::FloorDiv:
    return SizeExpr::Kind::FloorDiv;
  case SizeTerm::Kind::Constant:
  case SizeTerm::Kind::Dim:
    break;
  }
  llvm_unreachable("only computed sizes have an expression");
}

/// The operands of a computed size; static ones become part of its constant.
SmallVector<Node> DimSymbolsBuilder::operandsOf(const SizeTerm &size,
                                                int64_t &constant) {
  constant = size.getConstant();
  SmallVector<Node> operands;
  for (const SizeTerm &operand : size.getOperands()) {
    std::optional<int64_t> known = operand.evaluate(staticSizeOf);
    if (known && size.getKind() == SizeTerm::Kind::Sum)
      constant += *known;
    else if (known && size.getKind() == SizeTerm::Kind::Product)
      constant *= *known;
    else
      operands.push_back(nodeOf(operand));
  }
  return operands;
}

Node DimSymbolsBuilder::nodeOf(const SizeTerm &size) {
  if (std::optional<int64_t> known = size.evaluate(staticSizeOf))
    return constantNode(*known);
  if (size.getKind() == SizeTerm::Kind::Dim)
    return node(size.getValue(), size.getDim());
  int64_t constant;
  SmallVector<Node> operands = operandsOf(size, constant);
  return compute(exprKindOf(size.getKind()), operands, constant);
}

void DimSymbolsBuilder::relate(Value value, int64_t dim, const SizeTerm &size) {
  if (size.getKind() == SizeTerm::Kind::Dim ||
      size.evaluate(staticSizeOf).has_value())
    return unite(node(value, dim), nodeOf(size));
  int64_t constant;
  SmallVector<Node> operands = operandsOf(size, constant);
  derive(exprKindOf(size.getKind()), operands, constant, value, dim);
}

void DimSymbolsBuilder::visitStated(Operation *op) {
  ShapeRelations relations = shapeRelationsOf(op);
  for (const ShapeRelation &r : relations.get()) {
    switch (r.kind) {
    case ShapeRelation::Kind::Shape:
      for (auto [dim, size] : llvm::enumerate(r.sizes))
        relate(r.value, dim, size);
      break;
    case ShapeRelation::Kind::Size:
      relate(r.value, r.number, r.sizes[0]);
      break;
    case ShapeRelation::Kind::Broadcast:
      for (auto &[name, operand] : r.operands) {
        int64_t rank = tensorType(operand).getRank();
        int64_t shift = tensorType(r.value).getRank() - rank;
        // A size of 1 repeats and says nothing.
        for (int64_t dim = 0; dim < rank; ++dim)
          if (staticSizeOf(operand, dim) != 1)
            unite(node(r.value, dim + shift), node(operand, dim));
      }
      break;
    case ShapeRelation::Kind::Rank:
    case ShapeRelation::Kind::MinRank:
    case ShapeRelation::Kind::Static:
      break;
    }
  }
}
