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

#include "../Common/ArgumentWords.h"
#include "AttentionKernel.h"

using namespace mlir;
using namespace mlir::hk;
using ::hk::AttentionTile;

/// Elements of a box along a row: 128 bytes.
static constexpr int64_t kBoxColumns = 64;

bool mlir::hk::isWarpSpecialised(AttentionTileAttr tile) {
  AttentionTile t = {int32_t(tile.getBq()), int32_t(tile.getBk()),
                     int32_t(tile.getWaves()), int32_t(tile.getStages()),
                     int32_t(tile.getSplitKv())};
  return ::hk::attentionPath(::hk::Arch::Sm90a, t) ==
         ::hk::AttentionPath::WarpSpecialised;
}

Verdict AttentionKernel::getBulkVerdict(const ::hk::Target &target) const {
  if (target.arch != ::hk::Arch::Sm90a)
    return Verdict::refuse(Reason::UnsupportedShape,
                           "only sm_90a has a copy engine");
  if (::hk::info(shape.type).bits != 16 || ::hk::info(getOutType()).bits != 16)
    return Verdict::refuse(Reason::UnsupportedDType,
                           "queries and result must be bf16 or f16");
  if (op.getKeyForm() == KeyForm::Paged)
    return Verdict::refuse(Reason::UnsupportedShape,
                           "a box of keys would lie in several pages");
  if (op.getNumSlices() != 1)
    return Verdict::refuse(Reason::UnsupportedShape,
                           "slices of the keys are for few queries");
  DimName keys = getKeys();
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
static hk_tensor_map_abi mapOf(const AttentionKernel &kernel, int64_t operand,
                               bool sequences, int64_t boxRows) {
  ArgumentWords words(kernel.getKernel());
  unsigned number = unsigned(operand), dim = sequences ? 1 : 0;
  hk_tensor_map_abi map = {};
  map.pointer = number;
  map.dtype = uint8_t(kernel.getType());
  map.rows = words.dimNumber(number, dim);
  map.row_stride = words.strideNumber(number, dim);
  map.matrices = words.dimNumber(number, dim + 1);
  map.matrix_stride = words.strideNumber(number, dim + 1);
  map.columns = words.dimNumber(number, dim + 2);
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
mlir::hk::attentionTensorMaps(KernelOp kernel, AttentionTileAttr tile) {
  if (!isWarpSpecialised(tile))
    return {};
  FailureOr<AttentionKernel> attention = AttentionKernel::create(kernel);
  if (failed(attention))
    return {};
  const AttentionOperands &operands = attention->getOperands();
  bool queries = !attention->getOp().hasRaggedQueries();
  bool keys = attention->getOp().getKeyForm() == KeyForm::Dense;
  return {mapOf(*attention, operands.query, queries, tile.getBq()),
          mapOf(*attention, operands.key, keys, tile.getBk()),
          mapOf(*attention, operands.value, keys, tile.getBk())};
}
