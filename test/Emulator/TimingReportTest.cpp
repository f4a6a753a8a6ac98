//===- TimingReportTest.cpp - What the timing model says ------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constants, reports, timelines and comparisons.
//
//===----------------------------------------------------------------------===//

#include "TimingReport.h"
#include "Compare.h"
#include "TimingHarness.h"
#include <llvm/Support/JSON.h>

using namespace hk::emu;
using namespace hk::emu::test;

namespace {

LoopKernel products(unsigned n) {
  LoopKernel k;
  k.body = repeat("v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]", n);
  return k;
}

TEST(TimingReportTest, ConstantsAreFewWhereFitted) {
  std::string table = constantsTable();
  size_t fitted = 0;
  for (size_t at = 0; (at = table.find(" yes ", at)) != std::string::npos; ++at)
    ++fitted;
  EXPECT_LE(fitted, 4u);
  EXPECT_GT(fitted, 0u);
  ChipTiming chip = *findTiming("mi355x");
  EXPECT_EQ(setConstants(chip, "l2Trip=700,launchUs=5.5"), "");
  EXPECT_EQ(chip.l2Trip, 700);
  EXPECT_EQ(chip.launchUs, 5.5);
  EXPECT_NE(setConstants(chip, "l3Trip=700").find("no constant 'l3Trip'"),
            std::string::npos);
  for (const char *bad : {"l2Trip", "l2Trip=", "l2Trip=0", "l2Trip=7x"})
    EXPECT_NE(setConstants(chip, bad).find("positive number"),
              std::string::npos)
        << bad;
  EXPECT_EQ(findTiming("gfx942"), nullptr);
}

TEST(TimingReportTest, JsonAndTextAgree) {
  TimingResult r = timeLoop("mi300x", products(32), {});
  auto json = llvm::json::parse(timingJson(r));
  ASSERT_TRUE(bool(json));
  const llvm::json::Object &o = *json->getAsObject();
  EXPECT_TRUE(*o.getBoolean("modelled"));
  EXPECT_EQ(o.getString("chip")->str(), "mi300x");
  EXPECT_NEAR(*o.getNumber("clocks"), r.clocks, 1e-6 * r.clocks);
  EXPECT_NEAR(*o.getNumber("burst_us"), r.clocks / 2100 + 4, 0.01);
  double stalls = 0;
  for (const auto &[name, clocks] : *o.getObject("stalls"))
    stalls += *clocks.getAsNumber();
  EXPECT_GT(stalls, 0.5 * *o.getNumber("wave_clocks"));
  EXPECT_LE(stalls, *o.getNumber("wave_clocks"));
  // No line of text goes without the word.
  std::string text = timingText(r);
  for (size_t at = 0, end; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    EXPECT_NE(text.substr(at, end - at).find("modelled"), std::string::npos)
        << text.substr(at, end - at);
  }
}

TEST(TimingReportTest, TimelineIsATrace) {
  LoopRun run;
  run.block = 256;
  run.timelineEvents = 100;
  LoopKernel k = products(8);
  TestDevice device("gfx942");
  ASSERT_TRUE(device.load(assemble(loopModule(k), "gfx942")));
  TimingResult r = timeLoop("gfx942", k, run);
  ASSERT_EQ(r.timeline.size(), 100u);
  auto json = llvm::json::parse(timelineJson(r, *device.object));
  ASSERT_TRUE(bool(json));
  const auto &events = *json->getAsObject()->getArray("traceEvents");
  EXPECT_EQ(events.size(), 104u); // with the names of the SIMDs
  double end[4] = {};
  for (const auto &event : events) {
    const auto &e = *event.getAsObject();
    if (e.getString("name")->str() != "matrix")
      continue;
    size_t simd = size_t(*e.getInteger("pid"));
    EXPECT_GE(*e.getNumber("ts"), end[simd]); // one product at a time
    end[simd] = *e.getNumber("ts") + *e.getNumber("dur");
  }
}

TEST(TimingReportTest, ComparisonKnowsItsError) {
  auto time = [](unsigned n) {
    return modelledTime(timeLoop(
        "mi300x", products(n), {1, 64, 4096, false, "launchUs=100", 0, false}));
  };
  ModelledTime base = time(40), same = time(42), twice = time(80);
  EXPECT_EQ(compareTimes(base, same), Verdict::NotDistinguishable);
  EXPECT_EQ(compareTimes(base, twice), Verdict::Slower);
  EXPECT_EQ(compareTimes(twice, base), Verdict::Faster);
  EXPECT_NE(compareText(base, same).find("not distinguishable"),
            std::string::npos);
}

TEST(TimingReportTest, FilesAreSummed) {
  std::string line = "{\"modelled\":true,\"kernel\":\"k\",\"chip\":\"mi300x\","
                     "\"clocks\":1000,\"burst_us\":5,\"relative_error\":0.2,"
                     "\"limit\":\"LDS\"}\n";
  ModelledTime sum;
  EXPECT_EQ(readModelledTime(line + "\n" + line, sum), "");
  EXPECT_EQ(sum.clocks, 2000);
  EXPECT_EQ(sum.burstUs, 10);
  EXPECT_NEAR(sum.error, 0.2, 1e-9);
  ModelledTime bad;
  EXPECT_NE(readModelledTime("{}", bad), "");
  EXPECT_NE(readModelledTime("", bad), "");
  EXPECT_NE(readModelledTime("{", bad), "");
  std::string other = line;
  other.replace(other.find("mi300x"), 6, "mi355x");
  EXPECT_NE(readModelledTime(line + other, bad), "");
}

/// The device's loop on `grid` lanes, all of them or a sample; its argument is
/// `out`.
static TimedLaunch timeOn(TestDevice &device, uint32_t grid, uint32_t block,
                          uint64_t out, bool sample) {
  LaunchConfig config;
  config.grid[0] = grid;
  config.block[0] = block;
  config.args.resize(8);
  std::memcpy(config.args.data(), &out, 8);
  TimedOptions timed;
  timed.sampleOnly = sample;
  timed.chips = {*findTiming("mi300x")};
  return launchTimed(*device.object, *device.object->kernel("loop"),
                     device.memory, config, device.options, timed);
}

/// A sample cannot say which work a workgroup draws from a counter.
TEST(TimingReportTest, SampleRefusesCounters) {
  LoopKernel k;
  k.before = "  v_mov_b32_e32 v1, 0\n  v_mov_b32_e32 v2, 1\n"
             "  global_atomic_add v2, v1, v2, s[4:5] sc0\n"
             "  s_waitcnt vmcnt(0)\n";
  k.iterations = 1;
  k.vgprs = 512;
  for (bool sample : {false, true})
    for (uint32_t grid : {8u, 8 * 38 * 8u}) {
      TestDevice device("mi300x");
      ASSERT_TRUE(device.load(assemble(loopModule(k), "gfx942")));
      uint64_t out = device.upload(std::vector<uint32_t>(1, 0));
      TimedLaunch result = timeOn(device, grid, 64, out, sample);
      bool refused =
          result.launch.error.find("global_atomic_add") != std::string::npos;
      EXPECT_EQ(refused, sample) << result.launch.error;
    }
}

/// Workgroups that draw their work from a counter get as much of it as those
/// that know theirs, whichever of them the emulator runs first: draws of 8
/// rounds of 600 products take as long as 8 rounds and 9 atomics.
TEST(TimingReportTest, DrawnWorkIsShared) {
  constexpr unsigned rounds = 8, grid = 304;
  auto clocksOf = [&](LoopKernel k, unsigned threads) {
    k.iterations = 1;
    k.vgprs = 512;
    TestDevice device("mi300x");
    device.options.threads = threads;
    EXPECT_TRUE(device.load(assemble(loopModule(k), "gfx942")));
    uint64_t out = device.upload(std::vector<uint32_t>(1, 0));
    TimedLaunch result = timeOn(device, grid, 64, out, false);
    EXPECT_TRUE(result.launch.ok()) << describe(result.launch);
    return result.timings.at(0).clocks;
  };
  const std::string draw =
      "  v_mov_b32_e32 v1, 0\n  v_mov_b32_e32 v2, 1\n  s_mov_b64 exec, 1\n"
      "  global_atomic_add v2, v1, v2, s[4:5] sc0\n"
      "  s_waitcnt vmcnt(0)\n  s_mov_b64 exec, -1\n"
      "  v_readfirstlane_b32 s14, v2\n";
  const std::string work = repeat("v_fma_f32 v3, v3, v3, v3", 600);
  LoopKernel one, drawn, known;
  one.before = draw;
  drawn.before = "draw:\n" + draw + "  s_cmp_ge_u32 s14, " +
                 std::to_string(rounds * grid) + "\n  s_cbranch_scc1 drawn\n" +
                 work + "  s_branch draw\ndrawn:\n";
  known.before = "  v_mov_b32_e32 v3, 0\n" + repeat(work, rounds);
  drawn.before = "  v_mov_b32_e32 v3, 0\n" + drawn.before;
  double atomic = clocksOf(one, 0), fixed = clocksOf(known, 0);
  for (unsigned threads : {1u, 2u, 5u}) {
    double seen = clocksOf(drawn, threads);
    EXPECT_GT(seen, fixed);
    // A round more for the first that draw, and one for those beside them.
    EXPECT_LT(seen, fixed * (rounds + 2) / rounds + (rounds + 3) * atomic)
        << threads << " threads, fixed " << fixed << ", atomic " << atomic;
  }
}

/// A sample runs no other workgroup, and the trace changes no value.
TEST(TimingReportTest, SampleRunsOnlyItsPlan) {
  LoopKernel k;
  k.before = "  s_lshl_b32 s13, s2, 2\n  v_mov_b32_e32 v1, s13\n"
             "  v_mov_b32_e32 v2, 7\n  global_store_dword v1, v2, s[4:5]\n";
  k.iterations = 1;
  k.vgprs = 512;
  for (bool sample : {false, true}) {
    TestDevice device("mi300x");
    ASSERT_TRUE(device.load(assemble(loopModule(k), "gfx942")));
    constexpr uint32_t grid = 8 * 38 * 8;
    uint64_t out = device.upload(std::vector<uint32_t>(grid, 0));
    TimedLaunch result = timeOn(device, grid, 256, out, sample);
    ASSERT_TRUE(result.launch.ok()) << describe(result.launch);
    auto words = device.download<uint32_t>(out, grid);
    uint32_t ran = 0;
    for (uint32_t i = 0; i < grid; ++i) {
      EXPECT_TRUE(words[i] == 7 || (sample && words[i] == 0));
      ran += words[i] == 7;
    }
    EXPECT_EQ(ran, sample ? 2 * 38u : grid); // two rounds of one XCD
    EXPECT_EQ(result.timings[0].traced, 2 * 38u);
  }
}

} // namespace
