//===- Memory.h - Emulated device memory ------------------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Device memory with exact bounds. Addresses are host addresses inside one
// reserved region; allocations start on 64 KiB chunks and at least 64 KiB of
// nothing lies between two. Three shadows run beside it: which bytes are
// defined, which workgroup touched a word last, and which waves of it.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_MEMORY_H
#define HK_LIB_EMULATOR_MEMORY_H

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace hk::emu {

struct Allocation {
  uint64_t base = 0, size = 0;
  uint64_t writableBegin = 0, writableEnd = 0;
  std::string label;
  bool isShared = false; ///< with other processes
  uint64_t end() const { return base + size; }
};

class Memory {
public:
  static constexpr uint64_t kChunk = 64 * 1024;

  Memory();
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  /// Zero if there is no room. New memory is undefined.
  uint64_t allocate(uint64_t size, const std::string &label);
  /// The memory of a file that other processes map, too; no shadow sees what
  /// they do with it.
  uint64_t allocateShared(uint64_t size, const std::string &label, int file);
  bool release(uint64_t address);
  void setWritable(uint64_t address, uint64_t begin, uint64_t end);

  /// The allocation that owns the chunk of this address, or null. The address
  /// itself may still be past its end.
  const Allocation *owner(uint64_t address) const {
    uint64_t chunk = (address - base) / kChunk;
    return chunk < numChunks ? chunks[chunk] : nullptr;
  }
  bool contains(uint64_t address, uint64_t size) const {
    const Allocation *a = owner(address);
    return a && address >= a->base && size <= a->size &&
           address - a->base <= a->size - size;
  }

  /// One byte per word; bit k says that byte k is defined.
  uint8_t *defined(uint64_t address) const {
    return definedShadow + (address - base) / 4;
  }
  /// One cell per word: see GlobalRace.cpp.
  uint64_t *raceCell(uint64_t address) const {
    return raceShadow + (address - base) / 4;
  }
  /// One cell per word: see WaveRace.cpp.
  uint64_t *waveCell(uint64_t address) const {
    return waveShadow + (address - base) / 4;
  }
  /// A number for the time between two barriers of a workgroup, of kEpochBits
  /// bits and never zero. The wave cells are cleared when they start again.
  static constexpr unsigned kEpochBits = 23;
  uint32_t nextEpoch();
  void setDefined(uint64_t address, uint64_t size, bool value = true);
  /// First undefined byte of the range, or ~0.
  uint64_t firstUndefined(uint64_t address, uint64_t size) const;

  /// A tag for the race cells of a new launch.
  uint8_t nextLaunchTag();
  bool valid() const { return base != 0; }
  uint64_t bytesInUse() const { return inUse; }

private:
  uint64_t base = 0, limit = 0, bump = 0, numChunks = 0, inUse = 0;
  const Allocation **chunks = nullptr;
  uint8_t *definedShadow = nullptr;
  uint64_t *raceShadow = nullptr, *waveShadow = nullptr;
  std::atomic<uint64_t> epochs{0};
  std::map<uint64_t, Allocation *> live;
  std::vector<std::pair<uint64_t, uint64_t>> freeRanges;
  std::mutex mutex;
  uint8_t launchTag = 0;

  void clearShadow(uint64_t address, uint64_t bytes);
};

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_MEMORY_H
