//===- grouped_codes.h - Few rows of groups times 4-bit codes -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// skinny_codes.h where the matrix is that of a group: a few tokens and their
// experts. The work is numbered column tile by column tile of one tile of rows
// after the other, and every block takes a run of it, so that all blocks read
// as much and a block seldom takes up rows of another group.
//
//   GroupedSkinnyCodes<Problem, Groups, AsksAhead>::run(args, groups, block,
//                                                       shared, epilogue)
//   Groups: by bounds or lengths. Grid: any number of blocks in x. AsksAhead:
//   bounds are older than the launch in front.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_GROUPED_CODES_H
#define HK_KERNELS_GEMM_SM90_GROUPED_CODES_H

#include "kernels/gemm/lane_groups.h"
#include "kernels/gemm/sm90/block_tiles.h"
#include "kernels/gemm/sm90/codes_fragments.h"
#include "kernels/gemm/sm90/codes_rows.h"
#include "kernels/gemm/sm90/held_bounds.h"

namespace hk {

template <class Problem, class Groups, bool AsksAhead>
struct GroupedSkinnyCodes : SkinnyCodes<Problem, /*Cluster=*/1> {
  using Base = SkinnyCodes<Problem, 1>;
  using P = Problem;
  using typename Base::Shared;
  static constexpr GemmTile T = Base::T;
  static_assert(Groups::kForm != GroupForm::Blocks &&
                P::A::kGathered == Groups::kGathered);
  /// Behind those that multiply, if there are registers for them: two waves
  /// that add their parts and store, a tile each in turns, so that each has two
  /// tiles' time for what otherwise all waves would wait for; and one that asks
  /// the copy engine for codes, also for those of the next group while these
  /// are multiplied.
  static constexpr bool kHelped = skinnyCodesHelpers(T) != 0;
  static constexpr int kFinisher = Base::kWaves,
                       kFinishers = kGroupCodesFinishers,
                       kBringer = kFinisher + kFinishers;
  static constexpr int kMeeting = Base::kThreads + kHelped * kFinishers * kWave;
  static constexpr int kThreads = kMeeting + kHelped * kWave;
  static_assert(kFinishers == 2, "of two tiles that LDS has the parts of");
  /// fp4's powers come with their codes. Then no wave waits for another one but
  /// for the one that adds up, and that a tile later.
  static constexpr bool kFree =
      kHelped && kPowersOfCodes<P::B::kMem, typename P::B::Decode>;
  using Bulk = CodesRows<Base, Base::kWaves>;
  /// Codes lie behind scales: rows and what guards them need more room than
  /// the codes of waves do.
  static constexpr int kCodesAt = Base::kPartsBytes + 2 * Base::Scales::kBytes;
  static_assert(!kHelped || Base::kLds >= kCodesAt + Bulk::kBytes);
  /// Blocks look for their tiles before the launch in front has ended.
  static constexpr bool kHolds = AsksAhead && kFree;
  using Bounds = HeldBounds<kThreads>;
  /// Behind the parts: what guards them, bounds, and B.
  static constexpr int kBoundsAt = Base::kPartsBytes + 2 * 16,
                       kFreeAt = kBoundsAt + int(sizeof(Bounds));
  using Fragments =
      CodesFragments<Base, Base::kWaves, int(Base::kLds) - kFreeAt>;

  /// The rows of a tile: places of one group.
  struct Rows {
    const GroupArgs &groups;
    GroupPlaces at;
    i64 rowsOfA;

    HK_MEM int count() const { return at.end - at.first; }
    /// The row of A of place r; -1: none.
    HK_MEM i64 source(int r) const {
      if (r >= count())
        return -1;
      if constexpr (Groups::kGathered)
        return groups.rowOfPlace<Groups>(at.first + r, rowsOfA);
      else
        return at.first + r;
    }
    HK_MEM i64 row(int r) const { return at.first + r; }
    HK_MEM i64 matrix(int r) const {
      return at.group < groups.count && source(r) >= 0 ? at.group : -1;
    }
  };
  /// Tiles of columns.
  struct Columns {
    u32 first, end;
  };

  /// The rows of A in registers, in the order of the codes.
  struct Kept : Base::Columns {
    /// The rows of A, which the order has to be read for.
    i64 row[Base::kWide];

