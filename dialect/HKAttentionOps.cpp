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
  // The first columns of keys: the result says how many.
  if (getValue() == getKey())
    return tensorType(getResult()).getShape().back();
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

/// Whether queries, keys and values have the ranks of their forms and layouts.
static bool hasKnownRanks(AttentionOp op) {
  auto rankOf = [&](const CacheDims &dims) -> int64_t {
    if (op.getKeyForm() == KeyForm::Ragged)
      return 3;
    return dims.rows.size() + dims.elements.size() > 2 ? 5 : 4;
  };
  int64_t queries = tensorType(op.getQuery()).getRank();
  return (queries == 3 || queries == 4) &&
         tensorType(op.getKey()).getRank() == rankOf(op.getKeyDims()) &&
         tensorType(op.getValue()).getRank() == rankOf(op.getValueDims());
}

void AttentionOp::stateShapes(ShapeRelations &shapes) {
  if (!hasKnownRanks(*this))
    return; // the verifier says so
  Named key{"key", getKey()}, value{"value", getValue()};
  CacheDims keys = getKeyDims(), values = getValueDims();
  shapes.rank({"q_offsets", getQOffsets()}, 1);
  SizeTerm sequences = dimOf(getQuery(), 0);
  if (hasRaggedQueries())
    sequences = getQOffsets() ? dimOf(getQOffsets(), 0) - 1 : SizeTerm(1);

  // Rows and what holds them; the verifier knows heads and elements.
  shapes.size(value, 0, dimOf(getKey(), 0));
  if (keys.rows.size() == 1 && values.rows.size() == 1)
    shapes.size(value, values.rows.front(), dimOf(getKey(), keys.rows.front()));
  if (getKeyForm() == KeyForm::Dense)
    shapes.size(key, 0, sequences);
  shapes.shape({"kv_offsets", getKvOffsets()}, {sequences + 1});
  shapes.shape({"kv_lens", getKvLens()}, {sequences});
  shapes.shape({"table_offsets", getTableOffsets()}, {sequences + 1});
  Named table{"block_table", getBlockTable()};
  if (table.value && table.rank() != 1) { // else it is ragged
    shapes.rank(table, 2);
    shapes.size(table, 0, sequences);
  }

  SmallVector<SizeTerm> sizes;
  if (getKvSlices())
    sizes.push_back(getNumSlices());
  llvm::append_range(sizes, dimsOf(getQuery(), 0, -1));
  shapes.shape({"lse", getLse()}, sizes);
  SizeTerm elements = 1;
  if (getValue() == getKey()) // as many columns as the result has
    elements = getValueSize();
  else
    for (unsigned dim : values.elements)
      elements = elements * dimOf(getValue(), dim);
  sizes.push_back(elements);
  shapes.shape({"result", getResult()}, sizes);
  shapes.shape({"sink", getSink()}, {dimOf(getQuery(), -2)});
}

//===----------------------------------------------------------------------===//
// hk.attention_combine
//===----------------------------------------------------------------------===//

bool AttentionCombineOp::isSliced(unsigned pair) {
  return tensorType(getPartials()[pair]).getRank() !=
         tensorType(getResult()).getRank();
}

void AttentionCombineOp::stateShapes(ShapeRelations &shapes) {
  if (getPartials().empty() || getPartials().size() != getPartLses().size())
    return; // the verifier says so
  Value result = getResult();
  SmallVector<SizeTerm> sizes; // of the result
  for (unsigned pair = 0; pair < getPartials().size(); ++pair) {
    Named partials{"partials", getPartials()[pair]};
    SmallVector<SizeTerm> own = dimsOf(partials.value, 0);
    shapes.minRank(partials, isSliced(pair) ? 3 : 2);
    if (isSliced(pair))
      shapes.isStatic(partials, 0);
    shapes.shape({"part_lses", getPartLses()[pair]}, ArrayRef(own).drop_back());
    if (pair == 0) {
      sizes.assign(own.begin() + (isSliced(pair) ? 1 : 0), own.end());
      shapes.shape({"result", result}, sizes);
      continue;
    }
    SmallVector<SizeTerm> expected(sizes);
    if (isSliced(pair))
      expected.insert(expected.begin(), own.front());
    shapes.shape(partials, expected);
  }
  shapes.shape({"sink", getSink()}, {dimOf(getPartials()[0], -2)});
  shapes.shape({"lse", getLse()}, ArrayRef(sizes).drop_back());
}

LogicalResult AttentionCombineOp::verify() {
  if (getPartials().empty())
    return emitOpError("expected at least one pair of partials and part_lses, "
                       "but got none");
  if (getPartials().size() == getPartLses().size())
    return success();
  return emitOpError("expected as many part_lses as partials, ")
         << getPartials().size() << ", but got " << getPartLses().size();
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

void KVCacheWriteOp::stateShapes(ShapeRelations &shapes) {
  Named values{"values", getValues()}, cache{"cache", getCache()};
  bool chunks = getRowDims().size() + getElementDims().size() > 2;
  SizeTerm rows = dimOf(getValues(), 0), elements = 1;
  for (unsigned dim : getElementDims())
    elements = elements * dimOf(getCache(), dim);
  shapes.rank(values, 3);
  shapes.rank(cache, chunks ? 5 : 4);
  shapes.shape({"slots", getSlots()}, {rows});
  if (chunks)
    shapes.isStatic(cache, 4);
  shapes.shape(values, {rows, dimOf(getCache(), getHeadDim()), elements});
  shapes.same({"result", getResult()}, getCache());
}

LogicalResult KVCacheWriteOp::verify() {
  Named cache{"cache", getCache()};
  if (failed(expectElement(*this, {"values", getValues()}, cache.element())))
    return failure();
  bool packed = isPacked(cache.element());
  if (packed && getElementDims().back() + 1 != cache.rank())
    return emitOpError("expected a layout with elements of a head side by side "
                       "for ")
           << cache.element() << ", but got "
           << stringifyCacheLayout(getLayout());
  return success();
}
