//===- Logic.cpp - Comparisons and logic of ONNX --------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Booleans are i1, on which hk only selects: logic is written with select and
// small integers.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

/// Whether two sizes are equal, where that is known: a size is not negative.
static std::optional<bool> areEqual(const Size &x, const Size &y) {
  if (std::optional<int64_t> known = (x - y).getConstant())
    return *known == 0;
  if (x.getConstant().value_or(0) < 0 || y.getConstant().value_or(0) < 0)
    return false;
  return std::nullopt;
}

/// Equal of integers that shapes decide, as exporters write it in front of
/// Expand; nothing where it is not known at import.
static std::optional<Item> equalSizes(Node &node) {
  auto x = node.graph.integersOf(node.input(0)),
       y = node.graph.integersOf(node.input(1));
  if (!x || !y || node.input(0).shape != node.input(1).shape)
    return std::nullopt;
  Item made;
  made.dtype = kBool;
  made.shape = node.input(0).shape;
  made.integers.emplace();
  for (auto [a, c] : llvm::zip_equal(*x, *y)) {
    std::optional<bool> equal = areEqual(a, c);
    if (!equal)
      return std::nullopt;
    made.integers->push_back(int64_t(*equal));
  }
  return made;
}

template <ComparePredicate predicate> static LogicalResult compare(Node &node) {
  if (predicate == ComparePredicate::eq)
    if (std::optional<Item> known = equalSizes(node))
      return node.result(0, std::move(*known));
  HK_TRY(inputs, node.pair(0, 1));
  HK_TRY(a, node.asNumber(inputs.first));
  HK_TRY(c, node.asNumber(inputs.second));
  HK_TRY(made, node.compare(predicate, a, c));
  return node.result(0, made);
}

/// Inputs as bytes of 0 and 1, `Op` of them, and whether it is not 0.
template <typename Op> static LogicalResult logic(Node &node) {
  HK_TRY(x, node.tensor(0));
  HK_TRY(y, node.tensor(1));
  if (x.dtype != kBool || y.dtype != kBool)
    return node.error() << "expected booleans, but got " << dtypeName(x.dtype)
                        << " and " << dtypeName(y.dtype);
  HK_TRY(a, node.asNumber(x));
  HK_TRY(c, node.asNumber(y));
  HK_TRY(both, node.binary<Op>(a, c));
  HK_TRY(made, node.cast(both, kBool));
  return node.result(0, made);
}

static LogicalResult logicalNot(Node &node) {
  HK_TRY(x, node.tensor(0));
  if (x.dtype != kBool)
    return node.error() << "expected booleans, but got " << dtypeName(x.dtype);
  HK_TRY(byte, node.asNumber(x));
  HK_TRY(zero, node.scalar(0, kInt8));
  HK_TRY(made, node.compare(ComparePredicate::eq, byte, zero));
  return node.result(0, made);
}

/// Where of integers that shapes decide.
static std::optional<Item> chosenSizes(Node &node) {
  auto condition = node.graph.integersOf(node.input(0)),
       x = node.graph.integersOf(node.input(1)),
       y = node.graph.integersOf(node.input(2));
  if (!condition || !x || !y || node.input(1).shape != node.input(2).shape ||
      node.input(0).shape != node.input(1).shape)
    return std::nullopt;
  Item made;
  made.dtype = node.input(1).dtype;
  made.shape = node.input(1).shape;
  made.integers.emplace();
  for (auto [c, a, e] : llvm::zip_equal(*condition, *x, *y))
    made.integers->push_back(c.isConstant(0) ? e : a);
  return made;
}

static LogicalResult where(Node &node) {
  if (std::optional<Item> known = chosenSizes(node))
    return node.result(0, std::move(*known));
  HK_TRY(condition, node.tensor(0));
  HK_TRY(x, node.tensor(1));
  HK_TRY(y, node.tensor(2));
  if (condition.dtype != kBool || x.dtype != y.dtype)
    return node.error() << "expected a condition of bool and two inputs of one "
                           "type, but got "
                        << dtypeName(condition.dtype) << ", "
                        << dtypeName(x.dtype) << " and " << dtypeName(y.dtype);
  HK_TRY(a, node.asNumber(x));
  HK_TRY(c, node.asNumber(y));
  HK_TRY(chosen, node.select(condition, a, c));
  HK_TRY(made, node.cast(chosen, x.dtype));
  return node.result(0, made);
}

/// NaN is what does not equal itself.
static LogicalResult isNaN(Node &node) {
  HK_TRY(x, node.tensor(0));
  HK_TRY(made, node.compare(ComparePredicate::ne, x, x));
  return node.result(0, made);
}

ArrayRef<Operator> mlir::hk::importer::logicOperators() {
  using P = ComparePredicate;
  static const Operator table[] = {
      {"", "Equal", 1, 2, 2, compare<P::eq>, ""},
      {"", "Less", 1, 2, 2, compare<P::lt>, ""},
      {"", "LessOrEqual", 12, 2, 2, compare<P::le>, ""},
      {"", "Greater", 1, 2, 2, compare<P::gt>, ""},
      {"", "GreaterOrEqual", 12, 2, 2, compare<P::ge>, ""},
      {"", "And", 1, 2, 2, logic<MulOp>, ""},
      {"", "Or", 1, 2, 2, logic<MaxOp>, ""},
      {"", "Xor", 1, 2, 2, logic<SubOp>, ""},
      {"", "Not", 1, 1, 1, logicalNot, ""},
      {"", "Where", 9, 3, 3, where, ""},
      {"", "IsNaN", 9, 1, 1, isNaN, ""},
  };
  return table;
}
