//===- UnspecifiedTest.cpp - Results that no source settles ---------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each subject of Exec/Unspecified.cpp with operands on which the readings
// differ and with some on which they agree: reported on request, and then only
// the first.
//
//===----------------------------------------------------------------------===//

#include "AsmCase.h"

using namespace hk::emu;
using namespace hk::emu::test;

namespace {

const char *const kOverflow =
    "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1\n";

struct Subject {
  std::string text;
  std::vector<uint32_t> doubtful, certain;
  const char *chip = "";
};

std::vector<Subject> subjects() {
  std::string overflow = kOverflow;
  return {
      {"v_readfirstlane_b32 s40, v0\n s_nop 4\n s_bfe_u32 s41, s40, s40\n"
       "v_mov_b32 v64, s41",
       {0x200000},
       {0x1f0000}},
      {"v_readfirstlane_b32 s40, v0\n s_nop 4\n s_bfe_i64 s[42:43], s[4:5], s40"
       "\n v_mov_b32 v64, s42",
       {0x400000},
       {0x200000}},
      // 2^24 + 1 - 2^24, against (1 + 2^24) - 2^24 rounded in turn.
      {"v_dot2_f32_f16 v64, v0, v1, v2",
       {0x6c006c00, 0xec006c00, f(1)},
       {0x3c003c00, 0x3c003c00, f(1)}},
      {"v_dot2_f32_f16 v64, v0, v1, v2 neg_lo:[1,0,0] neg_hi:[1,0,0]",
       {0x6c006c00, 0x6c00ec00, f(1)},
       {0x3c003c00, 0xbc003c00, f(1)}},
      {"v_mov_b32 v64, 0\n v_cvt_sr_bf16_f32 v64, v0, v1",
       {0x3f808000, 0x80000000},
       {0x3f808000, 0x80008000},
       "gfx950"},
      {"v_mov_b32 v64, 0\n v_cvt_sr_f16_f32 v64, v0, v1",
       {f(1) + 1, 0x1fff},
       {f(1), 0x1fff},
       "gfx950"},
      {"v_mov_b32 v64, 0\n v_cvt_scalef32_pk_fp4_f32 v64, v0, v1, 1.0",
       {f(1), 0x7fc00000},
       {f(1), 0x7f800000},
       "gfx950"},
      {overflow + "v_rcp_f16 v64, v0", {0}, {0x3c00}},
      {"v_rcp_f16 v64, v0\n v_mov_b32 v64, v1", {}, {0, 0}},
      {overflow + "v_mov_b32 v64, 0\n v_div_fixup_f16 v64, v0, v1, v2",
       {0x3c00, 0, 0x3c00},
       {0x3c00, 0x3c00, 0}},
      {"global_atomic_add_f32 v127, v0, s[6:7]\n v_mov_b32 v64, v0",
       {1},
       {f(1)}},
      {"v_mfma_f32_4x4x1_16b_f32 v[64:67], v0, v1, 0 cbsz:2 abid:1",
       {f(1), f(1)},
       {}},
      {"v_mfma_f32_16x16x1_4b_f32 v[64:79], v0, v1, 0 cbsz:2 abid:1",
       {},
       {f(1), f(1)}},
      {overflow + "v_mfma_f32_16x16x4_f32 v[64:67], v0, v1, 0",
       {f(0x1p127f), f(2)},
       {f(1), f(1)},
       "gfx942"},
      {overflow + "v_mfma_f32_16x16x4_f32 v[64:67], v0, v1, 0",
       {},
       {f(0x1p127f), f(2)},
       "gfx950"},
      {overflow + "v_mfma_i32_16x16x32_i8 v[64:67], v[0:1], v[0:1], v[2:5]",
       {0x01010101, 0x01010101, 0x7ffffff0, 0, 0, 0},
       {0x01010101, 0x01010101, 0x7f000000, 0, 0, 0},
       "gfx950"}};
}

class UnspecifiedTest : public testing::TestWithParam<const char *> {};

TEST_P(UnspecifiedTest, IsReportedOnRequest) {
  std::string chip = GetParam();
  std::vector<Subject> all = subjects();
  for (const Subject &s : all) {
    if (*s.chip && s.chip != chip)
      continue;
    SCOPED_TRACE(s.text);
    for (bool doubtful : {true, false}) {
      const std::vector<uint32_t> &words = doubtful ? s.doubtful : s.certain;
      if (words.empty())
        continue;
      AsmCase c = {"subject", spaced(s.text), unsigned(words.size()), 1};
      TestDevice device(chip);
      ASSERT_TRUE(device.load(assemble(asmModule({c}), chip)))
          << device.loadError;
      std::vector<uint32_t> in;
      for (uint32_t word : words)
        in.insert(in.end(), kLanes, word);
      uint64_t from = device.upload(in);
      uint64_t scalars = device.upload(std::vector<uint32_t>(16));
      uint64_t to = device.upload(std::vector<uint32_t>(64));
      for (bool asked : {true, false}) {
        device.options.unspecified = asked;
        LaunchResult result = device.run(c.name, 1, 64, from, to, scalars);
        EXPECT_EQ(findingNames(result), doubtful && asked ? "unspecified" : "")
            << describe(result);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, UnspecifiedTest, testing::ValuesIn(kChips));

} // namespace
