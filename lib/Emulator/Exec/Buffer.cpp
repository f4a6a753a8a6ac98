//===- Buffer.cpp - Buffer memory -----------------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MUBUF with raw, structured and swizzled descriptors. Out of the descriptor's
// range a load returns zero and a store is dropped, word by word; inside it the
// global bounds apply as for any access.
//
//===----------------------------------------------------------------------===//

#include "Vmem.h"

namespace hk::emu {

/// GFX9 has no element size in the descriptor: it is one word.
constexpr uint32_t kSwizzleElement = 4;

static uint32_t scalarOffset(Wave &w, const Inst &inst, const Operand &soff) {
  if (!soff.isSgpr())
    return soff.isConst() ? uint32_t(soff.imm) : 0;
  if (w.checks && w.sd[soff.reg] != ~0u)
    w.reportUndefined(inst, -1, 0, "the scalar offset");
  return w.s[soff.reg];
}

bool bufferAddresses(Wave &w, const Inst &inst, unsigned vaddr, unsigned bytes,
                     BufferAccess &access, bool mayStep) {
  const Operand &v = inst.o[vaddr], &desc = inst.o[vaddr + 1];
  unsigned r = desc.reg;
  if (w.checks && (w.sd[r] & w.sd[r + 1] & w.sd[r + 2] & w.sd[r + 3]) != ~0u)
    w.reportUndefined(inst, -1, 0, "the buffer descriptor");
  uint64_t base = uint64_t(w.s[r + 1] & 0xffff) << 32 | w.s[r];
  // Addresses have 48 bits; the upper ones repeat bit 47 as on the host.
  base = uint64_t(int64_t(base << 16) >> 16);
  uint32_t stride = w.s[r + 1] >> 16 & 0x3fff, records = w.s[r + 2];
  bool swizzled = w.s[r + 1] >> 31, addThread = w.s[r + 3] >> 23 & 1;
  if (addThread) // the data format's place holds more bits of the stride
    stride |= (w.s[r + 3] >> 15 & 15) << 14;
  uint32_t indexStride = 8u << (w.s[r + 3] >> 21 & 3);
  access.wordStep = swizzled ? kSwizzleElement * indexStride : 4;
  if (swizzled && bytes > 4 && !mayStep) {
    w.report(inst, Check::BadInstruction, -1, base,
             "more than one word through a swizzled buffer descriptor is "
             "emulated for plain loads and stores only");
    return false;
  }
  uint32_t soffset = scalarOffset(w, inst, inst.o[vaddr + 2]);
  if (v.isVgpr())
    checkAddressDefined(w, inst, v, w.exec);
  const uint32_t *index = inst.m.idxen ? w.v[v.reg] : nullptr;
  const uint32_t *voffset =
      inst.m.offen ? w.v[v.reg + (inst.m.idxen ? 1 : 0)] : nullptr;
  unsigned words = (bytes + 3) / 4;
  for (unsigned k = 0; k < 4; ++k)
    access.inRange[k] = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    // The sum of the offsets has 32 bits: compilers fold a constant into the
    // instruction where the register holds a negative number.
    uint32_t offset = uint32_t(inst.m.offset) + (voffset ? voffset[l] : 0);
    uint64_t i = uint64_t(index ? index[l] : 0) + (addThread ? l : 0);
    bool hasIndex = index || addThread;
    uint64_t within = offset + i * stride;
    if (swizzled)
      within = (i / indexStride * stride +
                offset / kSwizzleElement * kSwizzleElement) *
                   indexStride +
               i % indexStride * kSwizzleElement + offset % kSwizzleElement;
    access.at.a[l] = base + soffset + within;
    for (unsigned k = 0; k < words; ++k) {
      uint64_t end = uint64_t(offset) + (bytes < 4 ? bytes : 4 * (k + 1));
      bool in = stride == 0 ? end <= records
                : swizzled  ? i < records && end <= stride
                : hasIndex  ? i < records
                            : end <= uint64_t(records) * stride;
      access.inRange[k] |= uint64_t(in) << l;
    }
  }
  access.at.mask = w.exec;
  return true;
}

