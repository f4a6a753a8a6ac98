//===- Random.h - Pseudo-random numbers of the hardware ---------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The generator behind v_prng_b32, which stochastic conversions of several
// elements step from one to the next (CDNA4 ISA, 7.3).
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_EXEC_RANDOM_H
#define HK_LIB_EMULATOR_EXEC_RANDOM_H

#include <cstdint>

namespace hk::emu {

/// A shift register with feedback.
inline uint32_t nextRandom(uint32_t v) {
  return v << 1 ^ (v >> 31 ? 197u : 0u);
}

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_EXEC_RANDOM_H
