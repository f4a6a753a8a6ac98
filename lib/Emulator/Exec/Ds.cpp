//===- Ds.cpp - LDS loads, stores and permutations ------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ds_read, ds_write, the transposed reads and the permutations that use the
// LDS crossbar but no memory.
//
//===----------------------------------------------------------------------===//

#include "../LaneCopy.h"
#include "LdsLanes.h"

namespace hk::emu {
namespace {

/// Besides VmemFlags: offsets of the two-address forms count in 64 units.
constexpr uint16_t kStride64 = 0x800;

unsigned definedAt(const uint8_t *def, uint32_t address, unsigned n) {
  unsigned mask = 0;
  for (unsigned k = 0; k < n; ++k)
    mask |= unsigned(def[(address + k) / 4] >> ((address + k) & 3) & 1) << k;
  return mask;
}

} // namespace

LdsAddresses ldsAddresses(Wave &w, const Inst &inst, unsigned operand,
                          int32_t offset) {
  LdsAddresses at;
  const uint32_t *base = w.v[inst.o[operand].reg];
  for (unsigned l = 0; l < kLanes; ++l)
    at.a[l] = base[l] + uint32_t(offset);
  at.mask = w.exec;
  checkAddressDefined(w, inst, inst.o[operand], w.exec);
  return at;
}

/// readLdsLanes of whole words, of any lanes and alignment.
static void readLdsWords(Wave &w, const Inst &inst, const LdsAddresses &at,
                         uint64_t wanted, unsigned words, unsigned reg) {
  LdsShadow &lds = w.wg->lds;
  const uint8_t *data = lds.bytes(), *def = lds.defined();
  uint64_t failed = wanted & ~at.mask;
  for (unsigned k = 0; k < words; ++k) {
    uint32_t *d = w.v[reg + k];
    uint64_t full = 0;
    for (uint64_t m = at.mask; m; m &= m - 1) {
      unsigned l = unsigned(__builtin_ctzll(m));
      uint32_t a = at.a[l] + 4 * k;
      std::memcpy(d + l, data + a, 4);
      full |= uint64_t((a & 3) == 0 && def[a / 4] == 0xf) << l;
    }
    for (uint64_t m = failed; m; m &= m - 1)
      d[__builtin_ctzll(m)] = 0;
    if (!w.checks)
      continue;
    setDefinedLanes(w, reg + k, wanted, full | failed);
    for (uint64_t m = at.mask & ~full; m; m &= m - 1) {
      unsigned l = unsigned(__builtin_ctzll(m));
      unsigned mask = definedAt(def, at.a[l] + 4 * k, 4);
      w.vd[reg + k].setLaneBytes(l, mask);
      if (mask != 0xf)
        noteUndefined(w, inst, at.a[l] + 4 * k, true);
    }
  }
}

void readLdsLanes(Wave &w, const Inst &inst, const LdsAddresses &at,
                  uint64_t wanted, unsigned bytes, unsigned reg,
                  unsigned flags) {
  LdsShadow &lds = w.wg->lds;
  const uint8_t *data = lds.bytes(), *def = lds.defined();
  auto fast = [&](auto words) {
    return loadDefinedLanes<words>(
        w, reg, [&](unsigned l) { return data + at.a[l]; },
        [&](unsigned l) { return def + at.a[l] / 4; });
  };
  if (at.mask == ~0ull && at.aligned && withWords(bytes, fast))
    return;
  if (bytes % 4 == 0)
    return readLdsWords(w, inst, at, wanted, bytes / 4, reg);
  for (uint64_t m = wanted; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctzll(m));
    uint8_t zero[4] = {};
    bool ok = at.mask >> l & 1;
    unsigned half = vmemHalf(flags);
    readValue(w, reg, l, ok ? data + at.a[l] : zero, bytes, flags & kVmemSigned,
              half);
    if (!w.checks)
      continue;
    unsigned all = (1u << bytes) - 1;
    unsigned mask = ok ? definedAt(def, at.a[l], bytes) : all;
    if (mask != all)
      noteUndefined(w, inst, at.a[l], true);
    unsigned ext = mask == all             ? 0xf
                   : (flags & kVmemSigned) ? mask
                                           : mask | (bytes == 1 ? 0xe : 0xc);
    if (half) {
      unsigned two = bytes == 1 ? (mask ? 3 : 2) : mask;
      unsigned old = w.vd[reg].laneBytes(l);
      ext = half == 1 ? (two | (old & 0xc)) : ((two << 2) | (old & 3));
    }
    w.vd[reg].setLaneBytes(l, ext);
  }
}

