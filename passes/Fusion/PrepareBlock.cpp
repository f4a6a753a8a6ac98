//===- PrepareBlock.cpp - Bring a block into the form that fuses ----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What needs memory of its own although no operator makes it becomes hk.copy
// here, before fusion: the copy then joins its producer's kernel like any other
// operator, and disappears in it. Parameters that are computed get a copy per
// reader.
//
//===----------------------------------------------------------------------===//

#include "Fusion/PrepareBlock.h"

#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/DimSymbols.h"
#include "hk/Analysis/LoopMaps.h"
#include "hk/Analysis/ResolveDims.h"
#include "hk/Analysis/State.h"
#include "hk/Dialect/HK.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::hk;

bool mlir::hk::isBaseOp(Operation *op) {
  return isa_and_nonnull<HKDialect>(op->getDialect()) &&
         !isa<FusedOp, YieldOp, KernelOp, SpecOp, VariantOp, LaunchDimsOp,
              LaunchOp, GuardOp, WeightOp, WeightRefOp, ConstantOp>(op);
}

bool mlir::hk::mayStayOutside(Operation *op) {
  if (isView(op) || isa<WeightRefOp, ConstantOp, FusedOp, LaunchOp, GuardOp,
                        tensor::DimOp, tensor::EmptyOp>(op))
    return true;
  return llvm::none_of(op->getResultTypes(),
                       [](Type type) { return isa<ShapedType>(type); }) &&
         isMemoryEffectFree(op);
}

void mlir::hk::eraseUnused(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

static Value copyOf(Value value, Operation *before) {
  OpBuilder builder(before);
  return CopyOp::create(builder, before->getLoc(), value.getType(), value);
}

/// Views of constants become constants; what cannot looks at a copy.
static void detachFromConstants(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    // Kernels of these read their operands from memory.
    if (op.hasTrait<OperandsInMemory>())
      for (OpOperand &operand : op.getOpOperands())
        if (operand.get().getDefiningOp<ConstantOp>())
          operand.set(copyOf(operand.get(), &op));
    if (!isView(&op))
      continue;
    auto constant = viewSource(&op).getDefiningOp<ConstantOp>();
    if (!constant)
      continue;
    auto type = dyn_cast<RankedTensorType>(op.getResult(0).getType());
    auto value = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!isa<tensor::ExtractSliceOp>(op) && value && type.hasStaticShape()) {
      OpBuilder builder(&op);
      auto folded = ConstantOp::create(builder, constant.getLoc(), type,
                                       value.reshape(type));
      op.getResult(0).replaceAllUsesWith(folded.getResult());
      op.erase();
    } else {
      op.setOperand(0, copyOf(constant.getResult(), &op));
    }
  }
}

/// Whether elements that are neighbours in the last dim of `slice` are none in
/// a dense source, as it steps over some or drops the last dim, or the first of
/// them lies in the middle of a byte.
static bool hasSteps(tensor::ExtractSliceOp slice) {
  RankedTensorType from = slice.getSourceType(), to = slice.getType();
  if (to.getRank() == 0 || from.isDynamicDim(from.getRank() - 1))
    return false;
  int64_t begin = slice.getStaticOffsets().back();
  if (isPacked(from.getElementType()) &&
      (ShapedType::isDynamic(begin) || begin % 2 != 0))
    return true;
  auto dense = MemRefType::get(from.getShape(), from.getElementType());
  MemRefType layout = memref::SubViewOp::inferRankReducedResultType(
      to.getShape(), dense, slice.getMixedOffsets(), slice.getMixedSizes(),
      slice.getMixedStrides());
  SmallVector<int64_t> strides;
  int64_t offset;
  return failed(layout.getStridesAndOffset(strides, offset)) ||
         strides.back() != 1;
}

/// Whether `slice`, which has steps, also picks rows or drops dims of them.
static bool picksRows(tensor::ExtractSliceOp slice, const DimSymbols &dims) {
  int64_t last = slice.getSourceType().getRank() - 1;
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  // Dims in front of the first that is dropped have the same place in both.
  return last == 0 || llvm::any_of(llvm::seq<int64_t>(0, last), [&](int64_t d) {
           return dropped.test(d) || slice.getStaticOffset(d) != 0 ||
                  slice.getStaticStride(d) != 1 ||
                  !dims.equal(slice.getResult(), d, slice.getSource(), d);
         });
}

/// Dims in groups of which each has one that is kept.
static SmallVector<ReassociationIndices>
groupsOfKept(const llvm::SmallBitVector &dropped) {
  SmallVector<ReassociationIndices> groups(1);
  bool complete = false;
  for (unsigned dim = 0; dim < dropped.size(); ++dim) {
    if (complete && !dropped.test(dim))
      groups.emplace_back();
    complete |= !dropped.test(dim);
    groups.back().push_back(dim);
  }
  return groups;
}

