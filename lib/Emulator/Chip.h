//===- Chip.h - Limits and cost data of the chips ---------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the emulator knows about a chip: limits that are checked and the data of
// the clock model. A chip is a product; several may run one target's code.
// Sources are named beside the numbers in Chip.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_CHIP_H
#define HK_LIB_EMULATOR_CHIP_H

#include <cstdint>
#include <string>

namespace hk::emu {

struct Chip {
  const char *product;    ///< mi300x, mi325x, mi355x
  const char *name;       ///< the target: the gfx name, also LLVM's CPU name
  const char *deviceName; ///< marketing name shown by the HIP properties
  uint32_t ldsBytes;      ///< per workgroup
  uint32_t computeUnits;
  uint64_t memoryBytes;
  bool fp8Ocp;          ///< fp8 is OCP (bias 7/15), not fnuz (8/16)
  bool wideLdsReads;    ///< 64 banks serve reads of 8 and 16 bytes, else 32 do
  uint32_t mfmaDivisor; ///< matrix throughput relative to gfx942
  bool mfmaSaturates;   ///< MODE.FP16_OVFL clamps matrix results
};

/// The chip of that product name, or of that target name the product whose
/// rates hk/Contract/Target.h has; null if there is none.
const Chip *findChip(const std::string &name);
/// "mi300x, mi325x, mi355x, gfx942 or gfx950", for messages.
const char *chipNames();

/// A target that code objects are compiled for.
struct Machine {
  uint32_t number; ///< EF_AMDGPU_MACH of the ELF header
  const char *name;
  const char *runsOn[2]; ///< chips' targets, or null; the first by choice
};
/// The machine of ELF flags, null where the emulator knows no name for it.
const Machine *findMachine(uint32_t elfFlags);
/// Why a chip does not run code with these ELF flags; "" if it does.
std::string whyNotRun(const Chip &chip, uint32_t elfFlags);
/// What code that runs on several chips is compiled for, also in the names of
/// a bundle's parts.
extern const char *const kGenericTarget;

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_CHIP_H
