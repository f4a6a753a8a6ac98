//===- AttentionBackwardBulk.cpp - Gradients by sm_90a's copy engine ------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which kernels the loop of runtime/kernels/attention/backward/sm90 can
// compute, and what the copy engine is told of their operands (HeadMaps.h).
//
//===----------------------------------------------------------------------===//

#include "../HeadMaps.h"
#include "AttentionBackwardPlan.h"
#include "hk/Contract/Capability.h"

using namespace mlir;
using namespace mlir::hk;

static ::hk::AttentionBackwardTile tileOf(AttentionBackwardTileAttr tile) {
  return {int32_t(tile.getRows()), int32_t(tile.getWalked()),
          int32_t(tile.getWaves()), int32_t(tile.getStages())};
}

bool mlir::hk::isWarpSpecialised(AttentionBackwardTileAttr tile) {
  return ::hk::isWarpSpecialised(tileOf(tile));
}
bool mlir::hk::sumsInOrder(AttentionBackwardTileAttr tile) {
  return ::hk::sumsInOrder(tileOf(tile));
}

Verdict
AttentionBackwardPlan::getBulkVerdict(const ::hk::Target &target) const {
  auto refuse = [](Reason reason, const Twine &what) {
    return Verdict::refuse(reason, what);
  };
  if (!::hk::hasCopyEngine(target))
    return refuse(Reason::UnsupportedShape, "only sm_90a has a copy engine");
  if (::hk::info(shape.type).bits != 16 || ::hk::info(getOutType()).bits != 16)
    return refuse(Reason::UnsupportedDType,
                  "operands and results must be bf16 or f16");
  if (op.getNormalizer() != Normalizer::softmax)
    return refuse(Reason::UnsupportedShape, "normalizer but softmax");
  if (hasRegions())
    return refuse(Reason::UnsupportedShape, "regions of scores or weights");
  ::hk::AttentionBackwardShape bulk = shape;
  bulk.bulk = true;
  if (llvm::none_of(::hk::kAttentionBackwardCandidates, [&](const auto &c) {
        return ::hk::isWarpSpecialised(c.tile) &&
               ::hk::usableForShape(c, target.arch, bulk);
      }))
    return refuse(Reason::UnsupportedShape,
                  "the registers do not hold gradients of " +
                      Twine(shape.headDim) + " and " + Twine(shape.valueDim) +
                      " columns");
  for (DimName rows : {getQueries(), getKeys()})
    if (!SymShapeAttr::isSymbol(rows) && rows == 0)
      return refuse(Reason::UnsupportedShape, "there are no queries or keys");
  return checkHeadRows(shape.align, shape.headDim, shape.valueDim,
                       ::hk::kBulkBackwardHead);
}

SmallVector<hk_tensor_map_abi>
mlir::hk::attentionBackwardTensorMaps(KernelOp kernel,
                                      AttentionBackwardTileAttr tile) {
  if (!isWarpSpecialised(tile))
    return {};
  FailureOr<AttentionBackwardPlan> plan = AttentionBackwardPlan::create(kernel);
  if (failed(plan))
    return {};
  const AttentionBackwardOperands &operands = plan->getOperands();
  auto map = [&](int64_t operand, int64_t boxRows) {
    return mapOfHeads(kernel, operand, plan->getShape().type,
                      !plan->getOp().isRagged(), boxRows,
                      [](int64_t dim) { return dim; });
  };
  int64_t queries = tile.getWalked(), keys = 2 * tile.getWalked();
  return {map(operands.query, queries), map(operands.gradient, queries),
          map(operands.key, keys), map(operands.value, keys)};
}
