//===- GroupQueryAttention.cpp - ORT's attention over a cache -------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GroupQueryAttention of ORT GenAI's graphs: packed or separate rows, rotary
// embedding, the write into a cache that past and present share, attention.
//
// With S tokens a call, sequence b has L[b] = max(seqlens_k[b] + 1, S) keys
// afterwards: a prompt is padded behind, and its padding is never seen by the
// tokens in front. Token i stands at L[b] - S + i.
//
//===----------------------------------------------------------------------===//

#include "Heads.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

namespace {
struct Heads {
  Tensor query, key, value; // [B, S, H, D]
};
/// Where the tokens of a call stand, i32.
struct Places {
  Tensor positions; // [B, S]
  Tensor lengths;   // [B, 1], with this call's tokens
};
} // namespace

/// Queries, keys and values from input 0 alone, or from 0, 1 and 2.
static FailureOr<Heads> rows(Node &node, int64_t heads, int64_t keyHeads) {
  HK_TRY(x, node.tensor(0));
  if (x.rank() != 3)
    return node.error() << "expected queries of three dims, but got "
                        << node.describe(x.shape);
  Heads made;
  if (node.has(1) && node.has(2)) {
    HK_TRY(k, node.tensor(1));
    HK_TRY(v, node.tensor(2));
    HK_TRY(qs, partHeads(node, x, heads));
    HK_TRY(ks, partHeads(node, k, keyHeads));
    HK_TRY(vs, partHeads(node, v, keyHeads));
    return Heads{qs, ks, vs};
  }
  HK_TRY(all, partHeads(node, x, heads + 2 * keyHeads));
  HK_TRY(q, node.slice(all, 2, 0, heads));
  HK_TRY(k, node.slice(all, 2, heads, keyHeads));
  HK_TRY(v, node.slice(all, 2, heads + keyHeads, keyHeads));
  return Heads{q, k, v};
}

/// i32 ones of shape [B, S, 1], of any numbers of that many rows.
static FailureOr<Tensor> ones(Node &node) {
  HK_TRY(rows, node.tensor(0));
  HK_TRY(element, node.slice(rows, 2, 0, 1));
  // NaN becomes 0 as an integer, so that 0 times it is 0, too.
  HK_TRY(number, node.cast(element, kInt32));
  HK_TRY(zero, node.scalar(0, kInt32));
  HK_TRY(one, node.scalar(1, kInt32));
  HK_TRY(zeros, node.binary<MulOp>(number, zero));
  return node.binary<AddOp>(zeros, one);
}

/// Numbers 0, 1, ... along a dim of ones.
static FailureOr<Tensor> count(Node &node, const Tensor &ones, int64_t dim) {
  HK_TRY(type, node.type(ones.dtype, ones.shape));
  OperationState state(node.loc, CumsumOp::getOperationName());
  CumsumOp::build(node.b, state, type, ScanKind::exclusive, ones.value,
                  /*bounds=*/Value(), dim, /*chunk=*/IntegerAttr(),
                  /*reverse=*/false);
  return Tensor{node.b.create(state)->getResult(0), ones.dtype, ones.shape};
}

static FailureOr<Places> placesOf(Node &node, const Tensor &query) {
  Size batch = query.shape[0], tokens = query.shape[1];
  HK_TRY(given, node.tensor(5));
  HK_TRY(last, node.reshape(given, {batch, Size(1)}));
  HK_TRY(narrow, node.cast(last, kInt32));
  HK_TRY(one, node.scalar(1, kInt32));
  HK_TRY(total, node.binary<AddOp>(narrow, one));
  HK_TRY(all, ones(node));
  // Prefix sums with the total behind: the tokens' numbers, and S.
  Shape longer{batch, tokens + 1, Size(1)};
  HK_TRY(type, node.type(kInt32, longer));
  OperationState state(node.loc, CumsumOp::getOperationName());
  CumsumOp::build(node.b, state, type, ScanKind::offsets, all.value,
                  /*bounds=*/Value(), /*dim=*/1, /*chunk=*/IntegerAttr(),
                  /*reverse=*/false);
  Tensor sums{node.b.create(state)->getResult(0), kInt32, longer};
  HK_TRY(numbers, node.slice(sums, 1, 0, tokens));
  HK_TRY(index, node.reshape(numbers, {batch, tokens}));
  HK_TRY(end, node.slice(sums, 1, tokens, 1));
  FailureOr<Tensor> number =
      tokens.getConstant() ? node.scalar(double(*tokens.getConstant()), kInt32)
                           : node.reshape(end, {batch, Size(1)});
  if (failed(number))
    return failure();
  HK_TRY(lengths, node.binary<MaxOp>(total, *number));
  HK_TRY(past, node.binary<SubOp>(lengths, *number));
  HK_TRY(positions, node.binary<AddOp>(index, past));
  return Places{positions, lengths};
}

