//===- HKAttentionOps.cpp - Attention and the cache write -----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Forms and shapes of attention, of its combination and of the cache write.
// What hk.attention takes is checked in HKAttentionVerifier.cpp.
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

static CacheDims keyDims(KeyForm form, CacheLayout layout) {
  return form == KeyForm::Ragged ? CacheDims{{0}, 1, {2}} : cacheDimsOf(layout);
}
CacheDims AttentionOp::getKeyDims() {
  return keyDims(getKeyForm(), getKeyLayout());
}
CacheDims AttentionOp::getValueDims() {
  return keyDims(getKeyForm(), getValueLayout());
}

/// The product of the sizes of some dims; these are static.
static int64_t elementsOf(Value value, ArrayRef<unsigned> dims) {
  int64_t size = 1;
  for (unsigned dim : dims)
    size *= tensorType(value).getDimSize(dim);
  return size;
}

int64_t AttentionOp::getNumHeads() {
  return tensorType(getQuery()).getShape().drop_back().back();
}
int64_t AttentionOp::getNumKeyHeads() {
  return tensorType(getKey()).getDimSize(getKeyDims().head);
}
int64_t AttentionOp::getHeadSize() {
  return tensorType(getQuery()).getShape().back();
}
int64_t AttentionOp::getValueSize() {
  return elementsOf(getValue(), getValueDims().elements);
}

Type AttentionOp::getProbabilityType() {
  if (getPType())
    return *getPType();
  for (Value operand : {getValue(), getQuery()}) {
    Type type = tensorType(operand).getElementType();
    if (type.getIntOrFloatBitWidth() > 8)
      return type;
  }
  return BFloat16Type::get(getContext());
}

LogicalResult AttentionOp::reifyResultShapes(OpBuilder &b,
                                             ReifiedRankedShapedTypeDims &r) {
  Sizes sizes = sizesOf(b, getLoc(), getQuery());
  sizes.back() = b.getIndexAttr(getValueSize());
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

const CacheDims &mlir::hk::cacheDimsOf(CacheLayout layout) {
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
