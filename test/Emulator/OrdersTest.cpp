//===- OrdersTest.cpp - Checks in rare orders and instructions ------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kernel of orders.hip runs twice on each chip, as those of bad.hip do in
// ChecksTest: its bug is reported, and its twin is silent.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

using namespace hk::emu;
using namespace hk::emu::test;

namespace {

struct Case {
  const char *kernel;
  const char *check;
  const char *text; ///< must be part of the detail
  uint32_t grid = 1, block = 256;
  bool workspace = false; ///< takes an uninitialised workspace
};

const Case kCases[] = {
    {"read_then_atomic", "lds-race", "WAR race: wave 0 read"},
    {"own_atomic_then_read", "lds-race", "race: wave 0"},
    {"read_then_own_atomic", "lds-race", "WAR race: wave 0 read"},
    {"atomic_then_write", "lds-race", "updated (by an atomic)"},
    {"wide_atomic_then_byte", "lds-race", "updated (by an atomic)"},
    {"byte_then_wide_read", "lds-race", "RAW race: wave 0"},
    {"append_then_read", "lds-race", "updated (by an atomic)"},
    {"atomic_unwaited", "lds-race", "updated (by an atomic)"},
    {"read_unwaited", "lds-race", "WAR race: wave 0 read"},
    {"second_write_unwaited", "lds-race", "RAW"},
    {"direct_load_unwaited", "lds-race", "RAW"},
    {"direct_load_half_waited", "lds-race", "RAW"},
    {"direct_load_over_readers", "lds-race", "WAR"},
    {"flat_past_lds", "lds-bounds", "the workgroup has 1024"},
    {"flat_load_half_waited", "missing-wait", "reads v"},
    {"private_undefined", "undefined-read", "stored to global"},
    {"private_past_end", "global-bounds", "private memory"},
    {"scalar_loads_out_of_order", "missing-wait", "reads s"},
    {"address_not_waited_for", "missing-wait", "reads v"},
    {"second_load_unwaited", "missing-wait", "reads v"},
    {"atomic_result_unwaited", "missing-wait", "reads v"},
    {"matrix_operand_unwaited", "missing-wait", "reads v", 1, 64},
    {"overwrites_load", "missing-wait", "overwrites v"},
    {"lds_load_behind", "missing-wait", "reads v"},
    {"lds_load_behind_scalar", "missing-wait", "reads v"},
    {"global_load_behind", "missing-wait", "reads v"},
    {"dpp_undefined", "undefined-read", "stored to global", 1, 64, true},
    {"dpp_old_undefined", "undefined-read", "stored to global", 1, 64, true},
    {"permuted_undefined", "undefined-read", "stored to global", 1, 64, true},
    {"lane_read_undefined", "undefined-read", "", 1, 64, true},
    {"matrix_undefined", "undefined-read", "stored to global", 1, 64, true},
    {"group_reads_then_atomic", "global-race", "read plainly", 2, 64},
    {"wave_reads_then_atomic", "global-race", "WAR race: wave 0 read"},
    {"wave_counts_then_reads", "global-race", "WAR race: wave 0 read"},
    {"wave_reads_then_counts", "global-race", "WAR race: wave 0 read"},
    {"wave_counts_then_swaps", "global-race", "race: wave 0"},
    {"scalar_read_of_group", "global-race", "also accessed", 2, 64},
    {"scalar_read_of_wave", "global-race", "race: wave 0"},
    {"buffer_race", "global-race", "race: wave"},
    {"buffer_past_allocation", "global-bounds", "read of 4 bytes"},
};

class OrdersTest : public testing::TestWithParam<const char *> {};

LaunchResult runCase(TestDevice &device, const Case &c) {
  constexpr uint32_t n = 1024;
  std::vector<float> data(n, 1.0f);
  uint64_t out = device.upload(data), in = device.upload(data);
  device.options.threads = 1; // the workgroups run in order
  if (c.workspace)
    return device.run(c.kernel, c.grid, c.block, out, in, device.alloc(4 * n),
                      int(n));
  return device.run(c.kernel, c.grid, c.block, out, in, int(n));
}

void expectReport(const Case &c, const LaunchResult &result) {
  bool found = false;
  for (const Finding &f : result.findings)
    found |= std::string(checkName(f.check)) == c.check &&
             f.detail.find(c.text) != std::string::npos;
  EXPECT_TRUE(found) << "expected " << c.check << " with '" << c.text << "'\n"
                     << describe(result);
}

TEST_P(OrdersTest, BugIsReportedAndFixIsSilent) {
  for (bool bad : {false, true}) {
    std::string object =
        compileHipFile("orders.hip", GetParam(), bad ? "-DBAD=1" : "-DBAD=0");
    for (const Case &c : kCases) {
      SCOPED_TRACE(std::string(c.kernel) + (bad ? " with its bug" : ", fixed"));
      TestDevice device(GetParam());
      ASSERT_TRUE(device.load(object)) << device.loadError;
      LaunchResult result = runCase(device, c);
      EXPECT_EQ(result.error, "");
      if (bad)
        expectReport(c, result);
      else
        EXPECT_EQ(findingNames(result), "") << describe(result);
    }
  }
}

/// Only gfx950 has transposing reads.
TEST(TransposedOrdersTest, ReadRaces) {
  for (bool bad : {false, true}) {
    TestDevice device("gfx950");
    ASSERT_TRUE(device.load(
        compileHipFile("orders.hip", "gfx950", bad ? "-DBAD=1" : "-DBAD=0")))
        << device.loadError;
    Case c = {"transposed_read", "lds-race", "RAW"};
    LaunchResult result = runCase(device, c);
    if (bad)
      expectReport(c, result);
    else
      EXPECT_EQ(findingNames(result), "") << describe(result);
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, OrdersTest, testing::ValuesIn(kChips));

} // namespace
