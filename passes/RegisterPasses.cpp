//===- RegisterPasses.cpp - Registration of the passes --------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes every pass known to command lines, in pipeline order.
//
//===----------------------------------------------------------------------===//

#include "hk/Passes/Bufferization.h"
#include "hk/Passes/Passes.h"

#include "mlir/Pass/PassRegistry.h"

namespace mlir::hk {
#define GEN_PASS_REGISTRATION
#include "hk/Passes/Passes.h.inc"

void registerHKPasses() {
  registerHKGeneratedPasses();
  registerBufferizePass();
}
} // namespace mlir::hk
