//===- Wave.h - State of a wave and its workgroup ---------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Architectural state of a wave, the workgroup it belongs to and the launch
// they run in, with the small accessors that every handler uses.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_WAVE_H
#define HK_LIB_EMULATOR_WAVE_H

#include "CodeObject.h"
#include "Counters.h"
#include "LdsShadow.h"
#include "OpTable.h"
#include "Report.h"
#include "SyncTable.h"
#include "Trace.h"
#include "WaitQueue.h"
#include <atomic>
#include <cstring>
#include <unordered_map>

namespace hk::emu {

/// Four lane masks at once, one for each byte of a word.
using ByteMasks = uint64_t __attribute__((vector_size(32)));

/// Which lanes have byte k of a VGPR defined.
struct alignas(32) Defined {
  union {
    uint64_t byte[4];
    ByteMasks all;
  };
  uint64_t whole() const { return __builtin_reduce_and(all); }
  /// In `lanes` becomes `value`; other lanes stay.
  void set(uint64_t lanes, ByteMasks value) {
    all = (all & ~lanes) | (value & lanes);
  }
  /// The defined bytes of one lane as a mask of four bits.
  unsigned laneBytes(unsigned lane) const {
    unsigned bytes = 0;
    for (unsigned k = 0; k < 4; ++k)
      bytes |= unsigned(byte[k] >> lane & 1) << k;
    return bytes;
  }
  void setLaneBytes(unsigned lane, unsigned bytes) {
    uint64_t bit = 1ull << lane;
    for (unsigned k = 0; k < 4; ++k)
      byte[k] = (bytes >> k & 1) ? byte[k] | bit : byte[k] & ~bit;
  }
};

struct Options {
  bool checks = true;       ///< HK_EMU_CHECKS=0 turns the shadows off
  bool strictAlign = false; ///< HK_EMU_STRICT_ALIGN=1
  bool strictRaces = false; ///< HK_EMU_STRICT_RACES=1
  bool unspecified = false; ///< HK_EMU_UNSPECIFIED=1
  bool counters = false;    ///< HK_EMU_COUNTERS is set
  /// Private memory of a lane where calls need a stack of unknown size; HIP's
  /// hipLimitStackSize, with its default.
  uint32_t stackBytes = 1024;
  uint64_t order = 0;    ///< HK_EMU_ORDER: random workgroup order
  unsigned threads = 0;  ///< HK_EMU_THREADS, 0: all cores
  uint64_t maxInsts = 0; ///< HK_EMU_MAX_INSTS per wave, 0: default
};

/// What all workgroups of a launch share.
struct Launch {
  const CodeObject *object = nullptr;
  const Kernel *kernel = nullptr;
  Memory *memory = nullptr;
  Options options;
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  uint32_t ldsBytes = 0;     ///< static and dynamic
  uint32_t scratchBytes = 0; ///< private memory of a lane
  uint64_t kernarg = 0, dispatchPacket = 0;
  uint8_t tag = 0; ///< of the race cells
  SyncTable sync;
  bool singleWorkgroup = false;
  Tracer *tracer = nullptr;
  Report report;
  std::atomic<bool> stop{false};
  /// Some of the workgroups run. One that is told by an atomic what others have
  /// done, as the number of its work, gets another answer than among all: the
  /// first such instruction ends the launch.
  bool sampled = false;
  std::atomic<const Inst *> asked{nullptr};
  /// All of the workgroups are traced, and one has asked so a second time, as
  /// those that draw their work from a counter do: they take turns, so that
  /// none draws what the chip would have given to others.
  std::atomic<bool> draws{false};
};

struct Wave;

/// A global access that its wave had not waited for, in the mode that spreads
/// the waves of a workgroup over compute units.
struct GlobalTouch {
  uint64_t sequence = 0, mask = 0;
  uint32_t bytes = 0;
  Use use = Use::Read;
  uint64_t address[kLanes];
};

struct Workgroup {
  Launch *launch = nullptr;
  uint32_t id[3] = {0, 0, 0};
  uint32_t linear = 0;
  LdsShadow lds;
  std::vector<Wave *> waves;
  Counters counters;
  unsigned ended = 0;
  /// Of a traced launch: atomics that told what others have done, and whether
  /// others shall run before this one goes on.
  unsigned asked = 0;
  bool turnEnds = false;
  /// What waves have done to global memory since the last barrier: looked at
  /// what another workgroup may change, or anything else.
  bool looked = false, worked = false;
  SyncSet after; ///< workgroups that atomics have ordered before this one
  /// Stores that no release has covered; in Launch::sync after the first one.
  std::vector<OpenStore> open;
  bool released = false;
  /// Of WaveRace.cpp: the time since the last barrier, and whether a wave has
  /// touched global memory in it.
  uint32_t epoch = 0;
  bool epochUsed = false;
  /// Reads of words that others update by atomics, since the last barrier: no
  /// race of those waves that go on to compare and swap the word, as the loops
  /// do that compilers make of an atomic the chip lacks.
  struct Suspect {
    Finding finding;
    unsigned readers; ///< waves
  };
  std::vector<Suspect> suspects;
  void reportSuspects();
  std::vector<uint8_t> scratch;
  WorkgroupTrace *trace = nullptr; ///< null: this one is not traced
  void nextEpoch();
};

enum class WaveState : uint8_t { Running, AtBarrier, Ended };

/// Vector registers are lane arrays: v[r][lane].
using LaneArray = uint32_t[kLanes];

struct Wave {
  LaneArray *v = nullptr;
  Defined *vd = nullptr;
  uint32_t s[kNumSgprs + 16];
  uint32_t sd[kNumSgprs + 16]; ///< defined bits of each SGPR
  uint64_t exec = 0;
  bool scc = false, sccDefined = true;
  bool checks = true;
  uint8_t gprIdxMode = 0; ///< s_set_gpr_idx: bits src0 src1 src2 dst
  WaveState state = WaveState::Running;
  bool yields = false; ///< s_sleep: let other waves run
  uint32_t mode = 0;
  uint32_t mxcsr = 0;
  uint32_t pc = 0; ///< index of the next instruction
  uint32_t index = 0;
  const Inst *barrier = nullptr; ///< the one it waits at
  uint64_t initialExec = 0;
  Workgroup *wg = nullptr;
  const Launch *launch = nullptr;
  const CodeObject *object = nullptr;
  bool fp8Ocp = false;

