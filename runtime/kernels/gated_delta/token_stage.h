//===- token_stage.h - Operands of the next tokens in LDS -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A walk waits for nothing but the state: all threads of a block bring the
// operands of the next tokens into LDS at once, so that what they wait for and
// what computes an operand (norms, gates, scalings that fusion took in) is paid
// once for all of these tokens, outside of the walk. Rows of keys come first,
// then rows of the block's values, then single numbers.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_TOKEN_STAGE_H
#define HK_KERNELS_GATED_DELTA_TOKEN_STAGE_H

#include "kernels/gated_delta/state.h"

namespace hk {

/// LDS that only a GPU needs, if at all.
template <class Staged, bool NEEDED = true> struct GpuSharedOf {
  using Type = Staged;
};
template <class Staged> struct GpuSharedOf<Staged, false> {
  using Type = NoShared;
};
template <class Staged, bool NEEDED = true>
using GpuShared = typename GpuSharedOf<Staged, NEEDED && !kIsHost>::Type;

template <GatedDeltaSpec S, GatedDeltaTile TILE, TokenRows ROWS>
struct TokenStage {
  using State = HeadState<S, TILE>;
  using Columns = typename State::Columns;
  using Keys = typename State::Keys;
  static constexpr int kThreads = TILE.threads;
  static constexpr int kVec = State::kVec, kColumns = State::kColumns;
  static constexpr ChunkShape kShape = {S.chunk, S.keys, S.values, ROWS};
  static constexpr int kTokens = int(stagedTokens(kShape, TILE));
  static constexpr int kToken = int(stagedToken(kShape, TILE));
  static constexpr int kValues = int(walkValues(kShape, TILE));
  static constexpr int kKeyRow = int(vectorRow(S.keys));
  static constexpr int kValueRow = int(vectorRow(kValues));
  static constexpr int kFirstValues = int(ROWS.keys) * kKeyRow;
  static constexpr int kScalars = kFirstValues + int(ROWS.values) * kValueRow;

  struct Shared {
    alignas(16) float tokens[kTokens * kToken];
  };

  /// What a thread brings of rows of SIZE elements, V at a time, on its way.
  template <int SIZE, int V> struct Fetched {
    static constexpr int kVectors = SIZE / V, kAll = kTokens * kVectors;
    static constexpr int kEach = (kAll + kThreads - 1) / kThreads;
    Vec<float, V> x[kEach];

    /// load(token, column). Tokens from `count` on, which is at least 1, are
    /// the last one: without branches all loads are under way together.
    template <class Load> HK_MEM void load(int thread, int count, Load load) {
      HK_UNROLL for (int i = 0; i < kEach; ++i) {
        int n = i * kThreads + thread;
        n = kAll % kThreads == 0 || n < kAll ? n : kAll - 1;
        int token = n / kVectors;
        x[i] =
            load(i64(token < count ? token : count - 1), i64(n % kVectors) * V);
      }
    }
    /// Into rows whose first begins at `to`.
    HK_MEM void store(float *to, int thread) const {
      HK_UNROLL for (int i = 0; i < kEach; ++i) {
        int n = i * kThreads + thread;
        if (kAll % kThreads == 0 || n < kAll)
          *reinterpret_cast<Vec<float, V> *>(
              to + (n / kVectors * kToken + n % kVectors * V)) = x[i];
      }
    }
  };
  using KeyRows = Fetched<S.keys, kVec>;
  using ValueRows = Fetched<kValues, kColumns>;
  using Scalars = Fetched<1, 1>;

  HK_MEM static void putKeys(Shared &shared, int n, const KeyRows &x) {
    x.store(shared.tokens + n * kKeyRow, threadId());
  }
  HK_MEM static void putValues(Shared &shared, int n, const ValueRows &x) {
    x.store(shared.tokens + kFirstValues + n * kValueRow, threadId());
  }
  HK_MEM static void putScalars(Shared &shared, int n, const Scalars &x) {
    x.store(shared.tokens + kScalars + n, threadId());
  }

  /// The first value of a block.
  HK_MEM static i64 firstValue(i64 slice) {
    return slice * State::kGroups * kColumns;
  }
  /// Column `c` of a block among the head's, or the last where there are no
  /// more of its own.
  HK_MEM static i64 valueOf(i64 slice, i64 c) {
    i64 value = firstValue(slice) + c;
    return value < S.fresh ? value : S.fresh - kColumns;
  }

  /// use(part, operands) for the tokens of `span`, as many at a time as are
  /// staged; bring(part, count) puts them into LDS. Every thread of the block
  /// calls it.
  template <class Bring, class Use>
  HK_MEM static void forEachPart(const TokenSpan &span, i64 slice,
                                 const Shared &shared, Bring bring, Use use) {
    for (i64 t = span.begin; t < span.end; t += kTokens) {
      TokenSpan part = span.part(t, kTokens);
      barrier(); // what was there has been read
      bring(part, int(part.end - part.begin));
      barrier();
      use(part, Operands{shared, t, firstValue(slice)});
    }
  }

  /// What is staged of the tokens from `first` on, as Io gives it. A walk over
  /// chunks has w and u where one over tokens has queries and values.
  struct Operands {
    const Shared &shared;
    i64 first, firstValue;
    HK_MEM Keys query(i64, i64 t, i64, i64 c) const { return keys(0, t, c); }
    HK_MEM Keys w(i64, i64 t, i64, i64 c) const { return keys(0, t, c); }
    HK_MEM Keys key(i64, i64 t, i64, i64 c) const { return keys(1, t, c); }
    HK_MEM Keys keyDecay(i64, i64 t, i64, i64 c) const { return keys(2, t, c); }
    HK_MEM Columns value(i64, i64 t, i64, i64 c) const {
      return values(0, t, c);
    }
    HK_MEM Columns u(i64, i64 t, i64, i64 c) const { return values(0, t, c); }
    HK_MEM Columns valueDecay(i64, i64 t, i64, i64 c) const {
      return values(1, t, c);
    }
    HK_MEM Columns beta(i64, i64 t, i64, i64 c) const {
      return values(1 + S.hasValueDecay, t, c);
    }
    HK_MEM float decay(i64, i64 t, i64) const { return scalar(0, t); }
    HK_MEM float beta(i64, i64 t, i64) const { return scalar(S.hasDecay, t); }

  private:
    /// Row `n` of keys, of values, or number `n` of token `t`, from its element
    /// `c` on.
    HK_MEM Keys keys(int n, i64 t, i64 c) const {
      return get<kVec>(shared, t - first, n * kKeyRow + c);
    }
    HK_MEM Columns values(int n, i64 t, i64 c) const {
      return get<kColumns>(shared, t - first,
                           kFirstValues + n * kValueRow + c - firstValue);
    }
    HK_MEM float scalar(int n, i64 t) const {
      return shared.tokens[(t - first) * kToken + kScalars + n];
    }
  };

private:
  template <int V>
  HK_MEM static Vec<float, V> get(const Shared &shared, i64 t, i64 place) {
    return *reinterpret_cast<const Vec<float, V> *>(shared.tokens + t * kToken +
                                                    place);
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_TOKEN_STAGE_H
