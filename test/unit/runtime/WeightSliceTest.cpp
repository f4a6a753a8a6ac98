//===- WeightSliceTest.cpp - The part of a weight that a rank has ---------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parts against elements that say where they are in the whole.
//
//===----------------------------------------------------------------------===//

#include "hk/Contract/WeightSlice.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <numeric>

using namespace hk;
using testing::ElementsAre;
using testing::HasSubstr;

/// What the rank at `place` of `ranks` has of a tensor of `sizes` whose
/// elements are 0, 1, 2, ...
static std::vector<int16_t> partOf(const WeightSlice &slice,
                                   std::vector<int64_t> sizes, int64_t place,
                                   int64_t ranks) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  std::vector<int16_t> whole(count);
  std::iota(whole.begin(), whole.end(), int16_t(0));
  EXPECT_EQ(slice.problem(sizes, ranks), "");
  int64_t kept =
      sizes[slice.dim] ? count / sizes[slice.dim] * slice.partSize() : 0;
  // One more, which must stay.
  std::vector<int16_t> part(kept + 1, -1);
  cutWeight(slice, sizes, sizeof(int16_t), place, ranks,
            reinterpret_cast<const char *>(whole.data()),
            reinterpret_cast<char *>(part.data()));
  EXPECT_EQ(part.back(), -1);
  part.pop_back();
  return part;
}

TEST(WeightSlice, CutsRowsAndColumns) {
  WeightSlice rows{"tp", 0, {{4, 2}}}, columns{"tp", 1, {{4, 2}}};
  EXPECT_THAT(partOf(rows, {4, 3}, 0, 2), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(partOf(rows, {4, 3}, 1, 2), ElementsAre(6, 7, 8, 9, 10, 11));
  EXPECT_THAT(partOf(columns, {2, 4}, 0, 2), ElementsAre(0, 1, 4, 5));
  EXPECT_THAT(partOf(columns, {2, 4}, 1, 2), ElementsAre(2, 3, 6, 7));
  // A dim in the middle.
  EXPECT_THAT(partOf({"tp", 1, {{2, 2}}}, {2, 2, 3}, 1, 2),
              ElementsAre(3, 4, 5, 9, 10, 11));
}

TEST(WeightSlice, CutsEverySegmentByItself) {
  // Four heads of queries, and one of keys, which both ranks have.
  WeightSlice merged{"tp", 0, {{4, 2}, {1, 1}}};
  EXPECT_EQ(merged.wholeSize(), 5);
  EXPECT_EQ(merged.partSize(), 3);
  EXPECT_THAT(partOf(merged, {5, 1}, 0, 2), ElementsAre(0, 1, 4));
  EXPECT_THAT(partOf(merged, {5, 1}, 1, 2), ElementsAre(2, 3, 4));
  // Two heads between four ranks: neighbours have the same.
  WeightSlice copied{"tp", 0, {{2, 2}}};
  for (int64_t place : {0, 1})
    EXPECT_THAT(partOf(copied, {2, 1}, place, 4), ElementsAre(0));
  for (int64_t place : {2, 3})
    EXPECT_THAT(partOf(copied, {2, 1}, place, 4), ElementsAre(1));
}

TEST(WeightSlice, EmptyTensorsHaveEmptyParts) {
  EXPECT_TRUE(partOf({"tp", 0, {{4, 2}}}, {4, 0}, 1, 2).empty());
  EXPECT_TRUE(partOf({"tp", 0, {{0, 2}}}, {0, 3}, 1, 2).empty());
}

TEST(WeightSlice, SaysWhatIsWrong) {
  EXPECT_THAT(WeightSlice({"tp", 2, {{4, 2}}}).problem({4, 4}, 2),
              HasSubstr("dim 2 of a tensor of rank 2"));
  EXPECT_THAT(WeightSlice({"tp", -1, {{4, 2}}}).problem({4, 4}, 2),
              HasSubstr("dim -1 of"));
  EXPECT_THAT(WeightSlice({"tp", 0, {{9, 2}}}).problem({9}, 2),
              HasSubstr("2 parts of 9 elements for 2 ranks"));
  EXPECT_THAT(WeightSlice({"tp", 0, {{8, 4}}}).problem({8}, 2),
              HasSubstr("4 parts of 8 elements for 2 ranks"));
  EXPECT_THAT(WeightSlice({"tp", 0, {{8, 0}}}).problem({8}, 2),
              HasSubstr("0 parts of 8 elements"));
  EXPECT_THAT(WeightSlice({"tp", 0, {{4, 2}}}).problem({6}, 2),
              HasSubstr("segments of 4 elements in all for a dim of 6"));
}

TEST(WeightSlice, CountsBytesOfPackedElements) {
  std::vector<WeightSlice> slices{{"tp", 0, {{4, 2}}}, {"ep", 1, {{8, 2}}}};
  auto bytes = bytesOfSlices(slices, 2, 2);
  EXPECT_EQ(bytes[0].segments[0].size, 4);
  EXPECT_EQ(bytes[1].segments[0].size, 4);
}