  WaitQueue vm, lgkm;
  uint64_t pendingV[8] = {}, pendingS[2] = {};
  bool anyPending = false;
  std::vector<LdsTouch> touches;
  std::vector<int32_t> freeTouches;
  std::vector<GlobalTouch> globalTouches;

  /// Words in which a byte is defined only in some bits, as spilled lane masks
  /// and bit fields are; by register and lane. See laneBits.
  std::unordered_map<uint32_t, uint32_t> partialBits;

  uint8_t *scratch = nullptr; ///< lane-major private memory
  uint32_t scratchBytes = 0;
  // Where undefined bytes were last read, for the text of a report.
  uint64_t undefinedPc = 0, undefinedAddress = 0;
  bool undefinedSeen = false, undefinedInLds = false;
  uint64_t executed = 0; ///< instructions, against HK_EMU_MAX_INSTS
  WaveTrace *trace = nullptr;
  /// Somebody wants to know which lines and banks are touched.
  bool observed = false;

  // --- EXEC ---
  void setExec(uint64_t mask) {
    exec = mask;
    s[kExecLo] = uint32_t(mask);
    s[kExecHi] = uint32_t(mask >> 32);
    laneMaskValid = false;
  }
  /// All ones in the lanes of EXEC.
  const uint32_t *execLanes() {
    if (!laneMaskValid) {
      expandMask(exec, laneMask);
      laneMaskValid = true;
    }
    return laneMask;
  }
  static void expandMask(uint64_t mask, uint32_t *lanes) {
    for (unsigned half = 0; half < 2; ++half) {
      uint32_t word = uint32_t(mask >> (32 * half));
      for (unsigned l = 0; l < 32; ++l)
        lanes[half * 32 + l] = (word & (1u << l)) ? ~0u : 0u;
    }
  }

  // --- SGPRs ---
  uint64_t s64(unsigned r) const { return uint64_t(s[r + 1]) << 32 | s[r]; }
  uint64_t sd64(unsigned r) const { return uint64_t(sd[r + 1]) << 32 | sd[r]; }
  void setS(unsigned r, uint32_t value, uint32_t defined = ~0u) {
    s[r] = value;
    sd[r] = defined;
    if (r >= kExecLo && r <= kExecHi)
      setExec(s64(kExecLo));
  }
  void setS64(unsigned r, uint64_t value, uint64_t defined = ~0ull) {
    setS(r, uint32_t(value), uint32_t(defined));
    setS(r + 1, uint32_t(value >> 32), uint32_t(defined >> 32));
  }

