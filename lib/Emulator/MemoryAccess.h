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

/// The registers a store takes its values from. Where several waves or
/// workgroups write the same value to one place, as compilers do with values
/// that they hold more than once, nothing depends on the order: no race.
struct StoredValue {
  unsigned reg;
  bool highHalf = false;
};
/// True if `n` bytes of a lane's value, from byte `first` of it, are what the
/// memory at `address` holds already; `data` and `def` are that byte and the
/// definedness of its word.
bool storesSameBytes(const Wave &w, StoredValue value, unsigned lane,
                     unsigned first, unsigned n, uint64_t address,
                     const uint8_t *data, const uint8_t *def);

/// Reports accesses that race with another wave's or workgroup's. `value` is
/// null where the written values are not in registers.
void checkRaces(Wave &w, const Inst &inst, const LaneAddresses &at,
                unsigned bytes, Use use, const StoredValue *value = nullptr);
/// The part of it that is about waves of one workgroup.
void checkWaveRaces(Wave &w, const Inst &inst, const LaneAddresses &at,
                    unsigned bytes, Use use, const StoredValue *value);
/// "RAW race: wave 3 wrote".
std::string describeRace(Use use, Use other, unsigned wave);

/// Counts the 64 and 128 byte segments the lanes touch.
void countGlobal(Wave &w, const LaneAddresses &at, unsigned bytes, bool write);

struct LdsAddresses {
  alignas(64) uint32_t a[kLanes];
  uint64_t mask = 0;
  bool aligned = false; ///< set by checkLds: whole words on word boundaries
};
/// Bounds and races of an LDS access; removes failing lanes. `value` as for
/// checkRaces; `own` false leaves out the wave's own direct-to-LDS loads.
void checkLds(Wave &w, const Inst &inst, LdsAddresses &at, unsigned bytes,
              Use use, const StoredValue *value = nullptr, bool own = true);
/// A touch record of these lanes, for the queue of outstanding operations.
int32_t touchLds(Wave &w, const LdsAddresses &at, unsigned bytes, Use use);
void countLds(Wave &w, const LdsAddresses &at, unsigned bytes, Use use);

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
