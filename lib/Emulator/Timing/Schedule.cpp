//===- Schedule.cpp - Workgroups of the busiest compute unit --------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Workgroups that did not run are taken to be as long as the mean of those that
// did.
//
//===----------------------------------------------------------------------===//

#include "Schedule.h"
#include <cmath>
#include <queue>

namespace hk::emu {
namespace {

/// Finds a trace for a workgroup that has none of its own.
class StandIns {
public:
  explicit StandIns(const std::map<uint32_t, const WorkgroupTrace *> &traces,
                    unsigned units) {
    // Those of one unit first: their neighbours run beside them, not before.
    std::vector<const WorkgroupTrace *> all;
    all.reserve(traces.size());
    for (const auto &[linear, trace] : traces)
      all.push_back(trace);
    for (size_t first = 0; first < std::min<size_t>(units, all.size()); ++first)
      for (size_t k = first; k < all.size(); k += units)
        byWork[all[k]->steps()].push_back(all[k]);
  }
  const WorkgroupTrace *find(double work) {
    auto after = byWork.lower_bound(uint64_t(work));
    auto best = after;
    if (after == byWork.end() ||
        (after != byWork.begin() &&
         work - double(std::prev(after)->first) < double(after->first) - work))
      best = std::prev(after);
    return best->second[turn++ % best->second.size()];
  }

private:
  std::map<uint64_t, std::vector<const WorkgroupTrace *>> byWork;
  size_t turn = 0;
};

/// The work of the first XCD's workgroups in order.
std::vector<double> workOf(const Dispatch &d, const Tracer &tracer) {
  double sum = 0;
  uint64_t known = 0;
  for (const auto &[linear, work] : tracer.work())
    if (linear % d.xcds == 0) {
      sum += double(work);
      ++known;
    }
  double mean = known ? sum / double(known) : 1;
  std::vector<double> list(d.ofFirstXcd(), mean);
  for (const auto &[linear, work] : tracer.work())
    if (linear % d.xcds == 0 && linear / d.xcds < list.size())
      list[linear / d.xcds] = double(work);
  return list;
}

} // namespace

std::vector<Job> busiestUnit(const Dispatch &d, const Tracer &tracer) {
  std::map<uint32_t, const WorkgroupTrace *> traces;
  for (const auto &[linear, trace] : tracer.traces())
    if (linear % d.xcds == 0)
      traces[linear] = trace.get();
  if (traces.empty())
    return {};
  // A slot is (time it is free, its number); slot s belongs to unit s % units.
  using Slot = std::pair<double, unsigned>;
  std::priority_queue<Slot, std::vector<Slot>, std::greater<Slot>> slots;
  for (unsigned s = 0; s < d.resident * d.unitsPerXcd; ++s)
    slots.push({0, s});
  std::vector<double> work = workOf(d, tracer);
  std::vector<std::vector<uint64_t>> jobsOf(d.unitsPerXcd);
  std::vector<double> load(d.unitsPerXcd), ends(d.unitsPerXcd);
  for (uint64_t j = 0; j < work.size(); ++j) {
    auto [time, slot] = slots.top();
    slots.pop();
    unsigned unit = slot % d.unitsPerXcd;
    jobsOf[unit].push_back(j);
    load[unit] += work[j];
    ends[unit] = std::max(ends[unit], time + work[j]);
    slots.push({time + work[j], slot});
  }
  unsigned busiest = 0;
  for (unsigned u = 1; u < d.unitsPerXcd; ++u)
    if (std::make_pair(ends[u], load[u]) >
        std::make_pair(ends[busiest], load[busiest]))
      busiest = u;
  StandIns standIns(traces, d.unitsPerXcd);
  std::vector<Job> jobs;
  for (uint64_t j : jobsOf[busiest]) {
    auto own = traces.find(uint32_t(j * d.xcds));
    jobs.push_back(
        {own != traces.end() ? own->second : standIns.find(work[j]), work[j]});
  }
  return jobs;
}

} // namespace hk::emu
