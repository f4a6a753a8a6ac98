//===- MqaLogits.h - The kernel of an indexer's logits -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// hk.mqa_logits as a kernel of the attention family: verdict, tiles, emission.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_ATTENTION_MQALOGITS_H
#define HK_FAMILIES_ATTENTION_MQALOGITS_H

#include "hk/Contract/MqaLogits.h"
#include "hk/Families/Family.h"

namespace mlir::hk {

/// The facts that tiles and emission share. Operand numbers are those of the
/// kernel; -1: absent.
struct MqaLogitsKernel {
  /// Fails with an error when the body is not one hk.mqa_logits over block
  /// arguments.
  static FailureOr<MqaLogitsKernel> create(KernelOp kernel);

  MqaLogitsOp op;
  int64_t query, key, weights, keyScales, starts, ends, kvLens, blockTable;
  int64_t result;
  ::hk::MqaLogitsShape shape;
  /// Bytes that every row of queries and keys is aligned to.
  int64_t align;
};

/// Whether there is a kernel for `op` at all.
Verdict checkMqaLogits(MqaLogitsOp op);
/// Whether the kernel's body is an hk.mqa_logits.
bool isMqaLogits(KernelOp kernel);
LogicalResult addMqaLogitsVariants(KernelOp kernel, const ::hk::Target &target,
                                   DecisionLog &log);
LogicalResult emitMqaLogits(KernelOp kernel, StringRef prefix, raw_ostream &os);

} // namespace mlir::hk

#endif // HK_FAMILIES_ATTENTION_MQALOGITS_H
