//===- OperandMaps.cpp - Which elements operators read --------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The maps from an operator's loops to its operands; those that several
// operators have first, then one function per operator with its own.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"

using namespace mlir;
using namespace mlir::hk;

namespace {
/// Makes maps of an op with `rank` loops.
class MapBuilder {
public:
  MapBuilder(Operation *op, int64_t rank)
      : context(op->getContext()), rank(rank) {}
  explicit MapBuilder(Operation *op)
      : MapBuilder(op, tensorType(op->getResult(0)).getRank()) {}

  AffineExpr loop(int64_t dim) const { return getAffineDimExpr(dim, context); }
  AffineExpr zero() const { return getAffineConstantExpr(0, context); }
  /// Loops [begin, end).
  SmallVector<AffineExpr> loops(int64_t begin, int64_t end) const {
    SmallVector<AffineExpr> exprs;
    for (int64_t dim = begin; dim < end; ++dim)
      exprs.push_back(loop(dim));
    return exprs;
  }
  /// An index that the loops do not tell; each is another one.
  AffineExpr anywhere() { return getAffineSymbolExpr(symbols++, context); }

  AffineMap get(ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(rank, std::exchange(symbols, 0), exprs, context);
  }
  AffineMap identity() { return get(loops(0, rank)); }
  /// The last `dims` dims are read anywhere.
  AffineMap row(int64_t dims) {
    SmallVector<AffineExpr> exprs = loops(0, rank - dims);
    for (int64_t i = 0; i < dims; ++i)
      exprs.push_back(anywhere());
    return get(exprs);
  }
  /// The first `dims` loops.
  AffineMap leading(int64_t dims) { return get(loops(0, dims)); }

private:
  MLIRContext *context;
  int64_t rank;
  unsigned symbols = 0;
};
} // namespace

SmallVector<AffineMap> mlir::hk::broadcastMaps(Operation *op) {
  MapBuilder b(op);
  RankedTensorType result = tensorType(op->getResult(0));
  SmallVector<AffineMap> maps;
  for (Value operand : op->getOperands()) {
    RankedTensorType type = tensorType(operand);
    int64_t shift = result.getRank() - type.getRank();
    SmallVector<AffineExpr> exprs;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      // A table has more dims than what is gathered, perhaps of size 1.
      exprs.push_back(dim + shift < 0 || (type.getDimSize(dim) == 1 &&
                                          result.getDimSize(dim + shift) != 1)
                          ? b.zero()
                          : b.loop(dim + shift));
    maps.push_back(b.get(exprs));
  }
  return maps;
}

SmallVector<AffineMap> mlir::hk::rowMaps(Operation *op, int64_t dims) {
  MapBuilder b(op);
  int64_t rank = tensorType(op->getResult(0)).getRank();
  SmallVector<AffineMap> maps = {b.row(dims)};
  while (maps.size() < op->getNumOperands())
    maps.push_back(b.get(b.loop(rank - 1)));
  return maps;
}

SmallVector<AffineMap> mlir::hk::partMaps(Operation *op, int64_t axis) {
  MapBuilder b(op);
  SmallVector<AffineMap> maps;
  for (Value operand : op->getOperands()) {
    SmallVector<AffineExpr> exprs = b.loops(0, tensorType(operand).getRank());
    exprs[axis] = exprs[axis] - b.anywhere();
    maps.push_back(b.get(exprs));
  }
  return maps;
}

SmallVector<AffineMap> mlir::hk::scaledMaps(Operation *op, int64_t group) {
  MapBuilder b(op);
  RankedTensorType type = tensorType(op->getOperand(0));
  SmallVector<AffineMap> maps = {b.identity()};
  for (Value operand : op->getOperands().drop_front()) {
    RankedTensorType scale = tensorType(operand);
    bool aligned = scale.getRank() == type.getRank();
    SmallVector<AffineExpr> exprs;
    for (int64_t dim = 0; dim < scale.getRank(); ++dim) {
      bool last = dim + 1 == scale.getRank();
      bool same = aligned && scale.getDimSize(dim) == type.getDimSize(dim);
      if (scale.getDimSize(dim) == 1 && !(same && !last))
        exprs.push_back(b.zero());
      else if (!last && (type.isDynamicDim(dim) || same))
        exprs.push_back(b.loop(dim));
      else
        exprs.push_back(b.loop(dim).floorDiv(group));
    }
    maps.push_back(b.get(exprs));
  }
  return maps;
}

