//===- HKShapeOps.cpp - Verifiers and shapes of operators that move data --===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Transpose, concatenation, padding, row gather and copy.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::hk;

//===----------------------------------------------------------------------===//
// hk.transpose
//===----------------------------------------------------------------------===//

int64_t mlir::hk::transposedLocalDims(ArrayRef<int64_t> permutation) {
  size_t fixed = 0;
  while (fixed < permutation.size() &&
         permutation[fixed] == static_cast<int64_t>(fixed))
    ++fixed;
  return permutation.size() - fixed;
}

void TransposeOp::stateShapes(ShapeRelations &shapes) {
  SmallVector<SizeTerm> sizes = dimsOf(getInput());
  if (getPermutation().size() != sizes.size() ||
      !isPermutationVector(getPermutation()))
    return; // the verifier says so
  shapes.shape({"result", getResult()},
               applyPermutation(ArrayRef(sizes), getPermutation()));
}

LogicalResult TransposeOp::verify() {
  Named input{"input", getInput()};
  ArrayRef<int64_t> permutation = getPermutation();
  if (static_cast<int64_t>(permutation.size()) != input.rank())
    return emitOpError("expected length of permutation to be ")
           << input.rank() << ", the rank of input, but got "
           << permutation.size();
  if (!isPermutationVector(permutation))
    return emitOpError("expected permutation to hold each of 0 to ")
           << input.rank() - 1 << " once";
  return expectElement(*this, {"result", getResult()}, input.element());
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (auto before = getInput().getDefiningOp<TransposeOp>()) {
    setPermutation(applyPermutation(before.getPermutation(), getPermutation()));
    setOperand(before.getInput());
    return getResult();
  }
  bool moves = transposedLocalDims(getPermutation()) != 0;
  return moves || getInput().getType() != getType() ? Value() : getInput();
}

//===----------------------------------------------------------------------===//
// hk.concat
//===----------------------------------------------------------------------===//

void ConcatOp::stateShapes(ShapeRelations &shapes) {
  Named result{"result", getResult()};
  int64_t axis = getDim();
  if (getInputs().empty() || axis >= result.rank())
    return; // the verifier says so
  SizeTerm sum;
  for (auto [i, value] : llvm::enumerate(getInputs())) {
    std::string name = "input " + std::to_string(i);
    shapes.rank({name, value}, result.rank());
    for (int64_t dim = 0; dim < result.rank(); ++dim)
      if (dim != axis)
        shapes.size(i == 0 ? result : Named{name, value}, dim,
                    dimOf(getInputs()[0], dim));
    sum = sum + dimOf(value, axis);
  }
  shapes.size(result, axis, sum);
}

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return emitOpError("expected number of inputs to be at least 1, but got 0");
  Named result{"result", getResult()};
  int64_t dim = getDim();
  if (dim >= result.rank())
    return emitOpError("expected dim to be less than ")
           << result.rank() << ", the rank of result, but got " << dim;
  for (auto [i, value] : llvm::enumerate(getInputs()))
    if (std::string name = "input " + std::to_string(i);
        failed(expectElement(*this, {name, value}, result.element())))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// hk.pad
//===----------------------------------------------------------------------===//

void PadOp::stateShapes(ShapeRelations &shapes) {
  Named input{"input", getInput()}, result{"result", getResult()};
  shapes.rowsLike(result, input);
  // The result's type is what says how much is appended.
  shapes.isStatic(input, -1);
  shapes.isStatic(result, -1);
}

LogicalResult PadOp::verify() {
  Named input{"input", getInput()}, result{"result", getResult()};
  if (failed(expectElement(*this, result, input.element())))
    return failure();
  int64_t last = input.rank() - 1;
  if (result.size(last) < input.size(last))
    return emitOpError("expected size of dim ")
           << last << " of result to be at least " << input.size(last)
           << ", but got " << result.size(last);
  return expectNumber(*this, "value", getValue(), input.element());
}

//===----------------------------------------------------------------------===//
// hk.gather_rows
//===----------------------------------------------------------------------===//

void GatherRowsOp::stateShapes(ShapeRelations &shapes) {
  shapes.minRank({"table", getTable()}, 1);
  SmallVector<SizeTerm> sizes = dimsOf(getIndices());
  llvm::append_range(sizes, dimsOf(getTable(), 1));
  shapes.shape({"result", getResult()}, sizes);
}

LogicalResult GatherRowsOp::verify() {
  return expectElement(*this, {"result", getResult()},
                       tensorType(getTable()).getElementType());
}

//===----------------------------------------------------------------------===//
// hk.gather_elements
//===----------------------------------------------------------------------===//

void GatherElementsOp::stateShapes(ShapeRelations &shapes) {
  Named table{"table", getTable()};
  shapes.rank(table, getIndices().size());
  shapes.minRank(table, 1);
  SmallVector<Named> indices;
  for (Value index : getIndices())
    indices.push_back({"an index", index});
  shapes.broadcast(indices, {"result", getResult()});
}

LogicalResult GatherElementsOp::verify() {
  return expectElement(*this, {"result", getResult()},
                       tensorType(getTable()).getElementType());
}
