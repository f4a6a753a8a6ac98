//===- matrix.h - Attention on matrix fragments -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block keeps bq rows of queries and of the f32 accumulator in registers and
// walks over the keys that one of them sees, bk at a time. Scores become
// probabilities in registers and are rounded to the operands' type for the
// second product; the sum of a row is taken before that rounding. Only tiles at
// the edge of what some row sees are masked. With few rows every wave has all
// of them and keys of its own, and the waves' results are merged at the end.
// A block of a split attention sees the keys of its slice only, or takes a run
// of keys that may be of several sequences.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_MATRIX_H
#define HK_KERNELS_ATTENTION_MATRIX_H

#include "kernels/attention/block_order.h"
#include "kernels/attention/matrix_copy.h"
#include "kernels/attention/matrix_output.h"
#include "kernels/attention/matrix_tile.h"
#include "kernels/attention/runs.h"
#include "kernels/attention/stream.h"

namespace hk {

template <AttentionSpec S, AttentionTile T, class R = NoRegions>
struct AttentionMatrix : AttentionMatrixConfig<S, T, R> {
  using Copy = AttentionMatrixCopy<S, T, R>;
  using Tile = AttentionMatrixTile<S, T, R>;
  using Output = AttentionMatrixOutput<S, T, R>;
  using Config = AttentionMatrixConfig<S, T, R>;
  using Config::kElement, Config::kParts, Config::kScaledQueries, Config::kBk,
      Config::kStage, Config::kStages, Config::kThreads, Config::kDirect,
      Config::kOrdered, Config::kSoftmax, Config::kAhead, Config::kFromPieces,
      Config::kStream;
  using typename Config::Args, typename Config::Fragments,
      typename Config::KeyCopy, typename Config::ValueCopy,
      typename Config::Shared, typename Config::TileBlocks,
      typename Config::Rows, typename Config::Walk;

  template <class More = NoMoreSegments>
  HK_DEV void run(const Args &a, BlockId id, Shared &sh, More more = {}) {
    if constexpr (T.blocks > 0) {
      bool first = true;
      AttentionRuns<S, T, kBk * kParts, R>(a).forEach(
          id.x, [&](const AttentionBlock &w) __attribute__((always_inline)) {
            if (!first)
              barrier(); // waves may still read what others gave them
            first = false;
            attend(a, w, sh, more);
          });
    } else {
      if constexpr (kOrdered)
        id = orderedBlock<S, T>(a, id);
      AttentionBlock w;
      if (locate<S, T>(a, id, w))
        attend(a, w, sh, more);
    }
  }

  /// The keys of another segment, whose rows another kernel began.
  HK_DEV void addSegment(const Args &a, AttentionBlock w, Fragments &f,
                         Rows &rows, Shared &sh) {
    locateKeys<S, T>(a, 0, w);
    barrier(); // waves may still read the last tile
    if constexpr (S.type == DType::F16)
      makeRoom(f, rows);
    walk(a, w, f, rows, sh);
  }

private:
  /// 16-byte chunks of the queries of this block; zero outside.
  struct QueryRows {
    const Args &args;
    i64 offset[Fragments::kRows];
    bool exists[Fragments::kRows];
    template <class V> HK_MEM V load(int slot, int, int byte) const {
      V v = V(0);
      if (!exists[slot] || byte >= S.headDim * kElement)
        return v;
      if constexpr (S.qType == S.type) {
        v = *(Global<const V>)((Global<const u8>)(args.q + offset[slot]) +
                               byte);
      } else {
        constexpr int N = int(sizeof(V)) / kElement;
        v = bitCast<V>(
            packExact<S.type, N>(loadFloats<S.qType, N, kBytes<S.qType, N>>(
                args.q, offset[slot] + byte / kElement)));
      }
      return v;
    }
  };

