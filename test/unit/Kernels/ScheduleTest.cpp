//===- ScheduleTest.cpp - Orders of tiles ---------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every tile of every matrix is computed exactly once, whatever the grid, and
// tiles that run together lie in few rows. Tiles of groups have every place of
// every group once, and no tile has none.
//
//===----------------------------------------------------------------------===//

#include "kernels/gemm/schedule.h"
#include "kernels/device/problems.h"
#include "kernels/gemm/halved_round.h"
#include "kernels/gemm/run_walk.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <array>

#include <set>
#include <vector>

using namespace hk;

TEST(PersistentSchedule, TakesEveryTileOnce) {
  for (u32 matrices : {1, 3})
    for (u32 mTiles : {1, 2, 7, 8, 9, 16, 23})
      for (u32 nTiles : {1, 2, 5, 31}) {
        PersistentSchedule schedule = {mTiles, nTiles, matrices};
        u32 count = mTiles * nTiles * matrices;
        ASSERT_EQ(schedule.count(), count);
        std::vector<int> taken(count);
        for (u32 t = 0; t < count; ++t) {
          TileWork work = schedule.at(t);
          ASSERT_LT(work.matrix, matrices);
          ASSERT_LT(work.m, mTiles);
          ASSERT_LT(work.n, nTiles);
          ++taken[(work.matrix * mTiles + work.m) * nTiles + work.n];
        }
        EXPECT_EQ(taken, std::vector<int>(count, 1))
            << mTiles << " x " << nTiles << " x " << matrices;
      }
}

TEST(PersistentSchedule, BlocksShareTheTilesWhateverTheirNumber) {
  PersistentSchedule schedule = {9, 5, 2};
  for (u32 stride : {1, 7, 66, 200}) {
    std::set<u32> taken;
    for (u32 block = 0; block < stride; ++block)
      for (u32 t = block; t < schedule.count(); t += stride)
        EXPECT_TRUE(taken.insert(t).second);
    EXPECT_EQ(taken.size(), schedule.count());
  }
}

TEST(HalvedRound, EveryHalfIsTakenOnceAndNoClusterHasTwoMore) {
  for (u32 clusters : {1u, 2u, 5u, 66u})
    for (u32 count = 0; count < 5 * clusters; ++count) {
      HalvedRound round(count, clusters);
      std::vector<int> taken(2 * count);
      u32 most = 0;
      for (u32 cluster = 0; cluster < clusters; ++cluster) {
        u32 next = cluster, columns = 0;
        for (; next < round.first; next += clusters, columns += 2)
          for (u32 side : {0, 1})
            ++taken[2 * next + side];
        if (u32 half = next - round.first; half < round.halves) {
          ++taken[2 * (round.first + half / 2) + half % 2];
          ++columns;
        }
        most = std::max(most, columns);
      }
      EXPECT_EQ(taken, std::vector<int>(2 * count, 1))
          << count << " of " << clusters;
      // Halves where they shorten the last round, and nowhere else.
      u32 rounds = (count + clusters - 1) / clusters, rest = count % clusters;
      bool halves = count >= clusters && rest && 2 * rest <= clusters;
      EXPECT_EQ(most, 2 * rounds - halves);
    }
}

TEST(BlockSpread, TakesEveryBlockOnceAndTheOthersAmongTheFirstHalf) {
  for (u32 size : {0, 1, 2, 9, 64, 1000})
    for (u32 others : {0, 1, 5, 64, 700}) {
      BlockSpread spread = {size, others};
      u32 own = 0, after = 0, sinceOther = 0, mostBetween = 0;
      for (u32 block = 0; block < size + others; ++block) {
        if (spread.holds({block, 0, 0})) {
          EXPECT_EQ(spread.own({block, 0, 0}).x, own++);
          ++sinceOther;
          continue;
        }
        EXPECT_EQ(spread.after({block, 0, 0}).x, after++);
        mostBetween = std::max(mostBetween, sinceOther);
        sinceOther = 0;
      }
      EXPECT_EQ(own, size);
      EXPECT_EQ(after, others);
      if (others > 0)
        EXPECT_LE(mostBetween, size / 2 / others + 1);
      EXPECT_LE(size / 2, sinceOther + (others == 0 ? size : 0));
    }
}

