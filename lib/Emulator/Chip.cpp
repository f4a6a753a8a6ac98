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
#include <llvm/BinaryFormat/ELF.h>

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

// What a generic target runs on: LLVM's AMDGPUUsage, table of generic
// processors. gfx9-4-generic has no fp8 and no xf32; gfx9-generic is GCN 5 and
// means none of these chips.
const char *const kGenericTarget = "gfx9-4-generic";
static const Machine kMachines[] = {
    {llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX942, "gfx942", {"gfx942"}},
    {llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX950, "gfx950", {"gfx950"}},
    {llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX9_4_GENERIC,
     kGenericTarget,
     {"gfx942", "gfx950"}},
    {llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX9_GENERIC, "gfx9-generic", {}},
    {llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX906, "gfx906", {}},
    {llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX908, "gfx908", {}},
    {llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX90A, "gfx90a", {}},
    {llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1030, "gfx1030", {}},
    {llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1100, "gfx1100", {}},
    {llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1201, "gfx1201", {}},
    {llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1250, "gfx1250", {}},
};

const Machine *findMachine(uint32_t elfFlags) {
  for (const Machine &machine : kMachines)
    if (machine.number == (elfFlags & llvm::ELF::EF_AMDGPU_MACH))
      return &machine;
  return nullptr;
}

std::string whyNotRun(const Chip &chip, uint32_t elfFlags) {
  const Machine *machine = findMachine(elfFlags);
  if (!machine || !machine->runsOn[0])
    return "the code object is for " +
           (machine ? machine->name
                    : "machine " + std::to_string(elfFlags &
                                                  llvm::ELF::EF_AMDGPU_MACH)) +
           ", which no emulated chip runs; compile it for gfx942, gfx950 or " +
           kGenericTarget;
  for (const char *target : machine->runsOn)
    if (target && std::string(target) == chip.name)
      return "";
  return std::string("the code object is for ") + machine->name +
         ", the emulated chip is " + chip.name + "; choose it with HK_EMU_CHIP";
}

} // namespace hk::emu
