//===- LoopMaps.h - Which elements an operator reads ------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What follows from the operand maps that operators state
// (dialect/HKInterfaces.td) and from those of views: is an operand read in its
// own row, is it a parameter, is the operator elementwise. All families ask
// here, so that they agree.
//
// A parameter is a weight, a table of angles, or anything else that is read at
// the same place for every row. What is computed element by element from such
// operands alone (the exponential of a weight, the cosines of a table of
// frequencies) belongs to no row of a kernel either: it can be computed
// wherever it is read.
//
//===----------------------------------------------------------------------===//

#ifndef HK_ANALYSIS_LOOPMAPS_H
#define HK_ANALYSIS_LOOPMAPS_H

#include "hk/Dialect/HK.h"

namespace mlir::hk {

/// The operand maps of a row-wise operator or of a view (whose dynamic offsets
/// and sizes are symbols); empty for others.
SmallVector<AffineMap> operandMapsOf(Operation *op);

/// The reductions of its row that `op` needs; none if it is not row-wise.
SmallVector<RowReduction> rowReductionsOf(Operation *op);
/// Whether the last dim is reduced in groups; see getReductionGroup.
int64_t reductionGroupOf(Operation *op);
bool isSelection(Operation *op);
/// Whether its elements are those of its operands; also of views.
bool isMovement(Operation *op);

/// Whether element i of the one result is a function of elements i of the
/// operands, which may broadcast or have one element per group.
bool isElementwise(Operation *op);
/// Whether it is elementwise, perhaps of pairs of columns (HK_PairsColumns): a
/// product's epilogue computes it where the product is.
bool isElementwiseOrPairs(Operation *op);
/// Whether it is elementwise and computes, so that any part of its result can
/// be computed anywhere. A copy is memory of its own.
bool isRecomputable(Operation *op);

/// Whether the vector unit bounds and `op` is a transpose whose source has
/// short rows that become columns: whole vectors are then loaded, and each
/// element is stored beside that of the next row, which a neighbouring lane
/// has. Of long rows neighbours would store far apart.
bool storesShortRows(Operation *op);

/// Whether element i of the result is made of element i of `operand`, and of
/// nothing else of it.
bool readsOwnElement(OpOperand &operand);
/// Whether it is a table of which only the op knows where it is read.
bool isGathered(OpOperand &operand);
/// Whether every row of the result, a fixed index of the first `numRows` dims,
/// is made of the same row of `operand`, given that their sizes are the same.
bool staysInRow(OpOperand &operand, int64_t numRows);
/// Whether `operand` is read independently of the row: a weight, a table of
/// angles, or an operand that is repeated along the first dim.
bool readsAsParameter(OpOperand &operand);
/// Whether vectors of the result's last dim run along the last dim of
/// `operand`, perhaps only for a part of it.
bool runsAlongLastDim(OpOperand &operand);

/// Whether `op` can be recomputed and everything that uses it, through a few
/// more such operators, reads it as a parameter.
bool isOnlyParameter(Operation *op, int depth = 6);

} // namespace mlir::hk

#endif // HK_ANALYSIS_LOOPMAPS_H
