//===- Parameters.h - Operands that have no rows -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights, tables of angles and everything else that is read at the same place
// for every row. What is computed element by element from such operands alone
// (the exponential of a weight, the cosines of a table of frequencies) belongs
// to no row of a kernel either: it can be computed wherever it is read.
//
//===----------------------------------------------------------------------===//

#ifndef HK_ANALYSIS_PARAMETERS_H
#define HK_ANALYSIS_PARAMETERS_H

#include "mlir/IR/Operation.h"

namespace mlir::hk {

/// Whether the operator reads `use` independently of its row: a weight, a table
/// of angles, or an operand that is repeated along the first dim.
bool readsAsParameter(OpOperand &use);

/// Whether element i of the result is a function of elements i of the operands
/// (which may broadcast), so that any part can be computed anywhere.
bool isElementwise(Operation *op);

/// Whether `op` is elementwise and everything that uses it, through a few more
/// such operators, reads it as a parameter.
bool isOnlyParameter(Operation *op, int depth = 6);

} // namespace mlir::hk

#endif // HK_ANALYSIS_PARAMETERS_H
