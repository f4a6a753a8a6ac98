//===- Global.cpp - Global, flat and scratch memory -----------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads and stores with per-lane addresses, including loads that go straight
// to LDS. Flat addresses are sorted by aperture into LDS, private and global.
//
//===----------------------------------------------------------------------===//

#include "LdsLanes.h"

namespace hk::emu {

void globalAddresses(Wave &w, const Inst &inst, unsigned vaddr,
                     LaneAddresses &at) {
  const Operand &v = inst.o[vaddr];
  int64_t offset = inst.m.offset;
  at.mask = w.exec;
  // The last operand is the scalar base or "off"; flat forms have none.
  const Operand *scalar = nullptr;
  for (unsigned k = vaddr + 1; k < inst.numOperands; ++k)
    if (inst.o[k].isSgpr() && inst.o[k].width == 2)
      scalar = &inst.o[k];
  checkAddressDefined(w, inst, v, w.exec);
  if (scalar) {
    if (w.checks && w.sd64(scalar->reg) != ~0ull)
      w.reportUndefined(inst, -1, 0, "the scalar base address");
    uint64_t base = w.s64(scalar->reg) + uint64_t(offset);
    const uint32_t *lo = w.v[v.reg];
    for (unsigned l = 0; l < kLanes; ++l)
      at.a[l] = base + lo[l];
    return;
  }
  const uint32_t *lo = w.v[v.reg], *hi = w.v[v.reg + 1];
  for (unsigned l = 0; l < kLanes; ++l)
    at.a[l] = (uint64_t(hi[l]) << 32 | lo[l]) + uint64_t(offset);
}

/// Whole aligned words of all lanes, with their definedness.
static void copyWordsToLds(Wave &w, const LaneAddresses &at, uint32_t base,
                           unsigned bytes) {
  LdsShadow &lds = w.wg->lds;
  const Memory &memory = *w.launch->memory;
  for (unsigned l = 0; l < kLanes; ++l) {
    uint32_t to = base + l * bytes;
    std::memcpy(lds.bytes() + to, reinterpret_cast<const void *>(at.a[l]),
                bytes);
    std::memcpy(lds.defined() + to / 4, memory.defined(at.a[l]), bytes / 4);
  }
}

/// Any lanes and sizes; a sub-word value is extended to a word, and lanes that
/// are only in `to` write zeros.
static void copyToLds(Wave &w, const LaneAddresses &at, const LdsAddresses &to,
                      unsigned bytes, bool signExtend) {
  LdsShadow &lds = w.wg->lds;
  const Memory &memory = *w.launch->memory;
  unsigned unit = bytes < 4 ? 4 : bytes;
  for (uint64_t m = to.mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctzll(m));
    uint8_t value[16] = {};
    bool reads = at.mask >> l & 1;
    if (reads)
      std::memcpy(value, reinterpret_cast<const void *>(at.a[l]), bytes);
    if (bytes < 4 && signExtend) {
      int32_t v =
          bytes == 1 ? int8_t(value[0]) : int16_t(value[0] | value[1] << 8);
      std::memcpy(value, &v, 4);
    }
    std::memcpy(lds.bytes() + to.a[l], value, unit);
    for (unsigned k = 0; k < unit; ++k) {
      uint32_t a = to.a[l] + k;
      bool ok = !reads || k >= bytes ||
                (*memory.defined(at.a[l] + k) >> ((at.a[l] + k) & 3) & 1);
      uint8_t bit = uint8_t(1u << (a & 3));
      uint8_t &d = lds.defined()[a / 4];
      d = ok ? d | bit : d & ~bit;
    }
  }
}

void loadToLds(Wave &w, const Inst &inst, LaneAddresses &at, uint64_t zero,
               unsigned bytes, bool signExtend) {
  if (w.checks && w.sd[kM0] != ~0u)
    w.reportUndefined(inst, -1, 0, "M0, the LDS address,");
  unsigned unit = bytes < 4 ? 4 : bytes;
  uint32_t base = w.s[kM0] + uint32_t(inst.m.offset);
  LdsAddresses to;
  to.mask = at.mask | zero;
  if (w.checks && (base & 3))
    w.report(inst, Check::Misaligned, -1, base,
             "the LDS address of a direct load is not a multiple of 4");
  base &= ~3u;
  for (unsigned l = 0; l < kLanes; ++l)
    to.a[l] = base + l * unit;
  uint64_t wanted = at.mask;
  checkGlobal(w, inst, at, bytes, false);
  zero |= wanted & ~at.mask;
  if (w.observed)
    countGlobal(w, at, bytes, false);
  if (w.checks)
    checkRaces(w, inst, at, bytes, Use::Read);
  checkLds(w, inst, to, unit, Use::Write, nullptr, false);
  LdsShadow &lds = w.wg->lds;
  if (at.mask == ~0ull && to.mask == ~0ull && at.aligned && bytes % 4 == 0)
    copyWordsToLds(w, at, base, bytes);
  else
    copyToLds(w, at, to, bytes, signExtend);
  if (!w.checks)
    return;
  issueVm(w, Pending::VmToLds, 0, 0, touchLds(w, to, unit, Use::Write));
  uint64_t sequence = w.vm.issuedSequence();
  if (to.mask == ~0ull) { // the lanes' slots follow each other
    lds.markDma(base, kLanes * unit, w.index, sequence);
    return;
  }
  for (uint64_t m = to.mask; m; m &= m - 1)
    lds.markDma(to.a[__builtin_ctzll(m)], unit, w.index, sequence);
}

