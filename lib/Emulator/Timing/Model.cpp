//===- Model.cpp - The modelled time of a launch --------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The busiest compute unit's workgroups are replayed up to a budget; later ones
// take as long for their work as those after the first round did.
//
//===----------------------------------------------------------------------===//

#include "Model.h"
#include "Schedule.h"
#include <algorithm>
#include <cstdio>

namespace hk::emu {
namespace {

/// As many jobs as the budget allows, but at least one round.
size_t replayedJobs(const std::vector<Job> &jobs, const Dispatch &dispatch,
                    uint64_t mostSteps) {
  uint64_t steps = 0;
  size_t n = 0;
  while (n < jobs.size() && (n < dispatch.resident || steps < mostSteps))
    steps += jobs[n++].trace->steps();
  return n;
}

/// Clocks of all jobs from those that were replayed.
double extrapolate(const std::vector<Job> &jobs, size_t replayed,
                   const UnitResult &unit, const Dispatch &dispatch) {
  double done = 0, rest = 0, first = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    (i < replayed ? done : rest) += jobs[i].work;
    if (i < std::min<size_t>(replayed, dispatch.resident))
      first += jobs[i].work;
  }
  if (rest == 0 || done == 0)
    return unit.clocks;
  double rate = unit.clocks / done;
  if (replayed > dispatch.resident && done > first) {
    double start = unit.endings[dispatch.resident - 1];
    rate = std::max(0.0, unit.clocks - start) / (done - first);
  }
  return unit.clocks + rest * rate;
}

void setUsage(TimingResult &r, const UnitResult &u) {
  double clocks = std::max(u.clocks, 1.0);
  r.matrixShare = u.matrixClocks / 4 / clocks;
  r.usage = {
      {"matrix unit", r.matrixShare},
      {"vector issue", u.valuClocks / 4 / clocks},
      {"scalar issue", u.scalarClocks / 4 / clocks},
      {"LDS", u.ldsClocks / 2 / clocks},
      {"vector memory unit", u.vmemClocks / clocks},
      {"L1 return path", u.returnClocks / clocks},
      {"bytes in flight", std::min(1.0, u.inFlightWait / clocks)},
      {"L2", u.levelBusy[size_t(Level::L2)] / clocks},
      {"MALL", u.levelBusy[size_t(Level::Mall)] / clocks},
      {"HBM", u.levelBusy[size_t(Level::Hbm)] / clocks},
  };
  // Insertion keeps the order of equals, and the list is short.
  for (auto it = r.usage.begin(); it != r.usage.end(); ++it)
    std::rotate(std::upper_bound(r.usage.begin(), it, *it,
                                 [](const Usage &a, const Usage &b) {
                                   return a.share > b.share;
                                 }),
                it, it + 1);
}

/// A resource that is busy most of the time, else what waves wait for most.
void setLimit(TimingResult &r) {
  constexpr double mostly = 0.7;
  if (!r.usage.empty() && r.usage.front().share >= mostly) {
    r.limit = r.usage.front().resource;
  } else {
    size_t worst = size_t(std::max_element(r.stalls.begin(), r.stalls.end()) -
                          r.stalls.begin());
    r.limit = "latency: " + std::string(stallName(Stall(worst)));
  }
  auto has = [&](const char *name) {
    return r.limit.find(name) != std::string::npos;
  };
  r.timeClass = has("HBM") ? TimeClass::Memory
                : has("L2") || has("MALL") || has("bytes in flight") ||
                        has("vector memory") || has("L1")
                    ? TimeClass::Cache
                    : TimeClass::Compute;
  constexpr double shortUs = 10;
  if (r.burstUs < shortUs)
    r.timeClass = TimeClass::Launch;
}

/// The clock of an MI355X under load, from the rates and the in-loop shares of
/// the v0 to v5 kernels of gfx950-gluon-tutorials: (share of the matrix unit,
/// part of the peak clock).
double clockUnderLoad(double share) {
  constexpr double points[][2] = {
      {0.25, 1.0}, {0.58, 1.86 / 2.4}, {0.78, 1.6 / 2.4}};
  if (share <= points[0][0])
    return 1;
  for (int k = 1; k < 3; ++k)
    if (share <= points[k][0] || k == 2) {
      double t = std::min(1.0, (share - points[k - 1][0]) /
                                   (points[k][0] - points[k - 1][0]));
      return points[k - 1][1] + t * (points[k][1] - points[k - 1][1]);
    }
  return 1;
}

void setTimes(TimingResult &r, const ChipTiming &chip, const UnitResult &u,
              double factor) {
  r.burstUs = r.clocks / chip.peakMHz + chip.launchUs;
  // Of all compute units, as this one stands for all.
  const double rates[] = {chip.bf16Tflops, chip.f16Tflops, chip.fp8Tflops, 0};
  double atRate = 0;
  for (size_t k = 0; k < u.flops.size(); ++k) {
    double flops = u.flops[k] * factor;
    r.flops += flops;
    if (rates[k] > 0)
      atRate += flops / rates[k] * 1e-6;
  }
  if (chip.bf16Tflops > 0)
    r.sustainedUs = std::max(r.burstUs, atRate + chip.launchUs);
  else
    r.sustainedUs = r.clocks / (chip.peakMHz * clockUnderLoad(r.matrixShare)) +
                    chip.launchUs;
}

double sumOf(const StallClocks &clocks) {
  double sum = 0;
  for (double c : clocks)
    sum += c;
  return sum;
}

std::string placeOf(const CodeObject &object, const Inst &inst) {
  std::string where = object.sourceOf(inst.pc);
  if (!where.empty())
    return where;
  char text[32];
  std::snprintf(text, sizeof text, "0x%06llx",
                static_cast<unsigned long long>(inst.pc));
  return text;
}

/// The stalls by source line, of the instructions that wait longest: line
/// tables are slow to read.
void setLines(TimingResult &r, const CodeObject &object, const UnitResult &u) {
  constexpr size_t mostInstructions = 64;
  std::vector<std::pair<double, uint32_t>> worst;
  worst.reserve(u.stallsOf.size());
  for (const auto &[inst, clocks] : u.stallsOf)
    worst.push_back({-sumOf(clocks), inst});
  std::sort(worst.begin(), worst.end());
  worst.resize(std::min(worst.size(), mostInstructions));
  std::map<std::string, SourceStall> byLine;
  for (auto [negated, inst] : worst) {
    const Inst &i = object.program()[inst];
    SourceStall &line = byLine[placeOf(object, i)];
    if (line.text.empty()) // in order: the one that waits longest there
      line.text = i.text;
    const StallClocks &clocks = u.stallsOf.at(inst);
    for (size_t k = 0; k < clocks.size(); ++k)
      line.clocks[k] += clocks[k];
    line.total -= negated;
  }
  for (auto &[where, line] : byLine) {
    line.where = where;
    r.lines.push_back(std::move(line));
  }
  std::sort(r.lines.begin(), r.lines.end(),
            [](const SourceStall &a, const SourceStall &b) {
              return a.total != b.total ? a.total > b.total : a.where < b.where;
            });
}

void setReplay(TimingResult &r, UnitResult &u, const CodeObject &object) {
  r.replayClocks = u.clocks;
  r.iterationClocks = u.iterationClocks;
  if (u.loopClocks > 0)
    r.matrixLoopShare = u.loopMatrixClocks / 4 / u.loopClocks;
  r.l1HitRate = u.l1HitRate;
  r.stalls = u.stalls;
  r.waveClocks = u.waveClocks;
  r.timeline = std::move(u.timeline);
  setUsage(r, u);
  setLines(r, object, u);
}

} // namespace

