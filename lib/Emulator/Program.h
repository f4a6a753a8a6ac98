//===- Program.h - Decoded AMDGPU code object file --------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an AMDGPU ELF file says by itself, wherever it is mapped: its kernels,
// its decoded instructions and the image with its relocations. Decoding is most
// of a load, so whoever loads the same bytes again gets the same Program.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_PROGRAM_H
#define HK_LIB_EMULATOR_PROGRAM_H

#include "Chip.h"
#include "Inst.h"
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
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
  /// The waves of a workgroup may run on several compute units (TG_SPLIT).
  bool splitsWorkgroups() const { return rsrc3 >> 16 & 1; }
  // Metadata.
  uint32_t maxWorkgroupSize = 1024;
  uint32_t requiredSize[3] = {0, 0, 0};
  std::vector<KernelArg> args;
  /// Bytes of arguments the caller provides.
  uint32_t explicitBytes() const;
};

/// Eight bytes of the image that hold an address inside it.
struct Relocation {
  uint64_t offset = 0, target = 0;
};

class Program {
public:
  /// Null with a message in `error` if anything about the file is refused.
  /// Programs read before are found again by their bytes.
  static std::shared_ptr<const Program>
  read(const void *data, size_t size, const Chip &chip, std::string &error);

  const Chip &chip() const { return *chipInfo; }
  const std::vector<Kernel> &kernels() const { return kernelList; }
  const std::vector<Inst> &instructions() const { return insts; }
  /// One for each instruction.
  const std::vector<RegisterMask> &registerMasks() const { return masks; }
  const Inst *instAt(uint64_t pc) const {
    return pc % 4 == 0 && pc / 4 < indexOf.size() && indexOf[pc / 4] >= 0
               ? &insts[size_t(indexOf[pc / 4])]
               : nullptr;
  }
  /// Some instruction may follow another too closely; see Hazards.h.
  bool mayHaveHazards() const { return hazards; }
  /// Some instruction may release stores to other workgroups; see SyncTable.h.
  bool mayRelease() const { return releases; }
  /// Of every compare-and-swap it is known which loads it begins with.
  bool knowsLooks() const { return looksKnown; }
  /// The segments as they lie in memory, before relocation, and kFetchAhead
  /// zeros for the disassembler, which fetches past the last instruction.
  static constexpr size_t kFetchAhead = 16;
  const uint8_t *image() const { return segments.data(); }
  uint64_t imageBytes() const {
    return segments.size() < kFetchAhead ? 0 : segments.size() - kFetchAhead;
  }
  const std::string &fileBytes() const { return bytes; }
  const std::vector<Relocation> &relocations() const { return relocationList; }
  /// Offsets [begin, end) of what a kernel may write; empty if equal.
  std::pair<uint64_t, uint64_t> writable() const {
    return {writableBegin, writableEnd};
  }
  /// "file:line" of a pc when the file has line tables.
  std::string sourceOf(uint64_t pc) const;
  /// Offset and size of a global variable; null if there is none.
  const std::pair<uint64_t, uint64_t> *global(const std::string &name) const;

private:
  friend class ProgramReader;
  friend class Decoder;
  const Chip *chipInfo = nullptr;
  std::string bytes; ///< the file, for its line tables and to know it again
  std::vector<uint8_t> segments;
  std::vector<Relocation> relocationList;
  uint64_t writableBegin = 0, writableEnd = 0;
  std::vector<Kernel> kernelList;
  std::vector<Inst> insts;
  std::vector<RegisterMask> masks;
  bool hazards = false, releases = false, looksKnown = false;
  std::deque<std::string> texts;
  std::vector<int32_t> indexOf;
  std::unordered_map<std::string, std::pair<uint64_t, uint64_t>> globals;
  /// Lane-wide copies of constants, shared by equal values.
  std::deque<std::vector<uint32_t>> constants;
  std::unordered_map<uint64_t, const uint32_t *> constantOf;
  const uint32_t *broadcast(uint64_t value);
};

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_PROGRAM_H
