//===- chunk_output_matrix.h - Results of a chunk by fragments -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block has a chunk of a head. First the queries are the left operand of a
// product with the state at the chunk's start, as many of its rows at a time as
// a chunk has tokens; then the weights of the tokens for each other are that of
// a product with their values. Grid: x is (chunk, head).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_CHUNK_OUTPUT_MATRIX_H
#define HK_KERNELS_GATED_DELTA_CHUNK_OUTPUT_MATRIX_H

#include "kernels/gated_delta/chunk_output.h"
#include "kernels/gated_delta/matrix.h"

namespace hk {

template <GatedDeltaSpec S, GatedDeltaTile TILE> struct ChunkOutputMatrix {
  static constexpr int kThreads = TILE.threads, kChunk = S.chunk;
  static constexpr int kParts = S.keys / kChunk;
  static_assert(S.key == S.value && kParts * kChunk == S.keys);
  using Keys = StagedRows<S.key, S.keys>;
  using Values = StagedRows<S.value, S.values>;
  using Results = ResultRows<S.values>;
  using Fragments = AttentionFragments<S.key, kChunk, kChunk, Keys::kRowBytes,
                                       S.values, TILE.waves>;
  using OnVectors =
      ChunkOutput<S, GatedDeltaTile{kThreads, 1, kStagedVector, 0}>;

  struct Staged {
    union {
      struct {
        alignas(16) u8 keys[kChunk * Keys::kRowBytes],
            values[kChunk * Values::kRowBytes];
      };
      float results[kChunk * Results::kRow];
    };
    float decays[kChunk];
    AllThreads<kThreads> finite;
  };
  using Shared = StagedOrVectors<Staged, OnVectors>;
  static_assert(kLdsBytes<Shared> == gatedDeltaLds(kTarget,
                                                   GatedDeltaKernel::Output,
                                                   chunkShape(S), TILE));

  template <class Io>
  HK_MEM static void run(const TokenArgs &tokens, const StateArgs &pool,
                         BlockId block, Shared &shared, const Io &io) {
    i64 number = block.x / S.valueHeads, head = block.x % S.valueHeads;
    TokenSpan span = chunkSpan(tokens, kChunk, number);
    if (span.begin >= span.end)
      return;
    int length = int(span.end - span.begin);
    Staged &staged = shared.staged;
    if (!span.outside) {
      i64 slot = tokens.offsets
                     ? number
                     : number % ((tokens.tokens + kChunk - 1) / kChunk);
      if (compute(span, slot, head, length, staged, io))
        return;
      barrier();
    }
    OnVectors::run(tokens, pool, block, shared.vectors, io);
  }

private:
  /// False, and nothing stored, where a value is not finite.
  template <class Io>
  HK_MEM static bool compute(const TokenSpan &span, i64 slot, i64 head,
                             int length, Staged &staged, const Io &io) {
    const int thread = threadId();
    i64 keyHead = head / (S.valueHeads / S.heads);
    Fragments f;
    addState(f, span, slot, head, length, staged, io);
    stageKeys(staged, length, [&](int i, int k) {
      return io.key(span.batch, span.begin + i, keyHead, k);
    });
    staged.finite.put(Values::template stage<kChunk, kThreads>(
        staged.values, thread, length, [&](int i, int c) {
          return io.value(span.batch, span.begin + i, head, c);
        }));
    barrier();
    if (!staged.finite.get())
      return false;
    f.scores(staged.keys);
    weighTokens<S>(f, length, staged.decays);
    f.values(staged.values);
    barrier();
    Results::put(staged.results, f, S.scale);
    barrier();
    Results::template store<kThreads>(
        staged.results, thread, length,
        [&](int i, int c, Vec<float, kStagedVector> x) {
          io.result(span.batch, span.begin + i, head, c, x);
        });
    return true;
  }

  template <class Load>
  HK_MEM static void stageKeys(Staged &staged, int length, Load load) {
    Keys::template stage<kChunk, kThreads>(staged.keys, threadId(), length,
                                           load);
  }

  /// f holds the queries; its result is theirs of the state. Ends with a
  /// barrier.
  template <class Io>
  HK_MEM static void addState(Fragments &f, const TokenSpan &span, i64 slot,
                              i64 head, int length, Staged &staged,
                              const Io &io) {
    const int thread = threadId();
    i64 keyHead = head / (S.valueHeads / S.heads);
    stageKeys(staged, length, [&](int i, int k) {
      return io.query(span.batch, span.begin + i, keyHead, k);
    });
    for (int i = thread; i < kChunk; i += kThreads)
      staged.decays[i] =
          i < length ? decayOf<S>(io, span, span.begin + i, head) : 0.f;
    f.clearOutput();
    HK_UNROLL for (int part = 0; part < kParts; ++part) {
      Values::template stage<kChunk, kThreads>(
          staged.values, thread, kChunk, [&](int k, int c) {
            return io.states(span.batch, slot, head, part * kChunk + k, c);
          });
      barrier();
      f.forEachScore([&](int row, int key, auto &x) {
        HK_UNROLL for (int e = 0; e < int(sizeof(x) / 4); ++e) x[e] =
            Keys::element(staged.keys, Fragments::rowOf(row),
                          part * kChunk + key + e);
      });
      f.values(staged.values);
      barrier();
    }
    f.loadQueries(StagedQueries<Keys::kRowBytes>{staged.keys});
    float grown[Fragments::kRows];
    HK_UNROLL for (int i = 0; i < Fragments::kRows; ++i) grown[i] =
        decayBetween<S>(staged.decays[Fragments::rowOf(i)], 0.f);
    f.scaleOutput(grown);
    barrier();
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_CHUNK_OUTPUT_MATRIX_H
