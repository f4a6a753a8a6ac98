//===- Heads.cpp - Attention as operators describe it ---------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One hk.attention of heads, with a mask as its score region.
//
//===----------------------------------------------------------------------===//

#include "Heads.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

FailureOr<Tensor> mlir::hk::importer::partHeads(Node &node, const Tensor &x,
                                                int64_t heads) {
  if (x.rank() != 3 || heads < 1)
    return node.error() << "expected rows [batch, sequence, heads * size] and "
                           "a number of heads, but got "
                        << node.describe(x.shape) << " and " << heads;
  std::optional<Size> size = x.shape[2].exactDiv(heads);
  if (!size)
    return node.error() << "expected rows of " << heads << " heads, but got "
                        << node.describe(x.shape);
  return node.reshape(x, {x.shape[0], x.shape[1], Size(heads), *size});
}

FailureOr<Tensor> mlir::hk::importer::joinHeads(Node &node, const Tensor &x) {
  return node.reshape(x, {x.shape[0], x.shape[1], x.shape[2] * x.shape[3]});
}

/// The mask without dims of size 1, and which of (sequence, head, query, key)
/// each of its dims is.
static FailureOr<std::pair<Tensor, SmallVector<unsigned>>>
maskDims(Node &node, const Tensor &mask, ArrayRef<Size> scores) {
  if (mask.rank() > 4)
    return node.error() << "expected a mask of at most 4 dims, but got "
                        << node.describe(mask.shape);
  SmallVector<unsigned> dims;
  Shape kept;
  for (auto [i, size] : llvm::enumerate(mask.shape)) {
    unsigned dim = 4 - mask.rank() + i;
    if (size.isConstant(1))
      continue;
    if ((size - scores[dim]).getConstant().value_or(0) != 0)
      return node.error() << "expected a mask that broadcasts to "
                          << node.describe(scores) << ", but got "
                          << node.describe(mask.shape);
    dims.push_back(dim);
    kept.push_back(size);
  }
  // A table has a dim at least.
  if (dims.empty()) {
    dims.push_back(0);
    kept.push_back(1);
  }
  HK_TRY(table, node.reshape(mask, kept));
  return std::pair(table, dims);
}

/// score = s + mask, or mask ? s : -inf.
static void addMask(Node &node, AttentionOp op, const Tensor &mask,
                    ArrayRef<unsigned> dims, bool single) {
  OpBuilder::InsertionGuard guard(node.b);
  auto scalar = [&](Type element) {
    return RankedTensorType::get({}, element);
  };
  auto real = scalar(node.b.getF32Type()), number = scalar(node.b.getI32Type());
  SmallVector<Type> types{real};
  types.append(6, number);
  types.push_back(mask.value.getType());
  Block *block = node.b.createBlock(&op.getScore(), {}, types,
                                    SmallVector<Location>(8, node.loc));
  // Arguments: s, sequence, head, query, key, their numbers, the mask.
  SmallVector<Value> places;
  for (unsigned dim : dims)
    places.push_back(block->getArgument(1 + dim));
  if (single)
    places = {ConstantOp::create(
        node.b, node.loc,
        DenseElementsAttr::get(number, node.b.getI32IntegerAttr(0)))};
  Type element = cast<RankedTensorType>(mask.value.getType()).getElementType();
  Value found = GatherElementsOp::create(node.b, node.loc, scalar(element),
                                         block->getArgument(7), places);
  Value score = block->getArgument(0);
  if (mask.dtype == kBool) {
    Value unseen = ConstantOp::create(
        node.b, node.loc,
        DenseElementsAttr::get(
            real, llvm::APFloat::getInf(llvm::APFloat::IEEEsingle(), true)));
    score = SelectOp::create(node.b, node.loc, real, found, score, unseen);
  } else {
    score = AddOp::create(node.b, node.loc, real, score, found);
  }
  YieldOp::create(node.b, node.loc, score);
}

FailureOr<Tensor> mlir::hk::importer::attend(Node &node, const Attention &a) {
  const Tensor &q = a.query, &k = a.key, &v = a.value;
  if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4)
    return node.error() << "expected queries, keys and values of heads";
  int64_t heads = a.headMajor ? 1 : 2, keys = a.headMajor ? 2 : 1;
  std::optional<int64_t> hq = q.shape[2].getConstant(),
                         hk = k.shape[heads].getConstant(),
                         size = q.shape[3].getConstant();
  if (!hq || !hk || !size || *size < 1 || *hk < 1 || *hq % *hk != 0 ||
      !v.shape[3].getConstant())
    return node.error() << "expected known head sizes and query heads that are "
                           "a multiple of the key heads, but got "
                        << node.describe(q.shape) << " and "
                        << node.describe(k.shape);
  Shape shape{q.shape[0], q.shape[1], q.shape[2], v.shape[3]};
  HK_TRY(type, node.type(q.dtype, shape));
  SmallVector<Value> reads;
  SmallVector<unsigned> dims;
  std::optional<Tensor> table;
  if (a.mask) {
    HK_TRY(made, maskDims(node, *a.mask,
                          {q.shape[0], q.shape[2], q.shape[1], k.shape[keys]}));
    table = made.first;
    dims = made.second;
    reads.push_back(table->value);
  }
  OpBuilder &b = node.b;
  CacheLayout layout =
      a.headMajor ? CacheLayout::head_major : CacheLayout::token_major;
  double scale = a.scale.value_or(1.0 / std::sqrt(double(*size)));
  OperationState state(node.loc, AttentionOp::getOperationName());
  AttentionOp::build(
      b, state, type, /*lse=*/Type(), q.value, k.value, v.value,
      /*q_offsets=*/Value(), /*kv_offsets=*/Value(), a.lengths,
      /*block_table=*/Value(), /*table_offsets=*/Value(), a.sink,
      /*q_scale=*/Value(), /*k_scale=*/Value(), /*v_scale=*/Value(), reads,
      b.getF32FloatAttr(scale), a.causal ? b.getUnitAttr() : UnitAttr(),
      /*past=*/UnitAttr(),
      a.windowLeft ? b.getI64IntegerAttr(*a.windowLeft) : IntegerAttr(),
      a.windowRight ? b.getI64IntegerAttr(*a.windowRight) : IntegerAttr(),
      a.softcap != 0 ? b.getF32FloatAttr(a.softcap) : FloatAttr(),
      NormalizerAttr::get(b.getContext(), Normalizer::softmax),
      /*p_type=*/TypeAttr(), /*q_block=*/IntegerAttr(),
      /*k_block=*/IntegerAttr(), CacheLayoutAttr::get(b.getContext(), layout),
      CacheLayoutAttr::get(b.getContext(), layout),
      /*kv_slices=*/IntegerAttr());
  auto op = cast<AttentionOp>(b.create(state));
  if (table)
    addMask(node, op, *table, dims,
            table->rank() == 1 && table->shape[0].isConstant(1));
  return Tensor{op.getResult(), q.dtype, shape};
}