/// Rows of the cache, [B * S]: those of sequence b begin at b * rows.
static FailureOr<Tensor> slotsOf(Node &node, const Places &places,
                                 const Size &batch, int64_t rows) {
  HK_TRY(most, node.scalar(double(rows), kInt32));
  Tensor slots = places.positions;
  if (!batch.isConstant(1)) {
    HK_TRY(zero, node.scalar(0, kInt32));
    HK_TRY(one, node.scalar(1, kInt32));
    HK_TRY(zeros, node.binary<MulOp>(places.lengths, zero));
    HK_TRY(all, node.binary<AddOp>(zeros, one));
    HK_TRY(sequence, count(node, all, 0));
    HK_TRY(begin, node.binary<MulOp>(sequence, most));
    HK_TRY(moved, node.binary<AddOp>(places.positions, begin));
    slots = moved;
  }
  // A position past the cache is not another sequence's.
  HK_TRY(fits, node.compare(ComparePredicate::lt, places.positions, most));
  HK_TRY(none, node.scalar(-1, kInt32));
  HK_TRY(chosen, node.select(fits, slots, none));
  return node.reshape(chosen, chosen.shape[0] * chosen.shape[1]);
}

/// Writes input `i`, a cache [B, H, rows, D], which output `present` shares.
static FailureOr<Tensor> write(Node &node, size_t i, size_t present,
                               const Tensor &x, const Places &places) {
  if (!node.graph.isArgument(node.inputName(i)))
    return node.error() << "expected cache '" << node.inputName(i)
                        << "' to be an input of the graph";
  // Builders give the size of a head a name.
  if (std::optional<int64_t> size = x.shape[3].getConstant())
    node.graph.fixDim(node.inputName(i), 3, *size);
  HK_TRY(cache, node.tensor(i));
  std::optional<int64_t> rows =
      cache.rank() == 4 ? cache.shape[2].getConstant() : std::nullopt;
  if (!rows)
    return node.error() << "expected cache '" << node.inputName(i)
                        << "' to be [batch, heads, rows, size] of a known "
                           "number of rows, but got "
                        << node.describe(cache.shape)
                        << "; give it, for example --dim="
                        << (cache.rank() == 4
                                ? node.graph.symbols.describe(cache.shape[2])
                                : "past_sequence_length")
                        << "=4096";
  // ORT's buffer of a window forgets; here each position keeps its row.
  int64_t window = node.integer("local_window_size", -1);
  if (node.integer("sliding_window_cache", 0) && *rows <= window)
    return node.error() << "expected cache '" << node.inputName(i)
                        << "' to have rows for whole sequences, also those "
                           "that attribute 'sliding_window_cache' lets ORT "
                           "forget, but it has "
                        << *rows << " for a window of " << window
                        << "; give it as many as the other caches";
  if (cache.dtype != x.dtype)
    return node.error() << "expected a cache of " << dtypeName(x.dtype)
                        << ", but got " << dtypeName(cache.dtype);
  HK_TRY(slots, slotsOf(node, places, x.shape[0], *rows));
  HK_TRY(flat,
         node.reshape(x, {x.shape[0] * x.shape[1], x.shape[2], x.shape[3]}));
  OperationState state(node.loc, KVCacheWriteOp::getOperationName());
  KVCacheWriteOp::build(
      node.b, state, cache.value.getType(), flat.value, slots.value,
      cache.value,
      CacheLayoutAttr::get(node.b.getContext(), CacheLayout::head_major));
  Value written = node.b.create(state)->getResult(0);
  StringRef output =
      present < node.numOutputs() ? node.outputName(present) : StringRef();
  if (failed(
          node.graph.writeState(node.loc, node.inputName(i), output, written)))
    return failure();
  Tensor made{written, cache.dtype, cache.shape};
  if (failed(node.result(present, made)))
    return failure();
  return made;
}

/// rms_norm of each head by input `weight`, when it is given.
static FailureOr<Tensor> headNorm(Node &node, const Tensor &x, size_t weight,
                                  double epsilon) {
  if (!node.has(weight))
    return x;
  HK_TRY(w, node.tensor(weight));
  HK_TRY(type, node.type(x.dtype, x.shape));
  OperationState state(node.loc, RmsNormOp::getOperationName());
  RmsNormOp::build(node.b, state, type, x.value, w.value,
                   node.b.getF32FloatAttr(epsilon), node.b.getF32FloatAttr(0),
                   UnitAttr());
  return Tensor{node.b.create(state)->getResult(0), x.dtype, x.shape};
}

