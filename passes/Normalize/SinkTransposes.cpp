//===- SinkTransposes.cpp - Columns are moved last ------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An activation of a transposed tensor computes single elements, since those
// that are neighbours in its result are not in memory. In front of the
// transpose it computes vectors, of the same elements with the same bits.
//
//===----------------------------------------------------------------------===//

#include "Normalize/SinkTransposes.h"

#include "hk/Analysis/LoopMaps.h"
#include "hk/Dialect/HK.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::hk;

/// The operators of one operand and one reader each that `transpose` can be
/// moved behind; none if they do not end in a result of the function.
static SmallVector<Operation *> chainBehind(TransposeOp transpose) {
  SmallVector<Operation *> chain;
  Value value = transpose.getResult();
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (isa<func::ReturnOp>(user))
      return chain;
    if (!isRecomputable(user) || user->getNumOperands() != 1)
      break;
    chain.push_back(user);
    value = user->getResult(0);
  }
  return {};
}

void mlir::hk::sinkTransposes(Block &block) {
  for (auto transpose :
       llvm::make_early_inc_range(block.getOps<TransposeOp>())) {
    if (!storesShortRows(transpose))
      continue;
    SmallVector<Operation *> chain = chainBehind(transpose);
    auto isCode = [](Operation *op) {
      return isPacked(getElementTypeOrSelf(op->getResult(0).getType()));
    };
    // Elements that share a byte have no place of their own.
    if (chain.empty() || llvm::any_of(chain, isCode))
      continue;
    auto source = cast<RankedTensorType>(transpose.getInput().getType());
    Value last = chain.back()->getResult(0);
    Type moved = last.getType();
    chain.front()->setOperand(0, transpose.getInput());
    for (Operation *op : chain) {
      auto type = cast<RankedTensorType>(op->getResult(0).getType());
      op->getResult(0).setType(
          RankedTensorType::get(source.getShape(), type.getElementType()));
    }
    transpose->moveAfter(chain.back());
    transpose.getResult().setType(cast<RankedTensorType>(moved));
    last.replaceAllUsesWith(transpose.getResult());
    transpose->setOperand(0, last);
  }
}
