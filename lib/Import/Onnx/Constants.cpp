//===- Constants.cpp - Operators of ONNX without data ---------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers that stand in the model, or that its shapes decide.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

#include <onnx/onnx_pb.h>

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

static LogicalResult dataResult(Node &node, const Data &data) {
  Item made;
  made.dtype = data.dtype;
  made.shape.assign(data.sizes.begin(), data.sizes.end());
  made.data = data;
  return node.result(0, std::move(made));
}

static LogicalResult constant(Node &node) {
  DataStore &store = node.graph.store;
  if (const auto *value = node.attribute("value")) {
    HK_TRY(data, store.read(node.loc, value->t()));
    return dataResult(node, data);
  }
  if (node.hasAttribute("value_float"))
    return dataResult(node,
                      store.make(kFloat, {}, node.real("value_float", 0)));
  if (node.hasAttribute("value_int"))
    return dataResult(
        node, store.makeIntegers(kInt64, {}, node.integer("value_int", 0)));
  if (auto list = node.integerList("value_ints"))
    return dataResult(node,
                      store.makeIntegers(kInt64, int64_t(list->size()), *list));
  if (const auto *floats = node.attribute("value_floats")) {
    SmallVector<double> list(floats->floats().begin(), floats->floats().end());
    return dataResult(node, store.make(kFloat, int64_t(list.size()), list));
  }
  return node.error() << "expected attribute 'value', 'value_float(s)' or "
                         "'value_int(s)'";
}

static LogicalResult constantOfShape(Node &node) {
  HK_TRY(shape, node.sizes(0, "the shape"));
  Data value = node.graph.store.make(kFloat, {}, {0.0});
  if (const auto *given = node.attribute("value")) {
    HK_TRY(data, node.graph.store.read(node.loc, given->t()));
    if (data.getNumElements() != 1)
      return node.error() << "expected one value, but got "
                          << data.getNumElements();
    value = data;
  }
  if (dtypeInfo(value.dtype)->bits < 8)
    return node.error() << "expected elements of at least 8 bits, but got "
                        << dtypeName(value.dtype);
  // Of a size that only a call tells: one number, repeated.
  if (llvm::any_of(shape,
                   [](const Size &size) { return !size.getConstant(); })) {
    value.sizes.clear();
    HK_TRY(number, node.constant(value, ""));
    HK_TRY(repeated, node.expand(number, shape));
    return node.result(0, repeated);
  }
  Data made;
  made.dtype = value.dtype;
  int64_t count = 1;
  for (const Size &size : shape) {
    std::optional<int64_t> known = size.getConstant();
    bool fits =
        known && *known >= 0 && *known <= node.graph.options.maxEvaluated;
    count = fits ? count * *known : 0;
    if (!fits || count > node.graph.options.maxEvaluated)
      return node.error() << "expected a known shape of at most "
                          << node.graph.options.maxEvaluated
                          << " elements, but got " << node.describe(shape);
    made.sizes.push_back(*known);
  }
  std::string bytes;
  for (int64_t i = 0; i < count; ++i)
    bytes += value.bytes;
  made.bytes = node.graph.store.keep(std::move(bytes));
  return dataResult(node, made);
}

/// Range of as many integers as a dim of an input has: how many of them came
/// before. Nothing where the bounds are known, or are no such.
static std::optional<LogicalResult> rangeOfDim(Node &node) {
  Size bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    auto integers = node.graph.integersOf(node.input(i));
    if (!integers || integers->size() != 1)
      return std::nullopt;
    bounds[i] = integers->front();
  }
  std::optional<int64_t> begin = bounds[0].getConstant();
  Size count = bounds[1] - bounds[0];
  int dtype = node.input(0).dtype;
  if (!begin || !bounds[2].isConstant(1) || count.getConstant() ||
      (dtype != kInt64 && dtype != kInt32))
    return std::nullopt;
  HK_TRY(like, node.tensorWith(count));
  HK_TRY(type, node.type(dtype, {count}));
  Value numbers = IotaOp::create(node.b, node.loc, type, like.first.value,
                                 uint64_t(like.second));
  Tensor made{numbers, dtype, {count}};
  node.graph.meanings.ranges[numbers] = count;
  if (*begin != 0) {
    HK_TRY(first, node.scalar(double(*begin), dtype));
    HK_TRY(moved, node.binary<AddOp>(made, first));
    made = moved;
  }
  return node.result(0, made);
}

static LogicalResult range(Node &node) {
  if (auto done = rangeOfDim(node))
    return *done;
  int dtype = node.input(0).dtype;
  SmallVector<double> bounds;
  for (size_t i = 0; i < 3; ++i) {
    const Item &item = node.input(i);
    if (item.dtype != dtype)
      return node.error() << "expected inputs of one type, but got "
                          << dtypeName(dtype) << " and "
                          << dtypeName(item.dtype);
    if (item.data && item.data->getNumElements() == 1) {
      bounds.push_back(item.data->number(0));
      continue;
    }
    HK_TRY(integers, node.integers(i, "a bound"));
    if (integers.size() != 1)
      return node.error() << "expected one number as input #" << i
                          << ", but got " << integers.size();
    bounds.push_back(integers.front());
  }
  double count = std::ceil((bounds[1] - bounds[0]) / bounds[2]);
  if (!(count <= node.graph.options.maxEvaluated) || std::isnan(count))
    return node.error() << "expected at most "
                        << node.graph.options.maxEvaluated
                        << " numbers, but got " << count;
  const auto *info = dtypeInfo(dtype);
  if (!info || info->bits < 8 || (info->isFloat && info->bits == 8))
    return node.error() << "expected numbers, but got " << dtypeName(dtype);
  SmallVector<double> numbers;
  for (int64_t i = 0; i < int64_t(count); ++i)
    numbers.push_back(bounds[0] + double(i) * bounds[2]);
  return dataResult(
      node, node.graph.store.make(dtype, int64_t(numbers.size()), numbers));
}

ArrayRef<Operator> mlir::hk::importer::constantOperators() {
  static const Operator table[] = {
      {"", "Constant", 1, 0, 0, constant, "no strings, no sparse tensors"},
      {"", "ConstantOfShape", 9, 1, 1, constantOfShape,
       "of known shapes of at most 65536 elements, or of sizes of inputs"},
      {"", "Range", 11, 3, 3, range,
       "of known bounds, or as many as a dim of an input has"},
  };
  return table;
}
