//===- WaveRace.cpp - Races of waves on global memory ---------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cell per word holds which waves of one workgroup touched it between two
// barriers:
//   bits 0-23 the epoch, which only that workgroup has; 24-27 the bytes touched
//   plainly, 28-31 the bytes changed; 32-63 the waves, as in LdsShadow.h.
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
#include <string_view>

namespace hk::emu {
namespace {

constexpr uint64_t kEpoch = (1ull << Memory::kEpochBits) - 1;

/// What one access adds to a cell, and the waves it may conflict with.
struct Mark {
  Use use;
  uint64_t epoch, mine, others;

  Mark(const Wave &w, Use use, unsigned bytes)
      : use(use), epoch(w.wg->epoch),
        mine(waveBits(w.index, use) | byteBits(use, bytes)),
        others((use == Use::Write ? 0xffffffffull : 0xffffull) << 32 &
               ~waveBits(w.index, Use::Write)) {}
  uint64_t current(uint64_t cell) const {
    return (cell & kEpoch) == epoch ? cell : epoch;
  }
  /// A read adds no bit to that of a change, an atomic takes a read's place.
  uint64_t after(uint64_t before) const {
    uint64_t read = mine << 16 & 0xffffull << 48 & ~(before << 16);
    if (use == Use::Atomic)
      return (before & ~read) | mine;
    return before |
           (use == Use::Read ? mine & ~(before << 16 & 0xffffull << 48) : mine);
  }
  /// The conflicting waves' bits of a cell; an atomic's are those that wrote.
  uint64_t conflicts(uint64_t before) const {
    return (use == Use::Atomic ? before & before >> 16 : before) & others;
  }
  static uint64_t waveBits(unsigned wave, Use use) {
    uint64_t changed = use == Use::Read ? 0 : 1ull << 32;
    uint64_t plain = use == Use::Atomic ? 0 : 1ull << 48;
    return (changed | plain) << wave;
  }
  static uint64_t byteBits(Use use, uint64_t bytes) {
    uint64_t plain = use == Use::Atomic ? 0 : bytes << 24;
    return plain | (use == Use::Read ? 0 : bytes << 28);
  }
};

constexpr uint64_t kPlainBytes = 0xfull << 24, kChangedBytes = 0xfull << 28;

/// All or none of the bytes, in both halves of the mask.
bool isWhole(uint64_t cell) { return !((cell ^ cell >> 1) & 0x77ull << 24); }

struct WaveConflict {
  Use other = Use::Read;
  unsigned wave = 0;
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
    result.other = wrote                        ? Use::Write
                   : changed >> result.wave & 1 ? Use::Atomic
                                                : Use::Read;
  }
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
  uint64_t found = 0;
  for (uint64_t m = at.mask; m; m &= m - 1) {
    uint64_t *cell = memory.waveCell(at.a[__builtin_ctzll(m)]);
    for (unsigned k = 0; k < Words; ++k) {
      uint64_t before = __atomic_load_n(cell + k, __ATOMIC_RELAXED);
      uint64_t now = mark.current(before);
      if (__builtin_expect(!isWhole(now), 0))
        return false;
      found |= mark.conflicts(now);
      now = mark.after(now);
      if (now != before)
        __atomic_store_n(cell + k, now, __ATOMIC_RELAXED);
    }
  }
  return !found;
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

/// The register with which a compare-and-swap compares, or -1.
int comparedRegister(const Inst &inst) {
  std::string_view text = inst.text;
  bool wide =
      text.find("64") < text.find(' ') || text.find("_x2") < text.find(' ');
  if (text.find("ds_cmpst_rtn") == 0)
    return inst.o[2].reg;
  if (text.find("ds_cmpst") == 0)
    return inst.o[1].reg;
  if (text.find("_atomic_cmpswap") < text.find(' '))
    return inst.o[inst.m.sc0 ? 2 : 1].reg + (wide ? 2 : 1);
  return -1;
}

/// Whether the load at `pc` looks for what a compare-and-swap further on,
/// before a barrier, expects. Where it finds that nothing is to be done the
/// swap does not run.
bool looksBeforeSwap(const CodeObject &object, uint64_t pc) {
  constexpr unsigned kFurtherOn = 64;
  const Inst *load = object.instAt(pc);
  if (!load || load->numOperands == 0 || !load->o[0].isVgpr())
    return false;
  const Inst *end = object.program().data() + object.program().size();
  for (const Inst *i = load + 1; i < end && i <= load + kFurtherOn; ++i) {
    std::string_view text = i->text;
    if (text.find("s_barrier") == 0 || text.find("s_endpgm") == 0)
      return false;
    if (comparedRegister(*i) == load->o[0].reg && i->m.offset == load->m.offset)
      return true;
  }
  return false;
}

} // namespace

void reportRace(Wave &w, Finding finding, bool mayBeSwap) {
  if (mayBeSwap && looksBeforeSwap(*w.wg->launch->object, finding.pc))
    return;
  if (!mayBeSwap) {
    w.wg->launch->report.add(std::move(finding));
    return;
  }
  auto &all = w.wg->suspects;
  bool known = std::any_of(all.begin(), all.end(), [&](const Finding &f) {
    return f.pc == finding.pc && f.wave == finding.wave;
  });
  if (!known)
    all.push_back(std::move(finding));
}

void withdrawSuspects(Wave &w, uint64_t address, unsigned bytes) {
  auto &all = w.wg->suspects;
  if (all.empty())
    return;
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](const Finding &f) {
                             return f.wave == w.index &&
                                    f.address / bytes == address / bytes;
                           }),
            all.end());
}

void Workgroup::reportSuspects() {
  for (Finding &f : suspects)
    launch->report.add(std::move(f));
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
  if (use != Use::Atomic && (inst.m.sc0 || inst.m.sc1)) {
    if (use == Use::Read)
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
    reportRace(w,
               w.finding(inst, Check::GlobalRace, int(l), at.a[l],
                         describeRace(use, c.other, c.wave) +
                             " this memory and no barrier lies between"),
               use == Use::Read && c.other == Use::Atomic);
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
