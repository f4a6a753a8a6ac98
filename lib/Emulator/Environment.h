//===- Environment.h - HK_EMU_ variables ------------------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads what a user sets for the emulator. A value that means nothing is told
// on stderr and ignored: a check that was to be on stays on.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_ENVIRONMENT_H
#define HK_LIB_EMULATOR_ENVIRONMENT_H

#include <cstdint>
#include <string>

namespace hk::emu {

/// The number that variable `name` holds, decimal or hexadecimal with 0x,
/// `otherwise` where it is unset, empty or no number from 0 to `most`.
uint64_t numberFromEnvironment(const char *name, uint64_t otherwise,
                               uint64_t most = UINT64_MAX);

/// The file that variable `name` names, to which lines are appended; empty
/// where it is unset, empty or cannot be written.
std::string fileFromEnvironment(const char *name);

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_ENVIRONMENT_H
