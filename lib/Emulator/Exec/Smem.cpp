//===- Smem.cpp - Scalar memory -------------------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// s_load and s_buffer_load, and the clocks.
//
//===----------------------------------------------------------------------===//

#include "ScalarMemory.h"

namespace hk::emu {

static uint64_t scalarOffset(Wave &w, const Inst &inst, unsigned first,
                             bool &ok) {
  uint64_t offset = uint64_t(int64_t(inst.m.offset));
  for (unsigned k = first; k < inst.numOperands; ++k) {
    const Operand &o = inst.o[k];
    if (o.isSgpr()) {
      ok &= w.sd[o.reg] == ~0u;
      offset += w.s[o.reg];
    } else {
      offset += uint64_t(int64_t(o.imm));
    }
  }
  return offset;
}

ScalarAddress scalarAddress(Wave &w, const Inst &inst, bool buffer) {
  unsigned r = inst.o[1].reg;
  ScalarAddress a;
  a.defined = w.sd64(r) == ~0ull && (!buffer || w.sd[r + 2] == ~0u);
  uint64_t base = w.s64(r);
  if (buffer) {
    base &= 0xffffffffffffull;
    uint32_t stride = w.s[r + 1] >> 16 & 0x3fff;
    a.limit = base + uint64_t(w.s[r + 2]) * (stride ? stride : 1);
  }
  a.address = base + scalarOffset(w, inst, 2, a.defined);
  return a;
}

namespace {

/// Of memory that the launch may write, which its arguments are not.
void checkScalarRaces(Wave &w, const Inst &inst, uint64_t address,
                      unsigned bytes) {
  const Allocation *a = w.launch->memory->owner(address);
  if (!w.checks || !bytes || !a || a->writableBegin == a->writableEnd)
    return;
  LaneAddresses at;
  at.a[0] = address;
  at.mask = 1;
  checkRaces(w, inst, at, bytes, Use::Read);
}

/// Reads `words` words to SGPRs; bytes outside `limit` are zero.
void loadWords(Wave &w, const Inst &inst, uint64_t address, unsigned words,
               uint64_t limit) {
  unsigned reg = inst.o[0].reg;
  if (w.checks && (address & 3))
    w.report(inst, Check::Misaligned, -1, address,
             "scalar load address is not a multiple of 4");
  address &= ~3ull;
  unsigned read = 0;
  for (unsigned k = 0; k < words; ++k) {
    uint64_t a = address + 4 * k;
    uint32_t value = 0, defined = ~0u;
    if (a + 4 <= limit) {
      if (!w.launch->memory->contains(a, 4)) {
        w.report(inst, Check::GlobalBounds, -1, a,
                 "scalar load of 4 bytes outside every allocation" +
                     describeAddress(w, a));
        // The rest of the load would repeat the same report.
        for (unsigned r = k; r < words; ++r)
          w.setS(reg + r, 0);
        break;
      }
      ++read;
      std::memcpy(&value, reinterpret_cast<const void *>(a), 4);
      uint8_t bytes = *w.launch->memory->defined(a);
      if (w.checks && bytes != 0xf) {
        defined = 0;
        for (unsigned b = 0; b < 4; ++b)
          if (bytes >> b & 1)
            defined |= 0xffu << (8 * b);
        noteUndefined(w, inst, a, false);
      }
    }
    w.setS(reg + k, value, defined);
  }
  checkScalarRaces(w, inst, address, 4 * read);
  issueLgkm(w, Pending::Smem, true, reg, words);
}

template <bool Buffer> void load(Wave &w, const Inst &inst) {
  ScalarAddress a = scalarAddress(w, inst, Buffer);
  if (w.checks && !a.defined)
    w.reportUndefined(inst, -1, a.address,
                      Buffer ? "the descriptor or offset of this scalar load"
                             : "the address of this scalar load");
  loadWords(w, inst, a.address, inst.op->info, a.limit);
}

void memTime(Wave &w, const Inst &inst) {
  // A clock that advances with the work done keeps timing code terminating.
  w.setS64(inst.o[0].reg, w.wg->counters.total());
  issueLgkm(w, Pending::Smem, true, inst.o[0].reg, 2);
}

} // namespace

void addSmem(OpTable &t) {
  for (unsigned words : {1, 2, 4, 8, 16}) {
    std::string suffix =
        words == 1 ? "dword" : "dwordx" + std::to_string(words);
    Op op;
    op.cls = InstClass::Smem;
    op.mods = kModOffset | kModCache;
    op.info = uint16_t(words);
    op.fn = load<false>;
    t.add("s_load_" + suffix, op);
    op.fn = load<true>;
    t.add("s_buffer_load_" + suffix, op);
  }
  Op op;
  op.cls = InstClass::Smem;
  op.fn = memTime;
  t.add("s_memtime", op);
  t.add("s_memrealtime", op);
}

} // namespace hk::emu
