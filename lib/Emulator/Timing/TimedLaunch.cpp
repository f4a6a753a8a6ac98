//===- TimedLaunch.cpp - A launch with its modelled time ------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plan comes from the dispatch, which all sets of constants share.
//
//===----------------------------------------------------------------------===//

#include "TimedLaunch.h"

namespace hk::emu {

TimedLaunch launchTimed(const CodeObject &object, const Kernel &kernel,
                        Memory &memory, const LaunchConfig &config,
                        const Options &options, const TimedOptions &timed) {
  Dispatch dispatch =
      makeDispatch(object.chip(), timed.chips.front(), kernel, config);
  Tracer tracer(tracePlan(dispatch), timed.sampleOnly, timed.traceBytes);
  TimedLaunch result;
  result.launch =
      launchKernel(object, kernel, memory, config, options, &tracer);
  if (!result.launch.error.empty() || dispatch.workgroups == 0)
    return result;
  for (const ChipTiming &chip : timed.chips)
    result.timings.push_back(
        modelTiming(object, kernel, config, tracer, memory, chip, timed.model));
  return result;
}

} // namespace hk::emu
