//===- latent.h - Attention to latent keys on sm_90a ------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values are the first columns of keys; a block has 64 (query, head) rows. Two
// warpgroups have half of the columns of the result each and take turns:
// scores, softmax and probabilities of even tiles are the first one's, of odd
// tiles the second one's, and each adds the values of all tiles to its columns,
// in order. The probabilities of the other one's tiles are in LDS, with what
// the accumulators of a row are to be multiplied with before. So one's softmax
// is under the other's products, and either half of a tile is given back while
// the other is still in use.
//
// The order of a warpgroup's products is the one in which stages become free:
//   first:  values of its tile, of the other's, scores of its next tile;
//   second: values of the other's tile under its own softmax, of its own,
//   scores.
//
//   LatentAttention<spec, tile>::run(maps, block, shared, args)
//   maps: keys.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_SM90_LATENT_H
#define HK_KERNELS_ATTENTION_SM90_LATENT_H

#include "kernels/attention/sm90/latent_load.h"
#include "kernels/attention/sm90/rows.h"
#include "kernels/attention/sm90/store.h"

namespace hk {

/// What warpgroup GROUP of the two does; E: the epilogue, or NoEpilogue.
template <AttentionSpec S, AttentionTile T, int GROUP, class E>
class LatentConsumer {
  using Config = LatentConfig<S, T>;
  using Layout = typename Config::Layout;
  using Rows = BulkAttentionRows<S, T, Config>;
  using Accumulators = typename Config::Values::Registers;
  static constexpr int kOther = 1 - GROUP;
  /// The half of the values' columns that this warpgroup has.
  static constexpr u32 kHalf = GROUP == 0 ? kLeftValues : kRightValues;
  /// Named barriers: rows of zeros, probabilities of either warpgroup, sums.
  static constexpr int kCleared = 1 + GROUP, kGiven = 3, kSummed = 5;

public:
  HK_MEM LatentConsumer(const AttentionArgs<S> &a, const Layout &lds)
      : a(a), lds(lds), thread(threadId() % kWarpgroup),
        row(thread / kWave * 16 + laneId() / 4) {}

  HK_MEM void add(const AttentionBlock &w) {
    steps = Config::stepsOf(w);
    keys = int(w.keys);
    begin(w);
    HK_UNROLL for (float &v : o) v = 0;
    if (steps.count > 0) {
      lds.queriesFull().waitTogether(tiles++ & 1);
      if constexpr (GROUP == 0)
        walkEven();
      else
        walkOdd();
      uses[0] += (steps.count + 1) / 2;
      uses[1] += steps.count / 2;
    }
    addSums();
    rows.clearUnseen(o);
    store(w);
  }

private:
  HK_MEM void begin(const AttentionBlock &w) {
    auto range = [&](i64 r) __attribute__((always_inline)) {
      return visibleKeys<S>(w, (w.first + minOf(r, w.count - 1)) / S.group);
    };
    HK_UNROLL for (int r = 0; r < 2; ++r) {
      rows.maximum[r] = kMinusInf;
      rows.sum[r] = 0;
      rows.factor[r] = 1;
      KeyRange own = range(row + 8 * r);
      rows.begin[r] = int(own.begin);
      rows.end[r] = int(own.end);
    }
    rows.fullEnd = int(range(0).end);
    rows.fullBegin = int(range(Config::kRows - 1).begin);
  }

  HK_MEM void walkEven() {
    scores(0);
    for (int i = 0;; i += 2) {
      softmax(i);
      scaleOutput();
      beginOwn(i);
      endProduct();
      release(lds.empty(0, kLeftValues));
      if (i + 1 < steps.count) {
        take();
        beginOther(i + 1);
        endProduct();
        release(lds.empty(1, kLeftValues));
        release(lds.empty(1, kRestOfKeys));
      }
      if (i + 2 >= steps.count)
        return;
      scores(i + 2);
    }
  }

  HK_MEM void walkOdd() {
    if (steps.count > 1)
      scores(1);
    else
      release(lds.queriesEmpty());
    for (int i = 0;; i += 2) {
      take();
      beginOther(i);
      if (i + 1 >= steps.count) {
        endProduct();
        release(lds.empty(0, kRightValues));
        release(lds.empty(0, kRestOfKeys));
        return;
      }
      softmax(i + 1);
      endProduct();
      release(lds.empty(0, kRightValues));
      release(lds.empty(0, kRestOfKeys));
      scaleOutput();
      beginOwn(i + 1);
      endProduct();
      release(lds.empty(1, kRightValues));
      if (i + 2 >= steps.count)
        return;
      if (i + 3 < steps.count)
        scores(i + 3);
    }
  }

  HK_MEM void release(LdsBarrier empty) const {
    if (laneId() == 0)
      empty.arrive();
  }
  HK_MEM void endProduct() {
    waitProducts<0>();
    settleProduct(o);
  }
  HK_MEM u32 phaseOf(int i) const { return (uses[i & 1] + u32(i) / 2) & 1; }

