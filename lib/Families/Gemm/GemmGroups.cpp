//===- GemmGroups.cpp - Grid and size of a product of groups --------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles that a launch counts, and what the cost model is told of groups.
//
//===----------------------------------------------------------------------===//

#include "GemmGroups.h"

#include "hk/Contract/GroupTiles.h"

using namespace mlir;
using namespace mlir::hk;

/// Stands for an unknown number of groups.
static constexpr int64_t kTypicalGroups = 32;

GroupGrid::GroupGrid(KernelOp kernel, GroupedMatmulOp op)
    : alongK(op.getAlongK()), blocks(op.isBlocks()),
      block(op.getBlock().value_or(1)), topK(op.getTopK()) {
  auto size = [&](Value value, int64_t dim) {
    unsigned argument = cast<BlockArgument>(value).getArgNumber();
    return cast<SymShapeAttr>(kernel.getShapes()[argument]).getSizes()[dim];
  };
  // Where an operand is read through a transpose its dims are others in memory.
  GemmPlan gemm = describeGemm(kernel);
  GemmOperand a = gemm.operand(GemmSide::Lhs), b = gemm.operand(GemmSide::Rhs);
  rows = size(a.data, a.memoryDim(op.getLhsDim(MatmulDim::M)));
  if (alongK) {
    places = size(a.data, a.memoryDim(op.getLhsDim(MatmulDim::K)));
    groups = op.getNumGroups();
    return;
  }
  places = op.getOrder() ? size(op.getOrder(), 0) : rows;
  groups = size(b.data, b.memoryDim(0));
}

int64_t GroupGrid::constantProducts() const {
  int64_t all = blocks ? rows : places;
  return all >= 0 && blocks ? all * topK : all;
}

int64_t GroupGrid::constantRowsOfGroup() const {
  if (alongK)
    return rows;
  int64_t all = constantProducts();
  if (all < 0 || groups <= 0)
    return -1;
  return llvm::divideCeil(all, groups);
}

int64_t GroupGrid::typicalGroups() const {
  return groups >= 0 ? std::max<int64_t>(groups, 1) : kTypicalGroups;
}

void GroupGrid::adjust(::hk::GemmSize &size) const {
  int64_t count = typicalGroups();
  if (alongK) {
    size.k = std::max<int64_t>(size.k / count, 1);
  } else if (blocks) {
    size.block = block;
  }
  size.batches = count;
}

void GroupGrid::adjustToFew(::hk::GemmSize &size, int64_t products) const {
  adjust(size);
  size.batches = std::clamp<int64_t>(products, 1, typicalGroups());
  size.fewGroups = true;
}

::hk::GemmSize GroupGrid::sizeOf(
    KernelOp kernel, GemmPlan gemm,
    llvm::function_ref<int64_t(int64_t name, int64_t typical)> sizeOf) const {
  int64_t count = std::max<int64_t>(sizeOf(groups, kTypicalGroups), 1);
  int64_t all = sizeOf(rows, /*typical=*/1);
  if (!alongK) {
    all = blocks ? all * topK : sizeOf(places, /*typical=*/1);
    // Few rows are of as many groups at most, whose matrices alone are read.
    count = std::clamp<int64_t>(all, 1, count);
  }
  int64_t each = alongK ? all : llvm::divideCeil(all, count);
  ::hk::GemmSize size = gemmSizeOf(kernel, gemm, each, sizeOf);
  adjust(size);
  size.batches = count;
  return size;
}

Value GroupGrid::products(LaunchBuilder &launch) const {
  return blocks ? launch.multiply(launch.size(rows), topK)
                : launch.size(places);
}

Value GroupGrid::areFew(LaunchBuilder &launch, int64_t most) const {
  return launch.isAtMost(products(launch), most);
}

Value GroupGrid::atMost(LaunchBuilder &launch, int64_t most) const {
  return alongK ? launch.isAtMost(launch.size(rows), most)
                : launch.isAtMost(products(launch),
                                  launch.multiply(launch.size(groups), most));
}

void GroupGrid::setGrid(LaunchBuilder &launch, const ::hk::Target &target,
                        int64_t bm, LaunchDims &grid) const {
  if (alongK) {
    grid.z = launch.constant(groups);
    return;
  }
  if (blocks) {
    Value tiles = launch.ceilDivide(launch.size(places), block);
    if (int64_t most =
            ::hk::blocksOfTile(::hk::takesRunsOfBlocks(target), bm, block);
        most > 1)
      tiles = launch.ceilDivide(tiles, most);
    // And the rows that no place names.
    Value unnamed = launch.ceilDivide(products(launch), bm);
    if (::hk::packsUnnamedRows(target))
      unnamed = launch.ceilDivide(unnamed, launch.atLeast(grid.x, 1));
    grid.y = launch.add(launch.multiply(tiles, ::hk::tilesOfBlock(bm, block)),
                        unnamed);
    return;
  }
  // A tile for each group and the places behind them, but none of no places.
  Value spare = launch.add(launch.size(groups), launch.constant(1));
  Value tiles = launch.add(launch.divide(launch.size(places), bm), spare);
  Value most = launch.multiply(launch.size(places),
                               launch.add(spare, launch.constant(1)));
  grid.y = launch.smaller(tiles, most);
}
