//===- Rotary.cpp - Rotary embeddings of ONNX -----------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RotaryEmbedding of ONNX and of ORT, which differ in the order of their
// inputs.
//
//===----------------------------------------------------------------------===//

#include "Heads.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

FailureOr<Tensor> mlir::hk::importer::rotate(Node &node, const Tensor &x,
                                             const Tensor &cos,
                                             const Tensor &sin,
                                             const Tensor *positions,
                                             bool interleaved) {
  int64_t rank = positions ? 2 : 3;
  if (cos.rank() != rank || sin.rank() != rank)
    return node.error() << "expected tables of rank " << rank << ", but got "
                        << node.describe(cos.shape) << " and "
                        << node.describe(sin.shape);
  Size rotated = cos.shape.back() * 2;
  if (!rotated.getConstant() || !x.shape.back().getConstant() ||
      *rotated.getConstant() > *x.shape.back().getConstant())
    return node.error() << "expected tables for at most "
                        << node.graph.symbols.describe(x.shape.back())
                        << " elements of a head, but got "
                        << node.graph.symbols.describe(rotated);
  auto style = RopeStyleAttr::get(
      node.b.getContext(), interleaved ? RopeStyle::gptj : RopeStyle::neox);
  // Angles of one sequence for all of them: a row for each position.
  if (!positions && cos.shape[0].isConstant(1) && sin.shape[0].isConstant(1) &&
      !x.shape[0].isConstant(1)) {
    HK_TRY(rowsCos, node.reshape(cos, {cos.shape[1], cos.shape[2]}));
    HK_TRY(rowsSin, node.reshape(sin, {sin.shape[1], sin.shape[2]}));
    HK_TRY(made, node.type(x.dtype, x.shape));
    return Tensor{RopeOp::create(node.b, node.loc, made, style, x.value,
                                 rowsCos.value, rowsSin.value,
                                 /*positions=*/Value(), /*offsets=*/Value(),
                                 /*bounds=*/Value(),
                                 node.b.getI64IntegerAttr(1)),
                  x.dtype, x.shape};
  }
  // One row for each token: the tables' row is its position, or the token's
  // own.
  Size tokens = x.shape[0] * x.shape[1];
  HK_TRY(rows, node.reshape(x, {tokens, x.shape[2], x.shape[3]}));
  Tensor c = cos, s = sin;
  Value places;
  if (positions) {
    HK_TRY(flat, node.reshape(*positions, tokens));
    places = flat.value;
  } else {
    HK_TRY(flatCos, node.reshape(cos, {tokens, cos.shape.back()}));
    HK_TRY(flatSin, node.reshape(sin, {tokens, sin.shape.back()}));
    c = flatCos, s = flatSin;
  }
  HK_TRY(type, node.type(x.dtype, rows.shape));
  auto op = RopeOp::create(node.b, node.loc, type, style, rows.value, c.value,
                           s.value, places,
                           /*offsets=*/Value(), /*bounds=*/Value());
  return node.reshape(Tensor{op, x.dtype, rows.shape}, x.shape);
}

/// Inputs `cos` and the next are the tables, `positions` is [B, S].
static LogicalResult rotary(Node &node, size_t cosInput, size_t positionInput) {
  HK_TRY(x, node.tensor(0));
  HK_TRY(cos, node.tensor(cosInput));
  HK_TRY(sin, node.tensor(cosInput + 1));
  int64_t heads = node.integer("num_heads", 0),
          size = node.integer("rotary_embedding_dim", 0);
  bool interleaved = node.integer("interleaved", 0) != 0;
  if (size != 0 &&
      !(cos.shape.empty() ? false : cos.shape.back() * 2 == Size(size)))
    return node.error() << "expected tables of " << size / 2
                        << " columns, half of rotary_embedding_dim, but got "
                        << node.describe(cos.shape);
  std::optional<Tensor> positions;
  if (node.has(positionInput)) {
    HK_TRY(given, node.tensor(positionInput));
    if (given.rank() != 2 || (given.dtype != kInt64 && given.dtype != kInt32))
      return node.error()
             << "expected positions of [batch, sequence] integers, "
                "but got "
             << node.describe(given.shape) << " of " << dtypeName(given.dtype);
    positions = given;
  }
  if (x.rank() != 3 && x.rank() != 4)
    return node.error() << "expected an input of rank 3 or 4, but got "
                        << node.describe(x.shape);
  const Tensor *places = positions ? &*positions : nullptr;
  if (x.rank() == 4) {
    HK_TRY(rows, node.transpose(x, {0, 2, 1, 3}));
    HK_TRY(made, rotate(node, rows, cos, sin, places, interleaved));
    HK_TRY(result, node.transpose(made, {0, 2, 1, 3}));
    return node.result(0, result);
  }
  // Without a number of heads, ORT takes it from the tables.
  if (heads == 0 && size == 0 && !cos.shape.empty()) {
    Size found = node.graph.symbols.floorDiv(node.b, node.loc, x.shape[2],
                                             cos.shape.back() * 2);
    heads = found.getConstant().value_or(0);
  }
  HK_TRY(rows, partHeads(node, x, heads));
  HK_TRY(made, rotate(node, rows, cos, sin, places, interleaved));
  HK_TRY(result, joinHeads(node, made));
  return node.result(0, result);
}

static LogicalResult standard(Node &node) { return rotary(node, 1, 3); }

static LogicalResult contrib(Node &node) {
  if (failed(node.only("is_packed_batching", 0, "batches are not packed")))
    return failure();
  if (double scale = node.real("scale", 1); scale != 1)
    return node.error() << "expected attribute 'scale' to be 1, but got "
                        << scale;
  return rotary(node, 2, 1);
}

ArrayRef<Operator> mlir::hk::importer::rotaryOperators() {
  static const Operator table[] = {
      {"", "RotaryEmbedding", 23, 3, 4, standard, ""},
      {"com.microsoft", "RotaryEmbedding", 1, 4, 4, contrib,
       "positions for each token, scale 1"},
  };
  return table;
}
