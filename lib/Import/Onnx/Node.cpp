//===- Node.cpp - What an operator sees of its node -----------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inputs, attributes and results. An attribute that an operator does not ask
// for is an error: to ignore it would silently mean another function.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

#include <onnx/onnx_pb.h>

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

InFlightDiagnostic Node::error() const { return emitError(loc); }

size_t Node::numInputs() const { return node.input_size(); }
size_t Node::numOutputs() const { return node.output_size(); }
StringRef Node::inputName(size_t i) const { return node.input(i); }
StringRef Node::outputName(size_t i) const { return node.output(i); }

bool Node::has(size_t i) const {
  return i < numInputs() && !node.input(i).empty();
}

bool Node::wants(size_t i) const {
  return i < numOutputs() && !node.output(i).empty() &&
         graph.isUsed(node.output(i));
}

const Item &Node::input(size_t i) const { return *graph.find(inputName(i)); }

FailureOr<RankedTensorType> Node::type(int dtype, ArrayRef<Size> shape) {
  return graph.typeOf(loc, dtype == kUInt8 && op.movesOnly ? int(kInt8) : dtype,
                      shape);
}

FailureOr<Tensor> Node::codes(size_t i) {
  if (!has(i))
    return error() << "expected input #" << i << ", but it is left out";
  Item &item = *graph.find(inputName(i));
  if (item.dtype != kInt8 && item.dtype != kUInt8)
    return error() << "expected integers of 8 bits as input #" << i << " '"
                   << inputName(i) << "', but got " << dtypeName(item.dtype);
  FailureOr<Value> value = graph.tensorOf(loc, item);
  if (failed(value))
    return failure();
  return Tensor{*value, kInt8, item.shape};
}

FailureOr<Tensor> Node::tensor(size_t i) {
  if (!has(i))
    return error() << "expected input #" << i << ", but it is left out";
  // What was made of a constant is kept with it.
  Item &item = *graph.find(inputName(i));
  if (item.dtype == kUInt8 && !op.movesOnly &&
      failed(graph.typeOf(loc, kUInt8, item.shape)))
    return failure();
  if (!item.tensor && item.integers &&
      llvm::any_of(*item.integers,
                   [](const Size &size) { return !size.getConstant(); }))
    return counts(item);
  FailureOr<Value> value = graph.tensorOf(loc, item);
  if (failed(value))
    return failure();
  return Tensor{*value, item.dtype, item.shape};
}

FailureOr<Tensor> Node::realTensor(size_t i) {
  HK_TRY(x, tensor(i));
  if (!dtypeInfo(x.dtype)->isFloat)
    return error() << "expected real elements, but got " << dtypeName(x.dtype);
  return x;
}

FailureOr<std::pair<Tensor, Tensor>> Node::pair(size_t i, size_t j) {
  HK_TRY(x, tensor(i));
  HK_TRY(y, tensor(j));
  if (x.dtype != y.dtype)
    return error() << "expected inputs of one type, but got "
                   << dtypeName(x.dtype) << " and " << dtypeName(y.dtype);
  return std::pair(x, y);
}

FailureOr<Data> Node::numbers(size_t i, StringRef what) {
  const Item &item = input(i);
  if (item.data && item.data->getNumElements() <= graph.options.maxEvaluated)
    return *item.data;
  if (!item.data)
    return error() << "expected " << what << ", input #" << i << " '"
                   << inputName(i)
                   << "', to be numbers of the model file, but they are "
                      "computed";
  return error() << "expected " << what << ", input #" << i
                 << ", to be at most " << graph.options.maxEvaluated
                 << " numbers, but got " << item.data->getNumElements();
}

FailureOr<SmallVector<Size>> Node::sizes(size_t i, StringRef what) {
  if (auto integers = graph.integersOf(input(i)))
    return *integers;
  return error() << "expected " << what << ", input #" << i << " '"
                 << inputName(i)
                 << "', to be integers of the model file or computed from "
                    "shapes, but they depend on data";
}

FailureOr<SmallVector<int64_t>> Node::integers(size_t i, StringRef what) {
  HK_TRY(symbolic, sizes(i, what));
  SmallVector<int64_t> numbers;
  for (const Size &size : symbolic) {
    std::optional<int64_t> known = size.getConstant();
    if (!known)
      return error() << "expected " << what << ", input #" << i << " '"
                     << inputName(i) << "', to be known numbers, but got "
                     << graph.symbols.describe(size);
    numbers.push_back(*known);
  }
  return numbers;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const ::onnx::AttributeProto *Node::attribute(StringRef name) {
  asked.insert(name);
  for (const auto &attribute : node.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

bool Node::hasAttribute(StringRef name) const {
  return llvm::any_of(node.attribute(), [&](const auto &attribute) {
    return attribute.name() == name;
  });
}

int64_t Node::integer(StringRef name, int64_t otherwise) {
  const auto *found = attribute(name);
  if (!found)
    return otherwise;
  if (found->type() != ::onnx::AttributeProto::INT)
    wrongAttribute = (name + "' to be an integer").str();
  return found->i();
}

double Node::real(StringRef name, double otherwise) {
  const auto *found = attribute(name);
  if (!found)
    return otherwise;
  if (found->type() != ::onnx::AttributeProto::FLOAT)
    wrongAttribute = (name + "' to be a float").str();
  return found->f();
}

StringRef Node::text(StringRef name, StringRef otherwise) {
  const auto *found = attribute(name);
  if (!found)
    return otherwise;
  if (found->type() != ::onnx::AttributeProto::STRING)
    wrongAttribute = (name + "' to be a string").str();
  return found->s();
}

std::optional<SmallVector<int64_t>> Node::integerList(StringRef name) {
  const auto *found = attribute(name);
  if (!found)
    return std::nullopt;
  if (found->type() != ::onnx::AttributeProto::INTS)
    wrongAttribute = (name + "' to be a list of integers").str();
  return SmallVector<int64_t>(found->ints().begin(), found->ints().end());
}

LogicalResult Node::only(StringRef name, int64_t value, StringRef why) {
  int64_t got = integer(name, value);
  if (got == value)
    return success();
  return error() << "expected attribute '" << name << "' to be " << value
                 << ", but got " << got << ": " << why;
}

LogicalResult Node::checkAttributes() {
  if (!wrongAttribute.empty())
    return error() << "expected attribute '" << wrongAttribute;
  for (const auto &attribute : node.attribute())
    if (!asked.contains(attribute.name()))
      return error() << "attribute '" << attribute.name()
                     << "' is not supported";
  return success();
}

FailureOr<int64_t> Node::axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return error() << "expected an axis from " << -rank << " to " << rank - 1
                   << ", but got " << axis;
  return axis < 0 ? axis + rank : axis;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

LogicalResult Node::result(size_t i, const Tensor &tensor) {
  Item item;
  item.dtype = tensor.dtype;
  item.shape = tensor.shape;
  item.tensor = tensor.value;
  return result(i, std::move(item));
}

LogicalResult Node::result(size_t i, Item item) {
  if (i >= numOutputs() || node.output(i).empty())
    return success();
  if (item.name.empty())
    item.name = node.output(i);
  return graph.define(loc, node.output(i), std::move(item));
}

std::string Node::describe(ArrayRef<Size> shape) const {
  std::string text = "[";
  for (auto [i, size] : llvm::enumerate(shape))
    text += (i ? ", " : "") + graph.symbols.describe(size);
  return text + "]";
}
