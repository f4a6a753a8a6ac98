//===- HKAttentionVerifier.cpp - What hk.attention takes ------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which forms of queries, keys and values go together, what their scales are
// for, and what the regions may hold.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"

using namespace mlir;
using namespace mlir::hk;

LogicalResult mlir::hk::verifyPresence(Operation *op, StringRef name,
                                       bool present, bool wanted,
                                       StringRef form) {
  if (present == wanted)
    return success();
  return op->emitOpError("expected ")
         << name << " to be " << (wanted ? "present" : "absent") << " with "
         << form << ", but got " << (wanted ? "none" : "one");
}

//===----------------------------------------------------------------------===//
// Forms of keys and values
//===----------------------------------------------------------------------===//

static LogicalResult verifyKeyForm(AttentionOp op) {
  bool raggedTable =
      op.getBlockTable() && tensorType(op.getBlockTable()).getRank() == 1;
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
  case KeyForm::Dense:
    if (failed(verifyPresence(op, "table_offsets", op.getTableOffsets(),
                              raggedTable,
                              raggedTable ? "a block_table of rank 1"
                                          : "no block_table of rank 1")))
      return failure();
    return verifyPresence(op, "kv_offsets", op.getKvOffsets(), false,
                          "keys of rank 4");
  }
  llvm_unreachable("every form has a case");
}

/// Layouts that one of keys and values has, and only pages.
static LogicalResult verifyLayout(AttentionOp op, StringRef name,
                                  CacheLayout layout, bool ofKeys) {
  bool chunked = layout == CacheLayout::key_chunks;
  bool transposed =
      layout == CacheLayout::transposed || layout == CacheLayout::value_chunks;
  bool right =
      op.getKeyForm() == KeyForm::Ragged
          ? layout == CacheLayout::token_major
          : !(chunked || transposed) || (op.getKeyForm() == KeyForm::Paged &&
                                         (ofKeys ? chunked : transposed));
  if (right)
    return success();
  StringRef form = op.getKeyForm() == KeyForm::Ragged  ? "ragged"
                   : op.getKeyForm() == KeyForm::Dense ? "dense"
                                                       : "paged";
  return op.emitOpError("expected ")
         << name << " to be one of " << form << (ofKeys ? " keys" : " values")
         << ", but got " << stringifyCacheLayout(layout);
}

/// The product of sizes; kDynamic where one is not known.
static int64_t sizeOf(Named v, ArrayRef<unsigned> dims) {
  int64_t size = 1;
  for (unsigned dim : dims)
    size = ShapedType::isDynamic(size) || ShapedType::isDynamic(v.size(dim))
               ? ShapedType::kDynamic
               : size * v.size(dim);
  return size;
}

/// Rank of a layout; static heads, elements and chunks.
static LogicalResult verifyDims(AttentionOp op, Named v, const CacheDims &dims,
                                int64_t rank) {
  if (failed(expectRank(op, v, rank)))
    return failure();
  for (unsigned dim : dims.elements)
    if (failed(expectStatic(op, v, dim)))
      return failure();
  if (dims.rows.size() > 1 && failed(expectStatic(op, v, dims.rows.back())))
    return failure();
  return expectStatic(op, v, dims.head);
}

static int64_t rankOf(AttentionOp op, const CacheDims &dims) {
  if (op.getKeyForm() == KeyForm::Ragged)
    return 3;
  return dims.rows.size() + dims.elements.size() > 2 ? 5 : 4;
}

/// Values have the rows and heads of keys.
static LogicalResult verifyValues(AttentionOp op, Named key, Named value) {
  CacheDims keys = op.getKeyDims(), values = op.getValueDims();
  if (failed(expectSize(op, value, values.head, key.size(keys.head))))
    return failure();
  if (values.rows.size() == 1 && keys.rows.size() == 1)
    return success();
  int64_t rows = sizeOf(key, keys.rows);
  int64_t got = sizeOf(value, values.rows);
  if (compatibleSizes(rows, got))
    return success();
  return op.emitOpError("expected rows of value to be ")
         << rows << ", those of key, but got " << got;
}

