//===- CheckState.cpp - State is written once, in place, and not read afterwards -===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A state that is read after a later write would need a copy of a whole cache. One-shot
// bufferization would refuse or copy; this pass says so first, in hk's words: every
// value of a state has at most one writer, and its readers come before that writer.
//
//===----------------------------------------------------------------------===//

#include "hk/Dialect/HK.h"
#include "hk/Passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKCHECKSTATE
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

namespace {
struct CheckStatePass : mlir::hk::impl::HKCheckStateBase<CheckStatePass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      for (BlockArgument argument : func.getArguments())
        if (func.getArgAttr(argument.getArgNumber(), kStateAttrName) &&
            failed(check(argument)))
          return signalPassFailure();
    }
  }

  /// Walks the write chain of a state from its argument.
  LogicalResult check(BlockArgument argument) {
    Value state = argument;
    while (true) {
      LaunchOp writer;
      for (OpOperand &use : state.getUses()) {
        auto launch = dyn_cast<LaunchOp>(use.getOwner());
        if (!launch || !launch.isDpsInit(&use))
          continue;
        if (writer && writer != launch)
          return describe(launch, argument, "a second write of the same value",
                          writer);
        writer = launch;
      }
      if (!writer)
        return success();
      for (OpOperand &use : state.getUses()) {
        Operation *reader = use.getOwner();
        if (reader != writer && isa<LaunchOp>(reader) &&
            writer->isBeforeInBlock(reader))
          return describe(reader, argument, "a read of the value before a write",
                          writer);
        if (reader == writer && !writer.isDpsInit(&use))
          return describe(reader, argument,
                          "a read by the launch that writes it", writer);
      }
      for (OpOperand &out : writer.getDpsInitsMutable())
        if (out.get() == state) {
          state = writer.getTiedOpResult(&out);
          break;
        }
    }
  }

  LogicalResult describe(Operation *op, BlockArgument argument, StringRef what,
                         Operation *writer) {
    InFlightDiagnostic diag =
        op->emitOpError("needs a copy of the state in argument #")
        << argument.getArgNumber() << ": " << what
        << "; use the result of the write, or make the argument an input";
    diag.attachNote(writer->getLoc()) << "the state is written here";
    return diag;
  }
};
} // namespace