  template <class More>
  HK_DEV void attend(const Args &a, const AttentionBlock &w, Shared &sh,
                     More more) {
    Fragments f;
    Rows rows;
    QueryRows queries{a, {}, {}};
    HK_UNROLL for (int i = 0; i < Fragments::kRows; ++i) {
      i64 row = w.first + minOf(Fragments::rowOf(i), w.count - 1);
      queries.exists[i] = Fragments::rowOf(i) < w.count;
      queries.offset[i] = queryOffset<S>(a, w, row);
      rows.maximum[i] = kSoftmax ? kMinusInf : 0.f;
      rows.sum[i] = 0.f;
      rows.number[i] = row;
    }
    f.loadQueries(queries);
    if constexpr (kScaledQueries)
      f.queriesToHalves();
    f.clearOutput();
    walk(a, w, f, rows, sh);
    if constexpr (kScaledSegment<S>)
      scaleSegment(a, w, f, rows);
    more(w, f, rows, sh);
    int part = kParts > 1 ? waveId() : 0;
    if constexpr (kParts > 1)
      Output::template mergeParts<kParts>(f, rows, part, sh);
    if (part == 0)
      Output::finish(a, w, f, rows);
  }

  /// Probabilities in f16 that are small beside the largest of the segments so
  /// far may be the largest of this one. The maximum counts as 2^24 from here
  /// on: what f32 sums hold, of as many segments as a kernel may have.
  HK_DEV void makeRoom(Fragments &f, Rows &rows) {
    constexpr float powers = 24.f;
    float factor[Fragments::kRows];
    HK_UNROLL for (int i = 0; i < Fragments::kRows; ++i) {
      factor[i] = float(1 << int(powers));
      rows.maximum[i] -= powers;
      rows.sum[i] *= factor[i];
    }
    f.scaleOutput(factor);
  }

  /// What the first segment summed, times the scale of its values.
  HK_DEV void scaleSegment(const Args &a, const AttentionBlock &w, Fragments &f,
                           const Rows &rows) {
    float factor[Fragments::kRows];
    float scale = resultScale<S>(a, w, 0);
    HK_UNROLL for (int i = 0; i < Fragments::kRows; ++i) factor[i] =
        rows.maximum[i] != kMinusInf ? scale : 1.f; // no key is seen
    f.scaleOutput(factor);
  }

  HK_DEV void walk(const Args &a, const AttentionBlock &w, Fragments &f,
                   Rows &rows, Shared &sh) {
    // Ranges grow with the query: the first row has the first key of all and
    // the earliest end, the last row the opposite.
    KeyRange first = visibleKeys<S>(w, w.first / S.group);
    KeyRange last = visibleKeys<S>(w, (w.first + w.count - 1) / S.group);
    i64 end = last.end;
    i64 begin = first.begin < end ? first.begin / kBk * kBk : end;

    HK_UNROLL for (int i = 0; i < Fragments::kRows; ++i) {
      KeyRange r = visibleKeys<S>(w, rows.number[i] / S.group);
      rows.begin[i] = i32(r.begin);
      rows.end[i] = i32(r.end);
      rows.scale[i] = rowScale<S>(a, w, rows.number[i]);
      if constexpr (kScaledQueries)
        rows.scale[i] *= f.queryUnit[i];
    }

    // Waves with keys of their own go their own way.
    constexpr int step = kBk * kParts;
    int part = kParts > 1 ? fromLane(waveId(), 0) : 0;
    Walk walk = {i32(begin) + part * kBk,
                 i32(end),
                 i32(last.begin),
                 i32(minOf(first.end, end)),
                 sh.bytes + part * (kStages * kStage),
                 sh.bytes + kParts * kStages * kStage};
    if constexpr (kStream)
      AttentionStream<S, T, R>::template walk<step>(a, w, f, rows, walk);
    else if constexpr (kAhead)
      walkNext<step>(a, w, f, rows, walk);
    else if constexpr (kDirect)
      walkDirect<step>(a, w, f, rows, walk);
    else if constexpr (T.stages > 1)
      walkAhead<step>(a, w, f, rows, walk);
    else
      walkStaged<step>(a, w, f, rows, walk);
  }

  /// Orders accesses to tiles of the waves that share them.
  HK_DEV void tileBarrier() {
    if constexpr (kParts > 1)
      waveBarrier();
    else
      barrier();
  }

