//===- PrepareBlock.h - Bring a block into the form that fuses -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After preparation every returned tensor that is not a state is the result of
// a base operator of its own, no view looks at a constant, no operator is dead,
// and every view has a layout in memory unless it is in `bound`.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_FUSION_PREPAREBLOCK_H
#define HK_PASSES_FUSION_PREPAREBLOCK_H

#include "hk/Analysis/DimSymbols.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::hk {

/// A base operator: has a meaning of its own and must end in a kernel.
bool isBaseOp(Operation *op);

/// Whether the function may keep `op` outside kernels: views, weights, sizes,
/// destinations.
bool mayStayOutside(Operation *op);

struct PreparedBlock {
  /// Views without a layout even over a dense source (an inner stride that is
  /// not 1): they must be in the region of their source and their users.
  llvm::DenseSet<Operation *> bound;
  /// The copies that views in `bound` look at. Only row-wise kernels take such
  /// views in, so no other kernel may take these.
  llvm::DenseSet<Operation *> sources;
};

PreparedBlock prepareBlock(Block &block);

/// Replaces tensor.dim of results by sizes of arguments.
void resolveDims(Block &block, DimSymbols &dims);

/// Erases what nothing uses and has no effect, from the end of the block.
void eraseUnused(Block &block);

} // namespace mlir::hk

#endif // HK_PASSES_FUSION_PREPAREBLOCK_H
