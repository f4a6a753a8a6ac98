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
#include "kernels/attention/running_softmax.h"
#include "kernels/attention/runs.h"
#include "kernels/attention/tile_blocks.h"
#include "kernels/device/attention/fragments.h"

namespace hk {

template <int Bytes> struct alignas(128) AttentionMatrixShared {
  u8 bytes[Bytes];
};
template <AttentionSpec S, AttentionTile T, class R = NoRegions>
struct AttentionMatrix {
  using Args = AttentionArgs<S, R>;
  static constexpr int kElement = info(S.type).bits / 8;
  static constexpr int kKeyBytes = int(attentionKeyBytes(S.type, S.headDim));
  static constexpr int kColumns = int(attentionValueColumns(S.valueDim));
  /// Bytes of a row of values; those of a key where they are its columns.
  static constexpr int kValueBytes =
      S.sharedValues ? kKeyBytes : kColumns * kElement;
  static_assert(kColumns * kElement <= kValueBytes);
  static_assert(S.keyChunk == 0 && S.valueChunk == 0);
  static_assert(S.align >= 16 && S.headDim * kElement % 16 == 0 &&
                    S.valueDim * kElement % 16 == 0,
                "rows of 16-byte chunks; other shapes take the vector kernel");

  /// Waves that share the rows, each with keys of its own; where values are the
  /// columns of keys, each with columns of its own instead.
  static constexpr int kParts = attentionWaveParts(kArch, T, S.sharedValues);
  static constexpr int kGroups =
      S.sharedValues ? attentionColumnGroups(kArch, T) : 1;
  static constexpr int kRowWaves = T.waves / kParts / kGroups;
  static constexpr int kGroupColumns = kColumns / kGroups;
  using Narrow = NarrowKeys<S, T, R, kParts>;
  static constexpr bool kNarrow = Narrow::kInLds;
  static constexpr bool kHalves = Narrow::kHalves;
  static constexpr bool kScaledQueries = Narrow::kScaledQueries;
  static constexpr int kBk = Narrow::kKeys;
  /// On CDNA waves that share tiles of 16 bits do not transpose values.
  static constexpr bool kTileOf16 =
      kIsCdna && kParts == 1 && !S.sharedValues && info(S.type).bits == 16;
  static constexpr ValueLayout kValueLayout =
      !kTileOf16                  ? ValueLayout::Rows
      : kTarget.transposedLdsRead ? ValueLayout::TransposingReads
                                  : ValueLayout::Columns;
  using Pick =
      PickAttentionFragments<kHalves ? DType::F16 : S.type,
                             Narrow::kKeyFragments, Narrow::kValueFragments,
                             T.bq, kBk, kKeyBytes, kGroupColumns, kRowWaves,
                             kValueBytes, kGroups, kValueLayout>;
  static_assert(Pick::kNarrow == kNarrow);
  using Fragments = typename Pick::Type;
  /// Whether waves of the same rows have a part of each score.
  static constexpr bool kSharedScores = [] {
    if constexpr (requires { Fragments::kShares; })
      return Fragments::kShares > 1;
    return false;
  }();
  /// Bytes of an element, and types of elements, in LDS.
  static constexpr int kLdsElement = kNarrow ? 1 : kElement;
  static constexpr DType kKeyType = kNarrow ? S.kType : S.type;
  static constexpr DType kValueType = kNarrow ? S.vType : S.type;
  static constexpr int kKeyRow = kKeyBytes / kElement * kLdsElement;
  static constexpr int kKeyTile = S.sharedValues ? 0 : kBk * kKeyRow;
  static constexpr int kStage =
      kKeyTile + kBk * (kValueBytes / kElement * kLdsElement);
  /// As many as fit where those of the multiplied type do.
  static constexpr int kStages =
      T.stages * (kElement / kLdsElement) / (kBk / T.bk);
  /// The first column of this wave.
  HK_DEV int firstColumn() {
    return kGroups == 1 ? 0 : waveId() / kRowWaves * kGroupColumns;
  }
  static constexpr int kThreads = T.waves * kWave;
  /// Threads that move and use one tile of keys.
  static constexpr int kTileThreads = kThreads / kParts;
  /// Whether each thread copies as many chunks of 16 bytes of rows of LDS.
  static constexpr bool isEven(int rowBytes) {
    return kBk * rowBytes / 16 % kTileThreads == 0;
  }
  static constexpr bool kEven =
      isEven(kKeyRow) && isEven(kColumns * kLdsElement);
  /// Whether copies need no registers.
  static constexpr bool kMayBeDirect =
      kTarget.directToLds >= 16 && kIsCdna && kParts == 1 && !S.sharedValues &&
      T.stages > 1 && kEven &&S.kType == kKeyType &&S.vType == kValueType;
  using KeyCopy = typename PickRowCopy<S.kType, kKeyType, kBk, kKeyRow,
                                       S.headDim * kLdsElement, kTileThreads,
                                       ValueLayout::Rows, kMayBeDirect>::Type;
  using ValueCopy =
      typename PickRowCopy<S.vType, kValueType, kBk, kColumns * kLdsElement,
                           S.valueDim * kLdsElement, kTileThreads, kValueLayout,
                           kMayBeDirect>::Type;
  static_assert(!KeyCopy::kDirect || T.stages >= 2,
                "direct copies would overwrite the tile being read");
  /// Whether no part of a tile waits in registers.
  static constexpr bool kDirect =
      KeyCopy::kDirect && (S.sharedValues || ValueCopy::kDirect);

