//===- TopkTest.cpp - Selections on the host -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The three ways to select, with one thread each, against sorting. Rows of
// every awkward length: shorter than a vector, no multiple of one, as short as
// what is selected; data with ties, both zeros, NaN of both signs, infinities.
//
//===----------------------------------------------------------------------===//

#include "kernels/topk/topk.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace {

using hk::Order;
using hk::Ties;

enum class Data { Normal, Ties, Equal, Special, AllNan, Ascending };

std::vector<float> makeRow(Data data, int n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  const float special[] = {NAN,  -NAN,   INFINITY, -INFINITY, 0.f,
                           -0.f, 1e-45f, -1e-45f,  3e38f,     -3e38f};
  std::vector<float> row(n);
  for (int i = 0; i < n; ++i)
    switch (data) {
    case Data::Normal:
      row[i] = normal(rng);
      break;
    case Data::Ties:
      row[i] = float(int(rng() % 5)) - 2;
      break;
    case Data::Equal:
      row[i] = -1.5f;
      break;
    case Data::Special:
      row[i] = special[rng() % 10];
      break;
    case Data::AllNan:
      row[i] = i % 2 ? NAN : -NAN;
      break;
    case Data::Ascending:
      row[i] = float(i);
      break;
    }
  return row;
}

struct Sorted {
  std::vector<float> value;
  std::vector<int> index;
};

template <int K>
Sorted sorted(const std::vector<float> &row, Ties ties, Order order) {
  std::vector<int> places(row.size());
  std::iota(places.begin(), places.end(), 0);
  std::sort(places.begin(), places.end(), [&](int a, int b) {
    bool nanA = std::isnan(row[a]), nanB = std::isnan(row[b]);
    if (nanA != nanB)
      return nanA;
    if (!nanA && row[a] != row[b])
      return row[a] > row[b];
    return ties == Ties::Lowest ? a < b : a > b;
  });
  size_t count = std::min(places.size(), size_t(K));
  if (order == Order::ByIndex)
    std::sort(places.begin(), places.begin() + count);
  Sorted result;
  for (size_t j = 0; j < K; ++j) {
    result.value.push_back(j < count ? row[places[j]] : -INFINITY);
    result.index.push_back(j < count ? places[j] : -1);
  }
  return result;
}

template <int K>
void expectEqual(const hk::TopkRow<K> &got, const Sorted &want,
                 const char *what, int n) {
  for (int j = 0; j < K; ++j) {
    ASSERT_EQ(got.index(j), want.index[j])
        << what << " n " << n << " rank " << j;
    if (std::isnan(want.value[j]))
      ASSERT_TRUE(std::isnan(got.value(j))) << what << " n " << n;
    else
      ASSERT_EQ(got.value(j), want.value[j]) << what << " n " << n;
  }
}

template <int V, int K, Ties TIES, Order ORDER, int N>
void checkOne(Data data) {
  // Elements past the end must not matter.
  std::vector<float> row = makeRow(data, N, 3 * N + K), padded = row;
  padded.resize((N + V - 1) / V * V + V, INFINITY);
  auto score = [&](int, hk::i64 chunk) {
    hk::Vec<float, V> v;
    for (int e = 0; e < V; ++e)
      v[e] = padded[chunk * V + e];
    return v;
  };
  Sorted want = sorted<K>(row, TIES, ORDER);
  hk::TopkRow<K> got;
  hk::topkOnHost<V, K, TIES, ORDER>(score, N, got);
  expectEqual(got, want, "host", N);
  hk::RadixShared<K> radix;
  std::memset(&radix, 0xFF, sizeof(radix));
  hk::topkInBlock<1, V, K, TIES, ORDER>(score, N, 0, got, radix);
  expectEqual(got, want, "block", N);
  if constexpr (K <= N && N <= 64) {
    constexpr int slots = (N + V - 1) / V;
    hk::topkInWave<1, V, slots, K, TIES, ORDER>(score, N, 0, got);
    expectEqual(got, want, "wave", N);
  }
}

