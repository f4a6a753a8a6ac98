//===- HKAttentionOps.cpp - Verifiers and shapes of attention and the cache
// write -===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which forms of queries, keys and values go together, and their sizes.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"

using namespace mlir;
using namespace mlir::hk;

//===----------------------------------------------------------------------===//
// hk.attention
//===----------------------------------------------------------------------===//

bool AttentionOp::hasRaggedQueries() {
  return tensorType(getQuery()).getRank() == 3;
}

KeyForm AttentionOp::getKeyForm() {
  if (tensorType(getKey()).getRank() == 3)
    return KeyForm::Ragged;
  return getBlockTable() ? KeyForm::Paged : KeyForm::Dense;
}

/// Operands that one form of keys needs or excludes.
static LogicalResult verifyPresence(Operation *op, StringRef name, Value value,
                                    bool wanted, StringRef form) {
  if (static_cast<bool>(value) == wanted)
    return success();
  return op->emitOpError("expected ")
         << name << " to be " << (wanted ? "present" : "absent") << " with "
         << form << ", but got " << (wanted ? "none" : "one");
}

static LogicalResult verifyKeyForm(AttentionOp op) {
  switch (op.getKeyForm()) {
  case KeyForm::Ragged:
    if (failed(verifyPresence(op, "block_table", op.getBlockTable(), false,
                              "ragged keys")) ||
        failed(verifyPresence(op, "kv_lens", op.getKvLens(), false,
                              "ragged keys")))
      return failure();
    if (!op.hasRaggedQueries())
      return op.emitOpError("expected rank of query to be 3 with ragged keys, "
                            "but got 4");
    return verifyPresence(op, "kv_offsets", op.getKvOffsets(),
                          static_cast<bool>(op.getQOffsets()),
                          op.getQOffsets() ? "ragged keys and q_offsets"
                                           : "ragged keys without q_offsets");
  case KeyForm::Paged:
    if (failed(
            verifyPresence(op, "kv_lens", op.getKvLens(), true, "paged keys")))
      return failure();
    [[fallthrough]];
  case KeyForm::Dense:
    return verifyPresence(op, "kv_offsets", op.getKvOffsets(), false,
                          "keys of rank 4");
  }
  llvm_unreachable("every form has a case");
}

/// Number of sequences as the queries tell it; kDynamic when unknown.
static int64_t numSequences(AttentionOp op) {
  if (!op.hasRaggedQueries())
    return tensorType(op.getQuery()).getDimSize(0);
  if (!op.getQOffsets())
    return 1;
  int64_t size = tensorType(op.getQOffsets()).getDimSize(0);
  return ShapedType::isDynamic(size) ? size : size - 1;
}

/// Ranks, element types, heads and head sizes of query, key, value, result.
static LogicalResult verifyHeads(AttentionOp op, Named query, Named key,
                                 Named value, Named result) {
  for (Named v : {query, key})
    if (v.rank() != 3 && v.rank() != 4)
      return op.emitOpError("expected rank of ")
             << v.name << " to be 3 or 4, but got " << v.rank();
  if (failed(expectRank(op, value, key.rank())) ||
      failed(expectElement(op, key, query.element())) ||
      failed(expectElement(op, value, key.element())))
    return failure();
  int64_t qLast = query.rank() - 1, kLast = key.rank() - 1;
  for (int64_t d : {0, 1})
    if (failed(expectStatic(op, query, qLast - d)) ||
        failed(expectStatic(op, key, kLast - d)) ||
        failed(expectStatic(op, value, kLast - d)))
      return failure();
  int64_t heads = query.size(qLast - 1), kvHeads = key.size(kLast - 1);
  if (kvHeads == 0 || heads % kvHeads != 0)
    return op.emitOpError("expected size of dim ")
           << qLast - 1 << " of query to be a multiple of " << kvHeads
           << ", the heads of key, but got " << heads;
  if (failed(expectSize(op, key, kLast, query.size(qLast))))
    return failure();
  SmallVector<int64_t> valueShape(key.type().getShape());
  valueShape.back() = value.size(kLast);
  SmallVector<int64_t> resultShape(query.type().getShape());
  resultShape.back() = value.size(kLast);
  if (op.getKvSlices())
    resultShape.insert(resultShape.begin(), op.getNumSlices());
  if (failed(expectShape(op, value, valueShape)))
    return failure();
  return expectShape(op, result, resultShape);
}

/// Offsets, lengths and block tables agree on the number of sequences.
static LogicalResult verifySequences(AttentionOp op, Named key) {
  int64_t sequences = numSequences(op);
  int64_t bounds = ShapedType::isDynamic(sequences) ? sequences : sequences + 1;
  if (op.getQOffsets() &&
      failed(expectRank(op, {"q_offsets", op.getQOffsets()}, 1)))
    return failure();
  if (op.getKeyForm() == KeyForm::Dense &&
      failed(expectSize(op, key, 0, sequences)))
    return failure();
  if (op.getKvOffsets() &&
      failed(expectShape(op, {"kv_offsets", op.getKvOffsets()}, {bounds})))
    return failure();
  if (op.getKvLens() &&
      failed(expectShape(op, {"kv_lens", op.getKvLens()}, {sequences})))
    return failure();
  if (!op.getBlockTable())
    return success();
  Named table{"block_table", op.getBlockTable()};
  if (failed(expectRank(op, table, 2)))
    return failure();
  return expectSize(op, table, 0, sequences);
}

