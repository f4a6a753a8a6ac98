//===- RowVariants.h - Tiles of row-wise kernels -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which threads take a row, and how much of it stays in registers. Ranked by
// the share of idle lanes and the waves needed to hide latency.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_ROWWISE_ROWVARIANTS_H
#define HK_FAMILIES_ROWWISE_ROWVARIANTS_H

#include "RowPlan.h"

namespace mlir::hk {

struct RankedTile {
  ::hk::RowTile tile;
  /// Used for at most this many rows; 0: any number.
  int64_t maxRows = 0;
  /// Modelled time of 4096 rows, microseconds.
  double microseconds = 0;
  Verdict verdict = Verdict::accept();
  int64_t ldsBytes = 0;
};

/// Registers that loads of later loops may take when they are issued in the
/// first one.
inline constexpr int64_t kMaxEarlyWords = 16;

/// Every candidate, and at `chosen` the indices of the tiles to use, in the
/// order in which their conditions are tried; none that `spills`. `threads`: of
/// a block, if that is given.
SmallVector<RankedTile>
rankTiles(const RowPlan &plan, const ::hk::Target &target,
          llvm::function_ref<bool(const ::hk::RowTile &)> spills,
          SmallVector<size_t> &chosen,
          std::optional<int64_t> threads = std::nullopt);

/// Tiles of a kernel whose rows are exchanged with other ranks, a block each.
SmallVector<RankedTile> exchangeTiles(const RowPlan &plan,
                                      const ::hk::Target &target);
/// Says up to which size such a kernel does it itself, and what that takes.
void reportKernelExchange(KernelOp kernel, AllReduceOp sum,
                          const ::hk::Target &target, DecisionLog &log);

/// Blocks that should fit a compute unit, for the register budget.
int64_t minBlocksOf(const RowPlan &plan, const ::hk::RowTile &tile,
                    const ::hk::Target &target);

} // namespace mlir::hk

#endif // HK_FAMILIES_ROWWISE_ROWVARIANTS_H
