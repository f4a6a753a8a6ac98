//===- GemmGroups.h - Grid and size of a product of groups -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lengths of groups are data: a launch knows how many rows there are in
// all. Its grid has as many tiles as they may need, and its tile is that of the
// mean group: with few rows to a group (decode) matrices are streamed once,
// with many (prefill) tiles are as large as those of any product.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_GEMM_GEMMGROUPS_H
#define HK_FAMILIES_GEMM_GEMMGROUPS_H

#include "../Launch.h"
#include "GemmPlan.h"

namespace mlir::hk {

class GroupGrid {
public:
  GroupGrid(KernelOp kernel, GroupedMatmulOp op);

  /// Whether rows of A are in groups, and names of a tile's rows with them.
  bool hasRows() const { return !alongK; }
  /// Rows of the mean group (with groups of k: of a result), or dynamic.
  int64_t constantRowsOfGroup() const;
  /// Rows that are multiplied, at most, or dynamic.
  int64_t constantProducts() const;
  /// Groups, or what stands for an unknown number of them.
  int64_t typicalGroups() const;
  /// The sizes of one product for each group that a launch has rows for, with
  /// the rows of the mean one; `sizeOf` knows sizes and dim symbols.
  ::hk::GemmSize sizeOf(
      KernelOp kernel, GemmPlan gemm,
      llvm::function_ref<int64_t(int64_t name, int64_t typical)> sizeOf) const;
  /// Makes the size of one product, m rows, that of one of each group.
  void adjust(::hk::GemmSize &size) const;
  /// The size of one product, m rows, where few rows are of as many groups.
  void adjustToFew(::hk::GemmSize &size, int64_t products) const;
  /// Whether at most `most` rows are multiplied, an i1.
  Value areFew(LaunchBuilder &launch, int64_t most) const;
  /// Whether the mean group has at most `most` rows, an i1.
  Value atMost(LaunchBuilder &launch, int64_t most) const;
  /// Sets y and z of a launch whose tiles have `bm` rows
  /// (runtime/kernels/gemm/groups.h).
  void setGrid(LaunchBuilder &launch, const ::hk::Target &target, int64_t bm,
               LaunchDims &grid) const;

private:
  /// Rows that are multiplied, at most.
  Value products(LaunchBuilder &launch) const;

  bool alongK, blocks;
  int64_t block, topK;
  /// Sizes or dim symbols: rows of A (along k: of a result), places, groups.
  int64_t rows, places, groups;
};

} // namespace mlir::hk

#endif // HK_FAMILIES_GEMM_GEMMGROUPS_H
