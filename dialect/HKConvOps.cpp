//===- HKConvOps.cpp - Convolutions ---------------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifier and result shapes of the causal convolution.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"

using namespace mlir;
using namespace mlir::hk;

int64_t CausalConv1dOp::getChannelDim() {
  int64_t last = tensorType(getInput()).getRank() - 1;
  return getLayout() == Conv1dLayout::channel_last ? last : last - 1;
}
int64_t CausalConv1dOp::getTokenDim() {
  int64_t last = tensorType(getInput()).getRank() - 1;
  return getLayout() == Conv1dLayout::channel_last ? last - 1 : last;
}
int64_t CausalConv1dOp::getStateChannelDim() {
  return getStateLayout() == Conv1dLayout::channel_last ? 2 : 1;
}
int64_t CausalConv1dOp::getStateTokenDim() {
  return getStateLayout() == Conv1dLayout::channel_last ? 1 : 2;
}
int64_t CausalConv1dOp::getNumChannels() {
  return tensorType(getWeight()).getDimSize(0);
}
int64_t CausalConv1dOp::getWidth() {
  return tensorType(getWeight()).getDimSize(1);
}

OpOperand *CausalConv1dOp::getTiedState(OpResult result) {
  if (!getState() || result != getNewState())
    return nullptr;
  return &getStateMutable()[0];
}

/// The number of sequences as far as the types say.
static int64_t numSequences(CausalConv1dOp op) {
  if (!op.getOffsets())
    return tensorType(op.getInput()).getDimSize(0);
  int64_t bounds = tensorType(op.getOffsets()).getDimSize(0);
  return ShapedType::isDynamic(bounds) ? bounds : bounds - 1;
}

static LogicalResult verifyBlocks(CausalConv1dOp op) {
  if (static_cast<bool>(op.getComputed()) != op.getBlock().has_value())
    return op.emitOpError("expected block to be ")
           << (op.getComputed() ? "present with" : "absent without")
           << " computed, but got " << (op.getComputed() ? "none" : "one");
  if (!op.getComputed())
    return success();
  if (int64_t(*op.getBlock()) < 1)
    return op.emitOpError("expected block to be at least 1, but got ")
           << int64_t(*op.getBlock());
  using Operand = std::pair<StringRef, Value>;
  for (auto [name, value] :
       {Operand("has_initial", op.getHasInitial()),
        Operand("accepted", op.getAccepted()), Operand("ring", op.getRing())})
    if (value)
      return op.emitOpError("expected ")
             << name << " to be absent with computed, but got one";
  if (!op.getIndices())
    return op.emitOpError("expected indices to be present with computed, but "
                          "got none");
  Named indices{"indices", op.getIndices()};
  if (failed(expectRank(op, indices, 2)))
    return failure();
  return expectSize(op, indices, 0, numSequences(op));
}

static LogicalResult verifyWindows(CausalConv1dOp op, Named input) {
  if (!op.getWindows())
    return success();
  if (op.getOffsets())
    return op.emitOpError("expected windows to be absent with offsets, but got "
                          "one");
  Named windows{"windows", op.getWindows()};
  if (failed(expectElement(op, windows, input.element())))
    return failure();
  return expectShape(op, windows,
                     {input.size(0), input.size(op.getTokenDim()),
                      op.getNumChannels(), op.getWidth() - 1});
}