TEST(SharedProblems, EveryBlockOfEachOnceInEitherOrder) {
  using Blocks = std::multiset<std::array<u32, 3>>;
  const BlockRange ranges[] = {{3, 2, 2}, {0, 5, 1}, {7, 1, 1}, {2, 1, 3}};
  auto run = [&](auto launch) {
    std::array<Blocks, 4> taken;
    auto part = [&](int i) {
      return problem(ranges[i], [&taken, i](BlockId at) {
        taken[i].insert({at.x, at.y, at.z});
      });
    };
    i64 count = 0;
    for (const BlockRange &range : ranges)
      count += range.size();
    for (u32 x = 0; x < count; ++x)
      launch(BlockId{x, 0, 0}, part(0), part(1), part(2), part(3));
    for (int i = 0; i < 4; ++i) {
      Blocks all;
      for (u32 z = 0; z < ranges[i].z; ++z)
        for (u32 y = 0; y < ranges[i].y; ++y)
          for (u32 x = 0; x < ranges[i].x; ++x)
            all.insert({x, y, z});
      EXPECT_EQ(taken[i], all) << "problem " << i;
    }
  };
  run([](auto... all) { runInTurn(all...); });
  run([](auto... all) { runSpread(all...); });
  run([](auto... all) { runOrdered(Global<u32>(), 0, all...); });
}

TEST(PlaceInCache, TakesEveryPlaceOnce) {
  for (u32 caches : {1, 2, 8})
    for (u32 run : {1, 4, 32})
      for (u32 count : {1u, 7u, 8u, 9u, 63u, 255u, 256u, 257u, 500u, 1023u}) {
        std::vector<int> taken(count);
        for (u32 block = 0; block < count; ++block) {
          u32 place = placeInCache(block, count, caches, run);
          ASSERT_LT(place, count);
          ++taken[place];
        }
        EXPECT_EQ(taken, std::vector<int>(count, 1))
            << count << " to " << caches << " in runs of " << run;
      }
}

TEST(PlaceInCache, NeighboursAreOfOneCache) {
  // A round of 8 runs of 32, and 44 places more: runs of 6 and 5.
  EXPECT_EQ(placeInCache(0, 300, 8, 32), 0u);
  EXPECT_EQ(placeInCache(8, 300, 8, 32), 1u);
  EXPECT_EQ(placeInCache(9, 300, 8, 32), 33u);
  EXPECT_EQ(placeInCache(248, 300, 8, 32), 31u);
  EXPECT_EQ(placeInCache(256, 300, 8, 32), 256u);
  EXPECT_EQ(placeInCache(264, 300, 8, 32), 257u);
  EXPECT_EQ(placeInCache(257, 300, 8, 32), 262u);
  EXPECT_EQ(placeInCache(299, 300, 8, 32), 279u);
}

TEST(PersistentSchedule, TilesThatRunTogetherReadFewRows) {
  PersistentSchedule schedule = {64, 32, 1};
  std::set<u32> rows, columns;
  for (u32 t = 0; t < 66; ++t) {
    rows.insert(schedule.at(t).m);
    columns.insert(schedule.at(t).n);
  }
  EXPECT_EQ(rows.size(), PersistentSchedule::kGroup);
  EXPECT_EQ(columns.size(), 9u);
}

