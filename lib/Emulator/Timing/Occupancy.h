//===- Occupancy.h - Where workgroups run -----------------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many workgroups a compute unit holds at once, which of them go to the
// first XCD (workgroup i goes to XCD i modulo their number), and which the
// emulator should trace for that.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_TIMING_OCCUPANCY_H
#define HK_LIB_EMULATOR_TIMING_OCCUPANCY_H

#include "ChipTiming.h"
#include "Launch.h"

namespace hk::emu {

/// A launch as the dispatcher sees it.
struct Dispatch {
  uint64_t workgroups = 0;
  unsigned waves = 0;    ///< of a workgroup
  unsigned resident = 1; ///< workgroups of a compute unit at once
  unsigned xcds = 1, unitsPerXcd = 1;
  const char *limit = ""; ///< what bounds `resident`

  /// Workgroups of the first XCD: 0, xcds, 2 xcds, ...
  uint64_t ofFirstXcd() const { return (workgroups + xcds - 1) / xcds; }
  /// Compute units of the first XCD that get any.
  unsigned activeUnits() const {
    return unsigned(std::min<uint64_t>(unitsPerXcd, ofFirstXcd()));
  }
};

Dispatch makeDispatch(const Chip &chip, const ChipTiming &timing,
                      const Kernel &kernel, const LaunchConfig &config);

/// What to trace: the first two rounds of the first XCD in order.
std::vector<uint32_t> tracePlan(const Dispatch &dispatch);

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_TIMING_OCCUPANCY_H