  /// The scores of tile i, when its pieces come.
  HK_MEM void scores(int i) {
    Config::Scores::begin(s, operandDescriptor(lds.queries()),
                          operandDescriptor(lds.keys(GROUP)), lds.full(GROUP),
                          phaseOf(i));
    waitProducts<0>();
    settleProduct(s);
    if (i + 2 >= steps.count) // the last one of this warpgroup
      release(lds.queriesEmpty());
  }

  /// Makes probabilities of the scores, for this warpgroup and the other.
  HK_MEM void softmax(int i) {
    u32 missing = 0;
    if constexpr (Config::kGaps)
      missing = loadLds4(lds.missing(GROUP));
    rows.softmax(a, s, steps.first + i * Config::kKeys, missing);
    Rows::pack(s, p);
    int at = waveId() % 4 * 16 + laneId() % 16;
    HK_UNROLL for (int c = 0; c < 4; ++c) {
      const u32 part[] = {p[4 * c], p[4 * c + 1], p[4 * c + 2], p[4 * c + 3]};
      u32 unit = (2 * c + laneId() / 16) ^ (at % 8);
      storeMatrices(lds.probabilities(GROUP) + at * kBulkRowBytes + unit * 16,
                    part);
    }
    if (laneId() % 4 == 0)
      HK_UNROLL for (int r = 0; r < 2; ++r)
          storeLds8(lds.turn(GROUP, row + 8 * r), bitCast<u32>(rows.factor[r]),
                    bitCast<u32>(rows.maximum[r]));
    publishToCopies();
    arriveAtBarrierOfSome<kGiven + GROUP, Config::kProductThreads>();
  }

  /// Waits for the other warpgroup's probabilities of the next tile.
  HK_MEM void take() {
    barrierOfSome<kGiven + kOther, Config::kProductThreads>();
    HK_UNROLL for (int r = 0; r < 2; ++r) {
      f32x2 turn = loadLds8(lds.turn(kOther, row + 8 * r));
      rows.factor[r] = turn[0];
      rows.maximum[r] = turn[1];
      rows.sum[r] *= turn[0];
    }
    scaleOutput();
  }

  /// Maxima seldom grow after the first tiles.
  HK_MEM void scaleOutput() {
    bool same = rows.factor[0] == 1.f && rows.factor[1] == 1.f;
    if (ballot(!same) != 0)
      HK_UNROLL for (int i = 0; i < Config::Values::kRegisters; ++i) o[i] *=
          rows.factor[i / 2 % 2];
  }

  HK_MEM u64 values(u32 stage) const {
    return transposedDescriptor(lds.keys(stage, Config::firstPanel(kHalf)),
                                Config::kPanel);
  }
  HK_MEM void beginOwn(int i) {
    clearBehind(GROUP, i);
    Config::Values::begin(o, p, values(GROUP));
  }
  HK_MEM void beginOther(int i) {
    lds.full(kOther, kHalf).waitTogether(phaseOf(i));
    clearBehind(kOther, i);
    Config::OtherValues::begin(o, operandDescriptor(lds.probabilities(kOther)),
                               values(kOther));
  }

  /// Values behind the sequence's last key belong to another sequence or to
  /// nobody; their probabilities are 0, but 0 * NaN is not. The scores of the
  /// tile are done.
  HK_MEM void clearBehind(u32 stage, int i) const {
    int first = keys - steps.first - i * Config::kKeys;
    if (first >= Config::kKeys)
      return;
    constexpr int inRow = kBulkRowBytes / 16;
    int count = (Config::kKeys - first) * inRow;
    HK_UNROLL for (int panel = 0; panel < Config::kHalfPanels; ++panel) {
      u32 to = lds.keys(stage, Config::firstPanel(kHalf) + panel) +
               first * kBulkRowBytes;
      for (int unit = thread; unit < count; unit += kWarpgroup)
        clearLds16(to + unit * 16);
    }
    publishToCopies();
    barrierOfSome<kCleared, kWarpgroup>();
  }

  /// Of the other warpgroup's tiles too, in one order.
  HK_MEM void addSums() {
    storeLds8(lds.sums(units, GROUP, u32(thread)), bitCast<u32>(rows.sum[0]),
              bitCast<u32>(rows.sum[1]));
    barrierOfSome<kSummed, Config::kProductThreads>();
    f32x2 other = loadLds8(lds.sums(units, kOther, u32(thread)));
    HK_UNROLL for (int r = 0; r < 2; ++r) rows.sum[r] += other[r];
    ++units;
  }

