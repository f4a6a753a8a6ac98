//===- File.cpp - Files the runtime reads -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// POSIX mappings, and the parts of ELF that say how long a file must be.
//
//===----------------------------------------------------------------------===//

#include "base/File.h"

#include "hk/Runtime/Seal.h"

#include <cerrno>
#include <cinttypes>
#include <cstring>

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace hk;

MappedFile::~MappedFile() {
  if (bytes)
    munmap(const_cast<uint8_t *>(bytes), numBytes);
}

Status MappedFile::open(const std::string &path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return makeError(HK_NOT_FOUND, "cannot open '%s': %s", path.c_str(),
                     std::strerror(errno));
  struct stat info;
  Status error;
  if (fstat(file, &info) != 0)
    error = makeError(HK_NOT_FOUND, "cannot read '%s': %s", path.c_str(),
                      std::strerror(errno));
  else if (!S_ISREG(info.st_mode))
    error =
        makeError(HK_INCOMPATIBLE, "'%s' is not a regular file", path.c_str());
  else if (info.st_size > 0) {
    void *map = mmap(nullptr, info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (map == MAP_FAILED) {
      error = makeError(HK_NOT_FOUND, "cannot map '%s': %s", path.c_str(),
                        std::strerror(errno));
    } else {
      bytes = static_cast<const uint8_t *>(map);
      numBytes = info.st_size;
    }
  }
  close(file);
  return error;
}

#if defined(__x86_64__)
static constexpr uint16_t kMachine = EM_X86_64;
static constexpr const char *kMachineName = "x86-64";
#elif defined(__aarch64__)
static constexpr uint16_t kMachine = EM_AARCH64;
static constexpr const char *kMachineName = "AArch64";
#endif

/// True when [offset, offset + bytes) lies in a file of `size` bytes.
static bool inFile(uint64_t offset, uint64_t bytes, uint64_t size) {
  return offset <= size && bytes <= size - offset;
}

static Status truncated(const std::string &path, const char *part,
                        uint64_t offset, uint64_t bytes, uint64_t size) {
  return makeError(HK_INCOMPATIBLE,
                   "'%s' is truncated or damaged: %s takes %" PRIu64
                   " bytes at offset %" PRIu64 ", the file has %" PRIu64,
                   path.c_str(), part, bytes, offset, size);
}

/// What the ELF header says is there, and for this machine.
static Status checkElf(const std::string &path, const MappedFile &file) {
  if (file.size() < SELFMAG || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0)
    return makeError(HK_INCOMPATIBLE,
                     "'%s' is not a compiled hk module: it is not an ELF "
                     "shared object (was it made by hk-compile?)",
                     path.c_str());
  Elf64_Ehdr header;
  if (file.size() < sizeof(header))
    return truncated(path, "the ELF header", 0, sizeof(header), file.size());
  std::memcpy(&header, file.data(), sizeof(header));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kMachine)
    return makeError(HK_INCOMPATIBLE,
                     "'%s' is an ELF file of another machine (class %d, "
                     "machine %d); this runtime needs 64-bit %s",
                     path.c_str(), header.e_ident[EI_CLASS], header.e_machine,
                     kMachineName);
  if (header.e_type != ET_DYN)
    return makeError(HK_INCOMPATIBLE,
                     "'%s' is not an ELF shared object (ELF type %d)",
                     path.c_str(), header.e_type);
  uint64_t segmentsBytes = uint64_t(header.e_phnum) * sizeof(Elf64_Phdr);
  if (header.e_phentsize != sizeof(Elf64_Phdr) ||
      !inFile(header.e_phoff, segmentsBytes, file.size()))
    return truncated(path, "the program header table", header.e_phoff,
                     segmentsBytes, file.size());
  for (uint16_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, file.data() + header.e_phoff + i * sizeof(Elf64_Phdr),
                sizeof(segment));
    if (!inFile(segment.p_offset, segment.p_filesz, file.size()))
      return truncated(path, "a segment", segment.p_offset, segment.p_filesz,
                       file.size());
  }
  uint64_t sectionsBytes = uint64_t(header.e_shnum) * header.e_shentsize;
  if (!inFile(header.e_shoff, sectionsBytes, file.size()))
    return truncated(path, "the section header table", header.e_shoff,
                     sectionsBytes, file.size());
  return {};
}

Status hk::checkSharedObject(const std::string &path, uint64_t &checksum) {
  MappedFile file;
  if (Status error = file.open(path))
    return error;
  if (Status error = checkElf(path, file))
    return error;
  switch (
      checkSeal({reinterpret_cast<const char *>(file.data()), file.size()})) {
  case SealState::Whole: {
    Seal seal;
    std::memcpy(&seal, file.data() + file.size() - sizeof(seal), sizeof(seal));
    checksum = seal.checksum;
    return {};
  }
  case SealState::Missing:
    return makeError(HK_INCOMPATIBLE,
                     "'%s' is truncated, or was changed after hk-compile wrote "
                     "it (by strip, for example): the seal at its end is "
                     "missing; copy it again, or compile the module again",
                     path.c_str());
  case SealState::Damaged:
    break;
  }
  return makeError(HK_INCOMPATIBLE,
                   "'%s' is damaged: its checksum is not the one it was "
                   "written with; copy it again, or compile the module again",
                   path.c_str());
}
