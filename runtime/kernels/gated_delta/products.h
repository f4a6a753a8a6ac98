//===- products.h - Products of the tokens of a chunk -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The matrix of the products of two vectors of every pair of tokens, by pieces
// of 4 x 4 per thread. Keys are staged in LDS slice by slice.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_PRODUCTS_H
#define HK_KERNELS_GATED_DELTA_PRODUCTS_H

#include "kernels/gated_delta/state.h"

namespace hk {

/// exp(to - from) of two sums of decays; 1 without decays.
template <GatedDeltaSpec S> HK_DEV float decayBetween(float to, float from) {
  if constexpr (!S.hasDecay)
    return 1.f;
  return exp<1>(Vec<float, 1>(to - from))[0];
}

/// The sum of decays of a token; 0 without decays.
template <GatedDeltaSpec S, class Io>
HK_DEV float decayOf(const Io &io, const TokenSpan &span, i64 t, i64 head) {
  if constexpr (S.hasDecay)
    return io.decay(span.batch, t, head);
  return 0.f;
}
template <GatedDeltaSpec S, class Io>
HK_DEV float betaOf(const Io &io, const TokenSpan &span, i64 t, i64 head) {
  if constexpr (S.hasBeta)
    return io.beta(span.batch, t, head);
  return 1.f;
}

template <GatedDeltaSpec S, int THREADS> struct ChunkProducts {
  static constexpr int kVec = S.keyVector;
  static constexpr int kSlice = int(kktSlice(kTarget, S.keys));
  static constexpr int kRow = int(paddedRow(kSlice));
  static constexpr int kPiece = 4, kPieces = S.chunk / kPiece;
  static constexpr int kWork = kPieces * kPieces;
  /// Every thread stages for all; one that has several pieces does so for each.
  static constexpr int kRounds =
      kIsHost ? kWork : (kWork + THREADS - 1) / THREADS;

  struct Staged {
    float a[S.chunk * kRow], b[S.chunk * kRow];
  };
  struct Piece {
    float sum[kPiece][kPiece];
  };

  /// use(i, j, piece) for the pieces that lie on or below the diagonal; their
  /// first row and column are i and j. `a` and `b` give kVec keys of a token of
  /// the chunk from the k-th on. Every thread of the block calls it.
  template <class A, class B, class Use>
  HK_MEM static void run(Staged &staged, int length, A a, B b, Use use) {
    const int thread = kIsHost ? 0 : threadId();
    for (int round = 0; round < kRounds; ++round) {
      int work = round * THREADS + thread;
      int i = work / kPieces * kPiece, j = work % kPieces * kPiece;
      bool needed = work < kWork && j <= i;
      Piece piece = {};
      for (int first = 0; first < S.keys; first += kSlice) {
        if (!kIsHost || work == 0) {
          barrier();
          stage(staged.a, length, first, thread, a);
          stage(staged.b, length, first, thread, b);
          barrier();
        }
        if (needed)
          multiply(staged, i, j, piece);
      }
      if (needed)
        use(i, j, piece);
    }
  }

  /// Of the tokens with themselves; finish(i, j, sum) is what becomes of a
  /// product.
  template <class Load, class Finish, class Use>
  HK_MEM static void square(Staged &staged, int length, Load load,
                            Finish finish, Use use) {
    run(staged, length, load, load, [&](int i, int j, Piece piece) {
      HK_UNROLL for (int n = 0; n < kPiece; ++n)
          HK_UNROLL for (int m = 0; m < kPiece; ++m)
              piece.sum[n][m] = finish(i + n, j + m, piece.sum[n][m]);
      use(i, j, piece);
    });
  }

  /// What the tokens of a chunk are for each other: row i has, up to column i,
  /// how much a result takes of an earlier token's values.
  static constexpr int kWeightRow = int(paddedRow(S.chunk));
  template <class Io>
  HK_MEM static void weigh(Staged &staged, const TokenSpan &chunk, i64 head,
                           const Io &io, float *weights) {
    int length = int(chunk.end - chunk.begin);
    i64 keyHead = head / (S.valueHeads / S.heads);
    auto query = [&](int token, int k) {
      return io.query(chunk.batch, chunk.begin + token, keyHead, k);
    };
    auto key = [&](int token, int k) {
      return io.key(chunk.batch, chunk.begin + token, keyHead, k);
    };
    run(staged, length, query, key, [&](int i, int j, const Piece &piece) {
      HK_UNROLL for (int n = 0; n < kPiece; ++n)
          HK_UNROLL for (int m = 0; m < kPiece; ++m) {
        float weight = 0;
        if (j + m <= i + n && i + n < length) {
          float to = decayOf<S>(io, chunk, chunk.begin + i + n, head);
          float from = decayOf<S>(io, chunk, chunk.begin + j + m, head);
          weight = piece.sum[n][m] * decayBetween<S>(to, from);
        }
        weights[(i + n) * kWeightRow + j + m] =
            roundTo<S.value, 1>(Vec<float, 1>(weight))[0];
      }
    });
  }

private:
  template <class Load>
  HK_MEM static void stage(float *to, int length, int first, int thread,
                           Load load) {
    constexpr int vectors = (kSlice + kVec - 1) / kVec;
    for (int n = thread; n < S.chunk * vectors; n += THREADS) {
      int token = n / vectors, k = n % vectors * kVec;
      Vec<float, kVec> x = 0;
      if (token < length && first + k < S.keys)
        x = load(token, first + k);
      HK_UNROLL for (int w = 0; w < kVec; ++w) if (k + w < kSlice)
          to[token * kRow + k + w] = x[w];
    }
  }

  HK_MEM static void multiply(const Staged &staged, int i, int j,
                              Piece &piece) {
    for (int k = 0; k < kSlice; ++k) {
      float x[kPiece], y[kPiece];
      HK_UNROLL for (int n = 0; n < kPiece; ++n) {
        x[n] = staged.a[(i + n) * kRow + k];
        y[n] = staged.b[(j + n) * kRow + k];
      }
      HK_UNROLL for (int n = 0; n < kPiece; ++n)
          HK_UNROLL for (int m = 0; m < kPiece; ++m)
              piece.sum[n][m] = __builtin_fmaf(x[n], y[m], piece.sum[n][m]);
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_PRODUCTS_H
