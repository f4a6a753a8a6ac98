//===- TilesTest.cpp - Leave for the matrix unit of a CPU -----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime asks for it when it opens a module; these tests call kernels
// without a runtime, so they ask before the first of them runs.
//
//===----------------------------------------------------------------------===//

#include "hk/Contract/CpuTiles.h"
#include "kernels/device/mma/host_tiles.h"
#include "gtest/gtest.h"

#include <array>

namespace {

class TilesEnvironment : public testing::Environment {
  void SetUp() override {
    if (hk::kHasHostTiles)
      ASSERT_TRUE(hk::requestCpuTiles())
          << "these tests were compiled for this CPU's matrix unit, and the "
             "system does not let a process use it";
  }
};
const testing::Environment *environment =
    testing::AddGlobalTestEnvironment(new TilesEnvironment);

using Rows = std::array<hk::Bf16Pair, 40 * 32>;

/// c[rows][32] += a * panel, one element after the other.
void multiplied(const Rows &a, int rows, const Rows &panel, int words,
                float *c) {
  for (int r = 0; r < rows; ++r)
    for (int n = 0; n < 32; ++n)
      for (int w = 0; w < words; ++w) {
        auto x = hk::Vec<hk::Bf16Pair, 1>(a.at(size_t(r) * 32 + size_t(w))),
             y = hk::Vec<hk::Bf16Pair, 1>(panel.at(size_t(w) * 32 + size_t(n)));
        c[r * 32 + n] += hk::evenOf<1>(x)[0] * hk::evenOf<1>(y)[0] +
                         hk::oddOf<1>(x)[0] * hk::oddOf<1>(y)[0];
      }
}

// Small integers, so that sums are exact in any order; rows and words behind
// the last ones are NaN where they must not be read, zeros where they may.
TEST(HostTiles, AnyRowsAndWords) {
  for (int rows = 1; rows <= 40; ++rows)
    for (int words : {1, 15, 16, 17, 32}) {
      // As in LDS, where panels and sums are read by whole vectors.
      alignas(64) Rows a, panel;
      for (size_t i = 0; i < a.size(); ++i) {
        bool behind = int(i) / 32 >= rows, beyond = int(i) % 32 >= words;
        auto integer = [&](size_t x) {
          return hk::u32(hk::bitCast<hk::u32>(float(int(x * 7 % 9) - 4)) >> 16);
        };
        a[i] = behind   ? 0x7FC07FC0u
               : beyond ? 0u
                        : integer(i) | integer(i + 3) << 16;
        panel[i] =
            int(i) / 32 >= words ? 0u : integer(i + 1) | integer(i + 5) << 16;
      }
      alignas(64) std::array<float, 40 * 32> c, expected;
      for (size_t i = 0; i < c.size(); ++i)
        c[i] = expected[i] = float(i % 5);
      hk::HostTiles<hk::kMultipliesTiles<hk::Bf16Pair>> tiles;
      hk::multiplyRows<hk::Bf16Pair>(a.data(), 32, rows, panel.data(), words,
                                     c.data(), 32);
      multiplied(a, rows, panel, words, expected.data());
      ASSERT_EQ(c, expected) << rows << " rows, " << words << " words";
    }
}

} // namespace
