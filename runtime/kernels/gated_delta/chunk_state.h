//===- chunk_state.h - States at the starts of chunks -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block walks over the chunks of one sequence with some values of one head.
// The state at the chunk's start, rounded, and the one that grows are both in
// registers, so that the tokens of a chunk do not wait for each other. Grid: x
// is (sequence, head, slice of the values).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_CHUNK_STATE_H
#define HK_KERNELS_GATED_DELTA_CHUNK_STATE_H

#include "kernels/gated_delta/chunk_operands.h"

namespace hk {

template <GatedDeltaSpec S, GatedDeltaTile TILE> struct ChunkState {
  using Operands = ChunkOperands<S, TILE>;
  using Shared = typename Operands::Shared;
  using State = HeadState<S, TILE>;
  using Columns = typename State::Columns;
  using Place = typename State::Place;
  static constexpr int kThreads = TILE.threads, kSteps = State::kSteps;
  static constexpr int kVec = State::kVec;
  static constexpr i64 kBlocksPerSequence = i64(S.valueHeads) * State::kSlices;
  static_assert(kLdsBytes<Shared> ==
                gatedDeltaLds(kTarget, GatedDeltaKernel::State,
                              Operands::Stage::kShape, TILE));

  template <class Io>
  HK_MEM static void run(const TokenArgs &tokens, const StateArgs &pool,
                         BlockId block, Shared &shared, const Io &io) {
    TokenSpan span =
        segmentSpan(tokens, S.chunk, S.segments, block.x / kBlocksPerSequence);
    i64 head = block.x % kBlocksPerSequence / State::kSlices;
    i64 slice = block.x % State::kSlices;
    Place at = State::place(slice);
    // Dense states are [B, chunks, ...]; ragged ones are counted over all.
    i64 slot = tokens.offsets ? firstChunk(tokens, span, S.chunk) : span.before;
    State state;
    HK_UNROLL for (int i = 0; i < kSteps * kVec; ++i) state.s[i] = 0;
    if (!span.outside)
      state.load(pool, span, head, at);
    for (i64 begin = span.begin; begin < span.end; begin += S.chunk) {
      TokenSpan chunk = span.part(begin, S.chunk);
      if (span.outside) {
        clear(chunk, head, at, io);
        continue;
      }
      snapshot(state, chunk, slot++, head, at, io);
      step(state, chunk, head, slice, shared, io);
    }
    if (!span.outside)
      state.store(pool, span, head, at);
    if (!tokens.offsets || !span.ends)
      return;
    // The entries up to the next sequence's first one are of no chunk.
    i64 last = (tokens.tokens + S.chunk - 1) / S.chunk + tokens.sequences;
    if (!span.outside)
      last = raggedTile(span.end, S.chunk, span.number + 1);
    HK_UNROLL for (int i = 0; i < kSteps * kVec; ++i) state.s[i] = 0;
    for (; slot < last; ++slot)
      snapshot(state, span, slot, head, at, io);
  }

private:
  template <class Io>
  HK_MEM static void clear(const TokenSpan &chunk, i64 head, Place at,
                           const Io &io) {
    for (i64 t = chunk.begin; t < chunk.end; ++t)
      if (at.first())
        io.vNew(chunk.batch, t, head, at.value, Columns(0));
  }

  template <class Io>
  HK_MEM static void snapshot(const State &state, const TokenSpan &span,
                              i64 slot, i64 head, Place at, const Io &io) {
    if (!at.valid)
      return;
    HK_UNROLL for (int r = 0; r < kSteps; ++r) if (at.has(r))
        HK_UNROLL for (int w = 0; w < kVec; ++w)
            io.states(span.batch, slot, head, at.key(r) + w, at.value,
                      state.s[r * kVec + w]);
  }

  template <class Io>
  HK_MEM static void step(State &state, const TokenSpan &chunk, i64 head,
                          i64 slice, Shared &shared, const Io &io) {
    Place at = State::place(slice);
    State start;
    float last = decayOf<S>(io, chunk, chunk.end - 1, head);
    float all = decayBetween<S>(last, 0.f);
    HK_UNROLL for (int i = 0; i < kSteps * kVec; ++i) {
      start.s[i] = roundTo<S.key, State::kColumns>(state.s[i]);
      state.s[i] *= all;
    }
    Operands::forEachToken(chunk, head, slice, start, shared, io,
                           [&](i64 t, const auto &k, Columns left, float own) {
                             if (at.first())
                               io.vNew(chunk.batch, t, head, at.value, left);
                             float e = decayBetween<S>(last, own);
                             state.add(
                                 k, roundTo<S.key, State::kColumns>(left * e));
                           });
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_CHUNK_STATE_H
