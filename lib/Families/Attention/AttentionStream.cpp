//===- AttentionStream.cpp - Keys straight into registers on AMD ----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which kernels the loop of runtime/kernels/attention/stream.h can compute,
// whose few rows walk over keys and values that never lie in LDS.
//
//===----------------------------------------------------------------------===//

#include "AttentionPlan.h"

#include "hk/Contract/AttentionTiles.h"

using namespace mlir;
using namespace mlir::hk;

bool mlir::hk::isStream(const ::hk::Target &target,
                        const ::hk::AttentionTile &tile) {
  return ::hk::attentionPath(target.arch, tile) == ::hk::AttentionPath::Stream;
}

void mlir::hk::dropStream(::hk::AttentionTileList &tiles,
                          const ::hk::Target &target, int64_t rows) {
  const ::hk::AttentionTile &last = tiles.tile[tiles.count - 1];
  if (tiles.count > 1 && rows > last.bq && isStream(target, last))
    --tiles.count;
}

/// Groups of 16 keys lie in one page, and steps of 32 in whole ones or in one.
static bool holdsGroups(int64_t pageRows) {
  return pageRows == 16 || (pageRows > 0 && pageRows % 32 == 0);
}

Verdict mlir::hk::checkStream(AttentionOp op, const ::hk::AttentionShape &shape,
                              const ::hk::Target &target) {
  if (!::hk::hasAttentionStream(target.arch))
    return Verdict::refuse(Reason::UnsupportedShape,
                           "only gfx942 and gfx950 have such a loop");
  if (::hk::info(shape.type).bits != 16)
    return Verdict::refuse(Reason::UnsupportedDType,
                           "what is multiplied must be bf16 or f16");
  if (!::hk::attentionFitsFragments(target.arch, shape.type, shape.headDim,
                                    shape.valueDim, shape.align))
    return Verdict::refuse(Reason::UnsupportedShape,
                           "rows of heads are no multiples of 16 bytes");
  if (shape.largestDim() > ::hk::kStreamDim)
    return Verdict::refuse(Reason::UnsupportedShape,
                           "registers hold heads of at most " +
                               Twine(::hk::kStreamDim) + " columns, not " +
                               Twine(shape.largestDim()));
  if (op.getKeyForm() == KeyForm::Paged) {
    int64_t rows =
        tensorType(op.getKey()).getDimSize(op.getKeyDims().rows.front());
    if (ShapedType::isDynamic(rows))
      return Verdict::refuse(Reason::UnsupportedShape,
                             "only a call knows the rows of a page");
    if (!holdsGroups(rows))
      return Verdict::refuse(Reason::UnsupportedShape,
                             "pages must have 16, 32, 64, 96, ... rows, not " +
                                 Twine(rows));
  }
  return Verdict::accept();
}

Verdict AttentionPlan::getStreamVerdict(const ::hk::Target &target) const {
  for (const AttentionSegment &segment : segments) {
    AttentionOp op = segment.getOp();
    if (Verdict verdict = checkStream(op, shape, target); !verdict.accepted())
      return verdict;
    auto isMultiplied = [&](Value value) {
      return *dtypeOf(tensorType(value).getElementType()) == shape.type;
    };
    if (segments.size() > 1 &&
        (!isMultiplied(op.getKey()) || !isMultiplied(op.getValue())))
      return Verdict::refuse(
          Reason::UnsupportedDType,
          "keys and values of segments must have the type that is multiplied");
  }
  return Verdict::accept();
}
