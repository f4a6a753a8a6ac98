//===- InstTest.cpp - One test per instruction class ----------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions with the values the ISA documents give for them: each row is one
// instruction, its inputs in every lane and the expected word. Groups that work
// across lanes have tests of their own below.
//
//===----------------------------------------------------------------------===//

#include "AsmCase.h"
#include <cmath>

using namespace hk::emu;
using namespace hk::emu::test;

namespace {

class InstTest : public testing::TestWithParam<const char *> {};

const char *only950 = "gfx950", *only942 = "gfx942", *both = "";

const uint32_t kNan = 0x7fc00000, kInf = 0x7f800000;

const IsaRow kRows[] = {
    // Integer ALU.
    {"v_add_u32 v64, v0, v1", {0xffffffff, 2}, {1}},
    {"v_add_u32 v64, v0, v1 clamp", {0xffffffff, 2}, {0xffffffff}},
    {"v_sub_u32 v64, v0, v1 clamp", {1, 2}, {0}},
    {"v_subrev_u32 v64, v0, v1", {1, 5}, {4}},
    {"v_add_i32 v64, v0, v1 clamp", {0x7fffffff, 1}, {0x7fffffff}},
    {"v_mul_lo_u32 v64, v0, v1", {0x10001, 0x10001}, {0x20001}},
    {"v_mul_hi_u32 v64, v0, v1", {0x80000000, 6}, {3}},
    {"v_mul_hi_i32 v64, v0, v1", {0xffffffff, 5}, {0xffffffff}},
    {"v_mul_i32_i24 v64, v0, v1", {0xffffff, 7}, {0xfffffff9}},
    {"v_mul_u32_u24 v64, v0, v1", {0xff000002, 7}, {14}},
    {"v_mad_u32_u24 v64, v0, v1, v2", {3, 5, 100}, {115}},
    {"v_lshlrev_b32 v64, v0, v1", {36, 1}, {16}},
    {"v_ashrrev_i32 v64, v0, v1", {4, 0x80000000}, {0xf8000000}},
    {"v_lshlrev_b64 v[64:65], v0, v[2:3]", {33, 0, 3, 0}, {0, 6}},
    {"v_ashrrev_i64 v[64:65], v0, v[2:3]",
     {8, 0, 0, 0x80000000},
     {0, 0xff800000}},
    {"v_lshl_add_u64 v[64:65], v[0:1], 5, v[2:3]", {1, 2, 3, 4}, {4, 6}},
    {"v_lshl_add_u64 v[64:65], v[0:1], 3, v[2:3]",
     {0x20000000, 0, 1, 1},
     {1, 2}},
    {"v_bfe_u32 v64, v0, 4, 8", {0x12345678}, {0x67}},
    {"v_bfe_i32 v64, v0, 4, 8", {0x00000ff0}, {0xffffffff}},
    // Past the top the sign comes down: S0 is shifted as a signed number.
    {"v_bfe_i32 v64, v0, 31, 27", {0xf1320b2a}, {0xffffffff}},
    {"v_bfe_i32 v64, v0, 31, 1", {0x80000000}, {0xffffffff}},
    {"v_bfe_i32 v64, v0, 16, 20", {0x71320b2a}, {0x7132}},
    {"v_bfi_b32 v64, v0, v1, v2",
     {0xff00ff00, 0x12345678, 0x9abcdef0},
     {0x12bc56f0}},
    {"v_perm_b32 v64, v0, v1, v2",
     {0x44332211, 0x88776655, 0x0c0d0700},
     {0x00ff4455}},
    {"v_alignbit_b32 v64, v0, v1, 8", {0x12, 0x34567890}, {0x12345678}},
    {"v_alignbyte_b32 v64, v0, v1, 3", {0x12345678, 0x9abcdef0}, {0x3456789a}},
    {"v_and_or_b32 v64, v0, v1, v2", {0xff, 0x3c, 0x100}, {0x13c}},
    {"v_xad_u32 v64, v0, v1, v2", {0xf0, 0xff, 1}, {0x10}},
    {"v_bcnt_u32_b32 v64, v0, v1", {0xf0f0, 2}, {10}},
    {"v_ffbh_u32 v64, v0", {0x00010000}, {15}},
    {"v_ffbh_i32 v64, v0", {0xffff0000}, {16}},
    {"v_ffbl_b32 v64, v0", {0x00010000}, {16}},
    {"v_bfrev_b32 v64, v0", {1}, {0x80000000}},
    {"v_med3_i32 v64, v0, v1, v2", {5, 0xffffffff, 3}, {3}},
    {"v_min3_u32 v64, v0, v1, v2", {5, 9, 3}, {3}},
    {"v_sad_u8 v64, v0, v1, v2", {0x01020304, 0x04030201, 10}, {18}},
    {"v_dot4_i32_i8 v64, v0, v1, v2", {0x01ff0203, 0x04050607, 1}, {33}},
    {"v_dot4_i32_i8 v64, v0, v1, v2 clamp",
     {0x7f7f7f7f, 0x7f7f7f7f, 0x7fffffff},
     {0x7fffffff}},
    {"v_dot4_u32_u8 v64, v0, v1, v2 clamp", {0xff, 0xff, ~0u}, {~0u}},
    {"v_dot8_i32_i4 v64, v0, v1, v2 clamp",
     {0x8, 0x7, 0x80000000},
     {0x80000000}},
    {"v_dot8_u32_u4 v64, v0, v1, v2", {0xf, 0xf, ~0u}, {224}},
    {"v_dot2_i32_i16 v64, v0, v1, v2", {0x7fff, 2, 0x7fffffff}, {0x8000fffd}},
    {"v_dot2_i32_i16 v64, v0, v1, v2 clamp",
     {0x7fff, 2, 0x7fffffff},
     {0x7fffffff}},
    {"v_dot2_i32_i16 v64, v0, v1, v2 clamp",
     {0x80008000, 0x7fff7fff, 0x80000000},
     {0x80000000}},
    {"v_dot2_u32_u16 v64, v0, v1, v2", {2, 3, ~0u}, {5}},
    {"v_dot2_u32_u16 v64, v0, v1, v2 clamp", {2, 3, ~0u}, {~0u}},
    {"v_mad_u64_u32 v[64:65], vcc, v0, v1, v[2:3]",
     {0xffffffff, 0xffffffff, 1, 0},
     {2, 0xfffffffe}},
    {"v_bitop3_b32 v64, v0, v1, v2 bitop3:0x96",
     {0xff, 0x0f, 0x33},
     {0xc3},
     only950},
    {"v_mov_b32 v64, 0xabcd0000\n s_nop 0\n v_ashr_pk_i8_i32 v64, v0, v1, v2",
     {0x7f, 0x80000000, 4},
     {0xabcd8007},
     "gfx950"},
    {"v_minimum3_f32 v64, v0, v1, v2",
     {f(1), 0x7f800001, f(2)},
     {0x7fc00001},
     "gfx950"},
    {"v_mov_b32 v64, 0\n v_ashr_pk_u8_i32 v64, v0, v1, v2",
     {0x1000, 0xfffffff0, 4},
     {0x00ff},
     only950},
    // Carries and selects.
    {"v_add_co_u32 v64, vcc, v0, v1\n v_addc_co_u32 v65, vcc, v2, v3, vcc",
     {0xffffffff, 1, 5, 6},
     {0, 12}},
    {"v_sub_co_u32 v64, vcc, v0, v1\n v_subb_co_u32 v65, vcc, v2, v3, vcc",
     {0, 1, 5, 2},
     {0xffffffff, 2}},
    {"v_cmp_lt_i32 vcc, v0, v1\n v_cndmask_b32 v64, v2, v3, vcc",
     {0xffffffff, 0, 7, 8},
     {8}},
    {"v_cmp_lt_u32 vcc, v0, v1\n v_cndmask_b32 v64, v2, v3, vcc",
     {0xffffffff, 0, 7, 8},
     {7}},
    {"v_cmp_nlt_f32 vcc, v0, v1\n v_cndmask_b32 v64, 0, 1, vcc",
     {kNan, f(1)},
     {1}},
    {"v_cmp_class_f32 vcc, v0, v1\n v_cndmask_b32 v64, 0, 1, vcc",
     {0x80000001, 0x10},
     {1}},
    {"v_cmp_u_f32 vcc, v0, v1\n v_cndmask_b32 v64, 0, 1, vcc",
     {kNan, f(1)},
     {1}},
    // Float.
    {"v_add_f32 v64, v0, v1", {f(1.5f), f(2.25f)}, {f(3.75f)}},
    {"v_add_f32_e64 v64, -v0, |v1|", {f(1), f(-2)}, {f(1)}},
    {"v_add_f32_e64 v64, v0, v1 clamp", {f(1), f(2)}, {f(1)}},
    {"v_mul_f32_e64 v64, v0, v1 mul:4", {f(1), f(2)}, {f(8)}},
    {"v_add_f32_e64 v64, v0, v1 div:2", {f(1), f(2)}, {f(1.5f)}},
    {"v_fma_f32 v64, v0, v1, v2",
     {0x3f800800, 0x3f800800, 0xbf801000},
     {0x33800000}},
    {"v_fmamk_f32 v64, v0, 0x40400000, v1", {f(2), f(1)}, {f(7)}},
    {"v_fmaak_f32 v64, v0, v1, 0x40400000", {f(2), f(4)}, {f(11)}},
    {"v_mov_b32 v64, v2\n v_fmac_f32 v64, v0, v1", {f(2), f(4), f(1)}, {f(9)}},
    {"v_max_f32 v64, v0, v1", {kNan, f(1)}, {f(1)}},
    {"v_max_f32 v64, v0, v1", {0x80000000, 0}, {0}},
    {"v_min_f32 v64, v0, v1", {0, 0x80000000}, {0x80000000}},
    // With MODE.IEEE a signaling NaN comes out quiet; without it is a NaN.
    {"v_max_f32 v64, v0, v1", {f(1), 0xff800001}, {0xffc00001}},
    {"v_min_f32 v64, v0, v1", {0x7f800002, 0x7f800001}, {0x7fc00002}},
    {"v_max3_f32 v64, v0, v1, v2", {f(1), f(2), 0x7f800001}, {0x7fc00001}},
    {"v_med3_f32 v64, v0, v1, v2", {f(1), 0x7f800001, f(2)}, {f(2)}},
    {"v_min_f64 v[64:65], v[0:1], v[2:3]",
     {0, 0x3ff00000, 1, 0x7ff00000},
     {1, 0x7ff80000}},
    {"v_max_f16 v64, v0, v1", {0x3c00, 0x7c01}, {0x7e01}},
    // Of two NaNs the second is the result; minimum and maximum quiet them.
    {"v_max_f32 v64, v0, v1", {0x7fc00001, 0xffc00002}, {0xffc00002}},
    {"v_pk_min_f16 v64, v0, v1", {0x3c007c01, 0x7c023c00}, {0x7e027e01}},
    {"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 9, 1), 0\n"
     "v_max_f32 v64, v0, v1",
     {f(1), 0xff800001},
     {f(1)}},
    {"v_med3_f32 v64, v0, v1, v2", {f(3), f(-1), f(2)}, {f(2)}},
    {"v_rndne_f32 v64, v0", {f(2.5f)}, {f(2)}},
    {"v_floor_f32 v64, v0", {f(-0.5f)}, {f(-1)}},
    {"v_fract_f32 v64, v0", {f(-0.25f)}, {f(0.75f)}},
    {"v_ldexp_f32 v64, v0, v1", {f(1.5f), 4}, {f(24)}},
    {"v_frexp_mant_f32 v64, v0", {f(12)}, {f(0.75f)}},
    {"v_frexp_exp_i32_f32 v64, v0", {f(12)}, {4}},
    {"v_rcp_f32 v64, v0", {f(4)}, {f(0.25f)}},
    {"v_rcp_f32 v64, v0", {0}, {kInf}},
    {"v_rsq_f32 v64, v0", {f(16)}, {f(0.25f)}},
    {"v_sqrt_f32 v64, v0", {f(2)}, {0x3fb504f3}},
    {"v_exp_f32 v64, v0", {f(10)}, {f(1024)}},
    {"v_exp_f32 v64, v0", {f(-140)}, {0}},
    {"v_exp_f32 v64, v0", {f(0.5f)}, {0x3fb504f3}},
    {"v_log_f32 v64, v0", {f(8)}, {f(3)}},
    {"v_log_f32 v64, v0", {0}, {0xff800000}},
    {"v_log_f32 v64, v0", {f(10)}, {f(3.3219281f)}},
    {"v_sin_f32 v64, v0", {f(0.25f)}, {f(1)}},
    {"v_cos_f32 v64, v0", {f(0.5f)}, {f(-1)}},
    {"v_add_f64 v[64:65], v[0:1], 1.0", {0, 0x3ff00000}, {0, 0x40000000}},
    {"v_fma_f64 v[64:65], v[0:1], v[2:3], 0.5",
     {0, 0x40000000, 0, 0x40000000},
     {0, 0x40120000}},
    // Halves.
    {"v_add_f16 v64, v0, v1", {0x3c00, 0x4000}, {0x4200}},
    {"v_mov_b32 v64, 9\n v_mad_u16 v64, v0, v1, v2 op_sel:[1,0,0,1]",
     {0x00020003, 5, 7},
     {0x00110009}},
    {"v_add_f16_sdwa v64, v0, v1 dst_sel:WORD_1 dst_unused:UNUSED_PAD "
     "src0_sel:WORD_1 src1_sel:DWORD",
     {0x40003c00, 0x3c00},
     {0x42000000}},
    {"v_add_u32_sdwa v64, sext(v0), v1 dst_sel:DWORD dst_unused:UNUSED_PAD "
     "src0_sel:BYTE_1 src1_sel:WORD_1",
     {0xff00, 0x00030000},
     {2}},
    {"v_pk_add_f16 v64, v0, v1", {0x40003c00, 0x3c003c00}, {0x42004000}},
    {"v_pk_add_f16 v64, v0, v1 op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[0,1]",
     {0x40003c00, 0x3c003c00},
     {0x40003c00}},
    {"v_pk_fma_f16 v64, v0, v1, v2",
     {0x40003c00, 0x40004000, 0x3c003c00},
     {0x45004200}},
    {"v_pk_mul_lo_u16 v64, v0, v1", {0x00030004, 0x00050006}, {0x000f0018}},
    {"v_pk_max_i16 v64, v0, v1", {0xffff0001, 0x00000002}, {0x00000002}},
    {"v_pk_lshlrev_b16 v64, v0, v1", {0x00040001, 0x00010001}, {0x00100002}},
    {"v_pk_fma_f32 v[64:65], v[0:1], v[2:3], v[4:5]",
     {f(2), f(3), f(4), f(5), f(1), f(1)},
     {f(9), f(16)}},
    {"v_pk_mul_f32 v[64:65], v[0:1], v[2:3] op_sel:[1,0] op_sel_hi:[0,1]",
     {f(2), f(3), f(4), f(5)},
     {f(12), f(10)}},
    {"v_pk_mov_b32 v[64:65], v[0:1], v[2:3] op_sel:[1,0]",
     {1, 2, 3, 4},
     {2, 3}},
    {"v_fma_mix_f32 v64, v0, v1, v2 op_sel:[1,0,0] op_sel_hi:[1,0,0]",
     {0x40003c00, f(3), f(1)},
     {f(7)}},
    {"v_mov_b32 v64, 0\n v_fma_mixlo_f16 v64, v0, v1, v2",
     {f(2), f(3), f(1)},
     {0x4700}},
    {"v_dot2_f32_f16 v64, v0, v1, v2", {0x40003c00, 0x42004000, f(1)}, {f(9)}},
    // neg_lo is of the low product and the addend, neg_hi of the high product.
    {"v_dot2_f32_f16 v64, v0, v1, v2 neg_lo:[1,0,0]",
     {0x40003c00, 0x56404900, f(1)},
     {f(191)}},
    {"v_dot2_f32_f16 v64, v0, v1, v2 neg_lo:[0,0,1] neg_hi:[0,1,0]",
     {0x40003c00, 0x56404900, f(1)},
     {f(-191)}},
    // A denormal f32 addend is zero whatever MODE says.
    {"v_dot2_f32_f16 v64, v0, v1, v2", {0, 0, 0x7fffff}, {0}},
    {"v_mov_b32 v64, 0\n v_mad_u16 v64, v0, v1, v2", {3, 5, 7}, {22}},
    // Conversions.
    {"v_cvt_i32_f32 v64, v0", {f(-3.9f)}, {0xfffffffd}},
    {"v_cvt_u32_f32 v64, v0", {f(-3)}, {0}},
    {"v_cvt_i32_f32 v64, v0", {f(1e10f)}, {0x7fffffff}},
    {"v_cvt_i32_f32 v64, v0", {kNan}, {0}},
    {"v_cvt_f32_u32 v64, v0", {0xffffffff}, {f(4294967296.0f)}},
    {"v_cvt_f16_f32 v64, v0", {f(65520)}, {0x7c00}},
    {"v_cvt_f32_f16 v64, v0", {0x0001}, {0x33800000}},
    {"v_cvt_pkrtz_f16_f32 v64, v0, v1", {f(65520), f(-1)}, {0xbc007bff}},
    {"v_cvt_f32_ubyte2 v64, v0", {0x00120000}, {f(18)}},
    {"v_cvt_pk_u8_f32 v64, v0, 1, v1", {f(300), 0x11223344}, {0x1122ff44}},
    // As MODE rounds: to nearest even, then towards zero. NaN is 0.
    {"v_cvt_pk_u8_f32 v64, v0, 0, 0\n v_cvt_pk_u8_f32 v64, v1, 1, v64\n"
     "v_cvt_pk_u8_f32 v64, v2, 2, v64\n v_cvt_pk_u8_f32 v64, v3, 3, v64",
     {f(2.5f), f(3.5f), f(254.7f), f(-0.5f)},
     {0x00ff0402}},
    {"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3\n"
     "v_cvt_pk_u8_f32 v64, v0, 0, 0\n v_cvt_pk_u8_f32 v64, v1, 1, v64",
     {f(2.75f), f(255.5f)},
     {0xff02}},
    {"v_cvt_pk_u8_f32 v64, v0, 0, -1", {f(NAN)}, {0xffffff00}},
    // xf32 is f32 without its low 13 bits, cut and not rounded (MMA-Sim, after
    // measurements on MI300X; hipBLASLt rounds before the instruction).
    {"v_mfma_f32_16x16x8_xf32 v[64:67], v[0:1], v[2:3], 0",
     {0x3f801fff, 0, f(1), f(1)},
     {f(4)},
     "gfx942"},
    {"v_cvt_off_f32_i4 v64, v0", {8}, {f(-0.5f)}},
    {"v_mov_b32 v64, 0\n v_cvt_pk_fp8_f32 v64, v0, v1",
     {f(1), f(-240)},
     {0xff40},
     only942},
    {"v_mov_b32 v64, 0\n v_cvt_pk_fp8_f32 v64, v0, v1 op_sel:[0,0,1]",
     {f(1), f(-448)},
     {0xfe380000},
     only950},
    {"v_mov_b32 v64, 0\n v_cvt_pk_fp8_f32 v64, v0, v1",
     {f(1000), kNan},
     {0x8080},
     only942},
    {"v_cvt_f32_fp8 v64, v0", {0x38}, {f(1)}, only950},
    {"v_cvt_f32_fp8 v64, v0", {0x40}, {f(1)}, only942},
    {"v_cvt_f32_bf8_sdwa v64, v0 src0_sel:BYTE_1", {0x3c00}, {f(1)}, only950},
    {"v_cvt_pk_f32_fp8 v[64:65], v0", {0x4038}, {f(1), f(2)}, only950},
    {"v_cvt_pk_bf16_f32 v64, v0, v1",
     {0x3f808000, 0x3f818000},
     {0x3f823f80},
     only950},
    {"v_mov_b32 v64, 0\n v_cvt_scalef32_pk_fp4_f32 v64, v0, v1, v2 "
     "op_sel:[0,0,1,0]",
     {f(2), f(-6), f(2)},
     {0x0000d200},
     only950},
    {"v_cvt_scalef32_pk_f32_fp4 v[64:65], v0, v1 op_sel:[1,0,0]",
     {0x7200, f(2)},
     {f(2), f(12)},
     only950},
    {"v_mov_b32 v64, 0\n v_cvt_scalef32_pk_fp8_f32 v64, v0, v1, v2 "
     "op_sel:[0,0,0,1]",
     {f(2), f(4), f(2)},
     {0x40380000},
     only950},
    // Scalar, through v_mov.
    {"s_add_u32 s40, s16, s17\n s_addc_u32 s41, s18, 0\n v_mov_b32 v64, s40\n "
     "v_mov_b32 v65, s41",
     {},
     {0, 4}},
    {"s_mul_hi_i32 s40, s19, 5\n v_mov_b32 v64, s40", {}, {0xffffffff}},
    {"s_bfe_i32 s40, s19, 0x40004\n v_mov_b32 v64, s40", {}, {0xffffffff}},
    {"s_brev_b32 s40, 1\n s_ff1_i32_b32 s41, s40\n v_mov_b32 v64, s40\n "
     "v_mov_b32 v65, s41",
     {},
     {0x80000000, 31}},
    {"s_cmp_lt_i32 s19, 0\n s_cselect_b32 s40, 7, 9\n v_mov_b32 v64, s40",
     {},
     {7}},
    // CDNA4: SCC = S0 >= S1 of the maximum, S0 < S1 of the minimum.
    {"s_max_i32 s40, s18, s18\n s_cselect_b32 s41, 1, 0\n v_mov_b32 v64, s41",
     {},
     {1}},
    {"s_max_u32 s40, s18, s18\n s_cselect_b32 s41, 1, 0\n v_mov_b32 v64, s41",
     {},
     {1}},
    {"s_min_i32 s40, s18, s18\n s_cselect_b32 s41, 1, 0\n v_mov_b32 v64, s41",
     {},
     {0}},
    {"s_lshl1_add_u32 s40, s18, 5\n v_mov_b32 v64, s40", {}, {11}},
    {"s_flbit_i32 s40, s19\n v_mov_b32 v64, s40", {}, {28}},
    {"s_bcnt1_i32_b64 s40, s[16:17]\n v_mov_b32 v64, s40", {}, {33}},
    {"s_movk_i32 s40, 0xfff0\n s_addk_i32 s40, 0x20\n v_mov_b32 v64, s40",
     {},
     {16}},
    {"s_getpc_b64 s[40:41]\n s_add_u32 s40, s40, 12\n s_addc_u32 s41, s41, 0\n "
     "s_setpc_b64 s[40:41]\n s_nop 0\n v_mov_b32 v64, 5",
     {},
     {5}},
    {"s_pack_ll_b32_b16 s40, s18, s17\n v_mov_b32 v64, s40", {}, {0x00010003}},
    // Dynamic register index.
    {"s_set_gpr_idx_on s18, gpr_idx(SRC0)\n v_mov_b32 v64, v0\n "
     "s_set_gpr_idx_off",
     {10, 11, 12, 13},
     {13}},
    // MODE: rounding towards zero, then flushed denormals.
    {"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3\n v_add_f32 v64, v0, v1",
     {f(1), 0x33ffffff},
     {f(1)}},
    {"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0\n v_mul_f32 v64, v0, v1",
     {0x00400000, f(1)},
     {0}},
};

TEST_P(InstTest, ValuesFromTheIsa) {
  checkRows({std::begin(kRows), std::end(kRows)}, GetParam());
}

// --- across lanes: lane l starts with 1000 + l in v0 ---

struct LaneRow {
  const char *text;
  int (*want)(int lane); ///< -1: the old value 5
  const char *chip = both;
  const char *before = "v_mov_b32 v64, 5\n";
};

int quad(int l) { return (l & ~3) + ((l & 3) ^ 1); }

const LaneRow kLaneRows[] = {
    {"v_mov_b32_dpp v64, v0 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf",
     quad},
    {"v_mov_b32_dpp v64, v0 row_shl:3 row_mask:0xf bank_mask:0xf",
     [](int l) { return l % 16 < 13 ? l + 3 : -1; }},
    {"v_mov_b32_dpp v64, v0 row_shr:3 row_mask:0xf bank_mask:0xf bound_ctrl:0",
     [](int l) { return l % 16 >= 3 ? l - 3 : -1000; }},
    {"v_mov_b32_dpp v64, v0 row_ror:4 row_mask:0xf bank_mask:0xf",
     [](int l) { return (l & ~15) + ((l - 4) & 15); }},
    {"v_mov_b32_dpp v64, v0 row_mirror row_mask:0xf bank_mask:0xf",
     [](int l) { return l ^ 15; }},
    {"v_mov_b32_dpp v64, v0 row_half_mirror row_mask:0xf bank_mask:0xf",
     [](int l) { return l ^ 7; }},
    {"v_mov_b32_dpp v64, v0 wave_shr:1 row_mask:0xf bank_mask:0xf",
     [](int l) { return l ? l - 1 : -1; }},
    {"v_mov_b32_dpp v64, v0 row_bcast:15 row_mask:0xa bank_mask:0xf",
     [](int l) { return l / 16 % 2 ? l / 16 * 16 - 1 : -1; }},
    {"v_mov_b32_dpp v64, v0 row_bcast:31 row_mask:0xc bank_mask:0xf",
     [](int l) { return l >= 32 ? 31 : -1; }},
    {"v_mov_b32_dpp v64, v0 row_newbcast:5 row_mask:0xf bank_mask:0x5",
     [](int l) { return l / 4 % 2 ? -1 : (l & ~15) + 5; }},
    {"ds_swizzle_b32 v64, v0 offset:swizzle(SWAP,8)\n s_waitcnt lgkmcnt(0)",
     [](int l) { return l ^ 8; }},
    {"ds_swizzle_b32 v64, v0 offset:swizzle(BROADCAST,8,3)\n s_waitcnt "
     "lgkmcnt(0)",
     [](int l) { return (l & ~7) + 3; }},
    {"ds_swizzle_b32 v64, v0 offset:swizzle(REVERSE,16)\n s_waitcnt lgkmcnt(0)",
     [](int l) { return l ^ 15; }},
    {"ds_swizzle_b32 v64, v0 offset:swizzle(QUAD_PERM,3,2,1,0)\n s_waitcnt "
     "lgkmcnt(0)",
     [](int l) { return l ^ 3; }},
    {"v_lshlrev_b32 v1, 2, v125\n v_xor_b32 v1, 0x80, v1\n ds_bpermute_b32 "
     "v64, v1, v0\n s_waitcnt lgkmcnt(0)",
     [](int l) { return l ^ 32; }},
    {"v_lshlrev_b32 v1, 2, v125\n v_xor_b32 v1, 4, v1\n ds_permute_b32 v64, "
     "v1, v0\n s_waitcnt lgkmcnt(0)",
     [](int l) { return l ^ 1; }},
    {"v_readlane_b32 s40, v0, 9\n v_mov_b32 v64, s40", [](int) { return 9; }},
    {"s_mov_b64 exec, 0xf0\n v_readfirstlane_b32 s40, v0\n s_mov_b64 exec, "
     "-1\n v_mov_b32 v64, s40",
     [](int) { return 4; }},
    {"s_movk_i32 s40, 1007\n v_writelane_b32 v64, s40, 3",
     [](int l) { return l == 3 ? 7 : -1; }},
    {"v_mbcnt_lo_u32_b32 v1, -1, 0\n v_mbcnt_hi_u32_b32 v1, -1, v1\n v_add_u32 "
     "v64, 0x3e8, v1",
     [](int l) { return l; }},
    {"s_mov_b64 exec, 0xff\n v_mov_b32 v64, v0\n s_mov_b64 exec, -1",
     [](int l) { return l < 8 ? l : -1; }},
    {"v_mov_b32 v64, v0\n v_mov_b32 v1, v0\n v_permlane32_swap_b32 v64, v1",
     [](int l) { return l % 32; }, only950},
    {"v_mov_b32 v64, v0\n v_mov_b32 v1, v0\n v_permlane16_swap_b32 v1, v64",
     [](int l) { return l / 16 % 2 ? l : l + 16; }, only950},
    {"v_cmp_gt_u32 vcc, v125, 40\n s_nop 4\n v_cndmask_b32 v64, v64, v0, vcc",
     [](int l) { return l < 40 ? -1 : l; }},
};

TEST_P(InstTest, CrossLane) {
  std::vector<AsmCase> cases;
  std::vector<const LaneRow *> rows;
  for (const LaneRow &row : kLaneRows) {
    if (*row.chip && std::string(row.chip) != GetParam())
      continue;
    AsmCase c;
    c.name = "row" + std::to_string(cases.size());
    std::string text = row.text;
    // v_cmp takes the constant first in its short form.
    size_t p = text.find("v_cmp_gt_u32 vcc, v125, 40");
    if (p == 0)
      text = "v_cmp_lt_u32 vcc, 39, v125" + text.substr(26);
    c.body = spaced(std::string(row.before) + text);
    c.in = 1;
    c.out = 1;
    cases.push_back(c);
    rows.push_back(&row);
  }
  TestDevice device(GetParam());
  ASSERT_TRUE(device.load(assemble(asmModule(cases), GetParam())))
      << device.loadError;
  std::vector<uint32_t> in(64);
  for (unsigned l = 0; l < 64; ++l)
    in[l] = 1000 + l;
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(rows[i]->text);
    auto out = runAsm(device, cases[i], in);
    for (int l = 0; l < 64; ++l) {
      int want = rows[i]->want(l);
      uint32_t word = want == -1 ? 5 : uint32_t(want + 1000);
      EXPECT_EQ(out[size_t(l)], word) << "lane " << l;
    }
  }
}

