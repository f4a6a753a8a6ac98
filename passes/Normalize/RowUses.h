//===- RowUses.h - Which operands have the rows of a result -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What hk-normalize must know of an operator to give its leading dims, the
// rows, another shape: where each operand has them, by its operand map, and
// which attributes count dims.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_NORMALIZE_ROWUSES_H
#define HK_PASSES_NORMALIZE_ROWUSES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mlir::hk {

struct RowUse {
  enum Kind {
    Rows,      // the result's rows, from dim `first` on
    Broadcast, // aligned at the last dim; a size of 1 repeats
    Whole,     // no rows: a weight, a table
  };
  Kind kind = Rows;
  int64_t first = 0;
};

/// How each operand of `op`, any operation, is read if the first `numRows` dims
/// of its results are rows. nullopt: they have to stay as they are.
std::optional<SmallVector<RowUse>> rowUsesOf(Operation *op, int64_t numRows);

/// Whether the attributes of `op` can say the same when the first `from` row
/// dims become `to`; `isOne` tells which of the longer side's dims are 1.
bool canMoveDims(Operation *op, int64_t from, int64_t to, ArrayRef<bool> isOne);

/// Makes them say so; `op` has its new operands and types already.
void moveDims(Operation *op, int64_t from, int64_t to, ArrayRef<bool> isOne);

} // namespace mlir::hk

#endif // HK_PASSES_NORMALIZE_ROWUSES_H
