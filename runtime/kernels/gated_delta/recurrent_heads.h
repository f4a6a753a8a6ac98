//===- recurrent_heads.h - The rule by blocks of whole heads -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As recurrent.h, but a block has all values of its heads, so that what follows
// may need a head's whole row: results of a token meet in LDS, and neighbouring
// lanes finish a head. With a convolution in front, of one token, a block has
// the value heads of one key head: so every channel is convolved once, by the
// block that alone reads and writes its state, and q, k and v go through LDS.
// Grid: x is (sequence, value head or key head).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_RECURRENT_HEADS_H
#define HK_KERNELS_GATED_DELTA_RECURRENT_HEADS_H

#include "kernels/gated_delta/convolved_token.h"
#include "kernels/gated_delta/token_step.h"

namespace hk {

template <GatedDeltaSpec S, GatedDeltaTile TILE> struct RecurrentHeads {
  using Step = TokenStep<S, TILE>;
  using State = typename Step::State;
  using Columns = typename State::Columns;
  using Keys = typename State::Keys;
  using Place = typename State::Place;
  static constexpr int kThreads = TILE.threads;
  static constexpr int kHeads = S.convolved ? S.valueHeads / S.heads : 1;
  static constexpr int kAll = kHeads * S.values;
  static constexpr int kColumns = State::kColumns, kVec = State::kVec;
  /// Values that the threads have at a time.
  static constexpr int kAtOnce = kColumns * State::kGroups;
  static constexpr int kRounds = (kAll + kAtOnce - 1) / kAtOnce;
  static constexpr int kRowVec = int(rowVector(kTarget, S.values));
  static constexpr int kRowLanes = S.values / kRowVec;
  static constexpr HeadsShape kShape = {kAll, S.convolved ? S.keys : 0};
  static_assert(kRowVec * kRowLanes == S.values && kRowLanes <= kThreads);
  static_assert(kIsHost || kRounds == 1, "states lie in registers");

  struct Shared {
    float results[kAll];
    float staged[kShape.staged ? 2 * S.keys + kAll : 4]; // q, k, v
  };
  static_assert(kLdsBytes<Shared> == recurrentHeadsLds(kShape));

  template <class Io>
  HK_MEM static void run(const TokenArgs &tokens, const StateArgs &pool,
                         BlockId block, Shared &shared, const Io &io) {
    constexpr i64 blocks = S.valueHeads / kHeads;
    TokenSpan span = sequenceSpan(tokens, block.x / blocks);
    i64 first = block.x % blocks * kHeads;
    const Staged<Io> operands = {io, shared, first};
    // The state is under way while the channels are convolved.
    State states[kRounds];
    for (int r = 0; r < kRounds && !span.outside; ++r)
      states[r].load(pool, span, first + headOf(r), placeOf(r));
    if constexpr (S.convolved) {
      stage(span, first, shared, io);
      barrier();
    }
    for (i64 t = span.begin; t < span.end; ++t) {
      for (int r = 0; r < kRounds; ++r)
        work(span, t, first, r, states[r], shared, operands);
      barrier();
      finish(span, t, first, shared, io);
      barrier();
    }
    for (int r = 0; r < kRounds && !span.outside; ++r)
      states[r].store(pool, span, first + headOf(r), placeOf(r));
  }

private:
  /// Operands of a token, by way of LDS where they are convolved.
  template <class Io> struct Staged {
    const Io &io;
    const Shared &shared;
    i64 first;
    template <int V> HK_MEM Vec<float, V> from(i64 place) const {
      Vec<float, V> x;
      HK_UNROLL for (int e = 0; e < V; ++e) x[e] = shared.staged[place + e];
      return x;
    }
    HK_MEM Keys query(i64 b, i64 t, i64 head, i64 c) const {
      if constexpr (S.convolved)
        return from<kVec>(c);
      else
        return io.query(b, t, head, c);
    }
    HK_MEM Keys key(i64 b, i64 t, i64 head, i64 c) const {
      if constexpr (S.convolved)
        return from<kVec>(S.keys + c);
      else
        return io.key(b, t, head, c);
    }
    HK_MEM Columns value(i64 b, i64 t, i64 head, i64 c) const {
      if constexpr (S.convolved)
        return from<kColumns>(2 * S.keys + (head - first) * S.values + c);
      else
        return io.value(b, t, head, c);
    }
    HK_MEM float decay(i64 b, i64 t, i64 head) const {
      return io.decay(b, t, head);
    }
    HK_MEM Keys keyDecay(i64 b, i64 t, i64 head, i64 c) const {
      return io.keyDecay(b, t, head, c);
    }
    HK_MEM Columns valueDecay(i64 b, i64 t, i64 head, i64 c) const {
      return io.valueDecay(b, t, head, c);
    }
    template <class... At> HK_MEM auto beta(At... at) const {
      return io.beta(at...);
    }
  };

  /// The first of this thread's values among those of the block.
  HK_MEM static i64 valueOf(int round) {
    int thread = kIsHost ? 0 : threadId();
    return (round * State::kGroups + thread / State::kLanes) * kColumns;
  }
  HK_MEM static i64 headOf(int round) {
    i64 value = valueOf(round);
    return value < kAll ? value / S.values : 0;
  }
  HK_MEM static Place placeOf(int round) {
    int thread = kIsHost ? 0 : threadId();
    i64 value = valueOf(round);
    return {value % S.values, thread % State::kLanes, value < kAll};
  }

  /// Convolves the channels of the block's heads, each once.
  template <class Io>
  HK_MEM static void stage(const TokenSpan &span, i64 first, Shared &shared,
                           const Io &io) {
    constexpr int keys = S.keys / kVec, all = 2 * keys + kAll / kColumns;
    i64 b = span.batch, t = span.begin, keyHead = first / kHeads;
    auto put = [&](i64 place, auto x) {
      HK_UNROLL for (int e = 0; e < int(sizeof(x) / 4); ++e)
          shared.staged[place + e] = x[e];
    };
    for (int n = kIsHost ? 0 : threadId(); n < all; n += kThreads) {
      if (n < keys) {
        put(n * kVec, io.query(b, t, keyHead, i64(n) * kVec));
      } else if (n < 2 * keys) {
        put(n * kVec, io.key(b, t, keyHead, i64(n - keys) * kVec));
      } else {
        i64 c = i64(n - 2 * keys) * kColumns;
        put(2 * S.keys + c, io.value(b, t, first + c / S.values, c % S.values));
      }
    }
  }

  template <class Operands>
  HK_MEM static void work(const TokenSpan &span, i64 t, i64 first, int round,
                          State &state, Shared &shared,
                          const Operands &operands) {
    Place at = placeOf(round);
    i64 head = headOf(round);
    Columns y = 0;
    if (!span.outside) {
      typename Step::Token token =
          Step::load(span, t, first + head, at, operands);
      y = Step::step(state, token);
    }
    if (at.first())
      HK_UNROLL for (int e = 0; e < kColumns; ++e)
          shared.results[head * S.values + at.value + e] = y[e];
  }

  template <class Io>
  HK_MEM static void finish(const TokenSpan &span, i64 t, i64 first,
                            const Shared &shared, const Io &io) {
    int thread = kIsHost ? 0 : threadId();
    i64 c = i64(thread % kRowLanes) * kRowVec;
    for (int head = thread / kRowLanes; head < kHeads;
         head += kThreads / kRowLanes) {
      Vec<float, kRowVec> x;
      HK_UNROLL for (int e = 0; e < kRowVec; ++e) x[e] =
          shared.results[head * S.values + c + e];
      io.finish(span.batch, t, first + head, c, x);
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_RECURRENT_HEADS_H
