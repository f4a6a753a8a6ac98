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

/// What an access does. A write conflicts with everything of another wave, a
/// read with writes and atomics, an atomic with writes and reads. A look is the
/// read with which a compare-and-swap begins (see Looks.h): it conflicts as a
/// read does, and nothing conflicts with it, as the swap itself tells more.
enum class Use : uint8_t { Read, Write, Atomic, Look };
inline bool isRead(Use use) { return use == Use::Read || use == Use::Look; }

/// What an LDS access conflicts with: its first conflicting word or byte, and
/// whether any conflicts because another wave read it.
struct LdsConflict {
  uint32_t address = 0;
  bool found = false, anyRead = false;
  Use other = Use::Read; ///< what the other wave did, as far as it is known
  uint32_t otherWave = 0;
  uint16_t readers = 0; ///< waves that an atomic meets by their reads alone
};

class LdsShadow {
public:
  void reset(uint32_t bytes);
  void nextInterval();

  /// Records an access of `size` bytes; true means it conflicts.
  bool access(uint32_t address, uint32_t size, unsigned wave, Use use,
              LdsConflict &conflict) {
    if (((address | size) & 3) || lastSplit == interval)
      return accessParts(address, size, wave, use, conflict);
    bool bad = false;
    for (uint32_t word = address / 4, e = word + size / 4; word < e; ++word)
      bad |= touch(words[word], word * 4, wave, use, conflict);
    return bad;
  }

  /// Records an access of whole aligned words by every lane in `mask`. False if
  /// it conflicts or is not such an access: then each lane's access() tells.
  template <unsigned Words>
  bool accessQuietly(const uint32_t *addresses, uint64_t mask, unsigned wave,
                     Use use) {
    if (lastSplit == interval || use == Use::Atomic)
      return false;
    uint64_t mine = bitOf(wave, use), others = conflictBits(wave, use);
    uint64_t found = 0;
    if (mask == ~0ull) {
      for (unsigned l = 0; l < 64; ++l)
        found |= touchAll<Words>(addresses[l], mine);
    } else {
      for (; mask; mask &= mask - 1)
        found |= touchAll<Words>(addresses[__builtin_ctzll(mask)], mine);
    }
    return !(found & others);
  }

  /// The wave compares and swaps what it has read: no read of its own is left.
  void forgetRead(uint32_t address, unsigned wave);

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
  /// Bits 0-15 the interval; 16-31 the waves that read the word in it, 32-47
  /// those that wrote it, 48-63 those that updated it by atomics.
  using Cell = uint64_t;
  uint32_t length = 0;
  uint16_t interval = 1;
  std::vector<uint8_t> data, def;
  std::vector<Cell> words;
  /// Cells per byte, used for words that were accessed in part.
  std::vector<Cell> parts;
  std::vector<uint16_t> splitInterval;
  uint16_t lastSplit = 0; ///< interval of the latest partial access
  std::vector<uint64_t> dma;

  bool accessParts(uint32_t address, uint32_t size, unsigned wave, Use use,
                   LdsConflict &conflict);

  static uint64_t bitOf(unsigned wave, Use use) {
    return use == Use::Look ? 0 : 1ull << (16 + 16 * unsigned(use)) << wave;
  }
  static constexpr uint64_t kReads = 0xffffull << 16, kWrites = kReads << 16,
                            kAtomics = kWrites << 16;
  /// Waves whose bits may conflict with this use.
  static uint64_t conflictBits(unsigned wave, Use use) {
    uint64_t kinds = kWrites;
    kinds |= use == Use::Atomic ? 0 : kAtomics;
    kinds |= isRead(use) ? 0 : kReads;
    return kinds & ~(0x0001000100010000ull << wave);
  }
  /// Adds an access to the cell; an older interval's bits go.
  uint64_t mark(Cell &cell, uint64_t mine) const {
    Cell c = uint16_t(cell) == interval ? cell : interval;
    cell = c | mine;
    return c;
  }
  template <unsigned Words> uint64_t touchAll(uint32_t address, uint64_t mine) {
    Cell *cell = &words[address / 4];
    uint64_t found = 0;
    for (unsigned k = 0; k < Words; ++k)
      found |= mark(cell[k], mine);
    return found;
  }
  bool touch(Cell &cell, uint32_t address, unsigned wave, Use use,
             LdsConflict &conflict) {
    uint64_t before = mark(cell, bitOf(wave, use));
    uint64_t others = before & conflictBits(wave, use);
    if (__builtin_expect(others == 0, 1))
      return false;
    noteConflict(before, others, address, conflict);
    return true;
  }
  static void noteConflict(uint64_t cell, uint64_t others, uint32_t address,
                           LdsConflict &conflict);
};

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_LDSSHADOW_H
