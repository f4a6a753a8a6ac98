//===- Conv1dMatch.cpp - What may join a causal convolution ---------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The epilogue is pointwise. Views may cut the channels in runs and arrange
// them in heads, but not touch time: an element of every member belongs to
// exactly one element of the convolution.
//
//===----------------------------------------------------------------------===//

#include "Conv1dPlan.h"

#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/LoopMaps.h"

using namespace mlir;
using namespace mlir::hk;

Conv1dPlan::Conv1dPlan(KernelOp kernel, const DimSymbols &dims) : dims(dims) {
  for (Operation &op : kernel.getSpecBlock().without_terminator())
    if (!isa<ConstantOp>(op))
      (void)add(&op); // matched before
}

/// Whether some operand has an element per group of the result's elements.
static bool readsGroups(Operation *op) {
  return llvm::any_of(operandMapsOf(op), [](AffineMap map) {
    return llvm::any_of(map.getResults(), [](AffineExpr index) {
      return index.getKind() == AffineExprKind::FloorDiv;
    });
  });
}

Verdict Conv1dPlan::add(Operation *op) {
  if (auto convolution = dyn_cast<CausalConv1dOp>(op))
    return conv ? refuse(op, Reason::OtherFamily, "is a second convolution")
                : addConv(convolution);
  if (!conv)
    return refuse(op, Reason::OtherFamily, "is not a causal convolution");
  if (isView(op) && !places.contains(viewSource(op)))
    return refuse(op, Reason::NotAnEpilogue,
                  "is no view of the convolution's result");
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return addSlice(slice);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return addReshape(op, expand.getSrc(), expand.getResult(), true,
                      expand.getReassociationIndices());
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return addReshape(op, collapse.getSrc(), collapse.getResult(), false,
                      collapse.getReassociationIndices());
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    return addPlace(op, placeOf(cast.getSource()));
  if (isElementwise(op) && !readsGroups(op))
    return addPointwise(op);
  if (isa<RowwiseOpInterface>(op))
    return refuse(op, Reason::NeedsWholeRow,
                  "needs more than one element of the convolution");
  return refuse(op, Reason::OtherFamily, "is not a pointwise operator");
}

Verdict Conv1dPlan::addConv(CausalConv1dOp op) {
  if (op.getNumChannels() == 0)
    return refuse(op, Reason::UnsupportedShape, "has no channels");
  conv = op;
  RankedTensorType type = tensorType(op.getResult());
  Conv1dPlace place;
  for (int64_t d = 0; d < type.getRank(); ++d)
    place.roles.push_back(d == op.getChannelDim()   ? Conv1dRole::Channel
                          : type.getDimSize(d) == 1 ? Conv1dRole::Unit
                          : d == op.getTokenDim()   ? Conv1dRole::Token
                                                    : Conv1dRole::Sequence);
  places[op.getResult()] = place;
  order.push_back(op.getResult());
  return Verdict::accept();
}

Verdict Conv1dPlan::addPlace(Operation *op, Conv1dPlace place) {
  // Vectors of a channel_first kernel run along time.
  if (!isChannelLast() && staticTokens() != 1 &&
      (place.roles.empty() || place.roles.back() != Conv1dRole::Token))
    return refuse(op, Reason::UnsupportedShape,
                  "moves time away from the last dim");
  places[op->getResult(0)] = std::move(place);
  order.push_back(op->getResult(0));
  return Verdict::accept();
}

Verdict Conv1dPlan::addSlice(tensor::ExtractSliceOp op) {
  Value source = op.getSource(), result = op.getResult();
  Conv1dPlace place = placeOf(source);
  if (op.getDroppedDims().any())
    return refuse(op, Reason::UnsupportedShape, "drops a dim");
  bool outermost = true; // of the channel dims
  for (int64_t d = 0; d < int64_t(place.roles.size()); ++d) {
    bool whole = dims.equal(result, d, source, d);
    bool channel = place.roles[d] == Conv1dRole::Channel;
    if (op.getStaticStrides()[d] != 1 ||
        (whole && op.getStaticOffsets()[d] != 0) ||
        (!whole && (!channel || !outermost ||
                    ShapedType::isDynamic(op.getStaticOffsets()[d]))))
      return refuse(op, Reason::UnsupportedShape,
                    "takes something else than a run of channels");
    if (channel && !whole) {
      int64_t inner = 1;
      for (int64_t i = d + 1; i < int64_t(place.roles.size()); ++i)
        if (place.roles[i] == Conv1dRole::Channel)
          inner *= tensorType(source).getDimSize(i);
      place.begin += op.getStaticOffsets()[d] * inner;
    }
    outermost &= !channel;
  }
  return addPlace(op, std::move(place));
}

Verdict Conv1dPlan::addReshape(Operation *op, Value source, Value result,
                               bool expands,
                               ArrayRef<ReassociationIndices> groups) {
  const Conv1dPlace &from = placeOf(source);
  RankedTensorType longer = tensorType(expands ? result : source);
  Conv1dPlace place;
  place.begin = from.begin;
  place.roles.resize(tensorType(result).getRank(), Conv1dRole::Unit);
  for (auto [g, group] : llvm::enumerate(groups)) {
    // What the dims of the group that are not 1 run over.
    Conv1dRole role = Conv1dRole::Unit;
    int64_t count = 0;
    for (int64_t d : group) {
      if (longer.getDimSize(d) == 1)
        continue;
      Conv1dRole own = from.roles[expands ? int64_t(g) : d];
      if (count++ > 0 && (own != role || own != Conv1dRole::Channel))
        return refuse(op, Reason::UnsupportedShape,
                      "mixes time, sequences and channels");
      role = own;
      if (expands)
        place.roles[d] = role;
    }
    if (!expands)
      place.roles[g] = role;
  }
  return addPlace(op, std::move(place));
}

Verdict Conv1dPlan::addPointwise(Operation *op) {
  Value result = op->getResult(0);
  const Conv1dPlace *place = nullptr;
  for (Value operand : op->getOperands()) {
    auto it = places.find(operand);
    if (it == places.end())
      continue;
    if (dims.shape(operand) != dims.shape(result))
      return refuse(op, Reason::RowDimsDiffer,
                    "has another shape than its operand");
    if (place && !(*place == it->second))
      return refuse(op, Reason::NotAnEpilogue,
                    "combines different channels of the convolution");
    place = &it->second;
  }
  if (!place)
    return refuse(op, Reason::NotAnEpilogue,
                  "does not read the convolution's result");
  return addPlace(op, *place);
}

int64_t Conv1dPlan::numChannels(Value value) const {
  int64_t count = 1;
  for (auto [d, role] : llvm::enumerate(placeOf(value).roles))
    if (role == Conv1dRole::Channel)
      count *= tensorType(value).getDimSize(d);
  return count;
}

int64_t Conv1dPlan::channelDivisor() const {
  int64_t divisor = 64; // more than any vector
  for (Value value : order) {
    const Conv1dPlace &place = placeOf(value);
    int64_t run =
        place.roles.empty() || place.roles.back() != Conv1dRole::Channel
            ? 1
            : tensorType(value).getShape().back();
    while (divisor > 1 && (run % divisor != 0 || place.begin % divisor != 0))
      divisor /= 2;
  }
  return divisor;
}

int64_t Conv1dPlan::staticTokens() const {
  CausalConv1dOp op = conv;
  int64_t tokens = tensorType(op.getInput()).getDimSize(op.getTokenDim());
  return op.getOffsets() || ShapedType::isDynamic(tokens) ? 0 : tokens;
}
