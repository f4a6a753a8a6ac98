//===- Trace.h - What waves executed, for a later replay --------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The emulator executes and knows no time; the timing model replays and knows
// no values. Between them lies a trace: for chosen workgroups, the instructions
// of each wave in order, with the LDS phases and the cache lines that memory
// instructions touched.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_TRACE_H
#define HK_LIB_EMULATOR_TRACE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace hk::emu {

struct Wave;
struct LaneAddresses;
struct LdsAddresses;

/// Lines of the vector caches, in bytes.
constexpr unsigned kLineBytes = 128;

/// What one memory instruction touched.
struct TraceAccess {
  uint32_t firstLine = 0; ///< in WaveTrace::lines
  uint32_t lines = 0;     ///< distinct lines, counted as byte address / 128
  uint32_t bytes = 0;     ///< that lanes asked for in global memory
  uint16_t ldsPhases = 0; ///< clocks on the LDS banks
  bool write = false;     ///< of global memory
};

struct TraceStep {
  static constexpr uint32_t kNone = ~0u;
  uint32_t inst = 0;       ///< index in the program
  uint32_t access = kNone; ///< in WaveTrace::accesses
};

struct WaveTrace {
  std::vector<TraceStep> steps;
  std::vector<TraceAccess> accesses;
  std::vector<uint64_t> lines;

  void begin(uint32_t inst) { steps.push_back({inst, TraceStep::kNone}); }
  /// The access of the instruction that runs; made on first use.
  TraceAccess &access();
  uint64_t bytes() const {
    return steps.size() * sizeof(TraceStep) +
           accesses.size() * sizeof(TraceAccess) + lines.size() * 8;
  }
};

struct WorkgroupTrace {
  uint32_t linear = 0;
  std::vector<WaveTrace> waves;
  uint64_t steps() const;
  /// All waves stand at a barrier, since the last one of which they looked at
  /// what another workgroup may change, or did anything else to global memory.
  /// Of rounds of a loop in which they only look, one stays in the trace.
  void barrier(bool looked, bool worked);

private:
  /// The ends of the waves' vectors at a barrier.
  struct Mark {
    bool looked;
    std::vector<std::array<size_t, 3>> ends;
  };
  std::vector<Mark> marks; ///< of barriers since waves worked
  bool repeats(size_t period) const;
};

/// Traces chosen workgroups of one launch. Threads may begin and end different
/// workgroups at once.
class Tracer {
public:
  /// `plan`: linear workgroup numbers, the most wanted first. `only`: no other
  /// workgroup runs, so that the launch's results are incomplete. No workgroup
  /// is begun once the traces take `byteBudget`.
  Tracer(std::vector<uint32_t> plan, bool only, uint64_t byteBudget);

  bool only() const { return runsNoOther; }
  const std::vector<uint32_t> &plan() const { return wanted; }
  bool full();
  /// Null: this workgroup is not traced.
  WorkgroupTrace *begin(uint32_t linear, size_t waves);
  /// Any workgroup has ended after so many wave instructions.
  void end(uint32_t linear, uint64_t instructions);

  /// Traced workgroups that ended, by number.
  const std::map<uint32_t, std::unique_ptr<WorkgroupTrace>> &traces() const {
    return done;
  }
  /// Wave instructions of every workgroup that ended, traced or not.
  const std::map<uint32_t, uint64_t> &work() const { return executed; }

private:
  const std::vector<uint32_t> wanted;
  const bool runsNoOther;
  const uint64_t budget;
  std::mutex mutex;
  uint64_t used = 0;
  std::vector<bool> isWanted;
  std::map<uint32_t, std::unique_ptr<WorkgroupTrace>> open, done;
  std::map<uint32_t, uint64_t> executed;
};

/// Adds an access of the wave's running instruction to its trace.
void traceGlobal(Wave &w, const LaneAddresses &at, unsigned bytes, bool write);
void traceLds(Wave &w, unsigned phases);

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_TRACE_H
