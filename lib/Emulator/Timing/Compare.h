//===- Compare.h - Which of two kernels is faster ---------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two modelled times are ordered only if they lie further apart than the error
// of their class. That holds for the same work on the same chip and for
// nothing else.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_TIMING_COMPARE_H
#define HK_LIB_EMULATOR_TIMING_COMPARE_H

#include "Model.h"

namespace hk::emu {

/// What a comparison needs of a kernel, or of several one after the other.
struct ModelledTime {
  std::string name, chip, limit;
  double burstUs = 0, clocks = 0, error = 0;
};

ModelledTime modelledTime(const TimingResult &result);
/// Sums the lines that HK_EMU_TIMING wrote. Returns why not, or nothing.
std::string readModelledTime(const std::string &jsonLines, ModelledTime &time);

enum class Verdict : uint8_t { Faster, Slower, NotDistinguishable };
/// What the second is beside the first.
Verdict compareTimes(const ModelledTime &a, const ModelledTime &b);
std::string compareText(const ModelledTime &a, const ModelledTime &b);

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_TIMING_COMPARE_H
