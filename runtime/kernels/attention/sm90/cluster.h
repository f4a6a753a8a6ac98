//===- cluster.h - Blocks that share a tile's keys -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Few queries over many keys are fewer tiles than the chip has units, so the
// blocks of a cluster walk over parts of a tile's keys. At the end each leaves
// its sums in its own LDS, where operands were, and puts together and
// stores a part of the result, which it reads from all others: nothing goes
// through memory, and the order of the sum is that of the blocks.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_SM90_CLUSTER_H
#define HK_KERNELS_ATTENTION_SM90_CLUSTER_H

#include "kernels/attention/sm90/store.h"

namespace hk {

/// E: the epilogue, or NoEpilogue.
template <AttentionSpec S, AttentionTile T, class E>
class BulkAttentionCluster {
  using Config = BulkAttentionConfig<S, T>;
  using Accumulators = typename Config::Values::Registers;
  static constexpr int kBlocks = T.cluster;
  static constexpr int kThreads = Config::kGroups * kWarpgroup;
  /// A row: its columns in f32, maximum (base 2) and sum, and what shifts the
  /// next row to other banks.
  static constexpr u32 kEndsAt = Config::kColumns * 4, kPitch = kEndsAt + 32;
  /// Columns that a thread puts together at a time.
  static constexpr int kVec = 8, kInRow = S.valueDim / kVec;
  static_assert(T.bq * kPitch <= Config::Layout::kOperandBytes &&
                S.valueDim % kVec == 0);

public:
  /// `parts`: where the sums go; `row`: this thread's first of the tile.
  HK_MEM static void run(const AttentionArgs<S> &a,
                         const BulkAttentionTile &tile, u32 parts, int row,
                         const BulkAttentionRows<S, T> &rows,
                         const Accumulators &o) {
    barrierOfSome<1, kThreads>(); // both warpgroups have read what lies there
    leave(a, parts + row * kPitch, rows, o);
    waveBarrier();
    clusterArrive();
    clusterWait();
    if constexpr (kStatGroup<E> != 0)
      finishGroups(a, tile, parts);
    else
      finishColumns(a, tile, parts);
    // Nobody goes while others read its sums.
    waveBarrier();
    clusterArrive();
    clusterWait();
  }

private:
  HK_MEM static void leave(const AttentionArgs<S> &a, u32 at,
                           const BulkAttentionRows<S, T> &rows,
                           const Accumulators &o) {
    int lane = laneId() % 4;
    HK_UNROLL for (int r = 0; r < 2; ++r, at += 8 * kPitch) {
      HK_UNROLL for (int c = 0; c < Config::kColumns / 8; ++c)
          storeLds8(at + c * 32 + lane * 8, bitCast<u32>(o[c * 4 + 2 * r]),
                    bitCast<u32>(o[c * 4 + 2 * r + 1]));
      float sum = rows.total(r);
      if (lane == 0)
        storeLds8(at + kEndsAt, bitCast<u32>(rows.maximum[r] * rows.baseTwo(a)),
                  bitCast<u32>(sum));
    }
  }

  HK_MEM static void finishColumns(const AttentionArgs<S> &a,
                                   const BulkAttentionTile &tile, u32 parts) {
    constexpr int all = T.bq * kInRow;
    int rank = int(clusterRank()), end = all * (rank + 1) / kBlocks;
    for (int i = all * rank / kBlocks + threadId(); i < end; i += kThreads) {
      int own = i / kInRow;
      if (tileQuery<T>(own) < tile.count)
        finish(a, tile, parts, own, i % kInRow * kVec);
    }
  }
  /// The same of whole rows and by whole warps, whose lanes exchange
  /// statistics.
  HK_MEM static void finishGroups(const AttentionArgs<S> &a,
                                  const BulkAttentionTile &tile, u32 parts) {
    int rank = int(clusterRank());
    int first = T.bq * rank / kBlocks * kInRow;
    int end = T.bq * (rank + 1) / kBlocks * kInRow;
    for (; first < end; first += kThreads) {
      int i = first + threadId(), row = i / kInRow;
      bool exists = i < end && tileQuery<T>(row) < tile.count;
      finish(a, tile, parts, exists ? row : 0, i % kInRow * kVec, exists);
    }
  }

  /// Columns [column, column + kVec) of row `row`; `exists` is false in a lane
  /// that only takes part in the exchange of statistics.
  HK_MEM static void finish(const AttentionArgs<S> &a,
                            const BulkAttentionTile &tile, u32 parts, int row,
                            int column, bool exists = true) {
    f32x4 ends[kBlocks], part[kBlocks][2];
    HK_UNROLL for (int b = 0; b < kBlocks; ++b) {
      u32 at = clusterAddress(parts + row * kPitch, u32(b));
      ends[b] = readLds16From(at + kEndsAt);
      HK_UNROLL for (int h = 0; h < 2; ++h) part[b][h] =
          readLds16From(at + column * 4 + h * 16);
    }
    float maximum = kMinusInf;
    HK_UNROLL for (int b = 0; b < kBlocks; ++b) maximum =
        __builtin_fmaxf(maximum, ends[b][0]);
    float base = softmaxBase(maximum), sum = 0;
    f32x4 total[2] = {};
    HK_UNROLL for (int b = 0; b < kBlocks; ++b) {
      float factor = softmaxExp2(ends[b][0] - base);
      sum += ends[b][1] * factor;
      HK_UNROLL for (int h = 0; h < 2; ++h) total[h] += part[b][h] * factor;
    }
    AttentionBlock w = tile.block(S.group);
    int head = tile.head + tileHead<T>(row);
    // The row of a (query, head) pair, as the other kernels number them.
    i64 pair = i64(w.first + tileQuery<T>(row)) * S.group + head % S.group;
    RowEnd end = finishRow<S>(a, head, maximum, sum);
    if constexpr (S.storesLse())
      if (exists && column == 0)
        a.lse[lseOffset<S>(a, w, pair)] = end.lse;
    Vec<float, kVec> x;
    HK_UNROLL for (int i = 0; i < kVec; ++i) x[i] =
        total[i / 4][i % 4] * end.factor;
    if constexpr (kStatGroup<E> != 0) {
      float stat[1] = {epilogueStat<E, S, kVec>(a, w, pair, column, x)};
      groupReduce<Max, kStatGroup<E> / kVec>(stat);
      if (exists)
        applyEpilogue<E, S, kVec>(a, w, pair, column, x, stat[0]);
    } else if constexpr (kIsEpilogue<E>)
      applyEpilogue<E, S, kVec>(a, w, pair, column, x);
    else
      storePacked<S.outType, kVec, 16>(a.out + outOffset<S>(a, w, pair), column,
                                       pack<S.outType, kVec>(x));
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_SM90_CLUSTER_H
