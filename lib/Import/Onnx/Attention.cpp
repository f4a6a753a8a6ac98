//===- Attention.cpp - Attention of ONNX ----------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention (opset 23), and the table of what ORT has beside it; caches that
// are written in place are in GroupQueryAttention.cpp.
//
//===----------------------------------------------------------------------===//

#include "Encoders.h"
#include "Heads.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

/// Input `i` as heads [B, S, H, D] (`byToken`) or [B, H, S, D]; it is either
/// [B, H, S, D] or [B, S, H * D].
static FailureOr<Tensor> headsOf(Node &node, size_t i, int64_t heads,
                                 bool byToken) {
  HK_TRY(x, node.tensor(i));
  Tensor made = x;
  bool isByToken = x.rank() == 3;
  if (isByToken) {
    HK_TRY(parted, partHeads(node, x, heads));
    made = parted;
  } else if (x.rank() != 4) {
    return node.error() << "expected input #" << i
                        << " to have 3 or 4 dims, but got "
                        << node.describe(x.shape);
  }
  return isByToken == byToken ? FailureOr<Tensor>(made)
                              : node.transpose(made, {0, 2, 1, 3});
}

FailureOr<Tensor> mlir::hk::importer::withPast(Node &node, size_t past,
                                               size_t present,
                                               const Tensor &x) {
  Tensor whole = x;
  if (node.has(past)) {
    HK_TRY(before, node.tensor(past));
    HK_TRY(both, node.concat(2, {before, x}));
    whole = both;
  }
  if (node.wants(present) && failed(node.result(present, whole)))
    return failure();
  return whole;
}

/// The first `count` keys, values and columns of a mask.
static LogicalResult cutKeys(Node &node, Attention &a, const Size &count) {
  for (Tensor *side : {&a.key, &a.value}) {
    HK_TRY(cut, node.slice(*side, 2, 0, count));
    *side = cut;
  }
  if (a.mask && a.mask->rank() > 0 && !a.mask->shape.back().isConstant(1)) {
    HK_TRY(cut, node.slice(*a.mask, a.mask->rank() - 1, 0, count));
    a.mask = cut;
  }
  return success();
}

/// is_causal and the windows of query i, which see keys up to p + right and
/// from p - left on, where p is i plus the keys in front of all queries: those
/// of the past, `before`, or with lengths all but as many as there are queries.
/// hk's p always counts from the last key, `extra` keys further on.
static LogicalResult restrictKeys(Node &node, Attention &a,
                                  const Size &before) {
  bool causal = node.integer("is_causal", 0) != 0;
  int64_t left = node.integer("left_window_size", -1),
          right = node.integer("right_window_size", -1);
  if (left < -1 || right < -1)
    return node.error() << "expected window sizes of at least -1, but got "
                        << left << " and " << right;
  if (causal)
    right = 0;
  if (left < 0 && right < 0)
    return success();
  int64_t extra = 0;
  if (!a.lengths) {
    const Size queries = a.query.shape[1], keys = a.key.shape[2];
    std::optional<int64_t> known = (keys - before - queries).getConstant();
    if (!known)
      return node.error() << "expected a known difference of the numbers of "
                             "keys and queries under is_causal or a window, "
                             "but got "
                          << node.graph.symbols.describe(keys) << " and "
                          << node.graph.symbols.describe(queries);
    extra = *known;
    if (right >= 0 && extra > right) {
      // No query sees the keys behind.
      if (failed(cutKeys(node, a, before + queries + right)))
        return failure();
      extra = right;
    }
  }
  if (left >= 0 && left + extra < 0)
    return node.error() << "expected keys in the window of the last query, but "
                           "got left_window_size "
                        << left;
  if (left >= 0)
    a.windowLeft = left + extra;
  a.causal = right == extra;
  if (right > extra)
    a.windowRight = right - extra;
  return success();
}

static LogicalResult attention(Node &node) {
  if (failed(node.only("qk_matmul_output_mode", 0, "scores are not kept")))
    return failure();
  if (node.wants(3))
    return node.error() << "output #3, the scores, is not supported: they are "
                           "never in memory";
  node.integer("softmax_precision", 1); // always f32
  int64_t qHeads = node.integer("q_num_heads", 0),
          kvHeads = node.integer("kv_num_heads", 0);
  bool packed = node.input(0).shape.size() == 3;
  Attention a;
  HK_TRY(q, headsOf(node, 0, qHeads, /*byToken=*/true));
  HK_TRY(k, headsOf(node, 1, kvHeads, /*byToken=*/false));
  HK_TRY(v, headsOf(node, 2, kvHeads, /*byToken=*/false));
  HK_TRY(keys, withPast(node, 4, 1, k));
  HK_TRY(values, withPast(node, 5, 2, v));
  a.query = q, a.key = keys, a.value = values;
  a.headMajor = true;
  if (node.hasAttribute("scale"))
    a.scale = node.real("scale", 0);
  a.softcap = node.real("softcap", 0);
  if (node.has(3)) {
    HK_TRY(mask, node.tensor(3));
    if (a.softcap != 0)
      return node.error() << "attribute 'softcap' together with a mask is not "
                             "supported: hk caps scores before it masks";
    a.mask = mask;
  }
  if (node.has(6)) {
    HK_TRY(lengths, node.tensor(6));
    HK_TRY(narrow, node.cast(lengths, kInt32));
    a.lengths = narrow.value;
  }
  Size before = keys.shape[2] - k.shape[2];
  if (failed(restrictKeys(node, a, before)))
    return failure();
  HK_TRY(made, attend(node, a));
  FailureOr<Tensor> result =
      packed ? joinHeads(node, made) : node.transpose(made, {0, 2, 1, 3});
  return failed(result) ? failure() : node.result(0, *result);
}

ArrayRef<Operator> mlir::hk::importer::attentionOperators() {
  constexpr const char *kMs = "com.microsoft";
  static const Operator table[] = {
      {"", "Attention", 23, 3, 7, attention,
       "no scores as a result, no softcap with a mask"},
      {kMs, "MultiHeadAttention", 1, 1, 10, multiHeadAttention,
       "lengths or int32 keys as the padding; a cache that it returns longer"},
      {kMs, "Attention", 1, 2, 7, projectedAttention,
       "lengths or int32 keys as the padding; a cache that it returns longer"},
      {kMs, "GroupQueryAttention", 1, 1, 16, groupQueryAttention,
       "a cache of known size (--dim), written in place; no quantised cache"},
  };
  return table;
}
