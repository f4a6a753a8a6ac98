//===- Pipelines.cpp - The order of the passes ----------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// hk-graph. Wants: verified base operators on tensors. hk-split adds some;
// after hk-fuse every operator is in an hk.fused region; after hk-outline there
// are kernels and launches on tensors; after hk-place-outputs results have the
// caller's memory as destination; after bufferization launches work on memrefs
// and kernel bodies still on tensors; after hk-plan-arena no allocation is
// left. The kernels can then be emitted.
//
// hk-lower. Wants that IR; leaves the LLVM dialect, without kernels.
//
//===----------------------------------------------------------------------===//

#include "hk/Passes/Pipelines.h"
#include "hk/Passes/Bufferization.h"
#include "hk/Passes/Passes.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::hk;

void mlir::hk::buildInlinePipeline(OpPassManager &pm) {
  // Simplifying callees first would only repeat what the caller gets anyway.
  pm.addPass(createInlinerPass({}, [](OpPassManager &) {}));
  pm.addPass(createSymbolDCEPass());
  // Before anything simplifies: a write whose result nobody reads would go.
  pm.addPass(createHKCheckSignature());
}

void mlir::hk::buildGraphPipeline(OpPassManager &pm,
                                  const GraphPipelineOptions &options,
                                  DecisionLog &log) {
  buildInlinePipeline(pm);
  HKAssignTargetOptions target;
  target.target = options.target;
  pm.addPass(createHKAssignTarget(target));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  HKRaiseOptions raise;
  raise.exact = true;
  pm.addPass(createHKRaise(raise, log));
  pm.addPass(createHKGuardViews());
  pm.addPass(createHKScatterSums(log));
  pm.addPass(createHKExpandExchanges());
  pm.addPass(createHKFoldGates(log));
  pm.addPass(createHKGatherFirst());
  pm.addPass(createHKJoinRows());
  pm.addPass(createHKPadDepth());

  HKSplitOptions split;
  split.k = options.splitK;
  split.keys = options.splitKeys;
  split.segments = options.splitSegments;
  pm.addPass(createHKSplit(split, log));
  pm.addPass(createHKSplitReductions());
  pm.addPass(createHKNormalize());

  HKFuseOptions fuse;
  fuse.disable = !options.fuse;
  pm.addPass(createHKFuse(fuse, log));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createHKOutline());
  pm.addPass(createHKSelectTiles(log));
  if (options.fuse)
    pm.addPass(createHKShareLaunches(log));
  pm.addPass(createHKSendResults(log));

  pm.addPass(createHKCheckState());
  pm.addPass(createHKPlaceOutputs());
  pm.addPass(createBufferizePass());
  // This order folds the self-copies that slices of a state leave behind.
  pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizerPass());
  if (options.fuse && options.order) {
    pm.addPass(createHKOrderLaunches(log));
    pm.addPass(createHKOrderSums(log));
  }
  pm.addPass(createHKPlanArena());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createHKVerifyNoLooseMovement());
}

void mlir::hk::buildLowerPipeline(OpPassManager &pm,
                                  const LowerPipelineOptions &options) {
  HKLowerToLLVMOptions lower;
  lower.prefix = options.prefix;
  pm.addPass(createHKLowerToLLVM(lower));
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCSEPass());
}

void mlir::hk::registerHKPipelines() {
  PassPipelineRegistration<GraphPipelineOptions>(
      "hk-graph", "base operators to planned launches of kernels",
      [](OpPassManager &pm, const GraphPipelineOptions &options) {
        // Nobody reads the log of a pipeline run by name; remarks say the same.
        static DecisionLog log;
        buildGraphPipeline(pm, options, log);
      });
  PassPipelineRegistration<LowerPipelineOptions>(
      "hk-lower", "planned launches to LLVM", buildLowerPipeline);
}
