//===- MqaLogitsVariants.cpp - The variant of an indexer's logits
//------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One variant: blocks of some queries of a sequence and a tile of keys.
//
//===----------------------------------------------------------------------===//

#include "../Launch.h"
#include "../TileReport.h"
#include "MqaLogits.h"

using namespace mlir;
using namespace mlir::hk;
using ::hk::AttentionTile;

Verdict mlir::hk::checkMqaLogits(MqaLogitsOp op) {
  ArrayRef<int64_t> heads = tensorType(op.getQuery()).getShape().take_back(2);
  if (heads[0] == 0 || heads[1] == 0)
    return Verdict::refuse(Reason::UnsupportedShape,
                           "heads and head size must not be 0, but got " +
                               Twine(heads[0]) + " heads of " +
                               Twine(heads[1]));
  return Verdict::accept();
}

bool mlir::hk::isMqaLogits(KernelOp kernel) {
  return isa<MqaLogitsOp>(kernel.getSpecBlock().front());
}

FailureOr<MqaLogitsKernel> MqaLogitsKernel::create(KernelOp kernel) {
  Block &body = kernel.getSpecBlock();
  auto op = cast<MqaLogitsOp>(body.front());
  auto yield = dyn_cast<YieldOp>(body.back());
  bool mapped = yield && op->getNextNode() == yield &&
                llvm::equal(yield.getValues(), op->getResults());
  auto number = [&](Value value) -> int64_t {
    auto argument = dyn_cast_or_null<BlockArgument>(value);
    mapped &= !value || argument;
    return argument ? int64_t(argument.getArgNumber()) : -1;
  };
  MqaLogitsKernel self{op,
                       number(op.getQuery()),
                       number(op.getKey()),
                       number(op.getWeights()),
                       number(op.getKeyScales()),
                       number(op.getStarts()),
                       number(op.getEnds()),
                       number(op.getKvLens()),
                       number(op.getBlockTable()),
                       int64_t(kernel.getNumInputs()),
                       {},
                       0};
  if (!mapped)
    return op.emitOpError("in kernel @")
           << kernel.getSymName()
           << ": expected its operands to be the kernel's arguments and its "
              "result to be what the kernel yields";
  RankedTensorType query = tensorType(op.getQuery());
  self.shape = {*dtypeOf(query.getElementType()), query.getShape().back(),
                query.getShape().drop_back().back()};
  self.align =
      std::min(kernel.getAligns()[self.query], kernel.getAligns()[self.key]);
  return self;
}

/// Grid: (groups of queries of every sequence, tiles of keys).
static LaunchDims gridOf(MqaLogitsOp op, const AttentionTile &tile,
                         LaunchBuilder &launch) {
  Value keys = launch.size(op.getKey(), 0);
  Value groups = launch.ceilDivide(
      launch.size(op.getQuery(), op.isPaged() ? 1 : 0), tile.bq);
  if (op.isPaged()) {
    groups = launch.multiply(launch.size(op.getQuery(), 0), groups);
    keys = launch.multiply(launch.size(op.getBlockTable(), 1),
                           launch.size(op.getKey(), 1));
  }
  return launch.grid(groups, launch.ceilDivide(keys, tile.bk));
}

LogicalResult mlir::hk::addMqaLogitsVariants(KernelOp op,
                                             const ::hk::Target &target,
                                             DecisionLog &log) {
  FailureOr<MqaLogitsKernel> kernel = MqaLogitsKernel::create(op);
  if (failed(kernel))
    return failure();
  AttentionTile tile = ::hk::mqaLogitsTile(target, kernel->shape);
  int64_t lds = ::hk::mqaLogitsLds(target, tile, kernel->shape);
  std::string text = (Twine(tile.bq) + " queries x " + Twine(tile.bk) +
                      " keys, waves " + Twine(tile.waves))
                         .str();
  Verdict verdict = checkTile(target, lds, /*spills=*/false);
  TileReport report(op, log);
  report.add(text, verdict, lds);
  if (!verdict.accepted())
    return refuseSmallestTile(kernel->op, op, target, {text, lds}, std::nullopt)
           << "; fewer heads or a smaller head size fit";
  report.chooseLast();
  auto attr = AttentionTileAttr::get(op.getContext(), tile.bq, tile.bk,
                                     tile.waves, tile.stages, tile.splitKv,
                                     tile.blocks, tile.heads, tile.cluster);
  addVariant(
      op, DimSymbols::ofKernel(op), attr, int64_t(tile.waves) * target.waveSize,
      lds,
      [&](LaunchBuilder &launch) { return gridOf(kernel->op, tile, launch); });
  return success();
}