    HK_MEM explicit Kept(const Rows &rows) {
      HK_UNROLL for (int w = 0; w < Base::kWide; ++w) row[w] =
          rows.source(w * 8 + laneId() / 4);
    }
    HK_MEM void load(const GemmArgs &args, const typename Base::Units &units) {
      auto base = global<const u8>(args.a.data);
      HK_UNROLL for (int w = 0; w < Base::kWide; ++w) {
        HK_UNROLL for (int u = 0; u < Base::kUnits; ++u)
            HK_UNROLL for (int i = 0; i < 4; ++i) {
          i64 k =
              i64(units.begin + u) * Base::kUnit + laneId() % 4 * 32 + i * 8;
          u32x4 v = u32x4(0);
          if (units.holds(u) && row[w] >= 0 && k < args.k)
            v = *(Global<const u32x4>)(base + (row[w] * args.a.stride + k) * 2);
          this->x[u][i][w] = this->paired(v);
        }
      }
    }
  };

  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, const GroupArgs &groups,
                         BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    if constexpr (kHelped) {
      if (threadId() == 0)
        init(shared);
      barrier();
    }
    u32 columns = u32((args.n + Base::kColumns - 1) / Base::kColumns);
    if constexpr (kHolds) {
      auto &held = *reinterpret_cast<Bounds *>(shared.bytes + kBoundsAt);
      held.keep(groups, /*early=*/true);
      // Another guess than what the launch in front leaves is followed by a
      // second one, which is none.
      for (bool guesses = true;; guesses = false) {
        using Walk = LaneGroups<Groups, T.bm>;
        // Anew for each tile, as bounds would stay in registers.
        auto placesOf = [&](u32 tile) __attribute__((always_inline)) {
          return Walk(groups, held.bounds).at(tile);
        };
        BlockTiles tiles = tilesOf(Walk(groups, held.bounds), columns, block);
        if (guesses) {
          if (tiles.next < tiles.end && waveId() == kBringer)
            askAhead(args, groups, placesOf(tiles.next / columns).group,
                     tiles.next % columns);
          waitForLast();
          if (held.changed(groups)) {
            held.keep(groups, /*early=*/false);
            continue;
          }
        }
        takeTiles(args, groups, placesOf, tiles, columns, shared, epilogue);
        return;
      }
    } else {
      waitForLast();
      GroupWalk<Groups, T.bm> walk(groups);
      auto placesOf = [&](u32 tile) __attribute__((always_inline)) {
        return walk.at(tile);
      };
      takeTiles(args, groups, placesOf, tilesOf(walk, columns, block), columns,
                shared, epilogue);
    }
  }

private:
  template <class Walk>
  HK_MEM static BlockTiles tilesOf(const Walk &walk, u32 columns,
                                   BlockId block) {
    // 2^32 of them would be a result of more bytes than an address has.
    return BlockTiles::of(walk.count() * columns, block);
  }
  /// placesOf(tile): the places of a tile of rows.
  template <class PlacesOf, class Epilogue>
  HK_MEM static void takeTiles(const GemmArgs &args, const GroupArgs &groups,
                               PlacesOf placesOf, BlockTiles tiles, u32 columns,
                               Shared &shared, const Epilogue &epilogue) {
    auto [next, end] = tiles;
    u32 turn = 0;
    while (next < end) {
      u32 tile = next / columns, first = next % columns;
      u32 last = first + (end - next);
      Columns own = {first, last < columns ? last : columns};
      next += own.end - own.first;
      if (next >= end)
        letNextBegin();
      Rows rows = {groups, placesOf(tile), args.m};
      if (rows.at.group < groups.count && args.m > 0)
        turn = runTiles(args, rows, own, turn, shared, epilogue);
      else if (!kHelped || waveId() != kBringer)
        storeZeros(args, rows, own, epilogue);
    }
  }