void writeLdsLanes(Wave &w, const LdsAddresses &at, unsigned bytes,
                   unsigned reg, unsigned flags) {
  LdsShadow &lds = w.wg->lds;
  uint8_t *data = lds.bytes(), *def = lds.defined();
  auto fast = [&](auto words) {
    return storeDefinedLanes<words>(
        w, reg, [&](unsigned l) { return data + at.a[l]; },
        [&](unsigned l) { return def + at.a[l] / 4; });
  };
  if (at.mask == ~0ull && at.aligned && withWords(bytes, fast))
    return;
  for (uint64_t m = at.mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctzll(m));
    uint32_t a = at.a[l];
    writeValue(w, reg, l, data + a, bytes, flags & kVmemHighHalf);
    for (unsigned k = 0; k < bytes; k += 4) {
      const Defined &d = w.vd[reg + k / 4];
      unsigned mask = 0, n = bytes < 4 ? bytes : 4;
      unsigned first = (flags & kVmemHighHalf) ? 2 : 0;
      for (unsigned b = 0; b < n; ++b)
        mask |= unsigned(d.byte[first + b] >> l & 1) << b;
      if (((a + k) & 3) == 0 && n == 4) {
        def[(a + k) / 4] = uint8_t(w.checks ? mask : 0xf);
        continue;
      }
      for (unsigned b = 0; b < n; ++b) {
        uint8_t bit = uint8_t(1u << ((a + k + b) & 3));
        uint8_t &byte = def[(a + k + b) / 4];
        byte = (mask >> b & 1) ? byte | bit : byte & ~bit;
      }
    }
  }
}

