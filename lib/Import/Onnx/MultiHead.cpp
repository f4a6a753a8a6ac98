//===- MultiHead.cpp - ORT's MultiHeadAttention ---------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Queries, keys and values side by side or each on its own, of a decoder also
// behind a cache, which is a result then: what ORT's optimiser and its model
// builder write of Whisper and BART.
//
//===----------------------------------------------------------------------===//

#include "Heads.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

/// Input `i` of queries, keys and values: rows [B, S, H * D], rows of another
/// input that has several [B, S, H, 3 or 2, D], given as [B, S, H, D], or heads
/// of a cache [B, H, S, D].
static FailureOr<Tensor> rowsOf(Node &node, size_t i, int64_t heads) {
  size_t from = node.has(i) ? i : i == 2 && node.has(1) ? 1 : 0;
  HK_TRY(x, node.tensor(from));
  int64_t parts = node.has(2) ? 1 : node.has(1) ? (from == 0 ? 1 : 2) : 3;
  bool ofCache = x.rank() == 4 && i > 0 && x.shape[1].isConstant(heads);
  if (parts == 1 && (x.rank() == 3 || ofCache))
    return x;
  if (parts == 1 || x.rank() != 5 || !x.shape[2].isConstant(heads) ||
      !x.shape[3].isConstant(parts))
    return node.error() << "expected queries, keys and values of three dims, "
                           "those of a cache of four, or side by side [batch, "
                           "sequence, heads, 3 or 2, size], of "
                        << heads << " heads, but input #" << from << " is "
                        << node.describe(x.shape);
  HK_TRY(part, node.slice(x, 3, int64_t(i - from), 1));
  return node.reshape(part, {x.shape[0], x.shape[1], x.shape[2], x.shape[4]});
}

/// Rows and the part of the bias, input 3, from `offset` on.
static FailureOr<Tensor> withBias(Node &node, const Tensor &x, Size &offset) {
  HK_TRY(bias, node.tensor(3));
  if (bias.rank() != 1)
    return node.error() << "expected a bias of one dim, but got "
                        << node.describe(bias.shape);
  Shape sizes(x.shape.begin() + 2, x.shape.end());
  Size width = sizes.size() == 1 ? sizes[0] : sizes[0] * sizes[1];
  HK_TRY(part, node.slice(bias, 0, offset, width));
  offset = offset + width;
  HK_TRY(shaped, node.reshape(part, sizes));
  return node.binary<AddOp>(x, shaped);
}

/// Query, key and value, keys by token or, where a cache is about, by head.
/// Returns how many keys are new.
static FailureOr<Size> readHeads(Node &node, Attention &a) {
  int64_t heads = node.integer("num_heads", 0);
  Tensor *parts[] = {&a.query, &a.key, &a.value};
  Size offset(0);
  bool given = node.has(2) && node.input(1).shape.size() == 4;
  for (size_t i = 0; i < 3; ++i) {
    HK_TRY(rows, rowsOf(node, i, heads));
    Tensor x = rows;
    // Keys of a cache have their bias.
    if (node.has(3) && !(i > 0 && given)) {
      HK_TRY(sum, withBias(node, x, offset));
      x = sum;
    }
    FailureOr<Tensor> parted = x;
    if (x.rank() == 3)
      parted = partHeads(node, x, heads);
    if (failed(parted))
      return failure();
    *parts[i] = *parted;
  }
  Size added = a.key.shape[given ? 2 : 1];
  a.headMajor = given || node.has(6) || node.wants(1);
  if (!a.headMajor)
    return added;
  for (size_t i : {1, 2}) {
    Tensor x = *parts[i];
    if (!given) {
      HK_TRY(turned, node.transpose(x, {0, 2, 1, 3}));
      x = turned;
    }
    HK_TRY(whole, withPast(node, i + 5, i, x));
    *parts[i] = whole;
  }
  return added;
}

/// Inputs: q, k, v, bias, key_padding_mask, attention_bias, past keys, past
/// values.
LogicalResult mlir::hk::importer::multiHeadAttention(Node &node) {
  for (size_t i = 8; i < node.numInputs(); ++i)
    if (node.has(i))
      return node.error() << "input #" << i
                          << ", of a shared cache, is not supported";
  if (node.wants(3))
    return node.error() << "output #3, the scores, is not supported: they are "
                           "never in memory";
  if (node.has(2) && !node.has(1))
    return node.error() << "expected keys, input #1, beside values";
  if (node.has(6) != node.has(7))
    return node.error() << "expected past keys and values, inputs #6 and #7, "
                           "or neither";
  Attention a;
  HK_TRY(added, readHeads(node, a));
  if (failed(readPadding(node, 4, a)) || failed(addBias(node, 5, a)))
    return failure();
  if (double scale = node.real("scale", 0); scale != 0)
    a.scale = scale;
  if (node.integer("unidirectional", 0)) {
    if (a.query.shape[1] != added)
      return node.error() << "expected as many keys as queries with attribute "
                             "'unidirectional'";
    a.causal = true;
  }
  HK_TRY(made, attend(node, a));
  HK_TRY(result, joinHeads(node, made));
  return node.result(0, result);
}