  HK_MEM static Bulk bulkOf(Shared &shared) {
    return Bulk(shared.bytes + kCodesAt);
  }
  HK_MEM static Fragments fragmentsOf(Shared &shared) {
    return Fragments(shared.bytes + kFreeAt);
  }
  /// Of tiles in turns: whether their parts are there, or have been read.
  HK_MEM static LdsBarrier partsFull(Shared &shared, u32 turn) {
    return {ldsAddress(shared.bytes) + u32(Base::kPartsBytes) + turn % 2 * 8};
  }
  HK_MEM static LdsBarrier partsFree(Shared &shared, u32 turn) {
    return {partsFull(shared, turn).at + 16};
  }
  HK_MEM static void init(Shared &shared) {
    if constexpr (kFree) {
      HK_UNROLL for (u32 turn = 0; turn < 2; ++turn) {
        partsFull(shared, turn).init(Base::kWaves);
        partsFree(shared, turn).init(1);
      }
      fragmentsOf(shared).init();
    } else {
      bulkOf(shared).init();
    }
  }
  /// Asks for a block's first tile in the L2 cache. Any bounds name rows that
  /// exist, but for places behind the last group.
  HK_MEM static void askAhead(GemmArgs args, const GroupArgs &groups, int group,
                              u32 tile) {
    if (group >= groups.count)
      return;
    chooseMatrix<typename P::B>(args, groups, group);
    typename Fragments::Matrix matrix(args);
    int tall = laneId();
    u32 first = tall < Base::kTall ? matrix.first(tile, tall) : 0;
    u32 rows = tall < Base::kTall ? matrix.count(first, tall) : 0;
    if (rows > 0)
      prefetchL2(global<const u8>(matrix.codesOf(first)),
                 rows * u32(args.k) / 2);
  }
  /// All waves but the one that asks for codes.
  HK_MEM static void meet() {
    if constexpr (kHelped)
      barrierOfSome<1, kMeeting>();
    else
      barrier();
  }

  /// Tiles of one group. `turn`: of the tiles of the block; returns that of the
  /// next.
  template <class Epilogue>
  HK_MEM static u32 runTiles(GemmArgs args, const Rows &rows, Columns own,
                             u32 turn, Shared &shared,
                             const Epilogue &epilogue) {
    chooseMatrix<typename P::B>(args, rows.groups, rows.at.group);
    if constexpr (kHelped) {
      if (waveId() == kBringer)
        return bringTiles(args, own, turn, shared);
      if (waveId() >= kFinisher)
        return finishTiles(args, rows, own, turn, shared, epilogue);
    }
    if constexpr (kFree)
      return multiplyFreely(args, rows, own, turn, shared);
    else
      return multiplyTiles(args, rows, own, turn, shared, epilogue);
  }

  /// As multiplyTiles, but that waves meet nobody.
  HK_MEM static u32 multiplyFreely(const GemmArgs &args, const Rows &rows,
                                   Columns own, u32 turn, Shared &shared) {
    auto part = Base::Units::ofBlock(args.k, 0).ofWave();
    Fragments fragments = fragmentsOf(shared);
    typename Fragments::Reader from(fragments, typename Fragments::Matrix(args),
                                    part.begin);
    Kept kept(rows);
    kept.load(args, part);
    for (u32 tile = own.first; tile < own.end; ++tile, ++turn) {
      typename Base::Sums sums[Base::kTall][2];
      HK_UNROLL for (int tall = 0; tall < Base::kTall; ++tall) {
        typename Fragments::Place place(turn * Base::kTall + u32(tall));
        fragments.wait(place);
        multiplyFragment(from, place, tall, kept, part, sums[tall]);
        fragments.release(place);
      }
      // Of the tile two turns ago.
      if (turn > 1)
        partsFree(shared, turn).waitTogether((turn / 2 - 1) % 2);
      float *parts = partsOf(shared, turn) + waveId() * Base::kPartFloats;
      HK_UNROLL for (int tall = 0; tall < Base::kTall; ++tall)
          keepFragment(parts, tall, sums[tall]);
      waveBarrier();
      if (laneId() == 0)
        partsFull(shared, turn).arrive();
    }
    return turn;
  }
  /// Every second step is summed apart, as one would wait for the other.
  HK_MEM static void multiplyFragment(const typename Fragments::Reader &from,
                                      const typename Fragments::Place &place,
                                      int tall, const Kept &kept,
                                      const typename Base::Units &part,
                                      typename Base::Sums (&sums)[2]) {
    typename Base::Codes codes[Base::kUnits];
    u32 powers[Base::kUnits][2], all = 0;
    HK_UNROLL for (int u = 0; u < Base::kUnits; ++u) {
      if (part.holds(u))
        codes[u] = from.codes(place, u);
      HK_UNROLL for (int half = 0; half < 2; ++half) all |= powers[u][half] =
          from.power(place, tall, half, u);
    }
    HK_UNROLL for (auto &both : sums) HK_UNROLL for (Vec<float, 4> &sum : both)
        sum = Vec<float, 4>(0);
    auto multiply = [&](auto usual) {
      using Power = PairPower<decltype(usual)::value>;
      HK_UNROLL for (int u = 0; u < Base::kUnits; ++u) if (part.holds(u))
          Base::multiply(codes[u], kept, u, Power(powers[u][0]),
                         Power(powers[u][1]), sums[0], sums[1]);
    };
    if (ballot(all > 127) == 0)
      multiply(Usually<true>());
    else
      multiply(Usually<false>());
  }
  template <bool V> struct Usually {
    static constexpr bool value = V;
  };
  HK_MEM static void keepFragment(float *part, int tall,
                                  const typename Base::Sums (&sums)[2]) {
    HK_UNROLL for (int w = 0; w < Base::kWide; ++w)
        HK_UNROLL for (int e = 0; e < 4; ++e) {
      int r = Fragments::rowOfTile(tall, e / 2 * 8 + laneId() / 4);
      part[(w * 8 + laneId() % 4 * 2 + e % 2) * Base::kPitch + r] =
          sums[0][w][e] + sums[1][w][e];
    }
  }

