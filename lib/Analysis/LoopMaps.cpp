//===- LoopMaps.cpp - Which elements an operator reads --------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Maps of views, then the questions, in the order of the header.
//
//===----------------------------------------------------------------------===//

#include "hk/Analysis/LoopMaps.h"
#include "hk/Contract/Cost.h"

#include "hk/Analysis/Alignment.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::hk;

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

namespace {
/// The map from the result of a view to its source.
class ViewMap {
public:
  explicit ViewMap(Operation *view)
      : context(view->getContext()),
        rank(tensorType(view->getResult(0)).getRank()) {}

  AffineMap get(tensor::ExtractSliceOp slice) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    int64_t next = 0;
    for (auto [dim, offset] : llvm::enumerate(slice.getStaticOffsets())) {
      int64_t stride = slice.getStaticStrides()[dim];
      AffineExpr index = dropped.test(dim) ? constant(0) : loop(next++);
      index =
          index * (ShapedType::isDynamic(stride) ? symbol() : constant(stride));
      exprs.push_back(index + (ShapedType::isDynamic(offset)
                                   ? symbol()
                                   : constant(offset)));
    }
    return finish();
  }

  AffineMap get(tensor::ExpandShapeOp expand) {
    for (const ReassociationIndices &group : expand.getReassociationIndices()) {
      AffineExpr index = constant(0);
      for (int64_t dim : group) {
        int64_t size = expand.getResultType().getDimSize(dim);
        if (size != 1) // the only index is 0
          index = index * sizeExpr(size) + loop(dim);
      }
      exprs.push_back(index);
    }
    return finish();
  }

  AffineMap get(tensor::CollapseShapeOp collapse) {
    exprs.resize(collapse.getSrcType().getRank(), constant(0));
    for (auto [g, group] :
         llvm::enumerate(collapse.getReassociationIndices())) {
      AffineExpr rest = loop(g);
      // What is outside of the outermost dim that is not 1 has index 0.
      const auto *outermost = llvm::find_if(group, [&](int64_t dim) {
        return collapse.getSrcType().getDimSize(dim) != 1;
      });
      for (const auto *dim = group.end(); dim != group.begin();) {
        --dim;
        int64_t size = collapse.getSrcType().getDimSize(*dim);
        if (size == 1)
          continue;
        exprs[*dim] = dim == outermost ? rest : rest % sizeExpr(size);
        rest = rest.floorDiv(sizeExpr(size));
      }
    }
    return finish();
  }

  AffineMap identity() {
    for (int64_t dim = 0; dim < rank; ++dim)
      exprs.push_back(loop(dim));
    return finish();
  }

private:
  AffineExpr constant(int64_t value) const {
    return getAffineConstantExpr(value, context);
  }
  AffineExpr loop(int64_t dim) const { return getAffineDimExpr(dim, context); }
  AffineExpr symbol() { return getAffineSymbolExpr(symbols++, context); }
  AffineExpr sizeExpr(int64_t size) {
    return ShapedType::isDynamic(size) ? symbol() : constant(size);
  }
  AffineMap finish() const {
    return AffineMap::get(rank, symbols, exprs, context);
  }

  MLIRContext *context;
  int64_t rank;
  unsigned symbols = 0;
  SmallVector<AffineExpr> exprs;
};
} // namespace

SmallVector<AffineMap> mlir::hk::operandMapsOf(Operation *op) {
  if (auto rowwise = dyn_cast<RowwiseOpInterface>(op))
    return rowwise.getOperandMaps();
  if (!isView(op))
    return {};
  ViewMap view(op);
  AffineMap source =
      llvm::TypeSwitch<Operation *, AffineMap>(op)
          .Case<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
                tensor::CollapseShapeOp>([&](auto o) { return view.get(o); })
          .Default([&](Operation *) { return view.identity(); });
  // The others are sizes and offsets.
  SmallVector<AffineMap> maps(op->getNumOperands());
  maps.front() = source;
  return maps;
}