/// Attributes that ask for what hk does not do.
static LogicalResult refuse(Node &node) {
  for (StringRef name : {"k_quant_type", "v_quant_type"})
    if (StringRef kind = node.text(name, "NONE"); kind != "NONE")
      return node.error() << "expected attribute '" << name
                          << "' to be NONE, but got '" << kind << "'";
  for (size_t i = 12; i < std::min<size_t>(node.numInputs(), 14); ++i)
    if (node.has(i))
      return node.error() << "input #" << i
                          << ", a scale of a cache, is not supported";
  if (failed(node.only("kv_cache_bit_width", 0, "caches are not quantised")) ||
      failed(node.only("qk_output", 0, "scores are not kept")) ||
      failed(node.only("causal", 1, "a cache has no later tokens")))
    return failure();
  return success();
}

/// A logit of each head beside its scores: input 11, or 0 where the attribute
/// smooth_softmax is 1; else nothing.
static FailureOr<Value> sinkOf(Node &node, int64_t heads) {
  bool smooth = node.integer("smooth_softmax", 0) == 1;
  if (node.has(11)) {
    HK_TRY(sink, node.tensor(11));
    HK_TRY(real, node.cast(sink, kFloat));
    return real.value;
  }
  if (!smooth)
    return Value();
  HK_TRY(zeros, node.constant(node.graph.store.make(
                                  kFloat, heads, SmallVector<double>(heads, 0)),
                              "hk.zeros"));
  return zeros.value;
}

static LogicalResult embed(Node &node, Heads &heads, const Places &places) {
  bool interleaved = node.integer("rotary_interleaved", 0) != 0;
  if (!node.integer("do_rotary", 0))
    return success();
  HK_TRY(cos, node.tensor(7));
  HK_TRY(sin, node.tensor(8));
  Tensor positions = places.positions;
  if (node.has(9)) {
    HK_TRY(given, node.tensor(9));
    positions = given;
  }
  if (Value row = node.input(7).firstRow) {
    if (node.input(8).firstRow != row)
      return node.error() << "expected cosines and sines that are chosen alike";
    HK_TRY(begin, node.cast(Tensor{row, kInt32, {}}, positions.dtype));
    HK_TRY(moved, node.binary<AddOp>(positions, begin));
    positions = moved;
  }
  for (Tensor *x : {&heads.query, &heads.key}) {
    HK_TRY(made, rotate(node, *x, cos, sin, &positions, interleaved));
    *x = made;
  }
  return success();
}

LogicalResult mlir::hk::importer::groupQueryAttention(Node &node) {
  int64_t qHeads = node.integer("num_heads", 0),
          kvHeads = node.integer("kv_num_heads", 0);
  constexpr int64_t kMostHeads = 1 << 16;
  if (qHeads < 1 || kvHeads < 1 || qHeads > kMostHeads || kvHeads > kMostHeads)
    return node.error() << "expected attributes 'num_heads' and 'kv_num_heads' "
                           "from 1 to "
                        << kMostHeads << ", but got " << qHeads << " and "
                        << kvHeads;
  if (failed(refuse(node)))
    return failure();
  if (!node.has(3) || !node.has(4) || !node.has(5))
    return node.error() << "expected inputs #3, #4 and #5, a cache and "
                           "seqlens_k";
  HK_TRY(heads, rows(node, qHeads, kvHeads));
  double epsilon = node.real("qk_norm_epsilon", 1e-6f);
  HK_TRY(normedQuery,
         headNorm(node, heads.query, 14, node.real("q_norm_epsilon", epsilon)));
  HK_TRY(normedKey,
         headNorm(node, heads.key, 15, node.real("k_norm_epsilon", epsilon)));
  heads.query = normedQuery, heads.key = normedKey;
  HK_TRY(places, placesOf(node, heads.query));
  if (failed(embed(node, heads, places)))
    return failure();
  Attention a;
  a.query = heads.query;
  HK_TRY(keys, write(node, 3, 1, heads.key, places));
  HK_TRY(values, write(node, 4, 2, heads.value, places));
  a.key = keys, a.value = values;
  a.headMajor = true;
  a.causal = true;
  HK_TRY(lengths, node.reshape(places.lengths, heads.query.shape[0]));
  a.lengths = lengths.value;
  if (int64_t window = node.integer("local_window_size", -1); window > 0)
    a.windowLeft = window - 1;
  a.softcap = node.real("softcap", 0);
  if (double scale = node.real("scale", 0); scale != 0)
    a.scale = scale;
  if (node.has(10)) {
    HK_TRY(bias, node.tensor(10));
    if (a.softcap != 0)
      return node.error() << "attribute 'softcap' together with an attention "
                             "bias is not supported";
    a.mask = bias;
  }
  HK_TRY(sink, sinkOf(node, qHeads));
  a.sink = sink;
  HK_TRY(made, attend(node, a));
  HK_TRY(result, joinHeads(node, made));
  return node.result(0, result);
}