static LogicalResult verifyState(CausalConv1dOp op, Named input) {
  using Operand = std::pair<StringRef, Value>;
  for (auto [name, value] :
       {Operand("indices", op.getIndices()),
        Operand("has_initial", op.getHasInitial()),
        Operand("accepted", op.getAccepted()), Operand("ring", op.getRing()),
        Operand("computed", op.getComputed()),
        Operand("windows", op.getWindows())}) {
    if (!value)
      continue;
    if (!op.getState())
      return op.emitOpError("expected ")
             << name << " to be absent without a state, but got one";
    if (value == op.getWindows() ||
        (value == op.getIndices() && op.getComputed()))
      continue; // these have more dims
    if (failed(expectShape(op, {name, value}, {numSequences(op)})))
      return failure();
  }
  for (auto [name, value] : {Operand("has_initial", op.getHasInitial()),
                             Operand("accepted", op.getAccepted())})
    if (value && op.getRing())
      return op.emitOpError("expected ")
             << name << " to be absent with ring, but got one";
  if (failed(verifyBlocks(op)) || failed(verifyWindows(op, input)))
    return failure();
  if (op.getPadSlot() && !op.getIndices())
    return op.emitOpError("expected pad_slot to be absent without indices, but "
                          "got ")
           << *op.getPadSlot();
  if (static_cast<bool>(op.getState()) != static_cast<bool>(op.getNewState()))
    return op.emitOpError("expected new_state to be ")
           << (op.getState() ? "present with" : "absent without")
           << " a state, but got " << (op.getState() ? "none" : "one");
  if (!op.getState())
    return success();
  if (op.getState() == op.getInput())
    return op.emitOpError("expected state to be another tensor than input, "
                          "which must not change while it is read");
  Named state{"state", op.getState()};
  if (failed(expectRank(op, state, 3)) ||
      failed(expectElement(op, state, input.element())) ||
      failed(
          expectSize(op, state, op.getStateChannelDim(), op.getNumChannels())))
    return failure();
  if (!op.getIndices() && failed(expectSize(op, state, 0, numSequences(op))))
    return failure();
  int64_t token = op.getStateTokenDim();
  if (failed(expectStatic(op, state, token)))
    return failure();
  if (state.size(token) < op.getWidth() - 1)
    return op.emitOpError("expected size of dim ")
           << token << " of state to be at least " << op.getWidth() - 1
           << ", the width of weight minus one, but got " << state.size(token);
  if (op.getNewState().getType() != op.getState().getType())
    return op.emitOpError("expected type of new_state to be ")
           << op.getState().getType() << ", that of state, but got "
           << op.getNewState().getType();
  return success();
}

static LogicalResult verifySeqIdx(CausalConv1dOp op, Named input) {
  if (!op.getSeqIdx())
    return success();
  for (auto [name, value] : {std::pair("offsets", op.getOffsets()),
                             std::pair("state", op.getState())})
    if (value)
      return op.emitOpError("expected ")
             << name << " to be absent with seq_idx, but got one";
  return expectShape(op, {"seq_idx", op.getSeqIdx()},
                     {input.size(0), input.size(op.getTokenDim())});
}

LogicalResult CausalConv1dOp::verify() {
  Named input{"input", getInput()}, weight{"weight", getWeight()};
  bool ragged = static_cast<bool>(getOffsets());
  if (ragged && getLayout() == Conv1dLayout::channel_first)
    return emitOpError("expected layout to be channel_last with offsets, but "
                       "got channel_first");
  if (failed(expectRank(*this, input, ragged ? 2 : 3)) ||
      failed(expectRank(*this, weight, 2)) ||
      failed(expectStatic(*this, weight, 0)) ||
      failed(expectStatic(*this, weight, 1)))
    return failure();
  if (getWidth() < 2 || getWidth() > 4)
    return emitOpError("expected size of dim 1 of weight to be 2, 3 or 4, but "
                       "got ")
           << getWidth();
  if (failed(expectStatic(*this, input, getChannelDim())) ||
      failed(expectSize(*this, input, getChannelDim(), getNumChannels())) ||
      failed(
          expectShape(*this, {"result", getResult()}, input.type().getShape())))
    return failure();
  if (getBias() &&
      failed(expectShape(*this, {"bias", getBias()}, {getNumChannels()})))
    return failure();
  if (ragged) {
    Named offsets{"offsets", getOffsets()};
    if (failed(expectRank(*this, offsets, 1)))
      return failure();
    if (offsets.size(0) == 0)
      return emitOpError("expected size of dim 0 of offsets to be at least 1, "
                         "but got 0");
  }
  if (failed(verifySeqIdx(*this, input)))
    return failure();
  return verifyState(*this, input);
}

LogicalResult
CausalConv1dOp::reifyResultShapes(OpBuilder &b,
                                  ReifiedRankedShapedTypeDims &r) {
  addShapeOf(b, getLoc(), getResult(), getInput(), r);
  if (getNewState())
    addShapeOf(b, getLoc(), getNewState(), getState(), r);
  if (getWindows()) {
    Sizes sizes = sizesOf(b, getLoc(), getInput());
    addShape(b, getLoc(), getWindows(),
             {sizes[0], sizes[getTokenDim()], sizes[getChannelDim()],
              b.getIndexAttr(getWidth() - 1)},
             r);
  }
  return success();
}
