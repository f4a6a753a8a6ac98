//===- TimingReport.h - Modelled times for people and programs --*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A result as text, as one line of JSON and as a timeline for Chrome's trace
// viewer (chrome://tracing, Perfetto).
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_TIMING_TIMINGREPORT_H
#define HK_LIB_EMULATOR_TIMING_TIMINGREPORT_H

#include "Model.h"

namespace hk::emu {

std::string timingText(const TimingResult &result);
/// One object without a line end; "modelled": true is its first field.
std::string timingJson(const TimingResult &result);
/// The waves of the replayed compute unit; one clock is shown as 1 us.
std::string timelineJson(const TimingResult &result, const CodeObject &object);

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_TIMING_TIMINGREPORT_H
