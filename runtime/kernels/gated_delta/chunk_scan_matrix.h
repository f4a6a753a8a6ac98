//===- chunk_scan_matrix.h - States and results by fragments -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block walks over the chunks of one sequence with some values of one head.
// Its waves have three parts, each with registers of its own and the same
// barriers: some move the state on (state_matrix.h), some give the results of
// the tokens, rows of fragments of their own, from the state at the chunk's
// start and from what is new of the values, a chunk behind, and the others
// bring the next chunk's operands. Grid: x is (sequence, head, slice of the
// values).
//
// A token's weight for those before it is 0 in a product, which is right if
// what is new of all values is finite; else that sum is taken by definition.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_CHUNK_SCAN_MATRIX_H
#define HK_KERNELS_GATED_DELTA_CHUNK_SCAN_MATRIX_H

#include "kernels/gated_delta/state_matrix.h"

namespace hk {

template <GatedDeltaSpec S, GatedDeltaTile TILE> struct ChunkScanMatrix {
  using State = MatrixState<S, TILE>;
  using Place = typename State::Place;
  using Keys = typename State::Keys;
  using Values = typename State::Values;
  static constexpr int kThreads = TILE.threads, kChunk = S.chunk;
  static constexpr int kRows = State::kRows, kSlices = State::kSlices;
  /// Waves of the first two parts, threads of the third.
  static constexpr int kStateWaves = TILE.waves;
  static constexpr int kResultWaves = kChunk / kTarget.mmaM;
  static constexpr int kCopy = kThreads - (kStateWaves + kResultWaves) * kWave;
  static_assert(kChunk <= kCopy);
  static constexpr bool kStagesQueries =
      scanStagesQueries(kTarget, chunkShape(S), TILE);
  using Results = AttentionFragments<S.key, kChunk, kChunk, Keys::kRowBytes,
                                     kRows, kResultWaves>;
  static constexpr int kResultRow =
      int(scanResultRow(kTarget, chunkShape(S), TILE));

  template <bool STAGED> struct QueryRows {
    alignas(16) u8 q[kChunk * Keys::kRowBytes];
  };
  template <> struct QueryRows<false> {};
  struct Shared : QueryRows<kStagesQueries> {
    alignas(16) u8 w[kChunk * Keys::kRowBytes], k[kChunk * Keys::kRowBytes];
    /// Of two chunks by turns; what is new of the values replaces them.
    u8 u[2][kChunk * Values::kRowBytes];
    /// The state at the chunk's start, a row for each value.
    u8 start[kRows * Keys::kRowBytes];
    float results[kChunk * kResultRow];
    float decays[kChunk];
    float left[kChunk]; // of what a token adds, at the chunk's end
    float all;          // of the state
    AllThreads<kStateWaves * kWave> finite; // what is new of the values
  };
  static_assert(kLdsBytes<Shared> == gatedDeltaLds(kTarget,
                                                   GatedDeltaKernel::Scan,
                                                   chunkShape(S), TILE));

  template <class Io>
  HK_MEM static void run(const TokenArgs &tokens, const StateArgs &pool,
                         BlockId block, Shared &shared, const Io &io) {
    Place at = {segmentSpan(tokens, kChunk, S.segments,
                            block.x / State::kBlocksPerSequence),
                block.x % State::kBlocksPerSequence / kSlices,
                i64(block.x % kSlices) * kRows};
    if (at.span.outside)
      clear(at, io);
    else if (waveId() < kStateWaves)
      moveState(pool, at, shared);
    else if (waveId() < kStateWaves + kResultWaves)
      giveResults(at, shared, io);
    else
      bringOperands(at, shared, io);
  }

private:
  HK_MEM static int lengthOf(const TokenSpan &chunk) {
    return int(chunk.end - chunk.begin);
  }

  //===--------------------------------------------------------------------===//
  // The state
  //===--------------------------------------------------------------------===//

  HK_MEM static void moveState(const StateArgs &pool, const Place &at,
                               Shared &shared) {
    typename State::Fragments f;
    State::load(f, pool, at);
    i64 chunks = at.chunks();
    for (i64 n = 0; n < chunks; ++n) {
      State::keepStart(f, shared.start);
      barrier();
      shared.finite.put(State::step(f, lengthOf(at.chunk(n)), shared.start,
                                    shared.w, shared.k, shared.u[n & 1],
                                    shared.left, shared.all));
      barrier();
    }
    State::store(f, pool, at);
  }

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  template <class Io>
  HK_MEM static void giveResults(const Place &at, Shared &shared,
                                 const Io &io) {
    Results f;
    i64 chunks = at.chunks();
    for (i64 n = 0; n < chunks; ++n) {
      if (n > 0)
        finish(f, shared.u[(n - 1) & 1], shared);
      barrier();
      if (n > 0)
        store(at, at.chunk(n - 1), shared, io);
      begin(f, at, at.chunk(n), shared, io);
      barrier();
    }
    if (chunks == 0)
      return;
    finish(f, shared.u[(chunks - 1) & 1], shared);
    store(at, at.chunk(chunks - 1), shared, io);
  }

  /// Queries from memory, eight elements at a time.
  template <class Io> struct LoadedQueries {
    const Io &io;
    const TokenSpan &chunk;
    i64 head;
    template <class T> HK_MEM T load(int, int row, int byte) const {
      int length = lengthOf(chunk), i = row < length ? row : length - 1;
      auto x = io.query(chunk.batch, chunk.begin + i, head,
                        byte / 16 * kStagedVector);
      u32x4 all = {packPair<S.key>(x[0], x[1]), packPair<S.key>(x[2], x[3]),
                   packPair<S.key>(x[4], x[5]), packPair<S.key>(x[6], x[7])};
      if constexpr (sizeof(T) == sizeof(all))
        return all;
      else
        return all[byte % 16 / 4];
    }
  };

  /// The part of the state at the chunk's start, and the weights of its tokens.
  template <class Io>
  HK_MEM static void begin(Results &f, const Place &at, const TokenSpan &chunk,
                           Shared &shared, const Io &io) {
    if constexpr (kStagesQueries)
      f.loadQueries(StagedQueries<Keys::kRowBytes>{shared.q});
    else
      f.loadQueries(
          LoadedQueries<Io>{io, chunk, at.head / (S.valueHeads / S.heads)});
    f.clearOutput();
    f.rows(shared.start);
    float grown[Results::kRows];
    HK_UNROLL for (int i = 0; i < Results::kRows; ++i) grown[i] =
        decayBetween<S>(shared.decays[Results::rowOf(i)], 0.f);
    f.scaleOutput(grown);
    f.scores(shared.k);
    weighTokens<S>(f, lengthOf(chunk), shared.decays);
  }

  /// The part of the values `fresh`; results are in LDS then, where each wave
  /// has rows of its own.
  HK_MEM static void finish(Results &f, const u8 *fresh, Shared &shared) {
    if (shared.finite.get())
      f.values(fresh);
    else
      addByDefinition(f, fresh, shared);
    float *results = shared.results;
    waveBarrier();
    f.forEachOutput([&](int slot, int column, auto x) {
      HK_UNROLL for (int e = 0; e < int(sizeof(x) / 4); ++e)
          results[Results::rowOf(slot) * kResultRow + column + e] =
              x[e] * S.scale;
    });
    waveBarrier();
  }

  HK_MEM static void addByDefinition(Results &f, const u8 *fresh,
                                     Shared &shared) {
    u8 *weights = reinterpret_cast<u8 *>(shared.results);
    auto place = [&](int row, int token) {
      return reinterpret_cast<u16 *>(weights + row * kResultRow * 4 +
                                     token * 2);
    };
    waveBarrier();
    f.forEachScore([&](int slot, int token, auto &x) {
      HK_UNROLL for (int e = 0; e < int(sizeof(x) / 4); ++e) *
          place(Results::rowOf(slot), token + e) =
          u16(packPair<S.key>(x[e], 0.f));
    });
    waveBarrier();
    f.addOutput([&](int slot, int column) {
      int row = Results::rowOf(slot);
      float sum = 0;
      for (int j = 0; j <= row; ++j) {
        Packed<S.key, 1> weight = bitCast<Packed<S.key, 1>>(*place(row, j));
        sum = __builtin_fmaf(unpack<S.key, 1>(weight)[0],
                             Values::element(fresh, j, column), sum);
      }
      return sum;
    });
  }

  template <class Io>
  HK_MEM static void store(const Place &at, const TokenSpan &chunk,
                           const Shared &shared, const Io &io) {
    State::template storeResults<kChunk / kResultWaves, kResultRow>(
        shared.results, Results::firstRow(), at, chunk, io);
  }

  //===--------------------------------------------------------------------===//
  // Operands
  //===--------------------------------------------------------------------===//

  /// Operands of a chunk on their way.
  struct Fetched {
    template <class Rows>
    using Part = typename Rows::template Fetched<kChunk, kCopy>;
    Part<Keys> w, k, q;
    Part<Values> u;
    float last, own;

    template <class Io>
    HK_MEM void load(const Place &at, const TokenSpan &chunk, int thread,
                     const Io &io) {
      int length = lengthOf(chunk);
      i64 keyHead = at.head / (S.valueHeads / S.heads);
      w.load(thread, length, [&](int i, int c) {
        return io.w(chunk.batch, chunk.begin + i, at.head, c);
      });
      u.load(thread, length, [&](int i, int c) {
        return io.u(chunk.batch, chunk.begin + i, at.head, at.first + c);
      });
      k.load(thread, length, [&](int i, int c) {
        return io.key(chunk.batch, chunk.begin + i, keyHead, c);
      });
      if constexpr (kStagesQueries)
        q.load(thread, length, [&](int i, int c) {
          return io.query(chunk.batch, chunk.begin + i, keyHead, c);
        });
      int token = thread < length ? thread : length - 1;
      last = decayOf<S>(io, chunk, chunk.end - 1, at.head);
      own = decayOf<S>(io, chunk, chunk.begin + token, at.head);
    }
    HK_MEM void store(Shared &to, u8 *values, int thread) const {
      w.store(to.w, thread);
      u.store(values, thread);
      k.store(to.k, thread);
      if constexpr (kStagesQueries)
        q.store(to.q, thread);
      if (thread < kChunk) {
        to.decays[thread] = own;
        to.left[thread] = decayBetween<S>(last, own);
      }
      if (thread == 0)
        to.all = decayBetween<S>(last, 0.f);
    }
  };

  template <class Io>
  HK_MEM static void bringOperands(const Place &at, Shared &shared,
                                   const Io &io) {
    const int thread = threadId() - (kStateWaves + kResultWaves) * kWave;
    i64 chunks = at.chunks();
    Fetched next;
    if (chunks > 0)
      next.load(at, at.chunk(0), thread, io);
    for (i64 n = 0; n < chunks; ++n) {
      next.store(shared, shared.u[n & 1], thread);
      barrier();
      if (n + 1 < chunks)
        next.load(at, at.chunk(n + 1), thread, io);
      barrier();
    }
  }

  template <class Io> HK_MEM static void clear(const Place &at, const Io &io) {
    State::template clearTokens<kThreads>(at, [&](i64 t, i64 c, auto x) {
      io.result(at.span.batch, t, at.head, c, x);
    });
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_CHUNK_SCAN_MATRIX_H
