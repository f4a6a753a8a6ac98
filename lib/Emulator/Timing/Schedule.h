//===- Schedule.h - Workgroups of the busiest compute unit ------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hands the first XCD's workgroups to its compute units, by their work in wave
// instructions, and returns those of the unit that ends last.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_TIMING_SCHEDULE_H
#define HK_LIB_EMULATOR_TIMING_SCHEDULE_H

#include "Occupancy.h"

namespace hk::emu {

struct Job {
  const WorkgroupTrace *trace; ///< its own, or that of one with as much work
  double work;
};

std::vector<Job> busiestUnit(const Dispatch &dispatch, const Tracer &tracer);

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_TIMING_SCHEDULE_H
