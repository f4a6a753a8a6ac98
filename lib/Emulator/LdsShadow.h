//===- LdsShadow.h - Race and definedness shadow of LDS ---------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LDS with its shadow. A word's cell holds the waves that read and wrote it in
// the current barrier interval, so a conflict is found whatever the order in
// which waves happen to run. An operation that a wave has not waited for when
// it reaches the barrier is carried into the next interval.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_LDSSHADOW_H
#define HK_LIB_EMULATOR_LDSSHADOW_H

#include <cstdint>
#include <vector>

namespace hk::emu {

/// What an LDS access conflicts with.
struct LdsConflict {
  uint32_t address = 0;
  bool found = false;
  bool otherWrote = false;
  uint32_t otherWave = 0;
};

class LdsShadow {
public:
  void reset(uint32_t bytes);
  void nextInterval() { ++interval; }

  /// Records an access of `size` bytes; true means it conflicts.
  bool access(uint32_t address, uint32_t size, unsigned wave, bool write,
              LdsConflict &conflict) {
    if (((address | size) & 3) || lastSplit == interval)
      return accessParts(address, size, wave, write, conflict);
    bool bad = false;
    for (uint32_t word = address / 4, e = word + size / 4; word < e; ++word)
      if (touch(words[word], interval, wave, write, conflict)) {
        bad = true;
        if (!conflict.address)
          conflict.address = word * 4;
      }
    return bad;
  }

  uint8_t *bytes() { return data.data(); }
  uint32_t size() const { return length; }
  /// Bit k of entry i: byte k of word i is defined.
  uint8_t *defined() { return def.data(); }

  /// Direct-to-LDS bookkeeping: the operation that last targets each word.
  void markDma(uint32_t address, uint32_t size, unsigned wave,
               uint64_t sequence);
  bool hasDma() const { return !dma.empty(); }
  uint64_t dmaSequence(uint32_t address, unsigned wave) const {
    uint64_t v = dma[address / 4];
    return (v >> 56) == wave + 1 ? v & 0x00ffffffffffffffull : 0;
  }

private:
  struct Cell {
    uint32_t interval = 0;
    uint16_t writers = 0, readers = 0;
  };
  uint32_t length = 0, interval = 1;
  std::vector<uint8_t> data, def;
  std::vector<Cell> words;
  /// Cells per byte, used for words that were accessed in part.
  std::vector<Cell> parts;
  std::vector<uint32_t> splitInterval;
  uint32_t lastSplit = 0; ///< interval of the latest partial access
  std::vector<uint64_t> dma;

  bool accessParts(uint32_t address, uint32_t size, unsigned wave, bool write,
                   LdsConflict &conflict);

  static bool touch(Cell &cell, uint32_t interval, unsigned wave, bool write,
                    LdsConflict &conflict) {
    uint16_t bit = uint16_t(1u << wave);
    if (cell.interval != interval) {
      cell.interval = interval;
      cell.writers = write ? bit : 0;
      cell.readers = write ? 0 : bit;
      return false;
    }
    uint16_t others =
        uint16_t((write ? cell.writers | cell.readers : cell.writers) & ~bit);
    (write ? cell.writers : cell.readers) |= bit;
    if (__builtin_expect(others == 0, 1))
      return false;
    noteConflict(cell, others, conflict);
    return true;
  }
  static void noteConflict(const Cell &cell, uint16_t others,
                           LdsConflict &conflict);
};

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_LDSSHADOW_H
