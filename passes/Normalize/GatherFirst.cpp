//===- GatherFirst.cpp - Rows are chosen before they are computed ---------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model's head computes logits of every token, and a gather takes those of
// the last token of each sequence. The gather moves in front of the head and of
// the row-wise operators around it, up to what others read, too: the product is
// of as many rows as are taken.
//
// A row outside of the table is zero behind the gather, but what is computed of
// a zero row need not be: hk.has_row says which those are, and a select behind
// the last operator, an epilogue of the product, makes them zero.
//
//===----------------------------------------------------------------------===//

#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/DimSymbols.h"
#include "hk/Analysis/LoopMaps.h"
#include "hk/Dialect/HK.h"
#include "hk/Passes/Entry.h"
#include "hk/Passes/Passes.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKGATHERFIRST
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

namespace {
struct HKGatherFirst : ::mlir::hk::impl::HKGatherFirstBase<HKGatherFirst> {
  void runOnOperation() override;
};

/// The operators that a gather can move in front of, and what it gathers then.
class Head {
public:
  Head(GatherRowsOp gather, const DimSymbols &dims);

  /// Whether the gather takes rows of a head, perhaps fewer than there are.
  bool isWorthIt();
  void moveBehindGather();

private:
  bool isHead();
  bool mayMove(Operation *op);
  std::optional<bool> readsRows(OpOperand &operand);
  bool hasRows(Value value);
  Value gathered(OpBuilder &b, Value value);
  void guardSizes(OpBuilder &b);

  GatherRowsOp gather;
  const DimSymbols &dims;
  llvm::SetVector<Operation *> ops; // from the last to the first
  llvm::MapVector<Value, Value> inputs;
};
} // namespace

/// Whether `value` has a row for each row of the gather's table.
bool Head::hasRows(Value value) {
  ArrayRef<DimName> shape = dims.shape(value);
  return !shape.empty() && shape[0] == dims.dim(gather.getTable(), 0);
}

/// Whether row i of the result needs row i of the operand, or all rows need the
/// same of it; nullopt: neither.
std::optional<bool> Head::readsRows(OpOperand &operand) {
  Operation *op = operand.getOwner();
  if (auto product = dyn_cast<MatmulOp>(op)) {
    Value value = operand.get();
    if (value != product.getLhs() && value != product.getLhsScale())
      return false;
    if (tensorType(value).getRank() == 2 && hasRows(value))
      return true;
    bool isOne = tensorType(value).hasStaticShape() &&
                 tensorType(value).getNumElements() == 1;
    return isOne ? std::optional(false) : std::nullopt;
  }
  AffineMap map = operandMapsOf(op)[operand.getOperandNumber()];
  if (!map)
    return std::nullopt;
  if (!map.isFunctionOfDim(0)) {
    // A row that the loops do not tell may be chosen by the row of the result.
    bool isTable =
        map.getNumResults() > 1 && isa<AffineSymbolExpr>(map.getResult(0));
    return isTable ? std::nullopt : std::optional(false);
  }
  auto first = dyn_cast<AffineDimExpr>(map.getResult(0));
  if (!first || first.getPosition() != 0 || !hasRows(operand.get()))
    return std::nullopt;
  return true;
}

bool Head::mayMove(Operation *op) {
  if (auto product = dyn_cast<MatmulOp>(op)) {
    if (product.getTransposeA() || product.getKSlices() ||
        tensorType(product.getLhs()).getRank() != 2 ||
        tensorType(product.getRhs()).getRank() != 2)
      return false;
  } else {
    auto rowwise = dyn_cast<RowwiseOpInterface>(op);
    if (!rowwise || isa<StateOpInterface>(op) ||
        rowwise.getNumLocalDims() >= tensorType(op->getResult(0)).getRank())
      return false;
  }
  if (!llvm::all_of(op->getResults(),
                    [&](Value result) { return hasRows(result); }) ||
      !llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
        return readsRows(operand).has_value();
      }))
    return false;
  // Nobody else needs its other rows.
  return llvm::all_of(op->getUses(), [&](OpOperand &use) {
    if (use.getOwner() == gather)
      return use.get() == gather.getTable() && use.getOperandNumber() == 0;
    return ops.contains(use.getOwner()) && *readsRows(use);
  });
}

Head::Head(GatherRowsOp gather, const DimSymbols &dims)
    : gather(gather), dims(dims) {
  for (Operation *op = gather->getPrevNode(); op; op = op->getPrevNode())
    if (!op->use_empty() && op->getNumResults() != 0 && mayMove(op))
      ops.insert(op);
  for (Operation *op : ops)
    for (OpOperand &operand : op->getOpOperands())
      if (!ops.contains(operand.get().getDefiningOp()) && *readsRows(operand))
        inputs.insert({operand.get(), Value()});
}

/// Whether a product comes last, but for what its epilogue computes. Behind the
/// products of a layer there are norms: to gather what all of them read costs
/// launches, and a decode step has as many rows as it takes.
bool Head::isHead() {
  for (Operation *op : ops) {
    if (isa<MatmulOp>(op))
      return true;
    if (!isElementwise(op))
      return false;
  }
  return false;
}