namespace {

void issueRead(Wave &w, const Inst &inst, unsigned words,
               const LdsAddresses &at, unsigned bytes) {
  issueLgkm(w, Pending::Lds, false, inst.o[0].reg, words,
            w.checks ? touchLds(w, at, bytes, Use::Read) : -1);
}

void read(Wave &w, const Inst &inst) {
  unsigned bytes = inst.op->info & 0xff;
  LdsAddresses at = ldsAddresses(w, inst, 1, inst.m.offset);
  checkLds(w, inst, at, bytes, Use::Read);
  readLdsLanes(w, inst, at, w.exec, bytes, inst.o[0].reg, inst.op->info);
  issueRead(w, inst, (bytes + 3) / 4, at, bytes);
}

void write(Wave &w, const Inst &inst) {
  unsigned bytes = inst.op->info & 0xff;
  LdsAddresses at = ldsAddresses(w, inst, 0, inst.m.offset);
  StoredValue value = {inst.o[1].reg, (inst.op->info & kVmemHighHalf) != 0};
  checkLds(w, inst, at, bytes, Use::Write, &value);
  writeLdsLanes(w, at, bytes, inst.o[1].reg, inst.op->info);
  issueLgkm(w, Pending::Lds, false, 0, 0,
            w.checks ? touchLds(w, at, bytes, Use::Write) : -1);
}

/// ds_read2 and ds_write2: two accesses of `bytes`, offsets in units of it.
/// Equal offsets cause "only one read/write" that "uses only the first DATA0
/// field" (CDNA3 and CDNA4 ISA, 11.3.1). Returns the number of accesses.
unsigned pairOffsets(const Inst &inst, unsigned bytes, int32_t offsets[2]) {
  unsigned unit = bytes * ((inst.op->info & kStride64) ? 64 : 1);
  offsets[0] = int32_t(inst.m.offset0 * unit);
  offsets[1] = int32_t(inst.m.offset1 * unit);
  return offsets[0] == offsets[1] ? 1 : 2;
}

void read2(Wave &w, const Inst &inst) {
  unsigned bytes = inst.op->info & 0xff;
  int32_t offsets[2];
  unsigned count = pairOffsets(inst, bytes, offsets), words = bytes / 4;
  LdsAddresses at[2]; // both before the results: they may share registers
  for (unsigned k = 0; k < count; ++k)
    at[k] = ldsAddresses(w, inst, 1, offsets[k]);
  for (unsigned k = 0; k < count; ++k) {
    checkLds(w, inst, at[k], bytes, Use::Read);
    readLdsLanes(w, inst, at[k], w.exec, bytes, inst.o[0].reg + k * words, 0);
  }
  // One instruction is one entry; its second touch rides on a second record.
  issueRead(w, inst, 2 * words, at[0], bytes);
  if (count == 2 && w.checks)
    w.lgkm.attach(touchLds(w, at[1], bytes, Use::Read));
  // What a single access leaves in the other result, no document says.
  for (unsigned k = words; count == 1 && k < 2 * words; ++k)
    setDefinedLanes(w, inst.o[0].reg + k, w.exec, 0);
}

void write2(Wave &w, const Inst &inst) {
  unsigned bytes = inst.op->info & 0xff;
  int32_t offsets[2];
  unsigned count = pairOffsets(inst, bytes, offsets);
  for (unsigned k = 0; k < count; ++k) {
    LdsAddresses at = ldsAddresses(w, inst, 0, offsets[k]);
    StoredValue value = {inst.o[1 + k].reg};
    checkLds(w, inst, at, bytes, Use::Write, &value);
    writeLdsLanes(w, at, bytes, inst.o[1 + k].reg, 0);
    int32_t touch = w.checks ? touchLds(w, at, bytes, Use::Write) : -1;
    if (k == 0)
      issueLgkm(w, Pending::Lds, false, 0, 0, touch);
    else if (w.checks)
      w.lgkm.attach(touch);
  }
}

// --- transposed reads (gfx950) ---
//
// Groups of 16 lanes each read 16 rows' chunks; element e of lane j's result
// is element j % n of what lane (j / n + e * 16 / n) % 16 read, where n is the
// number of elements a lane holds and the 16 lanes form an n-wide tile.

template <unsigned Bits> void readTransposed(Wave &w, const Inst &inst) {
  constexpr unsigned bytes = Bits == 6 ? 12 : 8;
  constexpr unsigned perLane = bytes * 8 / Bits; // 4, 8 or 16
  LdsAddresses at = ldsAddresses(w, inst, 1, inst.m.offset);
  checkLds(w, inst, at, bytes, Use::Read);
  const uint8_t *data = w.wg->lds.bytes(), *def = w.wg->lds.defined();
  uint8_t in[kLanes][perLane * 2] = {};
  bool defined[kLanes][perLane] = {};
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(at.mask >> l & 1))
      continue;
    for (unsigned e = 0; e < perLane; ++e) {
      unsigned bit = e * Bits;
      uint32_t first = at.a[l] + bit / 8;
      uint32_t value = data[first];
      bool ok = definedAt(def, first, 1);
      if (bit % 8 + Bits > 8) {
        value |= uint32_t(data[first + 1]) << 8;
        ok = ok && definedAt(def, first + 1, 1);
      }
      value = value >> (bit % 8) & ((1u << Bits) - 1);
      in[l][2 * e] = uint8_t(value);
      in[l][2 * e + 1] = uint8_t(value >> 8);
      defined[l][e] = ok;
    }
  }
  constexpr unsigned words = bytes / 4;
  unsigned reg = inst.o[0].reg;
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(w.exec >> l & 1))
      continue;
    unsigned group = l & ~15u, j = l & 15;
    uint64_t out[2] = {};
    unsigned bad[words] = {};
    for (unsigned e = 0; e < perLane; ++e) {
      constexpr unsigned lanesPerRow = 16 / perLane;
      unsigned from = group + e * lanesPerRow + j / perLane;
      unsigned element = j % perLane;
      uint64_t value =
          in[from][2 * element] | uint64_t(in[from][2 * element + 1]) << 8;
      unsigned bit = e * Bits;
      out[bit / 64] |= value << (bit % 64);
      if (bit % 64 + Bits > 64)
        out[1] |= value >> (64 - bit % 64);
      if (!defined[from][element]) {
        bad[bit / 32] = 1;
        bad[(bit + Bits - 1) / 32] = 1;
      }
    }
    for (unsigned k = 0; k < words; ++k) {
      w.v[reg + k][l] = uint32_t(out[k / 2] >> (32 * (k % 2)));
      if (w.checks)
        w.vd[reg + k].setLaneBytes(l, bad[k] ? 0 : 0xf);
    }
  }
  issueRead(w, inst, words, at, bytes);
}

// --- permutations ---

void finishPermutation(Wave &w, const Inst &inst, const LaneBuf &out,
                       const Defined &defined) {
  commitWord(w, inst.o[0].reg, out.lo);
  w.vd[inst.o[0].reg].set(w.exec, defined.all);
  issueLgkm(w, Pending::Lds, false, inst.o[0].reg, 1);
}

/// Lane l reads lane source(l) of a register; inactive lanes read as zero.
template <class F>
void readOtherLanes(Wave &w, const Inst &inst, unsigned reg, F source) {
  LaneBuf out;
  Defined d = {};
  const Defined from = w.vd[reg];
  for (unsigned l = 0; l < kLanes; ++l) {
    unsigned s = source(l);
    bool active = w.exec >> s & 1;
    out.lo[l] = active ? w.v[reg][s] : 0;
    for (unsigned k = 0; k < 4; ++k)
      d.byte[k] |= (active ? from.byte[k] >> s & 1 : 1ull) << l;
  }
  finishPermutation(w, inst, out, d);
}

