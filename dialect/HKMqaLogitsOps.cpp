//===- HKMqaLogitsOps.cpp - Verifier and shape of the indexer's logits ----===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which operands the two forms of keys take, and their sizes.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"

using namespace mlir;
using namespace mlir::hk;

/// Sequences and ranges belong to one form of keys each.
static LogicalResult verifyForm(MqaLogitsOp op) {
  struct {
    StringRef name;
    Value value;
    bool paged;
  } operands[] = {{"starts", op.getStarts(), false},
                  {"ends", op.getEnds(), false},
                  {"kv_lens", op.getKvLens(), true},
                  {"block_table", op.getBlockTable(), true}};
  StringRef form = op.isPaged() ? "paged keys" : "keys of rank 2";
  for (auto [name, value, paged] : operands) {
    if (value && paged != op.isPaged())
      return op.emitOpError("expected ")
             << name << " to be absent with " << form << ", but got one";
    if (!value && paged && op.isPaged())
      return op.emitOpError("expected ")
             << name << " to be present with " << form << ", but got none";
  }
  return success();
}

/// The product of two sizes, if both are known.
static int64_t product(int64_t a, int64_t b) {
  return ShapedType::isDynamic(a) || ShapedType::isDynamic(b)
             ? ShapedType::kDynamic
             : a * b;
}

LogicalResult MqaLogitsOp::verify() {
  Named query{"query", getQuery()}, key{"key", getKey()};
  Named weights{"weights", getWeights()}, result{"result", getResult()};
  if (key.rank() != 2 && key.rank() != 3)
    return emitOpError("expected rank of key to be 2 or 3, but got ")
           << key.rank();
  int64_t last = isPaged() ? 3 : 2;
  if (failed(expectRank(*this, query, last + 1)) ||
      failed(expectElement(*this, key, query.element())) ||
      failed(expectStatic(*this, query, last)) ||
      failed(expectStatic(*this, query, last - 1)) ||
      failed(expectSize(*this, key, key.rank() - 1, query.size(last))) ||
      failed(verifyForm(*this)))
    return failure();
  ArrayRef<int64_t> rows = query.type().getShape().drop_back();
  if (failed(expectShape(*this, weights, rows)))
    return failure();
  if (getKeyScales()) {
    SmallVector<int64_t> shape(key.type().getShape());
    shape.back() = 1;
    if (failed(expectShape(*this, {"key_scales", getKeyScales()}, shape)))
      return failure();
  }
  for (Named range : {Named{"starts", getStarts()}, Named{"ends", getEnds()},
                      Named{"kv_lens", getKvLens()}})
    if (range.value && failed(expectShape(*this, range, {query.size(0)})))
      return failure();
  SmallVector<int64_t> shape(rows.drop_back());
  int64_t keys = key.size(0);
  if (isPaged()) {
    Named table{"block_table", getBlockTable()};
    if (failed(expectRank(*this, table, 2)) ||
        failed(expectSize(*this, table, 0, query.size(0))))
      return failure();
    keys = product(table.size(1), key.size(1));
  }
  shape.push_back(keys);
  return expectShape(*this, result, shape);
}

LogicalResult MqaLogitsOp::reifyResultShapes(OpBuilder &b,
                                             ReifiedRankedShapedTypeDims &r) {
  Sizes sizes = sizesOf(b, getLoc(), getQuery());
  Sizes key = sizesOf(b, getLoc(), getKey());
  sizes.resize(sizes.size() - 2);
  if (!isPaged()) {
    sizes.push_back(key[0]);
  } else {
    OpFoldResult blocks = sizesOf(b, getLoc(), getBlockTable())[1];
    sizes.push_back(arith::MulIOp::create(
                        b, getLoc(),
                        getValueOrCreateConstantIndexOp(b, getLoc(), blocks),
                        getValueOrCreateConstantIndexOp(b, getLoc(), key[1]))
                        .getResult());
  }
  addShape(b, getLoc(), getResult(), std::move(sizes), r);
  return success();
}
