//===- MfmaModifierTest.cpp - cbsz, abid and blgp of matrix instructions --===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the lanes of B go under blgp, for the values and for what is undefined
// in them; and that modifiers which mean nothing to a shape fail the load.
//
//===----------------------------------------------------------------------===//

#include "AsmCase.h"

using namespace hk::emu;
using namespace hk::emu::test;

namespace {

/// The group of 16 lanes that each group of B reads, by blgp (CDNA3 ISA, 7.1).
const unsigned kGroups[8][4] = {{0, 1, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3},
                                {1, 2, 3, 0}, {0, 0, 0, 0}, {1, 1, 1, 1},
                                {2, 2, 2, 2}, {3, 3, 3, 3}};

/// D of an f32 shape with one block of m rows: its operands at v0 and v100.
std::string product(unsigned m, unsigned blgp) {
  std::string text = m == 32 ? "v_mfma_f32_32x32x2_f32 v[64:79], v0, v100, 0"
                             : "v_mfma_f32_16x16x4_f32 v[64:67], v0, v100, 0";
  return text + " blgp:" + std::to_string(blgp) + "\n s_nop 15\n s_nop 3\n";
}

class MfmaModifierTest : public testing::TestWithParam<const char *> {};

TEST_P(MfmaModifierTest, BlgpMovesLanesOfOneBlock) {
  std::vector<AsmCase> cases;
  for (unsigned m : {16u, 32u})
    for (unsigned blgp = 0; blgp < 8; ++blgp)
      cases.push_back({"m" + std::to_string(m) + "_" + std::to_string(blgp),
                       "v_mov_b32 v100, v1\n s_nop 1\n" + product(m, blgp), 2,
                       m * m / 64});
  TestDevice device(GetParam());
  ASSERT_TRUE(device.load(assemble(asmModule(cases), GetParam())))
      << device.loadError;
  // Every element is different, and every sum is exact.
  std::vector<uint32_t> in(128);
  for (unsigned l = 0; l < 64; ++l) {
    in[l] = f(float(1 + l));
    in[64 + l] = f(float(1000 + 7 * l));
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(cases[i].name);
    unsigned m = i < 8 ? 16 : 32, blgp = unsigned(i % 8);
    auto out = runAsm(device, cases[i], in);
    for (unsigned row = 0; row < m; ++row)
      for (unsigned column = 0; column < m; ++column) {
        float want = 0;
        for (unsigned k = 0; k < 64 / m; ++k) {
          unsigned lane = k * m + column;
          unsigned from = 16 * kGroups[blgp][lane / 16] + lane % 16;
          want += float(1 + k * m + row) * float(1000 + 7 * from);
        }
        unsigned reg = m == 16 ? row % 4 : row / 8 * 4 + row % 4;
        unsigned group = m == 16 ? row / 4 : row / 4 % 2;
        EXPECT_EQ(out[reg * 64 + group * m + column], f(want))
            << row << " " << column;
      }
  }
}

// Only one group of 16 lanes of B is defined, and only those that read it are.
TEST_P(MfmaModifierTest, UndefinedLanesMoveWithB) {
  for (unsigned m : {16u, 32u})
    for (unsigned blgp = 0; blgp < 8; ++blgp) {
      SCOPED_TRACE(std::to_string(m) + " blgp " + std::to_string(blgp));
      AsmCase c = {"case",
                   "s_mov_b64 exec, 0xffff\n v_mov_b32 v100, v1\n"
                   " s_mov_b64 exec, -1\n s_nop 1\n" +
                       product(m, blgp),
                   2, m * m / 64};
      TestDevice device(GetParam());
      ASSERT_TRUE(device.load(assemble(asmModule({c}), GetParam())))
          << device.loadError;
      uint64_t in = device.upload(std::vector<uint32_t>(128));
      uint64_t scalars = device.upload(std::vector<uint32_t>(16));
      uint64_t out = device.alloc(uint64_t(c.out) * 256);
      LaunchResult result = device.run("case", 1, 64, in, out, scalars);
      EXPECT_EQ(findingNames(result), blgp == 4 ? "" : "undefined-read")
          << describe(result);
    }
}

TEST_P(MfmaModifierTest, WhatMeansNothingIsRefused) {
  std::vector<std::string> texts = {
      "v_mfma_f32_16x16x4_f32 v[64:67], v0, v1, 0 cbsz:1",
      "v_mfma_f32_32x32x8_f16 v[64:79], v[0:1], v[2:3], 0 blgp:1",
      "v_mfma_f32_32x32x1_2b_f32 v[64:95], v0, v1, 0 cbsz:2",
      "v_mfma_f32_4x4x1_16b_f32 v[64:67], v0, v1, 0 cbsz:5",
      "v_mfma_f32_4x4x1_16b_f32 v[64:67], v0, v1, 0 cbsz:2 abid:4",
      "v_mfma_f64_4x4x4_4b_f64 v[64:65], v[0:1], v[2:3], 0 cbsz:1"};
  if (std::string(GetParam()) == "gfx950")
    texts.push_back(
        "v_mfma_f32_16x16x128_f8f6f4 v[64:67], v[0:7], v[8:15], 0 cbsz:5");
  for (const std::string &text : texts) {
    SCOPED_TRACE(text);
    TestDevice device(GetParam());
    EXPECT_FALSE(
        device.load(assemble(asmModule({{"case", text, 16, 32}}), GetParam())));
    EXPECT_NE(device.loadError.find(text.substr(0, text.find(' '))),
              std::string::npos)
        << device.loadError;
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, MfmaModifierTest, testing::ValuesIn(kChips));

} // namespace