bool Head::isWorthIt() {
  if (tensorType(gather.getIndices()).getRank() != 1 || inputs.empty() ||
      !isHead())
    return false;
  // Indices that are counted by the rows are no choice of a few.
  DimName rows = dims.dim(gather.getTable(), 0),
          taken = dims.dim(gather.getIndices(), 0);
  int64_t numRows = tensorType(gather.getTable()).getDimSize(0),
          numTaken = tensorType(gather.getIndices()).getDimSize(0);
  if (!ShapedType::isDynamic(numRows))
    return !ShapedType::isDynamic(numTaken) && numTaken < numRows;
  SmallVector<DimName> work{taken};
  while (!work.empty()) {
    DimName name = work.pop_back_val();
    if (name == rows)
      return false;
    if (name < 0) // a symbol
      llvm::append_range(work, dims.definition(-1 - name).operands);
  }
  return true;
}

Value Head::gathered(OpBuilder &b, Value value) {
  Value &made = inputs[value];
  if (!made) {
    SmallVector<int64_t> shape(tensorType(value).getShape());
    shape[0] = tensorType(gather.getIndices()).getDimSize(0);
    made = GatherRowsOp::create(
        b, gather.getLoc(),
        RankedTensorType::get(shape, tensorType(value).getElementType()), value,
        gather.getIndices());
  }
  return made;
}

/// The operators demanded equally many rows of all their operands.
void Head::guardSizes(OpBuilder &b) {
  Location loc = gather.getLoc();
  auto sizeOf = [&](Value value) {
    return getValueOrCreateConstantIndexOp(
        b, loc, tensor::getMixedSize(b, loc, value, 0));
  };
  auto nameOf = [&](Value value) -> std::string {
    Value root = rootOfViews(value);
    if (auto argument = dyn_cast<BlockArgument>(root))
      return argumentName(gather->getParentOfType<func::FuncOp>(),
                          argument.getArgNumber()) +
             " dim 0";
    return "dim 0 of a result of " +
           root.getDefiningOp()->getName().getStringRef().str();
  };
  Value first = inputs.front().first;
  for (Value other : llvm::make_first_range(llvm::drop_begin(inputs)))
    if (tensorType(first).isDynamicDim(0) || tensorType(other).isDynamicDim(0))
      GuardOp::create(b, loc, GuardRelation::eq, sizeOf(first), sizeOf(other),
                      b.getStrArrayAttr({nameOf(first), nameOf(other)}));
}

void Head::moveBehindGather() {
  OpBuilder b(gather);
  Location loc = gather.getLoc();
  int64_t taken = tensorType(gather.getIndices()).getDimSize(0);
  guardSizes(b);
  IRMapping mapping;
  for (Value input : llvm::make_first_range(inputs))
    mapping.map(input, gathered(b, input));
  for (Operation *op : llvm::reverse(ops)) {
    Operation *made = b.clone(*op);
    for (OpOperand &operand : op->getOpOperands())
      if (*readsRows(operand))
        made->setOperand(operand.getOperandNumber(),
                         mapping.lookup(operand.get()));
    for (auto [before, after] :
         llvm::zip(op->getResults(), made->getResults())) {
      SmallVector<int64_t> shape(tensorType(before).getShape());
      shape[0] = taken;
      after.setType(
          RankedTensorType::get(shape, tensorType(before).getElementType()));
      mapping.map(before, after);
    }
  }
  Value value = mapping.lookup(gather.getTable());
  RankedTensorType type = tensorType(value);
  Value found =
      HasRowOp::create(b, loc, RankedTensorType::get({taken}, b.getI1Type()),
                       inputs.front().first, gather.getIndices());
  if (int64_t rank = type.getRank(); rank > 1) {
    SmallVector<int64_t> shape(rank, 1);
    shape[0] = taken;
    SmallVector<OpFoldResult> sizes(rank, b.getIndexAttr(1));
    sizes[0] = tensor::getMixedSize(b, loc, found, 0);
    ReassociationIndices all = llvm::to_vector<2>(llvm::seq<int64_t>(0, rank));
    found = tensor::ExpandShapeOp::create(
        b, loc, RankedTensorType::get(shape, b.getI1Type()), found,
        ArrayRef<ReassociationIndices>{all}, sizes);
  }
  Type element = type.getElementType();
  Value zero = ConstantOp::create(
      b, loc,
      DenseElementsAttr::get(RankedTensorType::get({}, element),
                             b.getZeroAttr(element)));
  gather.replaceAllUsesWith(
      SelectOp::create(b, loc, type, found, value, zero).getResult());
  gather.erase();
  for (Operation *op : ops)
    op->erase();
}

void HKGatherFirst::runOnOperation() {
  for (func::FuncOp function : getOperation().getOps<func::FuncOp>()) {
    if (function.isExternal() || !function.getBody().hasOneBlock())
      continue;
    Block &block = function.getBody().front();
    for (auto gather :
         llvm::make_early_inc_range(block.getOps<GatherRowsOp>())) {
      const DimSymbols dims(block);
      Head head(gather, dims);
      if (!head.isWorthIt())
        continue;
      head.moveBehindGather();
      ++numMoved;
    }
  }
}