/// A slice with steps has no layout: a kernel reads it. Where it also picks
/// rows, which that kernel can't, doing so becomes its own view, and so does
/// dropping dims. A vector is a row of a matrix.
static void splitSteppedSlice(tensor::ExtractSliceOp slice) {
  OpBuilder builder(slice);
  Location loc = slice.getLoc();
  Value source = slice.getSource();
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  SmallVector<OpFoldResult> offsets = slice.getMixedOffsets(),
                            sizes = slice.getMixedSizes(),
                            strides = slice.getMixedStrides();
  if (offsets.size() == 1) {
    auto type = cast<RankedTensorType>(source.getType());
    source = tensor::ExpandShapeOp::create(
        builder, loc, type.clone({1, type.getDimSize(0)}), source,
        SmallVector<ReassociationIndices>{{0, 1}});
    offsets.insert(offsets.begin(), builder.getIndexAttr(0));
    sizes.insert(sizes.begin(), builder.getIndexAttr(1));
    strides.insert(strides.begin(), builder.getIndexAttr(1));
    dropped = llvm::SmallBitVector(2);
    dropped.set(0);
  }
  int64_t last = int64_t(offsets.size()) - 1;
  SmallVector<OpFoldResult> inOffsets(last, builder.getIndexAttr(0)),
      inStrides(last, builder.getIndexAttr(1)), inSizes = sizes;
  inOffsets.push_back(offsets[last]);
  inStrides.push_back(dropped.test(last) ? builder.getIndexAttr(1)
                                         : strides[last]);
  offsets[last] = builder.getIndexAttr(0);
  strides[last] = builder.getIndexAttr(1);
  sizes[last] = builder.getIndexAttr(
      cast<RankedTensorType>(source.getType()).getDimSize(last));
  Value rows = tensor::ExtractSliceOp::create(builder, loc, source, offsets,
                                              sizes, strides);
  Value elements = tensor::ExtractSliceOp::create(builder, loc, rows, inOffsets,
                                                  inSizes, inStrides);
  if (dropped.any())
    elements = tensor::CollapseShapeOp::create(builder, loc, slice.getType(),
                                               elements, groupsOfKept(dropped));
  slice.replaceAllUsesWith(elements);
  slice.erase();
}

/// A slice without elements has none to step over: nothing is read.
static void replaceByNothing(tensor::ExtractSliceOp slice) {
  OpBuilder builder(slice);
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  SmallVector<OpFoldResult> sizes;
  for (auto [dim, size] : llvm::enumerate(slice.getMixedSizes()))
    if (!dropped.test(dim))
      sizes.push_back(size);
  slice.replaceAllUsesWith(
      tensor::EmptyOp::create(builder, slice.getLoc(), sizes,
                              slice.getType().getElementType())
          .getResult());
  slice.erase();
}

static void splitSteppedSlices(Block &block) {
  SmallVector<tensor::ExtractSliceOp> stepped;
  for (auto slice :
       llvm::make_early_inc_range(block.getOps<tensor::ExtractSliceOp>())) {
    if (!hasSteps(slice))
      continue;
    if (llvm::is_contained(slice.getType().getShape(), 0))
      replaceByNothing(slice);
    else
      stepped.push_back(slice);
  }
  if (stepped.empty())
    return;
  DimSymbols dims(block);
  llvm::erase_if(stepped, [&](tensor::ExtractSliceOp slice) {
    return !picksRows(slice, dims);
  });
  for (tensor::ExtractSliceOp slice : stepped)
    splitSteppedSlice(slice);
}

/// Puts a copy under every view that memory cannot hold.
static void giveLayouts(Block &block, PreparedBlock &prepared) {
  splitSteppedSlices(block);
  for (Operation &op : block) {
    if (!isView(&op) || layoutOfViews(op.getResult(0)))
      continue;
    Value source = copyOf(viewSource(&op), &op);
    op.setOperand(0, source);
    if (layoutOfViews(op.getResult(0)))
      continue;
    // Only a kernel can read it: give it one, whose result is dense.
    prepared.bound.insert(&op);
    prepared.sources.insert(source.getDefiningOp());
    OpBuilder builder(op.getContext());
    builder.setInsertionPointAfter(&op);
    auto copy = CopyOp::create(builder, op.getLoc(), op.getResult(0).getType(),
                               op.getResult(0));
    op.getResult(0).replaceAllUsesExcept(copy.getResult(), copy);
  }
}

/// A copy for a result of its own. It copies the last copy there is: two equal
/// ones would be merged again.
static Value freshCopy(Value value, Operation *before) {
  for (bool found = true; found;) {
    found = false;
    for (Operation *user : value.getUsers())
      if (auto copy = dyn_cast<CopyOp>(user)) {
        value = copy.getResult();
        found = true;
        break;
      }
  }
  return copyOf(value, before);
}

