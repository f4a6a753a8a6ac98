//===- CheckState.cpp - State is written once, in place, and not read afterwards
//-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A state that is read after a later write would need a copy of a whole cache.
// Here every write in place is proved to need none: its memory is a state or a
// kernel's own result, it is the only writer of its value, and all readers,
// through views too, come before it. Bufferization relies on that and analyses
// nothing.
//
//===----------------------------------------------------------------------===//

#include "hk/Analysis/Alignment.h"
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
      llvm::SmallDenseSet<Value> written;
      for (Block &block : func.getBody())
        for (auto launch : block.getOps<LaunchOp>())
          for (OpOperand &out : launch.getDpsInitsMutable()) {
            unsigned index = out.getOperandNumber() - launch.getInputs().size();
            written.insert(memoryOf(out.get()));
            if (launch.getReadsOut()[index] && failed(check(func, launch, out)))
              return signalPassFailure();
          }
      warnOfUnwritten(func, written);
    }
  }

  /// What is never written costs its caller a tensor of its own and tells that
  /// the model may lack a write.
  static void warnOfUnwritten(func::FuncOp func,
                              const llvm::SmallDenseSet<Value> &written) {
    if (func.isDeclaration())
      return;
    for (BlockArgument argument : func.getArguments()) {
      unsigned number = argument.getArgNumber();
      if (!func.getArgAttr(number, kStateAttrName) ||
          written.contains(argument))
        continue;
      auto name = func.getArgAttrOfType<StringAttr>(number, kNameAttrName);
      emitWarning(argument.getLoc())
          << "nothing writes state "
          << (name ? "'" + name.getValue() + "'" : "#" + Twine(number)).str()
          << " of @" << func.getName()
          << ", so it never changes; write into it, or make it an input "
             "(without '"
          << kStateAttrName << "')";
    }
  }

  /// The value that first had the memory of `value`.
  static Value memoryOf(Value value) {
    while (true) {
      value = rootOfViews(value);
      auto launch = value.getDefiningOp<LaunchOp>();
      if (!launch)
        return value;
      Value out = launch.getTiedOpOperand(cast<OpResult>(value))->get();
      if (rootOfViews(out).getDefiningOp<tensor::EmptyOp>())
        return value;
      value = out;
    }
  }

  static void collectUses(Value value, SmallVectorImpl<OpOperand *> &uses) {
    for (OpOperand &use : value.getUses()) {
      if (isView(use.getOwner()))
        collectUses(use.getOwner()->getResult(0), uses);
      else if (!isa<tensor::DimOp>(use.getOwner()))
        uses.push_back(&use);
    }
  }

  LogicalResult check(func::FuncOp func, LaunchOp writer, OpOperand &out) {
    Value memory = memoryOf(out.get());
    std::string what = "a result";
    if (auto argument = dyn_cast<BlockArgument>(memory)) {
      unsigned number = argument.getArgNumber();
      what = "the state in argument #" + std::to_string(number);
      if (!func.getArgAttr(number, kStateAttrName))
        return writer.emitOpError("writes in place into argument #")
               << number << ", which is an input; give the argument '"
               << kStateAttrName << "' or write into an hk.copy of it";
    } else if (memory.getDefiningOp<WeightRefOp>()) {
      return writer.emitOpError("writes in place into a weight; write into an "
                                "hk.copy of it");
    }
    SmallVector<OpOperand *> uses;
    collectUses(out.get(), uses);
    for (OpOperand *use : uses) {
      Operation *user = use->getOwner();
      if (use == &out)
        continue;
      auto launch = dyn_cast<LaunchOp>(user);
      bool writes = launch && launch.isDpsInit(use);
      if (user == writer && !writes)
        return describe(user, what, "a read by the launch that writes it",
                        writer);
      if (writes)
        return describe(writer, what, "a second write of the same value", user);
      if (writer->isBeforeInBlock(user))
        return describe(user, what, "a read of the value before a write",
                        writer);
    }
    return success();
  }

  LogicalResult describe(Operation *op, StringRef what, StringRef why,
                         Operation *writer) {
    InFlightDiagnostic diag =
        op->emitOpError("needs a copy of ")
        << what << ": " << why
        << "; use the result of the write, or make the argument an input";
    diag.attachNote(writer->getLoc()) << "the state is written here";
    return diag;
  }
};
} // namespace
