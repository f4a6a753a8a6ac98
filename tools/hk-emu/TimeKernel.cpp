//===- TimeKernel.cpp - Modelled times on the command line ----------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// hk-emu --timing and --compare.
//
//===----------------------------------------------------------------------===//

#include "Command.h"
#include "Compare.h"
#include "TimedLaunch.h"
#include "TimingReport.h"
#include <cstdio>

namespace hk::emu {
namespace {

/// Bars of a timeline: more than a viewer likes.
constexpr size_t kTimelineEvents = 200000;

/// The chip's constants, once for each --set.
std::string chipsOf(const Command &command, const CodeObject &object,
                    std::vector<ChipTiming> &chips) {
  const ChipTiming *chip = findTiming(object.chip().product);
  if (!chip)
    return std::string("no timing constants for ") + object.chip().product;
  if (command.sets.empty())
    chips.push_back(*chip);
  for (const std::string &set : command.sets) {
    chips.push_back(*chip);
    std::string problem = setConstants(chips.back(), set);
    if (!problem.empty())
      return problem;
  }
  return "";
}

std::string timeObject(const Command &command, const CodeObject &object,
                       Memory &memory, TimedLaunch &result) {
  const Kernel *kernel;
  std::string problem = findKernel(object, command.run, kernel);
  if (!problem.empty())
    return problem;
  LaunchConfig config;
  std::vector<Buffer> buffers;
  problem = makeLaunch(command, *kernel, memory, config, buffers);
  TimedOptions timed;
  if (problem.empty())
    problem = chipsOf(command, object, timed.chips);
  if (!problem.empty())
    return problem;
  Options options = optionsFromEnvironment();
  options.checks &= command.full;
  timed.sampleOnly = !command.full;
  timed.model.warm = command.warm;
  timed.model.timelineEvents = command.timeline.empty() ? 0 : kTimelineEvents;
  result = launchTimed(object, *kernel, memory, config, options, timed);
  for (const Finding &f : result.launch.findings)
    std::fprintf(stderr, "%s\n", f.text().c_str());
  if (result.launch.error.empty() && result.timings.empty())
    return "the grid is empty: there is no time to model";
  return result.launch.error;
}

/// One side of a comparison: a code object, or lines of HK_EMU_TIMING.
std::string timeFile(const Command &command, const std::string &path,
                     ModelledTime &time) {
  std::string data;
  std::string problem = readFile(path, data);
  if (!problem.empty())
    return problem;
  if (!data.empty() && data[0] == '{')
    return readModelledTime(data, time);
  if (command.run.empty())
    return "two code objects are compared by running them: --run=KERNEL";
  Memory memory;
  LoadedFile file;
  problem = loadFile(path, command.chip, memory, file);
  TimedLaunch result;
  if (problem.empty())
    problem = timeObject(command, *file.object, memory, result);
  if (problem.empty() && !result.timings[0].error.empty())
    problem = result.timings[0].error;
  if (!problem.empty())
    return problem;
  time = modelledTime(result.timings[0]);
  time.name = path;
  return "";
}

} // namespace

int timeKernel(const Command &command, const CodeObject &object,
               Memory &memory) {
  TimedLaunch result;
  std::string problem = timeObject(command, object, memory, result);
  if (!problem.empty())
    return refuse(problem);
  for (const TimingResult &r : result.timings) {
    if (command.json)
      std::printf("%s\n", timingJson(r).c_str());
    else
      std::fputs(timingText(r).c_str(), stdout);
  }
  if (!command.timeline.empty()) {
    std::string text = timelineJson(result.timings[0], object);
    problem = writeFile(command.timeline, text.data(), text.size());
    if (!problem.empty())
      return refuse(problem);
  }
  return result.launch.findings.empty() ? 0 : 1;
}

int compareFiles(const Command &command) {
  ModelledTime times[2];
  for (int k = 0; k < 2; ++k) {
    std::string problem = timeFile(command, command.files[size_t(k)], times[k]);
    if (!problem.empty())
      return refuse(command.files[size_t(k)] + ": " + problem);
  }
  if (times[0].chip != times[1].chip)
    return refuse("times on " + times[0].chip + " and on " + times[1].chip +
                  " are not compared");
  std::fputs(compareText(times[0], times[1]).c_str(), stdout);
  return 0;
}

} // namespace hk::emu
