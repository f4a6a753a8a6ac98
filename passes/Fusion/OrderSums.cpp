//===- OrderSums.cpp - Memory for sums that blocks make in order ----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel whose blocks can sum in memory, in order, gets that memory: two more
// outs, a buffer and words that a launch in front zeroes, and is built again
// for them. On memrefs, where every launch has words of its own.
//
//===----------------------------------------------------------------------===//

#include "JointKernels.h"

#include "hk/Analysis/Alignment.h"
#include "hk/Contract/Order.h"
#include "hk/Passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKORDERSUMS
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

namespace {

struct HKOrderSums : ::mlir::hk::impl::HKOrderSumsBase<HKOrderSums> {
  HKOrderSums() = default;
  explicit HKOrderSums(DecisionLog &log) : log(&log) {}
  HKOrderSums(const HKOrderSums &other)
      : HKOrderSumsBase(other), log(other.log) {}

  void runOnOperation() override {
    const ::hk::Target *target = requireTarget(getOperation());
    if (!target)
      return signalPassFailure();
    if (!::hk::blocksWait(*target))
      return;
    SymbolTable symbols(getOperation());
    SmallVector<LaunchOp> launches;
    getOperation().walk([&](LaunchOp launch) { launches.push_back(launch); });
    for (LaunchOp launch : launches)
      if (failed(order(launch, *target, symbols)))
        return signalPassFailure();
    eraseUnlaunched(getOperation(), symbols);
  }

private:
  LogicalResult order(LaunchOp launch, const ::hk::Target &target,
                      SymbolTable &symbols) {
    KernelOp plain = kernelOf(launch);
    const Family &family = familyOf(plain.getFamily());
    SmallVector<RankedTensorType> types = family.getOrderedSums(plain, target);
    if (types.empty())
      return success();
    KernelOp &kernel = ordered[plain];
    if (!kernel)
      kernel = withOuts(plain, types, symbols);
    DecisionLog own;
    DecisionLog &decisions = log ? *log : own;
    if (kernel.getVariants().empty() &&
        failed(family.addVariants(kernel, target, decisions)))
      return failure();
    OpBuilder builder(launch);
    SmallVector<Value> outs(launch.getOuts());
    SmallVector<bool> reads(launch.getReadsOut());
    for (RankedTensorType type : types) {
      Value memory = memref::AllocOp::create(
          builder, launch.getLoc(),
          MemRefType::get(type.getShape(), type.getElementType()));
      bool words = type.getElementType().isInteger();
      if (words) {
        FailureOr<KernelOp> zero =
            zeroKernel(type.getDimSize(0), "turns", target, symbols,
                       launch.getLoc(), decisions);
        if (failed(zero))
          return failure();
        LaunchOp::create(builder, launch.getLoc(), TypeRange(),
                         zero->getSymName(), ValueRange(), memory,
                         SmallVector<bool>{false});
      }
      outs.push_back(memory);
      reads.push_back(true);
    }
    LaunchOp::create(builder, launch.getLoc(), TypeRange(), kernel.getSymName(),
                     launch.getInputs(), outs, reads);
    launch.erase();
    ++numOrdered;
    return success();
  }

  /// A copy of `kernel` with outs of `types`, without variants.
  static KernelOp withOuts(KernelOp kernel, ArrayRef<RankedTensorType> types,
                           SymbolTable &symbols) {
    OpBuilder builder(kernel);
    auto copy = cast<KernelOp>(kernel->clone());
    copy.setSymName((kernel.getSymName() + "_in_order").str());
    for (VariantOp variant : copy.getVariants())
      variant.erase();
    SmallVector<Attribute> shapes(copy.getShapes().getValue());
    SmallVector<int64_t> aligns(copy.getAligns());
    Block &spec = copy.getSpecBlock();
    auto yield = cast<YieldOp>(spec.getTerminator());
    for (RankedTensorType type : types) {
      shapes.push_back(SymShapeAttr::get(copy.getContext(), type.getShape()));
      aligns.push_back(kMaxAlignment);
      yield.getValuesMutable().append(
          ValueRange(spec.addArgument(type, copy.getLoc())));
    }
    copy.setShapesAttr(builder.getArrayAttr(shapes));
    copy.setAligns(aligns);
    symbols.insert(copy, kernel->getIterator());
    return copy;
  }

  llvm::DenseMap<Operation *, KernelOp> ordered;
  DecisionLog *log = nullptr;
};
} // namespace

std::unique_ptr<Pass> mlir::hk::createHKOrderSums(DecisionLog &log) {
  return std::make_unique<HKOrderSums>(log);
}
