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

#include "hk/Contract/Conv1dTiles.h"

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

void CausalConv1dOp::stateShapes(ShapeRelations &shapes) {
  Named input{"input", getInput()}, weight{"weight", getWeight()};
  Named state{"state", getState()};
  bool ragged = static_cast<bool>(getOffsets());
  if (ragged && getLayout() == Conv1dLayout::channel_first)
    return; // the verifier says so
  shapes.rank(input, ragged ? 2 : 3);
  shapes.rank(weight, 2);
  shapes.isStatic(weight, 0);
  shapes.isStatic(weight, 1);
  shapes.rank({"offsets", getOffsets()}, 1);
  SizeTerm channels = dimOf(getWeight(), 0), width = dimOf(getWeight(), 1);
  SizeTerm batch = dimOf(getInput(), 0);
  SizeTerm tokens = dimOf(getInput(), getTokenDim());
  SizeTerm sequences = ragged ? dimOf(getOffsets(), 0) - 1 : batch;
  shapes.isStatic(input, getChannelDim());
  shapes.size(input, getChannelDim(), channels);
  shapes.same({"result", getResult()}, getInput());
  shapes.shape({"bias", getBias()}, {channels});
  if (!ragged) // else the verifier wants none
    shapes.shape({"seq_idx", getSeqIdx()}, {batch, tokens});

  if (getComputed()) {
    shapes.rank({"indices", getIndices()}, 2);
    shapes.size({"indices", getIndices()}, 0, sequences);
  } else {
    shapes.shape({"indices", getIndices()}, {sequences});
  }
  shapes.shape({"has_initial", getHasInitial()}, {sequences});
  shapes.shape({"accepted", getAccepted()}, {sequences});
  shapes.shape({"ring", getRing()}, {sequences});
  shapes.shape({"computed", getComputed()}, {sequences});
  if (!ragged)
    shapes.shape({"windows", getWindows()},
                 {batch, tokens, channels, width - 1});

  shapes.rank(state, 3);
  shapes.size(state, getStateChannelDim(), channels);
  if (!getIndices())
    shapes.size(state, 0, sequences);
  shapes.isStatic(state, getStateTokenDim());
  shapes.same({"new_state", getNewState()}, getState());
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
  return success();
}

static LogicalResult verifyWindows(CausalConv1dOp op, Named input) {
  if (!op.getWindows())
    return success();
  if (op.getOffsets())
    return op.emitOpError("expected windows to be absent with offsets, but got "
                          "one");
  return expectElement(op, {"windows", op.getWindows()}, input.element());
}

static LogicalResult verifyState(CausalConv1dOp op, Named input) {
  using Operand = std::pair<StringRef, Value>;
  for (auto [name, value] :
       {Operand("indices", op.getIndices()),
        Operand("has_initial", op.getHasInitial()),
        Operand("accepted", op.getAccepted()), Operand("ring", op.getRing()),
        Operand("computed", op.getComputed()),
        Operand("windows", op.getWindows())}) {
    if (value && !op.getState())
      return op.emitOpError("expected ")
             << name << " to be absent without a state, but got one";
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
  if (failed(expectElement(op, state, input.element())))
    return failure();
  int64_t token = op.getStateTokenDim();
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

static LogicalResult verifySeqIdx(CausalConv1dOp op) {
  if (!op.getSeqIdx())
    return success();
  for (auto [name, value] : {std::pair("offsets", op.getOffsets()),
                             std::pair("state", op.getState())})
    if (value)
      return op.emitOpError("expected ")
             << name << " to be absent with seq_idx, but got one";
  return success();
}

LogicalResult CausalConv1dOp::verify() {
  if (getOffsets() && getLayout() == Conv1dLayout::channel_first)
    return emitOpError("expected layout to be channel_last with offsets, but "
                       "got channel_first");
  int64_t widest = getLayout() == Conv1dLayout::channel_last
                       ? ::hk::kConv1dMaxWidth
                       : ::hk::kConv1dMaxChannelFirstWidth;
  if (getWidth() < 2 || getWidth() > widest)
    return emitOpError("expected size of dim 1 of weight to be 2 to ")
           << widest << " of layout " << stringifyConv1dLayout(getLayout())
           << ", but got " << getWidth();
  if (getOffsets() && tensorType(getOffsets()).getDimSize(0) == 0)
    return emitOpError("expected size of dim 0 of offsets to be at least 1, "
                       "but got 0");
  if (failed(verifySeqIdx(*this)))
    return failure();
  return verifyState(*this, {"input", getInput()});
}