namespace {

constexpr int kTileRows = 16;
constexpr int kEven = 4;
template <GroupForm Form, int Even = 0>
using Walk = GroupWalk<GroupProblem<Form, false, 1, 1>, kTileRows, Even>;

GroupArgs groupArgs(const std::vector<i32> &given, i64 count, i64 places) {
  GroupArgs args = {};
  args.groups = u64(given.data());
  args.count = count;
  args.places = places;
  return args;
}

std::vector<i32> boundsOf(const std::vector<i32> &lengths) {
  std::vector<i32> bounds = {0};
  for (i32 length : lengths)
    bounds.push_back(bounds.back() + std::max(length, 0));
  return bounds;
}

/// The group of every place, the number of groups behind the last one.
std::vector<int> groupsOf(const std::vector<i32> &lengths, i64 places) {
  std::vector<int> groups;
  for (size_t g = 0; g < lengths.size(); ++g)
    groups.insert(groups.end(), std::max(lengths[g], 0), int(g));
  groups.resize(places, int(lengths.size()));
  return groups;
}

/// The same as the tiles have it, which are asked for in the order of
/// PersistentSchedule; -1 for a place of no tile, -2 for one of several.
template <GroupForm Form, int Even = 0>
std::vector<int> walked(const GroupArgs &args, u32 columns) {
  Walk<Form, Even> walk(args);
  PersistentSchedule schedule = {walk.count(), columns, 1};
  std::vector<int> groups(args.places, -1), times(args.places);
  for (u32 t = 0; t < schedule.count(); ++t) {
    GroupPlaces tile = walk.at(schedule.at(t).m);
    EXPECT_LT(tile.first, tile.end);
    EXPECT_LE(tile.end - tile.first, kTileRows);
    for (int place = tile.first; place < tile.end; ++place) {
      groups.at(place) = tile.group;
      ++times.at(place);
    }
  }
  for (i64 place = 0; place < args.places; ++place)
    if (times[place] > int(columns))
      groups[place] = -2;
  return groups;
}

const std::vector<std::vector<i32>> kLengths = {
    {5},
    {0, 16, 17, 0, 0, 1, 100},
    {0, 0, 0},
    {3, -4, 40, -1, 16},
    std::vector<i32>(300, 1),
};

} // namespace

TEST(GroupWalk, HasEveryPlaceOfEveryGroupOnce) {
  for (const std::vector<i32> &lengths : kLengths)
    for (i64 behind : {0, 1, 50})
      for (u32 columns : {1, 3}) {
        std::vector<i32> bounds = boundsOf(lengths);
        i64 count = i64(lengths.size()), places = bounds.back() + behind;
        std::vector<int> expected = groupsOf(lengths, places);
        EXPECT_EQ(walked<GroupForm::Bounds>(groupArgs(bounds, count, places),
                                            columns),
                  expected);
        EXPECT_EQ(walked<GroupForm::Lengths>(groupArgs(lengths, count, places),
                                             columns),
                  expected);
        EXPECT_EQ((walked<GroupForm::Bounds, kEven>(
                      groupArgs(bounds, count, places), columns)),
                  expected);
        EXPECT_EQ((walked<GroupForm::Lengths, kEven>(
                      groupArgs(lengths, count, places), columns)),
                  expected);
      }
}

TEST(GroupWalk, EvenTilesOfAGroupHaveAboutAsManyPlaces) {
  std::vector<i32> bounds = {0, 17, 17, 49, 86};
  Walk<GroupForm::Bounds, kEven> walk(groupArgs(bounds, 4, 86));
  std::vector<std::pair<int, int>> tiles;
  for (u32 t = 0; t < walk.count(); ++t) {
    GroupPlaces tile = walk.at(t);
    tiles.emplace_back(tile.group, tile.end - tile.first);
  }
  EXPECT_EQ(tiles,
            (std::vector<std::pair<int, int>>{
                {0, 12}, {0, 5}, {2, 16}, {2, 16}, {3, 16}, {3, 16}, {3, 5}}));
}

TEST(GroupWalk, LengthsOfMorePlacesThanThereAreEndWithThem) {
  EXPECT_EQ(walked<GroupForm::Lengths>(groupArgs({20, 20, 20}, 3, 30), 1),
            groupsOf({20, 10, 0}, 30));
  EXPECT_EQ(walked<GroupForm::Bounds>(groupArgs({0, 20, 40, 60}, 3, 30), 1),
            groupsOf({20, 10, 0}, 30));
}

