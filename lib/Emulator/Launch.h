//===- Launch.h - Kernel launches -------------------------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lays out the kernel arguments, spreads the workgroups over threads and
// collects findings and counters.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_LAUNCH_H
#define HK_LIB_EMULATOR_LAUNCH_H

#include "Wave.h"

namespace hk::emu {

struct LaunchConfig {
  uint32_t grid[3] = {1, 1, 1};  ///< workgroups
  uint32_t block[3] = {1, 1, 1}; ///< work-items of a workgroup
  uint32_t dynamicLds = 0;
  std::vector<uint8_t> args; ///< the explicit argument bytes
};

struct LaunchResult {
  std::string error; ///< the launch was refused
  std::vector<Finding> findings;
  Counters counters;
  double seconds = 0;    ///< wall clock
  double cpuSeconds = 0; ///< summed over the worker threads
  bool ok() const { return error.empty() && findings.empty(); }
};

/// Options from the environment.
Options optionsFromEnvironment();

/// `tracer`, if any, gets the traces of the workgroups it wants.
LaunchResult launchKernel(const CodeObject &object, const Kernel &kernel,
                          Memory &memory, const LaunchConfig &config,
                          const Options &options, Tracer *tracer = nullptr);

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_LAUNCH_H
