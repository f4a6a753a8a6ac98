//===- ChecksTest.cpp - Every check reports its planted bug ---------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kernel of bad.hip runs twice on each chip: with its bug its
// check reports; without, nothing does.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

using namespace hk::emu;
using namespace hk::emu::test;

namespace {

struct Case {
  const char *kernel;
  const char *check; ///< what the bug must report
  uint32_t grid, block;
  bool workspace;   ///< takes an uninitialised workspace
  const char *text; ///< must be part of the detail
};

const Case kCases[] = {
    {"lds_bounds", "lds-bounds", 1, 256, false, "the workgroup has 1024"},
    {"global_read_bounds", "global-bounds", 2, 64, false, "read of 4 bytes"},
    {"global_write_bounds", "global-bounds", 2, 64, false, "write of 4 bytes"},
    {"lds_undefined", "undefined-read", 1, 256, false, "from LDS address"},
    {"workspace_undefined", "undefined-read", 1, 64, true, "from global"},
    {"address_undefined", "undefined-read", 1, 64, true, "the address"},
    {"branch_undefined", "undefined-read", 1, 64, true, "EXEC"},
    {"race_raw", "lds-race", 1, 256, false, "RAW"},
    {"race_war", "lds-race", 1, 256, false, "race"},
    {"race_waw", "lds-race", 1, 256, false, "WAW"},
    {"race_same_value", "lds-race", 1, 256, false, "WAW"},
    {"race_same_read", "lds-race", 1, 256, false, "RAW"},
    {"lds_atomic_read", "lds-race", 1, 256, false, "updated (by an atomic)"},
    {"lds_maximum", "lds-race", 1, 256, false, "updated (by an atomic)"},
    {"global_maximum", "global-race", 4, 64, false, "updated by atomics"},
    {"lds_atomic_init", "lds-race", 1, 256, false, "WAW"},
    {"race_bytes", "lds-race", 1, 256, false, "WAW"},
    {"flat_without_wait", "lds-race", 1, 256, false, "RAW"},
    {"barrier_without_wait", "lds-race", 1, 256, false, "RAW"},
    {"missing_vmcnt", "missing-wait", 1, 64, false, "not waited for"},
    {"missing_lgkmcnt", "missing-wait", 1, 256, false, "not waited for"},
    {"missing_scalar_wait", "missing-wait", 1, 64, false, "reads s"},
    {"missing_dma_wait", "missing-wait", 1, 64, false, "direct-to-LDS"},
    {"barrier_divergence", "barrier-divergence", 1, 256, false, "ended"},
    {"misaligned_atomic", "misaligned", 1, 64, false, "multiple of 4"},
    {"read_only_write", "read-only-write", 1, 64, false, "read-only"},
    {"global_race", "global-race", 2, 64, false, "workgroup number"},
    {"global_overlap", "global-race", 2, 64, false, "workgroup number"},
    {"global_race_read", "global-race", 2, 64, false, "workgroup number"},
    {"global_share_word", "global-race", 2, 64, false, "workgroup number"},
    {"global_atomic_read", "global-race", 2, 64, false, "reads memory"},
    {"global_atomic_init", "global-race", 2, 64, false, "updates memory"},
    {"global_swap", "global-race", 4, 64, false, "updated by atomics"},
    {"global_atomic_all", "global-race", 4, 64, false, "reads memory"},
    {"wave_raw", "global-race", 1, 256, false, "RAW race: wave"},
    {"wave_war", "global-race", 1, 256, false, "WAR race: wave"},
    {"wave_waw", "global-race", 1, 256, false, "WAW race: wave"},
    {"wave_atomic", "global-race", 1, 256, false, "updated (by an atomic)"},
    {"wave_same_value", "global-race", 1, 256, false, "WAW race: wave"},
    {"wave_halves", "global-race", 1, 256, false, "RAW race: wave"},
    {"wave_lock", "global-race", 1, 256, false, "race: wave"},
    {"last_block", "global-race", 4, 64, false, "workgroup number"},
    {"own_counter", "global-race", 4, 64, false, "workgroup number"},
    {"hand_over", "global-race", 2, 64, false, "workgroup number"},
    {"never_ends", "timeout", 1, 64, false, "without ending"},
};

class ChecksTest : public testing::TestWithParam<const char *> {};

LaunchResult runCase(TestDevice &device, const Case &c) {
  constexpr uint32_t n = 1024;
  std::vector<float> data(n);
  for (uint32_t i = 0; i < n; ++i)
    data[i] = float(i) + 1;
  std::string name = c.kernel;
  // The bounds kernels get buffers that end inside the last workgroup.
  bool exact =
      name.find("global_") == 0 && name.find("_bounds") != std::string::npos;
  uint32_t size = exact ? 100 : n;
  data.resize(size);
  uint64_t out = device.upload(data), in = device.upload(data);
  if (name == "last_block" || name == "own_counter") {
    uint64_t count = device.upload(std::vector<int>(4, 0));
    return device.run(c.kernel, c.grid, c.block, out, in, count,
                      device.alloc(4 * n), int(size));
  }
  if (c.workspace)
    return device.run(c.kernel, c.grid, c.block, out, in, device.alloc(4 * n),
                      int(size));
  return device.run(c.kernel, c.grid, c.block, out, in, int(size));
}

TEST_P(ChecksTest, BugIsReportedAndFixIsSilent) {
  for (int bad = 0; bad < 2; ++bad) {
    std::string object =
        compileHipFile("bad.hip", GetParam(), "-DBAD=" + std::to_string(bad));
    for (const Case &c : kCases) {
      SCOPED_TRACE(std::string(c.kernel) + (bad ? " with its bug" : ", fixed"));
      TestDevice device(GetParam());
      device.options.maxInsts = 20000;
      ASSERT_TRUE(device.load(object)) << device.loadError;
      LaunchResult result = runCase(device, c);
      EXPECT_EQ(result.error, "");
      if (!bad) {
        EXPECT_EQ(findingNames(result), "") << describe(result);
        continue;
      }
      // The bug may have consequences that other checks report too.
      bool found = false;
      for (const Finding &f : result.findings)
        if (std::string(checkName(f.check)) == c.check &&
            f.detail.find(c.text) != std::string::npos) {
          found = true;
          EXPECT_EQ(f.kernel, c.kernel);
          EXPECT_FALSE(f.instruction.empty());
        }
      EXPECT_TRUE(found) << "expected " << c.check << " with '" << c.text
                         << "'\n"
                         << describe(result);
    }
  }
}

TEST_P(ChecksTest, SuspiciousButCorrectIsSilent) {
  std::string object = compileHipFile("bad.hip", GetParam());
  for (const char *name : {"select_undefined", "mask_undefined"}) {
    SCOPED_TRACE(name);
    TestDevice device(GetParam());
    ASSERT_TRUE(device.load(object)) << device.loadError;
    std::vector<float> data(64, 3.0f);
    uint64_t out = device.upload(data), in = device.upload(data);
    LaunchResult result =
        device.run(name, 1, 64, out, in, device.alloc(256), 64);
    EXPECT_TRUE(result.ok()) << describe(result);
  }
}

TEST_P(ChecksTest, StrictRacesReportEqualValues) {
  std::string object = compileHipFile("bad.hip", GetParam());
  for (const Case &c : kCases) {
    std::string name = c.kernel;
    if (name != "race_same_value" && name != "global_overlap")
      continue;
    TestDevice device(GetParam());
    device.options.strictRaces = true;
    ASSERT_TRUE(device.load(object)) << device.loadError;
    EXPECT_EQ(findingNames(runCase(device, c)), c.check);
  }
}

TEST_P(ChecksTest, SourceLineIsNamed) {
  std::string object =
      compileHipFile("bad.hip", GetParam(), "-DBAD=1 -gline-tables-only");
  TestDevice device(GetParam());
  ASSERT_TRUE(device.load(object)) << device.loadError;
  LaunchResult result = runCase(device, kCases[0]);
  ASSERT_FALSE(result.findings.empty());
  EXPECT_NE(result.findings[0].source.find("bad.hip:"), std::string::npos)
      << result.findings[0].source;
}

/// A barrier orders global accesses without a wait, as waves share a cache;
/// where they may not (threadgroup split) what is outstanding races.
TEST_P(ChecksTest, BarrierNeedsItsWaitOnlyWhenSplit) {
  const char kSource[] = R"(
#include "device.h"
KERNEL void hand_on(float *out, const float *in, int n) {
  asm volatile("global_store_dword %0, %1, %2\n"
#if !BAD
               "s_waitcnt vmcnt(0)\n"
#endif
               "s_barrier" ::"v"(tid() * 4), "v"(tid()), "s"(out) : "memory");
  out[512 + tid()] = out[255 - tid()];
}
)";
  for (int bad = 0; bad < 2; ++bad)
    for (const char *split : {"", " -mtgsplit"}) {
      SCOPED_TRACE(std::string(bad ? "without a wait" : "waits") + split);
      TestDevice device(GetParam());
      ASSERT_TRUE(device.load(compileHip(
          kSource, GetParam(), "-DBAD=" + std::to_string(bad) + split)))
          << device.loadError;
      uint64_t out = device.upload(std::vector<float>(1024));
      LaunchResult result = device.run("hand_on", 1, 256, out, out, 0);
      EXPECT_EQ(findingNames(result), bad && *split ? "global-race" : "")
          << describe(result);
    }
}

INSTANTIATE_TEST_SUITE_P(Chips, ChecksTest, testing::ValuesIn(kChips));

} // namespace
