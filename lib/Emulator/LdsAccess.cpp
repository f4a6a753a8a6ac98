//===- LdsAccess.cpp - Lane accesses to LDS -------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bounds against the workgroup's own allocation, races, and the bank model.
//
//===----------------------------------------------------------------------===//

#include "LaneCopy.h"
#include "MemoryAccess.h"
#include <algorithm>

namespace hk::emu {

bool storesSameBytes(const Wave &w, StoredValue value, unsigned lane,
                     unsigned first, unsigned n, uint64_t address,
                     const uint8_t *data, const uint8_t *def) {
  if (w.launch->options.strictRaces)
    return false;
  for (unsigned k = 0; k < n; ++k) {
    unsigned byte = first + k + (value.highHalf ? 2 : 0);
    unsigned reg = value.reg + byte / 4;
    uint64_t at = (address & 3) + k;
    if (!(w.vd[reg].byte[byte % 4] >> lane & 1) ||
        !(def[at / 4] >> (at & 3) & 1) ||
        data[k] != uint8_t(w.v[reg][lane] >> (8 * (byte % 4))))
      return false;
  }
  return true;
}

namespace {

/// A lane's access word by word; false if it conflicts with other waves'.
bool accessLane(Wave &w, uint32_t address, unsigned bytes, unsigned lane,
                bool write, const StoredValue *value, LdsConflict &conflict) {
  LdsShadow &lds = w.wg->lds;
  for (unsigned k = 0; k < bytes; k += 4) {
    unsigned n = std::min(bytes - k, 4u);
    uint32_t a = address + k;
    conflict = LdsConflict();
    if (lds.access(a, n, w.index, write, conflict) &&
        (!value || conflict.anyRead ||
         !storesSameBytes(w, *value, lane, k, n, a, lds.bytes() + a,
                          lds.defined() + a / 4)))
      return false;
  }
  return true;
}

} // namespace

void checkLds(Wave &w, const Inst &inst, LdsAddresses &at, unsigned bytes,
              bool write, const StoredValue *value, bool own) {
  LdsShadow &lds = w.wg->lds;
  uint32_t size = lds.size();
  uint32_t worst = 0, bits = bytes;
  if (at.mask == ~0ull) {
    for (unsigned l = 0; l < kLanes; ++l) {
      worst = std::max(worst, at.a[l]);
      bits |= at.a[l];
    }
  } else {
    for (uint64_t m = at.mask; m; m &= m - 1) {
      worst = std::max(worst, at.a[__builtin_ctzll(m)]);
      bits |= at.a[__builtin_ctzll(m)];
    }
  }
  at.aligned = (bits & 3) == 0;
  if (__builtin_expect(uint64_t(worst) + bytes > size, 0)) {
    bool reported = false;
    for (uint64_t m = at.mask; m; m &= m - 1) {
      unsigned l = unsigned(__builtin_ctzll(m));
      if (uint64_t(at.a[l]) + bytes <= size)
        continue;
      at.mask &= ~(1ull << l);
      if (!reported)
        w.report(inst, Check::LdsBounds, int(l), at.a[l],
                 std::string(write ? "write" : "read") + " of " +
                     std::to_string(bytes) + " bytes at LDS address " +
                     std::to_string(at.a[l]) + ", the workgroup has " +
                     std::to_string(size) + " bytes");
      reported = true;
    }
  }
  if (w.launch->options.counters)
    countLds(w, at, bytes);
  if (!w.checks)
    return;
  auto quiet = [&](auto words) {
    return lds.accessQuietly<words>(at.a, at.mask, w.index, write);
  };
  if (w.wg->waves.size() > 1 && !(at.aligned && withWords(bytes, quiet))) {
    LdsConflict conflict;
    for (uint64_t m = at.mask; m; m &= m - 1) {
      unsigned l = unsigned(__builtin_ctzll(m));
      if (!accessLane(w, at.a[l], bytes, l, write, value, conflict)) {
        const char *kind = !write ? "RAW" : conflict.otherWrote ? "WAW" : "WAR";
        w.report(inst, Check::LdsRace, int(l), conflict.address,
                 std::string(kind) + " race: wave " +
                     std::to_string(conflict.otherWave) + " " +
                     (conflict.otherWrote ? "wrote" : "read") +
                     " this LDS word and no barrier (with its s_waitcnt "
                     "before) lies between");
        break;
      }
    }
  }
  if (own && lds.hasDma())
    for (uint64_t m = at.mask; m; m &= m - 1) {
      unsigned l = unsigned(__builtin_ctzll(m));
      if (lds.dmaSequence(at.a[l], w.index) > w.vm.retiredSequence()) {
        w.report(inst, Check::MissingWait, int(l), at.a[l],
                 "LDS bytes that this wave's own direct-to-LDS load is still "
                 "writing; an s_waitcnt vmcnt is missing");
        break;
      }
    }
}

int32_t touchLds(Wave &w, const LdsAddresses &at, unsigned bytes, bool write) {
  int32_t index = newTouch(w, at.mask, bytes, write);
  std::memcpy(w.touches[size_t(index)].address, at.a, sizeof at.a);
  return index;
}

/// The bank model: a wave's request is served in groups of lanes, one group a
/// clock without conflicts; a bank serves one word a clock and lanes that read
/// the same word share it. Words wider than 4 bytes are served in more groups.
void countLds(Wave &w, const LdsAddresses &at, unsigned bytes) {
  const Chip &chip = w.object->chip();
  unsigned banks = chip.ldsBanks;
  unsigned words = (bytes + 3) / 4;
  unsigned group = std::max(1u, chip.ldsBytesPerClock / (4 * words));
  group = std::min(group, kLanes);
  uint64_t clocks = 0, ideal = 0;
  for (unsigned begin = 0; begin < kLanes; begin += group) {
    std::vector<uint32_t> used[64];
    unsigned worst = 0;
    bool any = false;
    for (unsigned l = begin; l < begin + group && l < kLanes; ++l) {
      if (!(at.mask >> l & 1))
        continue;
      any = true;
      for (unsigned k = 0; k < words; ++k) {
        uint32_t word = at.a[l] / 4 + k;
        auto &list = used[word % banks];
        if (std::find(list.begin(), list.end(), word) == list.end())
          list.push_back(word);
        worst = std::max(worst, unsigned(list.size()));
      }
    }
    if (any) {
      clocks += worst;
      ++ideal;
    }
  }
  Counters &c = w.wg->counters;
  c.ldsClocks += clocks;
  c.ldsConflictClocks += clocks - std::min(clocks, ideal);
  c.ldsBytes += uint64_t(__builtin_popcountll(at.mask)) * bytes;
}

} // namespace hk::emu
