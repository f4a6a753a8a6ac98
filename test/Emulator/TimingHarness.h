//===- TimingHarness.h - Loops whose time is known --------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of one loop in assembly, and their modelled time. On entry s[4:5]
// holds a buffer, s2 the workgroup and v0 the thread; s12 counts the loop.
//
//===----------------------------------------------------------------------===//
#ifndef HK_TEST_EMULATOR_TIMINGHARNESS_H
#define HK_TEST_EMULATOR_TIMINGHARNESS_H

#include "Harness.h"
#include "TimedLaunch.h"

namespace hk::emu::test {

struct LoopKernel {
  std::string before, body;
  unsigned iterations = 64;
  unsigned lds = 0, vgprs = 128;
};

std::string loopModule(const LoopKernel &kernel);
/// The text so many times.
std::string repeat(const std::string &text, unsigned times);

struct LoopRun {
  uint32_t grid = 1, block = 64;
  uint64_t bufferBytes = 4096;
  bool full = false; ///< all workgroups run
  std::string constants;
  size_t timelineEvents = 0;
  bool warm = false;
};
TimingResult timeLoop(const std::string &chip, const LoopKernel &kernel,
                      const LoopRun &run);

} // namespace hk::emu::test

#endif // HK_TEST_EMULATOR_TIMINGHARNESS_H