void swizzle(Wave &w, const Inst &inst) {
  readOtherLanes(w, inst, inst.o[1].reg, [&](unsigned l) {
    return inst.m.swizzle ? inst.m.swizzle->from[l] : l & ~31u;
  });
}

void bpermute(Wave &w, const Inst &inst) {
  const uint32_t *address = w.v[inst.o[1].reg];
  checkAddressDefined(w, inst, inst.o[1], w.exec);
  readOtherLanes(w, inst, inst.o[2].reg, [&](unsigned l) {
    return (address[l] + uint32_t(inst.m.offset)) / 4 % kLanes;
  });
}

/// Each lane sends its value; the highest lane wins, unsent lanes get zero.
void permute(Wave &w, const Inst &inst) {
  const uint32_t *address = w.v[inst.o[1].reg], *src = w.v[inst.o[2].reg];
  checkAddressDefined(w, inst, inst.o[1], w.exec);
  LaneBuf out = {};
  Defined d;
  for (uint64_t &byte : d.byte)
    byte = ~0ull;
  const Defined from = w.vd[inst.o[2].reg];
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(w.exec >> l & 1))
      continue;
    unsigned t = (address[l] + uint32_t(inst.m.offset)) / 4 % kLanes;
    out.lo[t] = src[l];
    for (unsigned k = 0; k < 4; ++k)
      d.byte[k] = (d.byte[k] & ~(1ull << t)) | (from.byte[k] >> l & 1) << t;
  }
  finishPermutation(w, inst, out, d);
}

} // namespace

void addDs(OpTable &t) {
  auto add = [&](const std::string &name, Handler fn, unsigned info,
                 unsigned numDst,
                 uint16_t mods) { addLds(t, name, fn, info, numDst, mods); };
  struct {
    const char *suffix;
    unsigned info;
  } const reads[] = {{"b32", 4},
                     {"b64", 8},
                     {"b96", 12},
                     {"b128", 16},
                     {"u8", 1},
                     {"i8", 1 | kVmemSigned},
                     {"u16", 2},
                     {"i16", 2 | kVmemSigned},
                     {"u8_d16", 1 | kVmemLowHalf},
                     {"u8_d16_hi", 1 | kVmemHighHalf},
                     {"i8_d16", 1 | kVmemSigned | kVmemLowHalf},
                     {"i8_d16_hi", 1 | kVmemSigned | kVmemHighHalf},
                     {"u16_d16", 2 | kVmemLowHalf},
                     {"u16_d16_hi", 2 | kVmemHighHalf}};
  for (const auto &r : reads)
    add(std::string("ds_read_") + r.suffix, read, r.info, 1, kModOffset);
  struct {
    const char *suffix;
    unsigned info;
  } const writes[] = {{"b8", 1},
                      {"b16", 2},
                      {"b32", 4},
                      {"b64", 8},
                      {"b96", 12},
                      {"b128", 16},
                      {"b8_d16_hi", 1 | kVmemHighHalf},
                      {"b16_d16_hi", 2 | kVmemHighHalf}};
  for (const auto &x : writes)
    add(std::string("ds_write_") + x.suffix, write, x.info, 0, kModOffset);
  for (unsigned bytes : {4u, 8u})
    for (bool far : {false, true}) {
      std::string suffix =
          std::string(far ? "2st64_b" : "2_b") + std::to_string(bytes * 8);
      unsigned info = bytes | (far ? kStride64 : 0);
      add("ds_read" + suffix, read2, info, 1, kModOffset01);
      add("ds_write" + suffix, write2, info, 0, kModOffset01);
    }
  add("ds_read_b64_tr_b16", readTransposed<16>, 8, 1, kModOffset);
  add("ds_read_b64_tr_b8", readTransposed<8>, 8, 1, kModOffset);
  add("ds_read_b64_tr_b4", readTransposed<4>, 8, 1, kModOffset);
  add("ds_read_b96_tr_b6", readTransposed<6>, 12, 1, kModOffset);
  add("ds_swizzle_b32", swizzle, 4, 1, kModOffset);
  add("ds_bpermute_b32", bpermute, 4, 1, kModOffset);
  add("ds_permute_b32", permute, 4, 1, kModOffset);
  add("ds_nop", [](Wave &, const Inst &) {}, 0, 0, 0);
}

} // namespace hk::emu
