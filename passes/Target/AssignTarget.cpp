//===- AssignTarget.cpp - Set the target of the module --------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything after this pass is for one chip, a row of the contract's table.
//
//===----------------------------------------------------------------------===//

#include "hk/Dialect/HK.h"
#include "hk/Passes/Passes.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKASSIGNTARGET
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

namespace {
struct HKAssignTarget : ::mlir::hk::impl::HKAssignTargetBase<HKAssignTarget> {
  using HKAssignTargetBase::HKAssignTargetBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!::hk::findTarget(target.c_str())) {
      InFlightDiagnostic error = module.emitError()
                                 << "unknown target '" << target
                                 << "'; the targets are ";
      llvm::interleaveComma(::hk::kTargets, error,
                            [&](const ::hk::Target &t) { error << t.name; });
      return signalPassFailure();
    }
    module->setAttr(kTargetAttrName, TargetAttr::get(&getContext(), target));
  }
};
} // namespace

const ::hk::Target *mlir::hk::requireTarget(ModuleOp module) {
  const ::hk::Target *target = targetOf(module);
  if (!target)
    module.emitError("module has no target; run hk-assign-target");
  return target;
}
