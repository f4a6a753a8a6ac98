//===- state_matrix.h - A part of a state in fragments -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the kernels share that walk over chunks on matrix units: some values of
// a head's state, transposed, are the result of an attention without softmax
// whose queries are the state itself, rounded at each chunk's start; rows are
// values.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_STATE_MATRIX_H
#define HK_KERNELS_GATED_DELTA_STATE_MATRIX_H

#include "kernels/gated_delta/matrix.h"

namespace hk {

template <GatedDeltaSpec S, GatedDeltaTile TILE> struct MatrixState {
  static constexpr int kChunk = S.chunk;
  static constexpr int kRows = int(matrixRows(kTarget, TILE));
  static constexpr int kSlices = S.values / kRows;
  static constexpr i64 kBlocksPerSequence = i64(S.valueHeads) * kSlices;
  static_assert(S.key == S.value && kSlices * kRows == S.values);
  using Keys = StagedRows<S.key, S.keys>;
  using Values = StagedRows<S.key, kRows>;
  using Fragments = AttentionFragments<S.key, kRows, kChunk, Keys::kRowBytes,
                                       S.keys, TILE.waves>;

  /// Where a block works.
  struct Place {
    TokenSpan span;
    i64 head, first; // the first value
    HK_MEM i64 chunks() const {
      return (span.end - span.begin + kChunk - 1) / kChunk;
    }
    HK_MEM TokenSpan chunk(i64 number) const {
      TokenSpan part = span;
      part.begin += number * kChunk;
      i64 end = part.begin + kChunk;
      part.end = end < span.end ? end : span.end;
      return part;
    }
  };

  /// The state, rounded, a row for each value: what the products multiply.
  HK_MEM static void keepStart(Fragments &f, u8 *start) {
    f.forEachOutput([&](int slot, int key, auto x) {
      int r = Fragments::rowOf(slot);
      if constexpr (sizeof(x) == 4) {
        *reinterpret_cast<u16 *>(start +
                                 swizzled<Keys::kRowBytes>(r, key * 2)) =
            u16(packPair<S.key>(plainNaN(x[0]), 0.f));
      } else {
        HK_UNROLL for (int e = 0; e < int(sizeof(x) / 4); e += 2) *
            reinterpret_cast<u32 *>(
                start + swizzled<Keys::kRowBytes>(r, (key + e) * 2)) =
            packPair<S.key>(plainNaN(x[e]), plainNaN(x[e + 1]));
      }
    });
  }

  /// A chunk of `length` tokens on the fragments of this wave, whose state at
  /// the chunk's start is in `start`. What is new of the values replaces u,
  /// zeros behind the last token; whether all of this thread's is finite.
  /// `left` is what decay leaves of a token at the chunk's end, `all` of the
  /// state.
  HK_MEM static bool step(Fragments &f, int length, const u8 *start,
                          const u8 *w, const u8 *k, u8 *u, const float *left,
                          float all) {
    f.loadQueries(StagedQueries<Keys::kRowBytes>{start});
    float decays[Fragments::kRows];
    HK_UNROLL for (int i = 0; i < Fragments::kRows; ++i) decays[i] = all;
    f.scaleOutput(decays);
    f.scores(w);
    u32 largest = 0;
    f.forEachScore([&](int slot, int token, auto &x) {
      int column = Fragments::rowOf(slot);
      HK_UNROLL for (int e = 0; e < int(sizeof(x) / 4); ++e) {
        u8 *at = u + swizzled<Values::kRowBytes>(token + e, column * 2);
        float own = Values::element(u, token + e, column) - x[e];
        // Behind the sequence nothing is added, whatever the state is.
        own = token + e < length ? plainNaN(own) : 0.f;
        u32 packed = packPair<S.key>(own, 0.f) & 0xFFFFu;
        largest = largest > (packed & 0x7FFFu) ? largest : packed & 0x7FFFu;
        *reinterpret_cast<u16 *>(at) = u16(packed);
        x[e] = token + e < length ? plainNaN(own * left[token + e]) : 0.f;
      }
    });
    f.values(k);
    return largest < (S.key == DType::BF16 ? 0x7F80u : 0x7C00u);
  }

  /// store(token, column, zeros) for the block's values of tokens outside of
  /// all sequences.
  template <int THREADS, class Store>
  HK_MEM static void clearTokens(const Place &at, Store store) {
    constexpr int vectors = kRows / kStagedVector;
    i64 count = (at.span.end - at.span.begin) * vectors;
    for (i64 n = threadId(); n < count; n += THREADS)
      store(at.span.begin + n / vectors, at.first + n % vectors * kStagedVector,
            Vec<float, kStagedVector>(0));
  }

  /// Stores what a wave has of a chunk's results in LDS: ROWS tokens from
  /// `firstRow` on, STRIDE floats apart.
  template <int ROWS, int STRIDE, class Io>
  HK_MEM static void storeResults(const float *results, int firstRow,
                                  const Place &at, const TokenSpan &chunk,
                                  const Io &io) {
    constexpr int vectors = kRows / kStagedVector, count = ROWS * vectors;
    HK_UNROLL for (int first = 0; first < count; first += kWave) {
      int n = first + laneId();
      int row = firstRow + n / vectors, column = n % vectors * kStagedVector;
      if (row >= int(chunk.end - chunk.begin) ||
          (count % kWave != 0 && n >= count))
        continue;
      Vec<float, kStagedVector> x;
      HK_UNROLL for (int e = 0; e < kStagedVector; ++e) x[e] =
          results[row * STRIDE + column + e];
      io.result(chunk.batch, chunk.begin + row, at.head, at.first + column, x);
    }
  }

  /// Offset of an element of the pool's line of a head.
  HK_MEM static i64 offsetOf(const StateArgs &pool, i64 value, i64 key) {
    return S.keyMajor ? key * pool.rowStride + value
                      : value * pool.rowStride + key;
  }
  HK_MEM static void load(Fragments &f, const StateArgs &pool,
                          const Place &at) {
    f.clearOutput();
    if constexpr (S.segments > 1) {
      auto from = pool.starts.of(at.span.segment, at.span.number, at.head);
      f.fillOutput([&](int slot, int key) {
        return from[key * pool.starts.rowStride + at.first +
                    Fragments::rowOf(slot)];
      });
      return;
    }
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
    i64 line = at.span.ends ? stateLine<S>(pool, at.span.number) : -1;
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

#endif // HK_KERNELS_GATED_DELTA_STATE_MATRIX_H