  /// All stages but one are under way, and where the next tile lies is asked
  /// for: entry 0 of `blocks` is of the tile that is multiplied.
  template <int STEP>
  HK_DEV void walkDirect(const Args &a, const AttentionBlock &w, Fragments &f,
                         Rows &rows, const Walk &x) {
    Copy copy;
    TileBlocks blocks[kStages] = {};
    if constexpr (kFromPieces) {
      if (x.begin >= x.end)
        return;
      HK_UNROLL for (int i = 0; i < kStages; ++i) blocks[i].find(
          a, w, x.begin + i * STEP, x.end);
    }
    auto fetch = [&](i32 j, int stage, const TileBlocks &at)
                     __attribute__((always_inline)) {
                       if (j < x.end)
                         copy.issue(a, w, at, j, x.end, x.lds + stage * kStage);
                       rowCopyCommit();
                     };
    HK_UNROLL for (int i = 0; i < kStages - 1; ++i)
        fetch(x.begin + i * STEP, i, blocks[i]);
    int now = 0, next = kStages - 1;
    for (i32 j = x.begin; j < x.end; j += STEP) {
      rowCopyWaitBut<kStages - 2>();
      tileBarrier();
      fetch(j + (kStages - 1) * STEP, next, blocks[kStages - 1]);
      TileBlocks own = blocks[0];
      if constexpr (kFromPieces) {
        HK_UNROLL for (int i = 1; i < kStages; ++i) blocks[i - 1] = blocks[i];
        blocks[kStages - 1].find(a, w, j + kStages * STEP, x.end);
      }
      Tile::multiply(a, w, f, rows, j, x, x.lds + now * kStage, own);
      now = now + 1 == kStages ? 0 : now + 1;
      next = next + 1 == kStages ? 0 : next + 1;
    }
    rowCopyWait();
  }

  /// The next tile is in registers, or of what rowCopyWait() waits for on its
  /// way into LDS, while this one is multiplied.
  template <int STEP>
  HK_DEV void walkAhead(const Args &a, const AttentionBlock &w, Fragments &f,
                        Rows &rows, const Walk &x) {
    static_assert(!kIsCdna || (!KeyCopy::kDirect && !ValueCopy::kDirect),
                  "rowCopyWait() is of no such copy there");
    Copy copy;
    if (x.begin < x.end)
      copy.issue(a, w, x.begin, x.end, x.lds);
    copy.land(x.lds);
    int stage = 0;
    for (i32 j = x.begin; j < x.end; j += STEP) {
      rowCopyWait(); // keys or values may need no registers
      tileBarrier();
      u8 *now = x.lds + stage * kStage;
      stage ^= 1;
      // Registers want no branch here: behind the last tile they fetch the last
      // key, which nobody reads.
      copy.issue(a, w, j + STEP, x.end, x.lds + stage * kStage);
      Tile::multiply(a, w, f, rows, j, x, now);
      copy.land(x.lds + stage * kStage);
    }
    rowCopyWait();
  }

  /// Where the next tile but one lies is asked for, the next one is in
  /// registers, or on its way into the other stage, while this is multiplied.
  template <int STEP>
  HK_DEV void walkNext(const Args &a, const AttentionBlock &w, Fragments &f,
                       Rows &rows, const Walk &x) {
    if (x.begin >= x.end)
      return;
    Copy copy;
    TileBlocks now, next, after;
    now.find(a, w, x.begin, x.end);
    next.find(a, w, x.begin + STEP, x.end);
    copy.issue(a, w, now, x.lds);
    u8 *tileNow = x.lds, *other = x.lds + (kDirect ? kStage : 0);
    for (i32 j = x.begin; j < x.end; j += STEP) {
      if constexpr (kDirect)
        KeyCopy::wait();
      tileBarrier();
      if constexpr (!kDirect) {
        copy.land(x.lds);
        tileBarrier();
      }
      after.find(a, w, j + 2 * STEP, x.end);
      // Behind the last tile something that nobody reads.
      copy.issue(a, w, next, other);
      if constexpr (kParts == 1)
        keepOrder();
      Tile::multiply(a, w, f, rows, j, x, tileNow, now);
      now = next;
      next = after;
      if constexpr (kDirect) {
        u8 *last = tileNow;
        tileNow = other;
        other = last;
      }
    }
    if constexpr (kDirect)
      KeyCopy::wait();
  }

  template <int STEP>
  HK_DEV void walkStaged(const Args &a, const AttentionBlock &w, Fragments &f,
                         Rows &rows, const Walk &x) {
    Copy copy;
    for (i32 j = x.begin; j < x.end; j += STEP) {
      copy.issue(a, w, j, x.end, x.lds);
      tileBarrier();
      copy.land(x.lds);
      tileBarrier();
      Tile::multiply(a, w, f, rows, j, x, x.lds);
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_MATRIX_H