// --- LDS and memory: the value read back is what was written ---

TEST_P(InstTest, LdsWidths) {
  std::vector<AsmCase> cases = {
      {"b128",
       "v_lshlrev_b32 v10, 4, v125\n ds_write_b128 v10, v[0:3] offset:16\n"
       "s_waitcnt lgkmcnt(0)\n ds_read_b128 v[64:67], v10 offset:16\n"
       "s_waitcnt lgkmcnt(0)",
       4, 4, 2048},
      {"b96",
       "v_mul_u32_u24 v10, 12, v125\n ds_write_b96 v10, v[0:2]\n"
       "s_waitcnt lgkmcnt(0)\n ds_read_b96 v[64:66], v10\n"
       "s_waitcnt lgkmcnt(0)",
       3, 3, 2048},
      {"read2",
       "v_lshlrev_b32 v10, 3, v125\n ds_write2_b32 v10, v0, v1 offset1:1\n"
       "s_waitcnt lgkmcnt(0)\n ds_read2_b32 v[64:65], v10 offset1:1\n"
       "s_waitcnt lgkmcnt(0)",
       2, 2, 2048},
      {"st64",
       "v_lshlrev_b32 v10, 3, v125\n"
       "ds_write2st64_b64 v10, v[0:1], v[2:3] offset0:0 offset1:1\n"
       "s_waitcnt lgkmcnt(0)\n"
       "ds_read2st64_b64 v[64:67], v10 offset0:0 offset1:1\n"
       "s_waitcnt lgkmcnt(0)",
       4, 4, 2048},
      {"bytes",
       "v_mov_b32 v10, v125\n ds_write_b8 v10, v0\n s_waitcnt lgkmcnt(0)\n"
       "ds_read_u8 v64, v10\n ds_read_i8 v65, v10\n s_waitcnt lgkmcnt(0)",
       1, 2, 64},
      {"d16",
       "v_lshlrev_b32 v10, 1, v125\n ds_write_b16_d16_hi v10, v0\n"
       "s_waitcnt lgkmcnt(0)\n v_mov_b32 v64, 7\n"
       "ds_read_u16_d16_hi v64, v10\n s_waitcnt lgkmcnt(0)",
       1, 1, 128}};
  TestDevice device(GetParam());
  ASSERT_TRUE(device.load(assemble(asmModule(cases), GetParam())))
      << device.loadError;
  for (const AsmCase &c : cases) {
    SCOPED_TRACE(c.name);
    std::vector<uint32_t> in(c.in * 64);
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = uint32_t(i * 2654435761u);
    auto out = runAsm(device, c, in);
    for (unsigned r = 0; r < c.out; ++r)
      for (unsigned l = 0; l < 64; ++l) {
        uint32_t want = r < c.in ? in[r * 64 + l] : 0;
        if (c.name == "bytes")
          want = r ? uint32_t(int32_t(int8_t(in[l]))) : in[l] & 0xff;
        if (c.name == "d16")
          want = (in[l] & 0xffff0000) | 7;
        EXPECT_EQ(out[r * 64 + l], want) << r << " " << l;
      }
  }
}

