//===- MemoryLevels.h - Which level serves each line ------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The L2 of one XCD over the line streams of the workgroups that are resident
// together, at the addresses they really used. What misses comes from the cache
// behind it (MALL) or from memory.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_TIMING_MEMORYLEVELS_H
#define HK_LIB_EMULATOR_TIMING_MEMORYLEVELS_H

#include "LineCache.h"
#include "Occupancy.h"
#include <array>
#include <unordered_map>

namespace hk::emu {

enum class Level : uint8_t { L1, L2, Mall, Hbm, Count };

/// Where a line comes from. One that another resident workgroup asks for at the
/// same time is `shared`: it takes as long, but is fetched once.
struct LineSource {
  Level level = Level::L2;
  bool shared = false;
};

class MemoryLevels {
public:
  /// `warm`: what fits into the MALL is there before the launch.
  MemoryLevels(const ChipTiming &chip, const Dispatch &dispatch,
               const Tracer &tracer, const Memory &memory, bool warm);

  /// The level of each of the wave's lines where the L1 misses.
  const std::vector<LineSource> &of(const WaveTrace &wave) const {
    return levels.at(&wave);
  }
  /// Share of line requests to the L2 that hit, of all traced ones.
  double l2HitRate() const {
    return requests ? 1 - double(misses) / double(requests) : 0;
  }
  /// Bytes that the MALL and that memory send in the whole launch.
  double bytesFrom(Level level) const { return sent[size_t(level)]; }
  /// Distinct bytes of the whole launch, estimated from the first XCD's.
  double footprint() const { return bytes; }

private:
  using Round = std::vector<const WorkgroupTrace *>;

  std::map<const WaveTrace *, std::vector<LineSource>> levels;
  /// Lines the first XCD has touched, with what behind the L2 has them.
  std::unordered_map<uint64_t, Level> seen;
  uint64_t requests = 0, misses = 0;
  double bytes = 0;
  std::array<double, size_t(Level::Count)> sent{};

  void runRound(const Round &round, LineCache &l2);
  void touch(const WaveTrace &wave, const TraceAccess &access, size_t slice,
             LineCache &l2);
  void splitMisses(double scale, const ChipTiming &chip,
                   const Dispatch &dispatch, const Memory &memory, bool warm);
};

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_TIMING_MEMORYLEVELS_H