namespace {

void load(Wave &w, const Inst &inst) {
  unsigned bytes = inst.op->info & 0xff;
  LaneAddresses at;
  globalAddresses(w, inst, 1, at);
  loadGlobal(w, inst, at, bytes, inst.o[0].reg, inst.op->info & kVmemSigned,
             vmemHalf(inst.op->info));
  issueVm(w, Pending::VmLoad, inst.o[0].reg, (bytes + 3) / 4);
}

void store(Wave &w, const Inst &inst) {
  unsigned bytes = inst.op->info & 0xff;
  LaneAddresses at;
  globalAddresses(w, inst, 0, at);
  storeGlobal(w, inst, at, bytes, inst.o[1].reg, inst.op->info & kVmemHighHalf);
  issueVm(w, Pending::VmStore, 0, 0);
}

void loadLds(Wave &w, const Inst &inst) {
  LaneAddresses at;
  globalAddresses(w, inst, 0, at);
  loadToLds(w, inst, at, 0, inst.op->info & 0xff, inst.op->info & kVmemSigned);
}

// --- scratch ---

/// Private-memory offset of a lane.
uint64_t scratchOffset(Wave &w, const Inst &inst, unsigned vaddr,
                       unsigned lane) {
  uint64_t offset = uint64_t(int64_t(inst.m.offset));
  const Operand &v = inst.o[vaddr];
  if (v.isVgpr())
    offset += w.v[v.reg][lane];
  for (unsigned k = vaddr + 1; k < inst.numOperands; ++k)
    if (inst.o[k].isSgpr())
      offset += w.s[inst.o[k].reg];
  return offset;
}

void readScratch(Wave &w, const Inst &inst, unsigned lane, uint64_t offset) {
  unsigned bytes = inst.op->info & 0xff, reg = inst.o[0].reg;
  uint8_t *p = scratchAt(w, inst, lane, offset, bytes);
  uint8_t zero[16] = {};
  unsigned half = vmemHalf(inst.op->info);
  bool signExtend = inst.op->info & kVmemSigned;
  uint32_t old = laneBits(w, reg, lane);
  readValue(w, reg, lane, p ? p : zero, bytes, signExtend, half);
  if (!w.checks)
    return;
  // The defined bits of private memory are kept beside it.
  const uint8_t *def = p ? p + uint64_t(w.scratchBytes) * kLanes : nullptr;
  for (unsigned k = 0; k < (bytes + 3) / 4; ++k) {
    uint32_t bits = ~0u;
    unsigned n = std::min(bytes, 4u);
    if (def)
      std::memcpy(&bits, def + 4 * k, n);
    if (n < 4 && signExtend && !(bits >> (8 * n - 1) & 1))
      bits &= ~(~0u << (8 * n));
    if (half)
      bits = half == 1 ? (bits & 0xffff) | (old & 0xffff0000)
                       : bits << 16 | (old & 0xffff);
    setLaneBits(w, reg + k, lane, bits);
  }
}

void writeScratch(Wave &w, const Inst &inst, unsigned lane, uint64_t offset,
                  unsigned reg) {
  unsigned bytes = inst.op->info & 0xff;
  uint8_t *p = scratchAt(w, inst, lane, offset, bytes);
  if (!p)
    return;
  bool high = inst.op->info & kVmemHighHalf;
  writeValue(w, reg, lane, p, bytes, high);
  uint8_t *def = p + uint64_t(w.scratchBytes) * kLanes;
  for (unsigned k = 0; k < bytes; k += 4) {
    uint32_t bits = laneBits(w, reg + k / 4, lane) >> (high ? 16 : 0);
    std::memcpy(def + k, &bits, std::min(bytes - k, 4u));
  }
}

void scratchLoad(Wave &w, const Inst &inst) {
  for (uint64_t m = w.exec; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctzll(m));
    readScratch(w, inst, l, scratchOffset(w, inst, 1, l));
  }
  issueVm(w, Pending::VmLoad, inst.o[0].reg, ((inst.op->info & 0xff) + 3) / 4);
}

void scratchStore(Wave &w, const Inst &inst) {
  for (uint64_t m = w.exec; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctzll(m));
    writeScratch(w, inst, l, scratchOffset(w, inst, 0, l), inst.o[1].reg);
  }
  issueVm(w, Pending::VmStore, 0, 0);
}

// --- flat ---

} // namespace

