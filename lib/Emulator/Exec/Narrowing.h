//===- Narrowing.h - What conversions to small floats share -----*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_EXEC_NARROWING_H
#define HK_LIB_EMULATOR_EXEC_NARROWING_H

#include "../Wave.h"

namespace hk::emu {

/// MODE.FP16_OVFL: an overflow to fp8 or bf8 becomes the largest value.
inline bool saturatesBytes(const Wave &w) { return w.mode >> 23 & 1; }

/// v_prng_b32: a shift register with feedback. Stochastic conversions of
/// several elements step it from one to the next.
inline uint32_t nextRandom(uint32_t v) {
  return v << 1 ^ (v >> 31 ? 197u : 0u);
}

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_EXEC_NARROWING_H