  // --- reports ---
  Finding finding(const Inst &inst, Check check, int lane, uint64_t address,
                  const std::string &detail) const;
  void report(const Inst &inst, Check check, int lane, uint64_t address,
              const std::string &detail) {
    reportTo(finding(inst, check, lane, address, detail));
  }
  void reportUndefined(const Inst &inst, int lane, uint64_t address,
                       const std::string &what);

private:
  void reportTo(Finding finding);
  alignas(64) uint32_t laneMask[kLanes];
  bool laneMaskValid = false;
};

/// The defined bits of one lane of a VGPR. The byte masks hold most of it; an
/// entry of partialBits refines bytes that are not whole.
inline uint32_t laneBits(const Wave &w, unsigned reg, unsigned lane) {
  uint32_t bits = 0;
  for (unsigned k = 0; k < 4; ++k)
    bits |= (w.vd[reg].byte[k] >> lane & 1) ? 0xffu << (8 * k) : 0;
  if (bits == ~0u || w.partialBits.empty())
    return bits;
  auto entry = w.partialBits.find(reg * kLanes + lane);
  return entry == w.partialBits.end() ? bits : bits | entry->second;
}
inline void setLaneBits(Wave &w, unsigned reg, unsigned lane, uint32_t bits) {
  unsigned bytes = 0;
  uint32_t whole = 0;
  for (unsigned k = 0; k < 4; ++k)
    if ((bits >> (8 * k) & 0xff) == 0xff) {
      bytes |= 1u << k;
      whole |= 0xffu << (8 * k);
    }
  w.vd[reg].setLaneBytes(lane, bytes);
  if (bits != whole)
    w.partialBits[reg * kLanes + lane] = bits & ~whole;
  else if (!w.partialBits.empty())
    w.partialBits.erase(reg * kLanes + lane);
}

constexpr uint32_t kModeSkip = 1u << 28; ///< MODE.VSKIP
/// MODE.FP16_OVFL: an overflow to f16, fp8 or bf8, and of a matrix product
/// where the chip has that, becomes the largest finite value.
inline bool saturatesOverflow(const Wave &w) { return w.mode >> 23 & 1; }
/// Writes MODE and the rounding and denormal state that follows from it.
void setMode(Wave &w, uint32_t mode);

/// Runs until the wave reaches a barrier, ends, or has had its turn.
void runWave(Wave &wave);

/// The wave's atomic or store of device scope makes visible what its workgroup
/// has stored, except for stores of its own that it has not waited for.
void releaseWord(Wave &w, uint64_t address);

/// The waves of which only reads conflict, and with atomics alone: the wave
/// itself, or those of `others`. None if the race is sure.
inline unsigned raceReaders(const Wave &w, Use use, Use other,
                            unsigned others) {
  if (use == Use::Read && other == Use::Atomic)
    return 1u << w.index;
  return use == Use::Atomic && other == Use::Read ? others : 0;
}
/// Reports a race now, or, where `readers` have met atomics, once it is clear
/// that one of them does not go on to compare and swap the word.
void reportRace(Wave &w, Finding finding, unsigned readers);
/// The wave compares and swaps this word.
void withdrawSuspects(Wave &w, uint64_t address, unsigned bytes);
/// The same of global memory: what the wave has read there counts no more.
void swapsGlobal(Wave &w, uint64_t address, unsigned bytes);

/// Called by handlers that issue memory operations.
void issueVm(Wave &w, Pending kind, unsigned reg, unsigned count,
             int32_t touch = -1);
void issueLgkm(Wave &w, Pending kind, bool sgpr, unsigned reg, unsigned count,
               int32_t touch = -1);
void waitVm(Wave &w, unsigned n);
void waitLgkm(Wave &w, unsigned n);
int32_t newTouch(Wave &w, uint64_t mask, unsigned size, Use use);
/// The barrier's part of the race check: what is still outstanding belongs to
/// the next interval too.
void carryOutstanding(Wave &w);
/// Its part for global memory; see WaveRace.cpp.
void carryGlobal(Wave &w);

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_WAVE_H
