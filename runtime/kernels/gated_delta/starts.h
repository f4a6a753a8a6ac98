//===- starts.h - States before segments -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block has some columns of a head's state in LDS and walks over the segments
// of a sequence. LANES neighbouring threads have a row of the transition, each
// a part of it; where registers hold it they ask for that of the next segment
// before they sum. Grid: x is (sequence, head, slice of the columns).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_STARTS_H
#define HK_KERNELS_GATED_DELTA_STARTS_H

#include "kernels/gated_delta/state.h"

namespace hk {

template <GatedDeltaSpec S, GatedDeltaTile TILE> struct ChunkStarts {
  static constexpr int kThreads = TILE.threads, kLanes = TILE.lanes;
  static constexpr int kColumns = TILE.columns;
  static constexpr int kSlices = S.values / kColumns;
  static constexpr i64 kBlocksPerSequence = i64(S.valueHeads) * kSlices;
  /// Elements of a vector of a row's part, vectors of it, rows of a thread.
  static constexpr int kVec = S.keyVector;
  static constexpr int kSteps = (S.keys + kVec * kLanes - 1) / (kVec * kLanes);
  static constexpr int kGroups = kThreads / kLanes;
  static constexpr int kRows = (S.keys + kGroups - 1) / kGroups;
  using Columns = Vec<float, kColumns>;
  /// f32 elements that columns of a key are aligned to in LDS.
  static constexpr int kAlign = kColumns < 4 || kLanes <= 2 ? kColumns : 4;
  using Part = Vec<float, kVec>;
  struct Shared {
    alignas(16) float state[2][startsPlace(TILE, S.keys)]; // by turns
  };
  static_assert(S.values % kColumns == 0);
  static_assert(kLdsBytes<Shared> == gatedDeltaLds(kTarget,
                                                   GatedDeltaKernel::Starts,
                                                   chunkShape(S), TILE));

  template <class Io>
  HK_MEM static void run(const TokenArgs &, const StateArgs &pool,
                         BlockId block, Shared &shared, const Io &) {
    const int thread = kIsHost ? 0 : threadId();
    i64 sequence = block.x / kBlocksPerSequence;
    i64 head = block.x % kBlocksPerSequence / kSlices;
    i64 first = i64(block.x % kSlices) * kColumns;
    loadFirst(pool, sequence, head, first, thread, shared.state[0]);
    auto from = [&](int segment) {
      return pool.transitions.of(segment, sequence, head);
    };
    i64 stride = pool.transitions.rowStride;
    Rows now, next;
    now.load(from(0), stride, first, thread);
    for (int s = 0; s < S.segments; ++s) {
      barrier();
      keep(pool.starts.of(s, sequence, head), pool.starts.rowStride, first,
           thread, shared.state[s & 1]);
      if (s + 1 == S.segments)
        break;
      if (s + 2 < S.segments)
        next.load(from(s + 1), stride, first, thread);
      now.apply(from(s), stride, first, thread, shared.state[s & 1],
                shared.state[(s + 1) & 1]);
      now = next;
    }
  }

private:
  HK_MEM static int rowOf(int n, int thread) {
    return n * kGroups + thread / kLanes;
  }

  /// A thread's part of a row of a transition.
  struct Row {
    Part m[kSteps];
    Columns c;

    HK_MEM void load(Global<const float> from, i64 stride, i64 first, int row,
                     int lane) {
      i64 at = (row < S.keys ? row : 0) * stride;
      c = hk::load<DType::F32, kColumns, kAlignSegments<S, kColumns>>(
          from, at + first);
      HK_UNROLL for (int r = 0; r < kSteps; ++r) {
        int k = (r * kLanes + lane) * kVec;
        m[r] = 0;
        if (k < S.keys)
          m[r] = hk::load<DType::F32, kVec, kAlignSegments<S, kVec>>(
              from, at + S.values + k);
      }
    }
    /// A thread's part of the sum goes to its row.
    HK_MEM void keep(Columns sum, float *to, int row, int lane) const {
      float parts[kColumns];
      HK_UNROLL for (int i = 0; i < kColumns; ++i) parts[i] = sum[i];
      reduceLanes<Sum, 1, kLanes, kWave>(parts);
      HK_UNROLL for (int i = 0; i < kColumns; ++i) sum[i] = parts[i] + c[i];
      if (lane == 0 && row < S.keys)
        *columns(to, row) = sum;
    }
  };

  /// Rows times the state; each of its columns is read once for all of them.
  template <int COUNT>
  HK_MEM static void multiply(const Row (&rows)[COUNT], const float *state,
                              int lane, Columns (&sums)[COUNT]) {
    HK_UNROLL for (int r = 0; r < kSteps; ++r) {
      int k = (r * kLanes + lane) * kVec;
      if (k < S.keys)
        HK_UNROLL for (int e = 0; e < kVec; ++e) {
          Columns x = *columns(state, k + e);
          HK_UNROLL for (int n = 0; n < COUNT; ++n) sums[n] =
              fma<kColumns>(Columns(rows[n].m[r][e]), x, sums[n]);
        }
    }
  }

  /// The rows of a thread, where its registers hold them.
  template <bool HELD> struct RowsOf {
    Row rows[kRows];
    HK_MEM void load(Global<const float> from, i64 stride, i64 first,
                     int thread) {
      HK_UNROLL for (int n = 0; n < kRows; ++n) rows[n].load(
          from, stride, first, rowOf(n, thread), thread % kLanes);
    }
    HK_MEM void apply(Global<const float>, i64, i64, int thread,
                      const float *state, float *to) const {
      const int lane = thread % kLanes;
      Columns sums[kRows] = {};
      multiply(rows, state, lane, sums);
      HK_UNROLL for (int n = 0; n < kRows; ++n) rows[n].keep(
          sums[n], to, rowOf(n, thread), lane);
    }
  };
  template <> struct RowsOf<false> {
    HK_MEM void load(Global<const float>, i64, i64, int) {}
    HK_MEM void apply(Global<const float> from, i64 stride, i64 first,
                      int thread, const float *state, float *to) const {
      for (int n = 0; n < kRows; ++n) {
        const int lane = thread % kLanes;
        Row row[1];
        Columns sum[1] = {};
        row[0].load(from, stride, first, rowOf(n, thread), lane);
        multiply(row, state, lane, sum);
        row[0].keep(sum[0], to, rowOf(n, thread), lane);
      }
    }
  };
  using Rows = RowsOf<!kIsHost && kRows * kSteps * kVec <= 64>;

  template <class T> HK_MEM static auto *columns(T *state, int row) {
    auto *at = state + startsPlace(TILE, row);
    using Placed = typename Aligned<Columns, 4 * kAlign>::type;
    if constexpr (__is_same(T, float))
      return reinterpret_cast<Placed *>(at);
    else
      return reinterpret_cast<const Placed *>(at);
  }

  HK_MEM static void loadFirst(const StateArgs &pool, i64 sequence, i64 head,
                               i64 first, int thread, float *state) {
    i64 line = initialLine<S>(pool, sequence);
    auto base = global<const Storage<S.state>>(pool.state) +
                (line * pool.lineStride + head * pool.headStride);
    for (int n = thread; n < S.keys * kColumns; n += kThreads) {
      i64 key = n / kColumns, value = first + n % kColumns;
      i64 at = S.keyMajor ? key * pool.rowStride + value
                          : value * pool.rowStride + key;
      state[startsPlace(TILE, key) + n % kColumns] =
          line < 0 ? 0.f : hk::load<S.state, 1>(base, at)[0];
    }
  }
  HK_MEM static void keep(Global<float> to, i64 stride, i64 first, int thread,
                          const float *state) {
    for (int row = thread; row < S.keys; row += kThreads)
      hk::store<DType::F32, kColumns, kAlignSegments<S, kColumns>>(
          to, row * stride + first, *columns(state, row));
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_STARTS_H
