//===- AttentionBulk.cpp - Attention by sm_90a's copy engine --------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which kernels the warp-specialised loop of runtime/kernels/attention/sm90 can
// compute, and what the copy engine is told of their queries, keys and values
// (HeadMaps.h).
//
//===----------------------------------------------------------------------===//

#include "../HeadMaps.h"
#include "AttentionPlan.h"
#include "hk/Contract/Capability.h"

using namespace mlir;
using namespace mlir::hk;

bool mlir::hk::isWarpSpecialised(AttentionTileAttr tile) {
  return ::hk::isWarpSpecialised(
      {int32_t(tile.getBq()), int32_t(tile.getBk()), int32_t(tile.getWaves()),
       int32_t(tile.getStages()), int32_t(tile.getSplitKv())});
}

/// What the loop computes of the forms that the operator has.
static Verdict checkLoop(AttentionOp op) {
  auto refuse = [](Reason reason, StringRef what) {
    return Verdict::refuse(reason, "the warp-specialised loop has no " + what);
  };
  auto element = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getElementType();
  };
  Type type = element(op.getQuery());
  if (element(op.getKey()) != type || element(op.getValue()) != type ||
      op.getProbabilityType() != type)
    return refuse(Reason::UnsupportedDType,
                  "queries, keys, values and probabilities of different types");
  if (op.getQScale() || op.getKScale() || op.getVScale())
    return refuse(Reason::UnsupportedDType, "scales of queries and keys");
  if (!op.getScore().empty() || !op.getWeight().empty())
    return refuse(Reason::NotAnEpilogue, "regions");
  if (op.getNormalizer() != Normalizer::softmax)
    return refuse(Reason::UnsupportedShape, "normalizer but softmax");
  if (op.getKeyForm() == KeyForm::Paged)
    return refuse(Reason::UnsupportedShape,
                  "pages: a box of keys would lie in several");
  if (op.getKeyLayout() != CacheLayout::token_major ||
      op.getValueLayout() != CacheLayout::token_major)
    return refuse(Reason::UnsupportedShape, "layouts but token_major");
  if (op.getNumSlices() != 1)
    return refuse(Reason::UnsupportedShape,
                  "slices of the keys: they are for few queries");
  return Verdict::accept();
}

Verdict AttentionPlan::getBulkVerdict(const ::hk::Target &target) const {
  if (!::hk::hasCopyEngine(target))
    return Verdict::refuse(Reason::UnsupportedShape,
                           "only sm_90a has a copy engine");
  if (segments.size() > 1)
    return Verdict::refuse(Reason::UnsupportedShape,
                           "the warp-specialised loop has no segments of the "
                           "keys");
  if (Verdict verdict = checkLoop(getOp()); !verdict.accepted())
    return verdict;
  if (::hk::info(shape.type).bits != 16 || ::hk::info(getOutType()).bits != 16)
    return Verdict::refuse(Reason::UnsupportedDType,
                           "queries and result must be bf16 or f16");
  DimName keys = getKeys(segments.front());
  if (!SymShapeAttr::isSymbol(keys) && keys == 0)
    return Verdict::refuse(Reason::UnsupportedShape, "there are no keys");
  return checkHeadRows(shape.align, shape.headDim, shape.valueDim,
                       /*most=*/256);
}

SmallVector<hk_tensor_map_abi>
mlir::hk::attentionTensorMaps(KernelOp kernel, AttentionTileAttr tile) {
  if (!isWarpSpecialised(tile))
    return {};
  FailureOr<AttentionPlan> attention = AttentionPlan::create(kernel);
  if (failed(attention))
    return {};
  const AttentionSegment &segment = attention->getSegments().front();
  bool queries = !attention->getOp().hasRaggedQueries();
  bool keys = attention->getOp().getKeyForm() == KeyForm::Dense;
  auto map = [&](int64_t operand, bool sequences, int64_t boxRows) {
    return mapOfHeads(
        kernel, operand, attention->getType(), sequences, boxRows,
        [&](int64_t dim) { return attention->memoryDim(operand, dim); });
  };
  return {map(attention->getOperands().query, queries, tile.getBq()),
          map(segment.key, keys, tile.getBk()),
          map(segment.value, keys, tile.getBk())};
}
