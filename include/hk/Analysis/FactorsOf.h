//===- FactorsOf.h - How an operator is cut between ranks -------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The factors of every operator: those that it states, else those that follow
// from its operand maps, and those of upstream's views.
//
//===----------------------------------------------------------------------===//

#ifndef HK_ANALYSIS_FACTORSOF_H
#define HK_ANALYSIS_FACTORSOF_H

#include "hk/Dialect/ShardFactors.h"

namespace mlir::hk {

/// None for operators that say nothing: they need their operands whole.
ShardFactors factorsOf(Operation *op);

/// Of which operands its results are linear functions; of views their source.
Linearity linearityOf(Operation *op);

} // namespace mlir::hk

#endif // HK_ANALYSIS_FACTORSOF_H
