//===- recurrent.h - The gated delta rule, token by token -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block has some values of one head of one sequence; its part of the state is
// read once, stays in registers and is written once. What the next token needs
// is loaded before this one is worked on. Grid: x is (sequence, head, slice of
// the values). `Io` loads operands and stores results: lib/Families/GatedDelta.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_RECURRENT_H
#define HK_KERNELS_GATED_DELTA_RECURRENT_H

#include "kernels/gated_delta/token_step.h"

namespace hk {

template <GatedDeltaSpec S, GatedDeltaTile TILE> struct Recurrent {
  using Shared = NoShared;
  using Step = TokenStep<S, TILE>;
  using State = typename Step::State;
  using Columns = typename State::Columns;
  using Place = typename State::Place;
  static constexpr int kThreads = TILE.threads;
  static constexpr i64 kBlocksPerSequence = i64(S.valueHeads) * State::kSlices;

  template <class Io>
  HK_MEM static void run(const TokenArgs &tokens, const StateArgs &pool,
                         BlockId block, Shared &, const Io &io) {
    TokenSpan span = sequenceSpan(tokens, block.x / kBlocksPerSequence);
    i64 head = block.x % kBlocksPerSequence / State::kSlices;
    Place at = State::place(block.x % State::kSlices);
    if (span.outside) {
      for (i64 t = span.begin; t < span.end; ++t)
        if (at.first())
          io.result(span.batch, t, head, at.value, Columns(0));
      return;
    }
    State state;
    state.load(pool, span, head, at);
    if (span.begin < span.end) {
      typename Step::Token next = Step::load(span, span.begin, head, at, io);
      for (i64 t = span.begin; t < span.end; ++t) {
        typename Step::Token token = next;
        if (t + 1 < span.end)
          next = Step::load(span, t + 1, head, at, io);
        Columns y = Step::step(state, token);
        if (at.first())
          io.result(span.batch, t, head, at.value, y);
      }
    }
    state.store(pool, span, head, at);
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_RECURRENT_H