// "This causes only one read/write and uses only the first DATA0 field" (CDNA3
// and CDNA4 ISA, 11.3.1); the second result is whatever it is.
TEST_P(InstTest, EqualOffsetsMakeOneAccess) {
  for (const char *stride : {"", "st64"})
    for (unsigned words : {1u, 2u}) {
      SCOPED_TRACE(stride + std::to_string(words));
      std::string op = std::string(stride) + "_b" + std::to_string(32 * words);
      const char *first = words == 1 ? "v0" : "v[0:1]";
      const char *second = words == 1 ? "v2" : "v[2:3]";
      std::string to = words == 1 ? "v[64:65]" : "v[64:67]";
      AsmCase c = {"pair",
                   "v_lshlrev_b32 v10, 3, v125\n ds_write2" + op + " v10, " +
                       first + ", " + second +
                       " offset0:1 offset1:1\n s_waitcnt lgkmcnt(0)\n"
                       "ds_read2" +
                       op + " " + to +
                       ", v10 offset0:1 offset1:1\n s_waitcnt lgkmcnt(0)",
                   4, words, 4096};
      AsmCase both = c;
      both.name = "both";
      both.out = 2 * words;
      TestDevice device(GetParam());
      ASSERT_TRUE(device.load(assemble(asmModule({c, both}), GetParam())))
          << device.loadError;
      std::vector<uint32_t> in(256);
      for (size_t i = 0; i < in.size(); ++i)
        in[i] = uint32_t(i * 2654435761u);
      auto out = runAsm(device, c, in);
      EXPECT_EQ(out,
                std::vector<uint32_t>(in.begin(), in.begin() + 64 * words));
      device.options.counters = true;
      uint64_t from = device.upload(in), scalars = device.upload(in);
      uint64_t results = device.alloc(both.out * 256);
      LaunchResult result = device.run("both", 1, 64, from, results, scalars);
      EXPECT_EQ(findingNames(result), "undefined-read") << describe(result);
      EXPECT_EQ(result.counters.ldsBytes, 2u * 64 * 4 * words);
    }
}

