//===- AttentionLatent.cpp - Attention to latent keys on sm_90a -----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which kernels the loop of runtime/kernels/attention/sm90/latent.h can
// compute, whose values are columns of its keys, and what the copy engine is
// told of those.
//
//===----------------------------------------------------------------------===//

#include "../HeadMaps.h"
#include "AttentionPlan.h"
#include "hk/Contract/Capability.h"

using namespace mlir;
using namespace mlir::hk;

bool mlir::hk::isLatent(AttentionTileAttr tile) {
  return ::hk::isLatent(podOf(tile));
}

Verdict mlir::hk::checkLatent(AttentionOp op, const ::hk::AttentionShape &shape,
                              ::hk::DType outType, const ::hk::Target &target) {
  if (!::hk::hasCopyEngine(target))
    return Verdict::refuse(Reason::UnsupportedShape,
                           "only sm_90a has a copy engine");
  if (!::hk::attentionSharesValues(shape))
    return Verdict::refuse(Reason::UnsupportedShape,
                           "values are no columns of large keys");
  if (Verdict verdict = checkMappedLoop(op, "the latent loop");
      !verdict.accepted())
    return verdict;
  if (::hk::info(shape.type).bits != 16 ||
      (::hk::info(outType).bits != 16 && outType != ::hk::DType::F32))
    return Verdict::refuse(Reason::UnsupportedDType,
                           "queries must be bf16 or f16, results that or f32");
  return checkHeadRows(shape.align, shape.headDim, shape.valueDim,
                       /*most=*/576);
}

Verdict AttentionPlan::getLatentVerdict(const ::hk::Target &target) const {
  if (segments.size() > 1)
    return Verdict::refuse(Reason::UnsupportedShape,
                           "the latent loop has no segments of the keys");
  DimName rows = getMappedRows(segments.front());
  if (!SymShapeAttr::isSymbol(rows) && rows == 0)
    return Verdict::refuse(Reason::UnsupportedShape, "there are no keys");
  return checkLatent(getOp(), shape, getOutType(), target);
}

hk_tensor_map_abi mlir::hk::latentTensorMap(const AttentionPlan &kernel,
                                            AttentionTileAttr tile) {
  AttentionOp op = kernel.getOp();
  int64_t key = kernel.getSegments().front().key;
  bool batches = op.getKeyForm() != KeyForm::Ragged;
  CacheDims dims = op.getKeyDims();
  int64_t boxRows = tile.getBk();
  if (op.getKeyForm() == KeyForm::Paged)
    boxRows = ::hk::attentionBoxRows(
        boxRows, cast<RankedTensorType>(op.getKey().getType())
                     .getDimSize(dims.rows.front()));
  SmallVector<int64_t> order = {0, 1, 2};
  if (batches)
    order = {0, dims.rows.front(), dims.head, 3};
  return mapOfHeads(
      kernel.getKernel(), key, kernel.getType(), batches, boxRows,
      [&](int64_t dim) { return kernel.memoryDim(key, order[dim]); });
}
