//===- AttentionBackwardBulk.cpp - Gradients by sm_90a's copy engine ------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which kernels the loop of runtime/kernels/attention/backward/sm90 can
// compute, and what the copy engine is told of their operands: rows are tokens,
// matrices heads, batches sequences. Ragged tensors are one batch; the kernel
// adds where a sequence begins.
//
//===----------------------------------------------------------------------===//

#include "AttentionBackwardPlan.h"
#include "Emission/ArgumentWords.h"
#include "hk/Contract/Capability.h"

using namespace mlir;
using namespace mlir::hk;

/// Elements of a box along a row: 128 bytes.
static constexpr int64_t kBoxColumns = 64;

static ::hk::AttentionBackwardTile tileOf(AttentionBackwardTileAttr tile) {
  return {int32_t(tile.getRows()), int32_t(tile.getWalked()),
          int32_t(tile.getWaves()), int32_t(tile.getStages())};
}

bool mlir::hk::isWarpSpecialised(AttentionBackwardTileAttr tile) {
  return ::hk::isWarpSpecialised(tileOf(tile));
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
  if (op.getSoftcap())
    return refuse(Reason::UnsupportedShape,
                  "the warp-specialised loop has no soft cap");
  for (DimName rows : {getQueries(), getKeys()})
    if (!SymShapeAttr::isSymbol(rows) && rows == 0)
      return refuse(Reason::UnsupportedShape, "there are no queries or keys");
  if (shape.align < 16 || shape.headDim % 8 != 0 || shape.valueDim % 8 != 0)
    return refuse(Reason::Unaligned, "rows begin at multiples of " +
                                         Twine(shape.align) +
                                         " bytes, not of 16");
  int64_t largest = std::max(shape.headDim, shape.valueDim);
  if (largest > ::hk::kBulkBackwardHead)
    return refuse(Reason::UnsupportedShape, "a head size of " + Twine(largest) +
                                                ", at most " +
                                                Twine(::hk::kBulkBackwardHead));
  return Verdict::accept();
}

/// Of [sequences,] rows, heads, columns.
static hk_tensor_map_abi mapOf(const AttentionBackwardPlan &kernel,
                               int64_t operand, int64_t boxRows) {
  ArgumentWords words(kernel.getKernel());
  unsigned number = unsigned(operand);
  bool sequences = !kernel.getOp().isRagged();
  int64_t first = sequences ? 1 : 0;
  hk_tensor_map_abi map = {};
  map.pointer = number;
  map.dtype = uint8_t(kernel.getShape().type);
  map.rows = words.dimNumber(number, first);
  map.row_stride = words.strideNumber(number, first);
  map.matrices = words.dimNumber(number, first + 1);
  map.matrix_stride = words.strideNumber(number, first + 1);
  map.columns = words.dimNumber(number, first + 2);
  map.batches = {1, HK_NO_WORD};
  map.batch_stride = map.row_stride;
  if (sequences) {
    map.batches = words.dimNumber(number, 0);
    map.batch_stride = words.strideNumber(number, 0);
  }
  map.box_columns = uint32_t(kBoxColumns);
  map.box_rows = uint32_t(boxRows);
  return map;
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
  int64_t queries = tile.getWalked(), keys = 2 * tile.getWalked();
  return {mapOf(*plan, operands.query, queries),
          mapOf(*plan, operands.gradient, queries),
          mapOf(*plan, operands.key, keys), mapOf(*plan, operands.value, keys)};
}
