//===- chunk_scan.h - States and results, chunk by chunk -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block walks over the chunks of one sequence with some values of one head,
// as in chunk_state.h, and gives the results of a chunk at once: from the state
// at its start, which is in registers, and from what is new of its values,
// which is in LDS. Neither goes to memory. Grid: x is (sequence, head, slice of
// the values).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_CHUNK_SCAN_H
#define HK_KERNELS_GATED_DELTA_CHUNK_SCAN_H

#include "kernels/gated_delta/products.h"

namespace hk {

template <GatedDeltaSpec S, GatedDeltaTile TILE> struct ChunkScan {
  using State = HeadState<S, TILE>;
  using Columns = typename State::Columns;
  using Keys = typename State::Keys;
  using Place = typename State::Place;
  static constexpr int kThreads = TILE.threads, kChunk = S.chunk;
  static constexpr int kSteps = State::kSteps, kVec = State::kVec;
  static constexpr int kLanes = State::kLanes, kColumns = State::kColumns;
  static constexpr i64 kBlocksPerSequence = i64(S.valueHeads) * State::kSlices;
  using Products = ChunkProducts<S, kThreads>;
  /// A row of what the tokens of a chunk are for each other, and of what is new
  /// of a token's values.
  static constexpr int kRow = Products::kWeightRow;
  static constexpr int kFresh = int(scanValuesRow(TILE));
  struct Shared {
    float weights[kChunk * kRow];
    union {
      typename Products::Staged staged;
      float fresh[kChunk * kFresh];
    };
  };
  static_assert(kLdsBytes<Shared> == gatedDeltaLds(kTarget,
                                                   GatedDeltaKernel::Scan,
                                                   chunkShape(S), TILE));

  template <class Io>
  HK_MEM static void run(const TokenArgs &tokens, const StateArgs &pool,
                         BlockId block, Shared &shared, const Io &io) {
    TokenSpan span =
        segmentSpan(tokens, kChunk, S.segments, block.x / kBlocksPerSequence);
    i64 head = block.x % kBlocksPerSequence / State::kSlices;
    Place at = State::place(block.x % State::kSlices);
    if (span.outside)
      return clear(span, head, at, io);
    State state;
    state.load(pool, span, head, at);
    for (i64 begin = span.begin; begin < span.end; begin += kChunk) {
      TokenSpan chunk = span.part(begin, kChunk);
      Products::weigh(shared.staged, chunk, head, io, shared.weights);
      barrier();
      step(state, chunk, head, at, shared, io);
      barrier();
    }
    state.store(pool, span, head, at);
  }

private:
  template <class Io>
  HK_MEM static void clear(const TokenSpan &span, i64 head, Place at,
                           const Io &io) {
    for (i64 t = span.begin; t < span.end; ++t)
      if (at.first())
        io.result(span.batch, t, head, at.value, Columns(0));
  }

  template <class Io>
  HK_MEM static void step(State &state, const TokenSpan &chunk, i64 head,
                          Place at, Shared &shared, const Io &io) {
    State start;
    float last = decayOf<S>(io, chunk, chunk.end - 1, head);
    float all = decayBetween<S>(last, 0.f);
    HK_UNROLL for (int i = 0; i < kSteps * kVec; ++i) {
      start.s[i] = roundTo<S.key, kColumns>(state.s[i]);
      state.s[i] *= all;
    }
    i64 keyHead = head / (S.valueHeads / S.heads);
    for (i64 t = chunk.begin; t < chunk.end; ++t) {
      Keys w[kSteps] = {}, k[kSteps] = {}, q[kSteps] = {};
      HK_UNROLL for (int r = 0; r < kSteps; ++r) if (at.has(r)) {
        w[r] = io.w(chunk.batch, t, head, at.key(r));
        k[r] = io.key(chunk.batch, t, keyHead, at.key(r));
        q[r] = io.query(chunk.batch, t, keyHead, at.key(r));
      }
      Columns u = 0;
      if (at.valid)
        u = io.u(chunk.batch, t, head, at.value);
      float own = decayOf<S>(io, chunk, t, head);
      Columns left = u - start.dot(w);
      Columns before = start.dot(q) * decayBetween<S>(own, 0.f);
      Columns inside = sumInside(int(t - chunk.begin), left, at, shared);
      if (at.first())
        io.result(chunk.batch, t, head, at.value, (before + inside) * S.scale);
      float e = decayBetween<S>(last, own);
      state.add(k, roundTo<S.key, kColumns>(left * e));
    }
  }

  /// What the values of the chunk up to token i add to its results; `left` is
  /// new of its own. Lanes deal the tokens out among them: each keeps its own
  /// in LDS, so that none waits for another.
  HK_MEM static Columns sumInside(int i, Columns left, Place at,
                                  Shared &shared) {
    const int thread = kIsHost ? 0 : threadId();
    float *fresh = shared.fresh + thread / kLanes * kColumns;
    if (i % kLanes == at.lane)
      HK_UNROLL for (int c = 0; c < kColumns; ++c) fresh[i * kFresh + c] =
          roundTo<S.value, kColumns>(left)[c];
    Columns sum = 0;
    for (int j = at.lane; j <= i; j += kLanes) {
      Columns x;
      HK_UNROLL for (int c = 0; c < kColumns; ++c) x[c] = fresh[j * kFresh + c];
      sum = fma<kColumns>(Columns(shared.weights[i * kRow + j]), x, sum);
    }
    float parts[kColumns];
    HK_UNROLL for (int c = 0; c < kColumns; ++c) parts[c] = sum[c];
    reduceLanes<Sum, 1, kLanes, kWave>(parts);
    HK_UNROLL for (int c = 0; c < kColumns; ++c) sum[c] = parts[c];
    return sum;
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_CHUNK_SCAN_H
