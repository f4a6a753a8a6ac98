//===- Folding.cpp - Arithmetic of numbers of a model ---------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The exporter that traces computes sizes in reals: the side of a square grid
// is Pow(patches, 0.5), a number of windows Ceil of a quotient, and a Cast
// makes a size of it. Where all inputs are numbers of the file so is the
// result, each operator computed in double and rounded once to its type.
//
//===----------------------------------------------------------------------===//

#include "Folding.h"

#include <cmath>

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

namespace {
struct Function {
  const char *name;
  size_t inputs;
  double (*value)(double x, double y);
};
} // namespace

static const Function kFunctions[] = {
    {"Add", 2, [](double x, double y) { return x + y; }},
    {"Sub", 2, [](double x, double y) { return x - y; }},
    {"Mul", 2, [](double x, double y) { return x * y; }},
    {"Div", 2, [](double x, double y) { return x / y; }},
    {"Pow", 2, [](double x, double y) { return std::pow(x, y); }},
    {"Ceil", 1, [](double x, double) { return std::ceil(x); }},
    {"Floor", 1, [](double x, double) { return std::floor(x); }},
    {"Round", 1, [](double x, double) { return std::nearbyint(x); }},
    {"Sqrt", 1, [](double x, double) { return std::sqrt(x); }},
};

/// Integers that shapes decide, negated: bounds of a range, offsets from an
/// end.
static std::optional<LogicalResult> negatedIntegers(Node &node) {
  const Item &item = node.input(0);
  bool isSize = item.dtype == kInt64 || item.dtype == kInt32;
  auto integers =
      isSize && !item.tensor ? node.graph.integersOf(item) : std::nullopt;
  if (!integers)
    return std::nullopt;
  Item made;
  made.dtype = item.dtype;
  made.shape = item.shape;
  made.integers.emplace();
  for (const Size &size : *integers) {
    made.integers->push_back(Size(0) - size);
    if (!made.integers->back().isValid())
      return std::nullopt;
  }
  return node.result(0, std::move(made));
}

std::optional<LogicalResult> mlir::hk::importer::foldedNumbers(Node &node,
                                                               StringRef name) {
  if (name == "Neg" && node.numInputs() == 1 && node.has(0))
    return negatedIntegers(node);
  constexpr int64_t kMostFolded = 64;
  const auto *function = llvm::find_if(
      kFunctions, [&](const Function &f) { return name == f.name; });
  if (function == std::end(kFunctions) || node.numInputs() != function->inputs)
    return std::nullopt;
  for (size_t i = 0; i < node.numInputs(); ++i) {
    if (!node.has(i) || !node.input(i).data ||
        node.input(i).dtype != node.input(0).dtype)
      return std::nullopt;
    const DTypeInfo *info = dtypeInfo(node.input(i).dtype);
    if (!info || !info->isFloat || info->bits < 16 ||
        node.input(i).data->getNumElements() > kMostFolded)
      return std::nullopt;
  }
  const Data &x = *node.input(0).data,
             &y = *node.input(node.numInputs() - 1).data;
  int64_t xCount = x.getNumElements(), yCount = y.getNumElements();
  if (x.sizes != y.sizes && xCount != 1 && yCount != 1)
    return std::nullopt;
  // One number takes the shape of the other side, as far as that has more dims.
  const Data &whole =
      xCount < yCount || x.sizes.size() < y.sizes.size() ? y : x;
  if (whole.getNumElements() != std::max(xCount, yCount) ||
      whole.sizes.size() < std::max(x.sizes.size(), y.sizes.size()))
    return std::nullopt;
  SmallVector<double> numbers;
  for (int64_t i = 0, e = whole.getNumElements(); i < e; ++i)
    numbers.push_back(function->value(x.number(xCount == 1 ? 0 : i),
                                      y.number(yCount == 1 ? 0 : i)));
  Item made;
  made.dtype = node.input(0).dtype;
  made.data = node.graph.store.make(made.dtype, whole.sizes, numbers);
  made.shape.assign(whole.sizes.begin(), whole.sizes.end());
  return node.result(0, std::move(made));
}
