//===- StaticTable.h - What the replay needs of an instruction --*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ports, clocks and registers of each instruction of a program, worked out once
// so that the replay touches no operands.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_TIMING_STATICTABLE_H
#define HK_LIB_EMULATOR_TIMING_STATICTABLE_H

#include "ChipTiming.h"
#include "CodeObject.h"

namespace hk::emu {

/// Issue ports of a SIMD; each takes one instruction at a time.
enum class Port : uint8_t { None, Valu, Salu, Smem, Lds, Vmem, Branch, Count };

enum class StepKind : uint8_t {
  Plain,
  Mfma,
  Wait,
  Barrier,
  Idle, ///< s_nop, s_sleep: keeps only its own wave
  Priority,
  End
};

/// Matrix operand types with a published sustained rate.
enum class FlopType : uint8_t { Bf16, F16, Fp8, Other, Count };

struct RegisterRange {
  uint16_t first = 0, count = 0;
};

struct StaticInst {
  StepKind kind = StepKind::Plain;
  Port port = Port::None;
  FlopType flopType = FlopType::Other;
  uint8_t vmCount = 0xff, lgkmCount = 0xff; ///< of s_waitcnt; 0xff: not named
  uint8_t priority = 0;
  bool store = false, scratch = false, returns = false;
  uint16_t clocks = 4;  ///< on the port; of Idle: of the wave
  uint16_t pipe = 0;    ///< of the matrix unit
  uint16_t latency = 0; ///< from issue to any use of the result
  uint16_t unit = 0;    ///< least clocks of the vector memory unit
  uint16_t bytes = 0;   ///< of a lane, memory instructions
  float flops = 0;      ///< of the wave
  uint32_t next = 0;    ///< where it goes on unless it branches
  RegisterRange dst, accumulator;
  RegisterRange src[5];
};

class StaticTable {
public:
  StaticTable(const CodeObject &object, const ChipTiming &chip);
  const StaticInst &operator[](uint32_t inst) const { return table[inst]; }
  size_t size() const { return table.size(); }

private:
  std::vector<StaticInst> table;
};

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_TIMING_STATICTABLE_H
