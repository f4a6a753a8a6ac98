//===- RareTest.cpp - Instructions that compilers seldom emit
//--------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values worked out by hand from the formulas of the ISA documents.
//
//===----------------------------------------------------------------------===//

#include "AsmCase.h"
#include <cmath>

using namespace hk::emu;
using namespace hk::emu::test;

namespace {

class RareTest : public testing::TestWithParam<const char *> {};

const IsaRow kRows[] = {
    // Cube maps: face, s, t and twice the major axis of (1, -4, 2): face -y.
    {"v_cubeid_f32 v64, v0, v1, v2", {f(1), f(-4), f(2)}, {f(3)}},
    {"v_cubesc_f32 v64, v0, v1, v2", {f(1), f(-4), f(2)}, {f(1)}},
    {"v_cubetc_f32 v64, v0, v1, v2", {f(1), f(-4), f(2)}, {f(-2)}},
    {"v_cubema_f32 v64, v0, v1, v2", {f(1), f(-4), f(2)}, {f(-8)}},
    // 2/pi = 0.1010001011111001...b: 53 bits from the first and second segment.
    {"v_trig_preop_f64 v[64:65], v[0:1], 0",
     {0, 0x3ff00000},
     {0x6dc9c882, 0x3fe45f30}},
    // Bytes 1 2 3 4 5 6 7 8 against 1 1 1 1: windows at 0, 1, 2 and 3.
    {"v_mov_b32 v64, 0\n v_mov_b32 v65, 0\n"
     "v_qsad_pk_u16_u8 v[64:65], v[0:1], v2, v[64:65]",
     {0x04030201, 0x08070605, 0x01010101},
     {0x000a0006, 0x0012000e}},
    // A zero byte of the reference takes no part.
    {"v_mov_b32 v64, 0\n v_mov_b32 v65, 0\n"
     "v_mqsad_pk_u16_u8 v[64:65], v[0:1], v2, v[64:65]",
     {0x04030201, 0x08070605, 0x01010100},
     {0x00090006, 0x000f000c}},
    {"v_mqsad_u32_u8 v[64:67], v[0:1], v2, v[4:7]",
     {0x04030201, 0x08070605, 0x01010100, 0, 100, 200, 300, 400},
     {106, 209, 312, 415}},
    {"v_cvt_norm_i16_f16 v64, v0", {0xbc00}, {0x8001}},
    {"v_cvt_norm_u16_f16 v64, v0", {0x3800}, {0x8000}},
    {"v_cvt_pknorm_i16_f16 v64, v0, v1", {0x3c00, 0xbc00}, {0x80017fff}},
    {"v_mov_b32 v64, -1\n v_cvt_pkaccum_u8_f32 v64, v0, 1",
     {f(3.7f)},
     {0xffff04ff}},
    // Not fused: (1 + 2^-9)^2 rounds to 1 + 2^-8 before -1 is added.
    {"v_mov_b32 v64, 0\n v_mad_f16 v64, v0, v0, v1",
     {0x3c02, 0xbc00},
     {0x1c00}},
    {"v_mov_b32 v64, 0\n v_fma_f16 v64, v0, v0, v1",
     {0x3c02, 0xbc00},
     {0x1c01}},
    {"v_mov_b32 v64, 0x3c00\n v_mac_f16 v64, v0, v1",
     {0x4000, 0x4200},
     {0x4700}},
    // Sums of integer products wrap: 2^31 - 1 + 32 * 127 * 127.
    {"v_mfma_i32_16x16x32_i8 v[64:67], v[0:1], v[2:3], v[4:7]",
     {0x7f7f7f7f, 0x7f7f7f7f, 0x7f7f7f7f, 0x7f7f7f7f, 0x7fffffff, 0x7fffffff, 0,
      0},
     {0x8007e01f, 0x8007e01f, 0x7e020, 0x7e020}},
    // MODE (round to zero, flush) does not reach the matrix unit.
    {"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 3\n"
     "v_mfma_f32_4x4x1_16b_f32 v[64:67], v0, v1, v[4:7]",
     {f(1), 0x33ffffff, 0, 0, f(1), 0, 0, f(1)},
     {0x3f800001, 0x33ffffff, 0x33ffffff, 0x3f800001}},
    {"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 3\n"
     "v_mfma_f32_16x16x4_f32 v[64:67], v0, v1, 0",
     {0x00100000, f(1)},
     {0x00400000, 0x00400000, 0x00400000, 0x00400000}},
    // Ties go to the even neighbour, NaN stays NaN, too large is infinite.
    {"v_cvt_f16_f32 v64, v0\n v_cvt_f16_f32 v65, v1\n v_cvt_f16_f32 v66, v2",
     {0x3f801000, 0x3f803000, 0x7f800001},
     {0x3c00, 0x3c02, 0x7e00}},
    {"v_cvt_pk_bf16_f32 v64, v0, v1\n v_cvt_pk_bf16_f32 v65, v2, v3",
     {0x3f808000, 0x3f818000, 0x7f7fffff, 0x7f800001},
     {0x3f823f80, 0x7fc07f80},
     "gfx950"},
    // Scalar: quads, moves relative to M0.
    {"s_quadmask_b32 s40, 0xf00100\n v_mov_b32 v64, s40", {}, {0x24}},
    {"s_wqm_b32 s40, 0x100100\n v_mov_b32 v64, s40", {}, {0xf00f00}},
    {"s_mov_b32 m0, 2\n s_nop 0\n s_movrels_b32 s40, s16\n v_mov_b32 v64, s40",
     {},
     {3}},
    {"s_mov_b32 s41, 5\n s_mov_b32 m0, 1\n s_nop 0\n s_movreld_b32 s40, s18\n"
     "v_mov_b32 v64, s41",
     {},
     {3}},
    // Between the two vector instructions are skipped.
    {"v_mov_b32 v64, 1\n s_setvskip s18, 0\n v_mov_b32 v64, 2\n s_nop 1\n"
     "s_setvskip s18, 5\n s_nop 1\n v_mov_b32 v65, 3",
     {},
     {1, 3}},
    // LDS: the old value comes back, the new one is read afterwards.
    {"v_lshlrev_b32 v10, 2, v125\n ds_write_b32 v10, v0\n"
     "ds_mskor_rtn_b32 v64, v10, v1, v2\n s_waitcnt lgkmcnt(0)\n"
     "ds_read_b32 v65, v10\n s_waitcnt lgkmcnt(0)",
     {0x1234, 0xff, 0xab},
     {0x1234, 0x12ab},
     "",
     256},
    {"v_lshlrev_b32 v10, 2, v125\n ds_write_b32 v10, v0\n"
     "ds_wrap_rtn_b32 v64, v10, v1, v2\n s_waitcnt lgkmcnt(0)\n"
     "ds_read_b32 v65, v10\n s_waitcnt lgkmcnt(0)",
     {10, 7, 100},
     {10, 3},
     "",
     256},
    {"v_lshlrev_b32 v10, 3, v125\n ds_write2_b32 v10, v0, v1 offset1:1\n"
     "ds_wrxchg2_rtn_b32 v[64:65], v10, v1, v0 offset1:1\n"
     "s_waitcnt lgkmcnt(0)\n ds_read2_b32 v[66:67], v10 offset1:1\n"
     "s_waitcnt lgkmcnt(0)",
     {10, 7},
     {10, 7, 7, 10},
     "",
     512},
    {"s_mov_b32 m0, 8\n v_mov_b32 v10, 12\n ds_write_b32 v10, v0\n"
     "ds_append v64 offset:4\n s_waitcnt lgkmcnt(0)\n ds_read_b32 v65, v10\n"
     "s_waitcnt lgkmcnt(0)",
     {100},
     {100, 164},
     "",
     64},
    {"s_mov_b32 m0, 16\n s_nop 0\n ds_write_addtid_b32 v0 offset:4\n"
     "s_waitcnt lgkmcnt(0)\n v_lshlrev_b32 v10, 2, v125\n"
     "ds_read_b32 v64, v10 offset:20\n"
     "ds_read_addtid_b32 v65 offset:4\n s_waitcnt lgkmcnt(0)",
     {42},
     {42, 42},
     "",
     512},
    {"v_lshlrev_b32 v10, 3, v125\n ds_write_b64 v10, v[0:1]\n"
     "ds_cmpst_rtn_f32 v64, v10, v2, v3\n s_waitcnt lgkmcnt(0)\n"
     "ds_read_b32 v65, v10\n s_waitcnt lgkmcnt(0)",
     {0x80000000, 0, 0, 77},
     {0x80000000, 77},
     "",
     512},
    // A number wins over a quiet NaN in memory, a signaling NaN over both.
    {"v_lshlrev_b32 v10, 2, v125\n ds_write_b32 v10, v0\n"
     "ds_min_rtn_f32 v64, v10, v1\n ds_read_b32 v65, v10\n"
     "ds_max_f32 v10, v2\n ds_read_b32 v66, v10\n s_waitcnt lgkmcnt(0)",
     {0x7fc00001, f(2), 0xff800001},
     {0x7fc00001, f(2), 0xffc00001},
     "",
     256},
    {"v_lshlrev_b32 v10, 3, v125\n ds_write_b64 v10, v[0:1]\n"
     "ds_min_f64 v10, v[2:3]\n ds_read_b64 v[64:65], v10\n"
     "ds_max_f64 v10, v[4:5]\n ds_read_b64 v[66:67], v10\n"
     "s_waitcnt lgkmcnt(0)",
     {1, 0x7ff80000, 0, 0x40000000, 1, 0x7ff00000},
     {0, 0x40000000, 1, 0x7ff80000},
     "",
     512},
    // Scalar memory: a word of the output buffer, written twice.
    {"s_mov_b32 s40, 7\n s_store_dword s40, s[6:7], 0x0\n"
     "s_waitcnt lgkmcnt(0)\n s_dcache_wb\n s_mov_b32 s41, 5\n"
     "s_atomic_add s41, s[6:7], 0x0 glc\n s_waitcnt lgkmcnt(0)\n"
     "s_load_dword s42, s[6:7], 0x0\n s_waitcnt lgkmcnt(0)\n"
     "v_mov_b32 v64, s41\n v_mov_b32 v65, s42",
     {},
     {7, 12}},
    // gfx950: one value with stochastic rounding, the other half stays.
    {"v_mov_b32 v64, -1\n v_cvt_sr_f16_f32 v64, v0, v1",
     {f(1.0f) + 1, 0xfff80000},
     {0xffff3c01},
     "gfx950"},
    {"v_mov_b32 v64, -1\n v_cvt_sr_bf16_f32 v64, v0, v1",
     {0x3f808000, 0x80000000},
     {0xffff3f81},
     "gfx950"},
    // One less of what counts, the top 13 and 16 bits, does not carry.
    {"v_mov_b32 v64, -1\n v_cvt_sr_f16_f32 v64, v0, v1",
     {f(1.0f) + 1, 0xfff7ffff},
     {0xffff3c00},
     "gfx950"},
    {"v_mov_b32 v64, -1\n v_cvt_sr_bf16_f32 v64, v0, v1",
     {0x3f808000, 0x7fffffff},
     {0xffff3f80},
     "gfx950"},
};

TEST_P(RareTest, ValuesFromTheIsa) {
  checkRows({std::begin(kRows), std::end(kRows)}, GetParam());
}

/// A descriptor in s[40:43] of the output buffer, records of 64 KiB.
std::string descriptor(uint32_t word3) {
  return "s_mov_b32 s40, s6\n s_mov_b32 s41, s7\n s_mov_b32 s42, 0x10000\n"
         "s_mov_b32 s43, " +
         std::to_string(word3) +
         "\n v_lshlrev_b32 v10, 4, v125\n"
         "v_mov_b32 v20, 0\n v_mov_b32 v21, 0\n v_mov_b32 v22, 0\n"
         "v_mov_b32 v23, 0\n"
         "buffer_store_dwordx4 v[20:23], v10, s[40:43], 0 offen\n";
}
/// dst_sel x y z w, a number format and a data format.
uint32_t formatWord(unsigned data, unsigned number) {
  return 4 | 5 << 3 | 6 << 6 | 7 << 9 | number << 12 | data << 15;
}

TEST_P(RareTest, BufferFormats) {
  std::string back = "s_waitcnt vmcnt(0)\n"
                     "buffer_load_dword v64, v10, s[40:43], 0 offen\n";
  std::string wait = "s_waitcnt vmcnt(0)\n";
  // Four outputs of 64 lanes: each lane has its own 16 bytes of the buffer.
  std::vector<AsmCase> cases = {
      {"unorm8",
       descriptor(formatWord(10, 0)) +
           "buffer_store_format_xyzw v[0:3], v10, s[40:43], 0 offen\n" + back +
           "buffer_load_format_xy v[70:71], v10, s[40:43], 0 offen\n" + wait,
       4, 4},
      {"sint16",
       descriptor(formatWord(5, 5)) +
           "buffer_store_format_xy v[0:1], v10, s[40:43], 0 offen\n" + back +
           "buffer_load_format_xyz v[70:72], v10, s[40:43], 0 offen\n" + wait,
       4, 4},
      {"typed",
       descriptor(0) +
           "tbuffer_store_format_xy v[0:1], v10, s[40:43], 0 "
           "format:[BUF_DATA_FORMAT_16_16,BUF_NUM_FORMAT_FLOAT] offen\n" +
           back +
           "tbuffer_load_format_d16_xy v70, v10, s[40:43], 0 "
           "format:[BUF_DATA_FORMAT_16_16,BUF_NUM_FORMAT_FLOAT] offen\n" +
           wait,
       4, 4}};
  const char *const loaded[3] = {
      "v_mov_b32 v65, v70\n v_mov_b32 v66, v71\n v_mov_b32 v67, 0\n",
      "v_mov_b32 v65, v70\n v_mov_b32 v66, v71\n v_mov_b32 v67, v72\n",
      "v_mov_b32 v65, v70\n v_mov_b32 v66, 0\n v_mov_b32 v67, 0\n"};
  for (unsigned k = 0; k < 3; ++k)
    cases[k].body += loaded[k];
  TestDevice device(GetParam());
  ASSERT_TRUE(device.load(assemble(asmModule(cases), GetParam())))
      << device.loadError;
  auto run = [&](const AsmCase &c, const std::vector<uint32_t> &lane) {
    std::vector<uint32_t> in;
    for (uint32_t word : lane)
      in.insert(in.end(), 64, word);
    auto out = runAsm(device, c, in);
    std::vector<uint32_t> r(4);
    for (unsigned k = 0; k < 4; ++k)
      r[k] = out[k * 64 + 5];
    return r;
  };
  EXPECT_EQ(run(cases[0], {f(1), f(0.5f), f(0), f(2)}),
            (std::vector<uint32_t>{0xff0080ff, f(1), f(128.0f / 255), 0}));
  EXPECT_EQ(run(cases[1], {0xfffffffe, 70000, 0, 0}),
            (std::vector<uint32_t>{0x7ffffffe, 0xfffffffe, 0x7fff, 0}));
  EXPECT_EQ(run(cases[2], {f(1), f(-2), 0, 0}),
            (std::vector<uint32_t>{0xc0003c00, 0xc0003c00, 0, 0}));
}

INSTANTIATE_TEST_SUITE_P(Chips, RareTest, testing::ValuesIn(kChips));

} // namespace
