//===- MemoryUnits.cpp - LDS and vector memory of a compute unit ----------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads of a wave retire in order, those of different waves need not. Each line
// that the L1 lacks passes the channels of all levels down to the one that has
// it; a channel's rate is this unit's share of
// the chip's, as all units are taken to do the same.
//
//===----------------------------------------------------------------------===//

#include "MemoryUnits.h"
#include <algorithm>

namespace hk::emu {

LdsUnit::LdsUnit(const ChipTiming &chip)
    : phase(chip.ldsPhase), trip(chip.ldsTrip),
      queue{EntryQueue(chip.ldsQueue), EntryQueue(chip.ldsQueue)} {}

double LdsUnit::issue(double t, unsigned simd, unsigned phases) {
  unsigned pair = simd / 2;
  double clocks = phase * phases;
  double end = std::max(free[pair], t) + clocks;
  free[pair] = end;
  busyClocks += clocks;
  queue[pair].enter(end);
  return end + trip;
}

VectorMemory::VectorMemory(const ChipTiming &chip, const Dispatch &dispatch)
    : chip(chip), queue(chip.vmemQueue),
      l1(uint64_t(chip.l1Sets),
         unsigned(chip.l1Bytes / kLineBytes / chip.l1Sets), false) {
  double units = dispatch.activeUnits();
  double all = std::min<double>(units * chip.xcds, double(dispatch.workgroups));
  double perClock = 1e3 / chip.peakMHz; // GB/s to bytes a clock
  returns.rate = chip.returnBytes;
  channels[int(Level::L1)].rate = chip.returnBytes;
  channels[int(Level::L2)].rate =
      std::min(chip.l2Rate / units, chip.returnBytes);
  channels[int(Level::Mall)].rate =
      std::min(chip.mallGBps * perClock / all, chip.returnBytes);
  channels[int(Level::Hbm)].rate =
      std::min(chip.hbmGBps * perClock / all, chip.returnBytes);
}

/// When a load of so many bytes may go: enough others have returned.
double VectorMemory::startLoad(double t, double bytes) {
  double start = t;
  while (!flight.empty() && (flight.top().first <= start ||
                             flightBytes + bytes > chip.bytesInFlight)) {
    start = std::max(start, flight.top().first);
    flightBytes -= flight.top().second;
    flight.pop();
  }
  flightClocks += start - t;
  return start;
}

double VectorMemory::missedBytes(const WaveTrace &wave,
                                 const TraceAccess &access) const {
  double bytes = 0;
  for (uint32_t k = 0; k < access.lines; ++k)
    if (!l1.holds(wave.lines[access.firstLine + k]))
      bytes += kLineBytes;
  return bytes;
}

/// When a line that is asked for at `t` arrives from this level.
double VectorMemory::fetch(double t, LineSource source) {
  double at = channels[int(Level::L2)].take(t, kLineBytes) + chip.l2Trip;
  double bytes = source.shared ? 0 : kLineBytes;
  if (source.level == Level::Mall || source.level == Level::Hbm)
    at =
        std::max(at, channels[int(Level::Mall)].take(t, bytes) + chip.mallTrip);
  if (source.level == Level::Hbm)
    at = std::max(at, channels[int(Level::Hbm)].take(t, bytes) + chip.hbmTrip);
  return at;
}

VectorAccess VectorMemory::load(double start, double end, const WaveTrace &wave,
                                const TraceAccess &access,
                                const std::vector<LineSource> &levels) {
  VectorAccess result;
  double arrives = end + chip.l1Trip;
  for (uint32_t k = access.firstLine; k < access.firstLine + access.lines;
       ++k) {
    ++requested;
    if (LineCache::Entry *hit = l1.find(wave.lines[k])) {
      if (hit->value > arrives)
        result.level = Level::L2; // it is on its way
      arrives = std::max(arrives, hit->value);
      continue;
    }
    ++missed;
    double at = fetch(start, levels[k]);
    l1.insert(wave.lines[k], at);
    if (at > arrives || levels[k].level > result.level)
      result.level = levels[k].level;
    arrives = std::max(arrives, at);
  }
  result.done = arrives + access.bytes / returns.rate;
  returns.take(end, access.bytes);
  result.done = std::max(result.done, returns.free);
  return result;
}

/// Stores pass to the L2 and, the first time, on to where the line will be
/// written back.
VectorAccess VectorMemory::store(double end, const TraceAccess &access,
                                 const std::vector<LineSource> &levels) {
  VectorAccess result;
  result.level = Level::L2;
  double arrives = end;
  for (uint32_t k = access.firstLine; k < access.firstLine + access.lines;
       ++k) {
    arrives = std::max(arrives, channels[int(Level::L2)].take(end, kLineBytes));
    if (levels[k].level == Level::L2 || levels[k].shared)
      continue;
    result.level = std::max(result.level, levels[k].level);
    arrives =
        std::max(arrives, channels[int(Level::Mall)].take(end, kLineBytes));
    if (levels[k].level == Level::Hbm)
      arrives =
          std::max(arrives, channels[int(Level::Hbm)].take(end, kLineBytes));
  }
  result.done = arrives + chip.l2Trip;
  return result;
}

/// Private memory is not traced by address: its lines are taken to hit the L2.
VectorAccess VectorMemory::scratch(double t, const StaticInst &inst) {
  double lines = std::max(1.0, double(kLanes) * inst.bytes / kLineBytes);
  double clocks = std::max(double(inst.unit), chip.lineClocks * lines);
  double start = std::max(unitFree, t);
  unitFree = start + clocks;
  unitClocks += clocks;
  queue.enter(unitFree);
  double at = channels[int(Level::L2)].take(start, lines * kLineBytes);
  return {at + chip.l2Trip, Level::L2};
}

VectorAccess VectorMemory::issue(double t, const StaticInst &inst,
                                 const WaveTrace &wave,
                                 const TraceAccess *access,
                                 const std::vector<LineSource> &levels) {
  if (inst.scratch)
    return scratch(t, inst);
  if (!access || !access->lines) {
    queue.enter(t + 4);
    return {t + chip.l1Trip, Level::L1};
  }
  double start = std::max(unitFree, t);
  double bytes = 0;
  if (inst.returns) {
    bytes = std::min(missedBytes(wave, *access), chip.bytesInFlight);
    start = startLoad(start, bytes);
  }
  double clocks =
      std::max(double(inst.unit), chip.lineClocks * double(access->lines));
  unitFree = start + clocks;
  unitClocks += clocks;
  queue.enter(unitFree);
  VectorAccess result = access->write
                            ? store(unitFree, *access, levels)
                            : load(start, unitFree, wave, *access, levels);
  if (inst.returns) {
    flight.push({result.done, bytes});
    flightBytes += bytes;
  }
  return result;
}

} // namespace hk::emu
