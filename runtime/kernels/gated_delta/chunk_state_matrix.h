//===- chunk_state_matrix.h - States of chunks by fragments -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block walks over the chunks of one sequence with some values of one head.
// Waves of their own bring the next chunk's operands into LDS meanwhile, where
// it has room for two chunks, and store what a chunk gives. Grid: x is
// (sequence, head, slice of the values).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_CHUNK_STATE_MATRIX_H
#define HK_KERNELS_GATED_DELTA_CHUNK_STATE_MATRIX_H

#include "kernels/gated_delta/state_matrix.h"

namespace hk {

template <GatedDeltaSpec S, GatedDeltaTile TILE> struct ChunkStateMatrix {
  static constexpr int kThreads = TILE.threads, kChunk = S.chunk;
  static constexpr int kMath = TILE.waves * kWave, kCopy = kThreads - kMath;
  using State = MatrixState<S, TILE>;
  using Place = typename State::Place;
  using Keys = typename State::Keys;
  using Values = typename State::Values;
  using Fragments = typename State::Fragments;
  static constexpr int kRows = State::kRows, kSlices = State::kSlices;
  static constexpr i64 kBlocksPerSequence = State::kBlocksPerSequence;
  static constexpr int kStages = chunkStateStages(kTarget, chunkShape(S), TILE);

  /// Operands of a chunk. What is new of the values replaces u.
  struct Stage {
    alignas(16) u8 w[kChunk * Keys::kRowBytes], k[kChunk * Keys::kRowBytes];
    u8 u[kChunk * Values::kRowBytes];
    float left[kChunk]; // of what a token adds, at the chunk's end
    float all;          // of the state
  };
  struct Shared {
    Stage stages[kStages];
    /// The state at the chunk's start, a row for each value.
    alignas(16) u8 start[kRows * Keys::kRowBytes];
  };
  static_assert(kLdsBytes<Shared> == gatedDeltaLds(kTarget,
                                                   GatedDeltaKernel::State,
                                                   chunkShape(S), TILE));

  template <class Io>
  HK_MEM static void run(const TokenArgs &tokens, const StateArgs &pool,
                         BlockId block, Shared &shared, const Io &io) {
    Place at = {
        segmentSpan(tokens, kChunk, S.segments, block.x / kBlocksPerSequence),
        block.x % kBlocksPerSequence / kSlices, i64(block.x % kSlices) * kRows};
    // Dense states are [B, chunks, ...]; ragged ones are counted over all.
    i64 slot =
        tokens.offsets ? firstChunk(tokens, at.span, kChunk) : at.span.before;
    i64 chunks = at.chunks();
    if (at.span.outside)
      State::template clearTokens<kThreads>(at, [&](i64 t, i64 c, auto x) {
        io.vNew(at.span.batch, t, at.head, c, x);
      });
    else
      walk(pool, at, slot, chunks, shared, io);
    if (!tokens.offsets || !at.span.ends)
      return;
    // The entries up to the next sequence's first one are of no chunk.
    i64 last = (tokens.tokens + kChunk - 1) / kChunk + tokens.sequences;
    if (!at.span.outside) {
      last = raggedTile(at.span.end, kChunk, at.span.number + 1);
      slot += chunks;
    }
    for (; slot < last; ++slot)
      clearState(at, slot, io);
  }

private:
  HK_MEM static bool copies() { return waveId() >= TILE.waves; }

  template <class Io>
  HK_MEM static void walk(const StateArgs &pool, const Place &at, i64 slot,
                          i64 chunks, Shared &shared, const Io &io) {
    Fragments f;
    if (!copies())
      State::load(f, pool, at);
    else if (chunks > 0)
      stage(at, at.chunk(0), shared.stages[0], io);
    barrier();
    for (i64 n = 0; n < chunks; ++n) {
      TokenSpan chunk = at.chunk(n);
      Stage &own = shared.stages[n % kStages];
      if (!copies())
        State::keepStart(f, shared.start);
      else if (kStages > 1 && n > 0)
        storeNew(at, at.chunk(n - 1), shared.stages[(n - 1) % kStages], io);
      barrier();
      if (!copies()) {
        State::step(f, int(chunk.end - chunk.begin), shared.start, own.w, own.k,
                    own.u, own.left, own.all);
      } else {
        if (kStages > 1 && n + 1 < chunks)
          stage(at, at.chunk(n + 1), shared.stages[(n + 1) % kStages], io);
        snapshot(at, chunk.batch, slot + n, shared, io);
      }
      barrier();
      if constexpr (kStages == 1) {
        if (copies())
          storeNew(at, chunk, own, io);
        barrier();
        if (copies() && n + 1 < chunks)
          stage(at, at.chunk(n + 1), own, io);
        barrier();
      }
    }
    if (!copies())
      State::store(f, pool, at);
    else if (kStages > 1 && chunks > 0)
      storeNew(at, at.chunk(chunks - 1), shared.stages[(chunks - 1) % kStages],
               io);
  }

  /// By the threads that copy, as snapshot and storeNew are.
  template <class Io>
  HK_MEM static void stage(const Place &at, const TokenSpan &chunk, Stage &to,
                           const Io &io) {
    static_assert(kChunk <= kCopy);
    const int thread = threadId() - kMath;
    int length = int(chunk.end - chunk.begin);
    i64 keyHead = at.head / (S.valueHeads / S.heads);
    typename Keys::template Fetched<kChunk, kCopy> w, k;
    typename Values::template Fetched<kChunk, kCopy> u;
    w.load(thread, length, [&](int i, int c) {
      return io.w(chunk.batch, chunk.begin + i, at.head, c);
    });
    u.load(thread, length, [&](int i, int c) {
      return io.u(chunk.batch, chunk.begin + i, at.head, at.first + c);
    });
    k.load(thread, length, [&](int i, int c) {
      return io.key(chunk.batch, chunk.begin + i, keyHead, c);
    });
    int token = thread < length ? thread : length - 1;
    float last = decayOf<S>(io, chunk, chunk.end - 1, at.head);
    float own = decayOf<S>(io, chunk, chunk.begin + token, at.head);
    w.store(to.w, thread);
    u.store(to.u, thread);
    k.store(to.k, thread);
    if (thread < kChunk)
      to.left[thread] = decayBetween<S>(last, own);
    if (thread == 0)
      to.all = decayBetween<S>(last, 0.f);
  }

  template <class Io>
  HK_MEM static void snapshot(const Place &at, i64 batch, i64 slot,
                              const Shared &shared, const Io &io) {
    constexpr int vectors = kRows / kStagedVector;
    for (int n = threadId() - kMath; n < S.keys * vectors; n += kCopy) {
      int key = n / vectors, row = n % vectors * kStagedVector;
      Vec<float, kStagedVector> x;
      HK_UNROLL for (int e = 0; e < kStagedVector; ++e) x[e] =
          Keys::element(shared.start, row + e, key);
      io.states(batch, slot, at.head, key, at.first + row, x);
    }
  }
  template <class Io>
  HK_MEM static void storeNew(const Place &at, const TokenSpan &chunk,
                              const Stage &from, const Io &io) {
    constexpr int vectors = kRows / kStagedVector;
    const u8 *tile = from.u;
    int count = int(chunk.end - chunk.begin) * vectors;
    for (int n = threadId() - kMath; n < count; n += kCopy) {
      int i = n / vectors, column = n % vectors * kStagedVector;
      auto packed = *reinterpret_cast<const Packed<S.key, kStagedVector> *>(
          tile + swizzled<Values::kRowBytes>(i, column * 2));
      io.vNew(chunk.batch, chunk.begin + i, at.head, at.first + column,
              unpack<S.key, kStagedVector>(packed));
    }
  }

  template <class Io>
  HK_MEM static void clearState(const Place &at, i64 slot, const Io &io) {
    constexpr int vectors = kRows / kStagedVector;
    for (int n = threadId(); n < S.keys * vectors; n += kThreads)
      io.states(at.span.batch, slot, at.head, n / vectors,
                at.first + n % vectors * kStagedVector,
                Vec<float, kStagedVector>(0));
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_CHUNK_STATE_MATRIX_H