TEST_P(InstTest, TransposedLdsReads) {
  if (std::string(GetParam()) != "gfx950")
    return;
  // The LDS image holds byte i = hash(i); a lane reads chunk `lane`.
  std::string fill = "v_lshlrev_b32 v10, 3, v125\n"
                     "ds_write_b64 v10, v[0:1]\n s_waitcnt lgkmcnt(0)\n";
  std::vector<AsmCase> cases = {
      {"tr16", fill + "ds_read_b64_tr_b16 v[64:65], v10\n s_waitcnt lgkmcnt(0)",
       2, 2, 512},
      {"tr8", fill + "ds_read_b64_tr_b8 v[64:65], v10\n s_waitcnt lgkmcnt(0)",
       2, 2, 512},
      {"tr4", fill + "ds_read_b64_tr_b4 v[64:65], v10\n s_waitcnt lgkmcnt(0)",
       2, 2, 512},
      {"tr6",
       "v_mul_u32_u24 v10, v125, 12\n ds_write_b96 v10, v[0:2]\n"
       "s_waitcnt lgkmcnt(0)\n ds_read_b96_tr_b6 v[64:66], v10\n"
       "s_waitcnt lgkmcnt(0)",
       3, 3, 768}};
  TestDevice device(GetParam());
  ASSERT_TRUE(device.load(assemble(asmModule(cases), GetParam())))
      << device.loadError;
  std::vector<uint32_t> in(192);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = uint32_t(i + 1) * 2654435761u;
  for (const AsmCase &c : cases) {
    unsigned bits = unsigned(std::stoi(c.name.substr(2)));
    unsigned n = c.in * 32 / bits; // 16 for six bits in three words
    auto out = runAsm(device, c, in);
    auto element = [&](const std::vector<uint32_t> &v, unsigned lane,
                       unsigned e) {
      unsigned bit = e * bits, next = (bit + bits - 1) / 32;
      uint64_t two =
          uint64_t(v[next * 64 + lane]) << 32 | v[bit / 32 * 64 + lane];
      return two >> (bit % 32) & ((1ull << bits) - 1);
    };
    // 16 lanes form an n x 16 tile stored by rows of 16 elements.
    for (unsigned l = 0; l < 64; ++l)
      for (unsigned e = 0; e < n; ++e) {
        unsigned group = l & ~15u, column = l % 16;
        unsigned from = group + (e * 16 + column) / n;
        EXPECT_EQ(element(out, l, e), element(in, from, column % n))
            << c.name << " lane " << l << " element " << e;
      }
  }
}

