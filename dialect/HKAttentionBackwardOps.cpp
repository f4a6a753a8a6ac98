//===- HKAttentionBackwardOps.cpp - Gradients of attention ----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which shapes of operands and gradients go together.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"

using namespace mlir;
using namespace mlir::hk;

bool AttentionBackwardOp::isRagged() {
  return tensorType(getQuery()).getRank() == 3;
}

/// Ranks and element types, and that heads and head sizes are known.
static LogicalResult verifyOperands(AttentionBackwardOp op,
                                    ArrayRef<Named> operands) {
  Named query = operands.front();
  if (query.rank() != 3 && query.rank() != 4)
    return op.emitOpError("expected rank of query to be 3 or 4, but got ")
           << query.rank();
  int64_t rank = query.rank();
  for (Named v : operands)
    if (failed(expectRank(op, v, rank)) ||
        failed(expectElement(op, v, query.element())) ||
        failed(expectStatic(op, v, rank - 1)) ||
        failed(expectStatic(op, v, rank - 2)))
      return failure();
  return success();
}

/// Sizes of key, value, gradient, lse and, by that, delta.
static LogicalResult verifyShapes(AttentionBackwardOp op, Named query,
                                  Named key, Named value, Named gradient) {
  int64_t last = query.rank() - 1;
  int64_t heads = query.size(last - 1), kvHeads = key.size(last - 1);
  if (kvHeads == 0 || heads % kvHeads != 0)
    return op.emitOpError("expected size of dim ")
           << last - 1 << " of query to be a multiple of " << kvHeads
           << ", the heads of key, but got " << heads;
  if (failed(expectSize(op, key, last, query.size(last))))
    return failure();
  if (!op.isRagged() && failed(expectSize(op, key, 0, query.size(0))))
    return failure();
  SmallVector<int64_t> valueShape(key.type().getShape());
  valueShape.back() = value.size(last);
  SmallVector<int64_t> gradientShape(query.type().getShape());
  gradientShape.back() = value.size(last);
  if (failed(expectShape(op, value, valueShape)) ||
      failed(expectShape(op, gradient, gradientShape)))
    return failure();
  return expectShape(op, {"lse", op.getLse()},
                     query.type().getShape().drop_back());
}

/// Both offsets or none, and none of dense operands.
static LogicalResult verifyOffsets(AttentionBackwardOp op) {
  Value queries = op.getQOffsets(), keys = op.getKvOffsets();
  if (static_cast<bool>(queries) != static_cast<bool>(keys))
    return op.emitOpError("expected kv_offsets to be ")
           << (queries ? "present" : "absent")
           << (queries ? " with q_offsets, but got none"
                       : " without q_offsets, but got one");
  if (!queries)
    return success();
  if (!op.isRagged())
    return op.emitOpError("expected q_offsets to be absent with queries of "
                          "rank 4, but got one");
  Named bounds{"q_offsets", queries};
  if (failed(expectRank(op, bounds, 1)))
    return failure();
  return expectShape(op, {"kv_offsets", keys}, {bounds.size(0)});
}

LogicalResult AttentionBackwardOp::verify() {
  Named query{"query", getQuery()}, key{"key", getKey()};
  Named value{"value", getValue()}, gradient{"gradient", getGradient()};
  Named dquery{"dquery", getDquery()}, dkey{"dkey", getDkey()};
  Named dvalue{"dvalue", getDvalue()};
  if (failed(verifyOperands(*this, {query, key, value, gradient})) ||
      failed(verifyShapes(*this, query, key, value, gradient)) ||
      failed(verifyOffsets(*this)) ||
      failed(expectShape(*this, dquery, query.type().getShape())) ||
      failed(expectShape(*this, dkey, key.type().getShape())) ||
      failed(expectShape(*this, dvalue, value.type().getShape())) ||
      failed(expectElement(*this, dkey, dquery.element())) ||
      failed(expectElement(*this, dvalue, dquery.element())))
    return failure();
  if (static_cast<bool>(getSink()) != static_cast<bool>(getDsink()))
    return emitOpError("expected dsink to be ")
           << (getSink() ? "present with a sink, but got none"
                         : "absent without a sink, but got one");
  if (getSink()) {
    int64_t heads = query.size(query.rank() - 2);
    if (failed(expectShape(*this, {"sink", getSink()}, {heads})) ||
        failed(expectShape(*this, {"dsink", getDsink()}, {heads})))
      return failure();
  }
  if (getSoftcap() && !(getSoftcap()->convertToFloat() > 0))
    return emitOpError("expected softcap to be above 0, but got ")
           << getSoftcap()->convertToFloat();
  return success();
}

LogicalResult
AttentionBackwardOp::reifyResultShapes(OpBuilder &b,
                                       ReifiedRankedShapedTypeDims &r) {
  addShapeOf(b, getLoc(), getDquery(), getQuery(), r);
  addShapeOf(b, getLoc(), getDkey(), getKey(), r);
  addShapeOf(b, getLoc(), getDvalue(), getValue(), r);
  if (getDsink())
    addShapeOf(b, getLoc(), getDsink(), getSink(), r);
  return success();
}
