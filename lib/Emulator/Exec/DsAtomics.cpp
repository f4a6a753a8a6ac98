//===- DsAtomics.cpp - LDS atomics ----------------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations of AtomicOps on LDS.
//
//===----------------------------------------------------------------------===//

#include "../AtomicOps.h"
#include "LdsLanes.h"

namespace hk::emu {

bool checkLdsWord(Wave &w, const Inst &inst, uint32_t address, unsigned lane,
                  unsigned bytes) {
  if (address % bytes) {
    w.report(inst, Check::Misaligned, int(lane), address,
             "LDS atomic address is not a multiple of " +
                 std::to_string(bytes));
    return false;
  }
  for (unsigned k = 0; k < bytes / 4; ++k) {
    uint8_t &defined = w.wg->lds.defined()[address / 4 + k];
    if (w.checks && defined != 0xf) {
      noteUndefined(w, inst, address, true);
      w.reportUndefined(inst, int(lane), address,
                        "the LDS word of this atomic");
    }
    defined = 0xf;
  }
  return true;
}

namespace {

template <bool Returns> void dsAtomic(Wave &w, const Inst &inst) {
  const AtomicOp &op = atomicOps()[inst.op->info];
  unsigned first = Returns ? 1 : 0;
  // ds_cmpst: the comparison value comes first.
  const Operand &data = inst.o[first + (op.compare ? 2 : 1)];
  const Operand &cmp = inst.o[first + 1];
  bool wide = op.bytes == 8;
  auto value = [&](const Operand &o, unsigned l) {
    uint64_t v = w.v[o.reg][l];
    return wide ? v | uint64_t(w.v[o.reg + 1][l]) << 32 : v;
  };
  LdsAddresses at = ldsAddresses(w, inst, first, inst.m.offset);
  updateLds(w, inst, at, op.bytes, definedLanes(w, data),
            Returns ? int(inst.o[0].reg) : -1, [&](uint64_t old, unsigned l) {
              if (op.compare)
                swapsLds(w, at.a[l], op.bytes);
              return op.apply(old, value(data, l),
                              op.compare ? value(cmp, l) : 0);
            });
  if (Returns) // the result may tell that other waves are done
    w.wg->nextEpoch();
  issueLgkm(w, Pending::Lds, false, Returns ? inst.o[0].reg : 0,
            Returns ? op.bytes / 4 : 0,
            w.checks ? touchLds(w, at, op.bytes, Use::Atomic) : -1);
}

} // namespace

void addDsAtomics(OpTable &t) {
  const auto &ops = atomicOps();
  for (size_t k = 0; k < ops.size(); ++k) {
    unsigned n = unsigned(k);
    if (!ops[k].ds.empty())
      addLds(t, "ds_" + ops[k].ds, dsAtomic<false>, n, 0, kModOffset);
    if (!ops[k].dsRtn.empty())
      addLds(t, "ds_" + ops[k].dsRtn, dsAtomic<true>, n, 1, kModOffset);
  }
}

} // namespace hk::emu