LogicalResult AttentionOp::verify() {
  Named query{"query", getQuery()}, key{"key", getKey()};
  Named value{"value", getValue()}, result{"result", getResult()};
  if (failed(verifyHeads(*this, query, key, value, result)) ||
      failed(verifyKeyForm(*this)))
    return failure();
  if (!hasRaggedQueries() &&
      failed(verifyPresence(*this, "q_offsets", getQOffsets(), false,
                            "queries of rank 4")))
    return failure();
  if (getQOffsets() &&
      failed(expectRank(*this, {"q_offsets", getQOffsets()}, 1)))
    return failure();
  if (failed(verifySequences(*this, key)))
    return failure();
  if (getSink() && failed(expectShape(*this, {"sink", getSink()},
                                      {query.size(query.rank() - 2)})))
    return failure();
  if (getSoftcap() && !(getSoftcap()->convertToFloat() > 0))
    return emitOpError("expected softcap to be above 0, but got ")
           << getSoftcap()->convertToFloat();
  if (getKvSlices()) {
    Type f32 = Float32Type::get(getContext());
    if (failed(expectElement(*this, result, f32)) ||
        failed(verifyPresence(*this, "lse", getLse(), true, "kv_slices")) ||
        failed(verifyPresence(*this, "sink", getSink(), false, "kv_slices")))
      return failure();
  }
  if (getLse())
    return expectShape(*this, {"lse", getLse()},
                       result.type().getShape().drop_back());
  return success();
}

LogicalResult AttentionOp::reifyResultShapes(OpBuilder &b,
                                             ReifiedRankedShapedTypeDims &r) {
  Sizes sizes = sizesOf(b, getLoc(), getQuery());
  int64_t last = tensorType(getValue()).getRank() - 1;
  sizes.back() = tensor::getMixedSize(b, getLoc(), getValue(), last);
  if (getKvSlices())
    sizes.insert(sizes.begin(), b.getIndexAttr(getNumSlices()));
  addShape(b, getLoc(), getResult(), sizes, r);
  if (getLse()) {
    sizes.pop_back();
    addShape(b, getLoc(), getLse(), std::move(sizes), r);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// hk.attention_combine
//===----------------------------------------------------------------------===//

LogicalResult AttentionCombineOp::verify() {
  Named partials{"partials", getPartials()}, result{"result", getResult()};
  if (failed(expectMinRank(*this, partials, 3)) ||
      failed(expectStatic(*this, partials, 0)))
    return failure();
  ArrayRef<int64_t> shape = partials.type().getShape();
  if (failed(expectShape(*this, {"slice_lse", getSliceLse()},
                         shape.drop_back())) ||
      failed(expectShape(*this, result, shape.drop_front())))
    return failure();
  if (getSink() && failed(expectShape(*this, {"sink", getSink()},
                                      {partials.size(partials.rank() - 2)})))
    return failure();
  if (getLse())
    return expectShape(*this, {"lse", getLse()},
                       shape.drop_front().drop_back());
  return success();
}

LogicalResult
AttentionCombineOp::reifyResultShapes(OpBuilder &b,
                                      ReifiedRankedShapedTypeDims &r) {
  Sizes sizes = sizesOf(b, getLoc(), getPartials());
  sizes.erase(sizes.begin());
  addShape(b, getLoc(), getResult(), sizes, r);
  if (getLse()) {
    sizes.pop_back();
    addShape(b, getLoc(), getLse(), std::move(sizes), r);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// hk.kv_cache_write
//===----------------------------------------------------------------------===//

namespace {
struct CacheDims {
  SmallVector<unsigned, 2> rows;
  unsigned head;
  SmallVector<unsigned, 2> elements;
};
} // namespace

static const CacheDims &cacheDimsOf(CacheLayout layout) {
  static const CacheDims dims[] = {
      {{1}, 2, {3}},    // token_major
      {{2}, 1, {3}},    // head_major
      {{3}, 1, {2, 4}}, // key_chunks
      {{3}, 1, {2}},    // transposed
      {{2, 4}, 1, {3}}, // value_chunks
  };
  return dims[static_cast<int>(layout)];
}

ArrayRef<unsigned> KVCacheWriteOp::getRowDims() {
  return cacheDimsOf(getLayout()).rows;
}
unsigned KVCacheWriteOp::getHeadDim() { return cacheDimsOf(getLayout()).head; }
ArrayRef<unsigned> KVCacheWriteOp::getElementDims() {
  return cacheDimsOf(getLayout()).elements;
}

LogicalResult KVCacheWriteOp::verify() {
  Named values{"values", getValues()}, slots{"slots", getSlots()};
  Named cache{"cache", getCache()};
  bool chunks = getRowDims().size() + getElementDims().size() > 2;
  if (failed(expectRank(*this, values, 3)) ||
      failed(expectRank(*this, cache, chunks ? 5 : 4)) ||
      failed(expectElement(*this, values, cache.element())) ||
      failed(expectShape(*this, slots, {values.size(0)})))
    return failure();
  if (chunks && failed(expectStatic(*this, cache, 4)))
    return failure();
  bool packed = isa<Float4E2M1FNType>(cache.element());
  if (packed && getElementDims().back() + 1 != cache.rank())
    return emitOpError("expected a layout with elements of a head side by side "
                       "for ")
           << cache.element() << ", but got "
           << stringifyCacheLayout(getLayout());
  int64_t size = 1;
  for (unsigned dim : getElementDims())
    size = ShapedType::isDynamic(size) || ShapedType::isDynamic(cache.size(dim))
               ? ShapedType::kDynamic
               : size * cache.size(dim);
  return expectShape(*this, values,
                     {values.size(0), cache.size(getHeadDim()), size});
}

LogicalResult
KVCacheWriteOp::reifyResultShapes(OpBuilder &b,
                                  ReifiedRankedShapedTypeDims &r) {
  addShapeOf(b, getLoc(), getResult(), getCache(), r);
  return success();
}
