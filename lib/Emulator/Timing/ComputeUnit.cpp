//===- ComputeUnit.cpp - Replay of traces on a compute unit ---------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Event driven: the wave that may issue first goes first, then the higher
// priority, then the older one. A wave issues at most one instruction in 4
// clocks and a port of a SIMD takes one at a time. A wave that finds what it
// needs busy comes back when that is free, and the time between is a stall.
//
//===----------------------------------------------------------------------===//

#include "ComputeUnit.h"
#include <algorithm>
#include <queue>

namespace hk::emu {
namespace {

constexpr unsigned kSimds = 4, kRegisters = 512;
constexpr double kIssue = 4; ///< clocks between two instructions of a wave

struct Ready {
  double any = 0;         ///< for every use
  double accumulator = 0; ///< as the next product's addend
  bool matrix = false;
};

struct Outstanding {
  double done;
  Stall cause;
};

struct Group {
  const WorkgroupTrace *trace = nullptr;
  unsigned left = 0;
  double lastArrival = 0, end = 0;
  std::vector<unsigned> waiting; ///< waves at the barrier
  // Passes of the main loop's first instruction.
  double loopFirst = -1, loopLast = -1, loopMatrix = 0;
  uint64_t loopPasses = 0;
};

struct WaveReplay {
  const WaveTrace *trace = nullptr;
  const std::vector<LineSource> *levels = nullptr;
  size_t at = 0;
  unsigned simd = 0, group = 0;
  uint8_t priority = 0;
  double started = 0, arrived = 0;
  std::deque<Outstanding> vm, lgkm;
  bool scalarOutstanding = false;
  std::vector<Ready> ready;
};

struct Simd {
  double port[size_t(Port::Count)] = {};
  double matrix = 0;
  unsigned waves = 0;
};

struct Event {
  double time;
  uint8_t priority;
  unsigned wave; ///< also its age
};
struct Later {
  bool operator()(const Event &a, const Event &b) const {
    if (a.time != b.time)
      return a.time > b.time;
    if (a.priority != b.priority)
      return a.priority < b.priority;
    return a.wave > b.wave;
  }
};

class Replay {
public:
  Replay(const UnitInput &in, const std::vector<const WorkgroupTrace *> &jobs)
      : in(in), jobs(jobs), lds(in.chip), vmem(in.chip, in.dispatch) {}
  UnitResult run();

private:
  const UnitInput &in;
  const std::vector<const WorkgroupTrace *> &jobs;
  LdsUnit lds;
  VectorMemory vmem;
  Simd simds[kSimds];
  std::vector<Group> groups;
  std::deque<WaveReplay> waves;
  std::priority_queue<Event, std::vector<Event>, Later> events;
  UnitResult result;

