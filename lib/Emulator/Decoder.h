//===- Decoder.h - Machine code to Inst -------------------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Disassembles a function with LLVM and resolves every instruction against the
// op table.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_DECODER_H
#define HK_LIB_EMULATOR_DECODER_H

#include "Program.h"

namespace hk::emu {

class Decoder {
public:
  explicit Decoder(Program &program);
  ~Decoder();
  /// Decodes [begin, end) of the image; returns an error or nothing.
  std::string decode(uint64_t begin, uint64_t end);
  /// Decodes from `begin` on until control flow can go no further, for kernels
  /// without a sized function symbol; sets `end`.
  std::string decodeReachable(uint64_t begin, uint64_t &end);
  /// Resolves fall-through and branches once all functions are decoded.
  void link();
  /// Registers below the kernel's allocation in [begin, end).
  std::string checkRegisters(const Kernel &kernel, uint64_t begin,
                             uint64_t end) const;

private:
  Program &program;
  const uint8_t *image;
  size_t size; ///< of the image
  void *disassembler = nullptr;

  /// Decodes the instruction at `pc` and moves on.
  std::string decodeNext(uint64_t &pc, uint64_t end);
  std::string decodeOne(uint64_t pc, Inst &inst);
  std::string resolve(Inst &inst);
  void resolveConstant(Operand &op, Type type);
};

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_DECODER_H
