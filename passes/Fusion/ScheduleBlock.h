//===- ScheduleBlock.h - Order of a block with state -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On tensors, a read of the old state and the operator that overwrites it are
// not ordered by any operand. Here they are: readers first.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_FUSION_SCHEDULEBLOCK_H
#define HK_PASSES_FUSION_SCHEDULEBLOCK_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

#include <utility>

namespace mlir::hk {

/// (reader, writer) of the same tensor, where the writer writes it in place.
using StateOrder = SmallVector<std::pair<Operation *, Operation *>>;
StateOrder collectStateOrder(Block &block);

/// Sorts the block topologically, readers of a state before its writer, and
/// otherwise as close to its order as that allows. Where a reader needs the
/// writer's own result the order of operands wins (hk-check-state reports it).
void scheduleBlock(Block &block);

/// The in-place destinations of `op`: tensors whose memory it overwrites.
SmallVector<Value> writtenInPlace(Operation *op);

} // namespace mlir::hk

#endif // HK_PASSES_FUSION_SCHEDULEBLOCK_H
