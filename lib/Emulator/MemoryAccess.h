//===- MemoryAccess.h - Lane accesses to global memory and LDS --*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The checked accesses that all memory instructions share. Addresses are per
// lane; lanes that fail a check read zero and do not write.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_MEMORYACCESS_H
#define HK_LIB_EMULATOR_MEMORYACCESS_H

#include "Valu.h"

namespace hk::emu {

/// Byte addresses of the lanes in `mask`.
struct LaneAddresses {
  alignas(64) uint64_t a[kLanes];
  uint64_t mask = 0;
  bool aligned = false; ///< set by checkGlobal: on word boundaries
};

/// Where an undefined source byte was read, kept for a later report.
inline void noteUndefined(Wave &w, const Inst &inst, uint64_t address,
                          bool lds) {
  w.undefinedSeen = true;
  w.undefinedPc = inst.pc;
  w.undefinedAddress = address;
  w.undefinedInLds = lds;
}

/// "; the nearest allocation is ..." for an address outside all of them.
std::string describeAddress(Wave &w, uint64_t address);

/// Removes the lanes whose access of `bytes` bytes is out of bounds, to
/// read-only memory or racing with another workgroup, and reports them.
void checkGlobal(Wave &w, const Inst &inst, LaneAddresses &at, unsigned bytes,
                 bool write, bool atomic = false);

/// Loads `bytes` bytes a lane to the registers from `reg`. Sub-word loads
/// extend by `signExtend`; `half` 1 or 2 writes that 16-bit half only.
void loadGlobal(Wave &w, const Inst &inst, LaneAddresses &at, unsigned bytes,
                unsigned reg, bool signExtend, unsigned half = 0);

/// Stores `bytes` bytes a lane from the registers from `reg`; `highHalf`
/// takes a sub-word value from bits 16 and up.
void storeGlobal(Wave &w, const Inst &inst, LaneAddresses &at, unsigned bytes,
                 unsigned reg, bool highHalf);

/// Records the race cells of one lane's access; true if it conflicts.
bool raceAccess(Wave &w, uint64_t address, unsigned bytes, bool write,
                uint32_t &other);
void checkRaces(Wave &w, const Inst &inst, const LaneAddresses &at,
                unsigned bytes, bool write);

/// Counts the 64 and 128 byte segments the lanes touch.
void countGlobal(Wave &w, const LaneAddresses &at, unsigned bytes, bool write);

/// Bounds, races and alignment of an LDS access; removes failing lanes.
/// `issue` false leaves out the bookkeeping for s_waitcnt.
struct LdsAddresses {
  alignas(64) uint32_t a[kLanes];
  uint64_t mask = 0;
  bool aligned = false; ///< set by checkLds: whole words on word boundaries
};
void checkLds(Wave &w, const Inst &inst, LdsAddresses &at, unsigned bytes,
              bool write, bool own = true);
/// A touch record of these lanes, for the queue of outstanding operations.
int32_t touchLds(Wave &w, const LdsAddresses &at, unsigned bytes, bool write);
void countLds(Wave &w, const LdsAddresses &at, unsigned bytes);

/// Reports undefined lanes of an address operand.
void checkAddressDefined(Wave &w, const Inst &inst, const Operand &o,
                         uint64_t mask);

/// Private memory of a lane, or null (reported) when out of bounds.
uint8_t *scratchAt(Wave &w, const Inst &inst, unsigned lane, uint64_t offset,
                   unsigned bytes);

/// Copies sub-word and multi-word values between memory and lane registers.
void readValue(Wave &w, unsigned reg, unsigned lane, const uint8_t *from,
               unsigned bytes, bool signExtend, unsigned half);
void writeValue(Wave &w, unsigned reg, unsigned lane, uint8_t *to,
                unsigned bytes, bool highHalf);

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_MEMORYACCESS_H
