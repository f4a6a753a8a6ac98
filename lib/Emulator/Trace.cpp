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
  executed[linear] = instructions;
  auto entry = open.find(linear);
  if (entry == open.end())
    return;
  for (const WaveTrace &wave : entry->second->waves)
    used += wave.bytes();
  done[linear] = std::move(entry->second);
  open.erase(entry);
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
}

void traceLds(Wave &w, unsigned phases) {
  TraceAccess &access = w.trace->access();
  access.ldsPhases = uint16_t(access.ldsPhases + phases);
}

} // namespace hk::emu
