//===- SelectTiles.cpp - Add the variants of every kernel -----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Once per distinct kernel. The families choose; this pass checks that a kernel
// can be launched whatever its sizes and that the contract's limit holds.
//
//===----------------------------------------------------------------------===//

#include "LoggedPass.h"
#include "hk/Families/Family.h"
#include "hk/Passes/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKSELECTTILES
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

namespace {
struct HKSelectTiles
    : LoggedPass<::mlir::hk::impl::HKSelectTilesBase<HKSelectTiles>> {
  using LoggedPass::LoggedPass;

  void runOnOperation() override {
    const ::hk::Target *target = requireTarget(getOperation());
    if (!target)
      return signalPassFailure();
    DecisionLog &decisions = log();
    bool failed = false;
    for (KernelOp kernel : getOperation().getOps<KernelOp>()) {
      if (!kernel.getVariants().empty())
        continue;
      // All kernels are tried, so that one run reports every misfit.
      if (mlir::failed(selectFor(kernel, *target, decisions)))
        failed = true;
    }
    if (failed)
      signalPassFailure();
  }

private:
  LogicalResult selectFor(KernelOp kernel, const ::hk::Target &target,
                          DecisionLog &decisions) {
    if (failed(familyOf(kernel.getFamily())
                   .addVariants(kernel, target, decisions)))
      return failure();
    std::vector<VariantOp> variants = kernel.getVariants();
    if (variants.empty())
      return kernel.emitOpError("its family gave no variant for target '")
             << target.name << "'";
    for (VariantOp variant : variants)
      if (variant.getLdsBytes() > static_cast<uint64_t>(target.ldsBytes))
        return variant.emitOpError("asks for ")
               << variant.getLdsBytes() << " bytes of LDS, target '"
               << target.name << "' has " << target.ldsBytes;
    auto dims =
        cast<LaunchDimsOp>(variants.back().getBody().front().getTerminator());
    APInt condition;
    if (!matchPattern(dims.getCondition(), m_ConstantInt(&condition)) ||
        !condition.isOne())
      return variants.back().emitOpError(
          "is the last variant and has a condition, so some sizes have no "
          "variant");
    numVariants += variants.size();
    return success();
  }
};
} // namespace

std::unique_ptr<Pass> mlir::hk::createHKSelectTiles(DecisionLog &log) {
  return std::make_unique<HKSelectTiles>(log);
}
