//===- Heads.h - Attention as operators describe it ----------- -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the attention operators of ONNX and of ORT have in common: heads out of
// packed rows, masks as a score region, one hk.attention.
//
//===----------------------------------------------------------------------===//

#ifndef HK_IMPORT_ONNX_HEADS_H
#define HK_IMPORT_ONNX_HEADS_H

#include "Node.h"

namespace mlir::hk::importer {

struct Attention {
  Tensor query;      // [B, Sq, Hq, D]
  Tensor key, value; // [B, Sk, Hk, D], or with headMajor [B, Hk, Sk, D]
  bool headMajor = false;
  std::optional<double> scale; // 1 / sqrt(D) unless given
  bool causal = false;         // the last query sees the last key
  std::optional<int64_t> windowLeft, windowRight;
  double softcap = 0; // 0: none
  Value lengths;      // i32 [B], or null
  Value sink;         // f32 [Hq], or null
  /// Added to the scores if real; which keys are seen if bool. Broadcast to
  /// [B, Hq, Sq, Sk].
  std::optional<Tensor> mask;
};

/// [B, Sq, Hq, Dv]
FailureOr<Tensor> attend(Node &node, const Attention &attention);

/// Which keys are there, input `i` of ORT's operators: the length of each
/// sequence, int32 [B], becomes `lengths`; 1 for a key and 0 for none, int32
/// [B, Sk] or [B, Sq, Sk], a mask that adds the attribute mask_filter_value.
LogicalResult readPadding(Node &node, size_t i, Attention &attention);
/// The mask of padding, if there is one, and input `i`, which is added to the
/// scores.
LogicalResult addBias(Node &node, size_t i, Attention &attention);

/// [B, S, H * D] as [B, S, H, D].
FailureOr<Tensor> partHeads(Node &node, const Tensor &x, int64_t heads);
/// [B, S, H, D] as [B, S, H * D].
FailureOr<Tensor> joinHeads(Node &node, const Tensor &x);

/// hk.rope of [B, S, H, D]. Tables are [P, R / 2] with positions [B, S], or
/// [B, S, R / 2] without.
FailureOr<Tensor> rotate(Node &node, const Tensor &x, const Tensor &cos,
                         const Tensor &sin, const Tensor *positions,
                         bool interleaved);

/// Input `past` [B, H, P, D], if there is one, then the keys or values x
/// [B, H, S, D], which is also result `present`.
FailureOr<Tensor> withPast(Node &node, size_t past, size_t present,
                           const Tensor &x);

/// com.microsoft.GroupQueryAttention and MultiHeadAttention.
LogicalResult groupQueryAttention(Node &node);
LogicalResult multiHeadAttention(Node &node);

} // namespace mlir::hk::importer

#endif // HK_IMPORT_ONNX_HEADS_H
