//===- MemoryLevels.cpp - Which level serves each line --------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Resident workgroups are taken to advance at the same pace: one access of
// every wave after the other, in a new random order each time, so that nobody
// always fetches what all share. Only one XCD is
// looked at, so how much of what it misses another XCD has brought to the MALL
// before is an estimate: XCDs touch as many distinct lines as this one, but no
// allocation has more lines than its size. Lines that fall out of the L2 and
// come back are in the MALL if the launch's footprint fits.
//
//===----------------------------------------------------------------------===//

#include "MemoryLevels.h"
#include <algorithm>
#include <random>

namespace hk::emu {
namespace {

/// Between the L2 pass and the choice of what lies behind it, a first miss is
/// marked Hbm and a repeated one Mall.
constexpr Level kFirstMiss = Level::Hbm, kMissedAgain = Level::Mall;

/// Takes a share of a sequence of decisions, evenly.
class Spread {
public:
  explicit Spread(double share) : share(share) {}
  bool next() {
    sum += share;
    if (sum < 1)
      return false;
    sum -= 1;
    return true;
  }

private:
  double share, sum = 0;
};

} // namespace

MemoryLevels::MemoryLevels(const ChipTiming &chip, const Dispatch &dispatch,
                           const Tracer &tracer, const Memory &memory,
                           bool warm) {
  Round traced;
  for (const auto &[linear, trace] : tracer.traces())
    if (linear % dispatch.xcds == 0)
      traced.push_back(trace.get());
  const uint64_t resident =
      std::min<uint64_t>(uint64_t(dispatch.resident) * dispatch.unitsPerXcd,
                         dispatch.ofFirstXcd());
  const size_t round = std::min<size_t>(traced.size(), resident);
  if (!round)
    return;
  // Fewer traced than resident ones share a part of the cache.
  constexpr unsigned ways = 16;
  double part = double(round) / double(resident);
  LineCache l2(uint64_t(part * chip.l2Bytes / kLineBytes / ways), ways, true);
  for (size_t i = 0; i < traced.size(); i += round)
    runRound({traced.begin() + ptrdiff_t(i),
              traced.begin() + ptrdiff_t(std::min(i + round, traced.size()))},
             l2);
  splitMisses(double(dispatch.ofFirstXcd()) / double(traced.size()), chip,
              dispatch, memory, warm);
}

void MemoryLevels::runRound(const Round &round, LineCache &l2) {
  size_t most = 0;
  for (const WorkgroupTrace *group : round)
    for (const WaveTrace &wave : group->waves) {
      levels[&wave].reserve(wave.lines.size());
      most = std::max(most, wave.accesses.size());
    }
  Round order = round;
  std::mt19937 random(1); // results must not change from run to run
  for (size_t slice = 0; slice < most; ++slice) {
    std::shuffle(order.begin(), order.end(), random);
    for (const WorkgroupTrace *group : order)
      for (const WaveTrace &wave : group->waves) {
        // A shorter wave is spread over the same time.
        size_t n = wave.accesses.size();
        for (size_t i = slice * n / most; i < (slice + 1) * n / most; ++i)
          touch(wave, wave.accesses[i], slice, l2);
      }
  }
}

void MemoryLevels::touch(const WaveTrace &wave, const TraceAccess &access,
                         size_t slice, LineCache &l2) {
  std::vector<LineSource> &out = levels[&wave];
  for (uint32_t k = 0; k < access.lines; ++k) {
    uint64_t line = wave.lines[access.firstLine + k];
    ++requests;
    if (LineCache::Entry *entry = l2.find(line)) {
      bool comes = entry->value == double(slice);
      out.push_back({comes ? kFirstMiss : Level::L2, comes});
      continue;
    }
    ++misses;
    l2.insert(line, double(slice));
    bool first = seen.insert({line, kFirstMiss}).second;
    out.push_back({first ? kFirstMiss : kMissedAgain, false});
  }
}

void MemoryLevels::splitMisses(double scale, const ChipTiming &chip,
                               const Dispatch &dispatch, const Memory &memory,
                               bool warm) {
  std::map<const Allocation *, double> linesOf;
  for (const auto &[line, level] : seen)
    linesOf[memory.owner(line * kLineBytes)] += 1;
  std::map<const Allocation *, Spread> fromMemory;
  for (const auto &[allocation, lines] : linesOf) {
    double all = lines * scale *
                 double(std::min<uint64_t>(dispatch.xcds, dispatch.workgroups));
    double distinct = all;
    if (allocation)
      distinct = std::min(distinct, double(allocation->size / kLineBytes + 2));
    bytes += distinct * kLineBytes;
    fromMemory.emplace(allocation, Spread(distinct / all));
  }
  const bool fits = bytes <= chip.mallBytes;
  for (auto &[wave, list] : levels)
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i].shared || list[i].level == Level::L2)
        continue;
      uint64_t line = wave->lines[i];
      if (list[i].level == kMissedAgain) {
        list[i].level = fits ? Level::Mall : Level::Hbm;
      } else {
        Spread &spread = fromMemory.at(memory.owner(line * kLineBytes));
        bool far = spread.next() && !(warm && fits);
        list[i].level = far ? Level::Hbm : Level::Mall;
      }
      seen[line] = list[i].level;
      double lines = scale * double(std::min<uint64_t>(dispatch.xcds,
                                                       dispatch.workgroups));
      sent[size_t(Level::Mall)] += lines * kLineBytes;
      if (list[i].level == Level::Hbm)
        sent[size_t(Level::Hbm)] += lines * kLineBytes;
    }
  for (auto &[wave, list] : levels)
    for (size_t i = 0; i < list.size(); ++i)
      if (list[i].shared)
        list[i].level = seen[wave->lines[i]];
}

} // namespace hk::emu
