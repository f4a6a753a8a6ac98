//===- LdsBanks.h - Clocks of LDS accesses ----------------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bank model: a wave's request is served in phases, groups of lanes that
// the width and the direction decide. A bank serves one word a clock, and lanes
// that touch the same word share it.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_LDSBANKS_H
#define HK_LIB_EMULATOR_LDSBANKS_H

#include "Chip.h"

namespace hk::emu {

/// Clocks of the LDS of a compute unit.
struct LdsService {
  unsigned clocks = 0; ///< taken
  unsigned ideal = 0;  ///< that the same words would take without conflicts
};

/// One access of `bytes` (up to 16) at the 64 byte addresses of the lanes in
/// `mask`; atomics and direct loads are served as writes.
LdsService serveLds(const Chip &chip, bool read, const uint32_t *addresses,
                    uint64_t mask, unsigned bytes);

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_LDSBANKS_H