void splitFlat(Wave &w, const Inst &inst, unsigned vaddr, FlatSplit &s) {
  globalAddresses(w, inst, vaddr, s.global);
  s.lds.mask = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    uint32_t high = uint32_t(s.global.a[l] >> 32);
    uint64_t bit = 1ull << l;
    s.lds.a[l] = uint32_t(s.global.a[l]);
    if (!(s.global.mask & bit))
      continue;
    if (high == kSharedAperture)
      s.lds.mask |= bit;
    else if (high == kPrivateAperture)
      s.scratch |= bit;
    else
      continue;
    s.global.mask &= ~bit;
  }
}

namespace {

/// What barriers need to know of the lanes in LDS.
int32_t touchFlat(Wave &w, const FlatSplit &s, unsigned bytes, Use use) {
  return w.checks && s.lds.mask ? touchLds(w, s.lds, bytes, use) : -1;
}

void flatLoad(Wave &w, const Inst &inst) {
  unsigned bytes = inst.op->info & 0xff, reg = inst.o[0].reg;
  FlatSplit s;
  splitFlat(w, inst, 1, s);
  loadGlobal(w, inst, s.global, bytes, reg, inst.op->info & kVmemSigned,
             vmemHalf(inst.op->info));
  if (uint64_t wanted = s.lds.mask) {
    checkLds(w, inst, s.lds, bytes, Use::Read);
    readLdsLanes(w, inst, s.lds, wanted, bytes, reg, inst.op->info);
  }
  for (uint64_t m = s.scratch; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctzll(m));
    readScratch(w, inst, l, uint32_t(s.global.a[l]));
  }
  issueVm(w, Pending::Flat, reg, (bytes + 3) / 4,
          touchFlat(w, s, bytes, Use::Read));
}

void flatStore(Wave &w, const Inst &inst) {
  unsigned bytes = inst.op->info & 0xff, reg = inst.o[1].reg;
  bool high = inst.op->info & kVmemHighHalf;
  FlatSplit s;
  splitFlat(w, inst, 0, s);
  storeGlobal(w, inst, s.global, bytes, reg, high);
  if (s.lds.mask) {
    StoredValue value = {reg, high};
    checkLds(w, inst, s.lds, bytes, Use::Write, &value);
    writeLdsLanes(w, s.lds, bytes, reg, inst.op->info);
  }
  for (uint64_t m = s.scratch; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctzll(m));
    writeScratch(w, inst, l, uint32_t(s.global.a[l]), reg);
  }
  issueVm(w, Pending::Flat, 0, 0, touchFlat(w, s, bytes, Use::Write));
}

} // namespace

const VmemForm kVmemLoads[] = {
    {"dword", 4},
    {"dwordx2", 8},
    {"dwordx3", 12},
    {"dwordx4", 16},
    {"ubyte", 1},
    {"sbyte", 1 | kVmemSigned},
    {"ushort", 2},
    {"sshort", 2 | kVmemSigned},
    {"ubyte_d16", 1 | kVmemLowHalf},
    {"ubyte_d16_hi", 1 | kVmemHighHalf},
    {"sbyte_d16", 1 | kVmemSigned | kVmemLowHalf},
    {"sbyte_d16_hi", 1 | kVmemSigned | kVmemHighHalf},
    {"short_d16", 2 | kVmemLowHalf},
    {"short_d16_hi", 2 | kVmemHighHalf},
    {nullptr, 0}};
const VmemForm kVmemStores[] = {{"dword", 4},
                                {"dwordx2", 8},
                                {"dwordx3", 12},
                                {"dwordx4", 16},
                                {"byte", 1},
                                {"short", 2},
                                {"byte_d16_hi", 1 | kVmemHighHalf},
                                {"short_d16_hi", 2 | kVmemHighHalf},
                                {nullptr, 0}};

void addGlobal(OpTable &t) {
  struct {
    const char *prefix;
    Handler load, store;
    InstClass cls;
  } const kinds[] = {
      {"global_", load, store, InstClass::Vmem},
      {"flat_", flatLoad, flatStore, InstClass::Vmem},
      {"scratch_", scratchLoad, scratchStore, InstClass::Scratch}};
  for (const auto &kind : kinds) {
    Op op;
    op.cls = kind.cls;
    op.mods = kModOffset | kModCache;
    for (const VmemForm *f = kVmemLoads; f->suffix; ++f) {
      op.fn = kind.load;
      op.info = f->info;
      op.numDst = 1;
      t.add(std::string(kind.prefix) + "load_" + f->suffix, op);
    }
    for (const VmemForm *f = kVmemStores; f->suffix; ++f) {
      op.fn = kind.store;
      op.info = f->info;
      op.numDst = 0;
      t.add(std::string(kind.prefix) + "store_" + f->suffix, op);
    }
  }
  for (const VmemForm *f = kVmemLoads; f->suffix; ++f) {
    if (vmemHalf(f->info) || f->info == 8) // there is no dwordx2
      continue;
    Op op;
    op.cls = InstClass::Vmem;
    op.mods = kModOffset | kModCache;
    op.fn = loadLds;
    op.info = f->info;
    op.numDst = 0;
    t.add(std::string("global_load_lds_") + f->suffix, op);
  }
}

} // namespace hk::emu
