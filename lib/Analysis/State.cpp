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

BlockArgument mlir::hk::stateArgumentOf(Value value) {
  while (auto result = dyn_cast<OpResult>(value)) {
    Operation *op = result.getOwner();
    if (auto dps = dyn_cast<DestinationStyleOpInterface>(op))
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
