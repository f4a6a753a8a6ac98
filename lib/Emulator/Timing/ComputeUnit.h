//===- ComputeUnit.h - Replay of traces on a compute unit -------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Four SIMDs with their issue ports and matrix units, the LDS, and the vector
// memory unit, fed with the traces of the workgroups that one compute unit
// gets.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_TIMING_COMPUTEUNIT_H
#define HK_LIB_EMULATOR_TIMING_COMPUTEUNIT_H

#include "MemoryUnits.h"

namespace hk::emu {

/// What keeps a wave from issuing its next instruction.
enum class Stall : uint8_t {
  MatrixUnit,   ///< busy with another product
  MatrixResult, ///< an operand comes out of the matrix unit
  ValuResult,
  Port, ///< another wave issues there
  LdsQueue,
  VmemQueue,
  WaitL1, ///< s_waitcnt for a load, by the level that served it last
  WaitL2,
  WaitMall,
  WaitHbm,
  WaitStore,
  WaitLds,
  WaitScalar,
  Barrier,
  Nop, ///< s_nop and s_sleep
  Branch,
  Count
};
const char *stallName(Stall cause);
using StallClocks = std::array<double, size_t(Stall::Count)>;

/// The loop in which the kernel spends its matrix (or all other) instructions.
struct MainLoop {
  uint32_t first = 0, last = 0; ///< instructions
  bool exists = false;
  bool contains(uint32_t inst) const {
    return exists && inst >= first && inst <= last;
  }
};
MainLoop findMainLoop(const CodeObject &object, const StaticTable &table,
                      const std::vector<const WorkgroupTrace *> &jobs);

/// One bar of a timeline.
struct TimelineEvent {
  unsigned wave = 0, simd = 0; ///< wave: counted over the replay
  const char *name = "";
  uint32_t inst = 0;
  double start = 0, clocks = 0;
};

struct UnitResult {
  double clocks = 0;           ///< until the last workgroup has ended
  std::vector<double> endings; ///< of the workgroups, in order of time
  uint64_t steps = 0;
  double matrixClocks = 0, valuClocks = 0, scalarClocks = 0;
  double ldsClocks = 0, vmemClocks = 0, returnClocks = 0;
  std::array<double, size_t(Level::Count)> levelBytes{}, levelBusy{};
  double l1HitRate = 0, inFlightWait = 0;
  StallClocks stalls{};
  std::map<uint32_t, StallClocks> stallsOf; ///< by instruction
  std::array<double, size_t(FlopType::Count)> flops{};
  double waveClocks = 0; ///< summed over waves, from start to end
  // The main loop.
  double loopClocks = 0, loopMatrixClocks = 0, iterationClocks = 0;
  std::vector<TimelineEvent> timeline;
};

struct UnitInput {
  const ChipTiming &chip;
  const StaticTable &table;
  const MemoryLevels &levels;
  const Dispatch &dispatch;
  MainLoop loop;
  size_t timelineEvents = 0; ///< bars to keep
};

/// Runs the jobs, as many at a time as fit.
UnitResult replay(const UnitInput &input,
                  const std::vector<const WorkgroupTrace *> &jobs);

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_TIMING_COMPUTEUNIT_H
