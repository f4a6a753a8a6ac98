//===- State.cpp - Which argument a written state belongs to --------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows destinations backwards to the function argument.
//
//===----------------------------------------------------------------------===//

#include "hk/Analysis/State.h"
#include "hk/Dialect/HK.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

OpOperand *mlir::hk::tiedStateOf(OpResult result) {
  Operation *op = result.getOwner();
  unsigned index = result.getResultNumber();
  if (auto state = dyn_cast<StateOpInterface>(op))
    return state.getTiedState(result);
  if (auto fused = dyn_cast<FusedOp>(op))
    return fused.readsOut(index) ? fused.getTiedOpOperand(result) : nullptr;
  if (auto launch = dyn_cast<LaunchOp>(op))
    return launch.getReadsOut()[index] ? launch.getTiedOpOperand(result)
                                       : nullptr;
  return nullptr;
}

BlockArgument mlir::hk::stateArgumentOf(Value value) {
  while (auto result = dyn_cast<OpResult>(value)) {
    Operation *op = result.getOwner();
    if (OpOperand *state = tiedStateOf(result))
      value = state->get();
    else if (auto dps = dyn_cast<DestinationStyleOpInterface>(op))
      value = dps.getTiedOpOperand(result)->get();
    else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
      value = insert.getDest();
    else if (auto cast = dyn_cast<tensor::CastOp>(op))
      value = cast.getSource();
    else
      return nullptr;
  }
  auto argument = cast<BlockArgument>(value);
  auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!func || !func.getArgAttr(argument.getArgNumber(), kStateAttrName))
    return nullptr;
  return argument;
}
