//===- WaveRace.cpp - Races of waves on global memory ---------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cell per word holds which waves of one workgroup touched it between two
// barriers:
//   bits 0-22 the epoch, which only that workgroup has; 23 the wave that used
//   atomics has also read; 24-27 the bytes touched plainly, 28-31 the bytes
//   changed; 32-47 the waves that changed it, 48-63 those that touched it
//   plainly: atomics are changes that are not plain.
// Bit 23 needs no name of a wave: a read beside another wave's atomic is a race
// when it happens, so that until one more wave's atomic there is one such wave.
// Different bytes of a word may belong to different waves; where one cell
// cannot hold the whole history the older part is dropped, never invented.
//
// A barrier orders the waves without a wait for vmcnt: they share a cache that
// serves their accesses in order, which LLVM's memory model of gfx90a and later
// relies on. In threadgroup split mode they may not share it, so what a wave
// has not waited for belongs to the next epoch too.
//
//===----------------------------------------------------------------------===//

#include "LaneCopy.h"
#include "MemoryAccess.h"
#include <algorithm>

namespace hk::emu {
namespace {

constexpr uint64_t kEpoch = (1ull << Memory::kEpochBits) - 1;
constexpr uint64_t kHasRead = 1ull << Memory::kEpochBits;
static_assert(Memory::kEpochBits == 23, "the bits of a cell");

/// The waves that used atomics alone, as changes.
uint64_t atomicWaves(uint64_t cell) {
  return cell & ~(cell >> 16) & 0xffffull << 32;
}

/// What one access adds to a cell, and the waves it may conflict with.
struct Mark {
  Use use;
  uint64_t epoch, mine, others;

