//===- CodeObject.h - Loaded AMDGPU code object -----------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program in device memory: the image that its kernels run from, and the
// global variables it holds.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_CODEOBJECT_H
#define HK_LIB_EMULATOR_CODEOBJECT_H

#include "Memory.h"
#include "Program.h"

namespace hk::emu {

class CodeObject {
public:
  /// Null with a message in `error` if anything about the object is refused.
  static std::unique_ptr<CodeObject> load(const void *data, size_t size,
                                          const Chip &chip, Memory &memory,
                                          std::string &error);
  /// Size of an ELF image given only its start (0 if it is not ELF).
  static size_t imageSize(const void *data);
  ~CodeObject();

  const Kernel *kernel(const std::string &name) const;
  const std::vector<Kernel> &kernels() const { return file->kernels(); }
  const std::vector<Inst> &program() const { return file->instructions(); }
  const std::vector<RegisterMask> &registerMasks() const {
    return file->registerMasks();
  }
  const Inst *instAt(uint64_t pc) const { return file->instAt(pc); }
  bool mayHaveHazards() const { return file->mayHaveHazards(); }
  bool mayRelease() const { return file->mayRelease(); }
  bool knowsLooks() const { return file->knowsLooks(); }
  uint64_t imageBase() const { return base; }
  const Chip &chip() const { return file->chip(); }
  std::string sourceOf(uint64_t pc) const { return file->sourceOf(pc); }
  /// Device address and size of a global variable, zero if there is none.
  uint64_t global(const std::string &name, uint64_t &size) const;

private:
  std::shared_ptr<const Program> file;
  Memory *memory = nullptr;
  uint64_t base = 0;
};

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_CODEOBJECT_H