  static constexpr int kScratch = [] {
    if constexpr (kSharedScores)
      return Fragments::kShareBytes;
    return 0;
  }();
  using Shared = AttentionMatrixShared<kParts * kStages * kStage + kScratch>;
  static_assert(sizeof(Shared) == attentionLdsBytes(kArch, T, S.type, S.headDim,
                                                    S.valueDim,
                                                    S.sharedValues));

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

  /// Whether blocks have rows in the order of block_order.h. Few rows of a
  /// sequence are few blocks.
  static constexpr bool kOrdered =
      kIsCdna && kParts == 1 && T.splitKv == 1 && !S.sharedValues;

  /// Blocks of keys may be missing; their rows are read as zeros.
  static constexpr bool kGaps = S.keys == SequenceLayout::Paged;
  static constexpr bool kSoftmax = S.normalizer == Normalizer::Softmax;
  /// Whether the softmax may multiply scores by their scale.
  static constexpr bool kMayKeepUnit =
      kTileOf16 && kSoftmax && !S.softcap && !R::kScore;

  /// Whether the next tile is in registers, or on its way into LDS.
  static constexpr bool kAhead =
      kIsCdna && !S.sharedValues && (!kDirect || T.stages == 2);
  static_assert(!kIsCdna || !kDirect || kAhead, "walkNext waits for copies");
  /// And know before where in a cache it lies: loads return in order, so an
  /// entry of the block table that is asked for behind rows is a trip to memory
  /// more.
  static constexpr bool kFindsAhead =
      kGaps && kAhead && S.blockRows >= 8 &&
      (kBk % S.blockRows == 0 || S.blockRows % kBk == 0);
  /// The copies of sm_90a from pages, and of elements of 8 bits, go from pieces
  /// of rows at equal distances, whose entries of the table are asked for a
  /// step before. Of large heads no register is left for that.
  static constexpr bool kFromPieces = kArch == Arch::Sm90a && kDirect &&
                                      !S.sharedValues && (kGaps || kNarrow) &&
                                      S.headDim + S.valueDim <= 384 &&
                                      TilePieces<S, kBk>::kExists;
  using TileBlocks =
      typename PickTileBlocks<S, kFromPieces, kFindsAhead, kBk>::Type;

  /// Whether a tile of keys is a view of the memory, which bounds it without
  /// vector instructions.
  static constexpr bool kViews = kIsCdna && kOneBlock<S, kBk> && kParts == 1 &&
                                 !S.sharedValues && S.kType == S.type &&
                                 S.vType == S.type &&
                                 (kTarget.directToLds < 16 || kDirect);

