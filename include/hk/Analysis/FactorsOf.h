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

/// Whether `size` is the tensor.dim that a slice has for all of a dim of its
/// source (useSizesOfSources).
bool isSizeOfSource(Operation *slice, Value size);

/// Slices that have all of a dynamic dim of their source, which the sizes of
/// `block` prove, get a tensor.dim of the source as size: a factor that goes
/// through the slice, and the right number where a rank has other rows.
void useSizesOfSources(Block &block);

} // namespace mlir::hk

#endif // HK_ANALYSIS_FACTORSOF_H
