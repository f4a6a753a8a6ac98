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

namespace hk::emu {

// LDS per workgroup, banks and bytes per clock: CDNA3 ISA 2.2 and CDNA4 ISA 2.2
// (64 KiB, 32 banks, 128 B; 160 KiB, 64 banks, 128 B with doubled read
// bandwidth for b128). Compute units and memory: AMD's MI300X and MI355X data
// sheets. fp8 formats: CDNA3 ISA (fnuz), CDNA4 ISA (OCP). Clamped matrix
// results: CDNA4 ISA 7.1.2, 7.1.5 and 7.5.
static const Chip kChips[] = {
    {"gfx942", "AMD Instinct MI300X (emulated)", 64 * 1024, 304, 192ull << 30,
     false, 32, 128, 1, false},
    {"gfx950", "AMD Instinct MI355X (emulated)", 160 * 1024, 256, 288ull << 30,
     true, 64, 128, 2, true},
};

const Chip *findChip(const std::string &name) {
  for (const Chip &chip : kChips)
    if (name == chip.name)
      return &chip;
  return nullptr;
}

} // namespace hk::emu
