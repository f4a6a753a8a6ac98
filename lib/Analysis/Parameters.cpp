//===- Parameters.cpp - Operands that have no rows ------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// By operator; the table of hk.gather_rows is left out, because it is large and
// few of its rows are read.
//
//===----------------------------------------------------------------------===//

#include "hk/Analysis/Parameters.h"
#include "hk/Dialect/HK.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::hk;

bool mlir::hk::isElementwise(Operation *op) {
  auto rowwise = dyn_cast<RowwiseOpInterface>(op);
  return rowwise && rowwise.getNumLocalDims() == 0 &&
         !isa<GatherRowsOp, SumSlicesOp, CopyOp>(op);
}

bool mlir::hk::readsAsParameter(OpOperand &use) {
  Operation *op = use.getOwner();
  Value value = use.get();
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case(
          [&](RopeOp o) { return value == o.getCos() || value == o.getSin(); })
      .Case([&](RmsNormOp o) { return value == o.getWeight(); })
      .Case([&](LayerNormOp o) {
        return value == o.getWeight() || value == o.getBias();
      })
      .Default([&](Operation *) {
        if (!isElementwise(op))
          return false;
        auto type = cast<RankedTensorType>(value.getType());
        auto result = cast<RankedTensorType>(op->getResult(0).getType());
        return type.getRank() < result.getRank() ||
               (type.getRank() > 0 && type.getDimSize(0) == 1 &&
                result.getDimSize(0) != 1);
      });
}

bool mlir::hk::isOnlyParameter(Operation *op, int depth) {
  if (depth == 0 || !isElementwise(op))
    return false;
  return llvm::all_of(op->getUses(), [&](OpOperand &use) {
    return readsAsParameter(use) || isOnlyParameter(use.getOwner(), depth - 1);
  });
}