TEST_P(InstTest, UnknownInstructionIsRefusedWithItsText) {
  AsmCase c = {"unknown", "ds_gws_init v0 gds", 1, 1};
  TestDevice device(GetParam());
  EXPECT_FALSE(device.load(assemble(asmModule({c}), GetParam())));
  EXPECT_NE(device.loadError.find("ds_gws_init"), std::string::npos)
      << device.loadError;
}

TEST_P(InstTest, NegatedIntegersAreRefused) {
  for (const char *text : {"v_pk_mad_i16 v64, v0, v1, v2 neg_lo:[1,0,0]",
                           "v_pk_add_u16 v64, v0, v1 neg_hi:[0,1]",
                           "v_dot2_i32_i16 v64, v0, v1, v2 neg_lo:[1,0,0]",
                           "v_dot4_i32_i8 v64, v0, v1, v2 neg_hi:[1,0,0]"}) {
    SCOPED_TRACE(text);
    AsmCase c = {"negated", text, 3, 1};
    TestDevice device(GetParam());
    EXPECT_FALSE(device.load(assemble(asmModule({c}), GetParam())));
    EXPECT_NE(device.loadError.find("cannot be negated"), std::string::npos)
        << device.loadError;
  }
}

TEST_P(InstTest, KernelsWithoutASizeAreFollowed) {
  AsmCase c = {"plain",
               "s_cmp_eq_u32 s17, 0\n s_cbranch_scc1 late\n v_mov_b32 v64, 7\n"
               "s_branch back\nlate:\n v_mov_b32 v64, 8\nback:",
               0, 1};
  std::string text = asmModule({c});
  size_t size = text.find(".size");
  text.erase(size, text.find('\n', size) - size);
  TestDevice device(GetParam());
  ASSERT_TRUE(device.load(assemble(text, GetParam()))) << device.loadError;
  EXPECT_EQ(runAsm(device, c, {}, {0, 1})[0], 7u);
}

TEST_P(InstTest, OtherChipIsRefused) {
  AsmCase c = {"one", "s_nop 0", 1, 1};
  std::string other = std::string(GetParam()) == "gfx942" ? "gfx950" : "gfx942";
  TestDevice device(GetParam());
  EXPECT_FALSE(device.load(assemble(asmModule({c}), other)));
  EXPECT_NE(device.loadError.find(other), std::string::npos)
      << device.loadError;
}

TEST_P(InstTest, TruncatedObjectsAreRefused) {
  AsmCase c = {"one", "s_nop 0", 1, 1};
  std::string object = assemble(asmModule({c}), GetParam());
  for (size_t n = 0; n < object.size(); n += 41) {
    TestDevice device(GetParam());
    EXPECT_FALSE(device.load(object.substr(0, n))) << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, InstTest, testing::ValuesIn(kChips));

} // namespace
