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

#include "hk/Contract/Grid.h"

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
  GemmKernel gemm = describeGemm(kernel);
  Value a = gemm.operand(GemmSide::Lhs).data;
  rows = size(a, op.getLhsDim(MatmulDim::M));
  if (alongK) {
    places = size(a, op.getLhsDim(MatmulDim::K));
    groups = op.getNumGroups();
    return;
  }
  places = op.getOrder() ? size(op.getOrder(), 0) : rows;
  groups = size(gemm.operand(GemmSide::Rhs).data, 0);
}

int64_t GroupGrid::constantRowsOfGroup() const {
  if (alongK)
    return rows;
  int64_t all = blocks ? rows : places;
  if (all < 0 || groups <= 0)
    return -1;
  return llvm::divideCeil(blocks ? all * topK : all, groups);
}

void GroupGrid::adjust(::hk::GemmSize &size) const {
  int64_t count = groups >= 0 ? std::max<int64_t>(groups, 1) : kTypicalGroups;
  if (alongK) {
    size.k = std::max<int64_t>(size.k / count, 1);
  } else if (blocks) {
    count *= llvm::divideCeil(size.m, block);
    size.m = std::min(size.m, block);
  }
  size.batches = count;
}

Value GroupGrid::products(OpBuilder &b, Location loc, ValueOf valueOf) const {
  if (!blocks)
    return valueOf(places);
  return arith::MulIOp::create(b, loc, valueOf(rows),
                               arith::ConstantIndexOp::create(b, loc, topK));
}

Value GroupGrid::atMost(OpBuilder &b, Location loc, ValueOf valueOf,
                        int64_t most) const {
  Value each = arith::ConstantIndexOp::create(b, loc, most);
  if (alongK)
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule,
                                 valueOf(rows), each);
  Value all = arith::MulIOp::create(b, loc, valueOf(groups), each);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule,
                               products(b, loc, valueOf), all);
}

void GroupGrid::setGrid(OpBuilder &b, Location loc, ValueOf valueOf, int64_t bm,
                        LaunchDims &launch) const {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  if (alongK) {
    launch.z = constant(groups);
    return;
  }
  if (blocks) {
    Value parts =
        arith::CeilDivUIOp::create(b, loc, valueOf(places), constant(block));
    launch.y = arith::MulIOp::create(b, loc, parts,
                                     constant(llvm::divideCeil(block, bm)));
    // Rows that no place names.
    Value unnamed = arith::CeilDivUIOp::create(
        b, loc, products(b, loc, valueOf), constant(bm));
    launch.y = arith::AddIOp::create(b, loc, launch.y, unnamed);
    return;
  }
  // A tile for each group and the places behind them, but none of no places.
  Value spare = arith::AddIOp::create(b, loc, valueOf(groups), constant(1));
  Value tiles = arith::DivUIOp::create(b, loc, valueOf(places), constant(bm));
  tiles = arith::AddIOp::create(b, loc, tiles, spare);
  Value most = arith::AddIOp::create(b, loc, spare, constant(1));
  most = arith::MulIOp::create(b, loc, valueOf(places), most);
  launch.y = arith::MinUIOp::create(b, loc, tiles, most);
}
