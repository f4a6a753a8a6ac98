//===- transition.h - What a segment makes of any state -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block walks over the chunks of one segment with some columns of one head:
// of C, which begins with 0, and of M, which begins with 1 and has no values of
// its own. Nothing is rounded but in f32. Grid: x is (sequence, segment, head,
// slice of the columns).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_TRANSITION_H
#define HK_KERNELS_GATED_DELTA_TRANSITION_H

#include "kernels/gated_delta/chunk_operands.h"

namespace hk {

template <GatedDeltaSpec S, GatedDeltaTile TILE> struct ChunkTransition {
  using Operands = ChunkOperands<S, TILE>;
  using Shared = typename Operands::Shared;
  using State = HeadState<S, TILE>;
  using Columns = typename State::Columns;
  using Place = typename State::Place;
  static constexpr int kThreads = TILE.threads, kSteps = State::kSteps;
  static constexpr int kVec = State::kVec, kColumns = State::kColumns;
  static constexpr i64 kBlocksPerSegment = i64(S.valueHeads) * State::kSlices;
  static_assert(S.fresh % kColumns == 0);
  static_assert(kLdsBytes<Shared> ==
                gatedDeltaLds(kTarget, GatedDeltaKernel::Transition,
                              Operands::Stage::kShape, TILE));

  template <class Io>
  HK_MEM static void run(const TokenArgs &tokens, const StateArgs &pool,
                         BlockId block, Shared &shared, const Io &io) {
    i64 n = block.x / kBlocksPerSegment;
    constexpr i64 others = S.segments - 1; // the last one's is not needed
    TokenSpan span =
        segmentSpan(tokens, S.chunk, S.segments, n / others, n % others);
    i64 head = block.x % kBlocksPerSegment / State::kSlices;
    i64 slice = block.x % State::kSlices;
    Place at = State::place(slice);
    if (span.outside)
      return;
    State state;
    HK_UNROLL for (int i = 0; i < kSteps * kVec; ++i) state.s[i] = 0;
    State::forEachRow(at, [&](i64 key, int i) {
      HK_UNROLL for (int c = 0; c < kColumns; ++c) state.s[i][c] =
          at.value + c == S.fresh + key;
    });
    for (i64 begin = span.begin; begin < span.end; begin += S.chunk) {
      TokenSpan chunk = span.part(begin, S.chunk);
      step(state, chunk, head, slice, shared, io);
    }
    if (!at.valid)
      return;
    auto to = pool.transitions.of(span.segment, span.number, head);
    State::forEachRow(at, [&](i64 key, int i) {
      hk::store<DType::F32, kColumns, kAlignSegments<S, kColumns>>(
          to, key * pool.transitions.rowStride + at.value, state.s[i]);
    });
  }

private:
  template <class Io>
  HK_MEM static void step(State &state, const TokenSpan &chunk, i64 head,
                          i64 slice, Shared &shared, const Io &io) {
    State start = state;
    float last = decayOf<S>(io, chunk, chunk.end - 1, head);
    float all = decayBetween<S>(last, 0.f);
    HK_UNROLL for (int i = 0; i < kSteps * kVec; ++i) state.s[i] *= all;
    Operands::forEachToken(chunk, head, slice, start, shared, io,
                           [&](i64, const auto &k, Columns left, float own) {
                             state.add(k, left * decayBetween<S>(last, own));
                           });
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_TRANSITION_H
