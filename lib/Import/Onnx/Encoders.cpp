//===- Encoders.cpp - What ORT's optimiser fuses of encoders --------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// com.microsoft.Attention, which has the projections in it, the masks that it
// and MultiHeadAttention share, and EmbedLayerNormalization's sum of rows.
//
//===----------------------------------------------------------------------===//

#include "Encoders.h"
#include "Heads.h"
#include "Products.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

/// Which keys are in front of the end of their sequence, [B, Sk].
/// hk.attention's lengths would also move the queries: with them the last one
/// sees the last key, and ORT's first one sees the first.
static FailureOr<Tensor> isBelow(Node &node, const Attention &a,
                                 const Tensor &lengths) {
  HK_TRY(places, node.places(a.key, a.headMajor ? 2 : 1, kInt32));
  HK_TRY(ends, node.reshape(lengths, {lengths.shape[0], Size(1)}));
  return node.compare(ComparePredicate::lt, places, ends);
}

LogicalResult mlir::hk::importer::readPadding(Node &node, size_t i,
                                              Attention &a) {
  double filter = node.real("mask_filter_value", -10000);
  if (!node.has(i))
    return success();
  if (filter > -1e3)
    return node.error() << "expected attribute 'mask_filter_value' to be far "
                           "below every score, but got "
                        << filter;
  HK_TRY(mask, node.tensor(i));
  const Size &batch = a.query.shape[0];
  if (mask.dtype != kInt32 || mask.rank() < 1 || mask.rank() > 3 ||
      (mask.shape[0] != batch && !mask.shape[0].isConstant(1)) ||
      (mask.rank() == 1 && mask.shape[0] != batch))
    return node.error() << "expected input #" << i
                        << ", the padding, to be the length of each sequence, "
                           "int32 [batch], or to name its keys, int32 [batch, "
                           "keys] or [batch, queries, keys], but got "
                        << dtypeName(mask.dtype) << " "
                        << node.describe(mask.shape);
  bool isCausal = node.integer("unidirectional", 0) != 0;
  if (mask.rank() == 1 && !isCausal) {
    a.lengths = mask.value;
    return success();
  }
  FailureOr<Tensor> isKey = failure();
  if (mask.rank() == 1) {
    isKey = isBelow(node, a, mask);
  } else {
    HK_TRY(zero, node.scalar(0, kInt32));
    isKey = node.compare(ComparePredicate::gt, mask, zero);
  }
  if (failed(isKey))
    return failure();
  HK_TRY(seen, node.scalar(0, kFloat));
  HK_TRY(hidden, node.scalar(filter, kFloat));
  HK_TRY(added, node.select(*isKey, seen, hidden));
  // [B, 1, Sq or 1, Sk]
  Shape shape{added.shape[0], 1};
  if (added.rank() == 2)
    shape.push_back(1);
  shape.append(added.shape.begin() + 1, added.shape.end());
  HK_TRY(made, node.reshape(added, shape));
  a.mask = made;
  return success();
}

LogicalResult mlir::hk::importer::addBias(Node &node, size_t i, Attention &a) {
  if (!node.has(i))
    return success();
  HK_TRY(bias, node.realTensor(i));
  if (!a.mask) {
    a.mask = bias;
    return success();
  }
  HK_TRY(wide, node.cast(bias, kFloat));
  HK_TRY(both, node.binary<AddOp>(*a.mask, wide));
  a.mask = both;
  return success();
}

/// The columns of queries, keys and values: a third each, unless the attribute
/// says otherwise.
static FailureOr<SmallVector<Size>> widths(Node &node, const Size &columns) {
  if (auto list = node.integerList("qkv_hidden_sizes");
      list && !list->empty()) {
    if (list->size() != 3 || (*list)[0] != (*list)[1])
      return node.error() << "expected attribute 'qkv_hidden_sizes' to have "
                             "three sizes, those of queries and keys equal";
    SmallVector<Size> sizes(list->begin(), list->end());
    if (sizes[0] + sizes[1] + sizes[2] != columns)
      return node.error() << "expected attribute 'qkv_hidden_sizes' to add up "
                             "to the columns of the weight, but they are "
                          << node.graph.symbols.describe(columns);
    return sizes;
  }
  std::optional<Size> third = columns.exactDiv(3);
  if (!third)
    return node.error() << "expected a weight of three times as many columns "
                           "as heads have, but got "
                        << node.graph.symbols.describe(columns);
  return SmallVector<Size>(3, *third);
}

/// Keys and values behind the cache, input 4 [2, B, H, P, D], together
/// output 1.
static LogicalResult addCache(Node &node, Attention &a) {
  if (!node.has(4) && !node.wants(1))
    return success();
  a.headMajor = true;
  SmallVector<Tensor> whole;
  Tensor *sides[] = {&a.key, &a.value};
  for (auto [i, side] : llvm::enumerate(sides)) {
    HK_TRY(turned, node.transpose(*side, {0, 2, 1, 3}));
    *side = turned;
    if (node.has(4)) {
      HK_TRY(past, node.tensor(4));
      if (past.rank() != 5 || !past.shape[0].isConstant(2))
        return node.error()
               << "expected a cache [2, batch, heads, keys, size], "
                  "but got "
               << node.describe(past.shape);
      HK_TRY(half, node.slice(past, 0, int64_t(i), 1));
      HK_TRY(before, node.reshape(half, ArrayRef(past.shape).drop_front()));
      HK_TRY(both, node.concat(2, {before, turned}));
      *side = both;
    }
    Shape shape{1};
    shape.append(side->shape.begin(), side->shape.end());
    HK_TRY(part, node.reshape(*side, shape));
    whole.push_back(part);
  }
  if (!node.wants(1))
    return success();
  HK_TRY(present, node.concat(0, whole));
  return node.result(1, present);
}