SmallVector<int64_t> mlir::hk::scaleGroups(Value scale, int64_t group) {
  ArrayRef<int64_t> shape = tensorType(scale).getShape();
  if (shape.empty() || shape.back() == 1)
    return {};
  return {group};
}

RowReduction mlir::hk::rowReductionOf(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::sum:
    return RowReduction::Sum;
  case ReduceKind::max:
    return RowReduction::Maximum;
  case ReduceKind::min:
    return RowReduction::Minimum;
  case ReduceKind::absmax:
    return RowReduction::AbsMaximum;
  }
  llvm_unreachable("every kind is listed");
}

SmallVector<AffineMap> TransposeOp::getOperandMaps() {
  MapBuilder b(*this);
  SmallVector<AffineExpr> exprs(getPermutation().size());
  for (auto [dim, from] : llvm::enumerate(getPermutation()))
    exprs[from] = b.loop(dim);
  return {b.get(exprs)};
}

SmallVector<AffineMap> GatherRowsOp::getOperandMaps() {
  MapBuilder b(*this);
  // Any row of a table that is large, of which few are read.
  return {AffineMap(), b.leading(tensorType(getIndices()).getRank())};
}

SmallVector<AffineMap> HasRowOp::getOperandMaps() {
  return {AffineMap(), MapBuilder(*this).identity()};
}

SmallVector<AffineMap> GatherElementsOp::getOperandMaps() {
  SmallVector<AffineMap> maps = broadcastMaps(getOperation());
  maps.front() = AffineMap(); // any element of a table that is large
  return maps;
}

SmallVector<AffineMap> GatherLastOp::getOperandMaps() {
  MapBuilder b(*this);
  return {b.row(1), b.identity()};
}

SmallVector<AffineMap> SumSlicesOp::getOperandMaps() {
  MapBuilder b(*this);
  SmallVector<AffineExpr> exprs = {b.anywhere()};
  llvm::append_range(exprs, b.loops(0, tensorType(getResult()).getRank()));
  return {b.get(exprs)};
}

SmallVector<AffineMap> AttentionCombineOp::getOperandMaps() {
  MapBuilder b(*this);
  int64_t rank = tensorType(getResult()).getRank();
  SmallVector<AffineMap> maps;
  for (int64_t dims : {rank, rank - 1}) // partials, their log-sum-exps
    for (unsigned pair = 0; pair < getPartials().size(); ++pair) {
      SmallVector<AffineExpr> exprs;
      if (isSliced(pair))
        exprs.push_back(b.anywhere());
      llvm::append_range(exprs, b.loops(0, dims));
      maps.push_back(b.get(exprs));
    }
  if (getSink())
    maps.push_back(b.get(b.loop(rank - 2)));
  return maps;
}

SmallVector<AffineMap> RopeOp::getOperandMaps() {
  MapBuilder b(*this);
  int64_t rank = tensorType(getInput()).getRank();
  SmallVector<AffineMap> maps = {b.row(1)};
  // Row t of a table that goes with the tokens is that of token t.
  bool byToken = !getPositions() && !getBounds() && getPositionDim() == 0;
  for (int table = 0; table < 2; ++table) {
    SmallVector<AffineExpr> exprs = {byToken ? b.loop(0) : b.anywhere()};
    exprs.push_back(b.anywhere());
    maps.push_back(b.get(exprs));
  }
  for (Value index : {getPositions(), getOffsets()})
    if (index)
      maps.push_back(b.leading(rank - 2));
  if (getBounds())
    maps.push_back(AffineMap());
  return maps;
}

SmallVector<AffineMap> KVCacheWriteOp::getOperandMaps() {
  MapBuilder b(*this, tensorType(getValues()).getRank());
  return {b.identity(), b.leading(1), AffineMap()};
}
