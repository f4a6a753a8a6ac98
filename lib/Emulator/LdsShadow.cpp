//===- LdsShadow.cpp - Race and definedness shadow of LDS -----------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The word path is the common one; partial accesses fall back to bytes.
//
//===----------------------------------------------------------------------===//

#include "LdsShadow.h"
#include <cstring>

namespace hk::emu {

void LdsShadow::reset(uint32_t bytes) {
  length = bytes;
  size_t n = (size_t(bytes) + 3) / 4;
  if (data.size() != n * 4) {
    data.assign(n * 4, 0);
    def.assign(n, 0);
    words.assign(n, Cell());
    splitInterval.assign(n, 0);
    parts.clear();
    dma.clear();
    interval = 1;
    lastSplit = 0;
    return;
  }
  // The next interval makes the cells old, so they need no clearing.
  nextInterval();
  std::memset(def.data(), 0, def.size());
  if (!dma.empty())
    dma.clear();
}

void LdsShadow::nextInterval() {
  if (++interval)
    return;
  // The numbers begin anew, so that no old cell may be left.
  words.assign(words.size(), Cell());
  parts.assign(parts.size(), Cell());
  splitInterval.assign(splitInterval.size(), 0);
  lastSplit = 0;
  interval = 1;
}

void LdsShadow::noteConflict(uint64_t cell, uint64_t others, uint32_t address,
                             LdsConflict &conflict) {
  unsigned changed = uint16_t(cell >> 32) | uint16_t(cell >> 48);
  unsigned read = uint16_t(others >> 16), wrote = uint16_t(others >> 32);
  unsigned updated = uint16_t(others >> 48);
  conflict.anyRead |= (read & ~changed) != 0;
  if (conflict.found)
    return;
  conflict.found = true;
  conflict.address = address;
  unsigned who = wrote ? wrote : updated ? updated : read;
  conflict.otherWave = unsigned(__builtin_ctz(who));
  conflict.other = wrote ? Use::Write : updated ? Use::Atomic : Use::Read;
  conflict.readers = uint16_t(wrote | updated ? 0 : read);
}

void LdsShadow::forgetRead(uint32_t address, unsigned wave) {
  uint64_t read = bitOf(wave, Use::Read);
  uint32_t word = address / 4;
  words[word] &= ~read;
  if (splitInterval[word] == interval)
    for (unsigned k = 0; k < 4; ++k)
      parts[word * 4 + k] &= ~read;
}

bool LdsShadow::accessParts(uint32_t address, uint32_t size, unsigned wave,
                            Use use, LdsConflict &conflict) {
  bool bad = false;
  uint32_t end = address + size;
  while (address < end) {
    uint32_t word = address / 4;
    bool whole = (address & 3) == 0 && end - address >= 4;
    bool split = splitInterval[word] == interval;
    if (whole && !split) {
      bad |= touch(words[word], address, wave, use, conflict);
      address += 4;
      continue;
    }
    if (parts.empty())
      parts.assign(words.size() * 4, Cell());
    lastSplit = interval;
    if (!split) {
      splitInterval[word] = interval;
      for (unsigned k = 0; k < 4; ++k)
        parts[word * 4 + k] = words[word];
    }
    uint32_t stop = word * 4 + 4 < end ? word * 4 + 4 : end;
    for (; address < stop; ++address)
      bad |= touch(parts[address], address, wave, use, conflict);
  }
  return bad;
}

void LdsShadow::markDma(uint32_t address, uint32_t size, unsigned wave,
                        uint64_t sequence) {
  if (dma.empty())
    dma.assign(words.size(), 0);
  for (uint32_t word = address / 4; word <= (address + size - 1) / 4; ++word)
    dma[word] = uint64_t(wave + 1) << 56 | sequence;
}

} // namespace hk::emu
