//===- TimingHarness.cpp - Loops whose time is known ----------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loop costs three scalar instructions and a taken branch.
//
//===----------------------------------------------------------------------===//

#include "TimingHarness.h"

namespace hk::emu::test {

std::string repeat(const std::string &text, unsigned times) {
  std::string all;
  for (unsigned i = 0; i < times; ++i)
    all += text + "\n";
  return all;
}

std::string loopModule(const LoopKernel &k) {
  return ".text\n.globl loop\n.p2align 8\n.type loop,@function\nloop:\n"
         "  s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
         "  s_waitcnt lgkmcnt(0)\n" +
         k.before + "\n  s_movk_i32 s12, " + std::to_string(k.iterations) +
         "\nagain:\n" + k.body +
         "\n  s_sub_u32 s12, s12, 1\n  s_cmp_lg_u32 s12, 0\n"
         "  s_cbranch_scc1 again\n  s_endpgm\n.size loop, .-loop\n"
         ".rodata\n.p2align 6\n.amdhsa_kernel loop\n"
         "  .amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
         "  .amdhsa_kernarg_size 8\n  .amdhsa_next_free_vgpr " +
         std::to_string(k.vgprs) +
         "\n  .amdhsa_next_free_sgpr 64\n  .amdhsa_accum_offset " +
         std::to_string(k.vgprs / 2) + "\n  .amdhsa_group_segment_fixed_size " +
         std::to_string(k.lds) + "\n.end_amdhsa_kernel\n";
}

TimingResult timeLoop(const std::string &chip, const LoopKernel &kernel,
                      const LoopRun &run) {
  TestDevice device(chip);
  TimingResult none;
  none.error = "not run";
  if (!device.load(assemble(loopModule(kernel), device.chip->name))) {
    ADD_FAILURE() << device.loadError;
    return none;
  }
  uint64_t buffer = device.alloc(run.bufferBytes);
  device.memory.setDefined(buffer, run.bufferBytes);
  LaunchConfig config;
  config.grid[0] = run.grid;
  config.block[0] = run.block;
  config.args.resize(8);
  std::memcpy(config.args.data(), &buffer, 8);
  TimedOptions timed;
  timed.sampleOnly = !run.full;
  timed.model.timelineEvents = run.timelineEvents;
  timed.model.warm = run.warm;
  timed.chips = {*findTiming(device.chip->product)};
  EXPECT_EQ(setConstants(timed.chips[0], run.constants), "");
  device.options.checks = false;
  TimedLaunch result =
      launchTimed(*device.object, *device.object->kernel("loop"), device.memory,
                  config, device.options, timed);
  EXPECT_TRUE(result.launch.ok()) << describe(result.launch);
  return result.timings.empty() ? none : result.timings[0];
}

} // namespace hk::emu::test
