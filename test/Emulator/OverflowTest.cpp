//===- OverflowTest.cpp - MODE.FP16_OVFL ----------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an overflow becomes with the bit and without: f16 results ("clamped to
// +/- MAX_FP16 [...] while still preserving true INF values", CDNA4 ISA 3.5),
// fp8 (7.3) and, on gfx950 alone, matrix results (7.1.2, 7.1.5, 7.5). Triton
// sets the bit in every kernel that converts to fp8.
//
//===----------------------------------------------------------------------===//

#include "AsmCase.h"
#include <cmath>

using namespace hk::emu;
using namespace hk::emu::test;

namespace {

/// One instruction and its result with the bit clear and set.
struct OverflowRow {
  const char *text;
  std::vector<uint32_t> in;
  uint32_t plain, saturated;
  const char *chip = "";
};

constexpr uint32_t kTop = 0x7bff, kLow = 0xfbff, kInf = 0x7c00;
const uint32_t kMax = 0x7f7fffff, kHuge = f(0x1p127f);

const OverflowRow kRows[] = {
    // Arithmetic of f16; true infinities stay.
    {"v_add_f16 v64, v0, v0", {kTop}, kInf, kTop},
    {"v_add_f16 v64, v0, v0", {kLow}, 0xfc00, kLow},
    {"v_add_f16 v64, v0, v1", {kInf, 0x3c00}, kInf, kInf},
    {"v_sub_f16 v64, v0, v1", {kLow, kTop}, 0xfc00, kLow},
    {"v_mul_f16 v64, v0, v1", {kTop, 0x4000}, kInf, kTop},
    {"v_fma_f16 v64, v0, v1, v2 ", {kTop, 0x4000, 0}, kInf, kTop},
    {"v_max_f16 v64, v0, v1", {kInf, 0x3c00}, kInf, kInf},
    {"v_ldexp_f16 v64, v0, v1", {0x3c00, 20}, kInf, kTop},
    {"v_add_f16_e64 v64, v0, v1 mul:2", {kTop, 0}, kInf, kTop},
    {"v_exp_f16 v64, v0", {0x4d00}, kInf, kTop}, // 2^20
    // A reciprocal overflows below 2^-16; that of zero is infinite.
    {"v_rcp_f16 v64, v0", {0x0001}, kInf, kTop},
    {"v_rcp_f16 v64, v0", {0x8000}, 0xfc00, 0xfc00},
    {"v_log_f16 v64, v0", {0}, 0xfc00, 0xfc00},
    {"v_div_fixup_f16 v64, v0, v1, v2", {0x3c00, 0, 0x3c00}, kInf, kInf},
    {"v_pk_add_f16 v64, v0, v0", {0x3c00fbff}, 0x4000fc00, 0x4000fbff},
    {"v_pk_fma_f16 v64, v0, v0, v1",
     {0x7bff7c00, 0x3c003c00},
     0x7c007c00,
     0x7bff7c00},
    {"v_fma_mixlo_f16 v64, v0, v0, v1", {f(1e5f), f(1)}, kInf, kTop},
    {"v_fma_mixlo_f16 v64, v0, v0, v1", {f(1e5f), f(INFINITY)}, kInf, kInf},
    // Conversions to f16.
    {"v_cvt_f16_f32 v64, v0", {f(1e6f)}, kInf, kTop},
    {"v_cvt_f16_f32 v64, v0", {f(-INFINITY)}, 0xfc00, 0xfc00},
    {"v_cvt_f16_u16 v64, v0", {0xffff}, kInf, kTop},
    {"v_cvt_pkrtz_f16_f32 v64, v0, v1",
     {f(1e6f), f(INFINITY)},
     0x7c007bff,
     0x7c007bff},
    {"v_cvt_pk_f16_f32 v64, v0, v1",
     {f(-1e6f), f(INFINITY)},
     0x7c00fc00,
     0x7c00fbff,
     "gfx950"},
    {"v_cvt_scalef32_f16_bf8 v64, v0, v1", {0x7b, f(16)}, kInf, kTop, "gfx950"},
    {"v_cvt_scalef32_f16_bf8 v64, v0, v1", {0x7c, f(1)}, kInf, kInf, "gfx950"},
    // No other format is meant.
    {"v_add_f32 v64, v0, v0", {kMax}, f(INFINITY), f(INFINITY)},
    {"v_cvt_pk_bf16_f32 v64, v0, 0", {kMax}, 0x7f80, 0x7f80, "gfx950"},
    // fp8: infinity saturates too, NaN stays.
    {"v_cvt_pk_fp8_f32 v64, v0, v1",
     {f(500), f(-INFINITY)},
     0xff7f,
     0xfe7e,
     "gfx950"},
    {"v_cvt_pk_bf8_f32 v64, v0, v1",
     {f(1e5f), f(-INFINITY)},
     0xfc7c,
     0xfb7b,
     "gfx950"},
    {"v_cvt_pk_fp8_f32 v64, v0, v1",
     {f(500), f(NAN)},
     0x8080,
     0x807f,
     "gfx942"},
    {"v_cvt_sr_bf8_f32 v64, v0, v1", {f(-1e5f), 0}, 0x80, 0xff, "gfx942"},
    // Matrix products: all elements of A, B and C are alike.
    {"v_mfma_f32_16x16x4_f32 v[64:67], v0, v1, 0",
     {kHuge, f(2)},
     f(INFINITY),
     kMax,
     "gfx950"},
    {"v_mfma_f32_16x16x4_f32 v[64:67], v0, v1, 0",
     {kHuge, f(2)},
     f(INFINITY),
     f(INFINITY),
     "gfx942"},
    {"v_mfma_f32_16x16x4_f32 v[64:67], v0, v1, 0",
     {f(INFINITY), f(2)},
     f(INFINITY),
     f(INFINITY)},
    {"v_mfma_f32_4x4x1_16b_f32 v[64:67], v0, v1, 0",
     {kHuge, f(-2)},
     f(-INFINITY),
     f(-0x1.fffffep127f),
     "gfx950"},
    {"v_mfma_f32_32x32x16_bf16 v[64:79], v[0:3], v[0:3], 0",
     {0x7f007f00, 0x7f007f00, 0x7f007f00, 0x7f007f00},
     f(INFINITY),
     kMax,
     "gfx950"},
    {"v_mfma_scale_f32_16x16x128_f8f6f4 v[64:67], v[0:7], v[0:7], 0, v8, v8",
     {0x7e7e7e7e, 0x7e7e7e7e, 0x7e7e7e7e, 0x7e7e7e7e, 0x7e7e7e7e, 0x7e7e7e7e,
      0x7e7e7e7e, 0x7e7e7e7e, 220},
     f(INFINITY),
     kMax,
     "gfx950"},
    {"v_mov_b32 v64, 1.0\n v_mov_b32 v65, 1.0\n v_mov_b32 v66, 1.0\n"
     "v_mov_b32 v67, 1.0\n"
     "v_smfmac_f32_16x16x32_bf16 v[64:67], v[0:1], v[0:3], v4",
     {0x7f007f00, 0x7f007f00, 0x7f007f00, 0x7f007f00, 0x44444444},
     f(INFINITY),
     kMax,
     "gfx950"},
    {"v_mfma_i32_16x16x32_i8 v[64:67], v[0:1], v[0:1], v[2:5]",
     {0x01010101, 0x01010101, 0x7ffffff0, 0, 0, 0},
     0x80000010,
     0x7fffffff,
     "gfx950"},
    {"v_mfma_i32_4x4x4_16b_i8 v[64:67], v0, v1, v[2:5]",
     {0x01010101, 0xffffffff, 0x80000001, 0, 0, 0},
     0x7ffffffd,
     0x80000000,
     "gfx950"},
    // "The V_MFMA_F64_*_F64 instructions [...] ignore MODE" (7.4).
    {"v_mfma_f64_4x4x4_4b_f64 v[64:65], v[0:1], v[0:1], 0\n s_nop 15\n"
     "v_mov_b32 v64, v65",
     {0, 0x7fe00000},
     0x7ff00000,
     0x7ff00000},
};

class OverflowTest : public testing::TestWithParam<const char *> {};

TEST_P(OverflowTest, BecomesTheLargestValueWithTheBit) {
  std::vector<std::string> texts; // of both, so that none moves
  for (const OverflowRow &row : kRows)
    for (const char *bit : {"0", "1"})
      texts.push_back("v_mov_b32 v64, 0\n"
                      "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), " +
                      std::string(bit) + "\n" + row.text);
  std::vector<IsaRow> rows;
  for (size_t i = 0; i < std::size(kRows); ++i) {
    const OverflowRow &row = kRows[i];
    rows.push_back({texts[2 * i].c_str(), row.in, {row.plain}, row.chip});
    rows.push_back(
        {texts[2 * i + 1].c_str(), row.in, {row.saturated}, row.chip});
  }
  checkRows(rows, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Chips, OverflowTest, testing::ValuesIn(kChips));

} // namespace
