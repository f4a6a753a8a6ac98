//===- Atomics.cpp - Global, flat and buffer atomics ----------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Atomics are sequentially consistent: each lane is one compare-and-swap on
// host memory, so they also hold between the worker threads.
//
//===----------------------------------------------------------------------===//

#include "../AtomicOps.h"
#include "Vmem.h"

namespace hk::emu {
namespace {

template <class T>
uint64_t applyAt(const AtomicOp &op, uint64_t address, uint64_t source,
                 uint64_t compare) {
  T *p = reinterpret_cast<T *>(address);
  T old = __atomic_load_n(p, __ATOMIC_SEQ_CST);
  while (true) {
    T next = T(op.apply(old, source, compare));
    if (__atomic_compare_exchange_n(p, &old, next, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST))
      return old;
  }
}

uint64_t laneValue(Wave &w, unsigned reg, unsigned lane, bool wide) {
  uint64_t v = w.v[reg][lane];
  return wide ? v | uint64_t(w.v[reg + 1][lane]) << 32 : v;
}

/// `dst` is the result register, or -1 when nothing is returned.
void run(Wave &w, const Inst &inst, LaneAddresses &at, unsigned data, int dst) {
  const AtomicOp &op = atomicOps()[inst.op->info];
  bool wide = op.bytes == 8;
  uint64_t wanted = at.mask;
  checkGlobal(w, inst, at, op.bytes, true, true);
  const Memory &memory = *w.launch->memory;
  unsigned words = op.bytes / 4;
  if (w.checks) {
    uint64_t bad = 0;
    for (unsigned r = 0; r < words * (op.compare ? 2 : 1); ++r)
      bad |= at.mask & ~w.vd[data + r].whole();
    if (bad)
      w.reportUndefined(inst, __builtin_ctzll(bad), at.a[__builtin_ctzll(bad)],
                        "the operand of this atomic");
  }
  if (w.launch->options.counters)
    countGlobal(w, at, op.bytes, true);
  for (uint64_t m = wanted; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctzll(m));
    uint64_t old = 0;
    if ((at.mask >> l & 1) && at.a[l] % op.bytes == 0) {
      uint64_t bad = memory.firstUndefined(at.a[l], op.bytes);
      if (w.checks && bad != ~0ull) {
        noteUndefined(w, inst, bad, false);
        w.reportUndefined(inst, int(l), bad, "the memory word of this atomic");
      }
      uint64_t source = laneValue(w, data, l, wide);
      uint64_t compare = op.compare ? laneValue(w, data + words, l, wide) : 0;
      old = wide ? applyAt<uint64_t>(op, at.a[l], source, compare)
                 : applyAt<uint32_t>(op, at.a[l], source, compare);
    }
    if (dst >= 0) {
      w.v[dst][l] = uint32_t(old);
      if (wide)
        w.v[dst + 1][l] = uint32_t(old >> 32);
    }
  }
  if (dst >= 0)
    for (unsigned r = 0; r < words; ++r)
      define(w, unsigned(dst) + r, wanted);
  // The result may have told this workgroup that others are done.
  if (dst >= 0)
    w.wg->acquired = true;
}

template <bool Flat> void globalAtomic(Wave &w, const Inst &inst) {
  bool returns = inst.m.sc0;
  unsigned first = returns ? 1 : 0;
  LaneAddresses at;
  globalAddresses(w, inst, first, at);
  if (Flat)
    for (unsigned l = 0; l < kLanes; ++l) {
      uint32_t high = uint32_t(at.a[l] >> 32);
      bool apart = high == kSharedAperture || high == kPrivateAperture;
      if ((at.mask >> l & 1) && apart) {
        w.report(inst, Check::BadInstruction, int(l), at.a[l],
                 "flat atomics on LDS or private memory are not emulated");
        at.mask &= ~(1ull << l);
      }
    }
  run(w, inst, at, inst.o[first + 1].reg, returns ? int(inst.o[0].reg) : -1);
  unsigned words = returns ? atomicOps()[inst.op->info].bytes / 4 : 0;
  issueVm(w,
          Flat      ? Pending::Flat
          : returns ? Pending::VmLoad
                    : Pending::VmStore,
          returns ? inst.o[0].reg : 0, words);
}

void bufferAtomic(Wave &w, const Inst &inst) {
  const AtomicOp &op = atomicOps()[inst.op->info];
  BufferAccess access;
  if (!bufferAddresses(w, inst, 1, op.bytes, access))
    return;
  for (unsigned k = 0; k < op.bytes / 4; ++k)
    access.at.mask &= access.inRange[k];
  bool returns = inst.m.sc0;
  run(w, inst, access.at, inst.o[0].reg, returns ? int(inst.o[0].reg) : -1);
  issueVm(w, returns ? Pending::VmLoad : Pending::VmStore,
          returns ? inst.o[0].reg : 0, returns ? op.bytes / 4 : 0);
}

} // namespace

void addAtomics(OpTable &t) {
  const auto &ops = atomicOps();
  for (size_t k = 0; k < ops.size(); ++k) {
    if (ops[k].name.empty())
      continue;
    Op op;
    op.cls = InstClass::Vmem;
    op.info = uint16_t(k);
    op.mods = kModOffset | kModCache;
    op.numDst = 0;
    op.fn = globalAtomic<false>;
    t.add("global_atomic_" + ops[k].name, op);
    op.fn = globalAtomic<true>;
    t.add("flat_atomic_" + ops[k].name, op);
    op.fn = bufferAtomic;
    op.mods |= kModBuffer;
    t.add("buffer_atomic_" + ops[k].name, op);
  }
}

} // namespace hk::emu
