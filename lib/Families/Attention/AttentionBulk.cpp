//===- AttentionBulk.cpp - Attention by sm_90a's copy engine --------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which kernels the warp-specialised loop of runtime/kernels/attention/sm90 can
// compute, and what the copy engine is told of their queries, keys and values:
// rows are tokens, matrices heads, batches sequences. Ragged tensors are one
// batch; the kernel adds where a sequence begins.
//
//===----------------------------------------------------------------------===//

#include "AttentionPlan.h"
#include "Emission/ArgumentWords.h"
#include "hk/Contract/Capability.h"

using namespace mlir;
using namespace mlir::hk;

/// Elements of a box along a row: 128 bytes.
static constexpr int64_t kBoxColumns = 64;

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
  if (shape.align < 16 || shape.headDim % 8 != 0 || shape.valueDim % 8 != 0)
    return Verdict::refuse(Reason::Unaligned, "rows begin at multiples of " +
                                                  Twine(shape.align) +
                                                  " bytes, not of 16");
  constexpr int64_t most = 256;
  if (shape.largestDim() > most)
    return Verdict::refuse(Reason::UnsupportedShape,
                           "a head size of " + Twine(shape.largestDim()) +
                               ", at most " + Twine(most));
  return Verdict::accept();
}

/// Of [sequences,] rows, heads, columns.
static hk_tensor_map_abi mapOf(const AttentionPlan &kernel, int64_t operand,
                               bool sequences, int64_t boxRows) {
  ArgumentWords words(kernel.getKernel());
  unsigned number = unsigned(operand);
  int64_t first = sequences ? 1 : 0;
  auto size = [&](int64_t dim) {
    return words.dimNumber(number, kernel.memoryDim(operand, dim));
  };
  auto stride = [&](int64_t dim) {
    return words.strideNumber(number, kernel.memoryDim(operand, dim));
  };
  hk_tensor_map_abi map = {};
  map.pointer = number;
  map.dtype = uint8_t(kernel.getType());
  map.rows = size(first);
  map.row_stride = stride(first);
  map.matrices = size(first + 1);
  map.matrix_stride = stride(first + 1);
  map.columns = size(first + 2);
  map.batches = {1, HK_NO_WORD};
  map.batch_stride = map.row_stride;
  if (sequences) {
    map.batches = size(0);
    map.batch_stride = stride(0);
  }
  map.box_columns = uint32_t(kBoxColumns);
  map.box_rows = uint32_t(boxRows);
  return map;
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
  return {
      mapOf(*attention, attention->getOperands().query, queries, tile.getBq()),
      mapOf(*attention, segment.key, keys, tile.getBk()),
      mapOf(*attention, segment.value, keys, tile.getBk())};
}