  HK_MEM void store(const AttentionBlock &w) const {
    static_assert(kStatGroup<E> == 0, "a row lies in two warpgroups");
    // Both rows are computed before either is stored.
    [[maybe_unused]] EpilogueRow<E, S, Config::kHalfColumns> made[2];
    HK_UNROLL for (int r = 0; r < 2; ++r) {
      int own = row + 8 * r;
      bool exists = own < w.count;
      i64 at = w.first + (exists ? own : 0);
      RowEnd end = rows.finish(a, w.head * S.group + at % S.group, r);
      if constexpr (S.storesLse() && GROUP == 0)
        if (exists && laneId() % 4 == 0)
          a.lse[lseOffset<S>(a, w, at)] = end.lse;
      if constexpr (info(S.outType).bits == 16 && kIsEpilogue<E>)
        made[r].compute(a, w, at, GROUP * Config::kHalfColumns, o, r,
                        end.factor);
      else if constexpr (info(S.outType).bits == 16)
        storeAccumulatorRow<S.outType, Config::kHalfColumns>(
            a.out + outOffset<S>(a, w, at) + GROUP * Config::kHalfColumns,
            exists, o, r, end.factor);
      else if (exists)
        storePart(w, at, r, end.factor);
    }
    if constexpr (info(S.outType).bits == 16 && kIsEpilogue<E>)
      HK_UNROLL for (int r = 0; r < 2; ++r) if (row + 8 * r < w.count) made[r]
          .put(a, w, w.first + row + 8 * r, GROUP * Config::kHalfColumns);
  }
  /// Results of a slice: the lanes of a row store 32 bytes side by side.
  HK_MEM void storePart(const AttentionBlock &w, i64 at, int r,
                        float factor) const {
    constexpr int first = GROUP * Config::kHalfColumns;
    auto out = a.out + outOffset<S>(a, w, at) + first;
    HK_UNROLL for (int c = 0; c < Config::kHalfColumns; c += 8) {
      int i = c / 2 + 2 * r, column = c + laneId() % 4 * 2;
      f32x2 two = {o[i] * factor, o[i + 1] * factor};
      if constexpr (kIsEpilogue<E>)
        applyEpilogue<E, S, 2>(a, w, at, first + column, two);
      else
        hk::store<S.outType, 2, 8>(out, column, two);
    }
  }

  const AttentionArgs<S> &a;
  Layout lds;
  int thread, row; // of the warpgroup, of the block
  u32 uses[2] = {0, 0}, tiles = 0, units = 0;
  typename Config::Steps steps;
  int keys;
  Rows rows;
  typename Config::Scores::Registers s;
  typename Rows::Words p;
  Accumulators o;
};

template <AttentionSpec S, AttentionTile T, class R = NoRegions>
struct LatentAttention {
  using Epilogue = EpilogueOf<R>;
  using Config = LatentConfig<S, T>;
  using Shared = typename Config::Shared;
  static constexpr int kThreads = Config::kThreads;
  static constexpr int kMaps = 1;

  HK_MEM static void run(const TensorMap *maps, BlockId block, Shared &shared,
                         const AttentionArgs<S> &a) {
    typename Config::Layout lds(shared);
    begin(maps, lds);
    LatentUnits<S, T> units{a, lds};
    int group = sameInWarp(threadId() / kWarpgroup);
    if (group == 0) {
      takeRegisters<Config::kProductRegisters>();
      LatentConsumer<S, T, 0, Epilogue> consumer(a, lds);
      units.each(consumer);
    } else if (group == 1) {
      takeRegisters<Config::kProductRegisters>();
      LatentConsumer<S, T, 1, Epilogue> consumer(a, lds);
      units.each(consumer);
    } else {
      giveRegisters<Config::kCopyRegisters>();
      copy(units, maps, block);
    }
  }

private:
  HK_MEM static void copy(LatentUnits<S, T> &units, const TensorMap *maps,
                          BlockId block) {
    int wave = sameInWarp(waveId() % kGroupWarps);
    if (wave == 0) {
      LatentKeyLoader<S, T> loader(units.a, units.lds, maps[0]);
      units.each(loader);
    } else if (wave == 1) {
      units.find(block);
    } else {
      LatentQueryLoader<S, T> loader(units.a, units.lds,
                                     threadId() % kWarpgroup - 2 * kWave);
      units.each(loader);
    }
  }

  HK_MEM static void begin(const TensorMap *maps,
                           const typename Config::Layout &lds) {
    if (threadId() == 0) {
      maps[0].prefetch();
      lds.queriesFull().init(LatentQueryLoader<S, T>::kThreads);
      lds.queriesEmpty().init(2 * kGroupWarps);
      HK_UNROLL for (u32 unit = 0; unit < 2; ++unit) {
        lds.unitFull(unit).init(1);
        lds.unitEmpty(unit).init(LatentUnits<S, T>::kReaders);
      }
      HK_UNROLL for (u32 stage = 0; stage < Config::kStages; ++stage)
          HK_UNROLL for (u32 piece = 0; piece < kPieces; ++piece) {
        lds.full(stage, piece).init(1);
        lds.empty(stage, piece).init(kGroupWarps);
      }
      publishBarriers();
    }
    barrier();
    beginAfterLast();
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_SM90_LATENT_H