  Mark(const Wave &w, Use use, unsigned bytes)
      : use(use), epoch(w.wg->epoch),
        mine(waveBits(w.index, use) | byteBits(use, bytes)),
        others((isRead(use) ? 0xffffull : 0xffffffffull) << 32 &
               ~waveBits(w.index, Use::Write)) {}
  uint64_t current(uint64_t cell) const {
    return (cell & kEpoch) == epoch ? cell : epoch;
  }
  /// A read adds no bit of a wave to that of a change, an atomic takes a read's
  /// place; kHasRead remembers both.
  uint64_t after(uint64_t before) const {
    if (use == Use::Look)
      return before;
    uint64_t plainly = 0xffffull << 48;
    if (use == Use::Atomic) {
      uint64_t read = mine << 16 & plainly & ~(before << 16) & before;
      if (!(before & mine & 0xffffull << 32)) // not this wave's
        before &= ~kHasRead;
      return (before & ~read) | mine | (read ? kHasRead : 0);
    }
    if (use != Use::Read)
      return before | mine;
    bool counted = atomicWaves(before) & mine >> 16;
    return before | (mine & ~(before << 16 & plainly)) |
           (counted ? kHasRead : 0);
  }
  /// The conflicting waves' bits of a cell; for an atomic the atomics of waves
  /// that have not read are none.
  uint64_t conflicts(uint64_t before) const {
    bool meets = use != Use::Atomic || before & kHasRead;
    return (meets ? before : before & ~atomicWaves(before)) & others;
  }
  static uint64_t waveBits(unsigned wave, Use use) {
    uint64_t changed = isRead(use) ? 0 : 1ull << 32;
    uint64_t plain = use == Use::Atomic ? 0 : 1ull << 48;
    return (changed | plain) << wave;
  }
  static uint64_t byteBits(Use use, uint64_t bytes) {
    uint64_t plain = use == Use::Atomic ? 0 : bytes << 24;
    return plain | (isRead(use) ? 0 : bytes << 28);
  }
};

constexpr uint64_t kPlainBytes = 0xfull << 24, kChangedBytes = 0xfull << 28;

/// All or none of the bytes, in both halves of the mask.
bool isWhole(uint64_t cell) { return !((cell ^ cell >> 1) & 0x77ull << 24); }

struct WaveConflict {
  Use other = Use::Read;
  unsigned wave = 0, readers = 0;
  bool found = false, read = false;
};

/// Any bytes of one word.
WaveConflict touchBytes(uint64_t *cell, const Mark &mark, unsigned wave) {
  uint64_t before = mark.current(__atomic_load_n(cell, __ATOMIC_RELAXED));
  unsigned changed = uint16_t(before >> 32), plain = uint16_t(before >> 48);
  uint64_t mask = (mark.mine >> 24 | mark.mine >> 28) & 15;
  bool meetsChanged = before & kChangedBytes & mask << 28;
  bool meetsPlain = before & kPlainBytes & mask << 24;
  uint64_t others = mark.conflicts(before);
  unsigned found = (meetsChanged ? uint16_t(others >> 32) : 0u) |
                   (meetsPlain ? uint16_t(others >> 48) : 0u);
  WaveConflict result;
  if (found) {
    unsigned wrote = found & changed & plain;
    result.found = true;
    result.read = found & plain & ~changed;
    result.wave = unsigned(__builtin_ctz(wrote ? wrote : found));
    // Atomics meet each other's waves only by what those have read.
    bool atomic = changed >> result.wave & 1 && mark.use != Use::Atomic;
    result.other = wrote ? Use::Write : atomic ? Use::Atomic : Use::Read;
    result.readers = wrote ? 0 : found;
  }
  if (mark.use == Use::Look)
    return result;
  // The bytes of one wave add up; of several they must be the same.
  bool alone = !((changed | plain) & ~(1u << wave));
  uint64_t bytes = before & (kPlainBytes | kChangedBytes);
  uint64_t both = mark.after(before);
  bool same = isWhole(both) && isWhole(bytes) && bytes;
  uint64_t now = alone || same ? both : mark.epoch | mark.mine;
  if (now != before)
    __atomic_store_n(cell, now, __ATOMIC_RELAXED);
  return result;
}

/// Every lane's whole words; false if any conflicts or needs a closer look.
template <unsigned Words>
bool touchQuietly(const Wave &w, const LaneAddresses &at, const Mark &mark) {
  const Memory &memory = *w.launch->memory;
  for (uint64_t m = at.mask; m; m &= m - 1) {
    uint64_t *cell = memory.waveCell(at.a[__builtin_ctzll(m)]);
    for (unsigned k = 0; k < Words; ++k) {
      uint64_t before = __atomic_load_n(cell + k, __ATOMIC_RELAXED);
      uint64_t now = mark.current(before);
      if (__builtin_expect(!isWhole(now) || mark.conflicts(now), 0))
        return false;
      now = mark.after(now);
      if (now != before)
        __atomic_store_n(cell + k, now, __ATOMIC_RELAXED);
    }
  }
  return true;
}

/// A lane's access word by word; what it conflicts with.
WaveConflict touchLane(const Wave &w, uint64_t address, unsigned bytes,
                       unsigned lane, Use use, const StoredValue *value) {
  const Memory &memory = *w.launch->memory;
  uint64_t begin = address, end = address + bytes;
  WaveConflict result;
  while (address < end) {
    uint64_t word = address & ~3ull, stop = std::min(word + 4, end);
    unsigned mask = 0xfu << (address - word) & 0xfu >> (word + 4 - stop);
    WaveConflict c =
        touchBytes(memory.waveCell(word), Mark(w, use, mask), w.index);
    // A store of what is there already does not conflict with stores.
    if (c.found && !result.found &&
        (!value || c.read ||
         !storesSameBytes(w, *value, lane, unsigned(address - begin),
                          unsigned(stop - address), address,
                          reinterpret_cast<const uint8_t *>(address),
                          memory.defined(address))))
      result = c;
    address = stop;
  }
  return result;
}

void dropRetired(Wave &w) {
  auto &all = w.globalTouches;
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](const GlobalTouch &t) {
                             return t.sequence <= w.vm.retiredSequence();
                           }),
            all.end());
}

} // namespace

