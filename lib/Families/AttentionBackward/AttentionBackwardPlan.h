//===- AttentionBackwardPlan.h - What one gradient kernel computes ----===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operands of a kernel of the family, by their number, and the facts that
// tiles and emission need.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_ATTENTIONBACKWARD_ATTENTIONBACKWARDPLAN_H
#define HK_FAMILIES_ATTENTIONBACKWARD_ATTENTIONBACKWARDPLAN_H

#include "hk/Contract/AttentionBackwardTiles.h"
#include "hk/Families/Family.h"

namespace mlir::hk {

/// Numbers of the kernel's arguments; -1: there is none.
struct AttentionBackwardOperands {
  int64_t query, key, value, gradient, lse = -1, delta = -1;
  int64_t qOffsets = -1, kvOffsets = -1, sink = -1;
  SmallVector<int64_t> reads; // of the regions
  int64_t dquery = -1, dkey = -1, dvalue = -1, dsink = -1, dbias = -1;
  /// Where dq is summed, and the words that say whose turn it is.
  int64_t sums = -1, turns = -1;
};

class AttentionBackwardPlan {
public:
  /// Fails with an error when the body is not one hk.attention_backward over
  /// block arguments.
  static FailureOr<AttentionBackwardPlan> create(KernelOp kernel);

  KernelOp getKernel() const { return kernel; }
  AttentionBackwardOp getOp() const { return op; }
  const AttentionBackwardOperands &getOperands() const { return operands; }
  const ::hk::AttentionBackwardShape &getShape() const { return shape; }

  ::hk::DType getOutType() const;
  bool hasRegions() const {
    return !op.getScore().empty() || !op.getWeight().empty();
  }
  int64_t getKeyHeads() const;
  /// Query heads per key head.
  int64_t getGroup() const;
  /// Size of a dim of an operand: a constant or a symbol of the kernel.
  DimName dim(int64_t operand, int64_t index) const;
  /// Queries and keys of one sequence, or of all ragged ones.
  DimName getQueries() const;
  DimName getKeys() const;

  /// Whether the warp-specialised loop of sm_90a can compute the kernel.
  Verdict getBulkVerdict(const ::hk::Target &target) const;
  /// Whether blocks of that may sum dq in order, and it may pay.
  Verdict getOrderedVerdict(const ::hk::Target &target) const;
  /// Whether they then do in every call: all sizes are known.
  bool isOrderedForAll() const;
  /// Heads of a group that their blocks walk over, and how many such there are
  /// of a sequence.
  int64_t getOrderedHeads() const;
  int64_t getOrderedPairs() const;

private:
  AttentionBackwardPlan(KernelOp kernel, AttentionBackwardOp op)
      : kernel(kernel), op(op) {}

  // Accessors of ops are not const.
  mutable KernelOp kernel;
  mutable AttentionBackwardOp op;
  AttentionBackwardOperands operands = {};
  ::hk::AttentionBackwardShape shape = {};
};

bool isWarpSpecialised(AttentionBackwardTileAttr tile);
bool sumsInOrder(AttentionBackwardTileAttr tile);
/// Of queries, gradients, keys and values; none for other tiles.
SmallVector<hk_tensor_map_abi>
attentionBackwardTensorMaps(KernelOp kernel, AttentionBackwardTileAttr tile);
/// Family::getOrderedSums.
SmallVector<OwnMemory> attentionBackwardSums(KernelOp kernel,
                                             const ::hk::Target &target,
                                             OpBuilder &builder,
                                             ValueRange symbols);

// Family entry points, one file each.
LogicalResult addAttentionBackwardVariants(KernelOp kernel,
                                           const ::hk::Target &target,
                                           DecisionLog &log);
LogicalResult emitAttentionBackward(KernelOp kernel, StringRef prefix,
                                    raw_ostream &os);

} // namespace mlir::hk

#endif // HK_FAMILIES_ATTENTIONBACKWARD_ATTENTIONBACKWARDPLAN_H