  /// Moves one tile of keys and values.
  struct TileCopy {
    KeyCopy k;
    ValueCopy v;
    HK_MEM static int thread() { return kParts > 1 ? laneId() : threadId(); }
    /// The tile whose blocks are `at`.
    HK_MEM void issue(const Args &a, const AttentionBlock &w,
                      const TileBlocks &at, u8 *lds) {
      if constexpr (kViews) {
        issueViews(a, w, at, lds);
      } else if constexpr (kFindsAhead) {
        auto rows = [&](auto p, i64 block, i64 stride, i64 head) {
          return [=, &at](int row) __attribute__((always_inline)) {
            i32 key = minOf(at.first + row, at.last), entry = at.of(key);
            auto from = (Global<const u8>)(p + entry * block + head +
                                           key % S.blockRows * stride);
            return entry < 0 ? nullptr : from;
          };
        };
        k.template issue<true>(
            thread(), rows(a.k, a.kSequence, a.kRow, w.head * a.kHead), lds);
        if constexpr (!S.sharedValues)
          v.template issue<true>(
              thread(), rows(a.v, a.vSequence, a.vRow, w.head * a.vHead),
              lds + kKeyTile);
      } else {
        issue(a, w, at.first, at.last + 1, lds);
      }
    }
    /// Keys from j on, which lie in `at`.
    HK_MEM void issue(const Args &a, const AttentionBlock &w,
                      const TileBlocks &at, i32 j, i32 end, u8 *lds) {
      if constexpr (kFromPieces) {
        at.issue(a.k, {a.kSequence, a.kRow, a.kHead}, w, j, end, thread(), k,
                 lds);
        at.issue(a.v, {a.vSequence, a.vRow, a.vHead}, w, j, end, thread(), v,
                 lds + kKeyTile);
      } else
        issue(a, w, j, end, lds);
    }
    /// Behind the end of the keys, and in a block that is missing, lie zeros.
    HK_MEM void issueViews(const Args &a, const AttentionBlock &w,
                           const TileBlocks &at, u8 *lds) {
      i32 left = at.last + 1 - at.first;
      i32 rows = left < 0 ? 0 : left < kBk ? left : kBk;
      i64 first = at.first < at.last ? at.first : at.last, outer = w.sequence;
      if constexpr (kGaps) {
        rows = at.entry[0] < 0 ? 0 : rows;
        outer = at.entry[0] < 0 ? 0 : at.entry[0];
        first %= S.blockRows;
      } else
        first += w.keyStart;
      constexpr bool outside =
          kGaps || S.keys == SequenceLayout::Dense; // rows of several
      auto view = [&](auto p, i64 sequence, i64 stride, i64 head, int dim) {
        i64 from = (outside ? outer * sequence : 0) + first * stride;
        return TileView::ofWholeRows(
            (Global<const u8>)(p + from + w.head * head),
            u32(stride) * u32(kElement), u32(rows), u32(dim * kElement));
      };
      k.issueTile(thread(), view(a.k, a.kSequence, a.kRow, a.kHead, S.headDim),
                  lds);
      v.issueTile(thread(), view(a.v, a.vSequence, a.vRow, a.vHead, S.valueDim),
                  lds + kKeyTile);
    }
    /// Keys [j, j + bk). Behind the last visible one, `end` - 1: that key
    /// again, masked later. Its value is finite whenever the visible ones are.
    HK_MEM void issue(const Args &a, const AttentionBlock &w, i32 j, i32 end,
                      u8 *lds) {
      if constexpr (kOneBlock<S, kBk>) {
        // Rows at equal distances.
        i32 first = j < end ? j : end - 1, rest = end - 1 - first;
        KeyOffset from = keyOffset<S>(a, w, first);
        bool missing = isMissing<S>(a, w, first);
        auto row = [&](auto p, i64 at, i64 stride) {
          return [=](int row) __attribute__((always_inline)) {
            auto q =
                (Global<const u8>)(p + at + (row < rest ? row : rest) * stride);
            return kGaps && missing ? nullptr : q;
          };
        };
        k.template issue<kGaps>(thread(), row(a.k, from.k, a.kRow), lds);
        if constexpr (!S.sharedValues)
          v.template issue<kGaps>(thread(), row(a.v, from.v, a.vRow),
                                  lds + kKeyTile);
        return;
      }
      auto at = [&](int row) __attribute__((always_inline)) {
        return j + row < end ? j + row : end - 1;
      };
      k.template issue<kGaps>(
          thread(),
          [&](int row) __attribute__((always_inline)) {
            i32 key = at(row);
            auto from = (Global<const u8>)(a.k + keyOffset<S>(a, w, key).k);
            return isMissing<S>(a, w, key) ? nullptr : from;
          },
          lds);
      if constexpr (!S.sharedValues)
        v.template issue<kGaps>(
            thread(),
            [&](int row) __attribute__((always_inline)) {
              i32 key = at(row);
              auto from = (Global<const u8>)(a.v + keyOffset<S>(a, w, key).v);
              return isMissing<S>(a, w, key) ? nullptr : from;
            },
            lds + kKeyTile);
    }
    HK_MEM void land(u8 *lds) {
      k.land(thread(), lds);
      if constexpr (!S.sharedValues)
        v.land(thread(), lds + kKeyTile);
    }
  };

