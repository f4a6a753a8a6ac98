//===- Chip.cpp - Limits and cost data of the chips -----------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row per chip.
//
//===----------------------------------------------------------------------===//

#include "Chip.h"
#include "hk/Contract/Target.h"

namespace hk::emu {

// LDS per workgroup: CDNA3 ISA 2.2 and CDNA4 ISA 2.2. Banks: see LdsBanks.cpp.
// Compute units and memory: AMD's MI300X, MI325X and MI355X data sheets. fp8
// formats: CDNA3 ISA (fnuz), CDNA4 ISA (OCP). Clamped matrix
// results: CDNA4 ISA 7.1.2, 7.1.5 and 7.5.
static const Chip kChips[] = {
    {"mi300x", "gfx942", "AMD Instinct MI300X (emulated)", 64 * 1024, 304,
     192ull << 30, false, false, 1, false},
    {"mi325x", "gfx942", "AMD Instinct MI325X (emulated)", 64 * 1024, 304,
     256ull << 30, false, false, 1, false},
    {"mi355x", "gfx950", "AMD Instinct MI355X (emulated)", 160 * 1024, 256,
     288ull << 30, true, true, 2, true},
};

const char *chipNames() { return "mi300x, mi325x, mi355x, gfx942 or gfx950"; }

const Chip *findChip(const std::string &name) {
  const Target *target = findTarget(name.c_str());
  const std::string product = target ? target->product : name;
  for (const Chip &chip : kChips)
    if (product == chip.product)
      return &chip;
  return nullptr;
}

} // namespace hk::emu