/// Inputs: x [B, S, I], weight [I, columns], bias, padding, cache, what is
/// added to the scores.
LogicalResult mlir::hk::importer::projectedAttention(Node &node) {
  if (failed(node.only("do_rotary", 0, "rotary embeddings are of inputs")) ||
      failed(node.only("past_present_share_buffer", 0,
                       "a cache is returned longer")))
    return failure();
  node.integer("rotary_embedding_dim", 0);
  if (node.has(6))
    return node.error() << "input #6, of a shared cache, is not supported";
  HK_TRY(x, node.realTensor(0));
  HK_TRY(weight, node.realTensor(1));
  if (x.rank() != 3 || weight.rank() != 2)
    return node.error() << "expected rows [batch, sequence, columns] and a "
                           "matrix, but got "
                        << node.describe(x.shape) << " and "
                        << node.describe(weight.shape);
  HK_TRY(product, matmul(node, x, weight, false, false, x.dtype));
  Tensor rows = product;
  if (node.has(2)) {
    HK_TRY(bias, node.realTensor(2));
    HK_TRY(sum, node.binary<AddOp>(product, bias));
    rows = sum;
  }
  Attention a;
  HK_TRY(sizes, widths(node, weight.shape[1]));
  Size offset(0);
  int64_t heads = node.integer("num_heads", 0);
  Tensor *parts[] = {&a.query, &a.key, &a.value};
  for (auto [part, size] : llvm::zip_equal(parts, sizes)) {
    HK_TRY(columns, node.slice(rows, 2, offset, size));
    HK_TRY(parted, partHeads(node, columns, heads));
    *part = parted;
    offset = offset + size;
  }
  if (failed(addCache(node, a)) || failed(readPadding(node, 3, a)) ||
      failed(addBias(node, 5, a)))
    return failure();
  if (double scale = node.real("scale", 0); scale != 0)
    a.scale = scale;
  a.causal = node.integer("unidirectional", 0) != 0;
  HK_TRY(made, attend(node, a));
  HK_TRY(result, joinHeads(node, made));
  return node.result(0, result);
}

/// How many elements of a row are 1, int32 [B]: the total of prefix sums, as
/// for sums of integers.
static FailureOr<Tensor> onesOf(Node &node, const Tensor &mask) {
  HK_TRY(one, node.scalar(1, mask.dtype));
  HK_TRY(zero, node.scalar(0, kInt32));
  HK_TRY(count, node.scalar(1, kInt32));
  HK_TRY(isOne, node.compare(ComparePredicate::eq, mask, one));
  HK_TRY(ones, node.select(isOne, count, zero));
  HK_TRY(sums, node.offsets(ones, 1, kInt32));
  HK_TRY(total, node.slice(sums, 1, ones.shape[1], 1));
  return node.reshape(total, {total.shape[0]});
}

/// Rows of table `table` for the indices that are input `i`.
static FailureOr<Tensor> rowsAt(Node &node, size_t table, size_t i) {
  HK_TRY(rows, node.realTensor(table));
  if (rows.rank() != 2)
    return node.error() << "expected input #" << table
                        << " to be a table of rows, but got "
                        << node.describe(rows.shape);
  HK_TRY(indices, indicesInto(node, i, rows.shape[0]));
  return gatherAlong(node, rows, 0, indices);
}

FailureOr<Tensor> mlir::hk::importer::embeddedRows(Node &node) {
  node.integer("mask_index_type", 0); // only for the shape of output 1
  for (size_t i : {2, 3, 5, 6})
    if (!node.has(i))
      return node.error() << "expected input #" << i << ", but it is left out";
  HK_TRY(words, rowsAt(node, 2, 0));
  if (words.rank() != 3)
    return node.error() << "expected ids [batch, sequence], but their rows are "
                        << node.describe(words.shape);
  FailureOr<Tensor> places = failure();
  if (node.has(8)) {
    places = rowsAt(node, 3, 8);
  } else {
    HK_TRY(table, node.realTensor(3));
    places = node.slice(table, 0, 0, words.shape[1]);
  }
  if (failed(places))
    return failure();
  HK_TRY(sum, node.binary<AddOp>(words, *places));
  Tensor made = sum;
  if (node.has(1)) {
    if (!node.has(4))
      return node.error() << "expected input #4, the rows of segments, with "
                             "input #1, but it is left out";
    HK_TRY(segments, rowsAt(node, 4, 1));
    HK_TRY(all, node.binary<AddOp>(sum, segments));
    made = all;
  }
  if (node.wants(1)) {
    if (!node.has(7))
      return node.error() << "output #1, the lengths, needs input #7, the mask";
    HK_TRY(mask, node.tensor(7));
    if (mask.dtype != kInt32 || mask.rank() != 2)
      return node.error() << "expected a mask of int32 [batch, sequence], but "
                             "got "
                          << dtypeName(mask.dtype) << " "
                          << node.describe(mask.shape);
    HK_TRY(lengths, onesOf(node, mask));
    if (failed(node.result(1, lengths)))
      return failure();
  }
  if (failed(node.result(2, made)))
    return failure();
  return made;
}