/// Whether an operator overwrites `value`, which a result must not see.
static bool isOverwritten(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    return llvm::any_of(use.getOwner()->getResults(), [&](OpResult result) {
      return tiedStateOf(result) == &use;
    });
  });
}

/// The value of which `value` has all elements in another shape.
static Value rootOfReshapes(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(def))
      break;
    value = viewSource(def);
  }
  return value;
}

/// `value`, a reshape of `root`, of `other` instead.
static Value reshapeOfOther(Value value, Value root, Value other,
                            OpBuilder &builder) {
  if (value == root)
    return other;
  Operation *view = value.getDefiningOp();
  Value source = reshapeOfOther(viewSource(view), root, other, builder);
  Operation *made = builder.clone(*view);
  made->setOperand(0, source);
  return made->getResult(0);
}

static void separateResults(Block &block) {
  Operation *terminator = block.getTerminator();
  llvm::DenseSet<Value> seen;
  for (OpOperand &operand : terminator->getOpOperands()) {
    Value value = operand.get();
    if (!isa<RankedTensorType>(value.getType()))
      continue;
    if (stateArgumentOf(value) && !isOverwritten(value) &&
        seen.insert(value).second)
      continue;
    // The caller's tensor may have another shape than the one that a kernel
    // writes, if it has the same elements.
    Value root = rootOfReshapes(value);
    Operation *def = root.getDefiningOp();
    if (!def || !isBaseOp(def) || tiedStateOf(cast<OpResult>(root))) {
      operand.set(freshCopy(value, terminator));
    } else if (!seen.insert(root).second) {
      OpBuilder builder(terminator);
      operand.set(
          reshapeOfOther(value, root, freshCopy(root, terminator), builder));
    }
  }
}

/// What is computed from parameters and read as one (a table of cosines, the
/// exponential of a weight) gets a copy for each of a few readers, so that each
/// can take it into its kernel. For many readers it is computed once.
static void splitParameters(Block &block) {
  constexpr size_t kMaxReaders = 4;
  llvm::DenseSet<Operation *> parameters;
  SmallVector<Operation *> candidates;
  for (Operation &op : block)
    if (isBaseOp(&op) && isRecomputable(&op) &&
        llvm::all_of(op.getOperands(), [&](Value operand) {
          Operation *def = rootOfViews(operand).getDefiningOp();
          return !def || isa<WeightRefOp, ConstantOp>(def) ||
                 parameters.contains(def);
        })) {
      parameters.insert(&op);
      candidates.push_back(&op);
    }
  for (Operation *op : llvm::reverse(candidates)) {
    llvm::SetVector<Operation *> readers;
    bool all = true;
    for (OpOperand &use : op->getUses()) {
      readers.insert(use.getOwner());
      all &= parameters.contains(use.getOwner()) || readsAsParameter(use);
    }
    if (!all) {
      parameters.erase(op);
      continue;
    }
    if (readers.size() > kMaxReaders)
      continue;
    OpBuilder builder(op);
    for (Operation *reader : ArrayRef(readers.getArrayRef()).drop_front()) {
      Operation *clone = builder.clone(*op);
      parameters.insert(clone);
      reader->replaceUsesOfWith(op->getResult(0), clone->getResult(0));
    }
  }
}

PreparedBlock mlir::hk::prepareBlock(Block &block) {
  PreparedBlock prepared;
  eraseUnused(block);
  detachFromConstants(block);
  splitParameters(block);
  giveLayouts(block, prepared);
  separateResults(block);
  return prepared;
}

void mlir::hk::resolveDims(Block &block, DimSymbols &dims) {
  SmallVector<tensor::DimOp> work;
  for (auto dim : block.getOps<tensor::DimOp>())
    if (dim.getConstantIndex() && dim.getSource().getDefiningOp())
      work.push_back(dim);
  if (work.empty())
    return;
  // The first op may be one of those erased here: stand before one of our own.
  OpBuilder start = OpBuilder::atBlockBegin(&block);
  Location loc = block.getParentOp()->getLoc();
  Operation *anchor = arith::ConstantIndexOp::create(start, loc, 0);
  DimResolver resolver(OpBuilder(anchor), loc, dims);
  for (tensor::DimOp dim : work) {
    DimName name = dims.dim(dim.getSource(), *dim.getConstantIndex());
    if (name < 0 && dims.definition(-1 - name).kind == SizeExpr::Kind::Opaque)
      continue; // the resolver would only make the same op again
    Value size = resolver.getValue(name);
    dims.alias(dim.getResult(), size);
    dim.getResult().replaceAllUsesWith(size);
    dim.erase();
  }
  anchor->erase();
}
