//===- Bufferization.cpp - How launches and weights become buffers --------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// External models for upstream one-shot bufferization: a launch in destination
// style, whose read outs (state) must be in place, and a weight, which is
// read-only memory; and the pass that runs its rewriting half. hk.kernel needs
// none: it is a symbol table, which one-shot bufferization skips.
//
//===----------------------------------------------------------------------===//

#include "hk/Passes/Bufferization.h"
#include "hk/Dialect/HK.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::bufferization;

namespace {
/// Out `operand` of a launch, if it is one, is also read.
bool isReadOut(LaunchOp launch, OpOperand &operand) {
  if (!launch.isDpsInit(&operand))
    return false;
  unsigned index = operand.getOperandNumber() - launch.getInputs().size();
  return launch.getReadsOut()[index];
}

struct LaunchModel
    : DstBufferizableOpInterfaceExternalModel<LaunchModel, LaunchOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    auto launch = cast<LaunchOp>(op);
    return !launch.isDpsInit(&operand) || isReadOut(launch, operand);
  }

  bool mustBufferizeInPlace(Operation *op, OpOperand &operand,
                            const AnalysisState &) const {
    return isReadOut(cast<LaunchOp>(op), operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto launch = cast<LaunchOp>(op);
    auto buffers = [&](ValueRange values) -> FailureOr<SmallVector<Value>> {
      SmallVector<Value> result;
      for (Value value : values) {
        FailureOr<Value> buffer = getBuffer(rewriter, value, options, state);
        if (failed(buffer))
          return failure();
        result.push_back(*buffer);
      }
      return result;
    };
    FailureOr<SmallVector<Value>> inputs = buffers(launch.getInputs());
    FailureOr<SmallVector<Value>> outs = buffers(launch.getOuts());
    if (failed(inputs) || failed(outs))
      return failure();
    LaunchOp::create(rewriter, op->getLoc(), TypeRange(),
                     launch.getKernelAttr(), *inputs, *outs,
                     launch.getReadsOutAttr());
    replaceOpWithBufferizedValues(rewriter, op, *outs);
    return success();
  }
};

struct WeightRefModel
    : BufferizableOpInterface::ExternalModel<WeightRefModel, WeightRefOp> {
  bool isWritable(Operation *, Value, const AnalysisState &) const {
    return false;
  }
  bool bufferizesToAllocation(Operation *, Value) const { return false; }
  AliasingOpOperandList getAliasingOpOperands(Operation *, Value,
                                              const AnalysisState &) const {
    return {};
  }
  AliasingValueList getAliasingValues(Operation *, OpOperand &,
                                      const AnalysisState &) const {
    return {};
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &,
                          BufferizationState &) const {
    auto ref = cast<WeightRefOp>(op);
    if (!isa<TensorType>(ref.getType()))
      return success();
    auto type = cast<RankedTensorType>(ref.getType());
    replaceOpWithNewBufferizedOp<WeightRefOp>(
        rewriter, op, MemRefType::get(type.getShape(), type.getElementType()),
        ref.getWeightAttr());
    return success();
  }
};
} // namespace

void mlir::hk::registerBufferizationModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HKDialect *) {
    LaunchOp::attachInterface<LaunchModel>(*context);
    WeightRefOp::attachInterface<WeightRefModel>(*context);
  });
}

namespace {
/// The rewriting half of one-shot bufferization. Its analysis is quadratic in
/// the number of launches, cubic where they share a destination; hk-check-state
/// has proved what it would prove, and every destination is one launch's own.
struct BufferizePass : PassWrapper<BufferizePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BufferizePass)
  StringRef getArgument() const final { return "hk-bufferize"; }
  StringRef getDescription() const final {
    return "launches on tensors to launches on memrefs, all in place";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<BufferizationDialect, memref::MemRefDialect>();
  }

  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (Block &block : func.getBody())
        for (auto launch : block.getOps<LaunchOp>())
          separateDestinations(launch);
    OneShotBufferizationOptions options;
    options.bufferizeFunctionBoundaries = true;
    options.setFunctionBoundaryTypeConversion(
        LayoutMapOption::IdentityLayoutMap);
    BufferizationState state;
    if (failed(bufferizeModuleOp(getOperation(), options, state)))
      return signalPassFailure();
    removeBufferizationAttributesInModule(getOperation());
  }

  /// CSE has made one tensor.empty of all that have the same sizes.
  static void separateDestinations(LaunchOp launch) {
    for (OpOperand &out : launch.getDpsInitsMutable()) {
      auto empty = out.get().getDefiningOp<tensor::EmptyOp>();
      if (!empty || empty->hasOneUse())
        continue;
      OpBuilder builder(launch);
      out.set(builder.clone(*empty)->getResult(0));
    }
  }
};
} // namespace

std::unique_ptr<Pass> mlir::hk::createBufferizePass() {
  return std::make_unique<BufferizePass>();
}

void mlir::hk::registerBufferizePass() { PassRegistration<BufferizePass>(); }