  template <class Epilogue>
  HK_MEM static u32 multiplyTiles(const GemmArgs &args, const Rows &rows,
                                  Columns own, u32 turn, Shared &shared,
                                  const Epilogue &epilogue) {
    auto units = Base::Units::ofBlock(args.k, 0), part = units.ofWave();
    typename Base::Ring ring(args, part, shared.bytes + kCodesAt);
    Bulk bulk = bulkOf(shared);
    typename Base::Scales scales(args, i64(units.begin) * Base::kUnit,
                                 shared.bytes + Base::kPartsBytes);
    Kept kept(rows);
    u32 stage = 0;
    auto tileOf = [&](int fragment) {
      return own.first + u32(fragment / Base::kTall);
    };
    bool works = part.begin < part.end;
    // In front of the codes, behind which they would wait for all of them.
    scales.ask(own.first);
    kept.load(args, part);
    if (!kHelped && works)
      ring.askFirst(tileOf, own.end);
    scales.keep(own.first, turn);
    meet();
    for (; own.first < own.end; ++own.first, ++turn) {
      u32 tile = own.first, next = tile + 1;
      if (next < own.end)
        scales.ask(next);
      float *parts = partsOf(shared, turn);
      HK_UNROLL for (int tall = 0; tall < Base::kTall; ++tall) {
        auto multiply = [&](auto codesOf) {
          typename Base::Sums sums;
          HK_UNROLL for (Vec<float, 4> &sum : sums) sum = Vec<float, 4>(0);
          Base::multiplyAll(kept, scales, part, turn, tall, codesOf, sums);
          Base::keepPart(parts, tall, sums);
        };
        if constexpr (kHelped) {
          typename Bulk::Place place(turn * Base::kTall + u32(tall));
          bulk.wait(place);
          multiply(
              [&](int unit) { return bulk.get(place, part.begin + unit); });
          bulk.release(place);
          continue;
        }
        // Of this lane, then of all.
        waitDirectCopies<Base::kAhead - 1, 1>();
        waveBarrier();
        multiply([&](int unit) { return ring.get(stage, unit); });
        waveBarrier();
        if (u32 of = tileOf(tall + Base::kAhead); works && of < own.end)
          ring.ask(of, (tall + Base::kAhead) % Base::kTall, stage);
        commitDirectCopies();
        stage = stage + 1 == Base::kAhead ? 0 : stage + 1;
      }
      if (next < own.end)
        scales.keep(next, turn + 1);
      meet();
      if constexpr (!kHelped)
        finish<Base::kThreads, Base::kWaves>(
            args, rows, tile, threadOfTurn<Epilogue>(turn), parts, epilogue);
    }
    return turn;
  }

