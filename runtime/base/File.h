//===- File.h - Files the runtime reads -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A read-only view of a file, and the check that a file is a whole shared
// object: the dynamic loader itself crashes on a damaged one, and so may the
// code inside it.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_BASE_FILE_H
#define HK_RUNTIME_BASE_FILE_H

#include "base/Status.h"

#include <cstdint>

namespace hk {

/// A file mapped for reading; the mapping is page aligned.
class MappedFile {
public:
  MappedFile() = default;
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  Status open(const std::string &path);
  const uint8_t *data() const { return bytes; }
  uint64_t size() const { return numBytes; }

private:
  const uint8_t *bytes = nullptr;
  uint64_t numBytes = 0;
};

/// Success when the file is a 64-bit ELF shared object for this machine, as
/// whole as when hk-compile sealed it (hk/Runtime/Seal.h); sets the checksum
/// that it was sealed with.
Status checkSharedObject(const std::string &path, uint64_t &checksum);

} // namespace hk

#endif // HK_RUNTIME_BASE_FILE_H
