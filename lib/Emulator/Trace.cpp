//===- Trace.cpp - What waves executed, for a later replay ----------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recording. The lines of an instruction are distinct and in ascending order;
// one that has two accesses (ds_read2, buffers that end inside a vector) adds
// them up.
//
//===----------------------------------------------------------------------===//

#include "Trace.h"
#include "MemoryAccess.h"
#include <algorithm>
#include <string_view>

namespace hk::emu {

TraceAccess &WaveTrace::access() {
  TraceStep &step = steps.back();
  if (step.access == TraceStep::kNone) {
    step.access = uint32_t(accesses.size());
    accesses.emplace_back();
    accesses.back().firstLine = uint32_t(lines.size());
  }
  return accesses[step.access];
}

uint64_t WorkgroupTrace::steps() const {
  uint64_t n = 0;
  for (const WaveTrace &wave : waves)
    n += wave.steps.size();
  return n;
}

void WorkgroupTrace::barrier(bool looked, bool worked) {
  constexpr size_t kMostBarriers = 4; // of a round
  if (worked)
    marks.clear();
  marks.push_back({looked, {}});
  for (const WaveTrace &wave : waves)
    marks.back().ends.push_back(
        {wave.steps.size(), wave.accesses.size(), wave.lines.size()});
  for (size_t period = 1; period <= kMostBarriers; ++period) {
    if (!repeats(period))
      continue;
    marks.resize(marks.size() - period);
    for (size_t i = 0; i < waves.size(); ++i) {
      const auto &end = marks.back().ends[i];
      waves[i].steps.resize(end[0]);
      waves[i].accesses.resize(end[1]);
      waves[i].lines.resize(end[2]);
    }
    return;
  }
  if (marks.size() > 2 * kMostBarriers)
    marks.erase(marks.begin());
}

/// Whether the last `period` barriers had a look among them and ran the same
/// instructions on the same lines as those before.
bool WorkgroupTrace::repeats(size_t period) const {
  if (marks.size() <= 2 * period)
    return false;
  const Mark *end = &marks.back();
  bool looked = false;
  for (size_t i = 0; i < period; ++i)
    looked |= (end - i)->looked;
  if (!looked)
    return false;
  for (size_t i = 0; i < waves.size(); ++i) {
    auto part = [&](const auto &all, unsigned which, size_t from, size_t to) {
      return std::vector(all.begin() + long((end - from)->ends[i][which]),
                         all.begin() + long((end - to)->ends[i][which]));
    };
    const WaveTrace &wave = waves[i];
    auto sameStep = [](const TraceStep &a, const TraceStep &b) {
      return a.inst == b.inst;
    };
    auto before = part(wave.steps, 0, 2 * period, period);
    auto now = part(wave.steps, 0, period, 0);
    if (!std::equal(before.begin(), before.end(), now.begin(), now.end(),
                    sameStep) ||
        part(wave.lines, 2, 2 * period, period) !=
            part(wave.lines, 2, period, 0))
      return false;
  }
  return true;
}

Tracer::Tracer(std::vector<uint32_t> plan, bool only, uint64_t byteBudget)
    : wanted(std::move(plan)), runsNoOther(only), budget(byteBudget) {
  for (uint32_t linear : wanted) {
    if (linear >= isWanted.size())
      isWanted.resize(linear + 1);
    isWanted[linear] = true;
  }
}

bool Tracer::full() {
  std::lock_guard<std::mutex> lock(mutex);
  return used >= budget;
}

WorkgroupTrace *Tracer::begin(uint32_t linear, size_t waves) {
  std::lock_guard<std::mutex> lock(mutex);
  if (linear >= isWanted.size() || !isWanted[linear] || used >= budget)
    return nullptr;
  auto &trace = open[linear];
  trace = std::make_unique<WorkgroupTrace>();
  trace->linear = linear;
  trace->waves.resize(waves);
  return trace.get();
}

void Tracer::end(uint32_t linear, uint64_t instructions) {
  std::lock_guard<std::mutex> lock(mutex);
  auto entry = open.find(linear);
  // Rounds of a wait that the trace leaves out are no work.
  executed[linear] = entry == open.end()
                         ? instructions
                         : std::min(instructions, entry->second->steps());
  if (entry == open.end())
    return;
  for (const WaveTrace &wave : entry->second->waves)
    used += wave.bytes();
  done[linear] = std::move(entry->second);
  open.erase(entry);
}

/// A wave that looks again and again at what another workgroup will change: how
/// often depends on the emulator's turns, so one round of the loop stays in the
/// trace. Such a look is a load of device scope or an atomic with a result, and
/// nothing but it touches memory in the loop; of a workgroup of one wave, which
/// has no barriers, nothing but it touches global memory.
static void dropEarlierLook(Wave &w) {
  constexpr size_t kLongestLoop = 64;
  WaveTrace &trace = *w.trace;
  uint32_t inst = trace.steps.back().inst;
  const Inst &look = w.object->program()[inst];
  bool isAtomic = std::string_view(look.text).find("_atomic_") < 32;
  if (!(isAtomic ? look.m.sc0 : look.m.sc1))
    return;
  const TraceAccess &now = trace.accesses.back();
  size_t last = trace.steps.size() - 1;
  const size_t first = last - std::min(last, kLongestLoop);
  for (size_t i = last; i > first; --i) {
    const TraceStep &step = trace.steps[i - 1];
    if (step.access == TraceStep::kNone)
      continue;
    const TraceAccess &before = trace.accesses[step.access];
    if (!before.lines && w.wg->waves.size() == 1)
      continue;
    const uint64_t *lines = trace.lines.data();
    if (step.inst != inst || before.lines != now.lines ||
        before.bytes != now.bytes ||
        !std::equal(lines + before.firstLine,
                    lines + before.firstLine + before.lines,
                    lines + now.firstLine))
      return;
    trace.lines.resize(before.firstLine + before.lines);
    trace.accesses.resize(step.access + 1);
    trace.steps.resize(i);
    return;
  }
}

void traceGlobal(Wave &w, const LaneAddresses &at, unsigned bytes, bool write) {
  uint64_t lines[2 * kLanes];
  unsigned n = 0;
  for (uint64_t m = at.mask; m; m &= m - 1) {
    uint64_t a = at.a[__builtin_ctzll(m)];
    for (uint64_t line : {a / kLineBytes, (a + bytes - 1) / kLineBytes})
      if (!n || lines[n - 1] != line)
        lines[n++] = line;
  }
  std::sort(lines, lines + n);
  n = unsigned(std::unique(lines, lines + n) - lines);
  TraceAccess &access = w.trace->access();
  w.trace->lines.insert(w.trace->lines.end(), lines, lines + n);
  access.lines += n;
  access.bytes += unsigned(__builtin_popcountll(at.mask)) * bytes;
  access.write |= write;
  dropEarlierLook(w);
}

void traceLds(Wave &w, unsigned phases) {
  TraceAccess &access = w.trace->access();
  access.ldsPhases = uint16_t(access.ldsPhases + phases);
}

} // namespace hk::emu
