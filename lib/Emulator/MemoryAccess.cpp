//===- MemoryAccess.cpp - Lane accesses to global memory ------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bounds first, then races, then the copy with its definedness.
//
//===----------------------------------------------------------------------===//

#include "MemoryAccess.h"
#include "LaneCopy.h"
#include <algorithm>

namespace hk::emu {
namespace {

template <class F> void forLanes(uint64_t mask, F f) {
  for (; mask; mask &= mask - 1)
    f(unsigned(__builtin_ctzll(mask)));
}

/// Bytes [address, address + n) as a mask of defined ones.
unsigned definedBytes(const Memory &memory, uint64_t address, unsigned n) {
  unsigned mask = 0;
  for (unsigned k = 0; k < n; ++k)
    mask |= unsigned(*memory.defined(address + k) >> ((address + k) & 3) & 1)
            << k;
  return mask;
}

} // namespace

std::string describeAddress(Wave &w, uint64_t address) {
  const Allocation *a = w.launch->memory->owner(address);
  // An access just below an allocation belongs to the gap before it.
  for (uint64_t step = 0; !a && step < 2; ++step)
    a = w.launch->memory->owner(address + (step ? Memory::kChunk : 0));
  if (!a)
    return "; no allocation is near";
  char buf[160];
  bool past = address >= a->base;
  std::snprintf(buf, sizeof buf,
                "; it is %llu bytes %s the %s of a %llu-byte allocation (%s)",
                static_cast<unsigned long long>(past ? address - a->base
                                                     : a->base - address),
                past ? "past" : "before", "start",
                static_cast<unsigned long long>(a->size), a->label.c_str());
  return buf;
}

void checkAddressDefined(Wave &w, const Inst &inst, const Operand &o,
                         uint64_t mask) {
  if (!w.checks)
    return;
  uint64_t bad = mask & ~definedLanes(w, o);
  if (__builtin_expect(bad != 0, 0))
    w.reportUndefined(inst, __builtin_ctzll(bad), 0, "the address");
}

void checkGlobal(Wave &w, const Inst &inst, LaneAddresses &at, unsigned bytes,
                 bool write, bool atomic) {
  if (!at.mask)
    return;
  bool looks = atomic ? inst.m.sc0 : !write && inst.m.sc1;
  (looks ? w.wg->looked : w.wg->worked) = true;
  const Memory &memory = *w.launch->memory;
  unsigned first = unsigned(__builtin_ctzll(at.mask));
  uint64_t low = at.a[first], high = low, bits = 0;
  if (at.mask == ~0ull) {
    for (unsigned l = 0; l < kLanes; ++l) {
      low = std::min(low, at.a[l]);
      high = std::max(high, at.a[l]);
      bits |= at.a[l];
    }
  } else {
    forLanes(at.mask, [&](unsigned l) {
      low = std::min(low, at.a[l]);
      high = std::max(high, at.a[l]);
      bits |= at.a[l];
    });
  }
  at.aligned = (bits & 3) == 0;
  const Allocation *a = memory.owner(low);
  auto inside = [&](const Allocation *x, uint64_t lo, uint64_t hi) {
    return x && lo >= x->base && hi + bytes <= x->end() &&
           (!write || (lo >= x->writableBegin && hi + bytes <= x->writableEnd));
  };
  if (__builtin_expect(!inside(a, low, high) || memory.owner(high) != a, 0)) {
    bool reported = false;
    forLanes(at.mask, [&](unsigned l) {
      const Allocation *x = memory.owner(at.a[l]);
      if (inside(x, at.a[l], at.a[l]))
        return;
      at.mask &= ~(1ull << l);
      if (reported)
        return;
      reported = true;
      bool readOnly = memory.contains(at.a[l], bytes);
      w.report(inst, readOnly ? Check::ReadOnlyWrite : Check::GlobalBounds,
               int(l), at.a[l],
               (readOnly ? "write to read-only memory"
                         : std::string(write ? "write" : "read") + " of " +
                               std::to_string(bytes) +
                               " bytes outside every allocation") +
                   describeAddress(w, at.a[l]));
    });
  }
  unsigned unit = atomic ? bytes : std::min(bytes, 4u);
  if ((atomic || w.launch->options.strictAlign) && (bits & (unit - 1)) &&
      w.checks)
    forLanes(at.mask, [&](unsigned l) {
      if (at.a[l] & (unit - 1))
        w.report(inst, Check::Misaligned, int(l), at.a[l],
                 "address is not a multiple of " + std::to_string(unit));
    });
}

/// Word `k` of what the lanes `wanted` read, into register `reg` + k.
static void readWord(Wave &w, const Inst &inst, const LaneAddresses &at,
                     uint64_t wanted, unsigned reg, unsigned k) {
  uint64_t failed = wanted & ~at.mask;
  const Memory &memory = *w.launch->memory;
  uint32_t *d = w.v[reg + k];
  auto copy = [&](unsigned l) {
    std::memcpy(d + l, reinterpret_cast<const void *>(at.a[l] + 4 * k), 4);
  };
  if (at.mask == ~0ull)
    for (unsigned l = 0; l < kLanes; ++l)
      copy(l);
  else
    forLanes(at.mask, copy);
  forLanes(failed, [&](unsigned l) { d[l] = 0; });
  if (!w.checks)
    return;
  uint64_t full = failed;
  forLanes(at.mask, [&](unsigned l) {
    uint64_t a = at.a[l] + 4 * k;
    full |= uint64_t((a & 3) == 0 && *memory.defined(a) == 0xf) << l;
  });
  setDefinedLanes(w, reg + k, wanted, full);
  forLanes(wanted & ~full, [&](unsigned l) {
    uint64_t a = at.a[l] + 4 * k;
    unsigned mask = definedBytes(memory, a, 4);
    w.vd[reg + k].setLaneBytes(l, mask);
    if (mask != 0xf)
      noteUndefined(w, inst, a, false);
  });
}

/// Less than a word, extended to one or into the `half` of one.
static void readPart(Wave &w, const Inst &inst, const LaneAddresses &at,
                     uint64_t wanted, unsigned bytes, unsigned reg,
                     bool signExtend, unsigned half) {
  const Memory &memory = *w.launch->memory;
  forLanes(wanted, [&](unsigned l) {
    uint8_t zero[4] = {};
    bool ok = at.mask >> l & 1;
    readValue(w, reg, l, ok ? reinterpret_cast<const uint8_t *>(at.a[l]) : zero,
              bytes, signExtend, half);
    if (!w.checks)
      return;
    unsigned all = (1u << bytes) - 1;
    unsigned mask = ok ? definedBytes(memory, at.a[l], bytes) : all;
    if (mask != all)
      noteUndefined(w, inst, at.a[l], false);
    // Extension bits are as defined as the value.
    unsigned ext = mask == all ? 0xf : (mask | (bytes == 1 ? 0xe : 0xc));
    if (mask != all && signExtend)
      ext = mask;
    if (half) {
      unsigned two = bytes == 1 ? (mask ? 3 : 2) : mask;
      unsigned old = w.vd[reg].laneBytes(l);
      ext = half == 1 ? (two | (old & 0xc)) : ((two << 2) | (old & 3));
    }
    w.vd[reg].setLaneBytes(l, ext);
  });
}

/// The registers of the lanes `wanted`: what is at their addresses, zero for
/// those that are not in `at`.
static void readLanes(Wave &w, const Inst &inst, const LaneAddresses &at,
                      uint64_t wanted, unsigned bytes, unsigned reg,
                      bool signExtend, unsigned half) {
  const Memory &memory = *w.launch->memory;
  auto fast = [&](auto words) {
    return loadDefinedLanes<words>(
        w, reg,
        [&](unsigned l) { return reinterpret_cast<const uint8_t *>(at.a[l]); },
        [&](unsigned l) { return memory.defined(at.a[l]); });
  };
  if (at.mask == ~0ull && at.aligned && withWords(bytes, fast))
    return;
  if (bytes % 4 != 0)
    return readPart(w, inst, at, wanted, bytes, reg, signExtend, half);
  for (unsigned k = 0; k < bytes / 4; ++k)
    readWord(w, inst, at, wanted, reg, k);
}

void loadGlobal(Wave &w, const Inst &inst, LaneAddresses &at, unsigned bytes,
                unsigned reg, bool signExtend, unsigned half) {
  uint64_t wanted = at.mask;
  checkGlobal(w, inst, at, bytes, false);
  if (w.observed)
    countGlobal(w, at, bytes, false);
  if (w.checks)
    checkRaces(w, inst, at, bytes, Use::Read);
  readLanes(w, inst, at, wanted, bytes, reg, signExtend, half);
  // What is read may have been released on another thread only just now.
  if (w.checks && inst.m.sc1)
    forLanes(at.mask, [&](unsigned l) {
      w.wg->launch->sync.acquire(at.a[l], w.wg->after);
    });
}

void storeGlobal(Wave &w, const Inst &inst, LaneAddresses &at, unsigned bytes,
                 unsigned reg, bool highHalf) {
  checkGlobal(w, inst, at, bytes, true);
  if (!at.mask)
    return;
  Memory &memory = *w.launch->memory;
  if (w.observed)
    countGlobal(w, at, bytes, true);
  if (w.checks) {
    StoredValue value = {reg, highHalf};
    checkRaces(w, inst, at, bytes, Use::Write, &value);
    for (unsigned k = 0; k < (bytes + 3) / 4; ++k) {
      const Defined &d = w.vd[reg + k];
      uint64_t bad = at.mask & ~d.whole();
      if (bytes < 4) {
        unsigned b0 = highHalf ? 2 : 0;
        bad = at.mask & ~d.byte[b0];
        if (bytes == 2)
          bad |= at.mask & ~d.byte[b0 + 1];
      }
      if (__builtin_expect(bad != 0, 0)) {
        unsigned l = unsigned(__builtin_ctzll(bad));
        w.reportUndefined(inst, int(l), at.a[l] + 4 * k,
                          "the value stored to global memory");
        break;
      }
    }
  }
  auto fast = [&](auto words) {
    return storeDefinedLanes<words>(
        w, reg,
        [&](unsigned l) { return reinterpret_cast<uint8_t *>(at.a[l]); },
        [&](unsigned l) { return memory.defined(at.a[l]); });
  };
  if (at.mask == ~0ull && at.aligned && withWords(bytes, fast))
    return;
  if (bytes % 4 == 0) {
    for (unsigned k = 0; k < bytes / 4; ++k) {
      const uint32_t *s = w.v[reg + k];
      forLanes(at.mask, [&](unsigned l) {
        uint64_t a = at.a[l] + 4 * k;
        std::memcpy(reinterpret_cast<void *>(a), s + l, 4);
        if ((a & 3) == 0)
          *memory.defined(a) = 0xf;
        else
          memory.setDefined(a, 4);
      });
    }
    return;
  }
  forLanes(at.mask, [&](unsigned l) {
    writeValue(w, reg, l, reinterpret_cast<uint8_t *>(at.a[l]), bytes,
               highHalf);
    for (unsigned k = 0; k < bytes; ++k) {
      uint64_t a = at.a[l] + k;
      __atomic_fetch_or(memory.defined(a), uint8_t(1u << (a & 3)),
                        __ATOMIC_RELAXED);
    }
  });
}

void countGlobal(Wave &w, const LaneAddresses &at, unsigned bytes, bool write) {
  if (w.trace)
    traceGlobal(w, at, bytes, write);
  if (!w.launch->options.counters)
    return;
  Counters &c = w.wg->counters;
  uint64_t segments[2 * kLanes];
  for (unsigned shift : {6u, 7u}) {
    unsigned n = 0;
    forLanes(at.mask, [&](unsigned l) {
      segments[n++] = at.a[l] >> shift;
      uint64_t last = (at.a[l] + bytes - 1) >> shift;
      if (last != segments[n - 1])
        segments[n++] = last;
    });
    std::sort(segments, segments + n);
    uint64_t distinct =
        uint64_t(std::unique(segments, segments + n) - segments);
    (shift == 6 ? c.transactions64 : c.transactions128) += distinct;
  }
  uint64_t total = uint64_t(__builtin_popcountll(at.mask)) * bytes;
  (write ? c.globalWriteBytes : c.globalReadBytes) += total;
}

void readValue(Wave &w, unsigned reg, unsigned lane, const uint8_t *from,
               unsigned bytes, bool signExtend, unsigned half) {
  if (bytes >= 4) {
    for (unsigned k = 0; k < bytes / 4; ++k)
      std::memcpy(&w.v[reg + k][lane], from + 4 * k, 4);
    return;
  }
  uint32_t value = from[0];
  if (bytes == 2)
    value |= uint32_t(from[1]) << 8;
  if (signExtend)
    value =
        uint32_t(bytes == 1 ? int32_t(int8_t(value)) : int32_t(int16_t(value)));
  uint32_t &d = w.v[reg][lane];
  if (half == 1)
    d = (d & 0xffff0000u) | (value & 0xffff);
  else if (half == 2)
    d = (d & 0xffffu) | value << 16;
  else
    d = value;
}

void writeValue(Wave &w, unsigned reg, unsigned lane, uint8_t *to,
                unsigned bytes, bool highHalf) {
  if (bytes >= 4) {
    for (unsigned k = 0; k < bytes / 4; ++k)
      std::memcpy(to + 4 * k, &w.v[reg + k][lane], 4);
    return;
  }
  uint32_t value = w.v[reg][lane] >> (highHalf ? 16 : 0);
  std::memcpy(to, &value, bytes);
}

uint8_t *scratchAt(Wave &w, const Inst &inst, unsigned lane, uint64_t offset,
                   unsigned bytes) {
  if (offset + bytes > w.scratchBytes || offset + bytes < offset) {
    w.report(inst, Check::GlobalBounds, int(lane), offset,
             "private memory access of " + std::to_string(bytes) +
                 " bytes beyond the kernel's " +
                 std::to_string(w.scratchBytes) + " bytes a lane");
    return nullptr;
  }
  return w.scratch + uint64_t(lane) * w.scratchBytes + offset;
}

} // namespace hk::emu
