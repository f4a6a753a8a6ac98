//===- Annotations.cpp - What a module says of its sharding ---------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's shard dialect spells it: axis i of a shard.grid is axis i of the mesh.
//
//===----------------------------------------------------------------------===//

#include "Annotations.h"

#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::shards;

static FailureOr<unsigned> axisNumber(ModuleOp module, StringRef name) {
  std::optional<::hk::Mesh> mesh = meshOf(module);
  int axis = mesh ? mesh->find(name.str()) : -1;
  if (axis < 0)
    return failure();
  return unsigned(axis);
}

std::optional<Sharding> shards::annotatedSharding(Operation *op,
                                                  const Axis &axis) {
  auto shard = dyn_cast<shard::ShardOp>(op);
  auto sharding = shard ? shard.getSharding().getDefiningOp<shard::ShardingOp>()
                        : shard::ShardingOp();
  FailureOr<unsigned> number =
      sharding ? axisNumber(op->getParentOfType<ModuleOp>(), axis.name)
               : FailureOr<unsigned>(failure());
  if (failed(number))
    return std::nullopt;
  for (auto [dim, axes] : llvm::enumerate(sharding.getSplitAxes()))
    if (llvm::is_contained(axes.asArrayRef(), int16_t(*number)))
      return Sharding::split(
          dim, Segment{tensorType(shard.getSrc()).getDimSize(dim), axis.ranks});
  return Sharding::replicated();
}

static LogicalResult checkSharding(shard::ShardingOp op) {
  if (!op.getStaticHaloSizes().empty() ||
      !op.getStaticShardedDimsOffsets().empty())
    return op.emitError("expected a sharding without halos and offsets: hk "
                        "cuts in equal parts");
  return success();
}

static LogicalResult checkShard(shard::ShardOp op) {
  auto sharding = op.getSharding().getDefiningOp<shard::ShardingOp>();
  if (!sharding)
    return op.emitError("expected its sharding to be a shard.sharding");
  auto type = dyn_cast<RankedTensorType>(op.getSrc().getType());
  llvm::SmallDenseSet<int16_t> seen;
  for (auto [dim, axes] : llvm::enumerate(sharding.getSplitAxes())) {
    if (!axes.empty() && (!type || int64_t(dim) >= type.getRank()))
      return op.emitError("expected a sharding of a tensor of rank ")
             << (type ? type.getRank() : 0) << ", but it cuts dim " << dim;
    for (int16_t axis : axes.asArrayRef())
      if (!seen.insert(axis).second)
        return op.emitError("expected every axis once, but axis ")
               << axis << " cuts two dims";
  }
  return success();
}

LogicalResult shards::checkAnnotations(ModuleOp module,
                                       const ::hk::Mesh &mesh) {
  for (auto grid : module.getOps<shard::GridOp>()) {
    bool fits = grid.getShape().size() == mesh.axes().size();
    for (auto [size, axis] : llvm::zip(grid.getShape(), mesh.axes()))
      fits &= ShapedType::isDynamic(size) || size == axis.size;
    if (!fits) {
      std::string text;
      for (const ::hk::MeshAxis &axis : mesh.axes())
        text += (text.empty() ? "" : ",") + axis.name + "=" +
                std::to_string(axis.size);
      return grid.emitError("expected a grid with the axes of the mesh '")
             << text << "', in its order, sizes equal or '?'";
    }
  }
  WalkResult walked = module.walk([](Operation *op) {
    LogicalResult fine = success();
    if (auto sharding = dyn_cast<shard::ShardingOp>(op))
      fine = checkSharding(sharding);
    else if (auto shard = dyn_cast<shard::ShardOp>(op))
      fine = checkShard(shard);
    else if (isa<shard::ShardDialect>(op->getDialect()) &&
             !isa<shard::GridOp>(op))
      fine = op->emitError("expected of the shard dialect only shard.grid, "
                           "shard.sharding and shard.shard");
    return failed(fine) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

void shards::eraseAnnotations(ModuleOp module) {
  SmallVector<Operation *> unused;
  module.walk([&](Operation *op) {
    if (auto shard = dyn_cast<shard::ShardOp>(op))
      shard.getResult().replaceAllUsesWith(shard.getSrc());
    if (isa<shard::ShardOp, shard::ShardingOp, shard::GridOp>(op))
      unused.push_back(op);
  });
  for (Operation *op : llvm::reverse(unused))
    op->erase();
}
