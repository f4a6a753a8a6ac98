//===- ChipTest.cpp - Chips, LDS banks and matrix clocks ------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The clock model against what was measured and published, and the emulator's
// table of chips against the compiler's.
//
//===----------------------------------------------------------------------===//

#include "AsmCase.h"
#include "LdsBanks.h"
#include "hk/Contract/Target.h"

using namespace hk::emu;
using namespace hk::emu::test;

namespace {

TEST(ChipTest, TargetsMeanTheProductTheCompilerPlansFor) {
  for (const char *name : kChips) {
    const hk::Target *target = hk::findTarget(name);
    const Chip *chip = findChip(name);
    ASSERT_TRUE(target && chip);
    EXPECT_STREQ(chip->product, target->product);
    EXPECT_STREQ(chip->name, name);
    EXPECT_EQ(chip->ldsBytes, target->ldsBytes);
    EXPECT_EQ(int32_t(chip->computeUnits), target->computeUnits);
    EXPECT_EQ(chip->fp8Ocp, target->fp8 == hk::Fp8Flavour::Ocp);
  }
}

TEST(ChipTest, ProductsAreChips) {
  EXPECT_STREQ(findChip("mi300x")->name, "gfx942");
  EXPECT_EQ(findChip("mi300x")->memoryBytes, 192ull << 30);
  EXPECT_EQ(findChip("mi325x")->memoryBytes, 256ull << 30);
  EXPECT_EQ(findChip("mi355x"), findChip("gfx950"));
  for (const char *none : {"", "tiny", "gfx1100", "MI300X"})
    EXPECT_EQ(findChip(none), nullptr) << none;
}

/// Clocks of an access whose lane l is at address(l).
template <class F>
LdsService serve(const char *chip, bool read, unsigned bytes, F address,
                 uint64_t mask = ~0ull) {
  uint32_t at[64];
  for (unsigned l = 0; l < 64; ++l)
    at[l] = address(l);
  return serveLds(*findChip(chip), read, at, mask, bytes);
}

/// Measured steady rates: 128 bytes a clock and compute unit, but 256 for reads
/// of 8 and 16 bytes on gfx950.
TEST(ChipTest, ConflictFreeLdsRates) {
  struct {
    const char *chip;
    bool read;
    unsigned bytes, clocks;
  } const rows[] = {
      {"gfx942", true, 4, 2},  {"gfx942", true, 8, 4},
      {"gfx942", true, 16, 8}, {"gfx942", false, 4, 2},
      {"gfx942", false, 8, 4}, {"gfx942", false, 16, 8},
      {"gfx950", true, 4, 2},  {"gfx950", true, 8, 2},
      {"gfx950", true, 16, 4}, {"gfx950", false, 4, 2},
      {"gfx950", false, 8, 4}, {"gfx950", false, 16, 8},
  };
  for (const auto &row : rows) {
    LdsService s = serve(row.chip, row.read, row.bytes,
                         [&](unsigned l) { return l * row.bytes; });
    EXPECT_EQ(s.clocks, row.clocks) << row.chip << " " << row.bytes;
    EXPECT_EQ(s.ideal, row.clocks);
  }
  LdsService same = serve("gfx942", true, 4, [](unsigned) { return 64u; });
  EXPECT_EQ(same.clocks, 2u); // one word for all: a clock a phase
  EXPECT_EQ(serve(
                "gfx950", true, 16, [](unsigned l) { return l * 16; }, 0)
                .clocks,
            0u);
}

/// Measured phases of 16-byte reads: lanes of one phase that meet in the same
/// banks conflict, lanes of different phases do not.
TEST(ChipTest, PhasesOfWideReads) {
  struct {
    const char *chip;
    unsigned a, b;
    bool together, write;
  } const rows[] = {
      {"gfx942", 0, 20, true, false},  {"gfx942", 0, 4, false, false},
      {"gfx942", 32, 55, true, false}, {"gfx942", 4, 19, true, false},
      {"gfx942", 8, 31, true, false},  {"gfx942", 12, 27, true, false},
      {"gfx942", 0, 7, false, false},  {"gfx950", 0, 12, true, false},
      {"gfx950", 0, 27, true, false},  {"gfx950", 0, 4, false, false},
      {"gfx950", 4, 31, true, false},  {"gfx950", 32, 59, true, false},
      {"gfx950", 36, 48, true, false}, {"gfx950", 0, 16, false, false},
      {"gfx942", 0, 7, true, true},    {"gfx942", 0, 20, false, true},
      {"gfx950", 0, 7, true, true},    {"gfx950", 0, 12, false, true},
  };
  for (const auto &row : rows) {
    // The two lanes are a multiple of all banks apart.
    LdsService s = serve(
        row.chip, !row.write, 16,
        [&](unsigned l) { return l == row.b ? 1024u : 0u; },
        1ull << row.a | 1ull << row.b);
    EXPECT_EQ(s.clocks, 2u);
    EXPECT_EQ(s.clocks - s.ideal, row.together ? 1u : 0u)
        << row.chip << " lanes " << row.a << " and " << row.b;
  }
}

/// gfx950: reads of 8 bytes have 64 banks, of 4 bytes and writes 32.
TEST(ChipTest, BanksDependOnTheAccess) {
  auto conflicts = [](const char *chip, bool read, unsigned bytes) {
    LdsService s =
        serve(chip, read, bytes, [](unsigned l) { return l ? 128u : 0u; }, 3);
    return s.clocks - s.ideal;
  };
  EXPECT_EQ(conflicts("gfx942", true, 8), 1u);
  EXPECT_EQ(conflicts("gfx950", true, 8), 0u);
  EXPECT_EQ(conflicts("gfx950", true, 16), 0u);
  EXPECT_EQ(conflicts("gfx950", true, 4), 1u);
  EXPECT_EQ(conflicts("gfx950", true, 12), 1u);
  EXPECT_EQ(conflicts("gfx950", false, 8), 1u);
  EXPECT_EQ(conflicts("gfx950", false, 16), 1u);
}

/// Lanes 128 bytes apart on gfx942 meet in the same banks: measured for 64
/// reads of one wave 7614, 7157 and 6810 clocks for 16, 8 and 4 bytes, which is
/// 64 clocks a read of the SIMD pair's half of the path.
TEST(ChipTest, StrideOfAllBanks) {
  for (unsigned bytes : {4u, 8u, 16u}) {
    LdsService s =
        serve("gfx942", true, bytes, [](unsigned l) { return l * 128; });
    EXPECT_EQ(s.clocks, 64u) << bytes;
  }
}

/// Measured: 16x16x128 takes 32 clocks with operands of 8 bits and 16 with
/// fewer, 32x32x64 twice that. Clang 22 waits for as many passes.
TEST(ChipTest, FormatsDecideTheClocksOfF8f6f4) {
  struct {
    const char *text;
    uint16_t clocks;
  } const rows[] = {
      {"v_mfma_f32_16x16x128_f8f6f4 v[64:67], v[0:7], v[8:15], 0", 32},
      {"v_mfma_f32_16x16x128_f8f6f4 v[64:67], v[0:7], v[8:11], 0 blgp:4", 32},
      {"v_mfma_f32_16x16x128_f8f6f4 v[64:67], v[0:5], v[8:15], 0 cbsz:2 blgp:1",
       32},
      {"v_mfma_f32_16x16x128_f8f6f4 v[64:67], v[0:5], v[8:13], 0 cbsz:2 blgp:3",
       16},
      {"v_mfma_f32_16x16x128_f8f6f4 v[64:67], v[0:3], v[8:11], 0 cbsz:4 blgp:4",
       16},
      {"v_mfma_f32_32x32x64_f8f6f4 v[64:79], v[0:7], v[8:15], 0", 64},
      {"v_mfma_f32_32x32x64_f8f6f4 v[64:79], v[0:3], v[8:11], 0 cbsz:4 blgp:4",
       32},
  };
  for (const auto &row : rows) {
    AsmCase c;
    c.name = "mfma";
    c.body = row.text;
    TestDevice device("gfx950");
    ASSERT_TRUE(device.load(assemble(asmModule({c}), "gfx950")))
        << device.loadError;
    bool found = false;
    for (const Inst &inst : device.object->program())
      if (InstClass(inst.cls) == InstClass::Mfma) {
        found = true;
        EXPECT_EQ(inst.clocks, row.clocks) << row.text;
      }
    EXPECT_TRUE(found);
  }
}

/// HK_EMU_STRICT_ALIGN: what the hardware allows, but slowly.
TEST(ChipTest, StrictAlignmentCoversLds) {
  struct {
    const char *text;
    uint32_t address;
    bool natural;
  } const rows[] = {
      {"ds_read_b32 v64, v0", 4, true},
      {"ds_read_b32 v64, v0", 2, false},
      {"ds_read_b64 v[64:65], v0", 8, true},
      {"ds_read_b64 v[64:65], v0", 4, false},
      {"ds_read_b96 v[64:66], v0", 8, false},
      {"ds_read_b128 v[64:67], v0", 16, true},
      {"ds_read_b128 v[64:67], v0", 8, false},
      {"ds_read2_b32 v[64:65], v0 offset1:1", 4, true},
      {"ds_read_u16 v64, v0", 2, true},
      {"ds_read_u16 v64, v0", 1, false},
      {"ds_write_b128 v0, v[4:7]", 16, true},
      {"ds_write_b128 v0, v[4:7]", 4, false},
  };
  for (const auto &row : rows)
    for (bool strict : {false, true}) {
      SCOPED_TRACE(row.text + std::string(strict ? " strict" : ""));
      AsmCase c;
      c.name = "align";
      c.in = 1;
      c.lds = 64;
      c.body = row.text;
      TestDevice device("gfx942");
      device.options.strictAlign = strict;
      ASSERT_TRUE(device.load(assemble(asmModule({c}), "gfx942")))
          << device.loadError;
      uint64_t in = device.upload(std::vector<uint32_t>(64, row.address));
      LaunchResult result = device.run("align", 1, 64, in, in, in);
      EXPECT_EQ(findingNames(result),
                strict && !row.natural ? "misaligned" : "")
          << describe(result);
    }
}

} // namespace
