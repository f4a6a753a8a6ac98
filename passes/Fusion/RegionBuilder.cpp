//===- RegionBuilder.cpp - From groups to hk.fused ------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A result that is used outside is yielded into a destination: the state it
// overwrites, or a tensor.empty whose sizes come from the function's arguments.
// Views between members and constants are cloned into the region.
//
//===----------------------------------------------------------------------===//

#include "Fusion/RegionBuilder.h"

#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/State.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::hk;

RegionBuilder::RegionBuilder(Block &block, DimSymbols &dims) : dims(dims) {
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  Location loc = block.getParentOp()->getLoc();
  anchor = arith::ConstantIndexOp::create(builder, loc, 0);
  outerSizes.emplace(OpBuilder(anchor), loc, dims);
}

RegionBuilder::~RegionBuilder() { anchor->erase(); }

/// Whether something outside `members` needs `value` in memory, directly or
/// through a view.
static bool escapes(Value value,
                    const llvm::SmallPtrSetImpl<Operation *> &members) {
  for (Operation *user : value.getUsers()) {
    if (isView(user)) {
      if (escapes(user->getResult(0), members))
        return true;
    } else if (!members.contains(user)) {
      return true;
    }
  }
  return false;
}

RegionBuilder::Interface RegionBuilder::interfaceOf(const FusionGroup &group) {
  Interface result;
  llvm::SmallPtrSet<Operation *, 16> members(group.ops.begin(),
                                             group.ops.end());
  llvm::SmallDenseSet<Value> seen;
  Location loc = group.ops.back()->getLoc();
  OpBuilder builder(group.ops.back());
  for (Operation *op : group.ops) {
    SmallVector<Value> states = writtenInPlace(op);
    for (Value operand : op->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (!isa<RankedTensorType>(operand.getType()) ||
          (def && members.contains(def)) || isa_and_nonnull<ConstantOp>(def) ||
          llvm::is_contained(states, operand))
        continue;
      if (seen.insert(operand).second)
        result.inputs.push_back(operand);
    }
    if (isView(op))
      continue;
    for (OpResult value : op->getResults()) {
      OpOperand *state = tiedStateOf(value);
      bool unread = value.use_empty() && group.family->storesUnread(value);
      // A write is an effect: it stays even if nobody reads it.
      if (!state && !unread && !escapes(value, members))
        continue;
      result.escaping.push_back(value);
      result.isState.push_back(state != nullptr);
      if (state) {
        result.outs.push_back(state->get());
        continue;
      }
      auto type = cast<RankedTensorType>(value.getType());
      SmallVector<Value> dynamic;
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        if (type.isDynamicDim(dim))
          dynamic.push_back(outerSizes->getValue(value, dim));
      result.outs.push_back(
          tensor::EmptyOp::create(builder, loc, type, dynamic));
    }
  }
  return result;
}

void RegionBuilder::cloneView(Operation *view, OpBuilder &builder,
                              IRMapping &mapping, DimResolver &sizes) {
  Value source = viewSource(view);
  for (auto [dim, name] : llvm::enumerate(dims.shape(source)))
    sizes.bind(name, mapping.lookup(source), dim);
  for (Value operand : view->getOperands().drop_front())
    if (!mapping.contains(operand))
      mapping.map(operand, sizes.getValue(*dims.name(operand)));
  Operation *made = builder.clone(*view, mapping);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(view))
    keepWholeDims(slice, cast<tensor::ExtractSliceOp>(made));
}

/// Where a slice takes a whole dim of what the kernel computes, says so by the
/// size of that value itself: the kernel knows nothing of the outer graph, from
/// which the sizes of two of its operands are known to be equal.
void RegionBuilder::keepWholeDims(tensor::ExtractSliceOp slice,
                                  tensor::ExtractSliceOp made) {
  if (!made.getSource().getDefiningOp() || slice.getDroppedDims().any())
    return;
  OpBuilder builder(made);
  SmallVector<OpFoldResult> sizes = made.getMixedSizes();
  for (int64_t d = 0; d < slice.getType().getRank(); ++d)
    if (slice.isDynamicSize(d) &&
        dims.equal(slice.getResult(), d, slice.getSource(), d))
      sizes[d] =
          tensor::DimOp::create(builder, made.getLoc(), made.getSource(), d)
              .getResult();
  SmallVector<Value> dynamic;
  SmallVector<int64_t> fixed;
  dispatchIndexOpFoldResults(sizes, dynamic, fixed);
  made.getSizesMutable().assign(dynamic);
}

void RegionBuilder::cloneMembers(const FusionGroup &group, Block &body,
                                 IRMapping &mapping, DimResolver &sizes) {
  OpBuilder builder = OpBuilder::atBlockEnd(&body);
  llvm::SmallPtrSet<Operation *, 16> members(group.ops.begin(),
                                             group.ops.end());
  for (Operation *op : group.ops) {
    for (Value operand : op->getOperands())
      if (auto constant = operand.getDefiningOp<ConstantOp>())
        if (!mapping.contains(operand))
          builder.clone(*constant.getOperation(), mapping);
    if (isView(op)) {
      cloneView(op, builder, mapping, sizes);
    } else if (auto copy = dyn_cast<CopyOp>(op);
               copy && (members.contains(copy.getInput().getDefiningOp()) ||
                        !escapes(copy.getResult(), members))) {
      // The kernel has the value: it is written to where the copy would go, or
      // the copy was only there for the sake of a view.
      mapping.map(copy.getResult(), mapping.lookup(copy.getInput()));
    } else {
      builder.clone(*op, mapping);
    }
  }
}

FusedOp RegionBuilder::build(const FusionGroup &group) {
  Operation *last = group.ops.back();
  SmallVector<Location> locations;
  for (Operation *op : group.ops)
    locations.push_back(op->getLoc());
  Location loc = FusedLoc::get(last->getContext(), locations);
  Interface interface = interfaceOf(group);

  OpBuilder builder(last);
  SmallVector<Type> types;
  for (Value value : interface.escaping)
    types.push_back(value.getType());
  auto fused = FusedOp::create(builder, loc, types, group.family->getKind(),
                               interface.inputs, interface.outs);
  Block *body = builder.createBlock(&fused.getBody());
  IRMapping mapping;
  DimResolver sizes(OpBuilder::atBlockEnd(body), loc, dims);
  auto addArgument = [&](Value value, bool readable) {
    BlockArgument argument = body->addArgument(value.getType(), loc);
    if (!readable)
      return;
    mapping.map(value, argument);
    for (auto [dim, name] : llvm::enumerate(dims.shape(value)))
      sizes.bind(name, argument, dim);
  };
  for (Value input : interface.inputs)
    addArgument(input, true);
  for (auto [out, isState] : llvm::zip(interface.outs, interface.isState))
    addArgument(out, isState);
  cloneMembers(group, *body, mapping, sizes);
  SmallVector<Value> yielded;
  for (Value value : interface.escaping)
    yielded.push_back(mapping.lookup(value));
  builder.setInsertionPointToEnd(body);
  YieldOp::create(builder, loc, yielded);

  for (auto [value, result] :
       llvm::zip(interface.escaping, fused.getResults())) {
    dims.alias(value, result);
    value.replaceAllUsesWith(result);
  }
  return fused;
}
