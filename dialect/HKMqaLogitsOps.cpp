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

void MqaLogitsOp::stateShapes(ShapeRelations &shapes) {
  Named query{"query", getQuery()}, key{"key", getKey()};
  int64_t last = isPaged() ? 3 : 2;
  SizeTerm rows = dimOf(getQuery(), 0), keys = dimOf(getKey(), 0);
  if (!isPaged() && key.rank() != 2)
    return; // the verifier says so
  shapes.rank(query, last + 1);
  shapes.isStatic(query, last);
  shapes.isStatic(query, last - 1);
  shapes.size(key, -1, dimOf(getQuery(), last));
  shapes.shape({"weights", getWeights()}, dimsOf(getQuery(), 0, -1));
  SmallVector<SizeTerm> scales = dimsOf(getKey(), 0, -1);
  scales.push_back(1);
  shapes.shape({"key_scales", getKeyScales()}, scales);
  shapes.shape({"starts", getStarts()}, {rows});
  shapes.shape({"ends", getEnds()}, {rows});
  shapes.shape({"kv_lens", getKvLens()}, {rows});
  Named table{"block_table", getBlockTable()};
  shapes.rank(table, 2);
  shapes.size(table, 0, rows);
  if (isPaged()) {
    if (!table.value)
      return; // the verifier says so
    keys = dimOf(table.value, 1) * dimOf(getKey(), 1);
  }
  SmallVector<SizeTerm> sizes = dimsOf(getQuery(), 0, -2);
  sizes.push_back(keys);
  shapes.shape({"result", getResult()}, sizes);
}

LogicalResult MqaLogitsOp::verify() {
  Named query{"query", getQuery()}, key{"key", getKey()};
  if (key.rank() != 2 && key.rank() != 3)
    return emitOpError("expected rank of key to be 2 or 3, but got ")
           << key.rank();
  if (failed(expectElement(*this, key, query.element())))
    return failure();
  return verifyForm(*this);
}
