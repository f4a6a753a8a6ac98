//===- Seal.h - Bytes that know whether they are whole ----------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A seal is 24 bytes behind the contents of a file: a mark, how many bytes the
// contents have, and their xxh3 checksum. Compiled modules and entries of the
// kernel cache end with one. It lies behind the end that an ELF header knows,
// so a sealed shared object is still one.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_SEAL_H
#define HK_RUNTIME_SEAL_H

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace hk {

/// Little endian, like every machine that hk's host code is for.
struct Seal {
  char mark[8];
  uint64_t bytes;    // of the contents in front of it
  uint64_t checksum; // their XXH3_64bits, seed 0
};
static_assert(sizeof(Seal) == 24);

inline constexpr char kSealMark[] = {'h', 'k', ' ', 's', 'e', 'a', 'l', '\n'};

/// What to write behind `contents`.
inline std::string sealFor(std::string_view contents) {
  Seal seal;
  std::memcpy(seal.mark, kSealMark, sizeof(seal.mark));
  seal.bytes = contents.size();
  seal.checksum = XXH3_64bits(contents.data(), contents.size());
  return {reinterpret_cast<const char *>(&seal), sizeof(seal)};
}

enum class SealState { Whole, Missing, Damaged };

/// Whether `file` is contents and their seal. Missing: there is no mark or the
/// size is another one (cut off, stripped, or never sealed); Damaged: the
/// checksum differs.
inline SealState checkSeal(std::string_view file) {
  Seal seal;
  if (file.size() < sizeof(seal))
    return SealState::Missing;
  std::string_view contents = file.substr(0, file.size() - sizeof(seal));
  std::memcpy(&seal, contents.data() + contents.size(), sizeof(seal));
  if (std::memcmp(seal.mark, kSealMark, sizeof(seal.mark)) != 0 ||
      seal.bytes != contents.size())
    return SealState::Missing;
  return seal.checksum == XXH3_64bits(contents.data(), contents.size())
             ? SealState::Whole
             : SealState::Damaged;
}

} // namespace hk

#endif // HK_RUNTIME_SEAL_H
