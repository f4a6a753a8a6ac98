//===- LineCache.h - A cache of lines ---------------------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sets of ways, the least recently used way goes first. Each line carries a
// value, such as when it arrives.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_TIMING_LINECACHE_H
#define HK_LIB_EMULATOR_TIMING_LINECACHE_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace hk::emu {

class LineCache {
public:
  /// `hashed`: the set comes from all bits of the line number, not the lowest.
  LineCache(uint64_t setCount, unsigned ways, bool hashed)
      : sets(std::max<uint64_t>(setCount, 1)), ways(ways), hashed(hashed),
        entries(sets * ways) {}

  struct Entry {
    uint64_t line = ~0ull;
    uint64_t used = 0; ///< 0: empty
    double value = 0;
  };
  /// The line's entry, or null; a hit makes it the most recently used.
  Entry *find(uint64_t line) {
    Entry *set = &entries[setOf(line) * ways];
    for (unsigned k = 0; k < ways; ++k)
      if (set[k].used && set[k].line == line) {
        set[k].used = ++tick;
        return &set[k];
      }
    return nullptr;
  }
  /// Leaves the order of use alone.
  bool holds(uint64_t line) const {
    const Entry *set = &entries[setOf(line) * ways];
    return std::any_of(set, set + ways, [line](const Entry &e) {
      return e.used && e.line == line;
    });
  }
  /// Puts a line in that is not there.
  Entry &insert(uint64_t line, double value) {
    Entry *set = &entries[setOf(line) * ways];
    Entry &oldest =
        *std::min_element(set, set + ways, [](const Entry &a, const Entry &b) {
          return a.used < b.used;
        });
    oldest = {line, ++tick, value};
    return oldest;
  }

private:
  uint64_t sets;
  unsigned ways;
  bool hashed;
  std::vector<Entry> entries;
  uint64_t tick = 0;

  uint64_t setOf(uint64_t line) const {
    return (hashed ? (line * 0x9e3779b97f4a7c15ull) >> 32 : line) % sets;
  }
};

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_TIMING_LINECACHE_H
