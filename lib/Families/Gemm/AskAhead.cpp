//===- AskAhead.cpp - Weights before the launch in front ends -------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AskAhead.h"

#include "hk/Contract/Lds.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::hk;

/// What `memref` is a view of: an argument, or a buffer of the workspace.
static Value bufferOf(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>()) {
    if (isa<memref::ViewOp>(view))
      break;
    memref = view.getViewSource();
  }
  return memref;
}

static bool writes(LaunchOp launch, Value memref) {
  return llvm::any_of(launch.getOuts(), [&](Value out) {
    return bufferOf(out) == bufferOf(memref);
  });
}

bool mlir::hk::boundsAreOld(KernelOp kernel, GroupedMatmulOp product) {
  auto module = dyn_cast_if_present<ModuleOp>(kernel->getParentOp());
  auto bounds = dyn_cast<BlockArgument>(product.getGroups());
  // Those of a problem of a joint kernel are not looked for.
  if (!module || !bounds || product.getForm() != GroupForm::bounds)
    return false;
  // Blocks hold a bound more than there are groups.
  int64_t groups = cast<ShapedType>(product.getRhs().getType()).getDimSize(0);
  if (ShapedType::isDynamic(groups) || groups >= ::hk::kHeldBounds)
    return false;
  for (auto function : module.getOps<func::FuncOp>()) {
    LaunchOp front;
    for (auto launch : function.getOps<LaunchOp>()) {
      if (front && launch.getKernel() == kernel.getSymName() &&
          writes(front, launch->getOperand(bounds.getArgNumber())))
        return false;
      front = launch;
    }
  }
  return true;
}
