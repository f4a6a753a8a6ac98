//===- RowwiseTest.cpp - Loops of row-wise kernels on the host -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every form of loop is run for each of the threads that share a row. Together
// they must have every chunk of it once and nothing else, in the slots that say
// so; rows that fill the last round and rows that do not. Then what is combined
// over such loops: the softmax of a row that is read once, and that of slices.
//
//===----------------------------------------------------------------------===//

#include "kernels/rowwise/rowwise.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

namespace {

using namespace hk;

/// How often each chunk of a row was seen.
struct Row {
  explicit Row(int chunks) : seen(chunks) {}
  void see(i64 chunk) {
    ASSERT_GE(chunk, 0);
    ASSERT_LT(chunk, i64(seen.size()));
    ++seen[chunk];
  }
  void expectEachOnce() const {
    EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
  }
  std::vector<int> seen;
};

template <class I, int SLOTS, int STEP, I CHUNKS> void testRowSlots() {
  Row row(CHUNKS);
  for (i32 thread = 0; thread < STEP; ++thread) {
    int next = 0;
    HK_EACH_SLOT(s, c, RowSlots<I, SLOTS, STEP, CHUNKS>{thread}) {
      static_assert(__is_same(decltype(c), const I));
      EXPECT_EQ(s, next++);
      EXPECT_EQ(c, s * STEP + thread);
      row.see(c);
    }
  }
  row.expectEachOnce();
}

TEST(RowLoops, SlotsHoldARow) {
  testRowSlots<i32, 4, 8, 32>();
  testRowSlots<i32, 4, 8, 31>();
  testRowSlots<i32, 4, 8, 25>();
  testRowSlots<i32, 1, 64, 3>();
  testRowSlots<i64, 3, 1, 3>();
  // Only the first chunks of a longer row.
  Row row(16);
  for (i32 thread = 0; thread < 8; ++thread)
    HK_EACH_SLOT(s, c, RowSlots<i32, 2, 8>{thread}) row.see(c);
  row.expectEachOnce();
}

template <class I, int SLOTS, int STEP, int LINE, I CHUNKS>
void testLedSlots() {
  for (i64 row = 0; row < 2 * LINE; ++row) {
    Row seen(CHUNKS);
    for (i32 thread = 0; thread < STEP; ++thread) {
      i32 lead = leadOf<LINE>(row, CHUNKS);
      HK_EACH_SLOT(s, c, LedSlots<I, SLOTS, STEP, LINE, CHUNKS>{thread, lead}) {
        EXPECT_EQ((row * CHUNKS + c) % LINE, thread % LINE);
        seen.see(c);
      }
    }
    seen.expectEachOnce();
  }
}

TEST(RowLoops, LedSlotsBeginWithALine) {
  testLedSlots<i32, 2, 8, 4, 13>();
  testLedSlots<i32, 2, 8, 8, 9>();
  testLedSlots<i64, 1, 64, 32, 33>();
  testLedSlots<i32, 3, 64, 32, 129>();
  // Rows beyond 2^32 elements.
  EXPECT_EQ(leadOf<32>((i64(1) << 40) + 3, 50257), 3 * 50257 % 32);
}

/// Rows of WIDTH 16-bit elements, `stride` apart from element `base` on, whose
/// chunks of 8 are shifted, are copied and weighted; each element is its place.
template <int WIDTH> void testShifted(int base, int stride) {
  constexpr auto kType = DType::I16;
  constexpr int kRows = 9, kChunks = (WIDTH + 14) / 8, kLast = 3;
  alignas(16) i16 from[kLast * 4096], to[kLast * 4096], weights[WIDTH];
  for (int i = 0; i < kLast * 4096; ++i)
    from[i] = i16(i), to[i] = -1;
  for (int i = 0; i < WIDTH; ++i)
    weights[i] = i16(100 + i);
  std::vector<int> seen(kLast * 4096);
  for (int row = 0; row < kRows; ++row) {
    i64 first = base + i64(row) * stride;
    i32 shift = shiftOf<8>((Global<const i16>)(from + first));
    EXPECT_EQ(shift, first % 8);
    bool even = beginsEven<8>((Global<const i16>)(from + first), shift) &&
                beginsEven<8>((Global<i16>)(to + first), shift);
    RowPlace place = placeOfRow(even, shift, row, kRows);
    for (int c = 0; c < kChunks; ++c) {
      bool ends = c >= kChunks - kLast;
      LaneRange lanes = lanesOf<8, WIDTH>(c, shift, place, c == 0, ends);
      i64 local = i64(c) * 8 - shift;
      auto v = loadMasked<kType, 8, 16>(from, first + local, lanes);
      auto w = loadMasked<kType, 8, 2>(weights, local, lanes);
      for (int e = 0; e < 8; ++e)
        if (hasLane(lanes, e)) {
          EXPECT_EQ(v[e], first + local + e);
          EXPECT_EQ(w[e], 100 + local + e);
          ++seen[first + local + e];
        }
      auto kept = keepFirst<8>(w, lanes, 0);
      for (int e = 0; e < 8; ++e)
        EXPECT_EQ(kept[e], hasLane(lanes, e) ? w[e] : 0);
      storeMasked<kType, 8, 16>(to, first + local, lanes, v);
    }
  }
  for (int i = 0; i < kLast * 4096; ++i) {
    int behind = i - base;
    bool isElement =
        behind >= 0 && behind / stride < kRows && behind % stride < WIDTH;
    EXPECT_EQ(seen[i], isElement) << i;
    EXPECT_EQ(to[i], isElement ? i : -1) << i;
  }
}

TEST(RowLoops, ShiftedChunksHaveEachElementOnce) {
  testShifted<33>(0, 33);
  testShifted<1001>(0, 1001);
  // Rows of a wider tensor, and operands that begin between two vectors.
  testShifted<1001>(3, 1010);
  testShifted<39>(5, 41);
  // Operands whose rows begin at different places are accessed by elements.
  alignas(16) i16 data[64] = {};
  EXPECT_FALSE(beginsEven<8>((Global<i16>)(data + 3), 2));
  EXPECT_FALSE(placeOfRow(false, 0, 1, 3).within);
  // In front of a tensor and behind it there may be nothing to read.
  EXPECT_FALSE(placeOfRow(true, 3, 0, 3).within);
  EXPECT_TRUE(placeOfRow(true, 3, 1, 3).within);
  EXPECT_FALSE(placeOfRow(true, 0, 2, 3).within);
}

template <class I, int SLOTS, int STEP, bool FULL> void testStrips(I chunks) {
  Row row(chunks);
  for (i32 thread = 0; thread < STEP; ++thread) {
    I before = thread - STEP;
    HK_EACH_STRIP(strip, Strip<I, SLOTS, STEP, FULL>{thread, chunks}) {
      // Loads of a strip come before what reads them.
      I loaded[SLOTS];
      HK_EACH_SLOT(s, c, strip) loaded[s] = c;
      HK_EACH_SLOT(s, c, strip) {
        static_assert(__is_same(decltype(c), const I));
        EXPECT_EQ(c, loaded[s]);
        EXPECT_EQ(c, before + STEP);
        row.see(before = c);
      }
    }
  }
  row.expectEachOnce();
}

TEST(RowLoops, StripsCoverARow) {
  testStrips<i32, 4, 8, true>(64);
  testStrips<i32, 4, 8, false>(64);
  testStrips<i32, 4, 8, false>(65);
  testStrips<i32, 4, 8, false>(63);
  testStrips<i64, 4, 8, false>(3);
  testStrips<i64, 4, 8, false>(0);
  testStrips<i32, 1, 16, false>(100);
}

// 8 threads with 3 chunks each in registers and 4 in LDS, of 75 chunks.
TEST(RowLoops, PartsOfALongRowMeet) {
  Row row(75);
  std::vector<int> lds(32);
  for (i32 thread = 0; thread < 8; ++thread) {
    HK_EACH_STRIP(strip, Strip<i32, 4, 8, false>{56 + thread, 75})
    HK_EACH_SLOT(s, c, strip) row.see(c);
    HK_EACH_STRIP(strip, Strip<i32, 4, 8, true>{24 + thread, 56})
    HK_EACH_SLOT(s, c, strip) {
      row.see(c);
      ++lds[c - 24];
    }
    HK_EACH_SLOT(s, c, RowSlots<i32, 3, 8>{thread}) row.see(c);
  }
  row.expectEachOnce();
  EXPECT_EQ(lds, std::vector<int>(32, 1));
}

template <class I, int SLOTS, int STEP, bool FULL>
void testPieces(u32 blocks, I chunks) {
  Row row(chunks);
  for (u32 block = 0; block < blocks; ++block)
    for (i32 thread = 0; thread < STEP; ++thread)
      HK_EACH_SLOT(s, c, Piece<I, SLOTS, STEP, FULL>{block, thread, chunks}) {
        static_assert(__is_same(decltype(c), const I));
        EXPECT_EQ(c / (SLOTS * STEP), block);
        EXPECT_EQ(c / STEP % SLOTS, s);
        row.see(c);
      }
  row.expectEachOnce();
}

TEST(RowLoops, PiecesCoverARow) {
  testPieces<i32, 2, 8, true>(3, 48);
  testPieces<i32, 2, 8, false>(3, 48);
  testPieces<i32, 2, 8, false>(3, 33);
  testPieces<i64, 4, 1, false>(5, 18);
  // A short row beside a longer one, which has more blocks.
  testPieces<i32, 1, 8, false>(3, 5);
}

/// Every slot of every thread has a chunk of the row; those that exist are all
/// chunks once, and the others are the last one.
template <class I, int SLOTS, int STEP>
void testRepeatedPieces(u32 blocks, I chunks) {
  Row row(chunks);
  int slots = 0;
  for (u32 block = 0; block < blocks; ++block)
    for (i32 thread = 0; thread < STEP; ++thread) {
      RepeatedPiece<I, SLOTS, STEP> piece{block, thread, chunks};
      HK_EACH_SLOT(s, c, piece) {
        ++slots;
        if (piece.exists(s))
          row.see(c);
        else
          EXPECT_EQ(c, chunks - 1);
      }
    }
  EXPECT_EQ(slots, int(blocks) * SLOTS * STEP);
  row.expectEachOnce();
}

TEST(RowLoops, RepeatedPiecesFillTheirSlots) {
  testRepeatedPieces<i32, 2, 8>(3, 48);
  testRepeatedPieces<i32, 2, 8>(3, 33);
  testRepeatedPieces<i32, 3, 12>(1, 25);
  testRepeatedPieces<i64, 1, 64>(1, 33);
}

TEST(Rows, OffsetsAreProductsOf64Bits) {
  constexpr i64 wide = (i64(1) << 33) + 5, lines = i64(1) << 20;
  for (i64 first : {i64(0), i64(255), lines * 100})
    for (u32 after : {0u, 1u, 255u, (1u << 23) - 1})
      for (i64 stride : {i64(1), i64(4096), i64(-4096), wide, -wide}) {
        RowOfBlock row{first, after};
        EXPECT_EQ(i64(strided(row, stride)), (first + after) * stride);
        // A token and one of its heads.
        EXPECT_EQ(i64(strided(row, stride) + strided(nearRow(7), wide)),
                  (first + after) * stride + 7 * wide);
      }
}

template <u32 N> void testSplitNextRows() {
  for (i64 first : {i64(0), i64(64), i64(65), (i64(1) << 32) - 512})
    for (u32 after = 0; after < 48; ++after) {
      NextRow<48> row{{first, after}};
      i64 number = row;
      auto outer = outerRow<N>(row);
      auto inner = innerRow<N>(row);
      EXPECT_EQ(i64(outer), number / N);
      EXPECT_EQ(i64(inner), number % N);
      // As the type says.
      EXPECT_LT(i64(outer) - outer.first, (48 + 2 * N - 2) / N);
      EXPECT_EQ(i64(innerRow<N>(onlyRow(number))), number % N);
      EXPECT_EQ(i64(outerRow<N>(onlyRow(number))), number / N);
      EXPECT_EQ(outerRow<N>(onlyRow(number)).after, 0u);
    }
}

TEST(Rows, NextRowsAreSplitAsFarAsTheirTypesSay) {
  testSplitNextRows<1>();
  testSplitNextRows<3>();
  testSplitNextRows<64>();
  testSplitNextRows<257>();
}

TEST(Rows, NearOffsetsAreProductsOfTheirIndices) {
  constexpr i64 first = i64(1) << 33;
  for (u32 after : {0u, 1u, 255u}) {
    NextRow<256> row{{first, after}};
    auto near = strided(row, Stride<4096>{}) + nearIndex<4096>(4095);
    static_assert(
        std::is_same_v<decltype(near), NearOffset<u64(256) * 4096 + 4096>>);
    EXPECT_EQ(i64(near), (first + after) * 4096 + 4095);
    EXPECT_EQ(near.uniform, first * 4096);
    // What may be too far away for 32 bits of bytes is counted in 64.
    auto far = strided(row, Stride<(i64(1) << 21)>{});
    static_assert(std::is_same_v<decltype(far), LaneOffset>);
    EXPECT_EQ(i64(far), (first + after) << 21);
    EXPECT_EQ(i64(strided(row, Stride<-3>{})), (first + after) * -3);
    i64 stride = -5; // only the launch knows
    EXPECT_EQ(i64(strided(row, stride) + nearIndex<8>(7)),
              (first + after) * stride + 7);
  }
  EXPECT_EQ(i64(nearIndex<0>(first)), first);
  EXPECT_EQ(i64(nearIndex<1>(NextRow<9>{{first, 8}})), first + 8);
  for (i64 place : {0, 1, 63, 64, 99})
    EXPECT_EQ(i64(rowOfTable<100>(place)), place);
  EXPECT_EQ(i64(rowOfTable<1>(0)), 0);
}

TEST(Rows, AddressesOfElementsAndOfHalves) {
  u16 words[64];
  Global<u16> p = words;
  NextRow<4> row{{1, 2}};
  EXPECT_EQ(
      (addressOf<DType::BF16>(p, strided(row, Stride<8>{}) + nearIndex<8>(5))),
      words + 29);
  EXPECT_EQ((addressOf<DType::BF16>(p, i64(29))), words + 29);
  u8 bytes[64];
  Global<u8> q = bytes;
  EXPECT_EQ((addressOf<DType::F4E2M1FN>(q, strided(row, Stride<8>{}) +
                                               nearIndex<8>(6))),
            bytes + 15);
  EXPECT_EQ((addressOf<DType::F4E2M1FN>(q, i64(30))), bytes + 15);
}

TEST(RowLoops, SlotChunksAreDividedAsNumbers) {
  for (i32 slot : {0, 1, 5})
    for (i32 thread : {0, 3, 11})
      for (i32 k : {1, 2, 4, 5, 12, 24}) {
        SlotChunk<i32, 12> c{slot, thread};
        EXPECT_EQ(i32(c), slot * 12 + thread);
        EXPECT_EQ(c / k, (slot * 12 + thread) / k);
        EXPECT_EQ(c % k, (slot * 12 + thread) % k);
        EXPECT_EQ(c * 8 + (c / k) * -k,
                  (slot * 12 + thread) * 8 - (slot * 12 + thread) / k * k);
      }
}

template <u32 N> void testSplitRows() {
  for (i64 first : {i64(0), i64(64), i64(65), (i64(1) << 32) - 512})
    for (u32 after : {0u, 1u, 63u, 255u}) {
      RowOfBlock row{first, after};
      i64 number = row;
      EXPECT_EQ(i64(outerRow<N>(row)), number / N);
      EXPECT_EQ(i64(innerRow<N>(row)), number % N);
      EXPECT_EQ(outerRow<N>(number), number / N);
      EXPECT_EQ(innerRow<N>(number), number % N);
    }
}

TEST(Rows, AreSplitIntoTokensAndHeads) {
  testSplitRows<1>();
  testSplitRows<3>();
  testSplitRows<64>();
  testSplitRows<257>();
  testSplitRows<(1u << 23) + 1>();
}

TEST(RowLoops, ChunksOneByOne) {
  for (int chunks : {0, 1, 7, 8, 9, 40}) {
    Row row(chunks);
    for (i32 thread = 0; thread < 8; ++thread)
      HK_EACH_CHUNK(c, Chunks<i64, 8>{thread, chunks}) {
        static_assert(__is_same(decltype(c), i64));
        EXPECT_EQ(c % 8, thread);
        row.see(c);
      }
    row.expectEachOnce();
  }
}

TEST(RowLoops, RowsOfBlocks) {
  for (i64 rows : {0, 1, 3, 4, 5, 11}) {
    Row all(rows);
    for (u32 block = 0; block < 4; ++block)
      HK_EACH_ROW(row, RowsOfBlock<4>{block, rows}) {
        EXPECT_EQ(row / 4, block);
        all.see(row);
      }
    all.expectEachOnce();
  }
}

TEST(RowLoops, Elements) {
  std::vector<int> all, some, none, starts, slices, places;
  HK_EACH_ELEMENT(e, 4) all.push_back(e);
  i64 count = 3;
  HK_EACH_ELEMENT_BELOW(e, 4, count) some.push_back(e);
  HK_EACH_ELEMENT_BELOW(e, 4, count - 5) none.push_back(e);
  HK_EACH_VECTOR(e, 8, count + 14) starts.push_back(e);
  HK_EACH_SLICE(s, 11) slices.push_back(s);
  HK_EACH_PLACE(j, 2) places.push_back(j);
  EXPECT_EQ(all, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(some, (std::vector<int>{0, 1, 2}));
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(starts, (std::vector<int>{0, 8, 16}));
  EXPECT_EQ(slices.size(), 11u);
  EXPECT_EQ(slices.back(), 10);
  EXPECT_EQ(places, (std::vector<int>{0, 1}));
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// The maximum of x and the sum of e^(x - maximum), of strips of 4 vectors
/// of 2.
std::pair<float, float> softmaxOf(const std::vector<float> &x) {
  float m = Max::kIdentity, l = Sum::kIdentity;
  HK_EACH_STRIP(strip, Strip<i32, 4, 1, false>{0, i32(x.size() / 2)}) {
    Vec<float, 2> v[4];
    fillSlots(v, Max::kIdentity);
    HK_EACH_SLOT(s, c, strip) v[s] = Vec<float, 2>{x[2 * c], x[2 * c + 1]};
    onlineSoftmax<2, 4>(m, l, v);
  }
  mergeSoftmax<1, 1>(m, l, nullptr);
  return {m, l};
}

void expectSoftmax(const std::vector<float> &x) {
  float top = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (float v : x)
    sum += std::exp(double(v) - top);
  auto [m, l] = softmaxOf(x);
  EXPECT_EQ(m, top);
  // e^x within 4 ulp, then as many roundings as additions and scalings.
  EXPECT_NEAR(l, sum, sum * (4 + 2 * x.size()) * 0x1p-24);
}

TEST(RowSoftmax, ReadOnce) {
  std::mt19937 rng(1);
  std::normal_distribution<float> normal(0.f, 10.f);
  // The last strip is full, has one slot without a chunk, has one chunk.
  for (int n : {16, 14, 18, 2, 100}) {
    std::vector<float> x(n);
    for (float &v : x)
      v = normal(rng);
    expectSoftmax(x);
    // The maximum changes with each vector, or never.
    std::sort(x.begin(), x.end());
    expectSoftmax(x);
    std::reverse(x.begin(), x.end());
    expectSoftmax(x);
  }
  expectSoftmax(std::vector<float>(20, -3.f));
  // What is masked counts nothing.
  std::vector<float> masked(20, -INFINITY);
  masked[13] = 2.f;
  expectSoftmax(masked);
}

TEST(RowSoftmax, NothingAndNan) {
  auto [none, sum] = softmaxOf(std::vector<float>(20, -INFINITY));
  EXPECT_EQ(none, -INFINITY);
  EXPECT_EQ(sum, 0.f);
  for (int place : {0, 9, 19}) {
    std::vector<float> x(20, 1.f);
    x[place] = NAN;
    // The sum is enough, by which all is divided.
    EXPECT_TRUE(std::isnan(softmaxOf(x).second));
  }
}

TEST(RowSoftmax, MaximaThatAreEqualScaleNothing) {
  EXPECT_EQ(expOfMaxima(-INFINITY, -INFINITY), 1.f);
  EXPECT_EQ(expOfMaxima(INFINITY, INFINITY), 1.f);
  EXPECT_EQ(expOfMaxima(2.f, 2.f), 1.f);
  EXPECT_EQ(expOfMaxima(-INFINITY, 2.f), 0.f);
  EXPECT_NEAR(expOfMaxima(1.f, 2.f), std::exp(-1.), 4 * 0x1p-24);
  EXPECT_TRUE(std::isnan(expOfMaxima(1.f, NAN)));
}

TEST(Slices, WeightedByTheirSums) {
  const float lse[] = {-1.f, 3.f, -INFINITY, 2.5f};
  const float part[][2] = {{1, 2}, {-4, 0.5f}, {NAN, 7}, {3, 3}};
  for (int first = 0; first < 4; ++first) {
    SliceCombine<2> combined;
    double top = 3, sum = 0, total[2] = {};
    HK_EACH_SLICE(s, 4) {
      int i = (s + first) % 4;
      // A slice without keys has zeros.
      bool empty = lse[i] == -INFINITY;
      combined.add(lse[i], empty ? Vec<float, 2>(0.f)
                                 : Vec<float, 2>{part[i][0], part[i][1]});
      double weight = std::exp(lse[i] - top);
      sum += weight;
      for (int e = 0; e < 2 && !empty; ++e)
        total[e] += weight * part[i][e];
    }
    for (int e = 0; e < 2; ++e)
      EXPECT_NEAR(combined.value()[e], total[e] / sum, 1e-5);
    EXPECT_NEAR(combined.lse(), top + std::log(sum), 1e-5);
  }
  // Beside an infinite one no other has a weight that a number says, and NaN
  // stays, in any order.
  const float infinity = INFINITY, nan = NAN;
  const std::vector<std::vector<float>> strange = {
      {infinity, 1.f},  {1.f, infinity}, {infinity, infinity},
      {-infinity, nan}, {nan, 1.f},      {1.f, nan}};
  for (const std::vector<float> &lses : strange) {
    SliceCombine<2> combined;
    for (float lse : lses)
      combined.add(lse, Vec<float, 2>{1.f, 2.f});
    EXPECT_TRUE(std::isnan(combined.value()[1]));
    EXPECT_TRUE(std::isnan(combined.lse()));
  }

  SliceCombine<2> nothing;
  nothing.add(-INFINITY, Vec<float, 2>(0.f));
  EXPECT_EQ(nothing.lse(), -INFINITY);
  EXPECT_EQ(nothing.value()[0], 0.f);
}

} // namespace
