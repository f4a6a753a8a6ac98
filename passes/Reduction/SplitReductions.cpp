//===- SplitReductions.cpp - Large reductions in two steps ----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reduction over all of a large tensor would be one row of one workgroup.
// Here it becomes two: partial results of rows, each by a workgroup of its own,
// and their reduction. Workgroups never wait for each other and nothing is
// added atomically, so results do not depend on timing.
//
//===----------------------------------------------------------------------===//

#include "hk/Analysis/LoopMaps.h"
#include "hk/Dialect/HK.h"
#include "hk/Families/SmallReduction.h"
#include "hk/Passes/Passes.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKSPLITREDUCTIONS
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

/// Rows that a long row is cut into at most.
static constexpr int64_t kMaxParts = 1024;

/// Reassociation of a tensor of `rank` dims in which dims [first, first + n)
/// are one group.
static SmallVector<ReassociationIndices> groupDims(int64_t rank, int64_t first,
                                                   int64_t n) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t d = 0; d < rank; ++d) {
    if (d > first && d < first + n)
      groups.back().push_back(d);
    else
      groups.push_back({d});
  }
  return groups;
}

/// The reduction of the last dim, whose partial results are f32.
static Value reduceLast(OpBuilder &b, Location loc, ReduceKind kind,
                        Value input) {
  SmallVector<int64_t> shape(tensorType(input).getShape());
  shape.back() = 1;
  return ReduceOp::create(b, loc, RankedTensorType::get(shape, b.getF32Type()),
                          kind, input, /*dims=*/1);
}

/// [..., A, 1] to [..., A].
static Value dropLast(OpBuilder &b, Location loc, Value value) {
  RankedTensorType type = tensorType(value);
  int64_t rank = type.getRank();
  auto shorter =
      RankedTensorType::get(type.getShape().drop_back(), type.getElementType());
  return tensor::CollapseShapeOp::create(b, loc, shorter, value,
                                         groupDims(rank, rank - 2, 2));
}

/// [..., A, B, 1] to [..., 1, A, B], where `dims` dims move.
static Value rotateOne(OpBuilder &b, Location loc, Value value, int64_t dims) {
  Value shorter = dropLast(b, loc, value);
  int64_t rank = tensorType(value).getRank(), first = rank - 1 - dims;
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, shorter);
  sizes.insert(sizes.begin() + first, b.getIndexAttr(1));
  SmallVector<int64_t> shape(tensorType(shorter).getShape());
  shape.insert(shape.begin() + first, 1);
  return tensor::ExpandShapeOp::create(
      b, loc, RankedTensorType::get(shape, tensorType(value).getElementType()),
      shorter, groupDims(rank, first, 2), sizes);
}

/// In how many rows to cut a row of `size`: the most that divide it and leave
/// at least as much in a row as there are rows; 1 if there is no such number.
static int64_t partsOf(int64_t size) {
  for (int64_t parts = kMaxParts; parts > 1; --parts)
    if (size % parts == 0 && size / parts >= parts)
      return parts;
  return 1;
}

/// `value`, which only `reader` reads, with its last dim cut in `parts`. What
/// makes it element by element is computed on the parts, in their kernel.
static Value cutLast(OpBuilder &b, Value value, Operation *reader,
                     int64_t parts, IRMapping &done) {
  if (Value known = done.lookupOrNull(value))
    return known;
  RankedTensorType type = tensorType(value);
  SmallVector<int64_t> shape(type.getShape());
  int64_t size = shape.back();
  shape.back() = parts;
  shape.push_back(size / parts);
  auto cut = RankedTensorType::get(shape, type.getElementType());
  Operation *def = value.getDefiningOp();
  auto isOne = [](Value operand) {
    return tensorType(operand).hasStaticShape() &&
           tensorType(operand).getNumElements() == 1;
  };
  bool moves = def && isRecomputable(def) &&
               llvm::all_of(value.getUsers(),
                            [&](Operation *user) { return user == reader; }) &&
               llvm::all_of(def->getOpOperands(), [&](OpOperand &operand) {
                 return readsOwnElement(operand) || isOne(operand.get());
               });
  Value result;
  if (moves) {
    SmallVector<Value> operands;
    for (Value operand : def->getOperands())
      operands.push_back(
          isOne(operand) ? operand : cutLast(b, operand, def, parts, done));
    Operation *made = b.clone(*def);
    made->setOperands(operands);
    made->getResult(0).setType(cut);
    result = made->getResult(0);
  } else {
    int64_t rank = cut.getRank();
    result = tensor::ExpandShapeOp::create(b, reader->getLoc(), cut, value,
                                           groupDims(rank, rank - 2, 2));
  }
  done.map(value, result);
  return result;
}

/// Partial results of `op`, of the rank of its input, whose last dims are to be
/// reduced in its place; null if it is better left alone.
static Value partialResults(OpBuilder &b, ReduceOp op) {
  Location loc = op.getLoc();
  Value input = op.getInput();
  RankedTensorType type = tensorType(input);
  int64_t dims = op.getDims();
  if (isSmallReduction(type.getShape().take_back(dims)))
    return {};
  if (dims > 1)
    return rotateOne(b, loc, reduceLast(b, loc, op.getKind(), input), dims - 1);
  // A long row is cut if there are no others to keep the chip busy with.
  bool alone = llvm::all_of(type.getShape().drop_back(),
                            [](int64_t size) { return size == 1; });
  int64_t size = type.getShape().back();
  int64_t parts = ShapedType::isDynamic(size) || !alone ? 1 : partsOf(size);
  if (parts == 1)
    return {};
  IRMapping done;
  Value rows = cutLast(b, input, op, parts, done);
  return dropLast(b, loc, reduceLast(b, loc, op.getKind(), rows));
}

static void split(ReduceOp op) {
  OpBuilder b(op);
  Value partial = partialResults(b, op);
  if (!partial)
    return;
  int64_t dims = op.getDims();
  auto combined =
      ReduceOp::create(b, op.getLoc(), op.getResult().getType(), op.getKind(),
                       partial, std::max<int64_t>(dims - 1, 1));
  op.getResult().replaceAllUsesWith(combined.getResult());
  op.erase();
  if (dims > 1)
    split(combined);
}

namespace {
struct SplitReductionsPass
    : mlir::hk::impl::HKSplitReductionsBase<SplitReductionsPass> {
  void runOnOperation() override {
    SmallVector<ReduceOp> work;
    getOperation().walk([&](ReduceOp op) {
      if (!op->getParentOfType<FusedOp>() && !op->getParentOfType<KernelOp>())
        work.push_back(op);
    });
    for (ReduceOp op : work)
      split(op);
  }
};
} // namespace
