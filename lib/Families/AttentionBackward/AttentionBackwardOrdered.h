//===- AttentionBackwardOrdered.h - Sizes of sums in order ------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch of runtime/kernels/attention/backward/sm90/ordered.h in sizes, where
// a variant's grid is made and where the launch gets its memory.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_ATTENTIONBACKWARD_ATTENTIONBACKWARDORDERED_H
#define HK_FAMILIES_ATTENTIONBACKWARD_ATTENTIONBACKWARDORDERED_H

#include "../Launch.h"
#include "AttentionBackwardPlan.h"

namespace mlir::hk {

/// All of type index.
class OrderedBackwardLaunch {
public:
  OrderedBackwardLaunch(const AttentionBackwardPlan &plan,
                        const ::hk::Target &target, LaunchBuilder &launch);

  /// Whether the sizes are such that it pays (i1): long sequences, ragged ones
  /// on average, and enough blocks.
  Value getPays();

  /// Blocks but for those of sinks; tiles of queries of all heads; tiles of
  /// keys of all key heads.
  Value blocks, parts, keyTiles;

private:
  void dense();
  void ragged();

  const AttentionBackwardPlan &plan;
  const ::hk::Target &target;
  LaunchBuilder &launch;
  Value queries, keys, sequences;
  /// Blocks that own keys, those of ragged sequences as if these were whole
  /// tiles.
  Value owners;
};

} // namespace mlir::hk

#endif // HK_FAMILIES_ATTENTIONBACKWARD_ATTENTIONBACKWARDORDERED_H
