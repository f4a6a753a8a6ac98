//===- CodeObject.h - Loaded AMDGPU code object -----------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An AMDGPU ELF code object: its image in device memory, its kernels and its
// decoded instructions.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_CODEOBJECT_H
#define HK_LIB_EMULATOR_CODEOBJECT_H

#include "Chip.h"
#include "Inst.h"
#include "Memory.h"
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace hk::emu {

struct KernelArg {
  uint32_t offset = 0, size = 0;
  std::string kind; ///< value_kind of the metadata
  bool isHidden() const { return kind.compare(0, 7, "hidden_") == 0; }
};

struct Kernel {
  std::string name;
  uint64_t entry = 0, codeSize = 0; ///< offsets in the image
  // Kernel descriptor.
  uint32_t ldsBytes = 0, scratchBytes = 0, kernargBytes = 0;
  uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
  uint16_t properties = 0, preload = 0;
  uint32_t vgprs = 0, accumOffset = 0, sgprs = 0;
  // Metadata.
  uint32_t maxWorkgroupSize = 1024;
  uint32_t requiredSize[3] = {0, 0, 0};
  std::vector<KernelArg> args;
  /// Bytes of arguments the caller provides.
  uint32_t explicitBytes() const;
};

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
  const std::vector<Kernel> &kernels() const { return kernelList; }
  const std::vector<Inst> &program() const { return insts; }
  /// One for each instruction of the program.
  const std::vector<RegisterMask> &registerMasks() const { return masks; }
  const Inst *instAt(uint64_t pc) const {
    return pc / 4 < indexOf.size() && indexOf[pc / 4] >= 0
               ? &insts[size_t(indexOf[pc / 4])]
               : nullptr;
  }
  /// Some instruction may follow another too closely; see Hazards.h.
  bool mayHaveHazards() const { return hazards; }
  uint64_t imageBase() const { return base; }
  uint64_t imageBytes() const { return imageLength; }
  const Chip &chip() const { return *chipInfo; }
  /// "file:line" of a pc when the object has line tables.
  std::string sourceOf(uint64_t pc) const;
  /// Device address and size of a global variable, zero if there is none.
  uint64_t global(const std::string &name, uint64_t &size) const;

private:
  friend class Loader;
  const Chip *chipInfo = nullptr;
  Memory *memory = nullptr;
  uint64_t base = 0, imageLength = 0;
  std::string bytes; ///< the file, kept for its line tables
  std::vector<Kernel> kernelList;
  std::vector<Inst> insts;
  std::vector<RegisterMask> masks;
  bool hazards = false;
  std::deque<std::string> texts;
  std::vector<int32_t> indexOf;
  std::unordered_map<std::string, std::pair<uint64_t, uint64_t>> globals;
  /// Lane-wide copies of constants, shared by equal values.
  std::deque<std::vector<uint32_t>> constants;
  std::unordered_map<uint64_t, const uint32_t *> constantOf;
  const uint32_t *broadcast(uint64_t value);
  friend class Decoder;
};

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_CODEOBJECT_H