  HK_MEM static u32 bringTiles(const GemmArgs &args, Columns own, u32 turn,
                               Shared &shared) {
    auto bring = [&]<class Ring>(const Ring &ring, const auto &of) {
      for (u32 tile = own.first; tile < own.end; ++tile, ++turn)
        HK_UNROLL for (int tall = 0; tall < Base::kTall; ++tall)
            ring.ask(of, tile, tall,
                     typename Ring::Place(turn * Base::kTall + u32(tall)));
    };
    if constexpr (kFree)
      bring(fragmentsOf(shared), typename Fragments::Matrix(args));
    else
      bring(bulkOf(shared), args);
    return turn;
  }

  template <class Epilogue>
  HK_MEM static u32 finishTiles(const GemmArgs &args, const Rows &rows,
                                Columns own, u32 turn, Shared &shared,
                                const Epilogue &epilogue) {
    if constexpr (!kFree)
      meet();
    for (u32 tile = own.first; tile < own.end; ++tile, ++turn) {
      if constexpr (!kFree)
        meet();
      if (int(turn % kFinishers) != waveId() - kFinisher)
        continue;
      if constexpr (kFree)
        partsFull(shared, turn).waitTogether(turn / 2 % 2);
      float *parts = partsOf(shared, turn);
      addParts(rows, parts);
      finish<kWave, 1>(args, rows, tile, laneId(), parts, epilogue);
      if constexpr (kFree) {
        waveBarrier();
        if (laneId() == 0)
          partsFree(shared, turn).arrive();
      }
    }
    return turn;
  }

  HK_MEM static float *partsOf(Shared &shared, u32 turn) {
    return reinterpret_cast<float *>(shared.bytes) +
           turn % 2 * (Base::kWaves * Base::kPartFloats);
  }
  /// Tiles take turns over the threads of a block.
  template <class Epilogue> HK_MEM static int threadOfTurn(u32 turn) {
    constexpr int perRow = Base::kColumns / Epilogue::kVec;
    constexpr int kBusy = (T.bm * perRow + kWave - 1) / kWave * kWave;
    return (threadId() + turn * kBusy) % Base::kThreads;
  }

  /// Adds the parts of a tile into the first one: four neighbours a lane, as a
  /// lane of the epilogue has more, so most lanes have none.
  HK_MEM static void addParts(const Rows &rows, float *parts) {
    constexpr int perRow = T.bn / 4;
    for (int x = laneId(); x < rows.count() * perRow; x += kWave) {
      int m = x / perRow, c = x % perRow * 4;
      Vec<float, 4> sum = Base::template total<4>(parts, m, c);
      *reinterpret_cast<f32x4 *>(parts + m * Base::kPitch + c) = sum;
    }
    waveBarrier();
  }

  /// `thread` of Threads. Waves: those whose parts are still to be added.
  template <int Threads, int Waves, class Epilogue>
  HK_MEM static void finish(const GemmArgs &args, const Rows &rows, u32 tile,
                            int thread, const float *parts,
                            const Epilogue &epilogue) {
    constexpr int V = Epilogue::kVec, perRow = Base::kColumns / V;
    static_assert(Epilogue::kGroup == 0 && Base::kColumns % V == 0);
    for (int x = thread; x < rows.count() * perRow; x += Threads) {
      int m = x / perRow, c = x % perRow * V;
      i64 col = i64(tile) * Base::kColumns + c;
      GemmOutput<float, V> out;
      out.acc = Base::template total<V, Waves>(parts, m, c);
      out.pair = P::kPair ? Base::template total<V, Waves>(parts, m,
                                                           Base::kColumns + c)
                          : Vec<float, V>(0);
      out.stat = 0;
      runEpilogue<V>(epilogue, rows.matrix(m), rows.row(m), col, args.n,
                     col < args.n, out);
    }
  }

  /// Rows behind the last group.
  template <class Epilogue>
  HK_MEM static void storeZeros(const GemmArgs &args, const Rows &rows,
                                Columns own, const Epilogue &epilogue) {
    constexpr int V = Epilogue::kVec;
    int perRow = int(own.end - own.first) * (Base::kColumns / V);
    const GemmOutput<float, V> zero = {};
    for (int x = threadId(); x < rows.count() * perRow; x += kMeeting) {
      i64 col = i64(own.first) * Base::kColumns + x % perRow * V;
      runEpilogue<V>(epilogue, -1, rows.row(x / perRow), col, args.n,
                     col < args.n, zero);
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_GROUPED_CODES_H
