//===- TimedLaunch.h - A launch with its modelled time ----------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a kernel in the emulator, traces what the model wants of it and models
// its time.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_TIMING_TIMEDLAUNCH_H
#define HK_LIB_EMULATOR_TIMING_TIMEDLAUNCH_H

#include "Model.h"

namespace hk::emu {

struct TimedLaunch {
  LaunchResult launch;
  /// One for each set of constants.
  std::vector<TimingResult> timings;
};

struct TimedOptions {
  /// Only the traced workgroups run: enough for the model, but the outputs are
  /// incomplete, and a kernel whose workgroups wait for each other may hang.
  bool sampleOnly = false;
  uint64_t traceBytes = 1ull << 28; ///< of traces; then no more are begun
  ModelOptions model;
  std::vector<ChipTiming> chips; ///< one model run each; of one product
};

TimedLaunch launchTimed(const CodeObject &object, const Kernel &kernel,
                        Memory &memory, const LaunchConfig &config,
                        const Options &options, const TimedOptions &timed);

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_TIMING_TIMEDLAUNCH_H