  void startGroup(double t);
  void step(unsigned index, double t);
  void push(unsigned index, double t) {
    events.push({t, waves[index].priority, index});
  }
  void stall(unsigned index, uint32_t inst, Stall cause, double from,
             double clocks);
  double earliest(const WaveReplay &w, const StaticInst &s, double t,
                  Stall &cause) const;
  double wait(unsigned index, const StaticInst &s, uint32_t inst, double t);
  double drain(unsigned index, std::deque<Outstanding> &queue, size_t keep,
               uint32_t inst, double t);
  void barrier(unsigned index, uint32_t inst, double t);
  double issue(unsigned index, const StaticInst &s, const TraceStep &step,
               double t);
  void issueMemory(WaveReplay &w, const StaticInst &s, const TraceStep &step,
                   double t);
  void finishWave(unsigned index, double t);
  void noteLoop(WaveReplay &w, const StaticInst &s, uint32_t inst, double t);
  void record(unsigned index, const char *name, uint32_t inst, double t,
              double clocks);
  void summarise();
  void summariseLoop();
};

void Replay::record(unsigned index, const char *name, uint32_t inst, double t,
                    double clocks) {
  if (result.timeline.size() < in.timelineEvents)
    result.timeline.push_back(
        {index, waves[index].simd, name, inst, t, clocks});
}

void Replay::stall(unsigned index, uint32_t inst, Stall cause, double from,
                   double clocks) {
  if (clocks <= 0)
    return;
  result.stalls[size_t(cause)] += clocks;
  result.stallsOf[inst][size_t(cause)] += clocks;
  if (clocks >= 2 * kIssue)
    record(index, stallName(cause), inst, from, clocks);
}

void Replay::startGroup(double t) {
  unsigned number = unsigned(groups.size());
  const WorkgroupTrace *trace = jobs[number];
  groups.emplace_back();
  groups.back().trace = trace;
  groups.back().left = unsigned(trace->waves.size());
  for (const WaveTrace &wave : trace->waves) {
    Simd *least = std::min_element(
        simds, simds + kSimds,
        [](const Simd &a, const Simd &b) { return a.waves < b.waves; });
    ++least->waves;
    waves.emplace_back();
    WaveReplay &w = waves.back();
    w.trace = &wave;
    w.levels = &in.levels.of(wave);
    w.simd = unsigned(least - simds);
    w.group = number;
    w.started = t;
    w.ready.resize(kRegisters);
    push(unsigned(waves.size() - 1), t);
  }
}

/// When the instruction may issue, and what it waits for longest.
double Replay::earliest(const WaveReplay &w, const StaticInst &s, double t,
                        Stall &cause) const {
  double when = t;
  auto after = [&](double time, Stall why) {
    if (time > when) {
      when = time;
      cause = why;
    }
  };
  for (const RegisterRange &r : s.src)
    for (unsigned k = r.first; k < unsigned(r.first) + r.count; ++k)
      after(w.ready[k].any,
            w.ready[k].matrix ? Stall::MatrixResult : Stall::ValuResult);
  for (unsigned k = s.accumulator.first;
       k < unsigned(s.accumulator.first) + s.accumulator.count; ++k)
    after(w.ready[k].accumulator, Stall::MatrixResult);
  const Simd &simd = simds[w.simd];
  if (s.port != Port::None)
    after(simd.port[size_t(s.port)], Stall::Port);
  if (s.kind == StepKind::Mfma)
    after(simd.matrix, Stall::MatrixUnit);
  if (s.port == Port::Lds)
    after(lds.earliest(w.simd), Stall::LdsQueue);
  if (s.port == Port::Vmem)
    after(vmem.earliest(), Stall::VmemQueue);
  return when;
}

double Replay::drain(unsigned index, std::deque<Outstanding> &queue,
                     size_t keep, uint32_t inst, double t) {
  while (queue.size() > keep) {
    Outstanding o = queue.front();
    queue.pop_front();
    stall(index, inst, o.cause, t, o.done - t);
    t = std::max(t, o.done);
  }
  return t;
}

double Replay::wait(unsigned index, const StaticInst &s, uint32_t inst,
                    double t) {
  WaveReplay &w = waves[index];
  if (s.vmCount != 0xff)
    t = drain(index, w.vm, s.vmCount, inst, t);
  // Scalar loads return out of order: only a wait for all tells anything.
  if (s.lgkmCount != 0xff && (!w.scalarOutstanding || s.lgkmCount == 0)) {
    t = drain(index, w.lgkm, s.lgkmCount, inst, t);
    if (s.lgkmCount == 0)
      w.scalarOutstanding = false;
  }
  return t;
}

void Replay::barrier(unsigned index, uint32_t inst, double t) {
  Group &g = groups[waves[index].group];
  if (g.trace->waves.size() == 1) {
    push(index, t + kIssue);
    return;
  }
  waves[index].arrived = t;
  g.waiting.push_back(index);
  g.lastArrival = std::max(g.lastArrival, t);
  if (g.waiting.size() < g.left)
    return;
  double opens = g.lastArrival + in.chip.barrier;
  std::vector<unsigned> released;
  released.swap(g.waiting);
  for (unsigned other : released) {
    stall(other, inst, Stall::Barrier, waves[other].arrived,
          opens - waves[other].arrived);
    push(other, opens);
  }
}

void Replay::issueMemory(WaveReplay &w, const StaticInst &s,
                         const TraceStep &step, double t) {
  const TraceAccess *access = step.access == TraceStep::kNone
                                  ? nullptr
                                  : &w.trace->accesses[step.access];
  if (s.port == Port::Smem) {
    w.lgkm.push_back({t + in.chip.scalarTrip, Stall::WaitScalar});
    w.scalarOutstanding = true;
    return;
  }
  if (s.port == Port::Lds) {
    // What moves between lanes passes the crossbar once, without addresses.
    constexpr unsigned crossbar = 2;
    double done = lds.issue(t, w.simd, access ? access->ldsPhases : crossbar);
    w.lgkm.push_back({done, Stall::WaitLds});
    return;
  }
  VectorAccess v = vmem.issue(t, s, *w.trace, access, *w.levels);
  static const Stall causes[] = {Stall::WaitL1, Stall::WaitL2, Stall::WaitMall,
                                 Stall::WaitHbm};
  w.vm.push_back({v.done, s.store ? Stall::WaitStore : causes[int(v.level)]});
  if (access && access->ldsPhases) // a direct load, or a flat one
    lds.issue(t, w.simd, access->ldsPhases);
}

/// Returns when the wave may issue again.
double Replay::issue(unsigned index, const StaticInst &s, const TraceStep &step,
                     double t) {
  WaveReplay &w = waves[index];
  Simd &simd = simds[w.simd];
  if (s.port != Port::None)
    simd.port[size_t(s.port)] = t + s.clocks;
  for (unsigned k = s.dst.first; k < unsigned(s.dst.first) + s.dst.count; ++k)
    w.ready[k] = {t + s.latency, t + (s.pipe ? s.pipe : s.latency),
                  s.pipe != 0};
  switch (s.port) {
  case Port::Valu:
    if (s.kind == StepKind::Mfma) {
      simd.matrix = t + s.pipe;
      result.matrixClocks += s.pipe;
      result.flops[size_t(s.flopType)] += s.flops;
      record(index, "matrix", step.inst, t, s.pipe);
    }
    result.valuClocks += s.clocks;
    return t + kIssue;
  case Port::Salu:
    result.scalarClocks += s.clocks;
    return t + kIssue;
  case Port::Lds:
    issueMemory(w, s, step, t);
    return t + s.clocks;
  case Port::Vmem:
    issueMemory(w, s, step, t);
    record(index, "vector memory", step.inst, t, kIssue);
    return t + kIssue;
  case Port::Smem:
    issueMemory(w, s, step, t);
    return t + kIssue;
  default:
    return t + kIssue;
  }
}

void Replay::noteLoop(WaveReplay &w, const StaticInst &s, uint32_t inst,
                      double t) {
  if (!in.loop.contains(inst))
    return;
  Group &g = groups[w.group];
  if (inst == in.loop.first) {
    g.loopFirst = g.loopFirst < 0 ? t : std::min(g.loopFirst, t);
    g.loopLast = std::max(g.loopLast, t);
    ++g.loopPasses;
  }
  g.loopMatrix += s.pipe;
}

void Replay::finishWave(unsigned index, double t) {
  WaveReplay &w = waves[index];
  Group &g = groups[w.group];
  for (const Outstanding &o : w.vm)
    t = std::max(t, o.done);
  g.end = std::max(g.end, t);
  result.waveClocks += t - w.started;
  --simds[w.simd].waves;
  w.ready = std::vector<Ready>();
  if (--g.left == 0) {
    result.endings.push_back(g.end);
    if (groups.size() < jobs.size())
      startGroup(g.end + in.chip.workgroupGap);
    return;
  }
  // Those at a barrier no longer wait for this wave.
  if (!g.waiting.empty() && g.waiting.size() == g.left) {
    std::vector<unsigned> released;
    released.swap(g.waiting);
    for (unsigned other : released)
      push(other, std::max(t, g.lastArrival) + in.chip.barrier);
  }
}

void Replay::step(unsigned index, double t) {
  WaveReplay &w = waves[index];
  if (w.at == w.trace->steps.size()) {
    finishWave(index, t);
    return;
  }
  const TraceStep &step = w.trace->steps[w.at];
  const StaticInst &s = in.table[step.inst];
  Stall cause = Stall::Port;
  double when = earliest(w, s, t, cause);
  if (when > t) {
    stall(index, step.inst, cause, t, when - t);
    push(index, when);
    return;
  }
  noteLoop(w, s, step.inst, t);
  ++w.at;
  ++result.steps;
  double next = t + kIssue;
  switch (s.kind) {
  case StepKind::Wait:
    next = wait(index, s, step.inst, t) + kIssue;
    break;
  case StepKind::Barrier:
    barrier(index, step.inst, t);
    return;
  case StepKind::Idle:
    next = t + s.clocks;
    stall(index, step.inst, Stall::Nop, t + kIssue, s.clocks - kIssue);
    break;
  case StepKind::Priority:
    w.priority = s.priority;
    break;
  default:
    next = issue(index, s, step, t);
  }
  bool jumped =
      w.at < w.trace->steps.size() && w.trace->steps[w.at].inst != s.next;
  if (jumped) {
    stall(index, step.inst, Stall::Branch, next, in.chip.branchTaken - kIssue);
    next += in.chip.branchTaken - kIssue;
  }
  push(index, next);
}

void Replay::summariseLoop() {
  std::vector<std::pair<double, double>> spans;
  double passes = 0, clocks = 0;
  for (const Group &g : groups) {
    double perWave = double(g.loopPasses) /
                     double(std::max<size_t>(g.trace->waves.size(), 1));
    if (perWave < 2 || g.loopLast <= g.loopFirst)
      continue;
    spans.push_back({g.loopFirst, g.loopLast});
    // The last pass lies behind the last visit of the first instruction.
    result.loopMatrixClocks += g.loopMatrix * (perWave - 1) / perWave;
    passes += perWave - 1;
    clocks += g.loopLast - g.loopFirst;
  }
  std::sort(spans.begin(), spans.end());
  double end = 0;
  for (auto [from, to] : spans) {
    result.loopClocks += std::max(0.0, to - std::max(from, end));
    end = std::max(end, to);
  }
  result.iterationClocks = passes ? clocks / passes : 0;
}

void Replay::summarise() {
  for (const Group &g : groups)
    result.clocks = std::max(result.clocks, g.end);
  std::sort(result.endings.begin(), result.endings.end());
  result.ldsClocks = lds.busy();
  result.vmemClocks = vmem.unitBusy();
  result.returnClocks = vmem.returnBusy();
  result.inFlightWait = vmem.inFlightWait();
  for (Level level : {Level::L2, Level::Mall, Level::Hbm}) {
    const Channel &c = vmem.channel(level);
    result.levelBytes[size_t(level)] = c.moved;
    result.levelBusy[size_t(level)] = c.moved / c.rate;
  }
  result.l1HitRate = vmem.l1Requests() ? 1 - double(vmem.l1Misses()) /
                                                 double(vmem.l1Requests())
                                       : 0;
  summariseLoop();
}

UnitResult Replay::run() {
  while (groups.size() < jobs.size() && groups.size() < in.dispatch.resident)
    startGroup(0);
  while (!events.empty()) {
    Event e = events.top();
    events.pop();
    step(e.wave, e.time);
  }
  summarise();
  return std::move(result);
}

} // namespace

const char *stallName(Stall cause) {
  static const char *const names[] = {
      "matrix unit",   "matrix result", "vector result",
      "issue port",    "LDS queue",     "vector memory queue",
      "load from L1",  "load from L2",  "load from MALL",
      "load from HBM", "store",         "LDS",
      "scalar load",   "barrier",       "s_nop",
      "branch"};
  return names[int(cause)];
}

MainLoop findMainLoop(const CodeObject &object, const StaticTable &table,
                      const std::vector<const WorkgroupTrace *> &jobs) {
  std::vector<uint64_t> visits(table.size());
  if (!jobs.empty())
    for (const WaveTrace &wave : jobs.front()->waves)
      for (const TraceStep &step : wave.steps)
        ++visits[step.inst];
  MainLoop best;
  double bestWeight = 0;
  // In ascending order of their ends: an inner loop comes before the outer one,
  // which must hold clearly more to win.
  for (uint32_t i = 0; i < table.size(); ++i) {
    int32_t target = object.program()[i].target;
    if (target < 0 || uint32_t(target) > i || visits[i] < 2)
      continue;
    double weight = 0;
    for (uint32_t k = uint32_t(target); k <= i; ++k)
      weight += double(visits[k]) * (table[k].pipe ? 1e3 * table[k].pipe : 4);
    if (weight > 1.5 * bestWeight) {
      best = {uint32_t(target), i, true};
      bestWeight = weight;
    }
  }
  return best;
}

UnitResult replay(const UnitInput &input,
                  const std::vector<const WorkgroupTrace *> &jobs) {
  return Replay(input, jobs).run();
}

} // namespace hk::emu
