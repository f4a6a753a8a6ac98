//===- RoutingTest.cpp - Scan and routing kernels on the host -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The templates with hand-made loads and stores: counts, stable sort with
// padded parts, segments, prefix sums over runs.
//
//===----------------------------------------------------------------------===//

#include "kernels/routing/routing.h"
#include "kernels/scan/scan.h"

#include "gtest/gtest.h"

#include <vector>

namespace {

using hk::i32;
using hk::i64;
using hk::u32;

constexpr int kBins = 4;
using Steps = hk::Routing<1, kBins, false>;
using SharedSteps = hk::Routing<1, kBins, true>;

struct Sorted {
  std::vector<i32> order, position, totals;
};

template <int BLOCK> Sorted sortByKey(const std::vector<i32> &keys, i64 room) {
  Sorted s{std::vector<i32>(room, -7), std::vector<i32>(keys.size(), -7), {}};
  Steps::Shared lds;
  auto key = [&](i64 i) {
    return keys[i] >= 0 && keys[i] < kBins ? keys[i] : -1;
  };
  Steps::countKeys<0, kBins>(lds, i64(keys.size()), key);
  Steps::combineCounts(lds);
  s.totals.assign(kBins, -7);
  Steps::forBins(kBins, [&](i64 bin) { s.totals.at(bin) = lds.totals[bin]; });
  Steps::sortByKey<0, kBins, BLOCK>(
      lds, i64(keys.size()), room, {0, 1}, key,
      [&](i64 place, i32 item) { s.order.at(place) = item; },
      [&](i64 item, i32 place) { s.position.at(item) = place; });
  return s;
}

/// The same by blocks that know nothing of each other.
template <int BLOCK>
Sorted sortInBlocks(const std::vector<i32> &keys, i64 room) {
  Sorted s{std::vector<i32>(room, -7), std::vector<i32>(keys.size(), -7), {}};
  auto n = i64(keys.size());
  auto key = [&](i64 i) {
    return keys[i] >= 0 && keys[i] < kBins ? keys[i] : -1;
  };
  i64 blocks = hk::routingBlocks(1, n);
  for (i64 block = blocks - 1; block >= 0; --block) {
    SharedSteps::Shared lds;
    SharedSteps::Share share = {block, blocks};
    SharedSteps::countAllKeys(lds, n, share, key);
    SharedSteps::combineCounts(lds);
    s.totals.assign(lds.totals, lds.totals + kBins);
    SharedSteps::sortByKey<0, kBins, BLOCK>(
        lds, n, room, share, key,
        [&](i64 place, i32 item) { s.order.at(place) = item; },
        [&](i64 item, i32 place) { s.position.at(item) = place; });
  }
  return s;
}

using Ints = std::vector<i32>;

TEST(Routing, BlocksThatShareTheKeysSortAsOneDoes) {
  Ints keys;
  for (int i = 0; i < 75; ++i)
    keys.push_back(i * i % 7 - 1);
  for (size_t n : {0, 1, 2, 3, 64, 65, 75}) {
    Ints some(keys.begin(), keys.begin() + i64(n));
    Sorted one = sortByKey<4>(some, 90), several = sortInBlocks<4>(some, 90);
    EXPECT_EQ(several.totals, one.totals) << n;
    EXPECT_EQ(several.order, one.order) << n;
    EXPECT_EQ(several.position, one.position) << n;
  }
}

TEST(Routing, SortIsStableAndSkipsOtherKeys) {
  Sorted s = sortByKey<1>({2, 0, -1, 2, 4, 0, 3}, 7);
  EXPECT_EQ(s.totals, Ints({2, 0, 2, 1}));
  EXPECT_EQ(s.order, Ints({1, 5, 0, 3, 6, 7, 7}));
  EXPECT_EQ(s.position, Ints({2, 0, -1, 3, -1, 1, 4}));
}

TEST(Routing, EveryPartOfASortIsAMultipleOfTheBlock) {
  Sorted s = sortByKey<4>({2, 0, 2, 2, 2, 2}, 18);
  EXPECT_EQ(s.order,
            Ints({1, 6, 6, 6, 0, 2, 3, 4, 5, 6, 6, 6, 6, 6, 6, 6, 6, 6}));
  EXPECT_EQ(s.position, Ints({4, 0, 5, 6, 7, 8}));
}

TEST(Routing, PlacesBehindAShortOrderAreNotStored) {
  Sorted s = sortByKey<4>({2, 0, 2}, 5);
  EXPECT_EQ(s.order, Ints({1, 3, 3, 3, 0}));
  EXPECT_EQ(s.position, Ints({4, 0, 5}));
}

TEST(Routing, SegmentsSkipEmptyOnes) {
  Ints lengths = {0, 5, -2, 0, 2, 0}, ids(8, -7), ranks(8, -7), offsets(7, -7);
  Steps::Shared lds;
  i32 total = Steps::segments<2>(
      lds, 6, 8, [&](i64 i) { return lengths[i]; },
      [&](i64 place, i32 segment, i32 rank) {
        ids.at(place) = segment;
        ranks.at(place) = rank;
      },
      [&](i64 i, i32 sum) { offsets.at(i) = sum; });
  EXPECT_EQ(total, 4);
  EXPECT_EQ(ids, Ints({1, 1, 1, 4, -1, -1, -1, -1}));
  EXPECT_EQ(ranks, Ints({0, 1, 2, 0, -1, -1, -1, -1}));
  EXPECT_EQ(offsets, Ints({0, 0, 3, 3, 3, 4, 4}));
}

TEST(Routing, CountsBits) {
  std::vector<u32> words = {0x5, 0xc, 0xffffffff};
  Steps::Shared lds;
  Steps::countBits<0, kBins>(lds, 3, [&](i64, i64 row) { return words[row]; });
  Steps::combineCounts(lds);
  EXPECT_EQ(Ints(lds.totals, lds.totals + kBins), Ints({2, 1, 3, 2}));
}

/// A [length, columns] matrix of ones.
struct Ones {
  std::vector<u32> &sums;
  i64 columns;
  u32 element(i64, i64, i64) const { return 1; }
  void sum(i64, i64 at, i64 column, u32 sum) const {
    sums.at(at * columns + column) = sum;
  }
};

template <hk::ScanKind KIND, bool REVERSE>
std::vector<u32> scanOnes(i64 length, i64 chunk, const Ints &bounds,
                          i64 blocks) {
  constexpr i64 columns = 3;
  using Kernel = hk::Scan<u32, KIND, REVERSE, 1, columns, 2>;
  std::vector<u32> sums((length + 1) * columns, 77);
  hk::ScanArgs args = {length, columns, chunk,
                       bounds.empty() ? nullptr : bounds.data(),
                       i64(bounds.size()) - 1};
  typename Kernel::Shared shared;
  for (i64 b = 0; b < blocks; ++b)
    Kernel::run(args, hk::BlockId{u32(b), 0, 0}, shared, Ones{sums, columns});
  std::vector<u32> first;
  for (i64 i = 0; i <= length; ++i) {
    EXPECT_EQ(sums[i * columns], sums[i * columns + 2]);
    first.push_back(sums[i * columns]);
  }
  return first;
}

using Sums = std::vector<u32>;
using hk::ScanKind;

TEST(Scan, ChunksStartAgain) {
  EXPECT_EQ((scanOnes<ScanKind::Inclusive, false>(5, 2, {}, 3)),
            Sums({1, 2, 1, 2, 1, 77}));
  EXPECT_EQ((scanOnes<ScanKind::Exclusive, true>(5, 2, {}, 3)),
            Sums({1, 0, 1, 0, 0, 77}));
}

TEST(Scan, OffsetsEndInTheTotal) {
  EXPECT_EQ((scanOnes<ScanKind::Offsets, false>(3, 0, {}, 1)),
            Sums({0, 1, 2, 3}));
  EXPECT_EQ((scanOnes<ScanKind::Offsets, false>(0, 0, {}, 1)), Sums({0}));
}

TEST(Scan, SequencesStartAgainAndTheRestIsZero) {
  // Sequences of 3, 0 and 4 elements; 2 elements behind the last.
  EXPECT_EQ((scanOnes<ScanKind::Inclusive, false>(9, 0, {0, 3, 3, 7}, 4)),
            Sums({1, 2, 3, 1, 2, 3, 4, 0, 0, 77}));
  EXPECT_EQ((scanOnes<ScanKind::Inclusive, false>(9, 2, {0, 3, 3, 7}, 8)),
            Sums({1, 2, 1, 1, 2, 1, 2, 0, 0, 77}));
  EXPECT_EQ((scanOnes<ScanKind::Inclusive, true>(9, 2, {0, 3, 3, 7}, 8)),
            Sums({2, 1, 1, 2, 1, 2, 1, 0, 0, 77}));
}

} // namespace
