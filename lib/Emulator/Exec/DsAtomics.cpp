//===- DsAtomics.cpp - LDS atomics ----------------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes act one after another in lane order. Two waves' atomics on one word do
// not race with each other: they are recorded as reads of the word only.
//
//===----------------------------------------------------------------------===//

#include "../AtomicOps.h"
#include "../MemoryAccess.h"

namespace hk::emu {
namespace {

template <bool Returns> void dsAtomic(Wave &w, const Inst &inst) {
  const AtomicOp &op = atomicOps()[inst.op->info];
  unsigned first = Returns ? 1 : 0;
  LdsAddresses at;
  const uint32_t *base = w.v[inst.o[first].reg];
  for (unsigned l = 0; l < kLanes; ++l)
    at.a[l] = base[l] + uint32_t(inst.m.offset);
  at.mask = w.exec;
  checkAddressDefined(w, inst, inst.o[first], w.exec);
  checkLds(w, inst, at, op.bytes, false);
  // ds_cmpst: the comparison value comes first.
  const Operand &data = inst.o[first + (op.compare ? 2 : 1)];
  const Operand &cmp = inst.o[first + 1];
  LdsShadow &lds = w.wg->lds;
  bool wide = op.bytes == 8;
  auto value = [&](const Operand &o, unsigned l) {
    uint64_t v = w.v[o.reg][l];
    return wide ? v | uint64_t(w.v[o.reg + 1][l]) << 32 : v;
  };
  uint64_t bad = at.mask & ~definedLanes(w, data);
  if (w.checks && bad)
    w.reportUndefined(inst, __builtin_ctzll(bad), 0,
                      "the operand of this atomic");
  for (uint64_t m = at.mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctzll(m));
    if (at.a[l] % op.bytes) {
      w.report(inst, Check::Misaligned, int(l), at.a[l],
               "LDS atomic address is not a multiple of " +
                   std::to_string(op.bytes));
      continue;
    }
    uint64_t old = 0;
    uint8_t *p = lds.bytes() + at.a[l];
    uint8_t *def = lds.defined() + at.a[l] / 4;
    if (w.checks && (def[0] != 0xf || (wide && def[1] != 0xf))) {
      noteUndefined(w, inst, at.a[l], true);
      w.reportUndefined(inst, int(l), at.a[l], "the LDS word of this atomic");
    }
    def[0] = 0xf;
    if (wide)
      def[1] = 0xf;
    std::memcpy(&old, p, op.bytes);
    uint64_t source = value(data, l);
    uint64_t next = op.apply(old, source, op.compare ? value(cmp, l) : 0);
    std::memcpy(p, &next, op.bytes);
    if (Returns) {
      w.v[inst.o[0].reg][l] = uint32_t(old);
      if (wide)
        w.v[inst.o[0].reg + 1][l] = uint32_t(old >> 32);
    }
  }
  if (Returns && w.checks)
    for (unsigned r = 0; r < op.bytes / 4; ++r)
      define(w, inst.o[0].reg + r, w.exec);
  issueLgkm(w, Pending::Lds, false, Returns ? inst.o[0].reg : 0,
            Returns ? op.bytes / 4 : 0,
            w.checks ? touchLds(w, at, op.bytes, false) : -1);
}

} // namespace

void addDsAtomics(OpTable &t) {
  const auto &ops = atomicOps();
  for (size_t k = 0; k < ops.size(); ++k) {
    Op op;
    op.cls = InstClass::Lds;
    op.info = uint16_t(k);
    op.mods = kModOffset;
    if (!ops[k].ds.empty()) {
      op.fn = dsAtomic<false>;
      op.numDst = 0;
      t.add("ds_" + ops[k].ds, op);
    }
    if (!ops[k].dsRtn.empty()) {
      op.fn = dsAtomic<true>;
      op.numDst = 1;
      t.add("ds_" + ops[k].dsRtn, op);
    }
  }
}

} // namespace hk::emu