namespace {

/// Loads or stores run by run: lanes with all words in range go together, the
/// few others word by word.
template <class F>
void inRangeRuns(const BufferAccess &access, uint64_t exec, unsigned words,
                 F f) {
  uint64_t all = exec;
  for (unsigned k = 0; k < words; ++k)
    all &= access.inRange[k];
  if (access.wordStep != 4 && words > 1)
    all = 0;
  LaneAddresses at = access.at;
  at.mask = all;
  if (all)
    f(at, 0u, words);
  for (unsigned k = 0; k < words; ++k) {
    uint64_t rest = exec & access.inRange[k] & ~all;
    if (!rest)
      continue;
    LaneAddresses one = access.at;
    for (unsigned l = 0; l < kLanes; ++l)
      one.a[l] += uint64_t(access.wordStep) * k;
    one.mask = rest;
    f(one, k, 1u);
  }
}

void zeroLanes(Wave &w, unsigned reg, uint64_t lanes, unsigned half) {
  for (uint64_t m = lanes; m; m &= m - 1) {
    uint32_t &d = w.v[reg][__builtin_ctzll(m)];
    d = half == 1 ? d & 0xffff0000u : half == 2 ? d & 0xffffu : 0;
  }
  Defined &d = w.vd[reg];
  for (unsigned k = 0; k < 4; ++k)
    if (!half || (half == 1) == (k < 2))
      d.byte[k] |= lanes;
}

void loadLds(Wave &w, const Inst &inst) {
  unsigned bytes = inst.op->info & 0xff, words = (bytes + 3) / 4;
  BufferAccess access;
  if (!bufferAddresses(w, inst, 0, bytes, access))
    return;
  uint64_t all = w.exec, none = w.exec;
  for (unsigned k = 0; k < words; ++k) {
    all &= access.inRange[k];
    none &= ~access.inRange[k];
  }
  if ((all | none) != w.exec)
    w.report(inst, Check::GlobalBounds, __builtin_ctzll(w.exec & ~(all | none)),
             0, "a direct-to-LDS load straddles the end of its buffer");
  access.at.mask = all;
  loadToLds(w, inst, access.at, w.exec & ~all, bytes,
            inst.op->info & kVmemSigned);
}

void load(Wave &w, const Inst &inst) {
  if (inst.m.lds) {
    loadLds(w, inst);
    return;
  }
  unsigned bytes = inst.op->info & 0xff, words = (bytes + 3) / 4;
  unsigned reg = inst.o[0].reg, half = vmemHalf(inst.op->info);
  BufferAccess access;
  if (!bufferAddresses(w, inst, 1, bytes, access, true))
    return;
  for (unsigned k = 0; k < words; ++k)
    if (uint64_t out = w.exec & ~access.inRange[k])
      zeroLanes(w, reg + k, out, half);
  inRangeRuns(access, w.exec, words,
              [&](LaneAddresses &at, unsigned first, unsigned n) {
                loadGlobal(w, inst, at, bytes < 4 ? bytes : 4 * n, reg + first,
                           inst.op->info & kVmemSigned, half);
              });
  issueVm(w, Pending::VmLoad, reg, words);
}

void store(Wave &w, const Inst &inst) {
  unsigned bytes = inst.op->info & 0xff, words = (bytes + 3) / 4;
  BufferAccess access;
  if (!bufferAddresses(w, inst, 1, bytes, access, true))
    return;
  inRangeRuns(access, w.exec, words,
              [&](LaneAddresses &at, unsigned first, unsigned n) {
                storeGlobal(w, inst, at, bytes < 4 ? bytes : 4 * n,
                            inst.o[0].reg + first,
                            inst.op->info & kVmemHighHalf);
              });
  issueVm(w, Pending::VmStore, 0, 0);
}

} // namespace

void addBuffer(OpTable &t) {
  Op op;
  op.cls = InstClass::Vmem;
  op.mods = kModOffset | kModCache | kModBuffer;
  for (const VmemForm *f = kVmemLoads; f->suffix; ++f) {
    op.fn = load;
    op.info = f->info;
    op.numDst = 1;
    t.add(std::string("buffer_load_") + f->suffix, op);
  }
  for (const VmemForm *f = kVmemStores; f->suffix; ++f) {
    op.fn = store;
    op.info = f->info;
    op.numDst = 0;
    t.add(std::string("buffer_store_") + f->suffix, op);
  }
}

} // namespace hk::emu
