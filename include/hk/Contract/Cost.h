//===- Cost.h - Modelled run time of a kernel launch -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Terms that rank tiles of one kernel and compare fusions; never a promise of
// a run time: the rates of a chip, and what a launch takes beside others.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_COST_H
#define HK_CONTRACT_COST_H

#include "hk/Contract/CalibrationSm90.h"
#include "hk/Contract/Lds.h"
#include "hk/Contract/Occupancy.h"
#include "hk/Contract/Order.h"

namespace hk {

/// Peak shader clock, GHz: AMD MI325X, MI355X and RX 7900 XTX product pages;
/// NVIDIA H200 datasheet; a typical server core.
constexpr double clockGHz(const Target &target) {
  switch (target.arch) {
  case Arch::Gfx942:
  case Arch::Tiny:
    return 2.1;
  case Arch::Gfx950:
    return 2.4;
  case Arch::Gfx1100:
    return 2.5;
  case Arch::Sm90a:
    return 1.98;
  case Arch::Host:
    break;
  }
  return 2.8;
}

/// Whether a row-wise kernel is sooner bound by the vector units than by
/// memory: a SIMD of CDNA issues one instruction of a wave in four clocks, 5 to
/// 7 of a lane for each byte of memory. So idle lanes cost what they would have
/// done, and what a thread does once is shared by as many chunks as it may
/// have.
constexpr bool boundByIssue(const Target &target) {
  return target.arch == Arch::Gfx942 || target.arch == Arch::Gfx950;
}

/// Rate of a matrix operand dtype relative to bf16.
constexpr double matrixRate(const Target &target, DType operand) {
  if (target.arch == Arch::Host)
    return 1.0;
  if (operand == DType::F32)
    return target.waveSize == 64 ? 0.125 : 0.0625;
  return info(operand).bits == 8 ? 2.0 : 1.0;
}

constexpr double blocksRate(const Target &target, DType operand) {
  if (target.arch != Arch::Sm90a)
    return 1.0;
  if (operand == DType::F32)
    return Sm90Calibration::kBlocksF32;
  return isFp8(operand) ? Sm90Calibration::kBlocksFp8
                        : Sm90Calibration::kBlocks;
}

/// Time from a global load to its data, microseconds.
inline constexpr double kMemoryMicroseconds = 0.9;

constexpr double costMax(double a, double b) { return a > b ? a : b; }
constexpr double ceilDiv(double a, double b) {
  int64_t q = int64_t(a / b);
  return double(q) * b < a ? double(q + 1) : double(q);
}

/// A launch as its model sees it, alone or beside others.
struct LaunchLoad {
  double microseconds; // alone
  double blocks;
  int64_t ldsBytes;
  double unitShare = 1; // see Family::getUnitShare
};

/// The `count` problems of `loads` in one launch: every one takes at least its
/// own time, and together they take what they need of the chip. A problem whose
/// blocks find less room than alone, beside LDS of another's size, takes longer
/// by as much.
constexpr double sharedMicroseconds(const Target &target,
                                    const LaunchLoad *loads, int32_t count,
                                    int64_t threads) {
  int64_t lds = 0;
  for (int32_t i = 0; i < count; ++i)
    lds = loads[i].ldsBytes > lds ? loads[i].ldsBytes : lds;
  double together = residentBlocks(target, lds, threads);
  double units = target.computeUnits, longest = 0, work = 0, memory = 0;
  for (int32_t i = 0; i < count; ++i) {
    double perUnit = ceilDiv(loads[i].blocks, units);
    double alone = residentBlocks(target, loads[i].ldsBytes, threads);
    double had = alone < perUnit ? alone : perUnit;
    double time = loads[i].microseconds - target.launchMicroseconds;
    time *= costMax(1, had / together);
    double share = loads[i].blocks < units ? loads[i].blocks / units : 1;
    longest = costMax(longest, time);
    work += time * share * loads[i].unitShare;
    memory += loads[i].unitShare < 1 ? time : 0;
  }
  return target.launchMicroseconds + costMax(costMax(longest, memory), work);
}

/// From the last store of blocks that others of their launch wait for to the
/// first load of these: the count goes to the memory that blocks share, and a
/// look at it there and back.
inline constexpr double kWaitMicroseconds = 2 * kMemoryMicroseconds;

/// What `waits` one behind the other save in a launch beside as many launches;
/// where blocks draw their numbers that is one more trip to memory.
constexpr double orderedSavingMicroseconds(const Target &target, int waits) {
  return waits * (target.launchMicroseconds - kWaitMicroseconds) -
         (waits && drawsBlockNumbers(target) ? kMemoryMicroseconds : 0);
}

/// What a wait must be modelled to save. An H100 (results/h100-ordered-
/// launches.md) gained 1.0 to 1.4 us a wait with up to 64 tokens where the
/// model says 1.2; this is twice what it was wrong by.
inline constexpr double kOrderMarginMicroseconds = 0.4;
/// And all waits of a function together, beside the launch that zeroes their
/// counters: an H100 lost 1.7 us where three small ones were to gain 0.6.
inline constexpr double kOrderedFunctionMicroseconds = 1;

/// Partial results that their combination loads at a time.
inline constexpr int32_t kCombineInFlight = 8;

/// The second step of a split: reads and writes `bytes`, in a kernel that runs
/// anyway (and waits for one load) or in one of its own. `weighs`: parts are
/// not added but weighed, which takes its time where clocks of that are known.
constexpr double combineMicroseconds(const Target &target, int64_t parts,
                                     double bytes, bool ownLaunch,
                                     bool weighs = false) {
  const FlightCalibration *flight = flightCalibration(target);
  if (weighs && flight) {
    double clocks = flight->combineClocks + double(parts) * flight->partClocks;
    return bytes / (target.memoryGBps * 1e3) +
           clocks / (clockGHz(target) * 1e3) +
           (ownLaunch ? target.launchMicroseconds : 0);
  }
  double waits = ceilDiv(double(parts), kCombineInFlight);
  return bytes / (target.memoryGBps * 1e3) +
         (ownLaunch ? target.launchMicroseconds + waits * kMemoryMicroseconds
                    : (waits - 1) * kMemoryMicroseconds);
}

} // namespace hk

#endif // HK_CONTRACT_COST_H
