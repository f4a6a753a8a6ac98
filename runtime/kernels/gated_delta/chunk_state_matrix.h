//===- chunk_state_matrix.h - States of chunks by fragments -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block walks over the chunks of one sequence with some values of one head.
// Its state, transposed, is the result of an attention without softmax whose
// queries are the state itself, rounded at each chunk's start; rows are values.
// Waves of their own bring the next chunk's operands into LDS meanwhile, where
// it has room for two chunks, and store what a chunk gives. Grid: x is
// (sequence, head, slice of the values).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_CHUNK_STATE_MATRIX_H
#define HK_KERNELS_GATED_DELTA_CHUNK_STATE_MATRIX_H

#include "kernels/gated_delta/matrix.h"

namespace hk {

template <GatedDeltaSpec S, GatedDeltaTile TILE> struct ChunkStateMatrix {
  static constexpr int kThreads = TILE.threads, kChunk = S.chunk;
  static constexpr int kMath = TILE.waves * kWave, kCopy = kThreads - kMath;
  static constexpr int kRows = int(matrixRows(kTarget, TILE));
  static constexpr int kSlices = S.values / kRows;
  static constexpr i64 kBlocksPerSequence = i64(S.valueHeads) * kSlices;
  static constexpr int kStages = chunkStateStages(kTarget, chunkShape(S), TILE);
  static_assert(S.key == S.value && kSlices * kRows == S.values);
  using Keys = StagedRows<S.key, S.keys>;
  using Values = StagedRows<S.key, kRows>;
  using Fragments = AttentionFragments<S.key, kRows, kChunk, Keys::kRowBytes,
                                       S.keys, TILE.waves>;

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

  /// Where a block works.
  struct Place {
    TokenSpan span;
    i64 head, first; // the first value
    HK_MEM TokenSpan chunk(i64 number) const {
      TokenSpan part = span;
      part.begin += number * kChunk;
      i64 end = part.begin + kChunk;
      part.end = end < span.end ? end : span.end;
      return part;
    }
  };

  template <class Io>
  HK_MEM static void run(const TokenArgs &tokens, const StateArgs &pool,
                         BlockId block, Shared &shared, const Io &io) {
    Place at = {sequenceSpan(tokens, block.x / kBlocksPerSequence),
                block.x % kBlocksPerSequence / kSlices,
                i64(block.x % kSlices) * kRows};
    // Dense states are [B, chunks, ...]; ragged ones are counted over all.
    i64 slot = tokens.offsets ? firstChunk(tokens, at.span, kChunk) : 0;
    i64 chunks = (at.span.end - at.span.begin + kChunk - 1) / kChunk;
    if (at.span.outside)
      clearTokens(at, io);
    else
      walk(pool, at, slot, chunks, shared, io);
    if (!tokens.offsets)
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
      load(f, pool, at);
    else if (chunks > 0)
      stage(at, at.chunk(0), shared.stages[0], io);
    barrier();
    for (i64 n = 0; n < chunks; ++n) {
      TokenSpan chunk = at.chunk(n);
      Stage &own = shared.stages[n % kStages];
      if (!copies())
        keepStart(f, shared);
      else if (kStages > 1 && n > 0)
        storeNew(at, at.chunk(n - 1), shared.stages[(n - 1) % kStages], io);
      barrier();
      if (!copies()) {
        step(f, chunk, shared, own);
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
      store(f, pool, at);
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

  /// The state, rounded, a row for each value: what the products multiply.
  HK_MEM static void keepStart(Fragments &f, Shared &shared) {
    f.forEachOutput([&](int slot, int key, auto x) {
      u8 *row = shared.start;
      int r = Fragments::rowOf(slot);
      if constexpr (sizeof(x) == 4) {
        *reinterpret_cast<u16 *>(row + swizzled<Keys::kRowBytes>(r, key * 2)) =
            u16(packPair<S.key>(plainNaN(x[0]), 0.f));
      } else {
        HK_UNROLL for (int e = 0; e < int(sizeof(x) / 4); e += 2) *
            reinterpret_cast<u32 *>(
                row + swizzled<Keys::kRowBytes>(r, (key + e) * 2)) =
            packPair<S.key>(plainNaN(x[e]), plainNaN(x[e + 1]));
      }
    });
  }

  /// By the threads that multiply, each wave for its own rows.
  HK_MEM static void step(Fragments &f, const TokenSpan &chunk,
                          const Shared &shared, Stage &from) {
    int length = int(chunk.end - chunk.begin);
    f.loadQueries(StagedQueries<Keys::kRowBytes>{shared.start});
    float all[Fragments::kRows];
    HK_UNROLL for (int i = 0; i < Fragments::kRows; ++i) all[i] = from.all;
    f.scaleOutput(all);
    f.scores(from.w);
    f.forEachScore([&](int slot, int token, auto &x) {
      int column = Fragments::rowOf(slot);
      HK_UNROLL for (int e = 0; e < int(sizeof(x) / 4); ++e) {
        u8 *u = from.u + swizzled<Values::kRowBytes>(token + e, column * 2);
        float left = Values::element(from.u, token + e, column) - x[e];
        *reinterpret_cast<u16 *>(u) = u16(packPair<S.key>(plainNaN(left), 0.f));
        // Behind the sequence nothing is added, whatever the state is.
        x[e] = token + e < length ? plainNaN(left * from.left[token + e]) : 0.f;
      }
    });
    f.values(from.k);
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
  HK_MEM static void clearTokens(const Place &at, const Io &io) {
    constexpr int vectors = kRows / kStagedVector;
    i64 count = (at.span.end - at.span.begin) * vectors;
    for (i64 n = threadId(); n < count; n += kThreads)
      io.vNew(at.span.batch, at.span.begin + n / vectors, at.head,
              at.first + n % vectors * kStagedVector,
              Vec<float, kStagedVector>(0));
  }
  template <class Io>
  HK_MEM static void clearState(const Place &at, i64 slot, const Io &io) {
    constexpr int vectors = kRows / kStagedVector;
    for (int n = threadId(); n < S.keys * vectors; n += kThreads)
      io.states(at.span.batch, slot, at.head, n / vectors,
                at.first + n % vectors * kStagedVector,
                Vec<float, kStagedVector>(0));
  }

  /// Offset of an element of the pool's line of a head.
  HK_MEM static i64 offsetOf(const StateArgs &pool, i64 value, i64 key) {
    return S.keyMajor ? key * pool.rowStride + value
                      : value * pool.rowStride + key;
  }
  HK_MEM static void load(Fragments &f, const StateArgs &pool,
                          const Place &at) {
    f.clearOutput();
    i64 line = initialLine<S>(pool, at.span.number);
    if (line < 0)
      return;
    auto base = global<const Storage<S.state>>(pool.state) +
                (line * pool.lineStride + at.head * pool.headStride);
    f.fillOutput([&](int slot, int key) {
      return hk::load<S.state, 1>(
          base, offsetOf(pool, at.first + Fragments::rowOf(slot), key))[0];
    });
  }
  HK_MEM static void store(Fragments &f, const StateArgs &pool,
                           const Place &at) {
    i64 line = stateLine<S>(pool, at.span.number);
    if (line < 0)
      return;
    auto base = global<Storage<S.state>>(pool.state) +
                (line * pool.lineStride + at.head * pool.headStride);
    f.forEachOutput([&](int slot, int key, auto x) {
      HK_UNROLL for (int e = 0; e < int(sizeof(x) / 4); ++e)
          hk::store<S.state, 1>(
              base, offsetOf(pool, at.first + Fragments::rowOf(slot), key + e),
              Vec<float, 1>(x[e]));
    });
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_CHUNK_STATE_MATRIX_H
