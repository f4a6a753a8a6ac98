//===- Passes.h - The passes of hk -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constructors and registration of the passes declared in passes/Passes.td, and
// what most of them begin with.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_PASSES_H
#define HK_PASSES_PASSES_H

#include "hk/Contract/Target.h"
#include "hk/Families/Decision.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace mlir::hk {

#define GEN_PASS_DECL
#include "hk/Passes/Passes.h.inc"

/// The passes that record decisions, with the caller's log; the log must live
/// as long as the pass.
std::unique_ptr<Pass> createHKRaise(const HKRaiseOptions &options,
                                    DecisionLog &log);
std::unique_ptr<Pass> createHKShard(const HKShardOptions &options,
                                    DecisionLog &log);
std::unique_ptr<Pass> createHKFoldGates(DecisionLog &log);
std::unique_ptr<Pass> createHKSplit(const HKSplitOptions &options,
                                    DecisionLog &log);
std::unique_ptr<Pass> createHKFuse(const HKFuseOptions &options,
                                   DecisionLog &log);
std::unique_ptr<Pass> createHKSelectTiles(DecisionLog &log);
std::unique_ptr<Pass> createHKShareLaunches(DecisionLog &log);
std::unique_ptr<Pass> createHKScatterSums(DecisionLog &log);
std::unique_ptr<Pass> createHKOrderLaunches(DecisionLog &log);
std::unique_ptr<Pass> createHKOrderSums(DecisionLog &log);
std::unique_ptr<Pass> createHKSendResults(DecisionLog &log);

/// The target of `module`; null behind an error that says how to give it one.
const ::hk::Target *requireTarget(ModuleOp module);

/// Makes every pass known to command lines.
void registerHKPasses();

} // namespace mlir::hk

#endif // HK_PASSES_PASSES_H
