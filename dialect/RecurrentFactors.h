//===- RecurrentFactors.h - How recurrent layers are cut --------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attaches ShardOpInterface to the convolution, the gated delta rule and the
// operators of its chunked form, when the dialect is loaded.
//
//===----------------------------------------------------------------------===//

#ifndef HK_DIALECT_RECURRENTFACTORS_H
#define HK_DIALECT_RECURRENTFACTORS_H

#include "mlir/IR/MLIRContext.h"

namespace mlir::hk {

/// Only while the dialect is being initialised, behind its operators.
void attachRecurrentFactors(MLIRContext &context);

} // namespace mlir::hk

#endif // HK_DIALECT_RECURRENTFACTORS_H
