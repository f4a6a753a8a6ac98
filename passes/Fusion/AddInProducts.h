//===- AddInProducts.h - Products that send sums of three -------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last part of hk-send-results.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_FUSION_ADDINPRODUCTS_H
#define HK_PASSES_FUSION_ADDINPRODUCTS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::hk {

/// Products that send also add what is added to their sums.
void addInProducts(ModuleOp module);

} // namespace mlir::hk

#endif // HK_PASSES_FUSION_ADDINPRODUCTS_H
