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
  SmallVector<int64_t> shape =
      applyPermutation(input.type().getShape(), permutation);
  Named result{"result", getResult()};
  if (failed(expectElement(*this, result, input.element())))
    return failure();
  return expectShape(*this, result, shape);
}

LogicalResult TransposeOp::reifyResultShapes(OpBuilder &b,
                                             ReifiedRankedShapedTypeDims &r) {
  Sizes sizes = sizesOf(b, getLoc(), getInput());
  applyPermutationToVector(sizes, getPermutation());
  addShape(b, getLoc(), getResult(), std::move(sizes), r);
  return success();
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

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return emitOpError("expected number of inputs to be at least 1, but got 0");
  Named result{"result", getResult()};
  int64_t dim = getDim();
  if (dim >= result.rank())
    return emitOpError("expected dim to be less than ")
           << result.rank() << ", the rank of result, but got " << dim;
  int64_t sum = 0;
  for (auto [i, value] : llvm::enumerate(getInputs())) {
    std::string name = "input " + std::to_string(i);
    Named input{name, value};
    if (failed(expectElement(*this, input, result.element())) ||
        failed(expectRank(*this, input, result.rank())))
      return failure();
    for (int64_t d = 0; d < result.rank(); ++d)
      if (d != dim && failed(expectSize(*this, input, d, result.size(d))))
        return failure();
    int64_t size = input.size(dim);
    sum = ShapedType::isDynamic(size) || ShapedType::isDynamic(sum)
              ? ShapedType::kDynamic
              : sum + size;
  }
  return expectSize(*this, result, dim, sum);
}

LogicalResult ConcatOp::reifyResultShapes(OpBuilder &b,
                                          ReifiedRankedShapedTypeDims &r) {
  Sizes sizes = sizesOf(b, getLoc(), getInputs().front());
  int64_t dim = getDim();
  for (Value input : getInputs().drop_front())
    sizes[dim] = addSizes(b, getLoc(), sizes[dim],
                          tensor::getMixedSize(b, getLoc(), input, dim));
  addShape(b, getLoc(), getResult(), std::move(sizes), r);
  return success();
}

//===----------------------------------------------------------------------===//
// hk.pad
//===----------------------------------------------------------------------===//

LogicalResult PadOp::verify() {
  Named input{"input", getInput()}, result{"result", getResult()};
  if (failed(expectMinRank(*this, input, 1)) ||
      failed(expectElement(*this, result, input.element())) ||
      failed(expectRank(*this, result, input.rank())))
    return failure();
  int64_t last = input.rank() - 1;
  for (int64_t d = 0; d < last; ++d)
    if (failed(expectSize(*this, result, d, input.size(d))))
      return failure();
  // The result's type is what says how much is appended.
  if (failed(expectStatic(*this, input, last)) ||
      failed(expectStatic(*this, result, last)))
    return failure();
  if (result.size(last) < input.size(last))
    return emitOpError("expected size of dim ")
           << last << " of result to be at least " << input.size(last)
           << ", but got " << result.size(last);
  // Rounding it would be an operation of its own.
  llvm::APFloat value = getValue();
  bool inexact = false;
  if (auto type = dyn_cast<FloatType>(input.element()))
    value.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                  &inexact);
  else
    inexact = !value.isInteger();
  if (inexact && !getValue().isZero())
    return emitOpError("expected value to be a number of ")
           << input.element() << ", but got " << getValue().convertToFloat();
  return success();
}

LogicalResult PadOp::reifyResultShapes(OpBuilder &b,
                                       ReifiedRankedShapedTypeDims &r) {
  addShapeOf(b, getLoc(), getResult(), getInput(), r);
  return success();
}

//===----------------------------------------------------------------------===//
// hk.gather_rows
//===----------------------------------------------------------------------===//

LogicalResult GatherRowsOp::verify() {
  Named table{"table", getTable()}, indices{"indices", getIndices()};
  Named result{"result", getResult()};
  if (failed(expectMinRank(*this, table, 1)) ||
      failed(expectElement(*this, result, table.element())))
    return failure();
  SmallVector<int64_t> shape(indices.type().getShape());
  llvm::append_range(shape, table.type().getShape().drop_front());
  return expectShape(*this, result, shape);
}

LogicalResult GatherRowsOp::reifyResultShapes(OpBuilder &b,
                                              ReifiedRankedShapedTypeDims &r) {
  Sizes sizes = sizesOf(b, getLoc(), getIndices());
  Sizes row = sizesOf(b, getLoc(), getTable());
  sizes.append(row.begin() + 1, row.end());
  addShape(b, getLoc(), getResult(), std::move(sizes), r);
  return success();
}

//===----------------------------------------------------------------------===//
// hk.gather_elements
//===----------------------------------------------------------------------===//

LogicalResult GatherElementsOp::verify() {
  Named table{"table", getTable()}, result{"result", getResult()};
  if (failed(expectRank(*this, table, int64_t(getIndices().size()))) ||
      failed(expectMinRank(*this, table, 1)) ||
      failed(expectElement(*this, result, table.element())))
    return failure();
  SmallVector<Named> indices;
  for (Value index : getIndices())
    indices.push_back({"an index", index});
  return expectBroadcast(*this, indices, result);
}

LogicalResult
GatherElementsOp::reifyResultShapes(OpBuilder &b,
                                    ReifiedRankedShapedTypeDims &r) {
  addShape(b, getLoc(), getResult(),
           broadcastSizes(b, getLoc(), getIndices(), getResult()), r);
  return success();
}

//===----------------------------------------------------------------------===//
// hk.copy
//===----------------------------------------------------------------------===//

LogicalResult CopyOp::reifyResultShapes(OpBuilder &b,
                                        ReifiedRankedShapedTypeDims &r) {
  addShapeOf(b, getLoc(), getResult(), getInput(), r);
  return success();
}
