//===- Table.cpp - The table of op functions, and what they share ---------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every base op has its function here; a unit test walks the registered ops.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;

Evaluator reference::evaluatorOf(StringRef operationName) {
  static const EvaluatorTable table = [] {
    EvaluatorTable made;
    addPointwise(made);
    addMovement(made);
    addNorms(made);
    addActivations(made);
    addSelections(made);
    addQuantisation(made);
    addReductions(made);
    addConvolutions(made);
    addProducts(made);
    addGroupedProducts(made);
    addAttention(made);
    addMqaLogits(made);
    addAttentionCombine(made);
    addAttentionBackward(made);
    addScans(made);
    addGatedDelta(made);
    addRouting(made);
    return made;
  }();
  return table.lookup(operationName);
}

Tensor ResultBuilder::take() {
  if (llvm::any_of(errors, [](double e) { return e != 0; }))
    tensor.error = std::move(errors);
  if (llvm::any_of(jumps, [](double j) { return j != 0; }))
    tensor.jump = std::move(jumps);
  if (llvm::any_of(flips, [](double f) { return f != 0; }))
    tensor.flip = std::move(flips);
  return std::move(tensor);
}

LogicalResult reference::requireSize(Operation *op, const Twine &what,
                                     int64_t expected, int64_t got) {
  if (expected == got)
    return success();
  return op->emitOpError("expected ")
         << what << " to be " << expected << " at run time, but got " << got;
}

LogicalResult reference::requireSizes(Operation *op, StringRef what,
                                      ArrayRef<int64_t> expected,
                                      ArrayRef<int64_t> got) {
  if (failed(requireSize(op, "rank of " + what, expected.size(), got.size())))
    return failure();
  for (auto [d, sizes] : llvm::enumerate(llvm::zip_equal(expected, got)))
    if (failed(requireSize(op, "size of dim " + Twine(d) + " of " + what,
                           std::get<0>(sizes), std::get<1>(sizes))))
      return failure();
  return success();
}

Broadcast::Broadcast(ArrayRef<const Tensor *> operands) {
  size_t rank = 0;
  for (const Tensor *t : operands)
    rank = std::max(rank, t->sizes.size());
  resultSizes.assign(rank, 1);
  for (const Tensor *t : operands) {
    SmallVector<int64_t> steps(rank, 0);
    int64_t stride = 1;
    for (size_t k = 0; k < t->sizes.size(); ++k) {
      int64_t size = t->sizes[t->sizes.size() - 1 - k];
      if (size != 1) {
        resultSizes[rank - 1 - k] = size;
        steps[rank - 1 - k] = stride;
      }
      stride *= size;
    }
    strides.push_back(std::move(steps));
  }
}

void Broadcast::forEach(
    function_ref<void(int64_t, ArrayRef<int64_t>)> fn) const {
  int64_t count = 1, rank = resultSizes.size();
  for (int64_t size : resultSizes)
    count *= size;
  SmallVector<int64_t> index(rank, 0), positions(strides.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    fn(i, positions);
    // Advance like an odometer.
    for (int64_t d = rank - 1; d >= 0; --d) {
      ++index[d];
      for (auto [position, stride] : llvm::zip_equal(positions, strides))
        position += stride[d];
      if (index[d] < resultSizes[d])
        break;
      for (auto [position, stride] : llvm::zip_equal(positions, strides))
        position -= stride[d] * resultSizes[d];
      index[d] = 0;
    }
  }
}
