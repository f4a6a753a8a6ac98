//===- LdsLanes.h - Lane accesses that LDS and flat share -------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads, stores and read-modify-writes of LDS by lanes whose addresses have
// been computed; DS instructions and flat ones with an LDS address use them.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_EXEC_LDSLANES_H
#define HK_LIB_EMULATOR_EXEC_LDSLANES_H

#include "Vmem.h"

namespace hk::emu {

/// Registers an LDS instruction; `info` is what its handler makes of it.
inline void addLds(OpTable &t, const std::string &name, Handler fn,
                   unsigned info, unsigned numDst, uint16_t mods) {
  Op op;
  op.cls = InstClass::Lds;
  op.fn = fn;
  op.info = uint16_t(info);
  op.numDst = uint8_t(numDst);
  op.mods = mods;
  t.add(name, op);
}

/// Addresses in the VGPR operand `operand` plus an offset; reports undefined
/// ones.
LdsAddresses ldsAddresses(Wave &w, const Inst &inst, unsigned operand,
                          int32_t offset);

/// Copies `bytes` of each lane in `wanted` from LDS to registers from `reg`;
/// those that checkLds removed from `at` read zero. `flags` as in VmemFlags.
void readLdsLanes(Wave &w, const Inst &inst, const LdsAddresses &at,
                  uint64_t wanted, unsigned bytes, unsigned reg,
                  unsigned flags);
void writeLdsLanes(Wave &w, const LdsAddresses &at, unsigned bytes,
                   unsigned reg, unsigned flags);

/// Reports an undefined operand or word and a misaligned address of an atomic
/// operation; false if the lane does not take part.
bool checkLdsWord(Wave &w, const Inst &inst, uint32_t address, unsigned lane,
                  unsigned bytes);

/// The wave compares and swaps a word of LDS.
inline void swapsLds(Wave &w, uint32_t address, unsigned bytes) {
  withdrawSuspects(w, address, bytes);
  for (unsigned k = 0; k < bytes; k += 4)
    w.wg->lds.forgetRead(address + k, w.index);
}

/// One atomic read-modify-write for each lane, in lane order. The old values go
/// to registers from `dst` unless that is negative.
template <class F>
void updateLds(Wave &w, const Inst &inst, LdsAddresses &at, unsigned bytes,
               uint64_t operandsDefined, int dst, F f) {
  uint64_t wanted = at.mask;
  checkLds(w, inst, at, bytes, Use::Atomic);
  if (uint64_t bad = at.mask & ~operandsDefined; w.checks && bad)
    w.reportUndefined(inst, __builtin_ctzll(bad), 0,
                      "the operand of this atomic");
  for (uint64_t m = at.mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctzll(m));
    if (!checkLdsWord(w, inst, at.a[l], l, bytes))
      continue;
    uint8_t *p = w.wg->lds.bytes() + at.a[l];
    uint64_t old = 0;
    std::memcpy(&old, p, bytes);
    uint64_t next = f(old, l);
    std::memcpy(p, &next, bytes);
    if (dst < 0)
      continue;
    w.v[dst][l] = uint32_t(old);
    if (bytes == 8)
      w.v[dst + 1][l] = uint32_t(old >> 32);
  }
  if (dst >= 0 && w.checks)
    for (unsigned r = 0; r < bytes / 4; ++r)
      define(w, unsigned(dst) + r, wanted);
}

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_EXEC_LDSLANES_H
