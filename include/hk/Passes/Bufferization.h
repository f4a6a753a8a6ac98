//===- Bufferization.h - hk and upstream bufferization ----------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registration of hk's bufferization models, and hk's pass over the upstream
// rewriting: function boundaries included, dense row-major layouts at them.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_BUFFERIZATION_H
#define HK_PASSES_BUFFERIZATION_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace mlir::hk {

void registerBufferizationModels(DialectRegistry &registry);
std::unique_ptr<Pass> createBufferizePass();
void registerBufferizePass();

} // namespace mlir::hk

#endif // HK_PASSES_BUFFERIZATION_H