const char *timeClassName(TimeClass c) {
  static const char *const names[] = {"compute", "cache", "memory", "launch"};
  return names[int(c)];
}

double errorOf(TimeClass c) {
  // Published kernels put these to the test: benchmarks/results.
  constexpr double errors[] = {0.20, 0.30, 0.15, 0.50};
  return errors[int(c)];
}

TimingResult modelTiming(const CodeObject &object, const Kernel &kernel,
                         const LaunchConfig &config, const Tracer &tracer,
                         const Memory &memory, const ChipTiming &chip,
                         const ModelOptions &options) {
  TimingResult r;
  r.kernel = kernel.name;
  r.chip = chip.product;
  r.peakMHz = chip.peakMHz;
  r.dispatch = makeDispatch(object.chip(), chip, kernel, config);
  std::vector<Job> jobs = busiestUnit(r.dispatch, tracer);
  if (jobs.empty()) {
    r.error = "no workgroup of the first XCD was traced to its end";
    return r;
  }
  StaticTable table(object, chip);
  MemoryLevels levels(chip, r.dispatch, tracer, memory, options.warm);
  size_t n = replayedJobs(jobs, r.dispatch, options.mostSteps);
  std::vector<const WorkgroupTrace *> traces;
  traces.reserve(n);
  for (size_t i = 0; i < n; ++i)
    traces.push_back(jobs[i].trace);
  UnitInput input{chip,
                  table,
                  levels,
                  r.dispatch,
                  findMainLoop(object, table, traces),
                  options.timelineEvents};
  UnitResult unit = replay(input, traces);
  r.traced = tracer.traces().size();
  r.replayed = n;
  setReplay(r, unit, object);
  r.l2HitRate = levels.l2HitRate();
  r.footprintBytes = levels.footprint();
  r.clocks = extrapolate(jobs, n, unit, r.dispatch);
  // From the replayed workgroups to all of the grid, by work.
  double replayedWork = 0, mean = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    replayedWork += i < n ? jobs[i].work : 0;
    mean += jobs[i].work / double(jobs.size());
  }
  double factor = mean * double(r.dispatch.workgroups) / replayedWork;
  r.levelBytes[size_t(Level::L2)] = unit.levelBytes[size_t(Level::L2)] * factor;
  for (Level level : {Level::Mall, Level::Hbm})
    r.levelBytes[size_t(level)] = levels.bytesFrom(level);
  setTimes(r, chip, unit, factor);
  setLimit(r);
  return r;
}

} // namespace hk::emu
