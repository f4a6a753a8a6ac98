//===- CheckRaise.cpp - A function before and after raising ---------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Open sizes are small numbers, different for different names; integers are
// small, so that most of them are in the range of a table.
//
//===----------------------------------------------------------------------===//

#include "Raise/CheckRaise.h"
#include "hk/Analysis/DimSymbols.h"
#include <random>

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::raise;

/// Random elements: reals of unit deviation, integers from 0 to 3.
static reference::Tensor randomTensor(RankedTensorType type,
                                      ArrayRef<int64_t> sizes,
                                      std::mt19937 &random) {
  ::hk::DType dtype = *dtypeOf(type.getElementType());
  reference::Tensor tensor(dtype, sizes);
  bool isReal = isa<FloatType>(type.getElementType());
  std::normal_distribution<double> normal;
  for (double &value : tensor.values)
    value = reference::roundTo(dtype,
                               isReal ? normal(random) : double(random() % 4));
  return tensor;
}

FailureOr<SmallVector<reference::Tensor>> RaiseCheck::interpret() {
  auto weights = [](WeightOp weight) -> FailureOr<reference::Tensor> {
    // The same for the same weight, whenever it is asked for.
    std::mt19937 random(unsigned(llvm::hash_value(weight.getSource())));
    auto type = cast<RankedTensorType>(weight.getType());
    return randomTensor(type, type.getShape(), random);
  };
  return reference::interpret(function, arguments, weights);
}

LogicalResult RaiseCheck::before() {
  Block &block = function.getBody().front();
  DimSymbols dims(block);
  std::mt19937 random(1);
  arguments.clear();
  for (Value argument : block.getArguments()) {
    SmallVector<int64_t> sizes;
    for (DimName name : dims.shape(argument))
      sizes.push_back(name >= 0 ? name : 3 - 2 * name);
    arguments.push_back(randomTensor(cast<RankedTensorType>(argument.getType()),
                                     sizes, random));
  }
  FailureOr<SmallVector<reference::Tensor>> results = interpret();
  if (failed(results))
    return failure();
  expected = *results;
  return success();
}

LogicalResult RaiseCheck::after() {
  FailureOr<SmallVector<reference::Tensor>> results = interpret();
  if (failed(results))
    return failure();
  for (auto [r, got] : llvm::enumerate(*results)) {
    const reference::Tensor &wanted = expected[r];
    for (int64_t i = 0; i < got.numElements(); ++i) {
      double bound = wanted.boundAt(i) + got.boundAt(i),
             difference = std::abs(wanted.values[i] - got.values[i]);
      bool isSame =
          std::isnan(wanted.values[i])
              ? std::isnan(got.values[i])
              : difference <= bound || wanted.values[i] == got.values[i];
      if (!isSame)
        return function.emitError("raising changed element ")
               << i << " of result " << r << " from " << wanted.values[i]
               << " to " << got.values[i] << ", more than the bound " << bound;
    }
  }
  return success();
}
