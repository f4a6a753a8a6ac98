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

} // namespace hk::emu::test

#endif // HK_TEST_EMULATOR_ASMCASE_H
