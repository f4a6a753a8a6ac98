//===- CodeObject.cpp - Loaded AMDGPU code object -------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every load has memory of its own, so that global variables begin anew.
//
//===----------------------------------------------------------------------===//

#include "CodeObject.h"
#include <algorithm>
#include <cstring>
#include <llvm/BinaryFormat/ELF.h>

namespace hk::emu {

namespace ELF = llvm::ELF;

std::unique_ptr<CodeObject> CodeObject::load(const void *data, size_t size,
                                             const Chip &chip, Memory &memory,
                                             std::string &error) {
  std::unique_ptr<CodeObject> object(new CodeObject);
  object->file = Program::read(data, size, chip, error);
  if (!object->file)
    return nullptr;
  const Program &file = *object->file;
  object->memory = &memory;
  uint64_t base = memory.allocate(file.imageBytes(), "code object");
  if (!base) {
    error = "no device memory for the code object";
    return nullptr;
  }
  object->base = base;
  auto *image = reinterpret_cast<uint8_t *>(base);
  std::memcpy(image, file.image(), file.imageBytes());
  for (const Relocation &relocation : file.relocations()) {
    uint64_t value = base + relocation.target;
    std::memcpy(image + relocation.offset, &value, sizeof value);
  }
  memory.setDefined(base, file.imageBytes());
  auto [begin, end] = file.writable();
  bool writable = begin < end;
  memory.setWritable(base, writable ? base + begin : 0,
                     writable ? base + end : 0);
  return object;
}

size_t CodeObject::imageSize(const void *data) {
  ELF::Elf64_Ehdr header;
  std::memcpy(&header, data, sizeof header);
  if (!header.checkMagic() || header.e_ident[ELF::EI_CLASS] != ELF::ELFCLASS64)
    return 0;
  const char *bytes = static_cast<const char *>(data);
  uint64_t end = std::max<uint64_t>(
      header.e_shoff + uint64_t(header.e_shnum) * header.e_shentsize,
      header.e_phoff + uint64_t(header.e_phnum) * header.e_phentsize);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    ELF::Elf64_Phdr ph;
    std::memcpy(&ph, bytes + header.e_phoff + i * sizeof ph, sizeof ph);
    end = std::max<uint64_t>(end, ph.p_offset + ph.p_filesz);
  }
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    ELF::Elf64_Shdr sh;
    std::memcpy(&sh, bytes + header.e_shoff + i * sizeof sh, sizeof sh);
    if (sh.sh_type != ELF::SHT_NOBITS)
      end = std::max<uint64_t>(end, sh.sh_offset + sh.sh_size);
  }
  return end;
}

CodeObject::~CodeObject() {
  if (base)
    memory->release(base);
}

const Kernel *CodeObject::kernel(const std::string &name) const {
  for (const Kernel &kernel : kernels())
    if (kernel.name == name)
      return &kernel;
  return nullptr;
}

uint64_t CodeObject::global(const std::string &name, uint64_t &size) const {
  const std::pair<uint64_t, uint64_t> *known = file->global(name);
  if (!known)
    return 0;
  size = known->second;
  return base + known->first;
}

} // namespace hk::emu
