//===- VerifyNoLooseMovement.cpp - No data moves outside kernels ----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After bufferization and arena planning the only operations left in a function
// are views, sizes and launches. A copy or an allocation that hk did not plan
// is a bug of fusion or placement, or a request nobody can serve in place: an
// error here beats a slow or wrong program.
//
//===----------------------------------------------------------------------===//

#include "hk/Dialect/HK.h"
#include "hk/Passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKVERIFYNOLOOSEMOVEMENT
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

namespace {
bool isAllowed(Operation &op) {
  if (isa<LaunchOp, WeightRefOp, GuardOp, func::ReturnOp, memref::DimOp,
          ViewLikeOpInterface>(op))
    return true;
  return isa_and_nonnull<arith::ArithDialect>(op.getDialect());
}

struct VerifyNoLooseMovementPass
    : mlir::hk::impl::HKVerifyNoLooseMovementBase<VerifyNoLooseMovementPass> {
  void runOnOperation() override {
    bool ok = true;
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (Operation &op : func.getBody().getOps())
        if (!isAllowed(op)) {
          op.emitOpError(
              "moves data outside every kernel; expected only views, "
              "sizes and launches in @")
              << func.getSymName();
          ok = false;
        }
    if (!ok)
      signalPassFailure();
  }
};
} // namespace
