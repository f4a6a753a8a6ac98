//===- Bufferization.cpp - How launches and weights become buffers --------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// External models for upstream one-shot bufferization: a launch in destination style,
// whose read outs (state) must be in place, and a weight, which is read-only memory.
// hk.kernel needs none: it is a symbol table, which one-shot bufferization skips.
//
//===----------------------------------------------------------------------===//

#include "hk/Passes/Bufferization.h"
#include "hk/Dialect/HK.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

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

std::unique_ptr<Pass> mlir::hk::createBufferizePass() {
  OneShotBufferizePassOptions options;
  options.bufferizeFunctionBoundaries = true;
  options.functionBoundaryTypeConversion = LayoutMapOption::IdentityLayoutMap;
  return bufferization::createOneShotBufferizePass(options);
}