template <int V, int K, int N> void checkAll() {
  for (Data data : {Data::Normal, Data::Ties, Data::Equal, Data::Special,
                    Data::AllNan, Data::Ascending}) {
    checkOne<V, K, Ties::Lowest, Order::ByValue, N>(data);
    checkOne<V, K, Ties::Highest, Order::ByValue, N>(data);
    checkOne<V, K, Ties::Lowest, Order::ByIndex, N>(data);
    checkOne<V, K, Ties::Highest, Order::ByIndex, N>(data);
  }
}

TEST(Topk, ShortRows) {
  checkAll<1, 1, 1>();
  checkAll<4, 1, 3>();
  checkAll<4, 3, 3>();
  checkAll<16, 2, 8>();
  checkAll<8, 8, 64>();
  checkAll<1, 5, 13>();
  checkAll<4, 40, 41>();
}

TEST(Topk, LongRows) {
  checkAll<16, 8, 1000>();
  checkAll<4, 32, 4097>();
  checkAll<16, 300, 301>();
  checkAll<8, 2048, 5000>();
}

TEST(Topk, RowsShorterThanK) {
  checkAll<4, 6, 0>();
  checkAll<4, 6, 5>();
  checkAll<8, 64, 63>();
}

TEST(Topk, KeysKeepOrderAndValue) {
  const float values[] = {-INFINITY, -3e38f, -1.f,  -1e-45f, 0.f,
                          1e-45f,    1.f,    3e38f, INFINITY};
  auto key = [](float x) {
    return hk::orderedBits<1>(hk::Vec<float, 1>(x))[0];
  };
  for (size_t i = 0; i < std::size(values); ++i) {
    EXPECT_EQ(hk::valueOfKey(key(values[i])), values[i]);
    EXPECT_GT(key(values[i]), 0u); // 0 is no element
    if (i > 0)
      EXPECT_GT(key(values[i]), key(values[i - 1]));
  }
  EXPECT_EQ(key(-0.f), key(0.f));
  EXPECT_EQ(key(NAN), key(-NAN));
  EXPECT_GT(key(NAN), key(INFINITY));
  EXPECT_TRUE(std::isnan(hk::valueOfKey(key(NAN))));
}

template <int N, int GROUPS, int TOP, hk::GroupScore SCORE>
void checkGroups(Data data) {
  constexpr int SIZE = N / GROUPS, V = 4;
  std::vector<float> row = makeRow(data, N, N), scores;
  row.resize(N + V, INFINITY);
  for (int g = 0; g < GROUPS; ++g) {
    std::vector<float> group(row.begin() + g * SIZE,
                             row.begin() + (g + 1) * SIZE);
    Sorted best = sorted<2>(group, Ties::Lowest, Order::ByValue);
    scores.push_back(SCORE == hk::GroupScore::Maximum
                         ? best.value[0]
                         : best.value[0] + best.value[1]);
  }
  Sorted kept = sorted<TOP>(scores, Ties::Lowest, Order::ByValue);
  hk::u64 want = 0;
  for (int place : kept.index)
    want |= hk::u64(1) << place;
  hk::GroupRow<N, GROUPS> shared;
  hk::u64 got = hk::bestGroups<1, V, N, GROUPS, TOP, SCORE>(
      [&](int, hk::i32 chunk) {
        hk::Vec<float, V> v;
        for (int e = 0; e < V; ++e)
          v[e] = row[chunk * V + e];
        return v;
      },
      0, shared);
  EXPECT_EQ(got, want) << N << " " << GROUPS;
}

TEST(GroupLimit, AgainstSorting) {
  for (Data data : {Data::Normal, Data::Ties, Data::Equal, Data::Special,
                    Data::AllNan, Data::Ascending}) {
    checkGroups<256, 8, 4, hk::GroupScore::Top2Sum>(data);
    checkGroups<160, 8, 3, hk::GroupScore::Maximum>(data);
    checkGroups<18, 9, 2, hk::GroupScore::Top2Sum>(data);
    checkGroups<13, 1, 1, hk::GroupScore::Maximum>(data);
    checkGroups<64, 64, 64, hk::GroupScore::Maximum>(data);
  }
}

} // namespace
