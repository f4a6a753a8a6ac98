//===- Conv1dPlan.h - What one causal convolution computes -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The facts that match, tiles and emit share: the convolution, and which of its
// channels each value of the epilogue holds where.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_CONV1D_CONV1DPLAN_H
#define HK_FAMILIES_CONV1D_CONV1DPLAN_H

#include "hk/Families/Family.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::hk {

/// What a dim of a value runs over. Unit: one element.
enum class Conv1dRole { Unit, Sequence, Token, Channel };

/// Where the elements of a value come from: its Channel dims, taken together,
/// are the convolution's channels from `begin` on.
struct Conv1dPlace {
  SmallVector<Conv1dRole> roles;
  int64_t begin = 0;

  bool operator==(const Conv1dPlace &other) const {
    return roles == other.roles && begin == other.begin;
  }
};

class Conv1dPlan {
public:
  explicit Conv1dPlan(const DimSymbols &dims) : dims(dims) {}
  /// A kernel that has been matched.
  Conv1dPlan(KernelOp kernel, const DimSymbols &dims);

  /// Adds an op whose operands, as far as they are members, were added before.
  /// The first one is the convolution.
  Verdict add(Operation *op);

  CausalConv1dOp getConv() const { return conv; }
  const Conv1dPlace &placeOf(Value value) const {
    return places.find(value)->second;
  }
  /// Whether `value` is of the kernel's members.
  bool has(Value value) const { return places.contains(value); }
  /// Product of the sizes of the Channel dims.
  int64_t numChannels(Value value) const;
  bool isChannelLast() const {
    return CausalConv1dOp(conv).getLayout() == Conv1dLayout::channel_last;
  }
  /// A power of two that divides all runs of consecutive channels.
  int64_t channelDivisor() const;
  /// The static number of tokens of every sequence; 0: not known.
  int64_t staticTokens() const;

private:
  Verdict refuse(Operation *op, Reason reason, const Twine &why) const {
    return Verdict::refuse(reason, op->getName().getStringRef() + " " + why);
  }
  Verdict addConv(CausalConv1dOp op);
  Verdict addSlice(tensor::ExtractSliceOp op);
  Verdict addReshape(Operation *op, Value source, Value result, bool expands,
                     ArrayRef<ReassociationIndices> groups);
  Verdict addPointwise(Operation *op);
  Verdict addPlace(Operation *op, Conv1dPlace place);

  const DimSymbols &dims;
  CausalConv1dOp conv;
  llvm::DenseMap<Value, Conv1dPlace> places;
  SmallVector<Value> order; // of `places`
};

/// Family entry points, one file each.
LogicalResult addConv1dVariants(KernelOp kernel, const ::hk::Target &target,
                                DecisionLog &log);
LogicalResult emitConv1d(KernelOp kernel, const ::hk::Target &target,
                         StringRef prefix, raw_ostream &os);

} // namespace mlir::hk

#endif // HK_FAMILIES_CONV1D_CONV1DPLAN_H
