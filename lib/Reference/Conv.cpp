//===- Conv.cpp - Meaning of convolutions ---------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sequence by sequence; whatever the layouts are, elements are named by
// sequence, token and channel.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;

namespace {
class Convolution {
public:
  Convolution(CausalConv1dOp op, const Operands &in)
      : op(op), x(in.of(op.getInput())), weight(in.of(op.getWeight())),
        bias(find(in, op.getBias())), offsets(find(in, op.getOffsets())),
        state(find(in, op.getState())), indices(find(in, op.getIndices())),
        initial(find(in, op.getHasInitial())),
        accepted(find(in, op.getAccepted())), ring(find(in, op.getRing())),
        seqIdx(find(in, op.getSeqIdx())), computed(find(in, op.getComputed())),
        width(weight.sizes[1]), channels(weight.sizes[0]) {}

  LogicalResult run(Results &out);

private:
  static const Tensor *find(const Operands &in, Value operand) {
    return operand ? in.find(operand) : nullptr;
  }
  int64_t numSequences() const {
    return offsets ? offsets->sizes[0] - 1 : x.sizes[0];
  }
  LogicalResult verifyOffsets();

  /// Index of an element of the input and of the result.
  int64_t element(int64_t sequence, int64_t token, int64_t channel) {
    if (offsets)
      return token * channels + channel;
    int64_t tokens = x.sizes[op.getTokenDim()];
    return op.getLayout() == Conv1dLayout::channel_last
               ? (sequence * tokens + token) * channels + channel
               : (sequence * channels + channel) * tokens + token;
  }
  int64_t stateLength() { return state->sizes[op.getStateTokenDim()]; }
  int64_t stateElement(int64_t line, int64_t entry, int64_t channel) {
    return op.getStateLayout() == Conv1dLayout::channel_last
               ? (line * stateLength() + entry) * channels + channel
               : (line * channels + channel) * stateLength() + entry;
  }
  int64_t numAccepted(int64_t sequence) {
    auto count = static_cast<int64_t>(accepted->values[sequence]);
    return std::clamp<int64_t>(count, 1, stateLength() - width + 2);
  }
  int64_t ringEntry(int64_t sequence, int64_t token) {
    int64_t size = stateLength();
    auto place = static_cast<int64_t>(ring->values[sequence]) + token;
    return (place % size + size) % size;
  }
  /// The line of the block in which token `token` of a sequence lies, counted
  /// from the sequence's first call; -1: none.
  int64_t blockLine(int64_t sequence, int64_t token) {
    auto block = static_cast<int64_t>(*op.getBlock());
    int64_t blocks = indices->sizes[1], number = token / block;
    return token < 0 || number >= blocks
               ? -1
               : int64_t(indices->values[sequence * blocks + number]);
  }
  int64_t numComputed(int64_t sequence) {
    return std::max<int64_t>(int64_t(computed->values[sequence]), 0);
  }
  bool isPadding(int64_t line) {
    return line < 0 || line >= state->sizes[0] ||
           (op.getPadSlot() && line == int64_t(*op.getPadSlot()));
  }
  /// Entry `entry` of the old contents; 0 behind them.
  Noisy entryOf(int64_t sequence, int64_t line, int64_t entry,
                int64_t channel) {
    if (!state || entry >= stateLength() || isPadding(line) ||
        (initial && initial->values[sequence] == 0))
      return {};
    return at(*state, stateElement(line, entry, channel));
  }
  /// The input `back` tokens before the sequence's first one.
  Noisy before(int64_t sequence, int64_t line, int64_t back, int64_t channel) {
    if (!state)
      return {};
    int64_t entry = ring       ? ringEntry(sequence, -back)
                    : accepted ? numAccepted(sequence) - 1 + width - 1 - back
                               : stateLength() - back;
    return entryOf(sequence, line, entry, channel);
  }
  /// Whether the sequences that one token and an earlier one lie in are one.
  bool related(int64_t sequence, int64_t token, int64_t earlier) {
    if (!seqIdx || earlier < 0)
      return true;
    int64_t first = sequence * seqIdx->sizes[1];
    return seqIdx->values[first + token] == seqIdx->values[first + earlier];
  }

  void runSequence(int64_t sequence, ResultBuilder &result,
                   ResultBuilder &newState, ResultBuilder &windows);
  void updateState(int64_t sequence, int64_t line, int64_t length, int64_t c,
                   function_ref<Noisy(int64_t)> input, ResultBuilder &newState);
  void updateBlocks(int64_t sequence, int64_t length, int64_t c,
                    function_ref<Noisy(int64_t)> input,
                    ResultBuilder &newState);

  CausalConv1dOp op;
  const Tensor &x, &weight;
  const Tensor *bias, *offsets, *state, *indices, *initial;
  const Tensor *accepted, *ring, *seqIdx, *computed;
  int64_t width, channels;
};
} // namespace

LogicalResult Convolution::verifyOffsets() {
  if (!offsets)
    return success();
  // Sequences must not run out of the input.
  double previous = 0;
  for (double bound : offsets->values) {
    if (bound < previous || bound > x.sizes[0])
      return op.emitOpError("expected offsets to ascend from 0 to at most ")
             << x.sizes[0] << ", but got " << int64_t(bound) << " after "
             << int64_t(previous);
    previous = bound;
  }
  return success();
}

