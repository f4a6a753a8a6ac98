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
#include "Emission/ArgumentWords.h"
#include "hk/Contract/Capability.h"

using namespace mlir;
using namespace mlir::hk;

bool mlir::hk::isWarpSpecialised(AttentionTileAttr tile) {
  return ::hk::isWarpSpecialised(podOf(tile));
}

/// The engine's boxes of keys in pages.
static Verdict checkPages(AttentionOp op) {
  // Rows of 128 bytes are permuted by eight.
  constexpr int64_t unit = 8;
  int64_t rows = cast<RankedTensorType>(op.getKey().getType())
                     .getDimSize(op.getKeyDims().rows.front());
  if (ShapedType::isDynamic(rows))
    return Verdict::refuse(Reason::SizeUnknown,
                           "boxes of keys are of a known number of rows, but "
                           "that of a page is dynamic");
  if (rows == 0 || rows % unit != 0)
    return Verdict::refuse(Reason::UnsupportedShape,
                           "boxes of keys begin at multiples of " +
                               Twine(unit) + " rows, but a page has " +
                               Twine(rows));
  return Verdict::accept();
}

Verdict mlir::hk::checkMappedLoop(AttentionOp op, StringRef loop) {
  auto refuse = [&](Reason reason, StringRef what) {
    return Verdict::refuse(reason, loop + " has no " + what);
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
  if (AttentionPlan::isChunked(op))
    return refuse(Reason::UnsupportedShape,
                  "layouts but token_major and head_major");
  return op.getKeyForm() == KeyForm::Paged ? checkPages(op) : Verdict::accept();
}

static Verdict checkLoop(AttentionOp op) {
  constexpr StringRef loop = "the warp-specialised loop";
  if (Verdict verdict = checkMappedLoop(op, loop); !verdict.accepted())
    return verdict;
  if (op.getNumSlices() != 1)
    return Verdict::refuse(Reason::UnsupportedShape,
                           loop + " has no slices of the keys: they are for "
                                  "few queries");
  return Verdict::accept();
}

Verdict mlir::hk::checkBulk(AttentionOp op, const ::hk::AttentionShape &shape,
                            ::hk::DType outType, const ::hk::Target &target) {
  if (!::hk::hasCopyEngine(target))
    return Verdict::refuse(Reason::UnsupportedShape,
                           "only sm_90a has a copy engine");
  if (Verdict verdict = checkLoop(op); !verdict.accepted())
    return verdict;
  if (::hk::info(shape.type).bits != 16 || ::hk::info(outType).bits != 16)
    return Verdict::refuse(Reason::UnsupportedDType,
                           "queries and result must be bf16 or f16");
  return checkHeadRows(shape.align, shape.headDim, shape.valueDim,
                       /*most=*/256);
}

DimName AttentionPlan::getMappedRows(const AttentionSegment &segment) const {
  return segment.getOp().getKeyForm() == KeyForm::Paged ? dim(segment.key, 0)
                                                        : getKeys(segment);
}

Verdict AttentionPlan::getBulkVerdict(const ::hk::Target &target) const {
  if (1 + 2 * segments.size() > HK_MAX_TENSOR_MAPS)
    return Verdict::refuse(Reason::GroupFull,
                           "a kernel has at most " + Twine(HK_MAX_TENSOR_MAPS) +
                               " tensor maps, too few for " +
                               Twine(segments.size()) + " segments");
  for (const AttentionSegment &segment : segments) {
    if (Verdict verdict =
            checkBulk(segment.getOp(), shape, getOutType(), target);
        !verdict.accepted())
      return verdict;
    DimName rows = getMappedRows(segment);
    if (!SymShapeAttr::isSymbol(rows) && rows == 0)
      return Verdict::refuse(Reason::UnsupportedShape, "there are no keys");
  }
  return Verdict::accept();
}

::hk::AttentionShape
AttentionPlan::getBulkShape(const ::hk::Target &target) const {
  ::hk::AttentionShape all = shape;
  all.bulk = getBulkVerdict(target).accepted();
  all.stream = getStreamVerdict(target).accepted();
  all.softcap = llvm::any_of(segments, [](const AttentionSegment &segment) {
    return segment.getOp().getSoftcap().has_value();
  });
  return all;
}

SmallVector<hk_tensor_map_abi>
mlir::hk::attentionTensorMaps(KernelOp kernel, AttentionTileAttr tile) {
  if (!isWarpSpecialised(tile) && !isLatent(tile))
    return {};
  FailureOr<AttentionPlan> attention = AttentionPlan::create(kernel);
  if (failed(attention))
    return {};
  if (isLatent(tile))
    return {latentTensorMap(*attention, tile)};
  SmallVector<hk_tensor_map_abi> maps;
  // `order`: the operand's dims that hold sequences or pages, rows and heads.
  auto add = [&](int64_t operand, bool batches, int64_t boxRows,
                 ArrayRef<int64_t> order) {
    maps.push_back(mapOfHeads(kernel, operand, attention->getType(), batches,
                              boxRows, [&](int64_t dim) {
                                return attention->memoryDim(operand,
                                                            order[dim]);
                              }));
  };
  bool queries = !attention->getOp().hasRaggedQueries();
  add(attention->getOperands().query, queries, tile.getBq() / tile.getHeads(),
      {0, 1, 2, 3});
  for (const AttentionSegment &segment : attention->getSegments()) {
    AttentionOp op = segment.getOp();
    bool batches = op.getKeyForm() != KeyForm::Ragged;
    int64_t boxRows = tile.getBk();
    if (op.getKeyForm() == KeyForm::Paged)
      boxRows = ::hk::attentionBoxRows(
          boxRows, cast<RankedTensorType>(op.getKey().getType())
                       .getDimSize(op.getKeyDims().rows.front()));
    auto addKeys = [&](int64_t operand, const CacheDims &dims) {
      if (batches)
        add(operand, true, boxRows, {0, dims.rows.front(), dims.head, 3});
      else
        add(operand, false, boxRows, {0, 1, 2});
    };
    addKeys(segment.key, op.getKeyDims());
    addKeys(segment.value, op.getValueDims());
  }
  return maps;
}

SmallVector<Reach> mlir::hk::attentionReaches(KernelOp kernel,
                                              AttentionTileAttr tile,
                                              const ::hk::Target &target) {
  FailureOr<AttentionPlan> attention = AttentionPlan::create(kernel);
  ::hk::AttentionTile pod = podOf(tile);
  // What kernels/attention/{matrix_copy,stream}.h read through views.
  ::hk::AttentionPath path = ::hk::attentionPath(target.arch, pod);
  bool views = path == ::hk::AttentionPath::Stream ||
               (path == ::hk::AttentionPath::Matrix &&
                ::hk::attentionWaveParts(target.arch, pod) == 1);
  if (failed(attention) || !::hk::readsAtOffsets(target) || !views)
    return {};
  ArgumentWords words(kernel);
  SmallVector<Reach> reaches;
  for (const AttentionSegment &segment : attention->getSegments()) {
    AttentionOp op = segment.getOp();
    auto add = [&](int64_t operand, Value value, const CacheDims &dims) {
      int64_t rows = attention->memoryDim(operand, dims.rows.front());
      reaches.push_back(
          {words.dimNumber(unsigned(operand), rows), tile.getBk(),
           words.strideNumber(unsigned(operand), rows),
           ::hk::info(*dtypeOf(tensorType(value).getElementType())).bits});
    };
    add(segment.key, op.getKey(), op.getKeyDims());
    add(segment.value, op.getValue(), op.getValueDims());
  }
  return reaches;
}
