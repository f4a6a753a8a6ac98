//===- ScheduleTest.cpp - Orders of tiles ---------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every tile of every matrix is computed exactly once, whatever the grid, and
// tiles that run together lie in few rows.
//
//===----------------------------------------------------------------------===//

#include "kernels/gemm/schedule.h"

#include "gtest/gtest.h"

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