/// The group of every place by blocks of `Block` places; tiles of no places are
/// none.
template <i64 Block, template <class, int> class Walk = BlockWalk>
std::vector<int> walkedBlocks(const std::vector<i32> &given, i64 count,
                              i64 places, u32 columns, u32 *tiles = nullptr) {
  GroupArgs args = groupArgs(given, count, places);
  args.blocks = i64(given.size());
  Walk<GroupProblem<GroupForm::Blocks, true, Block, 1>, kTileRows> walk(args);
  PersistentSchedule schedule = {walk.count(), columns, 1};
  if (tiles)
    *tiles = walk.count();
  std::vector<int> groups(places, -1), times(places);
  for (u32 t = 0; t < schedule.count(); ++t) {
    GroupPlaces tile = walk.at(schedule.at(t).m);
    EXPECT_LE(tile.end - tile.first, kTileRows);
    for (int place = tile.first; place < tile.end; ++place) {
      groups.at(place) = tile.group;
      ++times.at(place);
    }
  }
  for (i64 place = 0; place < places; ++place)
    EXPECT_EQ(times[place], int(columns)) << "place " << place;
  return groups;
}

/// The group that the walks say for every place.
std::vector<int> groupsOfBlocks(const std::vector<i32> &given, i64 block,
                                i64 count, i64 places) {
  std::vector<int> groups;
  for (i64 place = 0; place < places; ++place) {
    i64 of = place / block;
    i32 group = of < i64(given.size()) ? given[of] : -1;
    groups.push_back(group >= 0 && group < count ? group : int(count));
  }
  return groups;
}

template <i64 Block> void expectBlocks(i64 places, u32 columns) {
  const i64 count = 7;
  std::vector<i32> given;
  // One block has no group: there are fewer than the places need.
  for (i64 first = 0; first + Block < places; first += Block)
    given.push_back(i32(given.size() * 5 % 9) - 1);
  EXPECT_EQ(walkedBlocks<Block>(given, count, places, columns),
            groupsOfBlocks(given, Block, count, places))
      << "blocks of " << Block << ", " << places << " places";
}

TEST(BlockWalk, HasEveryPlaceOnceWithTheGroupOfItsBlock) {
  for (i64 places : {0, 1, 15, 16, 100, 611, 3000})
    for (u32 columns : {1, 3}) {
      expectBlocks<1>(places, columns);
      expectBlocks<16>(places, columns);
      expectBlocks<48>(places, columns);
      expectBlocks<50>(places, columns);
    }
}

/// Runs of `length` blocks; the fewest tiles are those of each run alone.
template <i64 Block> void expectRuns(i64 places, i64 length, u32 columns) {
  const i64 count = 7, together = kTileRows / Block;
  std::vector<i32> given;
  for (i64 first = 0; first + Block < places; first += Block)
    given.push_back(i32(i64(given.size()) / length * 5 % 9) - 1);
  u32 tiles = 0;
  std::vector<int> expected = groupsOfBlocks(given, Block, count, places);
  std::vector<int> walked =
      walkedBlocks<Block, RunWalk>(given, count, places, columns, &tiles);
  EXPECT_EQ(walked, expected)
      << "blocks of " << Block << ", " << places << " places";
  i64 fewest = 0, run = 0;
  for (i64 first = 0; first < places; first += Block) {
    bool same = first > 0 && expected[first] == expected[first - Block];
    run = same ? run + 1 : 1;
    fewest += run % together == 1 || together == 1;
  }
  EXPECT_EQ(i64(tiles), fewest);
}

TEST(RunWalk, HasEveryPlaceOnceInAsFewTilesAsRunsAllow) {
  for (i64 places : {0, 1, 15, 16, 100, 611})
    for (i64 length : {1, 2, 5, 200})
      for (u32 columns : {1, 3}) {
        expectRuns<1>(places, length, columns);
        expectRuns<5>(places, length, columns);
        expectRuns<8>(places, length, columns);
      }
}

TEST(GroupWalk, OfBoundsThatAreNoneNoTileIsOutside) {
  std::vector<i32> bounds = {-5, 90, 3, 70, -1, 64, 1000};
  GroupArgs args = groupArgs(bounds, 6, 64);
  Walk<GroupForm::Bounds> walk(args);
  EXPECT_LE(walk.count(), 64u / kTileRows + 6 + 1);
  for (u32 t = 0; t < walk.count(); ++t) {
    GroupPlaces tile = walk.at(t);
    EXPECT_GE(tile.first, 0);
    EXPECT_LE(tile.end, 64);
  }
}
