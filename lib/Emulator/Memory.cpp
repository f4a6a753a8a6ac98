//===- Memory.cpp - Emulated device memory --------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One big reservation; only touched pages cost memory.
//
//===----------------------------------------------------------------------===//

#include "Memory.h"
#include <cstring>
#include <sys/mman.h>

namespace hk::emu {
namespace {

void *reserve(uint64_t bytes, int protection) {
  void *p = mmap(nullptr, bytes, protection,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

uint64_t roundUp(uint64_t n, uint64_t unit) {
  return (n + unit - 1) / unit * unit;
}

} // namespace

Memory::Memory() {
  // Take what the address-space limit of the process allows.
  for (uint64_t bytes = 1ull << 38; bytes >= (1ull << 30); bytes >>= 1) {
    void *data = reserve(bytes + kChunk, PROT_NONE);
    void *def = reserve(bytes / 4, PROT_READ | PROT_WRITE);
    void *race = reserve(bytes * 2, PROT_READ | PROT_WRITE);
    void *wave = reserve(bytes * 2, PROT_READ | PROT_WRITE);
    void *table = reserve(bytes / kChunk * 8, PROT_READ | PROT_WRITE);
    if (data && def && race && wave && table) {
      base = roundUp(uint64_t(data), kChunk);
      limit = base + bytes;
      bump = base + kChunk;
      numChunks = bytes / kChunk;
      definedShadow = static_cast<uint8_t *>(def);
      raceShadow = static_cast<uint64_t *>(race);
      waveShadow = static_cast<uint64_t *>(wave);
      chunks = static_cast<const Allocation **>(table);
      // A launch touches most of the shadows first, 4 KiB at a time from all
      // of its threads; without huge pages that is as it was.
      madvise(def, bytes / 4, MADV_HUGEPAGE);
      madvise(race, bytes * 2, MADV_HUGEPAGE);
      madvise(wave, bytes * 2, MADV_HUGEPAGE);
      return;
    }
    if (data)
      munmap(data, bytes + kChunk);
    if (def)
      munmap(def, bytes / 4);
    if (race)
      munmap(race, bytes * 2);
    if (wave)
      munmap(wave, bytes * 2);
    if (table)
      munmap(table, bytes / kChunk * 8);
  }
}

Memory::~Memory() {
  for (auto &entry : live)
    delete entry.second;
  if (!base)
    return;
  uint64_t bytes = limit - base;
  munmap(reinterpret_cast<void *>(base), bytes);
  munmap(definedShadow, bytes / 4);
  munmap(raceShadow, bytes * 2);
  munmap(waveShadow, bytes * 2);
  munmap(static_cast<void *>(chunks), bytes / kChunk * 8);
}

uint64_t Memory::allocate(uint64_t size, const std::string &label) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!base || size > limit - base)
    return 0;
  uint64_t span = roundUp(size ? size : 1, kChunk) + kChunk, address = 0;
  if (bump + span <= limit) {
    address = bump;
    bump += span;
  } else {
    // Freed ranges are reused only now, so that a stale pointer is found.
    for (auto it = freeRanges.begin(); it != freeRanges.end(); ++it)
      if (it->second >= span) {
        address = it->first;
        it->first += span;
        it->second -= span;
        if (!it->second)
          freeRanges.erase(it);
        break;
      }
    if (!address)
      return 0;
  }
  uint64_t mapped = roundUp(size ? size : 1, 4096);
  if (mprotect(reinterpret_cast<void *>(address), mapped,
               PROT_READ | PROT_WRITE))
    return 0;
  auto *a = new Allocation;
  a->base = address;
  a->size = size;
  a->writableBegin = address;
  a->writableEnd = address + size;
  a->label = label;
  live[address] = a;
  for (uint64_t c = (address - base) / kChunk,
                e = (address - base + span) / kChunk - 1;
       c < e; ++c)
    chunks[c] = a;
  inUse += size;
  return address;
}

uint64_t Memory::allocateShared(uint64_t size, const std::string &label,
                                int file) {
  uint64_t address = allocate(size, label);
  if (!address)
    return 0;
  if (mmap(reinterpret_cast<void *>(address), roundUp(size, 4096),
           PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
           0) == MAP_FAILED) {
    release(address);
    return 0;
  }
  std::lock_guard<std::mutex> lock(mutex);
  live[address]->isShared = true;
  return address;
}

bool Memory::release(uint64_t address) {
  std::lock_guard<std::mutex> lock(mutex);
  auto it = live.find(address);
  if (it == live.end())
    return false;
  Allocation *a = it->second;
  uint64_t mapped = roundUp(a->size ? a->size : 1, 4096);
  auto *data = reinterpret_cast<void *>(address);
  if (a->isShared &&
      mmap(data, mapped, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
           0) == MAP_FAILED)
    return false;
  uint64_t span = roundUp(a->size ? a->size : 1, kChunk) + kChunk;
  for (uint64_t c = (address - base) / kChunk, e = c + span / kChunk; c < e;
       ++c)
    chunks[c] = nullptr;
  madvise(data, mapped, MADV_DONTNEED);
  mprotect(data, mapped, PROT_NONE);
  clearShadow(address, span);
  freeRanges.push_back({address, span});
  inUse -= a->size;
  live.erase(it);
  delete a;
  return true;
}

void Memory::clearShadow(uint64_t address, uint64_t bytes) {
  madvise(definedShadow + (address - base) / 4, bytes / 4, MADV_DONTNEED);
  madvise(raceShadow + (address - base) / 4, bytes * 2, MADV_DONTNEED);
  madvise(waveShadow + (address - base) / 4, bytes * 2, MADV_DONTNEED);
}

void Memory::setWritable(uint64_t address, uint64_t begin, uint64_t end) {
  std::lock_guard<std::mutex> lock(mutex);
  auto it = live.find(address);
  if (it == live.end())
    return;
  it->second->writableBegin = begin;
  it->second->writableEnd = end;
}

void Memory::setDefined(uint64_t address, uint64_t size, bool value) {
  while (size && (address & 3)) {
    uint8_t bit = uint8_t(1 << (address & 3));
    uint8_t &d = *defined(address);
    d = value ? d | bit : d & ~bit;
    ++address;
    --size;
  }
  std::memset(defined(address), value ? 0xf : 0, size / 4);
  address += size & ~3ull;
  for (uint64_t i = 0; i < (size & 3); ++i) {
    uint8_t bit = uint8_t(1 << i);
    uint8_t &d = *defined(address);
    d = value ? d | bit : d & ~bit;
  }
}

uint64_t Memory::firstUndefined(uint64_t address, uint64_t size) const {
  for (uint64_t a = address; a < address + size; ++a)
    if (!(*defined(a) >> (a & 3) & 1))
      return a;
  return ~0ull;
}

uint32_t Memory::nextEpoch() {
  constexpr uint64_t mask = (1ull << kEpochBits) - 1;
  uint64_t epoch = ++epochs;
  if ((epoch & mask) == 0) {
    std::lock_guard<std::mutex> lock(mutex);
    for (auto &entry : live)
      madvise(waveCell(entry.first),
              roundUp(entry.second->size ? entry.second->size : 1, kChunk) * 2,
              MADV_DONTNEED);
    epoch = ++epochs;
  }
  return uint32_t(epoch & mask);
}

uint8_t Memory::nextLaunchTag() {
  std::lock_guard<std::mutex> lock(mutex);
  if (++launchTag == 0) {
    for (auto &entry : live)
      madvise(raceCell(entry.first),
              roundUp(entry.second->size ? entry.second->size : 1, kChunk) * 2,
              MADV_DONTNEED);
    launchTag = 1;
  }
  return launchTag;
}

} // namespace hk::emu
