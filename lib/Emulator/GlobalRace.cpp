//===- GlobalRace.cpp - Races between workgroups on global memory ---------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cell per word holds who read and wrote it in this launch:
//   bits 0-22 reader, 23-45 writer, 46 the writer used atomics alone,
//   48-51 bytes read, 52-55 bytes written, 56-63 the launch.
// Workgroups are numbered from 1; kMany means several.
// Different bytes of a word may belong to different workgroups, so the byte
// masks decide; where one cell cannot hold the whole history the older part is
// dropped, never invented.
//
//===----------------------------------------------------------------------===//

#include "LaneCopy.h"
#include "MemoryAccess.h"
#include <algorithm>

namespace hk::emu {
namespace {

constexpr uint64_t kMany = 0x7fffff;

struct CellView {
  uint64_t bits;
  uint64_t reader() const { return bits & kMany; }
  uint64_t writer() const { return bits >> 23 & kMany; }
  bool atomic() const { return bits >> 46 & 1; }
  unsigned bytesRead() const { return bits >> 48 & 15; }
  unsigned bytesWritten() const { return bits >> 52 & 15; }
  uint8_t tag() const { return uint8_t(bits >> 56); }
  static uint64_t make(uint8_t tag, uint64_t writer, unsigned wrote,
                       uint64_t reader, unsigned read, bool atomic = false) {
    return uint64_t(tag) << 56 | uint64_t(wrote) << 52 | uint64_t(read) << 48 |
           uint64_t(atomic) << 46 | writer << 23 | reader;
  }
};

/// The number of the wave's workgroup in a cell.
uint64_t numberOf(const Wave &w) { return w.wg->linear % (kMany - 1) + 1; }

/// What a load or store of whole words by one workgroup usually meets.
struct Usual {
  uint64_t mine;   ///< the cell after this workgroup's access
  uint64_t shared; ///< read by several, written by none; `mine` for a write
  Usual(uint8_t tag, uint64_t me, bool write)
      : mine(write ? CellView::make(tag, me, 15, 0, 0)
                   : CellView::make(tag, 0, 0, me, 15)),
        shared(write ? mine : CellView::make(tag, 0, 0, kMany, 15)) {}
  bool matches(uint64_t cell) const { return cell == mine || cell == shared; }
};

/// Another workgroup that an access conflicts with, or 0.
struct Other {
  uint64_t workgroup = 0;
  bool read = false;   ///< it has read the word, as opposed to written
  bool atomic = false; ///< it has used atomics alone
};

/// An atomic conflicts with reads only where `atomicsMeetReads`.
Other conflict(CellView c, uint64_t me, unsigned mask, Use use,
               bool atomicsMeetReads) {
  Other other;
  if (c.writer() && c.writer() != me && (c.bytesWritten() & mask) &&
      !(use == Use::Atomic && c.atomic())) {
    other.workgroup = c.writer();
    other.atomic = c.atomic();
  }
  bool meetsReads =
      use == Use::Write || (use == Use::Atomic && atomicsMeetReads);
  if (meetsReads && c.reader() && c.reader() != me && (c.bytesRead() & mask)) {
    other.read = true;
    if (!other.workgroup)
      other.workgroup = c.reader();
  }
  return other;
}

/// One word; `mask` says which bytes.
Other touchCell(uint64_t *cell, uint8_t tag, uint64_t me, unsigned mask,
                Use use, bool atomicsMeetReads, uint64_t &firstTouches) {
  CellView c{__atomic_load_n(cell, __ATOMIC_RELAXED)};
  if (c.tag() != tag) {
    ++firstTouches;
    c.bits = CellView::make(tag, 0, 0, 0, 0);
  }
  uint64_t writer = c.writer(), reader = c.reader();
  unsigned wrote = c.bytesWritten(), read = c.bytesRead();
  Other other = conflict(c, me, mask, use, atomicsMeetReads);
  bool atomic = c.atomic();
  if (use == Use::Look) {
    // Leaves no trace.
  } else if (use == Use::Atomic && writer && writer != me && atomic) {
    // Several may update a word; the bytes that all did stay.
    writer = kMany;
    wrote &= mask;
  } else if (use != Use::Read) {
    atomic = use == Use::Atomic && (writer != me || atomic);
    wrote = writer == me ? wrote | mask : mask;
    writer = me;
  } else if (reader == me) {
    read |= mask;
  } else if (!reader) {
    reader = me;
    read = mask;
  } else if (reader == kMany) {
    // The bytes known to be shared stay.
  } else if (read & mask) {
    reader = kMany;
    read &= mask;
  } else {
    reader = me;
    read = mask;
  }
  uint64_t now = CellView::make(tag, writer, wrote, reader, read, atomic);
  if (now != __atomic_load_n(cell, __ATOMIC_RELAXED))
    __atomic_store_n(cell, now, __ATOMIC_RELAXED);
  return other;
}

} // namespace

/// A lane's access; a write of what is there already does not conflict with
/// other writes. Returns what it conflicts with.
static Other raceAccess(Wave &w, uint64_t address, unsigned bytes, Use use,
                        unsigned lane, const StoredValue *value) {
  const Memory &memory = *w.launch->memory;
  uint64_t me = numberOf(w), first = 0;
  Other found;
  uint64_t begin = address, end = address + bytes;
  while (address < end) {
    uint64_t word = address & ~3ull, stop = std::min(word + 4, end);
    unsigned mask = 0xf;
    mask &= 0xfu << (address - word);
    if (end < word + 4)
      mask &= 0xfu >> (word + 4 - end);
    uint64_t *cell = memory.raceCell(word);
    Other hit = touchCell(cell, w.launch->tag, me, mask, use,
                          w.object->knowsLooks(), first);
    if (hit.workgroup && !found.workgroup &&
        (!value || hit.read ||
         !storesSameBytes(w, *value, lane, unsigned(address - begin),
                          unsigned(stop - address), address,
                          reinterpret_cast<const uint8_t *>(address),
                          memory.defined(address))))
      found = hit;
    address = stop;
  }
  w.wg->counters.compulsoryBytes += 4 * first;
  return found;
}

/// Lanes that touch consecutive words, the common case: false at the first one
/// that conflicts, whose cell stays as it is for the lane's own check.
static bool touchRun(Wave &w, uint64_t begin, uint64_t end, bool write) {
  uint64_t me = numberOf(w);
  Use use = write ? Use::Write : Use::Read;
  uint8_t tag = w.launch->tag;
  Usual usual(tag, me, write);
  uint64_t *cell = w.launch->memory->raceCell(begin);
  uint64_t *last = cell + (end - begin) / 4, first = 0;
  for (; cell != last; ++cell) {
    uint64_t now = __atomic_load_n(cell, __ATOMIC_RELAXED);
    if (usual.matches(now))
      continue;
    if (CellView{now}.tag() != tag) {
      __atomic_store_n(cell, usual.mine, __ATOMIC_RELAXED);
      ++first;
    } else if (conflict(CellView{now}, me, 15, use, false).workgroup) {
      break;
    } else {
      touchCell(cell, tag, me, 15, use, false, first);
    }
  }
  w.wg->counters.compulsoryBytes += 4 * first;
  return cell == last;
}

/// Each lane touches `Words` whole words: true if nothing changes, which is so
/// from the second time on.
template <unsigned Words>
static bool touchedBefore(const Wave &w, const LaneAddresses &at, bool write) {
  const Memory &memory = *w.launch->memory;
  Usual usual(w.launch->tag, numberOf(w), write);
  for (uint64_t m = at.mask; m; m &= m - 1) {
    const uint64_t *cell = memory.raceCell(at.a[__builtin_ctzll(m)]);
    bool same = true;
    for (unsigned k = 0; k < Words; ++k)
      same &= usual.matches(__atomic_load_n(cell + k, __ATOMIC_RELAXED));
    if (!same)
      return false;
  }
  return true;
}

/// True if the lanes cover one range without gaps, whole words each.
static bool isRun(const LaneAddresses &at, unsigned bytes) {
  if (at.mask != ~0ull || bytes % 4 || at.a[0] % 4)
    return false;
  uint64_t wrong = 0;
  for (unsigned l = 0; l < kLanes; ++l)
    wrong |= at.a[l] ^ (at.a[0] + uint64_t(l) * bytes);
  return wrong == 0;
}

/// Stores that the wave has not waited for, or all of the workgroup after its
/// last release, as SyncTable keeps them.
static void noteStores(Wave &w, const LaneAddresses &at, unsigned bytes) {
  std::vector<OpenStore> &open = w.wg->open;
  constexpr size_t many = 1024;
  if (open.size() > many) // only what a release would not cover is of interest
    open.erase(std::remove_if(open.begin(), open.end(),
                              [&](const OpenStore &s) {
                                const Wave &by = *w.wg->waves[s.wave];
                                return s.sequence <= by.vm.retiredSequence();
                              }),
               open.end());
  size_t first = open.size();
  for (uint64_t m = at.mask; m; m &= m - 1) {
    uint64_t a = at.a[__builtin_ctzll(m)];
    if (open.size() > first && open.back().end == a)
      open.back().end += bytes;
    else
      open.push_back({a, a + bytes, w.vm.issuedSequence() + 1, w.index});
  }
  if (w.wg->released)
    w.wg->launch->sync.addOpen(w.wg->linear,
                               {open.begin() + long(first), open.end()});
}

void releaseWord(Wave &w, uint64_t address) {
  SyncTable &sync = w.wg->launch->sync;
  sync.release(address, w.wg->linear, w.wg->after);
  // Other waves' stores: a barrier orders them, without a wait for vmcnt, as
  // the waves of a workgroup share their cache.
  std::vector<OpenStore> left;
  for (const OpenStore &s : w.wg->open)
    if (s.wave == w.index && s.sequence > w.vm.retiredSequence())
      left.push_back(s);
  w.wg->open = left;
  w.wg->released = true;
  sync.setOpen(w.wg->linear, std::move(left));
}

void checkRaces(Wave &w, const Inst &inst, const LaneAddresses &at,
                unsigned bytes, Use use, const StoredValue *value) {
  if (w.checks && w.wg->waves.size() > 1)
    checkWaveRaces(w, inst, at, bytes, use, value);
  if (w.launch->singleWorkgroup && !w.launch->options.counters)
    return;
  bool write = use == Use::Write;
  if (use == Use::Read && inst.looks)
    use = Use::Look;
  bool plain = use == Use::Read || write;
  // Loads and stores of device scope are how they synchronise.
  if (inst.m.sc1 && use != Use::Atomic) {
    for (uint64_t m = at.mask; write && m; m &= m - 1)
      releaseWord(w, at.a[__builtin_ctzll(m)]);
    return;
  }
  if (write && w.checks && w.object->mayRelease())
    noteStores(w, at, bytes);
  if (plain && isRun(at, bytes) &&
      touchRun(w, at.a[0], at.a[0] + uint64_t(kLanes) * bytes, write))
    return;
  auto before = [&](auto words) { return touchedBefore<words>(w, at, write); };
  if (plain && at.aligned && withWords(bytes, before))
    return;
  for (uint64_t m = at.mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctzll(m));
    Other met = raceAccess(w, at.a[l], bytes, use, l, value);
    uint64_t other = met.workgroup;
    if (!other || (use == Use::Look && met.atomic))
      continue;
    // Workgroups that atomics have ordered before this one are trusted, but for
    // what they stored after their release or had not waited for.
    const SyncSet &after = w.wg->after;
    bool ordered = other == kMany ? !after.empty() : after.contains(other - 1);
    bool open = ordered && w.wg->launch->sync.isOpen(uint32_t(other - 1),
                                                     at.a[l], at.a[l] + bytes);
    if (ordered && !open)
      continue;
    std::string who = other == kMany
                          ? "several workgroups"
                          : "workgroup number " + std::to_string(other - 1);
    std::string text =
        std::string(isRead(use)         ? "reads"
                    : use == Use::Write ? "writes"
                                        : "updates") +
        " memory that " + who +
        (use == Use::Write ? " also accessed"
         : met.read        ? " read plainly"
         : met.atomic      ? " updated by atomics"
                           : " also wrote") +
        (open ? " in this launch, after its release or without waiting for the "
                "store before it"
              : " in this launch, without synchronisation");
    reportRace(w, w.finding(inst, Check::GlobalRace, int(l), at.a[l], text),
               use == Use::Read && met.atomic ? 1u << w.index : 0);
    return;
  }
}

} // namespace hk::emu