static AffineMap mapOf(OpOperand &operand) {
  SmallVector<AffineMap> maps = operandMapsOf(operand.getOwner());
  return maps.empty() ? AffineMap() : maps[operand.getOperandNumber()];
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

SmallVector<RowReduction> mlir::hk::rowReductionsOf(Operation *op) {
  auto rowwise = dyn_cast<RowwiseOpInterface>(op);
  return rowwise ? rowwise.getRowReductions() : SmallVector<RowReduction>();
}

int64_t mlir::hk::reductionGroupOf(Operation *op) {
  auto rowwise = dyn_cast<RowwiseOpInterface>(op);
  return rowwise ? rowwise.getReductionGroup() : 0;
}

bool mlir::hk::isSelection(Operation *op) {
  auto rowwise = dyn_cast<RowwiseOpInterface>(op);
  return rowwise && rowwise.isSelection();
}

bool mlir::hk::isMovement(Operation *op) {
  auto rowwise = dyn_cast<RowwiseOpInterface>(op);
  return isView(op) || (rowwise && rowwise.isMovement());
}

/// Whether `index` is where the loops are in dim `dim`, or in its group.
static bool isOwnIndex(AffineExpr index, int64_t dim) {
  auto group = dyn_cast<AffineBinaryOpExpr>(index);
  if (group && group.getKind() == AffineExprKind::FloorDiv &&
      isa<AffineConstantExpr>(group.getRHS()))
    index = group.getLHS();
  auto loop = dyn_cast<AffineDimExpr>(index);
  return isa<AffineConstantExpr>(index) ||
         (loop && int64_t(loop.getPosition()) == dim);
}

bool mlir::hk::isElementwise(Operation *op) {
  auto rowwise = dyn_cast<RowwiseOpInterface>(op);
  if (!rowwise || op->getNumResults() != 1)
    return false;
  return llvm::all_of(rowwise.getOperandMaps(), [](AffineMap map) {
    if (!map || map.getNumResults() > map.getNumDims())
      return false;
    int64_t shift = map.getNumDims() - map.getNumResults();
    return llvm::all_of(llvm::enumerate(map.getResults()), [&](auto it) {
      return isOwnIndex(it.value(), int64_t(it.index()) + shift);
    });
  });
}

bool mlir::hk::isElementwiseOrPairs(Operation *op) {
  return isElementwise(op) || op->hasTrait<PairsColumns>();
}

bool mlir::hk::isRecomputable(Operation *op) {
  return isElementwise(op) && !isMovement(op);
}

bool mlir::hk::storesShortRows(Operation *op) {
  constexpr int64_t kMostElements = 256;
  auto transpose = dyn_cast<TransposeOp>(op);
  if (!transpose || !transpose.movesColumns())
    return false;
  const ::hk::Target *target = targetOf(op);
  int64_t last =
      cast<ShapedType>(transpose.getInput().getType()).getShape().back();
  return target && ::hk::boundByIssue(*target) &&
         !ShapedType::isDynamic(last) && last <= kMostElements;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

bool mlir::hk::readsOwnElement(OpOperand &operand) {
  AffineMap map = mapOf(operand);
  return map && map.isIdentity();
}

bool mlir::hk::isGathered(OpOperand &operand) { return !mapOf(operand); }

/// Whether the map reads the first loops: an index or one list per row.
static bool isPrefix(AffineMap map) {
  return map.getNumResults() != 0 &&
         llvm::all_of(llvm::enumerate(map.getResults()), [](auto it) {
           auto loop = dyn_cast<AffineDimExpr>(it.value());
           return loop && loop.getPosition() == it.index();
         });
}

bool mlir::hk::staysInRow(OpOperand &operand, int64_t numRows) {
  AffineMap map = mapOf(operand);
  if (!map || int64_t(map.getNumResults()) < numRows)
    return false;
  // Where all is one row, a vector or a part of several tensors is none of it.
  if (numRows == 0)
    return map.getNumResults() == map.getNumDims() || isPrefix(map) ||
           isView(operand.getOwner());
  return llvm::all_of(llvm::seq<int64_t>(0, numRows), [&](int64_t dim) {
    AffineExpr index = map.getResult(dim);
    auto loop = dyn_cast<AffineDimExpr>(index);
    auto zero = dyn_cast<AffineConstantExpr>(index);
    return (loop && int64_t(loop.getPosition()) == dim) ||
           (zero && zero.getValue() == 0);
  });
}

bool mlir::hk::readsAsParameter(OpOperand &operand) {
  AffineMap map = mapOf(operand);
  if (!map || isView(operand.getOwner()) || map.getNumDims() == 0)
    return false;
  if (map.getNumResults() < map.getNumDims()) {
    if (map.getNumResults() == 0)
      return true;
    // A vector along the row, or a table with one: not an index per row.
    auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
    return !last || last.getPosition() + 1 == map.getNumDims();
  }
  return isa<AffineConstantExpr>(map.getResult(0));
}

bool mlir::hk::runsAlongLastDim(OpOperand &operand) {
  AffineMap map = mapOf(operand);
  if (!map || map.getNumResults() == 0 || map.getNumDims() == 0)
    return false;
  AffineExpr last = map.getResults().back();
  // d, or d - s where the operand is a part.
  if (auto sum = dyn_cast<AffineBinaryOpExpr>(last);
      sum && sum.getKind() == AffineExprKind::Add)
    last = isa<AffineDimExpr>(sum.getLHS()) ? sum.getLHS() : sum.getRHS();
  auto loop = dyn_cast<AffineDimExpr>(last);
  return loop && loop.getPosition() + 1 == map.getNumDims();
}

bool mlir::hk::isOnlyParameter(Operation *op, int depth) {
  if (depth == 0 || !isRecomputable(op))
    return false;
  return llvm::all_of(op->getUses(), [&](OpOperand &use) {
    return readsAsParameter(use) || isOnlyParameter(use.getOwner(), depth - 1);
  });
}
