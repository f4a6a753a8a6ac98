//===- DefinedTest.cpp - Undefined bits through one operation -------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each row computes v2 (or s40) from registers of which some bits are
// undefined. Every bit of `defined` may be stored without a report, and each
// bit of the rest, alone, must be reported. An exact rule passes both.
//
//===----------------------------------------------------------------------===//

#include "AsmCase.h"

using namespace hk::emu;
using namespace hk::emu::test;

namespace {

/// v0 is 0x00ff00ff and defined; v1 has its low half undefined and zeros above;
/// v3 has its high half undefined and zeros below; v4 is v0 with its top byte
/// undefined; v100 is undefined. s36 is like v1, s37 like v3.
const char kSetup[] = "v_and_b32 v1, 0xffff, v100\n"
                      "v_lshlrev_b32 v3, 16, v100\n"
                      "v_lshl_or_b32 v4, v100, 24, v0\n"
                      "v_mov_b32 v5, 0\n"
                      "v_readfirstlane_b32 s36, v1\n"
                      "v_readfirstlane_b32 s37, v3\n"
                      "s_mov_b32 s38, 0\n"
                      "s_mov_b32 s39, 0\n";

struct Row {
  const char *text;
  uint32_t defined; ///< bits of the result
};

const Row kVector[] = {
    // Logic: a known bit decides.
    {"v_and_b32 v2, v0, v1", 0xffffff00},
    {"v_or_b32 v2, v0, v1", 0xffff00ff},
    {"v_or3_b32 v2, v1, v5, v0", 0xffff00ff},
    {"v_and_or_b32 v2, v0, v1, v5", 0xffffff00},
    {"v_and_or_b32 v2, v0, v0, v1", 0xffff00ff},
    {"v_mov_b32 v6, 0xffff0000\n v_bfi_b32 v2, v6, v0, v1", 0xffff0000},
    {"v_mov_b32 v6, 0xffff\n v_bfi_b32 v2, v6, v0, v1", 0xffffffff},
    {"v_bfi_b32 v2, v100, v0, v0", 0xffffffff},
    {"v_bfi_b32 v2, v1, v0, v5", 0xffffff00},
    {"v_bfi_b32 v2, v0, v100, v5", 0xff00ff00},
    {"v_xor_b32 v2, v0, v1", 0xffff0000},
    // Bits that move.
    {"v_alignbit_b32 v2, v0, v1, 16", 0xffffffff},
    {"v_alignbit_b32 v2, v0, v1, 8", 0xffffff00},
    {"v_alignbit_b32 v2, v1, v0, 8", 0x00ffffff},
    {"v_alignbit_b32 v2, v0, v0, v1", 0},
    {"v_alignbit_b32 v2, v0, v0, v3", 0xffffffff},
    {"v_alignbyte_b32 v2, v0, v1, 2", 0xffffffff},
    {"v_alignbyte_b32 v2, v0, v1, 1", 0xffffff00},
    {"v_bfrev_b32 v2, v1", 0x0000ffff},
    {"v_bfe_u32 v2, v1, 16, 8", 0xffffffff},
    {"v_bfe_u32 v2, v1, 12, 8", 0xfffffff0},
    {"v_bfe_i32 v2, v3, 12, 8", 0x0000000f},
    {"v_lshlrev_b32 v2, 16, v1", 0x0000ffff},
    {"v_lshrrev_b32 v2, 8, v1", 0xffffff00},
    {"v_lshrrev_b32 v2, v3, v0", 0xffffffff},
    {"v_lshrrev_b32 v2, v1, v0", 0},
    {"v_ashrrev_i32 v2, 8, v1", 0xffffff00},
    {"v_ashrrev_i32 v2, 8, v3", 0x000000ff},
    {"v_mov_b32 v6, v100\n v_mov_b32 v7, v0\n"
     "v_lshrrev_b64 v[2:3], 32, v[6:7]",
     0xffffffff},
    {"v_mov_b32 v6, v100\n v_mov_b32 v7, v0\n"
     "v_lshrrev_b64 v[2:3], 16, v[6:7]",
     0xffff0000},
    {"v_mov_b32 v6, v0\n v_mov_b32 v7, v100\n"
     "v_lshlrev_b64 v[2:3], 16, v[6:7]",
     0xffffffff},
    {"v_mov_b32 v6, v0\n v_mov_b32 v7, v3\n"
     "v_ashrrev_i64 v[2:3], 24, v[6:7]",
     0x00ffffff},
    {"v_perm_b32 v2, v0, v1, v5", 0},
    // Carries go up.
    {"v_add_u32 v2, v0, v3", 0x0000ffff},
    {"v_add_u32 v2, v0, v3 clamp", 0},
    {"v_sub_u32 v2, v3, v0", 0x0000ffff},
    {"v_add3_u32 v2, v0, v3, v0", 0x0000ffff},
    {"v_lshl_add_u32 v2, v1, 16, v0", 0x0000ffff},
    {"v_lshl_add_u32 v2, v0, 4, v3", 0x0000ffff},
    {"v_lshl_add_u32 v2, v0, v1, v0", 0},
    {"v_add_lshl_u32 v2, v0, v3, 8", 0x00ffffff},
    {"v_mov_b32 v6, v3\n v_mov_b32 v7, v5\n"
     "v_lshl_add_u64 v[2:3], v[6:7], 2, v[6:7]",
     0x0000ffff},
    {"v_mul_lo_u32 v2, v3, v0", 0x0000ffff},
    // Products of 24 bits.
    {"v_mul_u32_u24 v2, v4, v0", 0xffffffff},
    {"v_mul_u32_u24 v2, v3, v0", 0x0000ffff},
    {"v_mul_hi_u32_u24 v2, v4, v0", 0xffffffff},
    {"v_mul_hi_u32_u24 v2, v3, v0", 0},
    {"v_mul_i32_i24 v2, v4, v0", 0xffffffff},
    {"v_mul_hi_i32_i24 v2, v4, v0", 0xffffffff},
    {"v_mad_u32_u24 v2, v4, v4, v0", 0xffffffff},
    {"v_mad_u32_u24 v2, v4, v4, v3", 0x0000ffff},
    {"v_mad_i32_i24 v2, v4, v4, v3", 0x0000ffff},
};

const Row kScalar[] = {
    {"s_bfe_u32 s40, s36, 0x100010", 0xffffffff},
    {"s_bfe_u32 s40, s36, 0x100008", 0xffffff00},
    {"s_bfe_i32 s40, s37, 0x80008", 0xffffffff},
    {"s_bfe_i32 s40, s37, 0x100008", 0x000000ff},
    {"s_bfe_u64 s[40:41], s[36:37], 0x100010", 0xffffffff},
    {"s_bfe_i64 s[40:41], s[38:39], 0x100010", 0xffffffff},
    {"s_pack_ll_b32_b16 s40, s36, s37", 0xffff0000},
    {"s_pack_lh_b32_b16 s40, s37, s36", 0xffffffff},
    {"s_pack_hh_b32_b16 s40, s36, s37", 0x0000ffff},
    {"s_lshl_b32 s40, s36, 16", 0x0000ffff},
    {"s_lshr_b32 s40, s36, 16", 0xffffffff},
    {"s_ashr_i32 s40, s37, 8", 0x000000ff},
    {"s_lshr_b64 s[40:41], s[36:37], 16", 0xffffffff},
    {"s_brev_b32 s40, s36", 0x0000ffff},
};

/// The kernel that stores the bits `mask` of the row's result.
AsmCase maskedCase(const Row &row, bool scalar, size_t index, uint32_t mask) {
  AsmCase c;
  c.name = "case" + std::to_string(index);
  c.in = c.out = 1;
  c.body = kSetup + std::string(row.text) + "\n" +
           (scalar ? "v_mov_b32 v2, s40\n" : "") + "v_and_b32 v64, " +
           std::to_string(mask) + ", v2";
  return c;
}

class DefinedTest : public testing::TestWithParam<const char *> {
protected:
  template <size_t N> void check(const Row (&rows)[N], bool scalar) {
    struct Want {
      const Row *row;
      uint32_t mask;
    };
    std::vector<AsmCase> cases;
    std::vector<Want> wanted;
    auto add = [&](const Row &row, uint32_t mask) {
      if (!mask)
        return;
      cases.push_back(maskedCase(row, scalar, cases.size(), mask));
      wanted.push_back({&row, mask});
    };
    for (const Row &row : rows) {
      add(row, row.defined);
      for (uint32_t rest = ~row.defined; rest; rest &= rest - 1)
        add(row, rest & -rest);
    }
    TestDevice device(GetParam());
    ASSERT_TRUE(device.load(assemble(asmModule(cases), GetParam())))
        << device.loadError;
    uint64_t in = device.upload(std::vector<uint32_t>(64, 0x00ff00ff));
    uint64_t scalars = device.upload(std::vector<uint32_t>(16, 0));
    uint64_t out = device.alloc(256);
    for (size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(wanted[i].row->text);
      LaunchResult result = device.run(cases[i].name, 1, 64, in, out, scalars);
      bool defined = wanted[i].mask & wanted[i].row->defined;
      EXPECT_EQ(findingNames(result), defined ? "" : "undefined-read")
          << "bits " << std::hex << wanted[i].mask << "\n"
          << describe(result);
    }
  }
};

TEST_P(DefinedTest, VectorRulesAreExact) { check(kVector, false); }
TEST_P(DefinedTest, ScalarRulesAreExact) { check(kScalar, true); }

/// SCC of a field extraction is settled by one defined bit that is set.
TEST_P(DefinedTest, ConditionNeedsOneSetBit) {
  const char *const kBodies[2] = {
      // Bits 0-15 of s35 are undefined, bit 16 is set.
      "s_bfe_u32 s40, s35, 0x200000", "s_bfe_u32 s40, s36, 0x200000"};
  for (int bad = 0; bad < 2; ++bad) {
    AsmCase c;
    c.name = "scc";
    c.in = c.out = 1;
    c.body = kSetup + std::string("s_or_b32 s35, s36, 0x10000\n") +
             kBodies[bad] +
             "\n v_mov_b32 v64, 0\n s_cbranch_scc0 1f\n"
             " v_mov_b32 v64, 1\n1:";
    TestDevice device(GetParam());
    ASSERT_TRUE(device.load(assemble(asmModule({c}), GetParam())))
        << device.loadError;
    uint64_t in = device.upload(std::vector<uint32_t>(64, 0));
    uint64_t out = device.alloc(256);
    LaunchResult result = device.run("scc", 1, 64, in, out, in);
    EXPECT_EQ(findingNames(result), bad ? "undefined-read" : "")
        << describe(result);
  }
}

/// What clang 22 makes of inserting into short vectors at -O1.
TEST_P(DefinedTest, InsertedElementsAreDefined) {
  const char kSource[] = R"(
#include "device.h"
typedef short V __attribute__((ext_vector_type(2)));
typedef short W __attribute__((ext_vector_type(4)));
KERNEL void insert(int *out, const int *in, const int *work, int n) {
  V v;
  W w;
  int at = in[tid()];
  v[at & 1] = (short)(at * 3);
  for (int i = 0; i < 4; ++i)
    w[(at + i) & 3] = (short)(at * 5 + i);
  v[~at & 1] = (short)(BAD ? work[tid()] : at >> 16);
  out[tid()] = w[0] + w[1] + w[2] + w[3] + v[0] * v[1];
}
)";
  for (int bad = 0; bad < 2; ++bad) {
    TestDevice device(GetParam());
    ASSERT_TRUE(device.load(
        compileHip(kSource, GetParam(), "-O1 -DBAD=" + std::to_string(bad))))
        << device.loadError;
    uint64_t in = device.upload(std::vector<int>(64, 4));
    LaunchResult result = device.run("insert", 1, 64, device.alloc(256), in,
                                     device.alloc(256), 64);
    EXPECT_EQ(findingNames(result), bad ? "undefined-read" : "")
        << describe(result);
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, DefinedTest, testing::ValuesIn(kChips));

} // namespace
