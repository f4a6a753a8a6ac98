//===- Pipelines.h - The pipelines of hk ------------------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order of the passes, as functions and as names for hk-opt: `hk-graph`
// (base operators to planned launches) and `hk-lower` (to LLVM).
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_PIPELINES_H
#define HK_PASSES_PIPELINES_H

#include "hk/Families/Decision.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir::hk {

struct GraphPipelineOptions : PassPipelineOptions<GraphPipelineOptions> {
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("row of the target table")};
  Option<bool> fuse{*this, "fuse", llvm::cl::init(true),
                    llvm::cl::desc("false: one kernel per operator")};
  Option<int64_t> splitK{*this, "split-k", llvm::cl::init(0),
                         llvm::cl::desc("option k of hk-split")};
  Option<int64_t> splitKeys{*this, "split-keys", llvm::cl::init(0),
                            llvm::cl::desc("option keys of hk-split")};
  Option<int64_t> splitSegments{*this, "split-segments", llvm::cl::init(0),
                                llvm::cl::desc("option segments of hk-split")};
  Option<bool> order{*this, "order", llvm::cl::init(true),
                     llvm::cl::desc("false: no hk-order-launches")};
};

struct LowerPipelineOptions : PassPipelineOptions<LowerPipelineOptions> {
  Option<std::string> prefix{*this, "prefix", llvm::cl::init("hk_"),
                             llvm::cl::desc("of every symbol made")};
};

/// Puts the bodies of called functions in the place of their calls and drops
/// private functions that are then unused. First part of `hk-graph`.
void buildInlinePipeline(OpPassManager &pm);
/// `log` must outlive the run.
void buildGraphPipeline(OpPassManager &pm, const GraphPipelineOptions &options,
                        DecisionLog &log);
void buildLowerPipeline(OpPassManager &pm, const LowerPipelineOptions &options);
void registerHKPipelines();

} // namespace mlir::hk

#endif // HK_PASSES_PIPELINES_H
