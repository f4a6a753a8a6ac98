//===- LdsAccess.cpp - Lane accesses to LDS -------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bounds against the workgroup's own allocation, alignment, races and counters.
//
//===----------------------------------------------------------------------===//

#include "LaneCopy.h"
#include "LdsBanks.h"
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
                Use use, const StoredValue *value, LdsConflict &conflict) {
  LdsShadow &lds = w.wg->lds;
  for (unsigned k = 0; k < bytes; k += 4) {
    unsigned n = std::min(bytes - k, 4u);
    uint32_t a = address + k;
    conflict = LdsConflict();
    if (lds.access(a, n, w.index, use, conflict) &&
        (!value || conflict.anyRead ||
         !storesSameBytes(w, *value, lane, k, n, a, lds.bytes() + a,
                          lds.defined() + a / 4)))
      return false;
  }
  return true;
}

} // namespace

std::string describeRace(Use use, Use other, unsigned wave) {
  const char *kind = isRead(use) ? "RAW" : isRead(other) ? "WAR" : "WAW";
  const char *did = isRead(other)         ? " read"
                    : other == Use::Write ? " wrote"
                                          : " updated (by an atomic)";
  return std::string(kind) + " race: wave " + std::to_string(wave) + did;
}

namespace {

/// Removes the lanes past the end; the first one is reported.
void checkLdsBounds(Wave &w, const Inst &inst, LdsAddresses &at, unsigned bytes,
                    Use use) {
  uint32_t size = w.wg->lds.size();
  bool reported = false;
  for (uint64_t m = at.mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctzll(m));
    if (uint64_t(at.a[l]) + bytes <= size)
      continue;
    at.mask &= ~(1ull << l);
    if (!reported)
      w.report(inst, Check::LdsBounds, int(l), at.a[l],
               std::string(isRead(use) ? "read" : "write") + " of " +
                   std::to_string(bytes) + " bytes at LDS address " +
                   std::to_string(at.a[l]) + ", the workgroup has " +
                   std::to_string(size) + " bytes");
    reported = true;
  }
}

void checkLdsAlignment(Wave &w, const Inst &inst, const LdsAddresses &at,
                       unsigned unit) {
  for (uint64_t m = at.mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctzll(m));
    if (!(at.a[l] & (unit - 1)))
      continue;
    w.report(inst, Check::Misaligned, int(l), at.a[l],
             "LDS address is not a multiple of " + std::to_string(unit));
    return;
  }
}

void checkLdsRaces(Wave &w, const Inst &inst, const LdsAddresses &at,
                   unsigned bytes, Use use, const StoredValue *value) {
  auto quiet = [&](auto words) {
    return w.wg->lds.accessQuietly<words>(at.a, at.mask, w.index, use);
  };
  if (at.aligned && withWords(bytes, quiet))
    return;
  LdsConflict conflict;
  for (uint64_t m = at.mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctzll(m));
    if (accessLane(w, at.a[l], bytes, l, use, value, conflict))
      continue;
    std::string text =
        describeRace(use, conflict.other, conflict.otherWave) +
        " this LDS word and no barrier (with its s_waitcnt before) lies "
        "between";
    if (use == Use::Look && conflict.other == Use::Atomic)
      continue;
    Finding finding =
        w.finding(inst, Check::LdsRace, int(l), conflict.address, text);
    unsigned readers = raceReaders(w, use, conflict.other, conflict.readers);
    reportRace(w, std::move(finding), readers);
    if (!readers)
      return;
  }
}

/// The wave's own direct loads must have arrived.
void checkOwnLoads(Wave &w, const Inst &inst, const LdsAddresses &at) {
  for (uint64_t m = at.mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctzll(m));
    if (w.wg->lds.dmaSequence(at.a[l], w.index) <= w.vm.retiredSequence())
      continue;
    w.report(inst, Check::MissingWait, int(l), at.a[l],
             "LDS bytes that this wave's own direct-to-LDS load is still "
             "writing; an s_waitcnt vmcnt is missing");
    return;
  }
}

} // namespace

void checkLds(Wave &w, const Inst &inst, LdsAddresses &at, unsigned bytes,
              Use use, const StoredValue *value, bool own) {
  uint32_t worst = 0, bits = 0;
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
  at.aligned = ((bits | bytes) & 3) == 0;
  if (__builtin_expect(uint64_t(worst) + bytes > w.wg->lds.size(), 0))
    checkLdsBounds(w, inst, at, bytes, use);
  // Natural alignment is the size, of three words as of four.
  unsigned unit = bytes == 12 ? 16 : bytes;
  if (w.launch->options.strictAlign && w.checks && (bits & (unit - 1)))
    checkLdsAlignment(w, inst, at, unit);
  if (w.observed)
    countLds(w, at, bytes, use);
  if (!w.checks)
    return;
  if (w.wg->waves.size() > 1)
    checkLdsRaces(w, inst, at, bytes,
                  use == Use::Read && inst.looks ? Use::Look : use, value);
  if (own && w.wg->lds.hasDma())
    checkOwnLoads(w, inst, at);
}

int32_t touchLds(Wave &w, const LdsAddresses &at, unsigned bytes, Use use) {
  int32_t index = newTouch(w, at.mask, bytes, use);
  std::memcpy(w.touches[size_t(index)].address, at.a, sizeof at.a);
  return index;
}

void countLds(Wave &w, const LdsAddresses &at, unsigned bytes, Use use) {
  LdsService service =
      serveLds(w.object->chip(), isRead(use), at.a, at.mask, bytes);
  if (w.trace)
    traceLds(w, service.clocks);
  Counters &c = w.wg->counters;
  c.ldsClocks += service.clocks;
  c.ldsConflictClocks += service.clocks - service.ideal;
  c.ldsBytes += uint64_t(__builtin_popcountll(at.mask)) * bytes;
}

} // namespace hk::emu
