//===- Hazards.h - Required wait states between instructions ----*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pairs of instructions between which software must place independent
// instructions or s_nop, because the hardware has no interlock (CDNA3 and
// CDNA4 ISA, "Manually Inserted Wait States" and "Dependency Resolution" of
// the matrix instructions). Compilers insert them; hand-written code may not.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_HAZARDS_H
#define HK_LIB_EMULATOR_HAZARDS_H

#include "Program.h"
#include <array>

namespace hk::emu {

struct HazardNeed {
  unsigned states = 0; ///< wait states that must lie between
  const char *why = "";
};

/// No pair needs more.
constexpr unsigned kMaxHazardStates = 21;

/// What `second` needs after `first`.
HazardNeed hazardBetween(const Inst &first, const Inst &second,
                         const Chip &chip);

/// Wait states an instruction takes: one, or those of an s_nop.
unsigned waitStates(const Inst &inst);

/// True if on some path two instructions are closer than they must be. Cheap
/// enough for every load; only such programs are watched while they run.
bool mayHaveHazard(const Program &program);

/// The instructions a wave executed last.
class HazardWindow {
public:
  /// The need that `inst` violates, if any, and the instruction before it.
  HazardNeed check(const Inst &inst, const Chip &chip, const Inst *&first,
                   unsigned &between);
  void add(const Inst &inst);

private:
  struct Entry {
    const Inst *inst = nullptr;
    uint64_t at = 0;
  };
  std::array<Entry, kMaxHazardStates + 1> entries;
  unsigned next = 0;
  uint64_t now = 0;
};

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_HAZARDS_H
