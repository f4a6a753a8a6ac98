//===- Looks.h - Loads with which a compare-and-swap begins -----*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An atomic that the chip lacks becomes a plain load of the word and a loop of
// compare-and-swaps, which does not run where the load finds that nothing is to
// be done. So the load is no race with other waves' atomics.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_LOOKS_H
#define HK_LIB_EMULATOR_LOOKS_H

#include "Inst.h"
#include <vector>

namespace hk::emu {

/// Sets `looks` of such loads: what they read is what a compare-and-swap
/// further on in the code, before a barrier, compares with. False if there is
/// a swap that compares with neither a load's value nor a constant: unoptimised
/// code keeps it in private memory on the way.
bool markLooks(std::vector<Inst> &program);

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_LOOKS_H