  using Rows = AttentionMatrixRows<Fragments::kRows>;

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
      mergeParts<kParts>(f, rows, part, sh);
    if (part == 0)
      finish(a, w, f, rows);
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
    if constexpr (kAhead)
      walkNext<step>(a, w, f, rows, walk);
    else if constexpr (kDirect)
      walkDirect<step>(a, w, f, rows, walk);
    else if constexpr (T.stages > 1)
      walkAhead<step>(a, w, f, rows, walk);
    else
      walkStaged<step>(a, w, f, rows, walk);
  }

  /// Keys [begin, end), of which every row sees [fullBegin, fullEnd); where
  /// tiles lie in LDS.
  struct Walk {
    i32 begin, end, fullBegin, fullEnd;
    u8 *lds, *scratch; // of scores that waves share
  };
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
    TileCopy copy;
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
      tile(a, w, f, rows, j, x, x.lds + now * kStage, own);
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
    TileCopy copy;
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
      tile(a, w, f, rows, j, x, now);
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
    TileCopy copy;
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
      tile(a, w, f, rows, j, x, tileNow, now);
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
    TileCopy copy;
    for (i32 j = x.begin; j < x.end; j += STEP) {
      copy.issue(a, w, j, x.end, x.lds);
      tileBarrier();
      copy.land(x.lds);
      tileBarrier();
      tile(a, w, f, rows, j, x, x.lds);
    }
  }

  /// One tile of keys from j on.
  HK_DEV void tile(const Args &a, const AttentionBlock &w, Fragments &f,
                   Rows &rows, i32 j, const Walk &x, const u8 *lds,
                   const TileBlocks &blocks = {}) {
    f.scores(lds);
    if constexpr (kSharedScores)
      f.addShares(x.scratch);
    if constexpr (S.qScale || S.kScale || kScaledQueries)
      f.forEachScore([&](int i, int key, auto &x)
                         __attribute__((always_inline)) {
                           constexpr int V = int(sizeof(x) / sizeof(float));
                           HK_UNROLL for (int e = 0; e < V; ++e) x[e] *=
                               rows.scale[i] * keyScale<S>(a, w, j + key + e);
                         });
    float unit = 1.f;
    if (kMayKeepUnit && a.scale > 0.f)
      unit = a.scale * kLog2E;
    else if (smallScores(a, f))
      scale<true>(a, w, f, rows, j);
    else
      scale<false>(a, w, f, rows, j);
    mask(a, w, f, rows, j, x, blocks);
    if constexpr (kSoftmax && kTileOf16)
      normaliseScores(f, rows, unit);
    else if constexpr (kHalves)
      normaliseToHalves(f, rows);
    else if constexpr (kSoftmax)
      normaliseScores(f, rows);
    if constexpr (R::kWeight)
      f.forEachScore([&](int i, int key, auto &x)
                         __attribute__((always_inline)) {
                           constexpr int V = int(sizeof(x) / sizeof(float));
                           x = weighted<S, V>(a, w, rows.number[i], j + key, x);
                         });
    if constexpr (kScaledWeights<S>)
      f.forEachScore([&](int, int key, auto &x) __attribute__((always_inline)) {
        constexpr int V = int(sizeof(x) / sizeof(float));
        HK_UNROLL for (int e = 0; e < V; ++e) if (x[e] != 0.f) x[e] *=
            valueScale<S>(a, w, j + key + e);
      });
    f.values(lds + kKeyTile, firstColumn() * kElement);
  }

  /// Whether all scores of the wave are far below a soft cap, as most are. On
  /// sm_90a a branch is dearer than what it saves.
  HK_DEV bool smallScores(const Args &a, Fragments &f) {
    if constexpr (!S.softcap || kArch == Arch::Sm90a)
      return false;
    float most = 0;
    f.forEachScore([&](int, int, auto &x) __attribute__((always_inline)) {
      constexpr int V = int(sizeof(x) / sizeof(float));
      HK_UNROLL for (int e = 0; e < V; ++e) most =
          __builtin_fmaxf(most, __builtin_fabsf(x[e]));
    });
    most *= __builtin_fabsf(a.scale / a.softcap);
    return ballot(!(most < kSmallCapped)) == 0;
  }
  /// Products to scores.
  template <bool SMALL>
  HK_DEV void scale(const Args &a, const AttentionBlock &w, Fragments &f,
                    const Rows &rows, i32 j) {
    f.forEachScore([&](int i, int key, auto &x) __attribute__((always_inline)) {
      constexpr int V = int(sizeof(x) / sizeof(float));
      x = finishScore<S, V>(a, w, rows.number[i], j + key,
                            score<S, V, SMALL>(a, x));
    });
  }

  /// Scores of keys that a row does not see are replaced.
  HK_DEV void mask(const Args &a, const AttentionBlock &w, Fragments &f,
                   const Rows &rows, i32 j, const Walk &x,
                   const TileBlocks &blocks) {
    if (j < x.fullBegin || j + kBk > x.fullEnd)
      f.forEachScore(
          [&](int i, int key, auto &v) __attribute__((always_inline)) {
            i32 stop = rows.end[i] < x.end ? rows.end[i] : x.end;
            constexpr int V = int(sizeof(v) / sizeof(float));
            HK_UNROLL for (int e = 0; e < V; ++e) {
              bool seen = j + key + e >= rows.begin[i] && j + key + e < stop;
              v[e] = seen ? v[e] : kUnseen<S>;
            }
          });
    if constexpr (kGaps) {
      auto missing = [&](int key) __attribute__((always_inline)) {
        if constexpr (kFromPieces)
          return blocks.isMissing(key);
        i32 at = j + key < x.end ? j + key : x.end - 1;
        if constexpr (kFindsAhead)
          return blocks.of(at) < 0;
        return isMissing<S>(a, w, at);
      };
      bool gap = false;
      if constexpr (kFindsAhead || kFromPieces)
        gap = blocks.anyMissing();
      else if constexpr (kOneBlock<S, kBk>)
        gap = missing(0);
      else
        for (int key = laneId(); key < kBk; key += kWave)
          gap |= missing(key);
      if (ballot(gap) != 0)
        f.forEachScore(
            [&](int, int key, auto &v) __attribute__((always_inline)) {
              constexpr int V = int(sizeof(v) / sizeof(float));
              HK_UNROLL for (int e = 0; e < V; ++e) if (missing(key + e)) v[e] =
                  kUnseen<S>;
            });
    }
  }

  /// Of Count waves the second half hand their parts to the first, and so on.
  /// The lanes of two waves hold the same rows and columns.
  template <int Count>
  HK_DEV void mergeParts(Fragments &f, Rows &rows, int part, Shared &sh) {
    constexpr int Half = (Count + 1) / 2;
    constexpr int N = Fragments::kRows;
    constexpr int registers = T.bq * kGroupColumns / kWave;
    constexpr int floats = (registers + 2 * N) * kWave;
    static_assert(Half * floats * 4 <= int(sizeof(Shared)));
    float *slot =
        reinterpret_cast<float *>(sh.bytes) + (part % Half) * floats + laneId();
    barrier();
    if (part >= Half && part < Count) {
      f.eachOutput([&](int, int e, float &x)
                       __attribute__((always_inline)) { slot[e * kWave] = x; });
      HK_UNROLL for (int i = 0; i < N; ++i) {
        slot[(registers + i) * kWave] = rows.maximum[i];
        slot[(registers + N + i) * kWave] = rows.sum[i];
      }
    }
    barrier();
    if (part < Count - Half) {
      float own[N], other[N];
      HK_UNROLL for (int i = 0; i < N; ++i) {
        float maximum = slot[(registers + i) * kWave];
        float top = __builtin_fmaxf(rows.maximum[i], maximum);
        float base = softmaxBase(top);
        own[i] = softmaxExp2(rows.maximum[i] - base);
        other[i] = softmaxExp2(maximum - base);
        rows.maximum[i] = top;
        rows.sum[i] =
            rows.sum[i] * own[i] + slot[(registers + N + i) * kWave] * other[i];
      }
      f.eachOutput([&](int i, int e, float &x) __attribute__((always_inline)) {
        x = x * own[i] + slot[e * kWave] * other[i];
      });
    }
    if constexpr (Half > 1)
      mergeParts<Half>(f, rows, part, sh);
  }

  HK_DEV void finish(const Args &a, const AttentionBlock &w, Fragments &f,
                     Rows &rows) {
    constexpr int N = Fragments::kRows;
    Fragments::laneReduce(rows.sum,
                          [](float x, float y)
                              __attribute__((always_inline)) { return x + y; });
    float factor[N];
    i64 at[N];
    bool exists[N];
    HK_UNROLL for (int i = 0; i < N; ++i) {
      exists[i] = Fragments::rowOf(i) < w.count;
      i64 row = w.first + minOf(Fragments::rowOf(i), w.count - 1);
      RowEnd end = finishRow<S>(a, w.head * S.group + row % S.group,
                                rows.maximum[i], rows.sum[i]);
      at[i] = outOffset<S>(a, w, row);
      if constexpr (S.lse)
        if (exists[i] && Fragments::rowLead() && firstColumn() == 0)
          a.lse[lseOffset<S>(a, w, row)] = end.lse;
      factor[i] = end.factor;
    }
    f.scaleOutput(factor);
    if constexpr (kHasEpilogue<R>)
      return putOutput(a, w, f, factor);
    constexpr DType to = S.outType;
    f.forEachOutput([&](int i, int local,
                        auto x) __attribute__((always_inline)) {
      int column = firstColumn() + local;
      constexpr int V = int(sizeof(x) / sizeof(float)), P = V < 8 ? V : 8;
      constexpr int align = S.align < kBytes<to, P> ? S.align : kBytes<to, P>;
      HK_UNROLL for (int c = 0; c < V; c += P) {
        if (!exists[i] || (kColumns != S.valueDim && column + c >= S.valueDim))
          continue;
        Vec<float, P> y;
        HK_UNROLL for (int e = 0; e < P; ++e) y[e] = x[c + e];
        if constexpr (kScaledResult<S>)
          if (factor[i] != 0.f) // else no key is seen
            HK_UNROLL for (int e = 0; e < P; ++e) y[e] *=
                resultScale<S>(a, w, column + c + e);
        hk::store<to, P, align>(a.out, at[i] + column + c, y);
      }
    });
  }

  /// The same with an epilogue. All is computed before the first is stored, of
  /// rows and columns that do not exist that of some that do.
  HK_DEV void putOutput(const Args &a, AttentionBlock w, Fragments &f,
                        const float (&factor)[Fragments::kRows]) {
    w.first = computeFromHere(w.first);
    using Epilogue = EpilogueOf<R>;
    constexpr int V = Fragments::kOutputVec, P = V < 8 ? V : 8;
    constexpr int count = T.bq / kRowWaves * kGroupColumns / kWave / P;
    constexpr int last = S.valueDim - P;
    EpilogueResults<Epilogue, P> made[count];
    auto columnOf = [&](int local, int c) __attribute__((always_inline)) {
      return firstColumn() + local + c;
    };
    int n = 0;
    f.forEachOutput(
        [&](int i, int local, auto x) __attribute__((always_inline)) {
          HK_UNROLL for (int c = 0; c < V; c += P) {
            int column = columnOf(local, c);
            if constexpr (kColumns != S.valueDim)
              column = column < last ? column : last;
            Vec<float, P> y;
            HK_UNROLL for (int e = 0; e < P; ++e) y[e] = x[c + e];
            if constexpr (kScaledResult<S>)
              if (factor[i] != 0.f) // else no key is seen
                HK_UNROLL for (int e = 0; e < P; ++e) y[e] *=
                    resultScale<S>(a, w, column + e);
            i64 row = w.first + minOf(Fragments::rowOf(i), w.count - 1);
            made[n++] = computeEpilogue<Epilogue, S, P>(a, w, row, column, y);
          }
        });
    n = 0;
    f.forEachOutput([&](int i, int local, auto) __attribute__((always_inline)) {
      HK_UNROLL for (int c = 0; c < V; c += P, ++n) {
        int column = columnOf(local, c);
        if (Fragments::rowOf(i) < w.count &&
            (kColumns == S.valueDim || column < S.valueDim))
          putEpilogue<Epilogue, S, P>(a, w, w.first + Fragments::rowOf(i),
                                      column, made[n]);
      }
    });
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_MATRIX_H
