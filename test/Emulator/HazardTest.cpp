//===- HazardTest.cpp - Missing wait states are reported ------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each pair of instructions of the ISA documents' tables, once one wait state
// short, which is reported, and once with all it needs, which is silent.
//
//===----------------------------------------------------------------------===//

#include "AsmCase.h"

using namespace hk::emu;
using namespace hk::emu::test;

namespace {

struct Pair {
  const char *first, *second;
  unsigned states942, states950;
  const char *why;
};

const Pair kPairs[] = {
    {"v_cmp_eq_u32 s[40:41], v0, v0", "v_cndmask_b32 v64, v0, v1, s[40:41]", 2,
     2, "SGPR written by the VALU, then read by the VALU"},
    {"v_readfirstlane_b32 s40, v2", "v_readlane_b32 s42, v0, s40", 4, 4,
     "lane number"},
    {"v_cmp_eq_u32 vcc, v0, v0", "v_div_fmas_f32 v64, v0, v1, v2", 4, 4,
     "v_div_fmas"},
    {"v_add_u32 v3, v0, v1",
     "v_mov_b32_dpp v64, v3 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf", 2,
     2, "read by DPP"},
    {"v_add_u32 v3, v0, v1", "v_readfirstlane_b32 s40, v3", 1, 1, "lane read"},
    {"v_rcp_f32 v3, v0", "v_add_f32 v64, v3, v1", 1, 1, "transcendental"},
    {"v_mov_b32 v4, v0", "v_mfma_f32_16x16x4_f32 v[64:67], v4, v1, 0", 2, 2,
     "then read by MFMA"},
    {"v_mfma_f32_16x16x16_f16 v[8:11], v[0:1], v[2:3], 0",
     "v_add_f32 v64, v8, v1", 7, 8, "read by another unit"},
    {"v_mfma_f32_32x32x8_f16 v[8:23], v[0:1], v[2:3], 0",
     "v_mfma_f32_16x16x16_f16 v[64:67], v[8:9], v[2:3], 0", 11, 12, "A or B"},
    {"v_mfma_f32_32x32x8_f16 v[8:23], v[0:1], v[2:3], 0",
     "v_mfma_f32_32x32x8_f16 v[8:23], v[0:1], v[2:3], v[8:23]", 0, 0, ""},
    {"s_mov_b32 m0, 0", "ds_read_addtid_b32 v64", 1, 1, "M0"},
};

class HazardTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override { setenv("HK_EMU_HAZARDS", "1", 1); }
  void TearDown() override { unsetenv("HK_EMU_HAZARDS"); }
};

TEST_P(HazardTest, OneStateShortIsReported) {
  bool is950 = std::string(GetParam()) == "gfx950";
  for (const Pair &p : kPairs) {
    unsigned states = is950 ? p.states950 : p.states942;
    for (unsigned missing = 0; missing < 2 && missing <= states; ++missing) {
      SCOPED_TRACE(std::string(p.first) + "; " + p.second +
                   (missing ? ", one state short" : ""));
      AsmCase c;
      c.name = "pair";
      c.body = "v_mov_b32 v2, 0\n ds_write_addtid_b32 v2\n s_nop 7\n" +
               std::string(p.first) + "\n";
      for (unsigned left = states - missing; left;) {
        unsigned n = std::min(left, 8u);
        c.body += "s_nop " + std::to_string(n - 1) + "\n";
        left -= n;
      }
      c.body = "s_mov_b32 m0, 0\n s_nop 0\n" + c.body + p.second +
               "\n s_nop 15\n s_nop 7\n s_waitcnt vmcnt(0) lgkmcnt(0)\n"
               "v_mov_b32 v64, 0";
      c.in = 4;
      c.out = 1;
      c.lds = 256;
      TestDevice device(GetParam());
      ASSERT_TRUE(device.load(assemble(asmModule({c}), GetParam())))
          << device.loadError;
      std::vector<uint32_t> data(4 * 64, 0), scalars(16, 0);
      LaunchResult result =
          device.run(c.name, 1, 64, device.upload(data), device.upload(data),
                     device.upload(scalars));
      ASSERT_EQ(result.error, "");
      EXPECT_EQ(findingNames(result), missing ? "missing-nop" : "")
          << describe(result);
      if (missing && !result.findings.empty())
        EXPECT_NE(result.findings[0].detail.find(p.why), std::string::npos)
            << result.findings[0].detail;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, HazardTest, testing::ValuesIn(kChips));

} // namespace
