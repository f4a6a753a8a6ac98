//===- Model.h - The modelled time of a launch ------------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the traces of some workgroups to the clocks of the whole grid: which
// compute unit works longest, what it does, and what that says about the rest.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_TIMING_MODEL_H
#define HK_LIB_EMULATOR_TIMING_MODEL_H

#include "ComputeUnit.h"

namespace hk::emu {

struct ModelOptions {
  bool warm = false; ///< inputs that fit are in the MALL before the launch
  /// Wave instructions to replay; the rest of the grid is extrapolated.
  uint64_t mostSteps = 12000000;
  size_t timelineEvents = 0;
};

/// What bounds a kernel decides how far the model can be trusted.
enum class TimeClass : uint8_t {
  Compute, ///< matrix, vector or LDS clocks, or the latency between them
  Cache,   ///< L2, MALL, bytes in flight
  Memory,  ///< HBM
  Launch   ///< too short to say
};
const char *timeClassName(TimeClass c);
/// Relative error to expect of the clocks of this class.
double errorOf(TimeClass c);

struct Usage {
  const char *resource;
  double share; ///< of the replayed clocks
};

struct SourceStall {
  std::string where; ///< "file:line", else the instruction's offset
  std::string text;  ///< of the instruction that waited longest there
  StallClocks clocks{};
  double total = 0;
};

/// Every figure is modelled.
struct TimingResult {
  std::string error; ///< why there is none
  std::string kernel, chip;
  Dispatch dispatch;
  uint64_t traced = 0, replayed = 0; ///< workgroups
  double clocks = 0;                 ///< of the whole grid
  double replayClocks = 0;           ///< of what was replayed
  double peakMHz = 0;
  double burstUs = 0, sustainedUs = 0;
  double matrixShare = 0;     ///< of the whole replay
  double matrixLoopShare = 0; ///< in the main loop; 0 without one
  double iterationClocks = 0;
  std::vector<Usage> usage; ///< the busiest first
  std::string limit;
  TimeClass timeClass = TimeClass::Compute;
  double l1HitRate = 0, l2HitRate = 0, footprintBytes = 0;
  std::array<double, size_t(Level::Count)> levelBytes{}; ///< of the grid
  double flops = 0;                                      ///< of the grid
  double waveClocks = 0; ///< what stalls are shares of
  StallClocks stalls{};
  std::vector<SourceStall> lines; ///< the worst first
  std::vector<TimelineEvent> timeline;
};

TimingResult modelTiming(const CodeObject &object, const Kernel &kernel,
                         const LaunchConfig &config, const Tracer &tracer,
                         const Memory &memory, const ChipTiming &chip,
                         const ModelOptions &options);

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_TIMING_MODEL_H
