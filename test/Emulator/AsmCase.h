//===- AsmCase.h - One instruction as a kernel ------------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Wraps a few lines of assembly into a kernel: v0 and up hold the inputs, v64
// and up become the outputs, one word a lane each; s[16:31] come from a scalar
// buffer. v120 is free for the body; v0 is overwritten by the first input.
//
//===----------------------------------------------------------------------===//
#ifndef HK_TEST_EMULATOR_ASMCASE_H
#define HK_TEST_EMULATOR_ASMCASE_H

#include "Harness.h"

namespace hk::emu::test {

struct AsmCase {
  std::string name, body;
  unsigned in = 0, out = 0;
  unsigned lds = 0;
};

/// All cases as one module.
std::string asmModule(const std::vector<AsmCase> &cases);

/// words[register * 64 + lane]; findings are test failures.
std::vector<uint32_t> runAsm(TestDevice &device, const AsmCase &c,
                             const std::vector<uint32_t> &in,
                             const std::vector<uint32_t> &scalars = {});

/// One instruction (or a few) with the same inputs in every lane and the words
/// expected in v64 and up.
struct IsaRow {
  const char *text;
  std::vector<uint32_t> in, want;
  const char *chip = ""; ///< the only chip that has it, empty for both
  unsigned lds = 0;
};
/// Puts wait states between the lines, so that no pair is too close; a body
/// that computes with the program counter stays as it is.
std::string spaced(std::string body);
/// s16 to s19 hold 0xffffffff, 1, 3 and 0xfffffff0.
void checkRows(const std::vector<IsaRow> &rows, const std::string &chip);

inline uint32_t f(float v) {
  uint32_t b;
  std::memcpy(&b, &v, 4);
  return b;
}

} // namespace hk::emu::test

#endif // HK_TEST_EMULATOR_ASMCASE_H
