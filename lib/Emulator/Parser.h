//===- Parser.h - Disassembly text to Inst ----------------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads one line of LLVM's AMDGPU assembly. Strict: an operand or modifier it
// does not know is an error with its text.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_PARSER_H
#define HK_LIB_EMULATOR_PARSER_H

#include "Inst.h"
#include <string>
#include <string_view>

namespace hk::emu {

struct ParsedText {
  std::string mnemonic; ///< without _e32, _e64, _dpp and _sdwa
  std::string operands; ///< everything after the mnemonic
};

ParsedText splitMnemonic(std::string_view text);

/// Fills the operands and modifiers of `inst`; returns an error or nothing.
std::string parseOperands(std::string_view text, Inst &inst);

/// One register, constant or special operand, with source modifiers.
bool parseOperand(std::string_view text, Operand &op);

bool parseInteger(std::string_view text, int64_t &value);

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_PARSER_H
