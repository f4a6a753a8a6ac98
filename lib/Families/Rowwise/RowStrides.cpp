//===- RowStrides.cpp - Strides that all launches have in common ----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Strides are words of a launch, as operands may be views. Most are whole
// tensors of static inner sizes, whose strides the types of the launches say.
// Where the vector unit bounds a kernel they are constants in its text.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::hk;

/// The strides of a launch's operand; all dynamic before bufferization.
static SmallVector<int64_t> stridesOf(Value operand) {
  SmallVector<int64_t> strides;
  int64_t offset;
  auto type = dyn_cast<MemRefType>(operand.getType());
  if (!type || failed(type.getStridesAndOffset(strides, offset)))
    strides.assign(cast<ShapedType>(operand.getType()).getRank(),
                   ShapedType::kDynamic);
  return strides;
}

SmallVector<SmallVector<int64_t>> mlir::hk::launchedStrides(KernelOp kernel) {
  KernelOp launched = kernel.getLaunched();
  SmallVector<SmallVector<int64_t>> common(kernel.getNumOperands());
  bool isLaunched = false;
  auto module = kernel->getParentOfType<ModuleOp>();
  if (!module)
    return common;
  module.walk([&](LaunchOp launch) {
    if (launch.getKernel() != launched.getSymName())
      return;
    SmallVector<Value> operands(launch.getInputs());
    llvm::append_range(operands, launch.getOuts());
    for (auto [index, strides] : llvm::enumerate(common)) {
      SmallVector<int64_t> own =
          stridesOf(operands[kernel.getLaunchedOperand(int64_t(index))]);
      if (!isLaunched)
        strides = own;
      for (auto [known, stride] : llvm::zip_equal(strides, own))
        if (known != stride)
          known = ShapedType::kDynamic;
    }
    isLaunched = true;
  });
  return common;
}
