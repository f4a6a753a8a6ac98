//===- recurrent.h - The gated delta rule, token by token -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block has some values of one head of one sequence; its part of the state is
// read once, stays in registers and is written once. Operands of many tokens go
// through LDS (STAGED, see token_stage.h); of a few, what the next token needs
// is loaded before this one is worked on. Grid: x is (sequence, head, slice of
// the values). `Io` loads operands and stores results: lib/Families/GatedDelta.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_RECURRENT_H
#define HK_KERNELS_GATED_DELTA_RECURRENT_H

#include "kernels/gated_delta/token_stage.h"
#include "kernels/gated_delta/token_step.h"

namespace hk {

template <GatedDeltaSpec S, GatedDeltaTile TILE, bool STAGED = false>
struct Recurrent {
  using Step = TokenStep<S, TILE>;
  using State = typename Step::State;
  using Columns = typename State::Columns;
  using Keys = typename State::Keys;
  using Place = typename State::Place;
  static constexpr int kThreads = TILE.threads;
  static constexpr i64 kBlocksPerSequence = i64(S.valueHeads) * State::kSlices;
  static constexpr bool kHasBetas = S.hasBeta && S.betaPerValue;
  using Stage =
      TokenStage<S, TILE,
                 TokenRows{2 + S.hasKeyDecay, 1 + S.hasValueDecay + kHasBetas,
                           S.hasDecay + (S.hasBeta && !kHasBetas)}>;
  using Shared = GpuShared<typename Stage::Shared, STAGED>;
  static_assert(!STAGED ||
                kLdsBytes<Shared> == gatedDeltaLds(kTarget,
                                                   GatedDeltaKernel::Recurrent,
                                                   Stage::kShape, TILE));

  template <class Io>
  HK_MEM static void run(const TokenArgs &tokens, const StateArgs &pool,
                         BlockId block, [[maybe_unused]] Shared &shared,
                         const Io &io) {
    TokenSpan span = sequenceSpan(tokens, block.x / kBlocksPerSequence);
    i64 head = block.x % kBlocksPerSequence / State::kSlices;
    i64 slice = block.x % State::kSlices;
    Place at = State::place(slice);
    if (span.outside) {
      for (i64 t = span.begin; t < span.end; ++t)
        if (at.first())
          io.result(span.batch, t, head, at.value, Columns(0));
      return;
    }
    State state;
    state.load(pool, span, head, at);
    if constexpr (STAGED)
      Stage::forEachPart(
          span, slice, shared,
          [&](const TokenSpan &part, int count) {
            stage(part, count, head, slice, shared, io);
          },
          [&](const TokenSpan &part, const auto &operands) {
            walk(state, part, head, at, operands, io);
          });
    else if (span.begin < span.end)
      walk(state, span, head, at, io, io);
    state.store(pool, span, head, at);
  }

private:
  /// The tokens of `span`, of which there is one at least.
  template <class Operands, class Io>
  HK_MEM static void walk(State &state, const TokenSpan &span, i64 head,
                          Place at, const Operands &operands, const Io &io) {
    typename Step::Token next =
        Step::load(span, span.begin, head, at, operands);
    for (i64 t = span.begin; t < span.end; ++t) {
      typename Step::Token token = next;
      if (t + 1 < span.end)
        next = Step::load(span, t + 1, head, at, operands);
      Columns y = Step::step(state, token);
      if (at.first())
        io.result(span.batch, t, head, at.value, y);
    }
  }

  /// Brings `count` tokens into LDS: first all loads of a thread.
  template <class Io>
  HK_MEM static void stage(const TokenSpan &part, int count, i64 head,
                           i64 slice, Shared &shared, const Io &io) {
    const int thread = threadId();
    i64 b = part.batch, t = part.begin,
        keyHead = head / (S.valueHeads / S.heads);
    typename Stage::KeyRows q, k, keyDecay;
    typename Stage::ValueRows v, valueDecay, betas;
    typename Stage::Scalars decay, beta;
    q.load(thread, count,
           [&](i64 n, i64 c) { return io.query(b, t + n, keyHead, c); });
    k.load(thread, count,
           [&](i64 n, i64 c) { return io.key(b, t + n, keyHead, c); });
    v.load(thread, count, [&](i64 n, i64 c) {
      return io.value(b, t + n, head, Stage::valueOf(slice, c));
    });
    if constexpr (S.hasKeyDecay)
      keyDecay.load(thread, count, [&](i64 n, i64 c) {
        return io.keyDecay(b, t + n, head, c);
      });
    if constexpr (S.hasValueDecay)
      valueDecay.load(thread, count, [&](i64 n, i64 c) {
        return io.valueDecay(b, t + n, head, Stage::valueOf(slice, c));
      });
    if constexpr (S.hasDecay)
      decay.load(thread, count,
                 [&](i64 n, i64) { return io.decay(b, t + n, head); });
    if constexpr (kHasBetas)
      betas.load(thread, count, [&](i64 n, i64 c) {
        return io.beta(b, t + n, head, Stage::valueOf(slice, c));
      });
    else if constexpr (S.hasBeta)
      beta.load(thread, count,
                [&](i64 n, i64) { return io.beta(b, t + n, head); });
    Stage::putKeys(shared, 0, q);
    Stage::putKeys(shared, 1, k);
    Stage::putValues(shared, 0, v);
    if constexpr (S.hasKeyDecay)
      Stage::putKeys(shared, 2, keyDecay);
    if constexpr (S.hasValueDecay)
      Stage::putValues(shared, 1, valueDecay);
    if constexpr (S.hasDecay)
      Stage::putScalars(shared, 0, decay);
    if constexpr (kHasBetas)
      Stage::putValues(shared, 1 + S.hasValueDecay, betas);
    else if constexpr (S.hasBeta)
      Stage::putScalars(shared, S.hasDecay, beta);
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_RECURRENT_H