void reportRace(Wave &w, Finding finding, unsigned readers) {
  if (!readers) {
    w.wg->launch->report.add(std::move(finding));
    return;
  }
  // Each address by itself, as a swap takes back one; a report says one of
  // them, so that not all of many are needed.
  constexpr size_t kEnough = 4096;
  auto &all = w.wg->suspects;
  bool known = std::any_of(all.begin(), all.end(), [&](const auto &s) {
    return s.finding.pc == finding.pc && s.finding.wave == finding.wave &&
           s.finding.address == finding.address;
  });
  if (!known && all.size() < kEnough)
    all.push_back({std::move(finding), readers});
}

void withdrawSuspects(Wave &w, uint64_t address, unsigned bytes) {
  auto &all = w.wg->suspects;
  if (all.empty())
    return;
  for (auto &s : all)
    if (s.finding.address / bytes == address / bytes)
      s.readers &= ~(1u << w.index);
  all.erase(std::remove_if(all.begin(), all.end(),
                           [](const auto &s) { return !s.readers; }),
            all.end());
}

void swapsGlobal(Wave &w, uint64_t address, unsigned bytes) {
  withdrawSuspects(w, address, bytes);
  for (unsigned k = 0; k < bytes; k += 4) {
    uint64_t *cell = w.launch->memory->waveCell(address + k);
    uint64_t before = __atomic_load_n(cell, __ATOMIC_RELAXED);
    if ((before & kEpoch) == w.wg->epoch && before & kHasRead &&
        atomicWaves(before) >> 32 >> w.index & 1)
      __atomic_store_n(cell, before & ~kHasRead, __ATOMIC_RELAXED);
  }
}

void Workgroup::reportSuspects() {
  for (Suspect &s : suspects)
    launch->report.add(std::move(s.finding));
  suspects.clear();
}

void Workgroup::nextEpoch() {
  if (epochUsed || !epoch)
    epoch = launch->memory->nextEpoch();
  epochUsed = false;
}

void checkWaveRaces(Wave &w, const Inst &inst, const LaneAddresses &at,
                    unsigned bytes, Use use, const StoredValue *value) {
  // Loads and stores with a scope are how waves synchronise; what a load tells
  // its wave of the others is not known, so all is forgotten.
  if (use == Use::Read && inst.looks)
    use = Use::Look;
  if (use != Use::Atomic && (inst.m.sc0 || inst.m.sc1)) {
    if (isRead(use))
      w.wg->nextEpoch();
    return;
  }
  if (!at.mask)
    return;
  w.wg->epochUsed = true;
  if (w.launch->kernel->splitsWorkgroups() && inst.op->cls == InstClass::Vmem) {
    constexpr size_t many = 256;
    if (w.globalTouches.size() > many)
      dropRetired(w);
    GlobalTouch touch;
    touch.sequence = w.vm.issuedSequence() + 1;
    touch.mask = at.mask;
    touch.bytes = bytes;
    touch.use = use;
    std::copy(at.a, at.a + kLanes, touch.address);
    w.globalTouches.push_back(touch);
  }
  Mark mark(w, use, 15);
  auto quiet = [&](auto words) { return touchQuietly<words>(w, at, mark); };
  if (at.aligned && withWords(bytes, quiet))
    return;
  for (uint64_t m = at.mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctzll(m));
    WaveConflict c = touchLane(w, at.a[l], bytes, l, use, value);
    if (!c.found)
      continue;
    if (use == Use::Look && c.other == Use::Atomic)
      continue;
    unsigned readers = raceReaders(w, use, c.other, c.readers);
    reportRace(w,
               w.finding(inst, Check::GlobalRace, int(l), at.a[l],
                         describeRace(use, c.other, c.wave) +
                             " this memory and no barrier lies between"),
               readers);
    if (!readers)
      return;
  }
}

void carryGlobal(Wave &w) {
  dropRetired(w);
  for (const GlobalTouch &t : w.globalTouches)
    for (uint64_t m = t.mask; m; m &= m - 1) {
      unsigned l = unsigned(__builtin_ctzll(m));
      touchLane(w, t.address[l], t.bytes, l, t.use, nullptr);
      w.wg->epochUsed = true;
    }
  w.globalTouches.clear();
}

} // namespace hk::emu