void Convolution::runSequence(int64_t sequence, ResultBuilder &result,
                              ResultBuilder &newState, ResultBuilder &windows) {
  int64_t begin = offsets ? int64_t(offsets->values[sequence]) : 0;
  int64_t length = offsets ? int64_t(offsets->values[sequence + 1]) - begin
                           : x.sizes[op.getTokenDim()];
  int64_t line = indices ? int64_t(indices->values[sequence]) : sequence;
  bool valid = !state || !isPadding(line);
  if (computed) {
    int64_t first = numComputed(sequence);
    line = blockLine(sequence, first - 1);
    valid = length > 0 && !isPadding(blockLine(sequence, first + length - 1));
  }
  for (int64_t c = 0; c < channels; ++c) {
    auto input = [&](int64_t token) {
      return token >= 0 ? at(x, element(sequence, begin + token, c))
                        : before(sequence, line, -token, c);
    };
    for (int64_t t = 0; t < length && valid; ++t) {
      F32Sum sum;
      if (bias)
        sum.add(bias->values[c], square(bias->errorAt(c)), bias->jumpAt(c));
      for (int64_t j = 0; j < width; ++j) {
        int64_t token = t - (width - 1) + j;
        Noisy value = related(sequence, t, token) ? input(token) : Noisy();
        Noisy w = at(weight, c * width + j);
        double variance =
            square(w.value * value.sigma) + square(w.sigma * value.value);
        double jump = jumpOf(value, w.value, w, value.value);
        bool unknown = std::isinf(value.sigma) || std::isinf(w.sigma);
        if (!std::isfinite(variance))
          variance = unknown ? kInf : 0;
        sum.add(value.value * w.value, variance,
                std::isfinite(jump) ? jump : 0);
      }
      result.set(element(sequence, begin + t, c), sum.noisy());
    }
    if (op.getWindows() && valid)
      for (int64_t t = 0; t < length; ++t)
        for (int64_t k = 0; k < width - 1; ++k)
          windows.setExact(
              ((sequence * length + t) * channels + c) * (width - 1) + k,
              input(t - (width - 2) + k));
    if (computed && valid)
      updateBlocks(sequence, length, c, input, newState);
    else if (state && valid)
      updateState(sequence, line, length, c, input, newState);
  }
}

void Convolution::updateState(int64_t sequence, int64_t line, int64_t length,
                              int64_t c, function_ref<Noisy(int64_t)> input,
                              ResultBuilder &newState) {
  auto set = [&](int64_t entry, Noisy value) {
    newState.setExact(stateElement(line, entry, c), value);
  };
  if (ring) {
    for (int64_t t = 0; t < length; ++t)
      set(ringEntry(sequence, t), input(t));
    return;
  }
  for (int64_t entry = 0; entry < stateLength(); ++entry) {
    int64_t token = length - stateLength() + entry;
    set(entry, accepted && token < 0
                   ? entryOf(sequence, line, numAccepted(sequence) + entry, c)
                   : input(token));
  }
}

void Convolution::updateBlocks(int64_t sequence, int64_t length, int64_t c,
                               function_ref<Noisy(int64_t)> input,
                               ResultBuilder &newState) {
  auto block = static_cast<int64_t>(*op.getBlock());
  int64_t first = numComputed(sequence);
  for (int64_t t = 0; t < length; ++t) {
    int64_t line = blockLine(sequence, first + t);
    bool last = t + 1 == length || (first + t + 1) % block == 0;
    if (!last || isPadding(line))
      continue;
    for (int64_t entry = 0; entry < stateLength(); ++entry)
      newState.setExact(stateElement(line, entry, c),
                        input(t + 1 - stateLength() + entry));
  }
}

LogicalResult Convolution::run(Results &out) {
  if (failed(verifyOffsets()))
    return failure();
  ResultBuilder result(resultDType(op), x.sizes);
  const Tensor none(x.dtype, {0});
  const Tensor &before = state ? *state : none;
  ResultBuilder newState(before.dtype, before.sizes);
  for (int64_t i = 0; i < before.numElements(); ++i)
    newState.setExact(i, at(before, i));
  SmallVector<int64_t> sizes = none.sizes;
  if (op.getWindows())
    sizes = {x.sizes[0], x.sizes[op.getTokenDim()], channels, width - 1};
  ResultBuilder windows(x.dtype, sizes);
  for (int64_t sequence = 0; sequence < numSequences(); ++sequence)
    runSequence(sequence, result, newState, windows);
  out.push_back(result.take());
  if (state)
    out.push_back(newState.take());
  if (op.getWindows())
    out.push_back(windows.take());
  return success();
}

static LogicalResult evaluateCausalConv1d(Operation *op, const Operands &in,
                                          Results &out) {
  return Convolution(cast<CausalConv1dOp>(op), in).run(out);
}

void reference::addConvolutions(EvaluatorTable &table) {
  table.add<CausalConv1dOp>(evaluateCausalConv1d);
}
