//===- MemoryUnits.h - LDS and vector memory of a compute unit --*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// When memory instructions may issue and when their data are there. Times are
// clocks since the compute unit began; instructions arrive in order of time.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_TIMING_MEMORYUNITS_H
#define HK_LIB_EMULATOR_TIMING_MEMORYUNITS_H

#include "MemoryLevels.h"
#include "StaticTable.h"
#include <array>
#include <deque>
#include <queue>

namespace hk::emu {

/// A queue that takes an instruction when one of its entries has left.
class EntryQueue {
public:
  explicit EntryQueue(double entries) : leaves(size_t(entries), 0) {}
  double earliest() const { return leaves[next]; }
  void enter(double left) {
    leaves[next] = left;
    next = (next + 1) % leaves.size();
  }

private:
  std::vector<double> leaves; ///< a ring: when the entries are free again
  size_t next = 0;
};

/// The banks, as each pair of SIMDs sees them, behind a queue.
class LdsUnit {
public:
  explicit LdsUnit(const ChipTiming &chip);
  double earliest(unsigned simd) const { return queue[simd / 2].earliest(); }
  /// When an instruction of so many phases is done.
  double issue(double t, unsigned simd, unsigned phases);
  double busy() const { return busyClocks; } ///< of both pairs

private:
  const double phase, trip;
  std::array<EntryQueue, 2> queue;
  double free[2] = {0, 0}, busyClocks = 0;
};

/// Something that moves bytes at a rate.
struct Channel {
  double rate = 1, free = 0, moved = 0;
  /// When `bytes` that are asked for at `t` have passed.
  double take(double t, double bytes) {
    free = std::max(free, t) + bytes / rate;
    moved += bytes;
    return free;
  }
};

struct VectorAccess {
  double done = 0;
  Level level = Level::L1; ///< the one waited for
};

/// The vector memory unit and its L1, with this compute unit's part of the
/// levels behind it.
class VectorMemory {
public:
  VectorMemory(const ChipTiming &chip, const Dispatch &dispatch);
  double earliest() const { return queue.earliest(); }
  /// `access` is null where no lane was active; lines have one level each.
  VectorAccess issue(double t, const StaticInst &inst, const WaveTrace &wave,
                     const TraceAccess *access,
                     const std::vector<LineSource> &levels);

  double unitBusy() const { return unitClocks; }
  double returnBusy() const { return returns.moved / returns.rate; }
  const Channel &channel(Level level) const { return channels[int(level)]; }
  uint64_t l1Requests() const { return requested; }
  uint64_t l1Misses() const { return missed; }
  /// Clocks in which a load waited for bytes in flight to return.
  double inFlightWait() const { return flightClocks; }

private:
  const ChipTiming &chip;
  EntryQueue queue;
  LineCache l1;
  double unitFree = 0, unitClocks = 0, flightClocks = 0;
  uint64_t requested = 0, missed = 0;
  Channel returns, channels[int(Level::Count)];
  using Flight = std::pair<double, double>; ///< when it is back, bytes
  /// Loads on their way, the next to return on top.
  std::priority_queue<Flight, std::vector<Flight>, std::greater<Flight>> flight;
  double flightBytes = 0;

  double startLoad(double t, double bytes);
  double missedBytes(const WaveTrace &wave, const TraceAccess &access) const;
  double fetch(double t, LineSource source);
  VectorAccess load(double start, double end, const WaveTrace &wave,
                    const TraceAccess &access,
                    const std::vector<LineSource> &levels);
  VectorAccess store(double end, const TraceAccess &access,
                     const std::vector<LineSource> &levels);
  VectorAccess scratch(double t, const StaticInst &inst);
};

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_TIMING_MEMORYUNITS_H