/// Ranks, heads and head sizes of query, key and value.
static LogicalResult verifyHeads(AttentionOp op, Named query, Named key,
                                 Named value) {
  if (query.rank() != 3 && query.rank() != 4)
    return op.emitOpError("expected rank of query to be 3 or 4, but got ")
           << query.rank();
  if (op.getKeyLayout() != CacheLayout::key_chunks && key.rank() != 3 &&
      key.rank() != 4)
    return op.emitOpError("expected rank of key to be 3 or 4, but got ")
           << key.rank();
  if (failed(verifyLayout(op, "key_layout", op.getKeyLayout(), true)) ||
      failed(verifyLayout(op, "value_layout", op.getValueLayout(), false)))
    return failure();
  int64_t last = query.rank() - 1;
  CacheDims keys = op.getKeyDims(), values = op.getValueDims();
  if (failed(expectStatic(op, query, last)) ||
      failed(expectStatic(op, query, last - 1)) ||
      failed(verifyDims(op, key, keys, rankOf(op, keys))) ||
      failed(verifyDims(op, value, values, rankOf(op, values))))
    return failure();
  int64_t heads = op.getNumHeads(), kvHeads = op.getNumKeyHeads();
  if (kvHeads == 0 || heads % kvHeads != 0)
    return op.emitOpError("expected size of dim ")
           << last - 1 << " of query to be a multiple of " << kvHeads
           << ", the heads of key, but got " << heads;
  if (keys.elements.size() == 1 &&
      failed(expectSize(op, key, keys.elements.front(), op.getHeadSize())))
    return failure();
  if (sizeOf(key, keys.elements) != op.getHeadSize())
    return op.emitOpError("expected head size of key to be ")
           << op.getHeadSize() << ", that of query, but got "
           << sizeOf(key, keys.elements);
  if (op.getValue() == op.getKey() &&
      (op.getKeyLayout() != op.getValueLayout() ||
       op.getValueSize() > op.getHeadSize()))
    return op.emitOpError("expected values that are the keys to have their "
                          "layout and at most ")
           << op.getHeadSize() << " columns, but got "
           << stringifyCacheLayout(op.getValueLayout()) << " and "
           << op.getValueSize();
  return verifyValues(op, key, value);
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// Number of sequences as the queries tell it; kDynamic when unknown.
static int64_t numSequences(AttentionOp op) {
  if (!op.hasRaggedQueries())
    return tensorType(op.getQuery()).getDimSize(0);
  if (!op.getQOffsets())
    return 1;
  int64_t size = tensorType(op.getQOffsets()).getDimSize(0);
  return ShapedType::isDynamic(size) ? size : size - 1;
}

/// A scale of the rank of `of`, whose dims are `dims`: one element for all
/// along a dim, or one each, or one for `block` rows.
static LogicalResult verifyRowScale(AttentionOp op, Named scale, Named of,
                                    const CacheDims &dims,
                                    std::optional<uint64_t> block) {
  unsigned last = dims.elements.front(), row = dims.rows.front();
  bool perChannel = scale.name == "v_scale" && scale.size(last) != 1;
  SmallVector<int64_t> shape(of.type().getShape());
  if (block)
    shape[row] = ceilDiv(shape[row], int64_t(*block));
  for (auto [dim, size] : llvm::enumerate(shape)) {
    bool one = (dim == last && !perChannel) || (dim == row && perChannel);
    if (one || (scale.size(dim) == 1 && dim != last)) {
      if (failed(expectSize(op, scale, dim, 1)))
        return failure();
    } else if (failed(expectSize(op, scale, dim, size))) {
      return failure();
    }
  }
  return success();
}

static LogicalResult verifyScale(AttentionOp op, Named scale, Named of,
                                 int64_t heads, const CacheDims &dims,
                                 std::optional<uint64_t> block) {
  if (!scale.value)
    return block ? verifyPresence(op, scale.name, scale.value, true,
                                  "rows that share one")
                 : success();
  if (scale.rank() == of.rank() && dims.elements.size() == 1 &&
      dims.rows.size() == 1)
    return verifyRowScale(op, scale, of, dims, block);
  if (block)
    return expectRank(op, scale, of.rank());
  if (scale.rank() == 0)
    return success();
  if (scale.rank() != 2)
    return op.emitOpError("expected rank of ")
           << scale.name << " to be 0, 2 or that of " << of.name
           << " in rows, but got " << scale.rank();
  if (scale.size(0) != 1 && failed(expectSize(op, scale, 0, numSequences(op))))
    return failure();
  return expectSize(op, scale, 1, heads);
}

static LogicalResult verifyScales(AttentionOp op, Named query, Named key,
                                  Named value) {
  unsigned last = unsigned(query.rank()) - 1;
  CacheDims queries = {{last - 2}, last - 1, {last}};
  return success(
      succeeded(verifyScale(op, {"q_scale", op.getQScale()}, query,
                            op.getNumHeads(), queries, op.getQBlock())) &&
      succeeded(verifyScale(op, {"k_scale", op.getKScale()}, key,
                            op.getNumKeyHeads(), op.getKeyDims(),
                            op.getKBlock())) &&
      succeeded(verifyScale(op, {"v_scale", op.getVScale()}, value,
                            op.getNumKeyHeads(), op.getValueDims(),
                            std::nullopt)));
}

//===----------------------------------------------------------------------===//
// Results and regions
//===----------------------------------------------------------------------===//

/// What goes with softmax and with slices of the keys only.
static LogicalResult verifyNormalizer(AttentionOp op, Named result) {
  if (op.getNormalizer() == Normalizer::none) {
    if (failed(verifyPresence(op, "sink", op.getSink(), false,
                              "normalizer none")) ||
        failed(
            verifyPresence(op, "lse", op.getLse(), false, "normalizer none")))
      return failure();
    if (op.getKvSlices())
      return op.emitOpError("expected no kv_slices with normalizer none, but "
                            "got ")
             << *op.getKvSlices();
  }
  if (!op.getKvSlices())
    return success();
  if (failed(expectElement(op, result, Float32Type::get(op.getContext()))) ||
      failed(verifyPresence(op, "lse", op.getLse(), true, "kv_slices")))
    return failure();
  return verifyPresence(op, "sink", op.getSink(), false, "kv_slices");
}

LogicalResult AttentionOp::verify() {
  Named query{"query", getQuery()}, key{"key", getKey()};
  Named value{"value", getValue()}, result{"result", getResult()};
  if (failed(verifyHeads(*this, query, key, value)) ||
      failed(verifyKeyForm(*this)) ||
      (!hasRaggedQueries() &&
       failed(verifyPresence(*this, "q_offsets", getQOffsets(), false,
                             "queries of rank 4"))) ||
      failed(verifyScales(*this, query, key, value)))
    return failure();
  if (getSoftcap() && !(getSoftcap()->convertToFloat() > 0))
    return emitOpError("expected softcap to be above 0, but got ")
           << getSoftcap()->convertToFloat();
  Type pType = getProbabilityType();
  if (!dtypeOf(pType) || !isa<FloatType>(pType) ||
      isa<Float4E2M1FNType, Float8E8M0FNUType>(pType))
    return emitOpError("expected p_type to be f32, bf16, f16 or a float of 8 "
                       "bits, but got ")
           << pType;
  return verifyNormalizer(*this, result);
}

/// The types of a region's arguments.
static SmallVector<Type> regionArguments(MLIRContext *context, bool ofScore,
                                         ValueRange reads) {
  SmallVector<Type> types;
  if (ofScore)
    types.push_back(RankedTensorType::get({}, Float32Type::get(context)));
  types.resize(ofScore ? AttentionOp::kNumScoreArguments
                       : AttentionOp::kNumWeightArguments,
               RankedTensorType::get({}, IntegerType::get(context, 32)));
  llvm::append_range(types, reads.getTypes());
  return types;
}

static LogicalResult verifyRegion(Operation *op, StringRef name, Region &region,
                                  ArrayRef<Type> arguments) {
  if (region.empty())
    return success();
  if (!region.hasOneBlock())
    return op->emitOpError("expected ") << name << " to be one block";
  Block &block = region.front();
  if (!llvm::equal(block.getArgumentTypes(), arguments))
    return op->emitOpError("expected the arguments of ")
           << name << " to be of types " << ArrayRef(arguments) << ", but got "
           << block.getArgumentTypes();
  auto yield = dyn_cast<YieldOp>(block.back());
  Type f32 = RankedTensorType::get({}, Float32Type::get(op->getContext()));
  if (!yield || yield.getNumOperands() != 1 ||
      yield.getOperand(0).getType() != f32)
    return op->emitOpError("expected ")
           << name << " to end with hk.yield of one " << f32;
  for (Operation &inner : block.without_terminator()) {
    auto pointwise = dyn_cast<RowwiseOpInterface>(inner);
    bool scalar = llvm::all_of(inner.getResultTypes(), [](Type type) {
      return cast<ShapedType>(type).getRank() == 0;
    });
    if (!pointwise || pointwise.getNumLocalDims() != 0 || !scalar)
      return inner.emitOpError("expected a pointwise operator on tensors of "
                               "rank 0 in the region ")
             << name << " of " << op->getName();
  }
  return success();
}

LogicalResult mlir::hk::verifyAttentionRegions(Operation *op, Region &score,
                                               Region &weight,
                                               ValueRange reads) {
  if (score.empty() && weight.empty() && !reads.empty())
    return op->emitOpError("expected a region that takes reads, but got "
                           "neither score nor weight");
  MLIRContext *context = op->getContext();
  return success(
      succeeded(verifyRegion(op, "score", score,
                             regionArguments(context, true, reads))) &&
      succeeded(verifyRegion(op, "weight", weight,
                             regionArguments(context, false, reads))));
}

LogicalResult mlir::hk::verifyScoreRegion(Operation *op, StringRef name,
                                          Region &region, ValueRange reads) {
  return verifyRegion(op, name, region,
                      regionArguments(op->getContext(), true, reads));
}

LogicalResult AttentionOp::verifyRegions() {
  return verifyAttentionRegions(*this, getScore(), getWeight(), getReads());
}
